//! What PostgreSQL does for a backend between two commands, and a worker must do itself.

use std::cell::Cell;
use std::ffi::{CStr, c_long};
use std::time::{Duration, Instant};

use pg::guard::{Report, attempt};
use pg::version;
use pgrx::pg_sys;

use crate::{at_rest, file_settings};

/// Serves interrupts, barriers, invalidations and reloads, and reports statistics, at most once a second.
/// Ends the process if it is told to. Returns the time after which statistics that wait should be
/// reported by another call.
///
/// Call it between two requests, outside any transaction, and before each sleep.
pub fn housekeeping() -> Option<Duration> {
    // SAFETY: main thread, outside a transaction, and nothing here has a destructor. An error is logged; what
    // raised it has been taken off its list before.
    let pending = unsafe {
        attempt(Report::Log, || {
            // A cancel that comes while nothing runs is void.
            pg_sys::QueryCancelPending = 0;
            if pg_sys::InterruptPending != 0 {
                pg_sys::ProcessInterrupts();
            }
            if pg_sys::ConfigReloadPending != 0 {
                pg_sys::ConfigReloadPending = 0;
                pg_sys::ProcessConfigFile(pg_sys::GucContext::PGC_SIGHUP);
                RELOADED.set(true);
                file_settings::reloaded();
            }
            if pg_sys::catchupInterruptPending != 0 {
                pg_sys::ProcessCatchupInterrupt();
            }
            report_statistics()
        })
    };
    if pending.is_err() {
        // SAFETY: nothing runs.
        unsafe { at_rest::abort() };
    }
    pending.ok().flatten()
}

thread_local! {
    /// Since when statistics wait to be reported.
    static PENDING: Cell<Option<Instant>> = const { Cell::new(None) };
}

/// How long statistics wait at most.
const STATISTICS: Duration = Duration::from_secs(1);

/// Reports statistics, unless PostgreSQL has done so within a second. Returns the time after which what waits
/// is due.
///
/// Unforced, PostgreSQL takes the end of the last transaction for the present: without another transaction it
/// would never find that the second is over.
///
/// # Safety
/// Inside a guard, outside a transaction.
unsafe fn report_statistics() -> Option<Duration> {
    let due = PENDING.get().is_some_and(|since| since.elapsed() >= STATISTICS);
    // SAFETY: by contract.
    let waits = unsafe { pg_sys::pgstat_report_stat(due) } > 0;
    PENDING.set(waits.then(|| PENDING.get().unwrap_or_else(Instant::now)));
    PENDING.get().map(|since| STATISTICS.saturating_sub(since.elapsed()).max(Duration::from_millis(1)))
}

thread_local! {
    static RELOADED: Cell<bool> = const { Cell::new(false) };
}

/// Whether settings have been read again since the last call.
pub fn take_reloaded() -> bool {
    RELOADED.take()
}

/// Gives the process its name in pg_stat_activity, to which it comes back when a request has set another.
pub fn name_process(name: &CStr) {
    let (context, source) = (pg_sys::GucContext::PGC_BACKEND, pg_sys::GucSource::PGC_S_OVERRIDE);
    // SAFETY: a setting of PostgreSQL's, in a process that is connected.
    unsafe { pg_sys::SetConfigOption(c"application_name".as_ptr(), name.as_ptr(), context, source) };
}

/// Shows in pg_stat_activity that nothing runs.
pub fn report_idle() {
    // SAFETY: main thread of a process that is connected.
    unsafe { pg_sys::pgstat_report_activity(pg_sys::BackendState::STATE_IDLE, std::ptr::null()) };
}

thread_local! {
    /// Latch, eventfd and postmaster; made at the first sleep and kept.
    static EVENTS: Cell<*mut pg_sys::WaitEventSet> = const { Cell::new(std::ptr::null_mut()) };
}

/// Sleeps until the latch is set, `fd` is readable or the time is over. Ends the process if the postmaster is gone.
pub fn sleep(fd: i32, timeout: Option<Duration>) {
    let milliseconds = timeout.map_or(-1, |timeout| timeout.as_millis().clamp(1, 3_600_000) as c_long);
    // SAFETY: main thread; the set lives as long as the process.
    unsafe {
        if EVENTS.get().is_null() {
            EVENTS.set(events(fd));
        }
        let mut event = pg_sys::WaitEvent::default();
        pg_sys::WaitEventSetWait(EVENTS.get(), milliseconds, &mut event, 1, pg_sys::PG_WAIT_EXTENSION);
        pg_sys::ResetLatch(pg_sys::MyLatch);
    }
}

/// # Safety
/// On the main thread of a process with a latch; `fd` stays open.
unsafe fn events(fd: i32) -> *mut pg_sys::WaitEventSet {
    use pg_sys::{WL_EXIT_ON_PM_DEATH, WL_LATCH_SET, WL_SOCKET_READABLE};
    let nobody = std::ptr::null_mut();
    // SAFETY: by contract.
    unsafe {
        let set = version::new_wait_events(3);
        pg_sys::AddWaitEventToSet(set, WL_LATCH_SET, pg_sys::PGINVALID_SOCKET, pg_sys::MyLatch, nobody);
        pg_sys::AddWaitEventToSet(
            set,
            WL_EXIT_ON_PM_DEATH,
            pg_sys::PGINVALID_SOCKET,
            std::ptr::null_mut(),
            nobody,
        );
        pg_sys::AddWaitEventToSet(set, WL_SOCKET_READABLE, fd, std::ptr::null_mut(), nobody);
        set
    }
}
