//! What a request may leave in its process, and how that is given up: after a commit, after an abort, and when its answer has left.

use std::cell::Cell;
use std::ffi::c_int;

use pg::LockTimeout;
use pg::guard::{Report, attempt, direct, end_process};
use pgrx::pg_sys;

use super::{
    at_rest, dblink, invalidations, isn, kept_plans, own_transaction, replication, signals, user_settings,
};

thread_local! {
    /// [`invalidations::types_epoch`] when the request began.
    static TYPES_EPOCH: Cell<u64> = const { Cell::new(0) };
    /// Something of the last request's session could not be given up, and must be before the next begins.
    static UNCLEAN: Cell<bool> = const { Cell::new(false) };
}

/// Gives up what could not be given up before.
///
/// # Safety
/// Inside a guard, outside a transaction.
pub(crate) unsafe fn give_up_now() {
    if UNCLEAN.get() {
        // SAFETY: by contract.
        unsafe { forget_session(true) };
        UNCLEAN.set(false);
    }
}

/// A request begins: what types there are counts for it.
pub(crate) fn note_types() {
    TYPES_EPOCH.set(invalidations::types_epoch());
}

/// Gives up what the next request in the same transaction must not find.
///
/// # Safety
/// Inside a guard and a transaction, which goes on.
pub unsafe fn give_up_in_transaction() {
    // SAFETY: by contract.
    unsafe {
        pg::PortalHashTableDeleteAll();
        pg::LockReleaseAll(USER_LOCKMETHOD, true);
        pg::DropAllPreparedStatements();
        pg::AtEOXact_LargeObject(true);
        forget_seed();
        isn::be_strict();
    }
}

/// Has what was kept meanwhile forgotten if the request has changed what texts mean, or types: what it has kept has constants or
/// types that others must not find.
pub(crate) fn distrust_what_was_kept(has_changed_meanings: bool) {
    if has_changed_meanings || TYPES_EPOCH.get() != invalidations::types_epoch() {
        kept_plans::forget_at_next();
    }
}

/// Whether the transaction may have made temporary objects. A schema of temporary objects can be written to by its own name, of
/// which the transaction knows nothing; but nothing is made without an id.
///
/// # Safety
/// Inside a transaction.
pub unsafe fn may_leave_temporary() -> bool {
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
pub(crate) unsafe fn clean_up(temporary: bool) {
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
        let for_so_long = LockTimeout::at_most(LONGEST_WAIT);
        if attempt(Report::Log, || forget_session(true)).is_err() {
            at_rest::abort();
            // Else its end would try it once more, and wait without a limit. Who gets the schema next empties it before.
            pg_sys::SetTempNamespaceState(pg_sys::Oid::INVALID, pg_sys::Oid::INVALID);
            end_process(
                "a howdah worker ends, because it cannot drop what a request has left in temporary objects",
            );
        }
        drop(for_so_long);
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
            own_transaction::begin();
            pg::ResetTempTableNamespace();
            pg::CommitTransactionCommand();
        }
        dblink::close_connections();
        isn::be_strict();
        replication::forget();
    }
}

/// Gives up what a file or a request has opened in a session where nothing was open ([`super::authority::refuse_opened`]), in a transaction that goes
/// on: large objects, a seed, connections.
///
/// # Safety
/// Inside a transaction, outside of what has opened it; errors unwind.
pub unsafe fn give_up_opened() {
    // SAFETY: by contract.
    unsafe {
        direct(|| {
            pg::AtEOXact_LargeObject(true);
            forget_seed();
        });
        if dblink::has_connections() {
            dblink::close_in_transaction();
        }
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
        signals::set_aborting(true);
        signals::set_committing(false);
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
        signals::set_aborting(false);
    }
}

/// Whether the transaction that runs, or the one that has just ended, has an id.
pub fn has_id() -> bool {
    // SAFETY: on the main thread; reads a variable of this process.
    unsafe { pg::GetTopTransactionIdIfAny() != pg_sys::InvalidTransactionId }
}
