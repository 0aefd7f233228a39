//! The read-only transaction that short requests of one identity share.
//!
//! It stays open from turn to turn as long as a new one would see the same: as long as no transaction has ended that
//! had written, which PostgreSQL counts. It ends at once when the gateway is about to sleep, when PostgreSQL is to get
//! its due, when another identity is wanted, and after [`LONGEST`] in any case: it holds locks on tables, it keeps vacuum
//! from removing rows, and `now()` is its beginning.

use std::sync::atomic::{Ordering::Acquire, fence};
use std::time::{Duration, Instant};

use pg::guard::{Report, attempt};
use pg::version;
use pgrx::pg_sys;
use request::Runner;
use session::{deployments, leftovers, request_transaction};

/// How long it stays open.
const LONGEST: Duration = Duration::from_millis(1);

/// See the module.
#[derive(Default)]
pub(crate) struct SharedTransaction(Option<Open>);

struct Open {
    until: Instant,
    /// Transactions that had ended by the time of its snapshot.
    ended: u64,
}

impl SharedTransaction {
    /// Whether it is open. An error has ended it without being asked.
    pub(crate) fn is_open(&mut self) -> bool {
        // SAFETY: on the main thread.
        if self.0.is_some() && !unsafe { pg::IsTransactionState() } {
            self.0 = None;
        }
        self.0.is_some()
    }

    /// Whether it is open, and requests that have come until now may run in it.
    pub(crate) fn is_current(&mut self, now: Instant) -> bool {
        self.is_open() && self.0.as_ref().is_some_and(|open| now < open.until && open.ended == ended())
    }

    /// Begins it, as the role that is assumed. False if it cannot.
    ///
    /// # Safety
    /// On the main thread, outside a transaction.
    pub(crate) unsafe fn begin(&mut self, now: Instant) -> bool {
        // Before the snapshot: what ends between the two is seen, and ends this one early.
        let ended = ended();
        // SAFETY: by contract; nothing with a destructor is held.
        let begun = unsafe {
            deployments::note();
            attempt(Report::Log, || {
                pg::SetCurrentStatementStartTimestamp();
                pg::StartTransactionCommand();
                pg_sys::XactReadOnly = true;
                request_transaction::take_snapshot();
            })
        };
        if begun.is_err() {
            // SAFETY: the transaction has failed.
            unsafe { leftovers::abort() };
            return false;
        }
        self.0 = Some(Open { until: now + LONGEST, ended });
        true
    }

    /// Ends it, if it is open, and the plans that are open in it.
    ///
    /// # Safety
    /// On the main thread, while no request runs.
    pub(super) unsafe fn end(&mut self, runner: &mut Runner) {
        if !self.is_open() {
            return;
        }
        self.0 = None;
        // SAFETY: by contract; nothing with a destructor is held.
        unsafe {
            let ended = attempt(Report::Log, || {
                runner.end_plans();
                pg::PopActiveSnapshot();
                request_transaction::give_up_what_commits_run();
                pg::CommitTransactionCommand();
                leftovers::forget_session(false);
            });
            if ended.is_err() {
                runner.forget_plans();
                leftovers::abort();
            }
            runner.bound_plans();
        }
    }
}

/// How many transactions with an id have ended: while it stands still, all snapshots are the same.
fn ended() -> u64 {
    // SAFETY: shared memory of PostgreSQL's. Whoever ends a transaction counts it before the client hears of it, and what
    // that client sends afterwards has been read before this: nothing that a request can know of is missed.
    unsafe {
        fence(Acquire);
        version::completed_transactions().read_volatile()
    }
}
