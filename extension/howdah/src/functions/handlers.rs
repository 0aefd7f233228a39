//! Registering query handlers. A statement is analysed as the role that is to run it, as analysing runs what users have made: domains in its
//! constants, say.

use deploy::recorder::{Registered, note_registered};
use pg::entry::sql_function;
use request::make_plan;
use session::authority::{
    NothingOpen, as_role, check_role, current_user, is_admin, name_of, refuse_restricted,
};
use session::temporary;

use super::registering::{SearchPath, check_owner, is_removed, register, types};
use pgrx::pg_sys::Datum;

sql_function!(
    /// `http.handle(statement, name, priority, role, search_path)`
    howdah_handle,
    |call| {
        refuse_restricted();
        let statement = call.need_text(0, "statement");
        let name = call.need_text(1, "name");
        let former = check_handler_owner(name);
        let owner = (!is_admin()).then(|| name_of(current_user()));
        let priority: i32 = call.need(2, "priority");
        let role = check_role(call.need_text(3, "role"));
        let path = SearchPath::of(call, 4);
        let nothing_open = NothingOpen::required("what the planner calls for the statement");
        let reads_temporary = as_role(role, &path.0, &nothing_open, || {
            // SAFETY: inside a transaction with a snapshot, as the handler's role and with its search_path.
            let plan = unsafe { make_plan::for_statement(statement, &types()) };
            let reads_temporary = plan.relations().any(temporary::is_temporary_relation);
            plan.release();
            reads_temporary
        });
        temporary::refuse_if(reads_temporary, "a statement over a table or view");
        register(
            &format!("handler {name}"),
            "insert into http.handler as h (name, statement, priority, role, search_path, owner) values ($1, $2, $3, $4, $5, $6)
             on conflict (name) do update
             set statement = excluded.statement, priority = excluded.priority, role = excluded.role,
               search_path = excluded.search_path
             where $7 or coalesce(h.owner, '') = $8 returning true",
            &[
                name.into(),
                statement.into(),
                priority.into(),
                role.into(),
                path.text().into(),
                owner.as_deref().into(),
                owner.is_none().into(),
                former.as_deref().or(owner.as_deref()).into(),
            ],
        );
        note_registered(Registered::Handler, &[name]);
        Datum::null()
    }
);

sql_function!(
    /// `http.unhandle(name)`
    howdah_unhandle,
    |call| {
        refuse_restricted();
        let name = call.text(0);
        name.map(check_handler_owner);
        is_removed("delete from http.handler h where h.name = $1 returning true", &[name.into()])
    }
);

/// The role that registered a query handler, if there is one. An error if the current user has not its rights.
fn check_handler_owner(name: &str) -> Option<String> {
    check_owner(
        "select coalesce(h.owner, '') from http.handler h where h.name = $1",
        &[name.into()],
        &format!("handler {name}"),
    )
}
