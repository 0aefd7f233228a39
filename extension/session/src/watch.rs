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
//! Where PostgreSQL looks for none, as in the input of an array or of JSON, the process gets little more of the kernel meanwhile:
//! PostgreSQL's own allocation fails then, which is the error. Not if a library of others is there, which may not stand that; not
//! at a transaction's end.
//!
//! The timeout goes on from request to request, because setting it asks for the time: a short request costs two stores.

use std::sync::atomic::{AtomicBool, AtomicI32, AtomicI64, AtomicU64, Ordering::Relaxed};

use pg::entry::infallible_callback;
use pg::guard::PgError;
use pg::{log_line, own_memory};
use pgrx::pg_sys;
use shared::{now_us, settings};

use super::libraries;
use super::signals::{self, STRIKES};

/// Milliseconds between two strikes.
const TICK: i32 = 25;
/// Microseconds between two looks at what short requests have left.
const LOOK_EVERY: u64 = 100_000;
/// Milliseconds that a request may go on after its cancel.
const GRACE: i32 = 5000;

/// Bytes that [`a_little_more`] is at least.
const LITTLE: i64 = 64 << 20;

/// The timeout's number among PostgreSQL's; negative where there is none.
static NUMBER: AtomicI32 = AtomicI32::new(-1);
/// Whether the timeout is set.
static IS_SET: AtomicBool = AtomicBool::new(false);
/// Grows when a request begins and when it ends, however often that is said: odd while one runs.
static WORK: AtomicU64 = AtomicU64::new(0);
/// What ran at the last strike.
static STRUCK: AtomicU64 = AtomicU64::new(0);
/// Bytes that what runs had taken when it was found to be too much; 0 if it is not.
static EXCESS: AtomicI64 = AtomicI64::new(0);
/// Bytes that a request may take.
static LIMIT: AtomicI64 = AtomicI64::new(i64::MAX);
/// Bytes of this process when it began, and before the request that runs.
static FIRST: AtomicI64 = AtomicI64::new(0);
static BEFORE: AtomicI64 = AtomicI64::new(0);
/// When it was last looked at between two requests, by [`now_us`].
static LOOKED: AtomicU64 = AtomicU64::new(0);
/// When what runs is to be cancelled, by [`now_us`]; 0 for never.
static DEADLINE: AtomicU64 = AtomicU64::new(0);
/// Whether it was cancelled because of that.
static LATE: AtomicBool = AtomicBool::new(false);
/// Whether the process is being ended.
static ENDING: AtomicBool = AtomicBool::new(false);

/// Begins. Called once in each executor.
pub fn register() {
    // SAFETY: on the main thread of a worker whose timeouts PostgreSQL has initialised.
    let number = unsafe { pg::RegisterTimeout(pg::USER_TIMEOUT, Some(strike)) };
    NUMBER.store(number, Relaxed);
    // SAFETY: the callback lives as long as the process.
    unsafe { pg_sys::RegisterXactCallback(Some(at_transaction_end), std::ptr::null_mut()) };
    let now = own_memory::bytes().unwrap_or(0);
    FIRST.store(now, Relaxed);
    BEFORE.store(now, Relaxed);
}

/// A request begins.
pub fn begin() {
    WORK.store((WORK.load(Relaxed) + 1) | 1, Relaxed);
    signals::set_running(true);
    if !IS_SET.swap(true, Relaxed) {
        LIMIT.store(i64::from(settings::HANDLER_MEMORY.get()) << 20, Relaxed);
        // SAFETY: registered.
        unsafe { pg::enable_timeout_after(NUMBER.load(Relaxed), TICK) };
    }
}

/// The request has ended; its answer is to leave yet. A cancel that was not consumed is void: outside of a guard it would end
/// the process.
pub fn end() {
    WORK.store((WORK.load(Relaxed) + 1) & !1, Relaxed);
    signals::set_running(false);
    STRIKES.store(0, Relaxed);
    EXCESS.store(0, Relaxed);
    DEADLINE.store(0, Relaxed);
    LATE.store(false, Relaxed);
    own_memory::lift_limit();
    signals::void_cancels();
}

/// What runs is cancelled after so many microseconds, within [`TICK`] of that.
pub fn set_deadline(microseconds: u64) {
    DEADLINE.store(now_us().saturating_add(microseconds), Relaxed);
}

/// Whether what runs was cancelled because it has taken too long.
pub fn is_late() -> bool {
    LATE.load(Relaxed)
}

/// Whether what runs was cancelled, be it caught or not.
pub fn is_cancelled() -> bool {
    STRIKES.load(Relaxed) != 0
}

/// Whether this process should make room for another, because it has kept more of what requests have taken than
/// `howdah.kept_memory` allows. To be asked when an answer has left. A request that a strike has met may have left much at once;
/// what others leave adds up.
pub fn should_make_room() -> bool {
    let (was_struck, now) = (STRUCK.load(Relaxed) + 1 == WORK.load(Relaxed), now_us());
    if !was_struck && now < LOOKED.load(Relaxed) + LOOK_EVERY {
        return false;
    }
    LOOKED.store(now, Relaxed);
    has_kept_much()
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
        && let Some(now) = own_memory::bytes()
    {
        BEFORE.store(now, Relaxed);
    }
}

/// Whether what runs has taken too much memory.
pub fn has_taken_too_much() -> bool {
    EXCESS.load(Relaxed) != 0
}

/// The error of a request that was cancelled because of its memory.
pub fn out_of_memory(error: &PgError) -> Option<PgError> {
    let excess = EXCESS.load(Relaxed);
    (excess != 0 && matches!(error.sqlstate(), "57014" | "53200")).then(|| PgError {
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

/// Voids the cancel of a request that has taken too much memory, once most of it is free again: whoever has caught the error goes
/// on without what it was taken for. Whether it is void.
pub(crate) fn recover() -> bool {
    if EXCESS.load(Relaxed) == 0 || ENDING.load(Relaxed) {
        return false;
    }
    own_memory::trim();
    let is_free = own_memory::bytes().is_some_and(|now| now - BEFORE.load(Relaxed) < LIMIT.load(Relaxed) / 2);
    if is_free {
        EXCESS.store(0, Relaxed);
        STRIKES.store(0, Relaxed);
        // SAFETY: PostgreSQL's own variable.
        unsafe { pg_sys::QueryCancelPending = 0 };
        // The last: a strike since the error may have lowered it again.
        own_memory::lift_limit();
    }
    is_free
}

/// Whether the process is being ended because of what it runs.
pub fn is_ending() -> bool {
    ENDING.load(Relaxed)
}

/// Says in the log why the process ends, if it is for what a request did.
pub fn explain_end() {
    if ENDING.load(Relaxed) {
        let reason = if EXCESS.load(Relaxed) != 0 {
            "went on taking memory when it had more than howdah.handler_memory allows".to_owned()
        } else {
            format!("went on for {} s after it was cancelled", GRACE / 1000)
        };
        log_line::log!("howdah executor ends, because its request {reason}");
    }
}

/// Looks at what is kept, once what is free has been given back to the kernel where that may be much.
fn has_kept_much() -> bool {
    // What executors of lines keep on purpose.
    const KEPT: i64 = 128 << 20;
    let much = KEPT.min(LIMIT.load(Relaxed) / 4);
    let allowed = i64::from(settings::KEPT_MEMORY.get()) << 20;
    let Some(mut now) = own_memory::bytes() else { return false };
    let kept = |now: i64| now - FIRST.load(Relaxed);
    if now - BEFORE.load(Relaxed) > much || kept(now) > allowed {
        own_memory::trim();
        now = own_memory::bytes().unwrap_or(now);
    }
    BEFORE.store(now, Relaxed);
    let has_kept = kept(now) > allowed;
    if has_kept {
        log_line::log!(
            "howdah executor ends and another comes, because it has kept {} MB of memory, more than howdah.kept_memory allows ({} MB)",
            kept(now) >> 20,
            allowed >> 20
        );
    }
    has_kept
}

infallible_callback! {
    /// Runs inside SIGALRM, where PostgreSQL lets timeouts be set.
    unsafe fn strike() {
        let work = WORK.load(Relaxed);
        if work & 1 == 1 {
            STRUCK.store(work, Relaxed);
            if !signals::is_ending() {
                // SAFETY: PostgreSQL's own variable.
                let is_noticed = unsafe { pg_sys::QueryCancelPending } == 0;
                look_at_deadline();
                look_at_cancel();
                look_at_memory(is_noticed);
            }
        }
        // SAFETY: registered.
        unsafe { pg::enable_timeout_after(NUMBER.load(Relaxed), TICK) };
    }
}

fn look_at_deadline() {
    let deadline = DEADLINE.load(Relaxed);
    if deadline != 0 && now_us() >= deadline {
        DEADLINE.store(0, Relaxed);
        LATE.store(true, Relaxed);
        signals::note_cancel();
    }
}

fn look_at_cancel() {
    let strikes = STRIKES.load(Relaxed);
    if strikes == 0 {
        return;
    }
    STRIKES.store(strikes + 1, Relaxed);
    signals::cancel();
    if strikes > (GRACE / TICK) as u32 {
        end_process();
    }
}

/// What has noticed its cancel and takes a quarter more all the same will not stop. A little more may be on its way. Who has not
/// noticed it, as PostgreSQL does not in the middle of making a text, would not end any sooner.
fn look_at_memory(is_noticed: bool) {
    let Some(now) = own_memory::bytes() else { return };
    let (taken, limit, excess) = (now - BEFORE.load(Relaxed), LIMIT.load(Relaxed), EXCESS.load(Relaxed));
    if excess == 0 && taken > limit {
        EXCESS.store(taken, Relaxed);
        signals::note_cancel();
        signals::cancel();
        limit_memory();
    } else if excess != 0 && !is_noticed {
        EXCESS.store(taken.max(excess), Relaxed);
        limit_memory();
    } else if excess != 0 && taken > excess + a_little_more() {
        end_process();
    }
}

/// Bytes that a request may take after its cancel.
fn a_little_more() -> i64 {
    (LIMIT.load(Relaxed) / 4).max(LITTLE)
}

/// Has PostgreSQL's allocations fail once the request has taken a little more. Where interrupts are held off an error may be the
/// end of the server: behind the record of a commit. PostgreSQL holds them off once for the signal itself.
fn limit_memory() {
    // SAFETY: PostgreSQL's own variables.
    let may_fail = unsafe { pg_sys::InterruptHoldoffCount <= 1 && pg_sys::CritSectionCount == 0 };
    if may_fail && !own_memory::is_limited() && libraries::are_all_postgres() {
        own_memory::limit(a_little_more());
    }
}

infallible_callback! {
    /// Nothing may fail behind the record of a commit.
    unsafe fn at_transaction_end(_event: pg_sys::XactEvent::Type, _argument: *mut std::ffi::c_void) {
        own_memory::lift_limit();
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
