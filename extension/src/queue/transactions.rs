//! The server's transactions, as `claims` asks for them.

use claims::{Outcome, Transactions};
use pgrx::pg_sys::{self, TransactionId};

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
    pub fn widen(&self, transaction: TransactionId) -> u64 {
        let behind = (self.next as u32).wrapping_sub(transaction.into_inner());
        // One that has begun since is ahead of `next`.
        self.next.wrapping_add_signed(-i64::from(behind as i32))
    }
}

/// The number of the current transaction or subtransaction, which gets one if it has none.
pub fn current() -> u64 {
    // SAFETY: inside a transaction.
    unsafe { pg_sys::GetCurrentFullTransactionId() }.value
}

/// The number of the current transaction of the top, which gets one if it has none.
pub fn top() -> u64 {
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
            } else if pg_sys::TransactionIdDidCommit(number) {
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
