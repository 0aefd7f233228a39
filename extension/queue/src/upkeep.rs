//! Segments that are drained, of queues that nobody uses any more.
//!
//! Takers truncate drained segments in passing, but the last of them leaves before its own rows are gone, and each does little. So
//! executors that have nothing else to do look after the queues that have been used since the server was started, and in which no
//! taker has managed to truncate anything for a while.

use std::cell::Cell;
use std::time::{Duration, Instant};

use pg::guard::Report;
use pgrx::pg_sys;
use session::own_transaction::transaction;
use shared::settings;

use super::claim;
use super::definition::{self, Definition};
use super::functions::events;
use super::shift::Shift;
use crate::memory::queues;
use crate::{candidates, truncation};

/// Time after which a queue is looked after again; none if that is not wanted.
pub fn interval() -> Option<Duration> {
    let milliseconds = settings::QUEUE_MAINTENANCE.get();
    (milliseconds > 0).then(|| Duration::from_millis(milliseconds as u64))
}

/// What an executor has begun to move out of segments, so that they can be truncated.
#[derive(Default)]
pub struct Upkeep {
    shifts: Vec<(u32, Shift)>,
}

impl Upkeep {
    /// Whether something was begun.
    pub fn is_under_way(&self) -> bool {
        !self.shifts.is_empty()
    }

    /// Truncates what is drained in queues of this database, unless somebody has lately. Outside a transaction.
    pub fn look_after_queues(&mut self) {
        // SAFETY: PostgreSQL's own state.
        if unsafe { pg_sys::RecoveryInProgress() } {
            return;
        }
        let Some(interval) = interval() else { return };
        forget_tables();
        for queue in queues().neglected(interval.as_micros() as u64) {
            let left = upkeep(queue, tidy).unwrap_or_default();
            self.shifts.extend(left.into_iter().map(|number| (queue, Shift::of(number))));
        }
    }

    /// Goes on with what was begun: a slice of it, in a transaction.
    pub fn go_on(&mut self) {
        let Some((queue, shift)) = self.shifts.last_mut() else { return };
        let queue = *queue;
        let step = |queue: &Definition| {
            // Others leave it to this executor.
            queue.lock().note_tidying();
            shift.step(queue)
        };
        if !upkeep(queue, step).unwrap_or_default() {
            self.shifts.pop();
            upkeep(queue, tidy);
        }
    }
}

/// Works with a queue in a transaction; none if it is gone. What fails is logged, and must not keep the other queues from it.
fn upkeep<T>(queue: u32, work: impl FnOnce(&Definition) -> T) -> Option<T> {
    let result = transaction(Report::Log, || {
        // SAFETY: PostgreSQL's own variable: the role of the last request may have another default.
        unsafe { pg_sys::XactReadOnly = false };
        definition::of_number(queue).map(|queue| work(&queue))
    });
    result.ok().flatten()
}

/// Truncates what is drained. Segments of which something is to be moved first.
fn tidy(queue: &Definition) -> Vec<usize> {
    claim::advance(queue);
    truncation::tidy(queue, candidates::Effort::Thorough).left
}

/// How often it is looked whether tables are gone of which something is kept: their numbers come again after four billion
/// others, which no server gives out meanwhile.
const FORGET_EVERY: Duration = Duration::from_secs(600);

thread_local! {
    static FORGOTTEN: Cell<Option<Instant>> = const { Cell::new(None) };
}

/// Removes what the event trigger for dropped tables has left, now and then.
fn forget_tables() {
    if FORGOTTEN.get().is_some_and(|last| last.elapsed() < FORGET_EVERY) {
        return;
    }
    FORGOTTEN.set(Some(Instant::now()));
    // What fails is logged, and tried again.
    let _ = transaction(Report::Log, || {
        // SAFETY: PostgreSQL's own variable: the role of the last request may have another default.
        unsafe { pg_sys::XactReadOnly = false };
        events::forget_what_is_gone();
    });
}
