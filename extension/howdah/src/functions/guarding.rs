//! Registering guards: functions that look at each request below a path before anything else answers.

use deploy::recorder::{Registered, note_registered};
use pg::entry::sql_function;
use pg::refuse::{refuse, refuse_with_hint};
use pgrx::pg_sys::Datum;
use pgrx::prelude::*;
use request::function::Function;
use request::path_guards::obstacle;
use router::{check_prefix, is_below, may_be_below};
use session::authority::{
    check_role, function_name, has_rights_of, is_admin, name_of, refuse_restricted, rows_as_owner,
    value_as_owner, with_path,
};

use super::registering::{
    SearchPath, check_function, check_function_owner, check_owner, is_removed, look_up, register,
};

sql_function!(
    /// `http.guard(prefix, function, role, search_path)`
    howdah_guard,
    |call| {
        refuse_restricted();
        let prefix = call.need_text(0, "prefix");
        if let Err(error) = check_prefix(prefix) {
            refuse(PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE, &format!("prefix {prefix:?}: {error}"));
        }
        let role = check_role(call.need_text(2, "role"));
        let path = SearchPath::of(call, 3);
        let function = with_path(&path.0, || look_up(call.need_text(1, "function")));
        let function_as_it_is = check_function(function);
        check_result(&function_as_it_is);
        let owner = name_of(function_as_it_is.owner());
        check_function_owner(&owner, &function_as_it_is);
        let former = check_guard_owner(prefix);
        if former.as_ref() != Some(&owner) {
            check_others(prefix);
            check_count(&owner);
        }
        register(
            &format!("guard {prefix}"),
            "insert into http.guarded as g (prefix, function, role, search_path, owner) values ($1, $2, $3, $4, $5)
             on conflict (prefix) do update
             set function = excluded.function, role = excluded.role, search_path = excluded.search_path, owner = excluded.owner
             where $6 or coalesce(g.owner, '') = $7 returning true",
            &[
                prefix.into(),
                function_name(function).into(),
                role.into(),
                path.text().into(),
                owner.as_str().into(),
                is_admin().into(),
                former.as_deref().unwrap_or(&owner).into(),
            ],
        );
        note_registered(Registered::Guard, &[prefix]);
        Datum::null()
    }
);

sql_function!(
    /// `http.unguard(prefix)`
    howdah_unguard,
    |call| {
        refuse_restricted();
        let prefix = call.text(0);
        prefix.map(check_guard_owner);
        is_removed("delete from http.guarded g where g.prefix = $1 returning true", &[prefix.into()])
    }
);

/// An error if the function's result says neither that a request may pass nor what it gets: false, say, would let everybody in.
fn check_result(function: &Function) {
    if let Some(reason) = obstacle(function) {
        refuse_with_hint(
            PgSqlErrorCode::ERRCODE_INVALID_FUNCTION_DEFINITION,
            &reason,
            "Let it return http.response: null for a request that may pass, and the answer to one that may not. Or let it return void, and raise. Leave STRICT out.",
        );
    }
}

/// An error if there is a guard of somebody whose rights the current user has not. Whose it is, if there is one.
fn check_guard_owner(prefix: &str) -> Option<String> {
    check_owner(
        "select coalesce(g.owner, '') from http.guarded g where g.prefix = $1",
        &[prefix.into()],
        &format!("guard {prefix}"),
    )
}

/// Guards of one application at most: each request looks at all of them.
const MOST: i64 = 100;

/// An error if an application has as many guards as it may.
fn check_count(owner: &str) {
    let count =
        || value_as_owner::<i64>("select count(*) from http.guarded g where g.owner = $1", &[owner.into()]);
    if !is_admin() && count().is_some_and(|count| count >= MOST) {
        refuse_with_hint(
            PgSqlErrorCode::ERRCODE_PROGRAM_LIMIT_EXCEEDED,
            &format!("{owner} has {MOST} guards already"),
            "Let one guard stand above several paths.",
        );
    }
}

/// An error if the guard would look at requests to routes, or stand above or below guards, of somebody whose rights the current user has not.
fn check_others(prefix: &str) {
    if is_admin() {
        return;
    }
    let others = rows_as_owner(
        "select 'route ' || r.method || ' ' || r.pattern, r.pattern, coalesce(r.owner, ''), false from http.route r
         union all select 'guard ' || g.prefix, g.prefix, coalesce(g.owner, ''), true from http.guarded g",
        &[],
        |row| {
            let text = |place| row.get::<String>(place).ok().flatten();
            Some((text(1)?, text(2)?, text(3)?, row.get::<bool>(4).ok()??))
        },
    );
    let is_concerned = |path: &str, guards: bool| {
        if guards { is_below(prefix, path) || is_below(path, prefix) } else { may_be_below(prefix, path) }
    };
    let theirs =
        others.iter().find(|(_, path, owner, guards)| is_concerned(path, *guards) && !has_rights_of(owner));
    if let Some((title, _, owner, _)) = theirs {
        refuse_with_hint(
            PgSqlErrorCode::ERRCODE_INSUFFICIENT_PRIVILEGE,
            &format!("guard {prefix} would look at requests to {title}, which belongs to {owner}"),
            "Guard a path below which there is nothing of others.",
        );
    }
}
