//! Work that may fail without failing the transaction.

use std::cell::Cell;

use pg::guard::{PgError, Report, attempt, unwind};
use pg::scratch;
use pgrx::pg_sys;
use problem::Meaning;

use crate::watch;

thread_local! {
    /// The next subtransaction that begins is one of these.
    static OWN: Cell<bool> = const { Cell::new(false) };
}

/// Whether the subtransaction that begins is one of these, and keeps no cancel. Asked at its begin, once.
pub fn take_own() -> bool {
    OWN.take()
}

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
        OWN.set(true);
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

/// Runs `work` in a subtransaction. What comes of others, of the server or of a cancel is raised; that `work` has taken more
/// memory than a request may is its own fault, and the memory is free again.
pub fn attempted<T>(work: impl FnOnce() -> T) -> Result<T, PgError> {
    // SAFETY: what is called raises through pgrx's guards. The memory is a child of the caller's: what `work` returns lives as long.
    unsafe {
        let outer = pg_sys::CurrentMemoryContext;
        let memory = scratch::new_in(outer);
        pg_sys::MemoryContextSwitchTo(memory);
        let result = in_subtransaction(|| {
            let value = work();
            // What is asked for meanwhile is of this work.
            pgrx::check_for_interrupts!();
            value
        });
        pg_sys::MemoryContextSwitchTo(outer);
        result.map_err(|error| {
            pg_sys::MemoryContextDelete(memory);
            let excess = watch::out_of_memory(&error);
            let is_void = watch::recover();
            match excess {
                Some(excess) if is_void => excess,
                // It is no row's fault.
                _ if Meaning::of(&error.sqlstate).may_pass() => unwind(error),
                _ => error,
            }
        })
    }
}
