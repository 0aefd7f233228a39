//! Cancels of jobs that run. They take effect when the transaction commits that asks for them.
//!
//! Until then it holds the attempt, by a bit of the executor's slot, and has a lock on the job's cancels. An attempt that is about to commit while
//! it is held waits for that lock, so a deadlock of the two is found as any other. One that fails meanwhile is gone: then the
//! transaction does not commit, as it has been told that the job will not happen.

use std::cell::RefCell;

use pg::guard::Report;
use pg::refuse::{refuse, refuse_with_hint};
use pg::transaction_end::{
    Stage, SubtransactionEnd, TransactionEnd, at_stages, at_subtransaction_end, at_transaction_end,
};
use pg::{LockTimeout, lock_tag};
use pgrx::pg_sys::{self, SubTransactionId};
use pgrx::prelude::*;
use session::own_transaction::transaction;
use session::subtransaction::in_subtransaction;
use shared::shared;

use crate::id;
use crate::memory::jobs;
use crate::slots::Hold;

/// The class of the lock on the cancels of a job.
const CLASS: u16 = 0x484a;

/// An attempt that this transaction has cancelled.
#[derive(Clone, Copy)]
struct Held {
    within: SubTransactionId,
    executor: usize,
    /// The attempt, by its sequence number.
    sequence: u64,
    /// The job.
    id: i64,
}

thread_local! {
    static HELD: RefCell<Vec<Held>> = const { RefCell::new(Vec::new()) };
}

/// Cancels the attempt of a job that runs, as soon as this transaction commits; false if none runs it, or if it is about to commit. If its process
/// ends after that, the job is dead all the same. Waits for other transactions that cancel it.
pub(crate) fn cancel(database: usize, queue: u32, position: u64) -> bool {
    let Some(executor) = jobs().executor_of(database, queue, position) else { return false };
    let slot = jobs().slot(executor);
    let id = id::of(queue, position);
    acquire(id, pg_sys::ExclusiveLock);
    match slot.hold(database, queue, position) {
        Hold::New(sequence) => {
            at_transaction_end(ended);
            at_subtransaction_end(part_ended);
            at_stages(about_to_end, has_held);
            // SAFETY: inside a transaction.
            let within = unsafe { pg_sys::GetCurrentSubTransactionId() };
            HELD.with_borrow_mut(|held| held.push(Held { within, executor, sequence, id }));
            true
        }
        Hold::Known => {
            if !HELD.with_borrow(|held| held.iter().any(|held| held.id == id)) {
                // Another has committed it.
                release(id, pg_sys::ExclusiveLock);
            }
            true
        }
        Hold::Gone => {
            release(id, pg_sys::ExclusiveLock);
            false
        }
    }
}

/// Cancels the job that this executor runs, at once: what it does is rolled back with it. False if it is about to commit.
pub(crate) fn cancel_own(executor: usize) -> bool {
    let is_cancelled = jobs().slot(executor).cancel();
    if is_cancelled {
        signal(executor);
    }
    is_cancelled
}

/// The attempt of a job is about to commit: nobody can cancel it any more. Whether somebody has. Waits for a transaction that wants to.
pub(crate) fn shut(executor: usize, id: i64) -> bool {
    loop {
        if let Some(was_cancelled) = jobs().slot(executor).shut_unless_held() {
            return was_cancelled;
        }
        wait(id);
    }
}

/// The attempt of a job has ended by itself, or was cancelled: nobody can cancel it any more. Whether somebody has. Waits for a transaction that
/// has cancelled it and is about to commit: it may fail yet.
pub(crate) fn shut_ended(executor: usize, id: i64) -> bool {
    let slot = jobs().slot(executor);
    while slot.is_being_cancelled() {
        // SAFETY: a plain question of PostgreSQL, on the main thread.
        let waited = match unsafe { pg_sys::IsTransactionState() } {
            // SAFETY: inside a transaction; what is called raises through pgrx's guards.
            true => unsafe { in_subtransaction(|| wait(id)) },
            false => transaction(Report::Quiet, || wait(id)),
        };
        if waited.is_err() {
            break;
        }
    }
    slot.shut()
}

/// Waits for transactions that cancel a job, however long the job's role waits for locks.
fn wait(id: i64) {
    let _as_long_as_it_takes = LockTimeout::set(0);
    acquire(id, pg_sys::ShareLock);
    release(id, pg_sys::ShareLock);
}

fn has_held() -> bool {
    HELD.with_borrow(|held| !held.is_empty())
}

fn about_to_end(stage: Stage) {
    match stage {
        Stage::BeforeCommit => HELD.with_borrow(|held| held.iter().for_each(confirm)),
        Stage::BeforePrepare => refuse(
            PgSqlErrorCode::ERRCODE_FEATURE_NOT_SUPPORTED,
            "a transaction that has cancelled a job that runs cannot be prepared",
        ),
        Stage::Released { .. } => {}
    }
}

fn confirm(held: &Held) {
    if !jobs().slot(held.executor).confirm(held.sequence) {
        refuse_with_hint(
            PgSqlErrorCode::ERRCODE_T_R_SERIALIZATION_FAILURE,
            &format!(
                "the attempt of job {} that this transaction has cancelled has ended by itself",
                held.id
            ),
            "Run the transaction again: the job may wait for its next attempt.",
        );
    }
}

fn ended(end: TransactionEnd) {
    let commits = end == TransactionEnd::Committed;
    for held in HELD.with_borrow_mut(std::mem::take) {
        jobs().slot(held.executor).let_go(held.sequence, commits);
        if commits {
            signal(held.executor);
        }
    }
}

fn part_ended(end: SubtransactionEnd) {
    match end {
        SubtransactionEnd::Committed(own, parent) => HELD.with_borrow_mut(|held| {
            held.iter_mut().filter(|held| held.within == own).for_each(|held| held.within = parent);
        }),
        SubtransactionEnd::RolledBack(own) => {
            for held in
                HELD.with_borrow_mut(|all| all.extract_if(.., |held| held.within == own).collect::<Vec<_>>())
            {
                jobs().slot(held.executor).let_go(held.sequence, false);
            }
        }
    }
}

/// Has an executor look whether what it runs was cancelled.
fn signal(executor: usize) {
    let pid = shared().workers.get(executor).map_or(0, |worker| worker.pid());
    if pid > 0 {
        // SAFETY: a signal to a process of this server, which compares what it runs with what is to be cancelled.
        unsafe { libc::kill(pid, libc::SIGUSR2) };
    }
}

fn acquire(id: i64, mode: u32) {
    // SAFETY: inside a transaction.
    unsafe {
        pg_sys::LockAcquire(&lock_tag(CLASS, id.cast_unsigned()), mode as pg_sys::LOCKMODE, false, false)
    };
}

fn release(id: i64, mode: u32) {
    // SAFETY: acquired by this transaction.
    unsafe { pg_sys::LockRelease(&lock_tag(CLASS, id.cast_unsigned()), mode as pg_sys::LOCKMODE, false) };
}
