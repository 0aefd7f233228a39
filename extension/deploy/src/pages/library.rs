//! The pages of a deployment.

use std::cell::RefCell;

use pages::{PageLibrary, read};
use session::authority::rows_as_owner;

use super::super::application::Deployment;

thread_local! {
    /// Those of the deployment that runs, once they were needed.
    static LIBRARY: RefCell<Option<PageLibrary>> = const { RefCell::new(None) };
}

/// Another deployment has begun.
pub(crate) fn forget() {
    LIBRARY.take();
}

/// Gives the pages of the deployment whose texts are there: those that have not changed, and those that were noted. One that cannot be read is
/// none; it is told when it runs.
pub(crate) fn with<T>(deployment: &Deployment, work: impl FnOnce(&PageLibrary) -> T) -> T {
    if LIBRARY.with_borrow(Option::is_none) {
        let found = rows_as_owner(
            r"select f.path, c.content
             from deploy.file f join deploy.content c on c.application = f.application and c.digest = f.digest
             where f.application = $1 and f.number = $2 and f.path like 'pages/%'",
            &[deployment.application.name.as_str().into(), deployment.number.into()],
            |row| row.get::<String>(1).ok().flatten().zip(row.get::<String>(2).ok().flatten()),
        );
        let library = found.into_iter().filter_map(|(path, text)| read(&path, &text).ok()).collect();
        LIBRARY.set(Some(library));
    }
    LIBRARY.with_borrow(|library| work(library.as_ref().unwrap_or(&PageLibrary::default())))
}
