//! `deploy.unready_routes`: routes that requests would find broken.

use pg::entry::{Returned, columns, sql_function};
use request::call::watch;
use request::check;
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
