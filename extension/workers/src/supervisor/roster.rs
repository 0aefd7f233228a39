//! Starting workers, noticing their ends, and back-off after starts that fail.

use std::time::Duration;

use pgrx::pg_sys;
use shared::databases::DatabaseState;
use shared::workers::{Kind, WorkerState};
use shared::{Lane, Shared, wake};

use super::process::process;
use crate::worker::{argument, title};

/// A worker that ends sooner has failed to start.
const FAILED_WITHIN: Duration = Duration::from_secs(1);
/// The first pause after a failure; it doubles with each.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
/// The longest pause.
const LONGEST_PAUSE: Duration = Duration::from_secs(5);
/// A registered process that has not come by then, and whose registration an earlier supervisor has taken with it, never will.
const LOST_AFTER: Duration = Duration::from_secs(30);

/// What the supervisor knows of its workers beyond the shared memory.
pub(crate) struct Roster {
    shared: &'static Shared,
    posts: Vec<Post>,
    pauses: Vec<Pause>,
}

/// A worker's index: whoever has it.
#[derive(Clone)]
struct Post {
    /// When its worker was registered; none while the entry is free.
    since: Option<u64>,
    /// PostgreSQL's handle, until the process has come.
    handle: *mut pg_sys::BackgroundWorkerHandle,
}

/// Back-off of one kind of worker of one database.
#[derive(Clone, Copy, Default)]
struct Pause {
    length: Duration,
    until: u64,
}

/// What has happened since the last look.
#[derive(Default)]
pub(crate) struct Ends {
    /// A worker has ended that nobody had asked to.
    pub unplanned: bool,
}

/// Why a worker was not started.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum NotStarted {
    /// The last one failed: not before this time.
    Pausing(u64),
    /// All entries are taken: `howdah.max_workers`.
    NoEntry,
    /// All slots are taken: `max_worker_processes`.
    NoSlot,
    /// A command needs the database empty.
    Withdrawn,
}

impl Roster {
    /// Adopts the workers that an earlier supervisor has started.
    pub(super) fn new(shared: &'static Shared) -> Roster {
        let post = |worker: &shared::workers::WorkerEntry| Post {
            since: (!worker.is_free()).then(shared::now_us),
            handle: std::ptr::null_mut(),
        };
        Roster {
            shared,
            posts: shared.workers.iter().map(post).collect(),
            pauses: vec![Pause::default(); shared.databases.len() * (1 + Lane::COUNT)],
        }
    }

    /// Looks who has ended, and who never came.
    pub(crate) fn notice_ends(&mut self, now: u64) -> Ends {
        let mut ends = Ends::default();
        for index in 0..self.posts.len() {
            let worker = &self.shared.workers[index];
            match (worker.state(), self.posts[index].since) {
                (WorkerState::Starting, Some(since)) if self.never_comes(index, since, now) => {
                    if worker.give_up() {
                        self.note_end(index, since, now, &mut ends);
                    }
                }
                (WorkerState::Free, Some(since)) => self.note_end(index, since, now, &mut ends),
                (WorkerState::Starting | WorkerState::Free, _) => {}
                _ => self.forget_handle(index),
            }
        }
        ends
    }

    fn never_comes(&self, index: usize, since: u64, now: u64) -> bool {
        let handle = self.posts[index].handle;
        if handle.is_null() {
            return now > since + LOST_AFTER.as_micros() as u64;
        }
        let mut pid = 0;
        // SAFETY: the handle is ours, and not yet freed.
        unsafe { pg_sys::GetBackgroundWorkerPid(handle, &mut pid) == pg_sys::BgwHandleStatus::BGWH_STOPPED }
    }

    fn note_end(&mut self, index: usize, since: u64, now: u64, ends: &mut Ends) {
        let worker = &self.shared.workers[index];
        let database = &self.shared.databases[worker.database()];
        // A worker that finds nothing to serve says so in the database's state.
        let wanted = matches!(database.state(), DatabaseState::Serving | DatabaseState::Probing);
        let planned = worker.asked_to_leave() || self.shared.withdrawn_by(database).is_some() || !wanted;
        ends.unplanned |= !planned;
        let failed = !planned && now < since + FAILED_WITHIN.as_micros() as u64;
        let pause = &mut self.pauses[pause_index(worker.database(), worker.kind(), worker.lane())];
        *pause = if failed { pause.longer(now) } else { Pause::default() };
        self.forget_handle(index);
        self.posts[index].since = None;
    }

    fn forget_handle(&mut self, index: usize) {
        let handle = std::mem::replace(&mut self.posts[index].handle, std::ptr::null_mut());
        if !handle.is_null() {
            // SAFETY: PostgreSQL has given it to us, and nobody else has it.
            unsafe { pg_sys::pfree(handle.cast()) };
        }
    }

    /// Starts a worker for a database, unless something speaks against it.
    pub(super) fn start(
        &mut self,
        kind: Kind,
        lane: Lane,
        database: usize,
        now: u64,
    ) -> Result<(), NotStarted> {
        let pause = self.pauses[pause_index(database, kind, lane)];
        if now < pause.until {
            return Err(NotStarted::Pausing(pause.until));
        }
        // An entry whose last worker's end has not been noticed keeps its place in the count of failures.
        let free =
            |(index, post): &(usize, &Post)| post.since.is_none() && self.shared.workers[*index].is_free();
        let (index, _) = self.posts.iter().enumerate().find(free).ok_or(NotStarted::NoEntry)?;
        let entry = &self.shared.workers[index];
        let served = &self.shared.databases[database];
        wake::drain(kind, index);
        let ticket = entry.take(kind, lane, database, served.oid(), now);
        // The entry is taken before the withdrawal is looked at; whoever withdraws does it the other way round.
        if self.shared.withdrawn_by(served).is_some() {
            entry.give_up();
            return Err(NotStarted::Withdrawn);
        }
        match launch(kind, index, ticket) {
            Some(handle) => {
                self.posts[index] = Post { since: Some(now), handle };
                Ok(())
            }
            None => {
                entry.give_up();
                Err(NotStarted::NoSlot)
            }
        }
    }
}

impl Pause {
    fn longer(self, now: u64) -> Pause {
        let length = (self.length * 2).clamp(FIRST_PAUSE, LONGEST_PAUSE);
        Pause { length, until: now + length.as_micros() as u64 }
    }
}

fn pause_index(database: usize, kind: Kind, lane: Lane) -> usize {
    database * (1 + Lane::COUNT)
        + match kind {
            Kind::Gateway => 0,
            Kind::Executor => 1 + lane.place(),
        }
}

/// Registers the process; none if the server has no slot left.
fn launch(kind: Kind, index: usize, ticket: u32) -> Option<*mut pg_sys::BackgroundWorkerHandle> {
    let function = match kind {
        Kind::Gateway => c"howdah_gateway_main",
        Kind::Executor => c"howdah_executor_main",
    };
    let mut worker = process(title(kind), function);
    worker.bgw_main_arg = argument(index, ticket);
    let mut handle = std::ptr::null_mut();
    // SAFETY: the handle must outlive this look, so it is made in the context that lives as long as the process; a complete
    // description; our own process id.
    unsafe {
        worker.bgw_notify_pid = pg_sys::MyProcPid;
        let context = pg_sys::MemoryContextSwitchTo(pg_sys::TopMemoryContext);
        let registered = pg_sys::RegisterDynamicBackgroundWorker(&mut worker, &mut handle);
        pg_sys::MemoryContextSwitchTo(context);
        registered.then_some(handle)
    }
}
