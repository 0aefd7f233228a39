//! The transaction of a request: its own, or one that several requests share.
//!
//! Requests that share a transaction only read and call nothing volatile. Role and settings are undone after
//! each. An error ends the transaction for all, and those still to come begin another: cheaper than a
//! subtransaction around each, and what the others have answered is in memory already.

use std::cell::Cell;
use std::ffi::c_int;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use pg::guard::{Report, attempt, end_process};
use pgrx::pg_sys;

use super::{changes, dblink, identity, isn, kept_plans, replication};
use crate::{at_rest, faults, signals, user_settings};

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
}

/// What [`begin`] has begun.
#[derive(Clone, Copy)]
pub struct Begun {
    scope: Scope,
    entered: identity::Entered,
}

/// Begins, becomes the role and takes a snapshot.
///
/// # Safety
/// Inside a guard; outside a transaction for [`Scope::Own`], inside one for [`Scope::Shared`].
pub unsafe fn begin(scope: Scope, role: pg_sys::Oid) -> Begun {
    // SAFETY: by contract.
    unsafe {
        if let Scope::Own { read_only } = scope {
            if UNCLEAN.get() {
                forget_session(true);
                UNCLEAN.set(false);
            }
            pg::SetCurrentStatementStartTimestamp();
            pg::StartTransactionCommand();
            // What the role's settings say, as for a session that connects as the role.
            pg_sys::XactIsoLevel = pg_sys::DefaultXactIsoLevel;
            pg_sys::XactReadOnly = read_only || pg_sys::DefaultXactReadOnly || pg_sys::RecoveryInProgress();
            if pg_sys::StatementTimeout > 0 {
                pg::enable_timeout_after(pg::STATEMENT_TIMEOUT, pg_sys::StatementTimeout);
            }
        }
        let entered = identity::enter(role);
        if let Scope::Own { .. } = scope {
            take_snapshot();
        }
        TYPES_EPOCH.set(changes::types_epoch());
        Begun { scope, entered }
    }
}

thread_local! {
    /// What had changed in the catalogs when the active snapshot was taken.
    static SNAPSHOT_EPOCH: Cell<u64> = const { Cell::new(0) };
    /// [`changes::types_epoch`] when the request began.
    static TYPES_EPOCH: Cell<u64> = const { Cell::new(0) };
    /// Something of the last request's session could not be given up, and must be before the next begins.
    static UNCLEAN: Cell<bool> = const { Cell::new(false) };
}

/// Makes a new snapshot the active one.
///
/// # Safety
/// Inside a guard and a transaction.
pub unsafe fn take_snapshot() {
    // SAFETY: by contract.
    unsafe { pg::PushActiveSnapshot(pg::GetTransactionSnapshot()) };
    SNAPSHOT_EPOCH.set(changes::epoch());
}

/// Takes a new snapshot if catalogs have changed since the last. To be called when a plan has its locks: whoever
/// had to wait for one may find a table that has been rewritten, which is empty in a snapshot from before.
///
/// # Safety
/// Inside a guard and a transaction, after [`take_snapshot`].
pub unsafe fn renew_snapshot() {
    if SNAPSHOT_EPOCH.get() != changes::epoch() {
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

/// Ends a request that has succeeded: what it has written is committed when this returns. A transaction of its own gives up
/// everything: a statement that calls PostgreSQL's own functions alone may run anybody's by a name that it gives them.
///
/// # Safety
/// Inside a guard, after [`begin`].
pub unsafe fn finish(begun: Begun, leftovers: Leftovers) {
    // SAFETY: by contract.
    unsafe {
        match begun.scope {
            Scope::Shared => {
                if leftovers == Leftovers::Possible {
                    // The transaction goes on, and these are not the next request's.
                    pg::PortalHashTableDeleteAll();
                    pg::LockReleaseAll(USER_LOCKMETHOD, true);
                    pg::DropAllPreparedStatements();
                    pg::AtEOXact_LargeObject(true);
                    forget_seed();
                    isn::be_strict();
                }
                distrust_what_was_kept(user_settings::have_changed_meanings());
                identity::leave_settings(begun.entered);
                identity::leave_role(begun.entered);
            }
            Scope::Own { .. } => {
                pg::PopActiveSnapshot();
                // While role and settings still hold: before version 18 deferred triggers run as whoever is current.
                pg::AfterTriggerFireDeferred();
                give_up_what_commits_run();
                pg::disable_timeout(pg::STATEMENT_TIMEOUT, false);
                distrust_what_was_kept(user_settings::have_changed_meanings());
                identity::leave_settings(begun.entered);
                let temporary = may_leave_temporary();
                faults::interrupt_if_asked("before the commit");
                // As the role: what has escaped the above has its rights, and may not become another.
                pg::CommitTransactionCommand();
                faults::interrupt_if_asked("after the commit");
                identity::leave_role(begun.entered);
                // It has come too late: what was committed is answered so.
                pg_sys::QueryCancelPending = 0;
                clean_up(temporary);
                faults::interrupt_if_asked("after the cleaning");
            }
        }
    }
}

/// Has what was kept meanwhile forgotten if the request has changed what texts mean, or types: what it has kept has constants or
/// types that others must not find.
fn distrust_what_was_kept(has_changed_meanings: bool) {
    if has_changed_meanings || TYPES_EPOCH.get() != changes::types_epoch() {
        kept_plans::forget_at_next();
    }
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

/// Whether the transaction may have made temporary objects. A schema of temporary objects can be written to by its own name, of
/// which the transaction knows nothing; but nothing is made without an id.
unsafe fn may_leave_temporary() -> bool {
    // SAFETY: inside a transaction; PostgreSQL's own variables.
    unsafe {
        let (mut schema, mut toast) = (pg_sys::Oid::INVALID, pg_sys::Oid::INVALID);
        pg_sys::GetTempNamespaceState(&raw mut schema, &raw mut toast);
        pg_sys::MyXactFlags & XACT_FLAGS_ACCESSEDTEMPNAMESPACE != 0
            || schema != pg_sys::Oid::INVALID && has_id()
    }
}

/// Forgets the session after a commit. What fails here must not look as if the commit had: whoever is told so
/// sends again what is there already. So neither a cancel nor the end of the process comes in between, and temporary objects are
/// left to [`tidy`]: to drop them takes locks.
unsafe fn clean_up(temporary: bool) {
    // SAFETY: inside a guard, outside a transaction; nothing with a destructor is held. An error sets the count back.
    unsafe {
        let before = pg_sys::InterruptHoldoffCount;
        pg_sys::InterruptHoldoffCount += 1;
        let cleaned = attempt(Report::Log, || forget_session(false));
        pg_sys::InterruptHoldoffCount = before;
        if cleaned.is_err() {
            abort();
        }
        UNCLEAN.set(UNCLEAN.get() || temporary);
    }
}

/// For how long [`tidy`] waits for a lock at most, in milliseconds.
const LONGEST_WAIT: c_int = 1000;

/// Drops the temporary objects that the last request has left. To be called when its answer has left. A process that cannot, as
/// somebody holds a lock, ends: no other request is to meet them, or to wait.
///
/// # Safety
/// On the main thread, outside a transaction.
pub unsafe fn tidy() {
    if !UNCLEAN.get() {
        return;
    }
    // One may have come between the request's end and its answer.
    signals::void_cancels();
    // SAFETY: by contract; nothing with a destructor is held.
    unsafe {
        let before = pg_sys::LockTimeout;
        pg_sys::LockTimeout = if before > 0 { before.min(LONGEST_WAIT) } else { LONGEST_WAIT };
        if attempt(Report::Log, || forget_session(true)).is_err() {
            at_rest::abort();
            // Else its end would try it once more, and wait without a limit. Who gets the schema next empties it before.
            pg_sys::SetTempNamespaceState(pg_sys::Oid::INVALID, pg_sys::Oid::INVALID);
            end_process(
                "a howdah worker ends, because it cannot drop what a request has left in temporary objects",
            );
        }
        pg_sys::LockTimeout = before;
    }
    UNCLEAN.set(false);
}

/// `XACT_FLAGS_ACCESSEDTEMPNAMESPACE` of access/xact.h.
const XACT_FLAGS_ACCESSEDTEMPNAMESPACE: c_int = 1 << 0;

/// Gives up what outlives a transaction: held cursors, session advisory locks, prepared statements,
/// currval, temporary tables, connections of dblink, isn's weakness, replication slots. Each call returns at once where there is nothing.
///
/// # Safety
/// Inside a guard, outside a transaction.
pub unsafe fn forget_session(temporary: bool) {
    // SAFETY: inside a guard, outside a transaction.
    unsafe {
        pg::PortalHashTableDeleteAll();
        pg::LockReleaseAll(USER_LOCKMETHOD, true);
        pg::DropAllPreparedStatements();
        pg::ResetSequenceCaches();
        forget_seed();
        if temporary {
            crate::own_transaction::begin();
            pg::ResetTempTableNamespace();
            pg::CommitTransactionCommand();
        }
        dblink::close_connections();
        isn::be_strict();
        replication::forget();
    }
}

/// Whoever calls setseed() must not know what random() gives to the next request.
///
/// # Safety
/// Inside a guard.
unsafe fn forget_seed() {
    // SAFETY: by contract. PostgreSQL seeds its own generator when the process starts, from what nobody can guess.
    unsafe {
        let seed = pg_sys::pg_prng_double(&raw mut pg_sys::pg_global_prng_state);
        pg::setseed_directly(seed);
    }
}

/// `USER_LOCKMETHOD` of storage/lock.h: advisory locks.
const USER_LOCKMETHOD: u16 = 2;

/// Aborts the transaction, whatever its state, and gives up the session's state with it.
///
/// # Safety
/// On the main thread.
pub unsafe fn abort() {
    // SAFETY: by contract. If the cleaning fails, it is left to the next request.
    unsafe {
        ABORTING.store(true, Relaxed);
        // The cancel that has come this far is over.
        pg_sys::QueryCancelPending = 0;
        let has_changed_meanings = user_settings::have_changed_meanings();
        at_rest::abort();
        distrust_what_was_kept(has_changed_meanings);
        let cleaned = attempt(Report::Log, || forget_session(true));
        if cleaned.is_err() {
            at_rest::abort();
        }
        UNCLEAN.set(cleaned.is_err());
        ABORTING.store(false, Relaxed);
    }
}

/// Whether a transaction is being aborted: nothing cancels that. Safe inside a signal.
pub fn is_aborting() -> bool {
    ABORTING.load(Relaxed)
}

/// See [`is_aborting`].
static ABORTING: AtomicBool = AtomicBool::new(false);

/// Whether the transaction that runs, or the one that has just ended, has an id.
pub fn has_id() -> bool {
    // SAFETY: on the main thread; reads a variable of this process.
    unsafe { pg_sys::GetTopTransactionIdIfAny() != pg_sys::InvalidTransactionId }
}
