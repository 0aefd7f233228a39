//! How long a request may hold up the gateway.
//!
//! The deadline is a timeout of PostgreSQL's. A machine that is busy may take the processor from a gateway for
//! longer than any deadline, and a request cannot help that: what counts is the time for which the process has
//! computed or waited of its own accord. So the timeout strikes twice, at half the time each. The first notes
//! what the process has used so far; the second cancels if it has computed for half the deadline since, or has
//! gone to sleep, and strikes once more later if it has done neither.

use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicI64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use pgrx::pg_sys;

use crate::pg;
use crate::settings;

/// The deadline's number among PostgreSQL's timeouts; negative before it is registered.
static NUMBER: AtomicI32 = AtomicI32::new(-1);
/// Whether it has struck for what runs now.
static STRUCK: AtomicBool = AtomicBool::new(false);
/// Whether what runs now is cancelled.
static OVERDUE: AtomicBool = AtomicBool::new(false);
/// What the process had used when the deadline struck last.
static USED: Used = Used { computed_us: AtomicI64::new(0), sleeps: AtomicI64::new(0) };

struct Used {
    computed_us: AtomicI64,
    sleeps: AtomicI64,
}

/// What came of work under a deadline.
pub struct Outcome<T> {
    /// What it returned.
    pub result: T,
    /// It was cancelled.
    pub overdue: bool,
    /// It was cancelled and did not stop: it runs code that does not look.
    pub deaf: bool,
}

/// Registers the deadline. Called once in each gateway.
pub fn register() {
    // SAFETY: on the main thread of a worker whose timeouts PostgreSQL has initialised.
    let number = unsafe { pg::RegisterTimeout(pg::USER_TIMEOUT, Some(strike)) };
    NUMBER.store(number, Relaxed);
}

/// Cancels work that holds up this process for as many times `howdah.inline_deadline`.
///
/// # Safety
/// On the main thread, after [`register`]; the work catches the error of its cancel.
pub unsafe fn within<T>(times: i32, work: impl FnOnce() -> T) -> Outcome<T> {
    let number = NUMBER.load(Relaxed);
    let half = (settings::INLINE_DEADLINE.get() * times + 1) / 2;
    HALF_MS.store(half, Relaxed);
    STRUCK.store(false, Relaxed);
    OVERDUE.store(false, Relaxed);
    // SAFETY: by contract. While a timeout is pending, setting a later one costs no system call.
    unsafe {
        pg::enable_timeout_after(number, half);
        let begin = Instant::now();
        let result = work();
        pg::disable_timeout(number, false);
        pg_sys::QueryCancelPending = 0;
        let overdue = OVERDUE.load(Relaxed);
        Outcome { result, overdue, deaf: overdue && was_deaf(begin, half) }
    }
}

/// Half of the deadline of what runs now.
static HALF_MS: AtomicI32 = AtomicI32::new(0);

/// Whether it has gone on for another two deadlines after its cancel, and not for want of a processor.
fn was_deaf(begin: Instant, half_ms: i32) -> bool {
    let (computed_us, sleeps) = used();
    let long = begin.elapsed() > Duration::from_millis(half_ms as u64 * 6);
    let computed = computed_us - USED.computed_us.load(Relaxed) > i64::from(half_ms) * 4000;
    long && (computed || sleeps > USED.sleeps.load(Relaxed))
}

/// Runs inside SIGALRM, where PostgreSQL lets timeouts be set.
unsafe extern "C" fn strike() {
    let half = HALF_MS.load(Relaxed);
    let (computed_us, sleeps) = used();
    let computed_ms = (computed_us - USED.computed_us.load(Relaxed)) / 1000;
    let slept = sleeps > USED.sleeps.load(Relaxed);
    let first = !STRUCK.swap(true, Relaxed);
    if first || !slept && computed_ms < i64::from(half) {
        let rest = if first { half } else { (half - computed_ms as i32).max(1) };
        if first {
            note(computed_us, sleeps);
        }
        // SAFETY: registered.
        unsafe { pg::enable_timeout_after(NUMBER.load(Relaxed), rest) };
        return;
    }
    note(computed_us, sleeps);
    OVERDUE.store(true, Relaxed);
    // SAFETY: PostgreSQL's own variables, as StatementCancelHandler sets them.
    unsafe {
        pg_sys::QueryCancelPending = 1;
        pg_sys::InterruptPending = 1;
    }
}

fn note(computed_us: i64, sleeps: i64) {
    USED.computed_us.store(computed_us, Relaxed);
    USED.sleeps.store(sleeps, Relaxed);
}

/// Microseconds that this process has computed so far, and how often it has gone to sleep of its own accord.
fn used() -> (i64, i64) {
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: a valid place for the answer; the call cannot fail with these arguments. All zero is valid.
    let usage = unsafe {
        libc::getrusage(libc::RUSAGE_THREAD, usage.as_mut_ptr());
        usage.assume_init()
    };
    let microseconds = |time: libc::timeval| time.tv_sec * 1_000_000 + time.tv_usec;
    (microseconds(usage.ru_utime) + microseconds(usage.ru_stime), usage.ru_nvcsw)
}
