//! What a worker is like between two requests, and how it comes back to that after an error.
//!
//! A session ends and takes with it what it has left behind; a worker goes on for weeks, as anybody. So it looks, after each
//! request, whether it is as it was at its start: a few loads, no system call. If it is not, it tries an abort, which is enough
//! for all that PostgreSQL knows how to undo; if that does not help it ends in order, and the supervisor starts another.

use std::ptr::null_mut;

use pg::guard::{Report, attempt, end_process};
use pg::log_line;
use pg::version::holds_locks;
use pgrx::pg_sys::{self, Oid};

use crate::log_rate;

/// What a worker is like when it runs nothing.
pub struct AtRest {
    role: Oid,
    memory: pg_sys::MemoryContext,
    exception_stack: *mut pg_sys::sigjmp_buf,
    context_stack: *mut pg_sys::ErrorContextCallback,
}

impl AtRest {
    /// The process as it is now: its session user is this role, and nothing has run.
    pub fn now(role: Oid) -> AtRest {
        // SAFETY: PostgreSQL's own variables, on the main thread. It is there that every transaction ends.
        unsafe {
            pg_sys::MemoryContextSwitchTo(pg_sys::TopMemoryContext);
            AtRest {
                role,
                memory: pg_sys::TopMemoryContext,
                exception_stack: pg_sys::PG_exception_stack,
                context_stack: pg_sys::error_context_stack,
            }
        }
    }

    /// Sees to it that the process is as it was. Call it where [`AtRest::now`] has been called, outside a transaction.
    pub fn restore(&self) {
        let Some(left) = self.left() else { return };
        log_rate::for_client(|| {
            log_line::log!("howdah: a request has left {left}; the worker aborts what is under way");
        });
        // SAFETY: on the main thread; nothing runs.
        unsafe {
            // As errfinish does. Whoever holds them off gives back what it is for in an abort.
            pg_sys::InterruptHoldoffCount = 0;
            pg_sys::QueryCancelHoldoffCount = 0;
            pg_sys::CritSectionCount = 0;
            abort();
            give_locks_back();
            pg_sys::PG_exception_stack = self.exception_stack;
            pg_sys::error_context_stack = self.context_stack;
            pg_sys::CurrentMemoryContext = self.memory;
        }
        if let Some(left) = self.left() {
            end_process(&format!("a howdah worker ends, because a request has left {left}"));
        }
    }

    /// What a request has left behind.
    fn left(&self) -> Option<&'static str> {
        // SAFETY: PostgreSQL's own variables, on the main thread.
        unsafe {
            if pg_sys::IsTransactionOrTransactionBlock() {
                return Some("a transaction");
            }
            if (*pg_sys::MyProc).xmin != pg_sys::InvalidTransactionId
                || pg_sys::HaveRegisteredOrActiveSnapshot()
            {
                return Some("a snapshot");
            }
            if holds_locks() {
                return Some("a lock");
            }
            if !pg_sys::CurrentResourceOwner.is_null() || !pg_sys::TopTransactionResourceOwner.is_null() {
                return Some("a resource owner");
            }
            if pg_sys::CurrentMemoryContext != self.memory {
                return Some("another memory context");
            }
            self.left_in_any_case()
        }
    }

    /// The same while requests share a transaction: what one of them must not leave to the next.
    pub fn left_in_transaction(&self) -> Option<&'static str> {
        // SAFETY: PostgreSQL's own variables, on the main thread.
        unsafe {
            if pg::GetCurrentTransactionNestLevel() != 1 {
                return Some("a subtransaction");
            }
            if pg_sys::CurrentResourceOwner != pg_sys::TopTransactionResourceOwner {
                return Some("a resource owner");
            }
            self.left_in_any_case()
        }
    }

    unsafe fn left_in_any_case(&self) -> Option<&'static str> {
        // SAFETY: as for the callers.
        unsafe {
            let (mut user, mut context) = (Oid::INVALID, 0);
            pg::GetUserIdAndSecContext(&mut user, &mut context);
            let is_web = [user, pg_sys::GetSessionUserId(), pg_sys::GetOuterUserId()] == [self.role; 3];
            if !is_web || context != 0 {
                return Some("another role");
            }
            let held =
                pg_sys::InterruptHoldoffCount | pg_sys::QueryCancelHoldoffCount | pg_sys::CritSectionCount;
            if held != 0 {
                return Some("interrupts held off");
            }
            if !pg_sys::ActivePortal.is_null() {
                return Some("an open portal");
            }
            if pg_sys::PG_exception_stack != self.exception_stack
                || pg_sys::error_context_stack != self.context_stack
            {
                return Some("a handler of errors");
            }
            pg_sys::ExitOnAnyError.then_some("exit_on_error")
        }
    }
}

/// Gives up locks that no transaction has any more.
unsafe fn give_locks_back() {
    // SAFETY: outside a transaction; an error is logged.
    unsafe {
        let _ = attempt(Report::Log, || {
            pg::LockReleaseAll(pg_sys::DEFAULT_LOCKMETHOD as u16, true);
            pg::LockReleaseAll(pg_sys::USER_LOCKMETHOD as u16, true);
        });
    }
}

/// Leaves the transaction with all subtransactions in it, whatever their state, and gives back what code that was jumped over
/// has held. Errors in it are logged; the process ends if a second try fails as well.
///
/// # Safety
/// On the main thread; no frame between the transaction's start and here counts on it.
pub unsafe fn abort() {
    // SAFETY: by contract.
    unsafe {
        // What is current may be the transaction's and go with it, and the guard would come back to it.
        pg_sys::MemoryContextSwitchTo(pg_sys::TopMemoryContext);
        // A panic, unlike an error, has not set them back on its way.
        pg_sys::ActivePortal = null_mut();
        pg_sys::PortalContext = null_mut();
        pg_sys::debug_query_string = std::ptr::null();
        for _ in 0..2 {
            let aborted = attempt(Report::Log, || {
                pg::disable_timeout(pg::STATEMENT_TIMEOUT, false);
                // Outside a transaction the abort would leave them.
                pg::LWLockReleaseAll();
                pg::UnlockBuffers();
                pg::AbortOutOfAnyTransaction();
            });
            pg_sys::MemoryContextSwitchTo(pg_sys::TopMemoryContext);
            if aborted.is_ok() {
                return;
            }
        }
        end_process("a howdah worker ends, because it cannot leave a transaction");
    }
}
