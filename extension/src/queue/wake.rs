//! Who waits for rows: a session in `queue.read_with_poll`, which sleeps on a condition variable that every commit of
//! rows signals; and gateways with requests that wait ([`super::later`]), which have an eventfd.
//!
//! COMMIT PREPARED may be another session's, which knows nothing of the rows: so a sleep is bounded.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use pgrx::pg_sys;
use pgrx::prelude::*;

use super::definition::Definition;
use super::memory::QueueMemory;
use crate::shared;
use crate::shared::workers::Kind;

thread_local! {
    /// Queues that this transaction has sent to.
    static SENT: RefCell<Vec<&'static QueueMemory>> = const { RefCell::new(Vec::new()) };
    static REGISTERED: Cell<bool> = const { Cell::new(false) };
}

/// Wakes those who wait for rows of the queue when the transaction has committed.
pub fn at_commit(queue: &Definition) {
    let memory = queue.memory();
    SENT.with_borrow_mut(|sent| {
        if !sent.iter().any(|known| std::ptr::eq(*known, memory)) {
            sent.push(memory);
        }
    });
    if !REGISTERED.replace(true) {
        // SAFETY: a callback for the life of this session.
        unsafe { pg_sys::RegisterXactCallback(Some(at_transaction_end), std::ptr::null_mut()) };
    }
}

#[pg_guard]
unsafe extern "C-unwind" fn at_transaction_end(
    event: pg_sys::XactEvent::Type,
    _argument: *mut std::ffi::c_void,
) {
    use pg_sys::XactEvent::{XACT_EVENT_ABORT, XACT_EVENT_COMMIT, XACT_EVENT_PREPARE};
    if !matches!(event, XACT_EVENT_COMMIT | XACT_EVENT_ABORT | XACT_EVENT_PREPARE) {
        return;
    }
    for memory in SENT.take() {
        if event == XACT_EVENT_COMMIT {
            signal(memory);
        }
    }
}

/// Wakes those who wait for rows of the queue now.
pub fn signal(memory: &QueueMemory) {
    for gateway in memory.arrive() {
        shared::wake::wake(Kind::Gateway, gateway);
    }
    // SAFETY: the condition variable is in shared memory and was initialised at the start.
    unsafe { pg_sys::ConditionVariableBroadcast(memory.waiting()) };
}

/// A session that waits.
pub struct Waiter(Rc<Definition>);

impl Waiter {
    /// From now on arrivals wake this session.
    pub fn new(queue: &Rc<Definition>) -> Waiter {
        // SAFETY: as in `signal`.
        unsafe { pg_sys::ConditionVariablePrepareToSleep(queue.memory().waiting()) };
        Waiter(queue.clone())
    }

    /// Commits that have brought rows so far.
    pub fn arrivals(&self) -> u64 {
        self.0.memory().arrivals()
    }

    /// Sleeps until there are more arrivals than `seen`, or for so many milliseconds.
    pub fn sleep(&self, seen: u64, milliseconds: i64) {
        if self.arrivals() != seen {
            return;
        }
        // SAFETY: as in `signal`; interrupts are served inside.
        unsafe {
            pg_sys::ConditionVariableTimedSleep(
                self.0.memory().waiting(),
                milliseconds,
                pg_sys::PG_WAIT_EXTENSION,
            );
        }
    }
}

impl Drop for Waiter {
    fn drop(&mut self) {
        // After an error PostgreSQL cancels the sleep.
        if !std::thread::panicking() {
            // SAFETY: prepared by `new`.
            unsafe { pg_sys::ConditionVariableCancelSleep() };
        }
    }
}
