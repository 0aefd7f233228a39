//! The workers: gateways and executors.
//!
//! A worker's index is its place here, its eventfd, and its peer number in the exchange. The supervisor
//! takes an entry (`Free` to `Starting`) and registers a process with the entry's ticket; the process
//! takes over if the ticket is still the same (`Running`), and frees the entry as the last thing it does.

use std::sync::atomic::{AtomicBool, AtomicI32, AtomicI64, AtomicU32, AtomicU64, Ordering::*};

use crate::Lane;

/// What a worker does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub enum Kind {
    /// Holds connections.
    Gateway = 0,
    /// Runs requests of one lane.
    Executor,
}

impl Kind {
    /// The word that views use.
    pub fn word(self) -> &'static str {
        match self {
            Kind::Gateway => "gateway",
            Kind::Executor => "executor",
        }
    }
}

/// The statuses that a gateway answers with by itself.
pub const STATUSES: [u16; 14] = [400, 404, 405, 408, 413, 414, 417, 431, 500, 501, 502, 503, 504, 505];

/// Where a worker is in its life.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub enum WorkerState {
    /// Nobody has the entry.
    Free = 0,
    /// The supervisor has registered a process that has not come yet.
    Starting,
    /// The process runs, and connects to its database.
    Connecting,
    /// It serves.
    Running,
    /// It is ending.
    Ending,
}

impl WorkerState {
    /// The word that views use.
    pub fn word(self) -> &'static str {
        match self {
            WorkerState::Free => "free",
            WorkerState::Starting => "starting",
            WorkerState::Connecting => "connecting",
            WorkerState::Running => "running",
            WorkerState::Ending => "ending",
        }
    }

    fn of(number: u32) -> WorkerState {
        use WorkerState::*;
        [Starting, Connecting, Running, Ending]
            .into_iter()
            .find(|state| *state as u32 == number)
            .unwrap_or(Free)
    }
}

/// A gateway or an executor.
#[repr(C, align(64))]
pub struct WorkerEntry {
    state: AtomicU32,
    /// Counts the takers of this entry, so that a process that comes late finds that it is not meant.
    ticket: AtomicU32,
    kind: AtomicU32,
    lane: AtomicU32,
    database: AtomicU32,
    database_oid: AtomicU32,
    pid: AtomicI32,
    leave: AtomicBool,
    started: AtomicI64,
    /// When the supervisor asked it to leave, in microseconds; of a gateway that waits for another to take its place, now.
    pub leave_since: AtomicU64,
    /// Requests that have ended, whatever their answer.
    pub requests: AtomicU64,
    /// Requests among them that were answered with a status of 500 or more; of a gateway those that it answered itself.
    pub errors: AtomicU64,
    /// When the request that runs began, in microseconds; 0 while idle. Executors only.
    pub busy_since: AtomicU64,
    /// The number, among [`crate::routes::Routes`], of the route that runs, plus one; 0 if it has none. Counts only while
    /// the worker is busy. Executors only.
    runs: AtomicU32,
    /// When the last request ended, or the worker began to serve, in microseconds.
    pub idle_since: AtomicU64,
    /// Connections that it holds. Gateways only.
    pub connections: AtomicU64,
    /// Connections that it has refused, or could not accept. Gateways only.
    pub refused: AtomicU64,
    /// Requests that have arrived and are not answered. Gateways only.
    pub in_flight: AtomicU64,
    /// Whether it has bound what the tables say, as far as it can. Gateways only.
    pub listens: AtomicBool,
    /// How many certificates and authorities it has in force, before it listens. Gateways only.
    pub certificates: AtomicU64,
    /// Requests that it has answered with an error by itself, by [`STATUSES`]. Gateways only.
    pub refusals: [AtomicU64; STATUSES.len()],
}

impl WorkerEntry {
    /// Takes the entry for a worker to come. The supervisor alone calls this.
    pub fn take(&self, kind: Kind, lane: Lane, database: usize, oid: u32, now: u64) -> u32 {
        let ticket = self.ticket.load(SeqCst).wrapping_add(1) & i32::MAX as u32;
        self.ticket.store(ticket, SeqCst);
        self.kind.store(kind as u32, Relaxed);
        self.lane.store(lane as u32, Relaxed);
        self.database.store(database as u32, Relaxed);
        self.pid.store(0, Relaxed);
        self.leave.store(false, Relaxed);
        self.started.store(0, Relaxed);
        let times = [&self.leave_since, &self.busy_since, &self.certificates];
        self.listens.store(false, Relaxed);
        let counters = [&self.requests, &self.errors, &self.connections, &self.refused, &self.in_flight];
        times.into_iter().chain(counters).chain(&self.refusals).for_each(|counter| counter.store(0, Relaxed));
        self.set_route(None);
        self.idle_since.store(now, Relaxed);
        self.database_oid.store(oid, SeqCst);
        self.state.store(WorkerState::Starting as u32, SeqCst);
        ticket
    }

    /// The process that was registered with `ticket` takes over; false if it is not meant any more.
    pub fn begin(&self, ticket: u32, pid: i32, started: i64) -> bool {
        let mine = self.ticket.load(SeqCst) == ticket
            && self
                .state
                .compare_exchange(
                    WorkerState::Starting as u32,
                    WorkerState::Connecting as u32,
                    SeqCst,
                    SeqCst,
                )
                .is_ok();
        if mine {
            self.pid.store(pid, SeqCst);
            self.started.store(started, SeqCst);
        }
        mine
    }

    /// Gives up an entry whose process never came; false if it has come after all.
    pub fn give_up(&self) -> bool {
        self.state
            .compare_exchange(WorkerState::Starting as u32, WorkerState::Free as u32, SeqCst, SeqCst)
            .is_ok()
    }

    /// Sets where the worker is in its life.
    pub fn set_state(&self, state: WorkerState) {
        self.state.store(state as u32, SeqCst);
    }

    /// Where the worker is in its life.
    pub fn state(&self) -> WorkerState {
        WorkerState::of(self.state.load(SeqCst))
    }

    /// Whether nobody has the entry.
    pub fn is_free(&self) -> bool {
        self.state() == WorkerState::Free
    }

    /// What the worker does.
    pub fn kind(&self) -> Kind {
        if self.kind.load(Relaxed) == Kind::Gateway as u32 { Kind::Gateway } else { Kind::Executor }
    }

    /// Its lane; of a gateway that of requests.
    pub fn lane(&self) -> Lane {
        Lane::at(self.lane.load(Relaxed) as usize)
    }

    /// Index of its database.
    pub fn database(&self) -> usize {
        self.database.load(Relaxed) as usize
    }

    /// Oid of its database.
    pub fn database_oid(&self) -> u32 {
        self.database_oid.load(SeqCst)
    }

    /// Its process; 0 before it has come.
    pub fn pid(&self) -> i32 {
        self.pid.load(SeqCst)
    }

    /// When the process started, as a `timestamptz`.
    pub fn started(&self) -> i64 {
        self.started.load(SeqCst)
    }

    /// Notes which route runs, by the number of its counters.
    pub fn set_route(&self, number: Option<u32>) {
        self.runs.store(number.map_or(0, |number| number + 1), Relaxed);
    }

    /// The route that runs, by the number of its counters.
    pub fn route(&self) -> Option<u32> {
        let busy = self.state() == WorkerState::Running && self.busy_since.load(Relaxed) != 0;
        if busy { self.runs.load(Relaxed).checked_sub(1) } else { None }
    }

    /// Asks the worker to leave: to accept nothing new, finish what runs, and end. Returns whether
    /// this is new. The caller wakes it.
    pub fn ask_to_leave(&self, now: u64) -> bool {
        let new = !self.leave.swap(true, SeqCst);
        if new {
            self.leave_since.store(now, SeqCst);
        }
        new
    }

    /// Whether the worker is asked to leave.
    pub fn asked_to_leave(&self) -> bool {
        self.leave.load(Acquire)
    }
}
