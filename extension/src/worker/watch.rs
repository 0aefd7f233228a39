//! How long a cancelled request may go on in an executor, and how much memory one may take.
//!
//! A timeout of PostgreSQL's strikes every [`TICK`] while requests run. What is cancelled is cancelled again at each strike,
//! because a handler may catch the error; after [`GRACE`] the process ends as if by SIGTERM, which nothing catches. What has
//! taken more than `howdah.handler_memory` is cancelled too, and the error is that memory is short; what goes on taking
//! memory ends the process sooner.
//!
//! Memory is what the kernel counts as this process's own: PostgreSQL's memory contexts, our buffers and those of libraries
//! alike. The error is raised where PostgreSQL looks for interrupts, and so never inside an allocation, which may not fail in
//! a library in Rust or C++.
//!
//! The timeout goes on from request to request, because setting it asks for the time: a short request costs two stores.

use std::sync::atomic::{AtomicBool, AtomicI32, AtomicI64, AtomicU32, AtomicU64, Ordering::Relaxed};

use pgrx::pg_sys;

use super::signals;
use crate::entry::infallible_callback;
use crate::guard::PgError;
use crate::request::transaction;
use crate::{pg, settings};

/// Milliseconds between two strikes.
const TICK: i32 = 25;
/// Milliseconds that a request may go on after its cancel.
const GRACE: i32 = 5000;

/// Bytes that a request may take after its cancel in any case.
const LITTLE: i64 = 64 << 20;

/// The timeout's number among PostgreSQL's; negative where there is none.
static NUMBER: AtomicI32 = AtomicI32::new(-1);
/// Whether the timeout is set.
static IS_SET: AtomicBool = AtomicBool::new(false);
/// Grows when a request begins and when it ends: odd while one runs.
static WORK: AtomicU64 = AtomicU64::new(0);
/// What ran at the last strike.
static STRUCK: AtomicU64 = AtomicU64::new(0);
/// Strikes since what runs was cancelled, plus one; 0 if it is not.
static CANCELLED: AtomicU32 = AtomicU32::new(0);
/// Bytes that what runs had taken when it was found to be too much; 0 if it is not.
static EXCESS: AtomicI64 = AtomicI64::new(0);
/// Bytes that a request may take.
static LIMIT: AtomicI64 = AtomicI64::new(i64::MAX);
/// Bytes of this process when it began, and before the request that runs.
static FIRST: AtomicI64 = AtomicI64::new(0);
static BEFORE: AtomicI64 = AtomicI64::new(0);
/// The open file that tells them.
static FILE: AtomicI32 = AtomicI32::new(-1);
/// Bytes of a page.
static PAGE: AtomicI64 = AtomicI64::new(4096);
/// Whether the process is being ended.
static ENDING: AtomicBool = AtomicBool::new(false);

/// Begins. Called once in each executor.
pub fn register() {
    // SAFETY: on the main thread of a worker whose timeouts PostgreSQL has initialised; plain calls. The file is closed with
    // the process.
    unsafe {
        PAGE.store(libc::sysconf(libc::_SC_PAGESIZE), Relaxed);
        FILE.store(libc::open(c"/proc/self/statm".as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC), Relaxed);
        NUMBER.store(pg::RegisterTimeout(pg::USER_TIMEOUT, Some(strike)), Relaxed);
    }
    let now = own_bytes().unwrap_or(0);
    FIRST.store(now, Relaxed);
    BEFORE.store(now, Relaxed);
}

/// A request begins.
pub fn begin() {
    WORK.store(WORK.load(Relaxed) + 1, Relaxed);
    if !IS_SET.swap(true, Relaxed) {
        LIMIT.store(i64::from(settings::HANDLER_MEMORY.get()) << 20, Relaxed);
        // SAFETY: registered.
        unsafe { pg::enable_timeout_after(NUMBER.load(Relaxed), TICK) };
    }
}

/// The request has ended; its answer is to leave yet. A cancel that was not consumed is void: outside of a guard it would end
/// the process.
pub fn end() {
    WORK.store(WORK.load(Relaxed) + 1, Relaxed);
    CANCELLED.store(0, Relaxed);
    EXCESS.store(0, Relaxed);
    // SAFETY: PostgreSQL's own variable.
    unsafe { pg_sys::QueryCancelPending = 0 };
}

/// Whether this process should make room for another, because it has kept much of what the last request has taken. To be
/// asked when the answer has left.
pub fn should_make_room() -> bool {
    // What no strike has met was too short to take much.
    STRUCK.load(Relaxed) + 1 == WORK.load(Relaxed) && has_kept_much()
}

/// Nothing runs for a while.
pub fn rest() {
    if IS_SET.swap(false, Relaxed) {
        // SAFETY: registered. The signal that is on its way finds nothing to do.
        unsafe { pg::disable_timeout(NUMBER.load(Relaxed), false) };
    }
}

/// Notes what the process has now, between two requests: caches grow.
pub fn take_stock() {
    if WORK.load(Relaxed) & 1 == 0
        && let Some(now) = own_bytes()
    {
        BEFORE.store(now, Relaxed);
    }
}

/// What runs has been cancelled. Called inside a signal.
pub fn cancelled() {
    let _ = CANCELLED.compare_exchange(0, 1, Relaxed, Relaxed);
}

/// The error of a request that was cancelled because of its memory.
pub fn out_of_memory(error: &PgError) -> Option<PgError> {
    let excess = EXCESS.load(Relaxed);
    (excess != 0 && error.sqlstate() == "57014").then(|| PgError {
        sqlstate: *b"53200",
        message: format!(
            "the request has taken {} MB of memory, more than howdah.handler_memory allows ({} MB)",
            excess >> 20,
            LIMIT.load(Relaxed) >> 20
        ),
        hint: Some("Have it return fewer rows, or raise howdah.handler_memory.".into()),
        ..PgError::default()
    })
}

/// Says in the log why the process ends, if it is for what a request did.
pub fn explain_end() {
    if ENDING.load(Relaxed) {
        let reason = if EXCESS.load(Relaxed) != 0 {
            "went on taking memory when it had more than howdah.handler_memory allows".to_owned()
        } else {
            format!("went on for {} s after it was cancelled", GRACE / 1000)
        };
        pgrx::log!("howdah executor ends, because its request {reason}");
    }
}

/// Gives back to the kernel what is free, after a request that has taken much.
fn has_kept_much() -> bool {
    // What executors of lines keep on purpose.
    const KEPT: i64 = 128 << 20;
    let much = KEPT.min(LIMIT.load(Relaxed) / 4);
    let Some(mut now) = own_bytes() else { return false };
    if now - BEFORE.load(Relaxed) > much {
        #[cfg(target_env = "gnu")]
        // SAFETY: what is in use stays.
        unsafe {
            libc::malloc_trim(0);
        }
        now = own_bytes().unwrap_or(now);
    }
    BEFORE.store(now, Relaxed);
    now - FIRST.load(Relaxed) > LIMIT.load(Relaxed) / 2
}

infallible_callback! {
    /// Runs inside SIGALRM, where PostgreSQL lets timeouts be set.
    unsafe fn strike() {
        let work = WORK.load(Relaxed);
        if work & 1 == 1 {
            STRUCK.store(work, Relaxed);
            if !transaction::is_aborting() {
                look_at_cancel();
                look_at_memory();
            }
        }
        // SAFETY: registered.
        unsafe { pg::enable_timeout_after(NUMBER.load(Relaxed), TICK) };
    }
}

fn look_at_cancel() {
    let strikes = CANCELLED.load(Relaxed);
    if strikes == 0 {
        return;
    }
    CANCELLED.store(strikes + 1, Relaxed);
    signals::cancel();
    if strikes > (GRACE / TICK) as u32 {
        end_process();
    }
}

/// What is cancelled and takes a quarter more all the same will not stop. A little more may be on its way.
fn look_at_memory() {
    let Some(now) = own_bytes() else { return };
    let (taken, limit, excess) = (now - BEFORE.load(Relaxed), LIMIT.load(Relaxed), EXCESS.load(Relaxed));
    if excess != 0 && taken > excess + (limit / 4).max(LITTLE) {
        end_process();
    } else if excess == 0 && taken > limit {
        EXCESS.store(taken, Relaxed);
        cancelled();
        signals::cancel();
    }
}

fn end_process() {
    ENDING.store(true, Relaxed);
    // SAFETY: PostgreSQL's own variables; what die() does.
    unsafe {
        pg_sys::ProcDiePending = 1;
        pg_sys::InterruptPending = 1;
        pg::SetLatch(pg_sys::MyLatch);
    }
}

/// Bytes in memory that are this process's alone: neither shared memory nor pages of files. Safe inside a signal.
fn own_bytes() -> Option<i64> {
    let mut text = [0u8; 128];
    // SAFETY: a buffer of this length.
    let read = unsafe { libc::pread(FILE.load(Relaxed), text.as_mut_ptr().cast(), text.len(), 0) };
    // Pages: size, resident, shared.
    let mut numbers =
        text.get(..usize::try_from(read).ok()?)?.split(|&byte| byte == b' ').skip(1).map(number);
    let (resident, shared) = (numbers.next()?, numbers.next()?);
    Some((resident - shared) * PAGE.load(Relaxed))
}

fn number(digits: &[u8]) -> i64 {
    digits.iter().fold(0, |number, digit| number * 10 + i64::from(digit.wrapping_sub(b'0')))
}
