//! Routes that give way to others of the same paths: a file that has renamed a parameter registers the new route while the old one, which it
//! has registered the last time, is there still.

use std::cell::RefCell;

use session::authority::value_as_owner;

use super::recorder::{self, Registered};

thread_local! {
    /// The application and the path of the file that runs.
    static RUNS: RefCell<Option<(String, String)>> = const { RefCell::new(None) };
}

/// Runs `work`, which runs a file.
pub(crate) fn while_running<T>(application: &str, path: &str, work: impl FnOnce() -> T) -> T {
    /// Ends, after an error as well.
    struct Running;
    impl Drop for Running {
        fn drop(&mut self) {
            RUNS.set(None);
        }
    }
    RUNS.set(Some((application.to_owned(), path.to_owned())));
    let _running = Running;
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
    let left = value_as_owner::<bool>(
        "with own as (
           select r.is_page, coalesce(bool_and(o.is_stale or o.path = $5), false) and r.owner = $3 as goes
           from http.route r left join deploy.object o on o.application = $4 and o.names = array[r.method, r.pattern]
             and o.type = case when r.is_page then 'page' else 'route' end
           where r.method = $1 and r.pattern = $2
           group by r.is_page, r.owner),
         gone as (
           delete from http.route r using own
           where r.method = $1 and r.pattern = $2 and r.is_page = own.is_page and (select bool_and(goes) from own)
           returning r.is_page)
         select count(*) > 0 from gone",
        &[method.into(), pattern.into(), owner.into(), application.into(), path.into()],
    );
    left.unwrap_or_default()
}
