//! What gateways and executors have in common: their start, their entry in the shared memory, their end.

use std::ffi::{CStr, c_int};
use std::os::fd::RawFd;
use std::time::Duration;

use pg::entry::unfailing_callback;
use pg::own_memory;
use pgrx::pg_sys;
use session::{idle, signals};
use shared::databases::{Database, DatabaseState};
use shared::workers::{Kind, WorkerEntry, WorkerState};
use shared::{Lane, Shared, now_us, shared, wake};

use crate::connection;

/// The worker that this process is.
#[derive(Clone, Debug)]
pub(crate) struct Worker {
    /// Its place among the workers, and its peer number in the exchange.
    pub index: usize,
    /// What it does.
    pub kind: Kind,
    /// The lane that it serves: requests or lines.
    pub lane: Lane,
    /// Index of its database.
    pub database: usize,
    /// Oid of its database.
    pub database_oid: pg_sys::Oid,
    /// The role howdah_web, this process's session user.
    pub web_role: pg_sys::Oid,
}

impl Worker {
    /// Its entry in the shared memory.
    pub(crate) fn entry(&self) -> &'static WorkerEntry {
        &shared().workers[self.index]
    }

    /// Its database's entry in the shared memory.
    pub(crate) fn database(&self) -> &'static Database {
        &shared().databases[self.database]
    }

    /// The number of its lane in the exchange.
    pub(crate) fn lane_number(&self) -> u32 {
        Shared::lane_number(self.database, self.lane)
    }

    /// The number, in the exchange, of another lane of its database.
    pub(crate) fn lane_number_of(&self, lane: Lane) -> u32 {
        Shared::lane_number(self.database, lane)
    }

    /// Its eventfd: the exchange, the supervisor and (in a gateway) signals write to it. Readable
    /// means: call [`Worker::housekeeping`] and look at everything.
    pub(crate) fn wake_fd(&self) -> RawFd {
        wake::fd(self.kind, self.index)
    }

    /// See [`idle::housekeeping`].
    pub(crate) fn housekeeping(&self) -> Option<Duration> {
        idle::housekeeping()
    }

    /// Sleeps until the eventfd or the latch wakes the process, or the time is over; then does the
    /// housekeeping. For executors: a gateway watches its file descriptors itself.
    pub(crate) fn wait(&self, timeout: Option<Duration>) {
        let statistics = self.housekeeping();
        let timeout = [timeout, statistics].into_iter().flatten().min();
        idle::report_idle();
        idle::sleep(self.wake_fd(), timeout);
        wake::drain(self.kind, self.index);
        self.housekeeping();
    }

    /// Becomes readable when the postmaster is gone: the process must end at once, with
    /// [`Worker::exit_orphaned`].
    pub(crate) fn postmaster_fd(&self) -> RawFd {
        // SAFETY: PostgreSQL's own variable, set before this process was forked.
        unsafe { pg_sys::postmaster_alive_fds[pg_sys::POSTMASTER_FD_WATCH as usize] }
    }

    /// Whether it shall accept nothing new, finish what runs, and return from its `run`.
    pub(crate) fn asked_to_leave(&self) -> bool {
        self.entry().asked_to_leave()
    }

    /// Has another come in this one's place.
    pub(crate) fn make_room(&self) {
        if self.entry().ask_to_leave(now_us()) {
            shared().nudge_supervisor();
        }
    }

    /// Ends the process because the extension is gone from its database. The supervisor ends the others.
    pub(crate) fn leave_no_extension(&self) -> ! {
        self.database().report(DatabaseState::NoExtension);
        self.exit(0)
    }

    /// Ends the process because the library does not serve the extension's new version.
    pub(crate) fn leave_wrong_version(&self) -> ! {
        self.database().report(DatabaseState::WrongVersion);
        self.exit(0)
    }

    /// Ends the process because the postmaster is gone.
    pub(crate) fn exit_orphaned(&self) -> ! {
        self.exit(1)
    }

    fn exit(&self, code: c_int) -> ! {
        // SAFETY: PostgreSQL's own way to end a process; it does not return.
        unsafe { pg::proc_exit(code) }
    }
}

const TICKET_SHIFT: u32 = 16;

/// The main argument of a worker: its index, and the ticket that shows that it is still meant.
pub fn argument(index: usize, ticket: u32) -> pg_sys::Datum {
    pg_sys::Datum::from((u64::from(ticket) << TICKET_SHIFT) | index as u64)
}

/// All that comes before serving; none if there is nothing to serve, and the process ends.
pub(crate) fn begin(argument: pg_sys::Datum, kind: Kind) -> Option<Worker> {
    let index = argument.value() & ((1 << TICKET_SHIFT) - 1);
    let entry = take_over(index, (argument.value() >> TICKET_SHIFT) as u32)?;
    session::user_settings::fix();
    signals::install(kind, index);
    let database = &shared().databases[entry.database()];
    if shared().header.withdrawals.of(entry.database_oid()).is_some() {
        return None;
    }
    connection::connect(entry.database_oid().into());
    // SAFETY: a callback for the end of this process, registered once.
    unsafe { pg_sys::before_shmem_exit(Some(stop_serving), pg_sys::Datum::from(index)) };
    let web_role = match connection::prepare() {
        Ok(found) => found,
        Err(state) => {
            database.report(state);
            return None;
        }
    };
    let worker = Worker {
        index,
        kind,
        lane: entry.lane(),
        database: entry.database(),
        database_oid: entry.database_oid().into(),
        web_role,
    };
    show(kind);
    signals::take_cancels();
    own_memory::open();
    session::log_rate::begin(database);
    database.report(DatabaseState::Serving);
    entry.idle_since.store(now_us(), std::sync::atomic::Ordering::Relaxed);
    entry.set_state(WorkerState::Running);
    shared().nudge_supervisor();
    Some(worker)
}

/// Makes the entry this process's, and sees that it is freed at the end; none if the process came too late.
fn take_over(index: usize, ticket: u32) -> Option<&'static WorkerEntry> {
    let entry = shared().workers.get(index)?;
    // SAFETY: PostgreSQL's own variables, and a callback for the end of this process. It is registered before
    // the database is connected, so that it runs after the process has left PostgreSQL's list of backends:
    // whoever sees the entry free may drop the database.
    unsafe {
        if !entry.begin(ticket, pg_sys::MyProcPid, pg_sys::MyStartTimestamp) {
            return None;
        }
        pg_sys::on_shmem_exit(Some(free_entry), pg_sys::Datum::from(index));
    }
    Some(entry)
}

unfailing_callback! {
    /// First callback of an ending process: nobody counts on it any more.
    unsafe fn stop_serving(_code: c_int, index: pg_sys::Datum) {
        let shared = shared();
        shared.workers[index.value()].set_state(WorkerState::Ending);
        shared.ports.release_all(index.value());
        shared.intakes.release_all(index.value());
    }
}

unfailing_callback! {
    /// Last callback of an ending process: its entry may be taken by another.
    unsafe fn free_entry(_code: c_int, index: pg_sys::Datum) {
        let shared = shared();
        shared.ports.release_all(index.value());
        shared.intakes.release_all(index.value());
        shared.workers[index.value()].set_state(WorkerState::Free);
        shared.nudge_supervisor();
    }
}

/// The names of the two kinds in pg_stat_activity.
pub(crate) fn title(kind: Kind) -> &'static CStr {
    match kind {
        Kind::Gateway => c"howdah gateway",
        Kind::Executor => c"howdah executor",
    }
}

fn show(kind: Kind) {
    // SAFETY: constant strings, in a process that is connected.
    unsafe {
        idle::name_process(title(kind));
        pg_sys::pgstat_report_activity(pg_sys::BackendState::STATE_IDLE, std::ptr::null());
        pg_sys::set_ps_display(c"".as_ptr());
    }
}
