//! How a gateway leaves: no path and no port is without a listener meanwhile, and no request without its answer.
//!
//! 1. It announces its end: each response says `Connection: close`, and it goes on as before. So hardly a connection idles
//!    when it stops, on which a client could send just then.
//! 2. Where the database goes on being served it waits until another gateway listens and has taken over its UNIX sockets,
//!    however long that takes: somebody may hold a lock on what the other has to read first. One that speaks TLS waits for
//!    another that has as many certificates in force: what it has itself it may have read before the files became bad.
//! 3. It stops accepting, and answers what it has.
//! 4. It ends; what takes longer than `howdah.drain_timeout` is cut off.

use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::time::{Duration, Instant};

use ::gateway::Server;
use shared::workers::{Kind, WorkerEntry, WorkerState};
use shared::{now_us, settings, shared, wake};

use super::listeners::Listeners;
use crate::worker::Worker;

/// For how long a gateway that others replace announces its end.
const ANNOUNCEMENT: Duration = Duration::from_secs(1);

/// Where a gateway is on its way out.
#[derive(Clone, Copy)]
pub(crate) enum Leaving {
    /// It stays.
    No,
    /// It has announced its end then.
    Announced(Instant),
    /// It accepts no more; what runs may take until then.
    Draining(Instant),
}

impl Leaving {
    /// Whether it accepts no more.
    pub(super) fn is_draining(self) -> bool {
        matches!(self, Leaving::Draining(_))
    }

    /// Whether it has been asked to leave.
    pub(crate) fn has_begun(self) -> bool {
        !matches!(self, Leaving::No)
    }

    /// Goes the next step, if its time has come.
    pub(crate) fn go_on(&mut self, worker: &Worker, listeners: &Listeners, server: &mut Server) {
        if matches!(self, Leaving::No) && worker.asked_to_leave() {
            *self = Leaving::Announced(Instant::now());
            server.announce_end(true);
            // They take its UNIX sockets over.
            others(worker).for_each(|(index, _)| wake::wake(Kind::Gateway, index));
        }
        if let Leaving::Announced(since) = *self {
            if may_stop_accepting(since, worker, listeners, server) {
                *self = Leaving::Draining(Instant::now() + time_to_drain());
                server.drain();
            } else if is_served(worker) {
                // However long it waits for another, what it has gets its time afterwards.
                worker.entry().leave_since.store(now_us(), SeqCst);
            }
        }
    }

    /// Whether the process may end; what runs for too long is cut off, and counted.
    pub(crate) fn has_ended(self, worker: &Worker, server: &mut Server) -> bool {
        let Leaving::Draining(until) = self else { return false };
        if Instant::now() < until {
            return server.is_drained();
        }
        worker.database().cut_off.fetch_add(server.in_flight() as u64, SeqCst);
        server.abort();
        server.turn(Some(Duration::from_millis(1)), &mut || true);
        true
    }
}

fn time_to_drain() -> Duration {
    Duration::from_millis(settings::DRAIN_TIMEOUT.get() as u64)
}

fn may_stop_accepting(since: Instant, worker: &Worker, listeners: &Listeners, server: &Server) -> bool {
    let database = worker.database();
    if !is_served(worker) {
        let announcement = Duration::from_millis(database.announce_ms.load(SeqCst).into());
        let is_announced = !database.is_drained.load(SeqCst) || since.elapsed() >= announcement;
        return is_announced;
    }
    let is_replaced = || {
        let own = if listeners.speak_tls() { worker.entry().certificates.load(SeqCst) } else { 0 };
        let takes_over = |other: &WorkerEntry| {
            other.listens.load(SeqCst)
                && other.certificates.load(SeqCst) >= own
                && other.state() == WorkerState::Running
        };
        others(worker).any(|(_, other)| takes_over(other)) && !listeners.have_paths(server)
    };
    since.elapsed() >= ANNOUNCEMENT && is_replaced()
}

/// Whether the database goes on being served.
fn is_served(worker: &Worker) -> bool {
    worker.database().gateways_wanted.load(Relaxed) > 0
}

/// The gateways of the same database that stay.
fn others(worker: &Worker) -> impl Iterator<Item = (usize, &'static WorkerEntry)> {
    let own = worker.index;
    shared().workers_of(worker.database_oid).filter(move |(index, other)| {
        *index != own && other.kind() == Kind::Gateway && !other.asked_to_leave()
    })
}
