//! The supervisor: starts, sizes and restarts the workers of each served database.
//!
//! One process, connected to no database: it reads the shared catalogs alone. It decides everything
//! anew at each look, from what the shared memory says, so a supervisor that has just been restarted carries on
//! with the workers that it finds.
//!
//! - [`backlog`]: how long requests wait.
//! - [`catalog`]: which databases there are.
//! - [`listed`]: the entries of the listed databases, and their states.
//! - [`roster`]: starting workers, noticing their ends, back-off; [`process`]: as PostgreSQL is asked for them.
//! - [`staffing`]: who should run, who should leave.
//! - [`sizing`]: what fits into the worker processes that the server has.

mod backlog;
mod catalog;
mod listed;
mod process;
mod roster;
mod sizing;
mod staffing;

use std::ffi::c_int;
use std::sync::atomic::Ordering::SeqCst;
use std::time::Duration;

use pg::entry::{exported, unfailing_callback};
use pgrx::pg_sys;
use queue::transactions::first_since_start;
use session::{idle, signals};
use shared::{Shared, now_us, shared, wake};

use listed::LOOK;
use process::process;
/// After how long the postmaster starts a supervisor that has ended, in seconds.
const RESTART: c_int = 1;

/// Registers the supervisor. Called once, in the postmaster, while the library is loaded.
pub fn register() {
    // SAFETY: PostgreSQL's own variable. A server that pg_upgrade has started serves nobody.
    if unsafe { pg_sys::IsBinaryUpgrade } {
        return;
    }
    let mut worker = process(c"howdah supervisor", c"howdah_supervisor_main");
    worker.bgw_restart_time = RESTART;
    // SAFETY: a complete description, while libraries are loaded.
    unsafe { pg_sys::RegisterBackgroundWorker(&mut worker) };
}

/// What the supervisor keeps for itself. Losing it costs a back-off or a log line at most.
struct Supervisor {
    shared: &'static Shared,
    /// What was logged of each database.
    listed: listed::Listed,
    /// Starts on their way, and back-off.
    roster: roster::Roster,
    /// What fits.
    sizing: sizing::Sizing,
    /// What waits.
    backlogs: backlog::Backlogs,
}

exported! {
    /// Main function of the supervisor.
    fn howdah_supervisor_main(_argument: pg_sys::Datum) {
        connect();
        let shared = shared();
        let mut supervisor = Supervisor {
            shared,
            listed: listed::Listed::new(shared),
            roster: roster::Roster::new(shared),
            sizing: sizing::Sizing::default(),
            backlogs: backlog::Backlogs::new(shared),
        };
        loop {
            let rest = supervisor.look();
            idle::housekeeping();
            idle::report_idle();
            idle::sleep(wake::supervisor_fd(), Some(rest));
            wake::drain_supervisor();
            end_if_asked();
            // A reload may change what is listed, and every size.
            // SAFETY: PostgreSQL's own variable.
            let reloaded = unsafe { pg_sys::ConfigReloadPending } != 0;
            idle::housekeeping();
            if reloaded {
                supervisor.listed.look_again();
                supervisor.sizing.forget();
            }
        }
    }
}

/// Ends without a word. The postmaster starts another, unless it ends itself.
fn end_if_asked() {
    // SAFETY: PostgreSQL's own flag, and its own way to end a process.
    unsafe {
        if std::ptr::read_volatile(&raw const pg::ShutdownRequestPending) != 0 {
            pg::proc_exit(1);
        }
    }
}

/// Installs the handlers and connects to no database.
fn connect() {
    session::user_settings::fix();
    // SAFETY: the start of a background worker that has asked for a connection.
    unsafe {
        // Not `die`, which says FATAL: it ends whenever the server does.
        pg::pqsignal(libc::SIGTERM, Some(pg::SignalHandlerForShutdownRequest));
        pg::pqsignal(libc::SIGHUP, Some(pg::SignalHandlerForConfigReload));
        signals::ignore_cancels();
        signals::read_settings_again();
        pg_sys::BackgroundWorkerUnblockSignals();
        pg_sys::BackgroundWorkerInitializeConnection(std::ptr::null(), std::ptr::null(), 0);
        pg_sys::before_shmem_exit(Some(resign), pg_sys::Datum::from(0));
        let header = shared().header;
        header.supervisor.store(pg_sys::MyProcPid, SeqCst);
        header.supervisor_started.store(pg_sys::MyStartTimestamp, SeqCst);
        first_since_start();
        pg_sys::pgstat_report_appname(c"howdah supervisor".as_ptr());
        pg_sys::set_ps_display(c"".as_ptr());
    }
}

unfailing_callback! {
    unsafe fn resign(_code: c_int, _argument: pg_sys::Datum) {
        shared().header.supervisor.store(0, SeqCst);
    }
}

impl Supervisor {
    /// Looks at everything once and does what is due. Returns how long it may rest.
    fn look(&mut self) -> Duration {
        let now = now_us();
        let ends = self.roster.notice_ends(now);
        if ends.unplanned {
            // Perhaps a standby has replayed that a database is gone.
            self.listed.look_again();
        }
        self.listed.refresh(now);
        self.sizing.measure(self.shared);
        let rest = self.staff(now);
        rest.min(LOOK)
    }
}
