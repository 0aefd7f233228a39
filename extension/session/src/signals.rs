//! Signal handlers of gateways and executors.
//!
//! Everything in here runs inside a signal: no allocation, no guard, nothing that can fail.

use std::ffi::c_int;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicPtr, AtomicU32, Ordering};

use pg::entry::infallible_callback;
use pgrx::pg_sys;
use shared::wake;
use shared::workers::Kind;

/// Which eventfd a gateway's handlers write to.
static WAKE: AtomicI32 = AtomicI32::new(-1);

/// A `fn() -> bool`, or null.
static CANCEL_CHECK: AtomicPtr<()> = AtomicPtr::new(std::ptr::null_mut());

/// Strikes of the limits ([`crate::watch`]) since what runs was cancelled, plus one; 0 if it is not.
pub(crate) static STRIKES: AtomicU32 = AtomicU32::new(0);

/// See [`is_ending`].
static ABORTING: AtomicBool = AtomicBool::new(false);

/// See [`set_committing`].
static COMMITTING: AtomicBool = AtomicBool::new(false);

/// Whether something of anybody's runs, which a cancel can be meant for.
static RUNS: AtomicBool = AtomicBool::new(false);

/// Says whether something runs that may be cancelled. A cancel that comes while nothing does is void: it must neither meet what runs
/// next nor what the process does on its own account, such as reading the routes.
pub fn set_running(runs: bool) {
    RUNS.store(runs, Ordering::Relaxed);
}

/// Installs the handlers and lets signals in. Cancels come later, by [`take_cancels`].
///
/// A gateway sleeps in epoll, which knows neither latches nor signals that came just before: so its
/// handlers also write to its eventfd.
pub fn install(kind: Kind, index: usize) {
    WAKE.store(wake::fd(kind, index), Ordering::Relaxed);
    let handlers: [(c_int, pg_sys::pqsigfunc); 4] = match kind {
        Kind::Gateway => [
            (libc::SIGTERM, Some(terminate_and_wake)),
            (libc::SIGHUP, Some(reload_and_wake)),
            (libc::SIGINT, Some(ignore)),
            (libc::SIGUSR1, Some(procsignal_and_wake)),
        ],
        Kind::Executor => [
            (libc::SIGTERM, Some(pg::die)),
            (libc::SIGHUP, Some(pg::SignalHandlerForConfigReload)),
            (libc::SIGINT, Some(ignore)),
            (libc::SIGUSR1, Some(pg::procsignal_sigusr1_handler)),
        ],
    };
    // SAFETY: all handlers are safe inside a signal; signals are let in when all stand.
    unsafe {
        for (signal, handler) in handlers {
            pg::pqsignal(signal, handler);
        }
        pg::pqsignal(libc::SIGUSR2, Some(cancel_if_meant));
        read_settings_again();
        pg_sys::BackgroundWorkerUnblockSignals();
    }
}

/// Has the settings read once more. A reload that came while the process was forked was ignored, and what it has is from before.
pub fn read_settings_again() {
    // SAFETY: PostgreSQL's own flag, which is looked at in the first turn.
    unsafe { pg_sys::ConfigReloadPending = 1 };
}

/// Takes cancels from now on. At the start there is nothing to cancel, and nobody to catch it: the process would end.
pub fn take_cancels() {
    // SAFETY: it is safe inside a signal.
    unsafe { pg::pqsignal(libc::SIGINT, Some(cancel_what_runs)) };
}

/// For a process that runs nothing of anybody's.
pub fn ignore_cancels() {
    // SAFETY: it does nothing.
    unsafe { pg::pqsignal(libc::SIGINT, Some(ignore)) };
}

infallible_callback! {
    unsafe fn ignore(_signal: c_int) {}
}

/// Sets the function that tells, inside SIGUSR2, whether the request that runs is the one to cancel.
/// It must be safe inside a signal.
pub fn set_cancel_check(check: fn() -> bool) {
    CANCEL_CHECK.store(check as *mut (), Ordering::Release);
}

infallible_callback! {
    unsafe fn terminate_and_wake(signal: c_int) {
        // SAFETY: PostgreSQL's own handler.
        unsafe { pg::die(signal) };
        wake::notify(WAKE.load(Ordering::Relaxed));
    }
}

infallible_callback! {
    unsafe fn reload_and_wake(signal: c_int) {
        // SAFETY: PostgreSQL's own handler.
        unsafe { pg::SignalHandlerForConfigReload(signal) };
        wake::notify(WAKE.load(Ordering::Relaxed));
    }
}

/// Says whether a commit is made that nothing cancels any more.
pub(crate) fn set_committing(commits: bool) {
    COMMITTING.store(commits, Ordering::Relaxed);
}

/// Whether a SIGINT that has come is for what the process does: for what runs, or sent by its own timeout for locks or statements.
fn is_meant() -> bool {
    RUNS.load(Ordering::Relaxed) && !COMMITTING.load(Ordering::Relaxed)
        || [pg::LOCK_TIMEOUT, pg::STATEMENT_TIMEOUT].into_iter().any(|timeout| {
            // SAFETY: it reads a flag that is set before the timeout sends its signal.
            unsafe { pg::get_timeout_indicator(timeout, false) }
        })
}

infallible_callback! {
    unsafe fn cancel_what_runs(signal: c_int) {
        if is_meant() {
            // SAFETY: PostgreSQL's own handler.
            unsafe { pg::StatementCancelHandler(signal) };
        }
    }
}

infallible_callback! {
    unsafe fn procsignal_and_wake(signal: c_int) {
        // SAFETY: PostgreSQL's own handler.
        unsafe { pg::procsignal_sigusr1_handler(signal) };
        wake::notify(WAKE.load(Ordering::Relaxed));
    }
}

/// Cancels what this executor runs, as PostgreSQL's own StatementCancelHandler does. Called inside a signal.
pub fn cancel() {
    // SAFETY: PostgreSQL's own variables; setting a latch is safe inside a signal.
    unsafe {
        pg_sys::InterruptPending = 1;
        pg_sys::QueryCancelPending = 1;
        pg::SetLatch(pg_sys::MyLatch);
    }
}

/// What runs has been cancelled. Called inside a signal.
pub(crate) fn note_cancel() {
    // Who was cancelled before has more strikes already.
    let _ = STRIKES.compare_exchange(0, 1, Ordering::Relaxed, Ordering::Relaxed);
}

/// Says whether a transaction is being aborted.
pub(crate) fn set_aborting(aborts: bool) {
    ABORTING.store(aborts, Ordering::Relaxed);
}

/// Whether a transaction is being aborted, or committed for good: nothing cancels that. Safe inside a signal.
pub fn is_ending() -> bool {
    ABORTING.load(Ordering::Relaxed) || COMMITTING.load(Ordering::Relaxed)
}

/// Takes back a cancel that has come for what has ended, and the mark of the timeout that may have sent it: neither is for what
/// comes next.
pub fn void_cancels() {
    // SAFETY: a variable of PostgreSQL's, and flags of its timeouts.
    unsafe {
        pg_sys::QueryCancelPending = 0;
        for timeout in [pg::LOCK_TIMEOUT, pg::STATEMENT_TIMEOUT] {
            pg::get_timeout_indicator(timeout, true);
        }
    }
}

infallible_callback! {
    /// SIGUSR2: somebody has asked for a cancel. A signal that comes late means a request that has ended.
    unsafe fn cancel_if_meant(_signal: c_int) {
        let check = CANCEL_CHECK.load(Ordering::Acquire);
        if check.is_null() {
            return;
        }
        // SAFETY: `set_cancel_check` alone stores here, and stores this type; errno is this thread's.
        unsafe {
            let errno = *libc::__errno_location();
            let check: fn() -> bool = std::mem::transmute::<*mut (), fn() -> bool>(check);
            if !COMMITTING.load(Ordering::Relaxed) && check() {
                note_cancel();
                cancel();
            }
            *libc::__errno_location() = errno;
        }
    }
}
