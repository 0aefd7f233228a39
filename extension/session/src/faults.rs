//! Panics, things left behind and interrupts on demand: what a mistake of ours would do at a given place, or what comes at the worst
//! moment, for `tests/alone/panics.rs` and `tests/alone/interrupts.rs`. Without the feature `faults` nothing here does anything.

use std::cell::RefCell;
use std::time::{Duration, Instant};

use pgrx::pg_sys;

use crate::signals;

/// Panics if the request's header X-Panic names this place. The first argument looks a header up.
pub fn panic_if_asked<'r>(header: impl Fn(&str) -> Option<&'r str>, place: &str) {
    if cfg!(feature = "faults") {
        assert!(header("x-panic") != Some(place), "asked to, {place}");
    }
}

/// Leaves behind, after a request, what its header X-Leave names.
pub fn leave_if_asked<'r>(header: impl Fn(&str) -> Option<&'r str>) {
    if cfg!(feature = "faults")
        && let Some(what) = header("x-leave")
    {
        leave(what);
    }
}

fn leave(what: &str) {
    // SAFETY: between two requests. What is left is wrong in itself; that is what it is for.
    unsafe {
        match what {
            "a transaction" => pg::StartTransactionCommand(),
            "a subtransaction" => pg_sys::BeginInternalSubTransaction(std::ptr::null()),
            "a lock" => {
                let mut table =
                    pg_sys::LockRelId { relId: pg_sys::RelationRelationId, dbId: pg_sys::MyDatabaseId };
                pg_sys::LockRelationIdForSession(&raw mut table, pg_sys::AccessShareLock as i32);
            }
            "interrupts held off" => pg_sys::InterruptHoldoffCount += 1,
            "an open portal" => pg_sys::ActivePortal = std::ptr::dangling_mut(),
            "another memory context" => {
                pg_sys::MemoryContextSwitchTo(pg_sys::CacheMemoryContext);
            }
            "another role" => {
                pg::SetUserIdAndSecContext(pg_sys::Oid::from(pg_sys::BOOTSTRAP_SUPERUSERID), 0);
            }
            "exit_on_error" => pg_sys::ExitOnAnyError = true,
            _ => {}
        }
    }
}

thread_local! {
    /// What is to come, and at which place.
    static ASKED: RefCell<Option<(String, String)>> = const { RefCell::new(None) };
}

/// Notes what the request's header X-Interrupt asks for: `WHAT, PLACE`.
pub fn note_interrupt<'r>(header: impl Fn(&str) -> Option<&'r str>) {
    if cfg!(feature = "faults") {
        let asked = header("x-interrupt").and_then(|asked| asked.split_once(", "));
        ASKED.set(asked.map(|(what, place)| (what.to_owned(), place.to_owned())));
    }
}

/// Has come, once, what was asked for this place.
pub fn interrupt_if_asked(place: &str) {
    if !cfg!(feature = "faults") {
        return;
    }
    if let Some((what, _)) = ASKED.with_borrow_mut(|asked| asked.take_if(|(_, asked)| asked == place)) {
        interrupt(&what);
    }
}

fn interrupt(what: &str) {
    // SAFETY: what signals and timeouts do to this process, on its main thread.
    unsafe {
        match what {
            "a cancel" => signals::cancel(),
            "a signal to cancel" => signal(libc::SIGINT),
            "a late signal" => signal(libc::SIGUSR2),
            "a reload" => signal(libc::SIGHUP),
            "a barrier" => signal(libc::SIGUSR1),
            "a catchup" => {
                pg_sys::catchupInterruptPending = 1;
                pg_sys::InterruptPending = 1;
            }
            "a bare interrupt" => pg_sys::InterruptPending = 1,
            "the statement's timeout" => expire(pg::STATEMENT_TIMEOUT),
            "the lock's timeout" => expire(pg::LOCK_TIMEOUT),
            other => panic!("nothing is called {other}"),
        }
    }
}

unsafe fn signal(signal: libc::c_int) {
    // SAFETY: sends a signal to this process, which has a handler.
    unsafe { libc::kill(libc::getpid(), signal) };
}

/// Lets a timeout of PostgreSQL's expire now.
unsafe fn expire(timeout: libc::c_int) {
    // SAFETY: a timeout that is registered.
    unsafe { pg::enable_timeout_after(timeout, 1) };
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_millis(20) {
        std::hint::spin_loop();
    }
}
