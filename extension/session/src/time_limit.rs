//! Work of a session that may take so long and no longer: it is cancelled then, as PostgreSQL cancels a statement.

use std::sync::atomic::{AtomicBool, AtomicI32, Ordering::Relaxed};

use pg::entry::infallible_callback;
use pg::guard::PgError;
use pgrx::pg_sys;

use crate::subtransaction::in_subtransaction;

/// The number of the limit among PostgreSQL's timeouts; negative before it is registered.
static NUMBER: AtomicI32 = AtomicI32::new(-1);
/// Whether the time was over.
static IS_OVER: AtomicBool = AtomicBool::new(false);
/// Milliseconds between two cancels, as a function may catch one.
const AGAIN: i32 = 100;
/// The SQLSTATE of a cancel.
const CANCELLED: [u8; 5] = *b"57014";

infallible_callback! {
    /// Runs inside SIGALRM, where PostgreSQL lets timeouts be set.
    unsafe fn strike() {
        IS_OVER.store(true, Relaxed);
        // SAFETY: PostgreSQL's own variables; registered.
        unsafe {
            pg_sys::QueryCancelPending = 1;
            pg_sys::InterruptPending = 1;
            pg::enable_timeout_after(NUMBER.load(Relaxed), AGAIN);
        }
    }
}

/// Runs `work` in a subtransaction for so many milliseconds at most. None of its value: it took longer, and is undone.
///
/// # Errors
/// That of `work`.
pub fn within<T>(milliseconds: i32, work: impl FnOnce() -> T) -> Result<Option<T>, PgError> {
    if NUMBER.load(Relaxed) < 0 {
        // SAFETY: on the main thread of a session, whose timeouts PostgreSQL has initialised.
        NUMBER.store(unsafe { pg::RegisterTimeout(pg::USER_TIMEOUT, Some(strike)) }, Relaxed);
    }
    IS_OVER.store(false, Relaxed);
    let limit = Limit::set(milliseconds);
    // SAFETY: inside a transaction. The work's calls raise through pgrx's guards, and pass over nothing that must be dropped.
    let result = unsafe { in_subtransaction(work) };
    drop(limit);
    let is_over = IS_OVER.load(Relaxed);
    match result {
        Err(error) if is_over && error.sqlstate == CANCELLED => Ok(None),
        result => result.map(Some),
    }
}

/// A limit in force; it ends when dropped, after an error as well.
struct Limit;

impl Limit {
    fn set(milliseconds: i32) -> Limit {
        // SAFETY: registered.
        unsafe { pg::enable_timeout_after(NUMBER.load(Relaxed), milliseconds) };
        Limit
    }
}

impl Drop for Limit {
    fn drop(&mut self) {
        // SAFETY: registered.
        unsafe { pg::disable_timeout(NUMBER.load(Relaxed), false) };
        if IS_OVER.load(Relaxed) {
            // The cancel was for this work alone.
            // SAFETY: PostgreSQL's own variable.
            unsafe { pg_sys::QueryCancelPending = 0 };
        }
    }
}
