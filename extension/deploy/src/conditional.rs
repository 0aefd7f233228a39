//! Files that leave out what is there already: by IF NOT EXISTS, or by looking before. What others no longer make they make then, so they run
//! again when something was dropped.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use folder::Kind;
use folder::pages::is_page;
use session::authority::{rows_as_owner, value_as_owner};

use super::application::{Application, Deployment};
use super::statements::may_leave_out;

thread_local! {
    /// Whether a text leaves something out, by its digest, for those that this deployment has asked for.
    static KNOWN: RefCell<BTreeMap<String, bool>> = const { RefCell::new(BTreeMap::new()) };
    /// Files that have run in this deployment.
    static RAN: RefCell<BTreeSet<String>> = const { RefCell::new(BTreeSet::new()) };
    /// Objects of files that were taken away to be made again, as rows of `deploy.object`.
    static TAKEN: RefCell<BTreeSet<String>> = const { RefCell::new(BTreeSet::new()) };
}

/// A deployment begins.
pub(crate) fn begin() {
    KNOWN.take();
    RAN.take();
    TAKEN.take();
}

/// The objects of a file are taken away; it may make them again.
pub(crate) fn note_taken(application: &Application, path: &str) {
    let query = "select o::text from deploy.object o where o.application = $1 and o.path = $2";
    let taken =
        rows_as_owner(query, &[application.name.as_str().into(), path.into()], |row| row.get(1).ok()?);
    TAKEN.with_borrow_mut(|known| known.extend(taken));
}

/// Whether something of that was not made again, by any file, since this was last asked.
pub(crate) fn is_something_gone() -> bool {
    let taken: Vec<String> = TAKEN.take().into_iter().collect();
    !taken.is_empty()
        && value_as_owner::<bool>(
            "select true from unnest($1::text[]) t (row) cross join lateral (select (t.row::deploy.object).*) o
             where o.type not in ('route', 'page', 'handler', 'guard', 'error pages', 'files', 'job', 'schedule') and (deploy.address(o.type, o.names, o.arguments)).objid is null
             limit 1",
            &[taken.into()],
        )
        .is_some()
}

/// Notes that a file runs; whether it has run before in this deployment.
pub(crate) fn runs_again(path: &str) -> bool {
    !RAN.with_borrow_mut(|ran| ran.insert(path.to_owned()))
}

/// Those of the deployment's code, as far as their texts are known: others have not run.
pub(crate) fn files(deployment: &Deployment) -> Vec<String> {
    let texts = rows_as_owner(
        "select f.path, f.digest, c.content from deploy.file f join deploy.content c on c.application = f.application and c.digest = f.digest
         where f.application = $1 and f.number = $2",
        &[deployment.application.name.as_str().into(), deployment.number.into()],
        |row| Some((row.get::<String>(1).ok()??, row.get::<String>(2).ok()??, row.get::<String>(3).ok()??)),
    );
    let of_code = texts.into_iter().filter(|(path, ..)| Kind::of(path) == Some(Kind::Code) && !is_page(path));
    let conditional = of_code.filter(|(_, digest, text)| {
        let known = KNOWN.with_borrow(|known| known.get(digest).copied());
        known.unwrap_or_else(|| {
            let leaves_out = may_leave_out(text);
            KNOWN.with_borrow_mut(|known| known.insert(digest.clone(), leaves_out));
            leaves_out
        })
    });
    conditional.map(|(path, ..)| path).collect()
}
