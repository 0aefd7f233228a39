//! A guarded transaction for the platform's own look-ups.

use pgrx::pg_sys;

use crate::guard::{PgError, Report, attempt};

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
            pg_sys::SetCurrentStatementStartTimestamp();
            pg_sys::StartTransactionCommand();
            pg_sys::PushActiveSnapshot(pg_sys::GetTransactionSnapshot());
            let value = work();
            pg_sys::PopActiveSnapshot();
            pg_sys::CommitTransactionCommand();
            value
        })
    };
    if result.is_err() {
        abort();
    }
    result
}

/// Leaves a failed transaction.
fn abort() {
    // SAFETY: the counterpart of StartTransactionCommand after an error; it does not raise.
    unsafe {
        pg_sys::AbortCurrentTransaction();
        pg_sys::MemoryContextSwitchTo(pg_sys::TopMemoryContext);
    }
}
