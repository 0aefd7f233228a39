//! Work that may fail without failing the transaction.

use pgrx::pg_sys;

use crate::guard::{PgError, Report, attempt};
use crate::pg;
use crate::request::admission;

/// Runs `work` in a subtransaction, which is rolled back if it fails.
///
/// # Safety
/// On the main thread inside a transaction; and as for [`attempt`], no frame of `work` that calls PostgreSQL directly owns a
/// value with a destructor.
pub unsafe fn in_subtransaction<T>(work: impl FnOnce() -> T) -> Result<T, PgError> {
    // SAFETY: by contract; what is current is set back, as PL/pgSQL does around a block with a handler.
    unsafe {
        let (context, owner) = (pg_sys::CurrentMemoryContext, pg_sys::CurrentResourceOwner);
        let level = pg::GetCurrentTransactionNestLevel();
        admission::let_subtransaction_begin();
        pg_sys::BeginInternalSubTransaction(std::ptr::null());
        pg_sys::MemoryContextSwitchTo(context);
        let result = attempt(Report::Quiet, || {
            let value = work();
            pg::ReleaseCurrentSubTransaction();
            value
        });
        // A panic may have left some that the work had begun.
        while result.is_err() && pg::GetCurrentTransactionNestLevel() > level {
            pg_sys::RollbackAndReleaseCurrentSubTransaction();
        }
        pg_sys::MemoryContextSwitchTo(context);
        pg_sys::CurrentResourceOwner = owner;
        result
    }
}
