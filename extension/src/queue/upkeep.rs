//! Segments that are drained, of queues that nobody uses any more.
//!
//! Takers truncate drained segments in passing, but the last of them leaves before its own rows are gone. So executors
//! that have nothing else to do look after the queues that have been used since the server was started.

use std::cell::Cell;
use std::time::{Duration, Instant};

use pgrx::pg_sys;

use super::functions::events;
use super::{claim, definition, rotation};
use crate::guard::Report;
use crate::settings;
use crate::shared::shared;
use crate::worker::transaction::transaction;

/// Time after which a queue is looked after again; none if that is not wanted.
pub fn interval() -> Option<Duration> {
    let milliseconds = settings::QUEUE_MAINTENANCE.get();
    (milliseconds > 0).then(|| Duration::from_millis(milliseconds as u64))
}

/// Truncates what is drained in queues of this database, unless somebody has tried lately. Outside a transaction.
pub fn look_after_queues() {
    // SAFETY: PostgreSQL's own state.
    if unsafe { pg_sys::RecoveryInProgress() } {
        return;
    }
    let Some(interval) = interval() else { return };
    forget_tables();
    for queue in shared().queues.neglected(interval.as_micros() as i64) {
        // What fails is logged, and must not keep the other queues from it.
        let _ = transaction(Report::Log, || {
            // SAFETY: PostgreSQL's own variable: the role of the last request may have another default.
            unsafe { pg_sys::XactReadOnly = false };
            if let Some(queue) = definition::of_number(queue) {
                claim::advance(&queue);
                rotation::tidy(&queue, rotation::Effort::Thorough);
            }
        });
    }
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
