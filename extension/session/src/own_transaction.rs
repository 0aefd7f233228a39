//! A guarded transaction for the platform's own look-ups.

use pg::guard::{PgError, Report, attempt};
use pgrx::pg_sys;

use crate::at_rest;

/// Begins a transaction of the platform's own, whatever the settings in force make the default: those of a role must not have it
/// wait for others until a snapshot is safe, or fail to write.
///
/// # Safety
/// Inside a guard, outside a transaction.
pub unsafe fn begin() {
    // SAFETY: by contract.
    unsafe {
        pg_sys::SetCurrentStatementStartTimestamp();
        pg_sys::StartTransactionCommand();
        pg_sys::XactIsoLevel = pg_sys::XACT_READ_COMMITTED as i32;
        pg_sys::XactReadOnly = pg_sys::RecoveryInProgress();
        pg_sys::XactDeferrable = false;
    }
}

/// Runs `work` in a transaction of its own with a snapshot. After an error the transaction is gone and the
/// process goes on.
///
/// For use outside of transactions, on the main thread. `work` calls PostgreSQL through pgrx's bindings, so that
/// an error unwinds through what it owns.
pub fn transaction<T>(report: Report, work: impl FnOnce() -> T) -> Result<T, PgError> {
    // SAFETY: the process is connected and outside a transaction. Through pgrx's bindings errors are panics until they
    // reach the guard, so nothing with a destructor is jumped over.
    let result = unsafe {
        attempt(report, || {
            begin();
            pg_sys::PushActiveSnapshot(pg_sys::GetTransactionSnapshot());
            let value = work();
            pg_sys::PopActiveSnapshot();
            pg_sys::CommitTransactionCommand();
            value
        })
    };
    if result.is_err() {
        // SAFETY: the transaction has failed.
        unsafe { at_rest::abort() };
    }
    result
}
