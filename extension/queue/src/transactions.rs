//! The server's transactions, as `claims` asks for them.

use std::sync::atomic::Ordering::SeqCst;

use claims::{Outcome, Transactions};
use pg::version;
use pgrx::pg_sys::{self, TransactionId};
use shared::shared;

/// The transactions of this server.
pub struct Server {
    next: u64,
}

impl Server {
    /// As of now.
    pub fn now() -> Server {
        // SAFETY: inside a transaction.
        Server { next: unsafe { pg_sys::ReadNextFullTransactionId() }.value }
    }

    /// The whole number of a transaction that is in progress.
    pub(crate) fn widen(&self, transaction: TransactionId) -> u64 {
        let behind = (self.next as u32).wrapping_sub(transaction.into_inner());
        // One that has begun since is ahead of `next`.
        self.next.wrapping_add_signed(-i64::from(behind as i32))
    }
}

impl Server {
    /// The transaction at the top of one that is in progress: a subtransaction ends with it, or before.
    pub(crate) fn top_of(&self, transaction: u64) -> u64 {
        let number = TransactionId::from_inner(transaction as u32);
        // SAFETY: inside a transaction. What is in progress now is not below this transaction's own horizon.
        self.widen(unsafe { pg_sys::SubTransGetTopmostTransaction(number) })
    }

    /// Whether a transaction that has ended has committed. The commit log does not reach back for ever: of what is older
    /// nobody knows, and the rows that it has left say so themselves.
    fn has_committed(&self, transaction: u64) -> bool {
        // SAFETY: PostgreSQL's own lock, under which the log is cut off, and its own variables.
        unsafe {
            let lock = &raw mut (*pg_sys::MainLWLockArray.add(XACT_TRUNCATION_LOCK)).lock;
            pg_sys::LWLockAcquire(lock, pg_sys::LWLockMode::LW_SHARED);
            let number = TransactionId::from_inner(transaction as u32);
            let is_known = transaction >= self.widen(version::oldest_in_commit_log());
            let has_committed = is_known && pg_sys::TransactionIdDidCommit(number);
            pg_sys::LWLockRelease(lock);
            has_committed
        }
    }
}

/// Number of `XactTruncationLock` among PostgreSQL's own, in 15 to 18.
const XACT_TRUNCATION_LOCK: usize = 44;

/// What had been committed at one moment, for however long somebody looks at it.
pub(crate) struct Moment(pg_sys::Snapshot);

impl Moment {
    /// As of now.
    pub(crate) fn now() -> Moment {
        // SAFETY: inside a transaction. After an error PostgreSQL gives the snapshot back.
        Moment(unsafe { pg_sys::RegisterSnapshot(pg_sys::GetLatestSnapshot()) })
    }

    /// Whether a transaction that has written something and not been rolled back had committed, or is this one.
    pub(crate) fn has(&self, writer: TransactionId) -> bool {
        // SAFETY: the snapshot is registered.
        unsafe {
            pg_sys::TransactionIdIsCurrentTransactionId(writer) || !pg_sys::XidInMVCCSnapshot(writer, self.0)
        }
    }
}

impl Drop for Moment {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            // SAFETY: registered by `now`.
            unsafe { pg_sys::UnregisterSnapshot(self.0) };
        }
    }
}

/// Transactions below this one are from before the start of the server, as far as is known: of those that ran then, those are left
/// that are prepared. Whoever asks first finds it out, which is the supervisor if nobody else does.
pub fn first_since_start() -> u64 {
    let next = Server::now().next;
    // SAFETY: PostgreSQL's own state. Until a standby is promoted its transactions are another server's.
    if unsafe { pg_sys::RecoveryInProgress() } {
        return next;
    }
    let known = &shared().header.first_transaction;
    match known.compare_exchange(0, next, SeqCst, SeqCst) {
        Ok(_) => next,
        Err(first) => first,
    }
}

/// The number of the current transaction or subtransaction, which gets one if it has none.
pub fn current() -> u64 {
    // SAFETY: inside a transaction.
    unsafe { pg_sys::GetCurrentFullTransactionId() }.value
}

/// The number of the current transaction of the top, which gets one if it has none.
pub(crate) fn top() -> u64 {
    // SAFETY: inside a transaction.
    unsafe { pg_sys::GetTopFullTransactionId() }.value
}

impl Transactions for Server {
    fn outcome(&self, transaction: u64) -> Outcome {
        if self.next.saturating_sub(transaction) >= 1 << 31 {
            // Its number means another by now; the ledger knows.
            return Outcome::Aborted;
        }
        let number = TransactionId::from_inner(transaction as u32);
        // SAFETY: inside a transaction. In this order, as a transaction commits before it stops to be in progress.
        unsafe {
            if pg_sys::TransactionIdIsInProgress(number) {
                Outcome::Running
            } else if self.has_committed(transaction) {
                Outcome::Committed
            } else {
                Outcome::Aborted
            }
        }
    }

    fn oldest_running(&self) -> u64 {
        // SAFETY: inside a transaction.
        self.widen(unsafe { pg_sys::GetOldestActiveTransactionId() })
    }

    fn next(&self) -> u64 {
        self.next
    }
}
