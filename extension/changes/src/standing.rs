//! What has become of a transaction that has a mark.

use std::ffi::c_int;

use pg::guard::{Report, attempt};
use pgrx::pg_sys::{self, TransactionId};
use registry::commits::Standing;

/// Asks the server. A prepared transaction has ended for everybody when its lock is free: whoever ends it takes it from those that run first, tells
/// others to forget what they keep, and releases its locks last.
///
/// # Safety
/// On the main thread.
pub(crate) unsafe fn of(transaction: u32, is_prepared: bool) -> Standing {
    // SAFETY: by contract; what is called raises through pgrx's guards. Whoever cannot tell knows no more than that it may have ended.
    let standing = unsafe {
        attempt(Report::Log, || {
            let transaction = TransactionId::from(transaction);
            if pg_sys::TransactionIdIsInProgress(transaction) {
                Standing::Runs
            } else if is_prepared && !is_locked(transaction) {
                Standing::Ended
            } else {
                Standing::Ends
            }
        })
    };
    standing.unwrap_or(Standing::Ends)
}

/// Whether another process has the lock that each transaction has on itself.
unsafe fn is_locked(transaction: TransactionId) -> bool {
    let tag = pg_sys::LOCKTAG {
        locktag_field1: transaction.into_inner(),
        locktag_field2: 0,
        locktag_field3: 0,
        locktag_field4: 0,
        locktag_type: pg_sys::LockTagType::LOCKTAG_TRANSACTION as u8,
        locktag_lockmethodid: pg_sys::DEFAULT_LOCKMETHOD as u8,
    };
    let mut count: c_int = 0;
    // SAFETY: the caller's contract. On a standby the list is the process's own, elsewhere the caller's.
    unsafe {
        let holders = pg_sys::GetLockConflicts(&raw const tag, pg_sys::ShareLock as c_int, &raw mut count);
        if !pg_sys::RecoveryInProgress() {
            pg_sys::pfree(holders.cast());
        }
    }
    count > 0
}
