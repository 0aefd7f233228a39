//! Truncating at the end of a taker's transaction.
//!
//! A truncation locks a segment against everybody until its transaction ends. A taker's may last as long as its work with the
//! rows, and producers read all segments: so it is done by the commit itself. A transaction that is prepared leaves it to others.

use std::cell::{Cell, RefCell};

use pg::entry::callback;
use pgrx::pg_sys;
use session::subtransaction::in_subtransaction;
use shared::tick;

use super::candidates::{Effort, Pressure, TIDY_EVERY, candidates, is_rested};
use super::definition::{self, Definition};
use super::rotation::measure;
use super::truncation;

thread_local! {
    /// Names of the queues that are due.
    static DUE: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
    static REGISTERED: Cell<bool> = const { Cell::new(false) };
}

/// Truncates what is drained of the queue when the transaction commits, or moves what stays.
pub(crate) fn at_commit(queue: &Definition) {
    DUE.with_borrow_mut(|due| {
        if !due.contains(&queue.name) {
            due.push(queue.name.clone());
        }
    });
    if !REGISTERED.replace(true) {
        // SAFETY: a callback for the life of this session.
        unsafe { pg_sys::RegisterXactCallback(Some(at_transaction_end), std::ptr::null_mut()) };
    }
}

callback! {
    unsafe fn at_transaction_end(event: pg_sys::XactEvent::Type, _argument: *mut std::ffi::c_void) {
        use pg_sys::XactEvent::{XACT_EVENT_ABORT, XACT_EVENT_PRE_COMMIT, XACT_EVENT_PRE_PREPARE};
        if !matches!(event, XACT_EVENT_PRE_COMMIT | XACT_EVENT_ABORT | XACT_EVENT_PRE_PREPARE) {
            return;
        }
        for name in DUE.take() {
            if event == XACT_EVENT_PRE_COMMIT {
                // What fails must not fail the commit: somebody else will try.
                // SAFETY: inside the transaction that commits; the name is dropped by this frame, outside.
                let _ = unsafe { in_subtransaction(|| tidy(&name)) };
            }
        }
    }
}

fn tidy(name: &str) {
    // The queue may have been dropped.
    let Some(queue) = definition::look_up(name) else { return };
    // SAFETY: inside a transaction. After an error the subtransaction's end pops the snapshot.
    unsafe { pg_sys::PushActiveSnapshot(pg_sys::GetTransactionSnapshot()) };
    truncation::tidy_in_passing(&queue);
    // SAFETY: pushed above.
    unsafe { pg_sys::PopActiveSnapshot() };
}

/// Truncates drained segments when this transaction commits, if nobody has tried lately.
pub fn tidy_sometimes(queue: &Definition) {
    let now = tick();
    let (due, is_to_measure) = {
        let mut lock = queue.lock();
        let due = is_rested(&lock, now) && !candidates(&mut lock, Effort::Passing, now).is_empty();
        if due {
            lock.note_tidying();
        }
        let is_to_measure =
            !due && now.since(lock.measured) > TIDY_EVERY && Pressure::of(&lock) == Pressure::Low;
        if is_to_measure {
            lock.measured = now;
        }
        (due, is_to_measure)
    };
    if due || is_to_measure && measure(queue) {
        at_commit(queue);
    }
}
