//! Failures and dead jobs go once they are old, and keys that are held for a time once that is over: in small steps, each a transaction of its own of an executor, which no setting ends.
//!
//! A walk goes through the pages of their tables, which need no index for it; then it rests. Executors of a database take turns.

use std::time::{Duration, Instant};

use pg::guard::Report;
use queue::upkeep;
use session::authority::value_as_owner;
use session::own_transaction::transaction;

use crate::memory::jobs;

/// A walk takes no more than one part of so many of the time.
const PAUSES: u32 = 20;
/// The shortest pause between two steps.
const SHORTEST: Duration = Duration::from_millis(10);

/// Takes the step that is due, if one is. When the next one is, while a walk is under way.
///
/// # Safety
/// On the main thread of an executor of the database, outside a transaction.
pub unsafe fn look_after(database: usize) -> Option<Duration> {
    let walk = jobs().walk(database);
    let interval = upkeep::interval()?;
    if walk.begin_step(interval) {
        let began = Instant::now();
        let page = walk.page();
        // What fails is logged, and the next walk begins anew.
        let purged = transaction(Report::Log, || {
            value_as_owner::<i32>("select job.purge($1)", &[(page as i32).into()])
        });
        let next = purged.ok().flatten().map(|page| page as u32);
        let pause = if next.is_some() { (began.elapsed() * PAUSES).max(SHORTEST) } else { interval };
        walk.step_is_done(next, pause);
    }
    walk.pause()
}
