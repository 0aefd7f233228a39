//! The transaction of a request: its own, one that several requests share, or a part of one that is open.
//!
//! Requests that share a transaction only read and call nothing volatile. Role and settings are undone after
//! each. An error ends the transaction for all, and those still to come begin another: cheaper than a
//! subtransaction around each, and what the others have answered is in memory already.

use std::cell::Cell;
use std::ffi::c_int;

use pg::lock_tag;
use pgrx::pg_sys;

use super::{authority, cursors, deployments, identity, invalidations};
use crate::standbys::{Awaited, Confirmation};
use crate::{faults, leftovers, signals, temporary, user_settings};

/// In what a request runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Scope {
    /// A transaction of its own.
    Own {
        /// READ ONLY.
        read_only: bool,
    },
    /// One that is open already: the inline lane.
    Shared,
    /// A subtransaction of one that is open: of whoever calls `http.call`, of several jobs, of a write that is guarded by a read.
    Nested {
        /// READ ONLY.
        read_only: bool,
    },
}

/// What [`begin`] has begun.
#[derive(Clone, Copy)]
pub struct Begun {
    scope: Scope,
    entered: identity::Entered,
    outside: Outside,
}

/// What was current before a subtransaction of [`Scope::Nested`] began.
#[derive(Clone, Copy)]
pub struct Outside {
    context: pg_sys::MemoryContext,
    owner: pg_sys::ResourceOwner,
    level: c_int,
}

impl Outside {
    /// What is current.
    ///
    /// # Safety
    /// On the main thread, inside a transaction.
    pub unsafe fn now() -> Outside {
        // SAFETY: by contract.
        unsafe {
            Outside {
                context: pg_sys::CurrentMemoryContext,
                owner: pg_sys::CurrentResourceOwner,
                level: pg::GetCurrentTransactionNestLevel(),
            }
        }
    }

    /// Rolls back what a request of [`Scope::Nested`] has begun and not ended. The caller's transaction goes on.
    ///
    /// # Safety
    /// On the main thread, after an error that was caught.
    pub unsafe fn roll_back(self) {
        // SAFETY: by contract; subtransactions of the request alone are above the level.
        unsafe {
            while pg::GetCurrentTransactionNestLevel() > self.level {
                pg_sys::RollbackAndReleaseCurrentSubTransaction();
            }
            self.restore();
        }
    }

    unsafe fn restore(self) {
        // SAFETY: what was current lives as long as the transaction.
        unsafe {
            pg_sys::MemoryContextSwitchTo(self.context);
            pg_sys::CurrentResourceOwner = self.owner;
        }
    }
}

/// Begins, becomes the role and takes a snapshot.
///
/// # Safety
/// Inside a guard; outside a transaction for [`Scope::Own`], inside one for the others.
pub unsafe fn begin(scope: Scope, role: pg_sys::Oid) -> Begun {
    // SAFETY: by contract.
    unsafe { begin_with(scope, role, None) }
}

/// The same for what looks before it writes: it waits until no other is under way that has named the same thing, and a transaction of its own sees
/// all of what was there when it begins then, and nothing later; whoever changes a row before it does fails it.
///
/// # Safety
/// As for [`begin`].
pub unsafe fn begin_alone(scope: Scope, role: pg_sys::Oid, thing: u64) -> Begun {
    // SAFETY: by contract.
    unsafe { begin_with(scope, role, Some(thing)) }
}

unsafe fn begin_with(scope: Scope, role: pg_sys::Oid, alone: Option<u64>) -> Begun {
    // SAFETY: by the contract of `begin`.
    unsafe {
        if let Scope::Own { read_only } = scope {
            leftovers::give_up_now();
            pg::SetCurrentStatementStartTimestamp();
            pg::StartTransactionCommand();
            // What the role's settings say, as for a session that connects as the role.
            pg_sys::XactIsoLevel = pg_sys::DefaultXactIsoLevel;
            pg_sys::XactReadOnly = read_only || pg_sys::DefaultXactReadOnly || pg_sys::RecoveryInProgress();
            if pg_sys::StatementTimeout > 0 {
                pg::enable_timeout_after(pg::STATEMENT_TIMEOUT, pg_sys::StatementTimeout);
            }
        }
        let outside = Outside::now();
        if let Scope::Nested { read_only } = scope {
            pg::BeginInternalSubTransaction(std::ptr::null());
            // PostgreSQL sets it back with the end of the subtransaction.
            pg_sys::XactReadOnly |= read_only;
        }
        if let Some(thing) = alone {
            if let Scope::Own { .. } = scope {
                pg_sys::XactIsoLevel = pg_sys::XactIsoLevel.max(pg_sys::XACT_REPEATABLE_READ as c_int);
            }
            // Before the snapshot, which is to have what the one before has committed.
            wait_for_turn(thing);
        }
        let entered = identity::enter(role);
        if scope != Scope::Shared {
            take_snapshot();
        }
        leftovers::note_types();
        Begun { scope, entered, outside }
    }
}

/// The class of the lock on a thing that writes name.
const CLASS: u16 = 0x4847;

/// Takes the lock on a thing of this database until the transaction ends.
unsafe fn wait_for_turn(thing: u64) {
    // SAFETY: inside a guard and a transaction.
    unsafe {
        let tag = lock_tag(CLASS, thing);
        pg_sys::LockAcquire(&raw const tag, pg_sys::ExclusiveLock as c_int, false, false);
    }
}

thread_local! {
    /// What had changed in the catalogs when the active snapshot was taken.
    static SNAPSHOT_EPOCH: Cell<u64> = const { Cell::new(0) };
}

/// Makes a new snapshot the active one.
///
/// # Safety
/// Inside a guard and a transaction.
pub unsafe fn take_snapshot() {
    // SAFETY: by contract.
    unsafe { pg::PushActiveSnapshot(pg::GetTransactionSnapshot()) };
    SNAPSHOT_EPOCH.set(invalidations::epoch());
}

/// Takes a new snapshot if catalogs have changed since the last. To be called when a plan has its locks: whoever
/// had to wait for one may find a table that has been rewritten, which is empty in a snapshot from before.
///
/// # Safety
/// Inside a guard and a transaction, after [`take_snapshot`].
pub unsafe fn renew_snapshot() {
    if SNAPSHOT_EPOCH.get() != invalidations::epoch() {
        // SAFETY: by contract.
        unsafe {
            pg::PopActiveSnapshot();
            take_snapshot();
        }
    }
}

/// Whether a request that shares a transaction may have left something to the next: cursors, advisory locks, prepared
/// statements, large objects.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Leftovers {
    /// It cannot have.
    None,
    /// It may have.
    Possible,
}

/// Ends a request that has succeeded: what it has written is committed when this returns, except in [`Scope::Nested`]. A transaction of its own gives up
/// everything: a statement that calls PostgreSQL's own functions alone may run anybody's by a name that it gives them.
///
/// A commit may wait for standbys. A cancel ends that wait; then nothing has confirmed the commit, and whoever is told so does not know whether it lasts.
///
/// # Safety
/// Inside a guard, after [`begin`].
pub unsafe fn finish(begun: Begun, left: Leftovers) -> Confirmation {
    // SAFETY: by contract.
    unsafe { finish_with(begun, left, Wait::UntilCancelled) }
}

/// The same for what nobody waits for: cancels that come during the commit are void, so that nobody sees it before standbys have it. One that has come
/// before is an error.
///
/// # Safety
/// As for [`finish`].
pub unsafe fn finish_patiently(begun: Begun, left: Leftovers) -> Confirmation {
    // SAFETY: by contract.
    unsafe { finish_with(begun, left, Wait::Through) }
}

/// How a commit waits for standbys.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Wait {
    /// Until a cancel.
    UntilCancelled,
    /// As long as it takes.
    Through,
}

unsafe fn finish_with(begun: Begun, left: Leftovers, wait: Wait) -> Confirmation {
    // SAFETY: by the contract of `finish`.
    unsafe {
        match begun.scope {
            Scope::Shared => {
                deployments::refuse_mixed();
                if left == Leftovers::Possible {
                    leftovers::give_up_in_transaction();
                }
                leftovers::distrust_what_was_kept(user_settings::have_changed_meanings());
                identity::leave_settings(begun.entered);
                identity::leave_role(begun.entered);
                Confirmation::Given
            }
            Scope::Nested { read_only } => {
                pg::PopActiveSnapshot();
                // While role and settings still hold, as before a commit. By what the request began as: it may have changed that.
                if !read_only {
                    check_constraints();
                }
                cursors::close_own();
                temporary::refuse_made();
                identity::leave_settings(begun.entered);
                identity::leave_role(begun.entered);
                pg::ReleaseCurrentSubTransaction();
                begun.outside.restore();
                Confirmation::Given
            }
            Scope::Own { .. } => {
                pg::PopActiveSnapshot();
                // While role and settings still hold: before version 18 deferred triggers run as whoever is current.
                pg::AfterTriggerFireDeferred();
                give_up_what_commits_run();
                pg::disable_timeout(pg::STATEMENT_TIMEOUT, false);
                leftovers::distrust_what_was_kept(user_settings::have_changed_meanings());
                identity::leave_settings(begun.entered);
                let temporary = leftovers::may_leave_temporary();
                // What it has looked up was looked up by now.
                deployments::refuse_mixed();
                faults::interrupt_if_asked("before the commit");
                // As the role: what has escaped the above has its rights, and may not become another.
                let confirmation = commit(wait);
                faults::interrupt_if_asked("after the commit");
                identity::leave_role(begun.entered);
                // A cancel has come too late: what was committed is answered so.
                pg_sys::QueryCancelPending = 0;
                leftovers::clean_up(temporary);
                faults::interrupt_if_asked("after the cleaning");
                confirmation
            }
        }
    }
}

unsafe fn commit(wait: Wait) -> Confirmation {
    // SAFETY: the contract of `finish`.
    unsafe {
        let awaited = Awaited::now();
        if wait == Wait::Through {
            signals::set_committing(true);
            if pg_sys::InterruptPending != 0 {
                pg::ProcessInterrupts();
            }
        }
        pg::CommitTransactionCommand();
        signals::set_committing(false);
        awaited.confirmation()
    }
}

/// Runs the triggers that were left to the transaction's end: SET CONSTRAINTS ALL IMMEDIATE, which holds from now on. What only runs
/// them ([`pg::AfterTriggerFireDeferred`]) must not be called in a subtransaction.
///
/// A trigger that it runs cannot put off others again: they would run later, as whoever is current then.
///
/// # Safety
/// Inside a guard and a transaction.
pub unsafe fn check_constraints() {
    let mut statement = pg_sys::ConstraintsSetStmt {
        type_: pg_sys::NodeTag::T_ConstraintsSetStmt,
        constraints: std::ptr::null_mut(),
        deferred: false,
    };
    // SAFETY: by contract.
    authority::as_final_triggers(|| unsafe { pg::AfterTriggerSetState(&raw mut statement) });
}

/// Gives up what would run or begin in the commit, as whoever is current then: the queries of held cursors, LISTEN.
///
/// # Safety
/// Inside a guard and a transaction, before its commit.
pub unsafe fn give_up_what_commits_run() {
    // SAFETY: by contract.
    unsafe {
        pg::PortalHashTableDeleteAll();
        pg::Async_UnlistenAll();
    }
}
