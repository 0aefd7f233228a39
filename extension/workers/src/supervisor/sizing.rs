//! What fits into the worker processes that the server has, and into `howdah.max_workers`.
//!
//! `max_worker_processes` is shared with parallel queries, logical replication and other extensions. The
//! platform leaves two for parallel queries; every served database gets a gateway and an executor in any case. One for
//! which there is no room for both is not served.

use std::ffi::CStr;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};

use ::gateway::LineShares;
use pg::log_line;
use pgrx::pg_sys;
use shared::databases::{Database, DatabaseState};
use shared::workers::Kind;
use shared::{Lane, Shared, settings};

/// Worker processes that are left for parallel queries.
const FOR_PARALLEL_QUERY: usize = 2;
/// A shortage that was met is believed for so long: whoever had the slots may have given them back.
const BELIEVED_FOR: u64 = 60_000_000;

/// The limits, and what the log has of them.
#[derive(Default)]
pub(crate) struct Sizing {
    /// Gateways and executors that the platform may have.
    budget: usize,
    /// How many it had when a start was refused, and until when that counts.
    refused: Option<(usize, u64)>,
    /// How many worker processes and entries were wanted when the log last said that there are too few.
    logged_slots: Option<u32>,
    logged_entries: Option<u32>,
}

impl Sizing {
    /// Takes note of a reload: shortages are logged again.
    pub(crate) fn forget(&mut self) {
        self.refused = None;
        self.logged_slots = None;
        self.logged_entries = None;
    }

    /// Counts what the settings ask for, and what there is.
    pub(crate) fn measure(&mut self, shared: &Shared) {
        let databases = shared.databases.iter().filter(|database| database.is_listed()).count();
        let gateways = settings::GATEWAYS.get() as usize;
        let (fewest, most) = executors();
        let taking = shared.databases.iter().filter(|database| takes_lines(database)).map(ingest_executors);
        let (fewest_ingest, most_ingest) =
            taking.fold((0, 0), |sum, (fewest, most)| (sum.0 + fewest, sum.1 + most));
        let running = shared.databases.iter().filter(|database| runs_jobs(database)).map(job_executors);
        let (fewest_jobs, most_jobs) =
            running.fold((0, 0), |sum, (fewest, most)| (sum.0 + fewest, sum.1 + most));
        let needed = databases * (gateways + fewest) + fewest_ingest + fewest_jobs;
        let wanted = databases * (gateways + most) + most_ingest + most_jobs;
        let others = others();
        let header = shared.header;
        header.worker_processes_wanted.store((others + wanted) as u32, Relaxed);
        header.worker_processes_needed.store((others + needed) as u32, Relaxed);
        header.workers_wanted.store(wanted as u32, Relaxed);
        let processes = processes();
        self.budget = processes.saturating_sub(others).min(shared.workers.len());
        let short = header.worker_processes_needed.load(Relaxed) as usize > processes;
        let is_refused = self.refused.is_some_and(|(_, until)| shared::now_us() < until);
        header.short_of_slots.store(short || is_refused, SeqCst);
        if short {
            self.log_slots(shared);
        }
    }

    /// How many workers there are beyond what the settings leave room for.
    pub(crate) fn surplus(&self, staff: &Staff) -> usize {
        (staff.workers + staff.missing).saturating_sub(self.budget)
    }

    /// How many more workers may start beyond a gateway and an executor of each served database.
    /// Negative if there are too many.
    pub(super) fn room(&self, staff: &Staff, now: u64) -> isize {
        let budget = match self.refused {
            Some((count, until)) if now < until => self.budget.min(count.saturating_sub(FOR_PARALLEL_QUERY)),
            _ => self.budget,
        };
        budget as isize - (staff.workers + staff.missing) as isize
    }

    /// A start was refused for want of a slot, with so many workers running.
    pub(crate) fn refused_slot(&mut self, workers: usize, shared: &Shared, now: u64) {
        self.refused = Some((workers, now + BELIEVED_FOR));
        shared.header.short_of_slots.store(true, SeqCst);
        self.log_slots(shared);
    }

    /// A start was refused for want of an entry.
    pub(crate) fn refused_entry(&mut self, shared: &Shared) {
        let wanted = shared.header.workers_wanted.load(Relaxed);
        if self.logged_entries.replace(wanted) != Some(wanted) {
            log_line::log!(
                "howdah: all {} workers are in use; set howdah.max_workers to {wanted} or more and restart the server",
                shared.workers.len()
            );
        }
    }

    /// More workers were wanted than there is room for.
    pub(crate) fn out_of_room(&mut self, shared: &Shared) {
        let is_refused = self.refused.is_some();
        if is_refused || self.budget < shared.workers.len() {
            self.log_slots(shared);
        } else {
            self.refused_entry(shared);
        }
    }

    fn log_slots(&mut self, shared: &Shared) {
        let wanted = shared.header.worker_processes_wanted.load(Relaxed);
        if self.logged_slots.replace(wanted) != Some(wanted) {
            log_line::log!(
                "howdah: max_worker_processes is {}, too few for all workers; set it to {} or more ({} for the fewest executors) and restart the server",
                processes(),
                wanted,
                shared.header.worker_processes_needed.load(Relaxed)
            );
        }
    }
}

/// Who is there.
#[derive(Default)]
pub(crate) struct Staff {
    /// Workers of all databases.
    pub workers: usize,
    /// Gateways and executors that a served database must have and has not.
    pub missing: usize,
}

impl Staff {
    /// Counts.
    pub(super) fn count(shared: &Shared) -> Staff {
        let mut staff = Staff::default();
        // A database is served by a gateway and an executor at least; by one for lines, too, if it takes any.
        let mut there = vec![[false; 1 + Lane::COUNT]; shared.databases.len()];
        for worker in shared.workers.iter().filter(|worker| !worker.is_free()) {
            staff.workers += 1;
            match worker.kind() {
                // One that leaves waits for the one that replaces it.
                Kind::Gateway => there[worker.database()][0] |= !worker.asked_to_leave(),
                Kind::Executor => there[worker.database()][1 + worker.lane().place()] = true,
            }
        }
        let served = served(shared);
        let all = shared.databases.iter().zip(there).zip(served);
        for ((database, mut there), _) in all.filter(|(_, place)| *place == Place::Has) {
            there[1 + Lane::Ingest.place()] |= !takes_lines(database);
            there[1 + Lane::Job.place()] |= !runs_jobs(database);
            staff.missing += there.iter().filter(|there| !**there).count();
        }
        staff
    }
}

/// Whether a database is served.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// It shall not be.
    NotWanted,
    /// Others have all room.
    None,
    /// It has room for a gateway and an executor.
    Has,
}

/// Which databases are served: as many as there is room for. Those that are served already come first, so that none loses
/// its place to one of which nobody knows whether it has the extension.
pub(super) fn served(shared: &Shared) -> Vec<Place> {
    const LEAST: usize = 2;
    let slots = processes().saturating_sub(others() - FOR_PARALLEL_QUERY);
    let mut room = shared.workers.len().min(slots);
    let mut places = vec![Place::NotWanted; shared.databases.len()];
    if shared.header.stopping.load(SeqCst) {
        return places;
    }
    for state in [DatabaseState::Serving, DatabaseState::Probing] {
        for (database, place) in shared.databases.iter().zip(&mut places) {
            let stays = !database.is_drained.load(SeqCst) && shared.withdrawn_by(database).is_none();
            // A worker may report its state meanwhile.
            if stays && database.state() == state && *place == Place::NotWanted {
                *place = if room < LEAST { Place::None } else { Place::Has };
                room = room.saturating_sub(LEAST);
            }
        }
    }
    places
}

/// Whether a database needs executors for lines.
fn takes_lines(database: &Database) -> bool {
    database.is_listed() && database.line_listeners.load(Relaxed) > 0
}

/// Whether a database needs executors for jobs.
fn runs_jobs(database: &Database) -> bool {
    // SAFETY: reads a flag in shared memory, or a variable of this process.
    let is_standby = unsafe { pg_sys::RecoveryInProgress() };
    database.is_listed() && database.job_kinds.load(Relaxed) > 0 && settings::JOBS.get() && !is_standby
}

/// Fewest and most executors of a database's lane of jobs, as the settings have them.
pub(crate) fn job_executors(database: &Database) -> (usize, usize) {
    if !runs_jobs(database) {
        return (0, 0);
    }
    let fewest = settings::MIN_JOB_EXECUTORS.get() as usize;
    (fewest, fewest.max(settings::MAX_JOB_EXECUTORS.get() as usize))
}

/// Fewest and most executors of a database's lane of incoming rows. Beside those that the settings allow there may be one for
/// each further listener of each gateway: none waits for another's.
pub(crate) fn ingest_executors(database: &Database) -> (usize, usize) {
    let listeners = database.line_listeners.load(Relaxed) as usize;
    let (fewest, most) = (settings::MIN_INGEST_EXECUTORS.get(), settings::MAX_INGEST_EXECUTORS.get());
    let (fewest, most, gateways) = (fewest as usize, most as usize, settings::GATEWAYS.get() as usize);
    match listeners {
        0 => (0, 0),
        1 => (fewest, fewest.max(most)),
        _ => (fewest, fewest.max(gateways * LineShares::executors(listeners, most / gateways))),
    }
}

/// Fewest and most executors of the lane of web requests, as the settings have them.
pub(super) fn executors() -> (usize, usize) {
    let fewest = settings::MIN_EXECUTORS.get() as usize;
    (fewest, fewest.max(settings::MAX_EXECUTORS.get() as usize))
}

/// `max_worker_processes`.
fn processes() -> usize {
    // SAFETY: PostgreSQL's own variable, fixed at the start of the server.
    unsafe { pg_sys::max_worker_processes as usize }
}

/// Worker processes that are not for gateways and executors: the supervisor, PostgreSQL's launcher of logical
/// replication, parallel queries.
fn others() -> usize {
    let launcher = number(c"max_logical_replication_workers") > 0;
    1 + usize::from(launcher) + FOR_PARALLEL_QUERY
}

/// The value of one of PostgreSQL's settings.
fn number(setting: &CStr) -> i32 {
    // SAFETY: a constant name; the value is a text that ends with NUL, or null.
    unsafe {
        let value = pg_sys::GetConfigOption(setting.as_ptr(), true, false);
        if value.is_null() {
            0
        } else {
            CStr::from_ptr(value).to_str().ok().and_then(|v| v.parse().ok()).unwrap_or(0)
        }
    }
}
