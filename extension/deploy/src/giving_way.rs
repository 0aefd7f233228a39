//! Routes that give way to others of the same paths: a file that has renamed a parameter registers the new route while the old one, which it
//! has registered the last time, is there still.

use std::cell::RefCell;

use session::authority::rows_as_owner;

use super::recorder::{self, Registered};

thread_local! {
    /// The application and the path of the file that runs.
    static RUNS: RefCell<Option<(String, String)>> = const { RefCell::new(None) };
}

/// Runs `work`, which runs a file.
pub(crate) fn while_running<T>(application: &str, path: &str, work: impl FnOnce() -> T) -> T {
    /// Ends, after an error as well.
    struct FileRuns;
    impl Drop for FileRuns {
        fn drop(&mut self) {
            RUNS.set(None);
        }
    }
    RUNS.set(Some((application.to_owned(), path.to_owned())));
    let _runs = FileRuns;
    work()
}

/// Takes back a route of this owner, with its page, if the deployment that runs would do so at its end: the file that runs has registered it
/// before, or one that is gone, and none has again so far. Returns whether nothing of it is left.
pub fn give_way(method: &str, pattern: &str, owner: &str) -> bool {
    let Some((application, path)) = RUNS.with_borrow(Clone::clone) else { return false };
    let names = [method, pattern];
    if [Registered::Route, Registered::Page].iter().any(|kind| recorder::is_noted(*kind, &names)) {
        return false;
    }
    let gone = rows_as_owner(
        "with own as (
           select g.type, g.names, g.owner = $3 and coalesce(bool_and(o.is_stale or o.path = $5), false) as goes
           from deploy.registered g
           left join deploy.object o on o.application = $4 and o.type = g.type and o.names = g.names
           where g.type in ('route', 'page') and g.names = array[$1, $2]
           group by g.type, g.names, g.owner)
         select deploy.unregister(own.type, own.names, false)::text from own where (select bool_and(w.goes) from own w)",
        &[method.into(), pattern.into(), owner.into(), application.into(), path.into()],
        |_| Some(()),
    );
    !gone.is_empty()
}
