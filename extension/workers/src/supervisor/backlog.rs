//! How long requests wait: in the lanes' run queues, and at the gates of their routes.

use std::sync::atomic::Ordering::Relaxed;

use queue::memory::queues;
use shared::workers::Kind;
use shared::{Lane, Shared};

/// What waits in a lane.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Backlog {
    /// Requests in its run queue, and parked at gates.
    pub requests: usize,
    /// Microseconds that the last of them will have waited, at the pace since the last look.
    pub wait_us: u64,
}

/// The last look at each lane: when something waited there, and how many requests had ended by then.
pub(crate) struct Backlogs(Vec<Option<Seen>>);

#[derive(Clone, Copy)]
struct Seen {
    at: u64,
    ended: u64,
}

impl Backlogs {
    pub(super) fn new(shared: &Shared) -> Backlogs {
        Backlogs(vec![None; shared.databases.len() * Lane::COUNT])
    }

    /// Looks at a lane; none if nothing waits. The first look at a queue that has filled knows no pace yet and
    /// calls the wait 0.
    pub(crate) fn look(&mut self, shared: &Shared, database: usize, lane: Lane, now: u64) -> Option<Backlog> {
        if lane == Lane::Job {
            return of_jobs(database, now);
        }
        let number = Shared::lane_number(database, lane);
        let requests = shared.exchange.queued(number) as usize + parked(shared, database, lane);
        let seen = &mut self.0[number as usize];
        if requests == 0 {
            *seen = None;
            return None;
        }
        let ended = ended(shared, database, lane);
        let wait_us = seen.replace(Seen { at: now, ended }).map_or(0, |before| {
            // Little's law. A worker that has left took its count with it.
            let pace = ended.saturating_sub(before.ended).max(1);
            requests as u64 * (now - before.at) / pace
        });
        Some(Backlog { requests, wait_us })
    }
}

/// Jobs that nobody was free for: as many as there are executors, as nobody counts them.
fn of_jobs(database: usize, now: u64) -> Option<Backlog> {
    let since = queues().bell(database).unanswered()?;
    Some(Backlog { requests: usize::MAX, wait_us: now.saturating_sub(since) })
}

/// Requests that wait because their route has its share of the executors: more executors mean a larger share.
fn parked(shared: &Shared, database: usize, lane: Lane) -> usize {
    if lane != Lane::Http {
        return 0;
    }
    let database = shared.databases[database].oid();
    shared.routes.numbers_of(database).map(|number| shared.exchange.gate(number as u32).parked as usize).sum()
}

/// Requests that the lane's executors have ended.
fn ended(shared: &Shared, database: usize, lane: Lane) -> u64 {
    let of_lane = |worker: &&shared::workers::WorkerEntry| {
        !worker.is_free()
            && worker.kind() == Kind::Executor
            && worker.database() == database
            && worker.lane() == lane
    };
    shared.workers.iter().filter(of_lane).map(|worker| worker.requests.load(Relaxed)).sum()
}
