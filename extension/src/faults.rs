//! Panics, things left behind and interrupts on demand: what a mistake of ours would do at a given place, or what comes at the worst
//! moment, for `tests/alone/panics.rs` and `tests/alone/interrupts.rs`.

use std::cell::RefCell;
use std::time::{Duration, Instant};

use message::Request;
use pgrx::pg_sys;

use crate::pg;
use crate::worker::signals;

/// Panics if the request's header X-Panic names this place.
pub fn panic_if_asked(request: &Request<'_>, place: &str) {
    assert!(request.header("x-panic") != Some(place), "asked to, {place}");
}

/// Leaves behind, after a request, what its header X-Leave names.
pub fn leave_if_asked(request: &Request<'_>) {
    // SAFETY: between two requests. What is left is wrong in itself; that is what it is for.
    unsafe {
        match request.header("x-leave") {
            Some("a transaction") => pg::StartTransactionCommand(),
            Some("a subtransaction") => pg_sys::BeginInternalSubTransaction(std::ptr::null()),
            Some("a lock") => {
                let mut table = pg_sys::LockRelId {
                    relId: pg_sys::Oid::from(pg_sys::RelationRelationId),
                    dbId: pg_sys::MyDatabaseId,
                };
                pg_sys::LockRelationIdForSession(&raw mut table, pg_sys::AccessShareLock as i32);
            }
            Some("interrupts held off") => pg_sys::InterruptHoldoffCount += 1,
            Some("an open portal") => pg_sys::ActivePortal = std::ptr::dangling_mut(),
            Some("another memory context") => {
                pg_sys::MemoryContextSwitchTo(pg_sys::CacheMemoryContext);
            }
            Some("another role") => {
                pg::SetUserIdAndSecContext(pg_sys::Oid::from(pg_sys::BOOTSTRAP_SUPERUSERID), 0);
            }
            Some("exit_on_error") => pg_sys::ExitOnAnyError = true,
            _ => {}
        }
    }
}

thread_local! {
    /// What is to come, and at which place.
    static ASKED: RefCell<Option<(String, String)>> = const { RefCell::new(None) };
}

/// Notes what the request's header X-Interrupt asks for: `WHAT, PLACE`.
pub fn note_interrupt(request: &Request<'_>) {
    let asked = request.header("x-interrupt").and_then(|asked| asked.split_once(", "));
    ASKED.set(asked.map(|(what, place)| (what.to_owned(), place.to_owned())));
}

/// Has come, once, what was asked for this place.
pub fn interrupt_if_asked(place: &str) {
    let Some((what, _)) = ASKED.with_borrow_mut(|asked| asked.take_if(|(_, asked)| asked == place)) else {
        return;
    };
    // SAFETY: what signals and timeouts do to this process, on its main thread.
    unsafe {
        match &*what {
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
