//! `deploy.unready_routes`: routes that requests would find broken; and `deploy.answers`: whether links lead to one.

use pg::entry::{Returned, columns, sql_function};
use request::call::watch;
use request::check;
use router::is_answered_by;
use session::authority::NothingOpen;

sql_function!(
    /// `deploy.unready_routes(owner)`
    deploy_unready_routes,
    |call| {
        let returned = Returned::declared(call);
        let nothing_open = NothingOpen::required("what the planner calls for a route");
        watch();
        // SAFETY: inside the transaction of the call, whose snapshot is active; nobody but the extension's owner may call it.
        let unready = unsafe { check::unready(call.need_text(0, "owner"), &nothing_open) };
        for check::Unready { kind, names, error } in unready {
            // SAFETY: the declaration has these columns.
            unsafe { returned.add_values(&mut columns![kind, names, error.message, error.detail, error.hint]) };
        }
        returned.done()
    }
);

sql_function!(
    /// `deploy.answers(pattern, url)`
    deploy_answers,
    |call| call.give(is_answered_by(call.need_text(1, "url"), call.need_text(0, "pattern")))
);
