//! What was changed by hand: what objects are is noted when they are deployed, and compared. The comparisons are functions of schema `deploy`
//! (`sql/howdah/71-drift.sql`, `71-description.sql`).

use std::cell::RefCell;

use session::authority::{rows_as_owner, run_as_owner};
use session::deployer::in_same_words;

use super::application::{Application, Deployment};

/// Path, object, and what has become of it.
pub(crate) type Change = [String; 3];

thread_local! {
    /// Changes that were noted as the last deployment of this session began.
    static NOTED: RefCell<Vec<Change>> = const { RefCell::new(Vec::new()) };
}

/// As a deployment begins: notes what was changed by hand. It stays so until its file runs again.
pub(crate) fn note(application: &Application) {
    NOTED.set(in_same_words(|| changes("select d.* from deploy.note_drift($1) d", application)));
}

/// What was changed by hand; in a deployment of the application as it was when that began.
pub(crate) fn of(application: &Application) -> Vec<Change> {
    if Deployment::is_of(&application.name) {
        return NOTED.with_borrow(Clone::clone);
    }
    in_same_words(|| changes("select d.* from deploy.drifted($1) d", application))
}

fn changes(query: &str, application: &Application) -> Vec<Change> {
    rows_as_owner(query, &[application.name.as_str().into()], |row| {
        Some([row.get(1).ok()??, row.get(2).ok()??, row.get(3).ok()??])
    })
}

/// As it ends: notes what is there.
pub(crate) fn note_what_is_there(application: &Application) {
    note_described(application, true);
}

/// Notes what is there but what files of code have made.
pub(crate) fn note_shape(application: &Application) {
    note_described(application, false);
}

fn note_described(application: &Application, with_code: bool) {
    let name = application.name.as_str();
    in_same_words(|| run_as_owner("select deploy.note_shape($1, $2)", &[name.into(), with_code.into()]));
}

/// Applications with their last deployments; how many routes their files have made, and how much was changed by hand.
pub(crate) const APPLICATIONS: &str =
    "select a.name, a.schema_name, a.owner::regrole::text, last.number, last.kind, last.deployed_at, last.deployed_by, last.source, last.note,
       (select count(*) from deploy.object r where r.application = a.name and r.type = 'route'),
       deploy.count_drift(a.name)
     from deploy.application a
     left join lateral (select * from deploy.deployment d where d.application = a.name order by d.number desc limit 1) last on true
     where pg_has_role($1, a.owner::oid, 'member') order by a.name";
