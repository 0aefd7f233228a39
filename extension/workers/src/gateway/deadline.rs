//! How long a request may hold up the gateway.
//!
//! The deadline is a timeout of PostgreSQL's. A machine that is busy may take the processor from a gateway for
//! longer than any deadline, and a request cannot help that: what counts is the time for which the process has
//! computed or waited of its own accord. So the timeout strikes twice, at half the time each. The first notes
//! what runs, and what the process has used so far; the second cancels if the same still runs and has computed for
//! half the deadline since, or gone to sleep. If it has done neither, the next strike looks again.
//!
//! The timeout goes on from request to request, because setting it asks for the time, which is not free. So the first
//! strike may come at any point of a request, and its cancel after half the deadline to a whole one.

use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicI64, AtomicU64, Ordering::Relaxed};

use pg::entry::infallible_callback;
use pgrx::pg_sys;
use request::admission;
use session::signals;
use shared::settings;

/// The deadline's number among PostgreSQL's timeouts; negative before it is registered.
static NUMBER: AtomicI32 = AtomicI32::new(-1);
/// Milliseconds between two strikes.
static HALF: AtomicI32 = AtomicI32::new(0);
/// Grows when work begins and when it ends: odd while something runs.
static WORK: AtomicU64 = AtomicU64::new(0);
/// What ran when the deadline struck last.
static STRUCK: AtomicU64 = AtomicU64::new(0);
/// Whether what runs now is cancelled.
static OVERDUE: AtomicBool = AtomicBool::new(false);
/// Microseconds that the process had computed when the deadline struck last.
static COMPUTED: AtomicI64 = AtomicI64::new(0);
/// How often it had gone to sleep by then.
static SLEEPS: AtomicI64 = AtomicI64::new(0);
/// Strikes since the cancel of what still runs.
static IGNORED: AtomicI32 = AtomicI32::new(0);

/// What came of work under a deadline.
pub(crate) struct Outcome<T> {
    /// What it returned.
    pub result: T,
    /// It was cancelled.
    pub overdue: bool,
    /// It was cancelled and did not stop: it runs code that does not look.
    pub deaf: bool,
}

/// Registers the deadline. Called once in each gateway.
pub(super) fn register() {
    // SAFETY: on the main thread of a worker whose timeouts PostgreSQL has initialised.
    let number = unsafe { pg::RegisterTimeout(pg::USER_TIMEOUT, Some(strike)) };
    NUMBER.store(number, Relaxed);
}

/// Watches the pieces of work to come, until [`rest`]: each may hold up this process for as many times
/// `howdah.inline_deadline`.
pub(crate) fn watch(times: i32) {
    let half = (settings::INLINE_DEADLINE.get() * times + 1) / 2;
    HALF.store(half, Relaxed);
    // SAFETY: registered. While a signal is on its way, setting a later timeout costs no system call.
    unsafe { pg::enable_timeout_after(NUMBER.load(Relaxed), half) };
}

/// Watches no more.
pub(super) fn rest() {
    // SAFETY: registered. The signal that is on its way finds nothing to do.
    unsafe { pg::disable_timeout(NUMBER.load(Relaxed), false) };
}

/// One piece of work, cancelled when it exceeds the deadline. Between [`watch`] and [`rest`].
///
/// # Safety
/// On the main thread; the work catches the error of its cancel.
pub(crate) unsafe fn within<T>(work: impl FnOnce() -> T) -> Outcome<T> {
    OVERDUE.store(false, Relaxed);
    // Written by this thread alone, and read by its own signal handler: no need to lock the bus.
    let number = WORK.load(Relaxed);
    signals::void_cancels();
    WORK.store(number + 1, Relaxed);
    signals::set_running(true);
    let result = admission::asked_for(work);
    signals::set_running(false);
    WORK.store(number + 2, Relaxed);
    signals::void_cancels();
    let overdue = OVERDUE.load(Relaxed);
    Outcome { result, overdue, deaf: overdue && was_deaf() }
}

/// Whether work has gone on for two more deadlines after its cancel, and not for want of a processor.
fn was_deaf() -> bool {
    let used = used();
    let computed = used.computed_us - COMPUTED.load(Relaxed) > i64::from(HALF.load(Relaxed)) * 2000;
    IGNORED.load(Relaxed) >= 4 && (computed || used.sleeps > SLEEPS.load(Relaxed))
}

infallible_callback! {
    /// Runs inside SIGALRM, where PostgreSQL lets timeouts be set.
    unsafe fn strike() {
        let (work, half) = (WORK.load(Relaxed), HALF.load(Relaxed));
        let mut next = half;
        if work & 1 == 1 && OVERDUE.load(Relaxed) {
            // Whoever has lost the first.
            IGNORED.fetch_add(1, Relaxed);
            if !session::signals::is_ending() {
                interrupt();
            }
        } else if STRUCK.swap(work, Relaxed) != work {
            used().note();
        } else {
            let used = used();
            let computed_ms = ((used.computed_us - COMPUTED.load(Relaxed)) / 1000) as i32;
            if used.sleeps > SLEEPS.load(Relaxed) || computed_ms >= half {
                used.note();
                cancel(work);
            } else {
                next = (half - computed_ms).max(1);
            }
        }
        // SAFETY: registered.
        unsafe { pg::enable_timeout_after(NUMBER.load(Relaxed), next) };
    }
}

/// Cancels what runs, as StatementCancelHandler does.
fn cancel(work: u64) {
    if work & 1 == 0 {
        return;
    }
    IGNORED.store(0, Relaxed);
    OVERDUE.store(true, Relaxed);
    interrupt();
}

fn interrupt() {
    // SAFETY: PostgreSQL's own variables.
    unsafe {
        pg_sys::QueryCancelPending = 1;
        pg_sys::InterruptPending = 1;
    }
}

/// What this process has used so far.
struct Used {
    computed_us: i64,
    /// Times that it has gone to sleep of its own accord.
    sleeps: i64,
}

impl Used {
    fn note(&self) {
        COMPUTED.store(self.computed_us, Relaxed);
        SLEEPS.store(self.sleeps, Relaxed);
    }
}

fn used() -> Used {
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: a valid place for the answer; the call cannot fail with these arguments. All zero is valid.
    let usage = unsafe {
        libc::getrusage(libc::RUSAGE_THREAD, usage.as_mut_ptr());
        usage.assume_init()
    };
    let microseconds = |time: libc::timeval| time.tv_sec * 1_000_000 + time.tv_usec;
    Used { computed_us: microseconds(usage.ru_utime) + microseconds(usage.ru_stime), sleeps: usage.ru_nvcsw }
}
