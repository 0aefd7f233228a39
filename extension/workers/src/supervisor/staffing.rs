//! Who should run, who should leave.
//!
//! A database that is served has its gateways, and between `howdah.min_executors` and
//! `howdah.max_executors` executors: more while requests wait, fewer after a minute without work. Executors for lines
//! are there while something listens for lines, those for jobs while kinds of jobs are defined; both are counted by settings of their own. A database that is to be left loses its gateways first, as what runs in executors answers to them, and the executors for jobs with them.

use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::time::Duration;

use shared::databases::{Database, DatabaseState};
use shared::workers::{Kind, WorkerEntry, WorkerState};
use shared::{Lane, Shared, settings, wake};

use super::roster::NotStarted;
use super::sizing::{self, Place, Staff};
use super::{LOOK, Supervisor};

/// An executor that has had no work for so long may leave, if there are more than the fewest.
const IDLE_FOR: u64 = 60_000_000;
/// Requests that wait for so long call for more executors.
const PATIENCE: u64 = 5_000;
/// Time between looks while requests wait, or somebody is about to leave.
const SOON: Duration = Duration::from_millis(20);
/// Time between looks while executors work.
const BUSY: Duration = Duration::from_secs(1);
/// Longest time that gateways finish their requests in when a command waits for the database.
const WITHDRAWAL: u64 = 5_000_000;
/// Time for a gateway to do what it does by the clock.
const GATEWAYS_OWN_TIME: u64 = 2_000_000;
/// Time for executors to end when their gateways are gone: nobody waits for what they do.
const ORPHANED: u64 = 500_000;

impl Supervisor {
    /// Starts whom the databases lack, and asks to leave whom they can spare. Returns how long the supervisor may rest.
    pub(super) fn staff(&mut self, now: u64) -> Duration {
        let served = sizing::served(self.shared);
        if served.contains(&Place::None) {
            self.sizing.out_of_room(self.shared);
        }
        let mut rest = LOOK;
        for (index, place) in served.into_iter().enumerate() {
            rest = rest.min(match self.shared.databases[index].state() {
                DatabaseState::Unused => continue,
                DatabaseState::Probing if place == Place::Has => self.probe(index, now),
                DatabaseState::Serving if place == Place::Has => self.serve(index, now),
                _ => self.leave(index),
            });
        }
        rest.min(self.end_the_late(now))
    }

    /// One gateway finds out whether there is something to serve.
    fn probe(&mut self, index: usize, now: u64) -> Duration {
        match count(self.shared, index, Post::GATEWAY) {
            0 => self.start(Post::GATEWAY, index, now),
            _ => LOOK,
        }
    }

    fn serve(&mut self, index: usize, now: u64) -> Duration {
        let gateways = settings::GATEWAYS.get() as usize;
        let database = &self.shared.databases[index];
        database.gateways_wanted.store(gateways as u32, Relaxed);
        let mut rest = self.bring_to(Post::GATEWAY, gateways, gateways, index, now);
        for lane in Lane::ALL {
            let executors = self.executors_wanted(lane, index, now);
            database.executors_wanted(lane).store(executors.wanted as u32, Relaxed);
            let there = self.bring_to(Post::executor(lane), executors.fewest, executors.wanted, index, now);
            rest = rest.min(executors.rest).min(there);
        }
        rest
    }

    /// Starts workers of a kind, or asks one to leave, until as many as wanted are there.
    fn bring_to(&mut self, post: Post, fewest: usize, wanted: usize, index: usize, now: u64) -> Duration {
        let there = post.count(self.shared, index);
        let staff = Staff::count(self.shared);
        // Others who take all processes, parallel queries say, do not get those of the fewest.
        let kept = if self.sizing.surplus(&staff) > 0 || staff.missing > 0 { 1 } else { fewest };
        if there > wanted || (there > kept && self.sizing.room(&staff, now) < 0) {
            release_idlest(self.shared, index, post);
            return SOON;
        }
        for number in there..wanted {
            // The first of each kind is in the account already, as missing.
            if number > 0 && self.sizing.room(&Staff::count(self.shared), now) <= 0 {
                self.sizing.out_of_room(self.shared);
                return LOOK;
            }
            let rest = self.start(post, index, now);
            if rest < LOOK {
                return rest;
            }
        }
        LOOK
    }

    /// Starts a worker. Returns when to try again if that failed.
    fn start(&mut self, post: Post, index: usize, now: u64) -> Duration {
        match self.roster.start(post.kind, post.lane, index, now) {
            Ok(()) => LOOK,
            Err(NotStarted::Withdrawn) => SOON,
            Err(NotStarted::Pausing(until)) => Duration::from_micros(until.saturating_sub(now)).max(SOON),
            Err(NotStarted::NoEntry) => {
                self.sizing.refused_entry(self.shared);
                BUSY
            }
            Err(NotStarted::NoSlot) => {
                self.sizing.refused_slot(Staff::count(self.shared).workers, self.shared, now);
                BUSY
            }
        }
    }

    /// As many as there are; more, at most twice as many, while requests wait too long; one less when one has
    /// long been idle.
    fn executors_wanted(&mut self, lane: Lane, index: usize, now: u64) -> Wanted {
        let (fewest, most) = match lane {
            Lane::Ingest => sizing::ingest_executors(&self.shared.databases[index]),
            Lane::Http => sizing::executors(),
            Lane::Job => sizing::job_executors(&self.shared.databases[index]),
        };
        let staff = Executors::of(self.shared, index, lane, now);
        let there = staff.there.clamp(fewest, most);
        if let Some(backlog) = self.backlogs.look(self.shared, index, lane, now) {
            let grow = backlog.wait_us >= PATIENCE && staff.ready == staff.there;
            let wanted = if grow { (there + backlog.requests.min(there)).min(most) } else { there };
            return Wanted { fewest, wanted, rest: SOON };
        }
        let shrink = staff.long_idle > 0 && there > fewest;
        Wanted { fewest, wanted: there - usize::from(shrink), rest: if staff.busy > 0 { BUSY } else { LOOK } }
    }

    /// Empties a database: gateways and what runs jobs first, then the other executors.
    fn leave(&mut self, index: usize) -> Duration {
        let database = &self.shared.databases[index];
        database.gateways_wanted.store(0, Relaxed);
        let posts = [
            Post::GATEWAY,
            Post::executor(Lane::Http),
            Post::executor(Lane::Ingest),
            Post::executor(Lane::Job),
        ];
        let there = |post: &Post| count(self.shared, index, *post) > 0;
        let leaving: Vec<Post> = match posts.into_iter().filter(there).collect::<Vec<_>>() {
            posts if posts.is_empty() => return LOOK,
            // Nobody waits at a gateway for what jobs do.
            posts if posts[0] == Post::GATEWAY => {
                posts.into_iter().filter(|post| *post == Post::GATEWAY || post.lane == Lane::Job).collect()
            }
            posts => posts,
        };
        for post in leaving {
            for (place, worker) in staff_of(self.shared, index, post) {
                release(post.kind, place, worker);
            }
        }
        SOON
    }

    /// Ends those who were asked to leave and have not in time.
    fn end_the_late(&self, now: u64) -> Duration {
        let mut rest = LOOK;
        for worker in self.shared.workers.iter().filter(|worker| !worker.is_free()) {
            if !worker.asked_to_leave() {
                continue;
            }
            rest = rest.min(SOON);
            let late = worker.leave_since.load(SeqCst) + self.grace(worker) < now;
            if late && worker.pid() > 0 && worker.state() != WorkerState::Ending {
                // SAFETY: no memory is involved. The entry is its process's until the process ends.
                unsafe { libc::kill(worker.pid(), libc::SIGTERM) };
            }
        }
        rest
    }

    /// How long a worker that was asked to leave may take, in microseconds.
    fn grace(&self, worker: &WorkerEntry) -> u64 {
        let drain = settings::DRAIN_TIMEOUT.get() as u64 * 1000;
        let database: &Database = &self.shared.databases[worker.database()];
        let is_withdrawn = self.shared.withdrawn_by(database).is_some();
        match worker.kind() {
            Kind::Gateway if is_withdrawn => drain.min(WITHDRAWAL),
            // It announces its end first, and cuts off by itself what is late.
            Kind::Gateway => {
                2 * drain + 1000 * u64::from(database.announce_ms.load(SeqCst)) + GATEWAYS_OWN_TIME
            }
            Kind::Executor if worker.lane() == Lane::Job && is_withdrawn => drain.min(WITHDRAWAL),
            Kind::Executor if worker.lane() == Lane::Job => drain,
            Kind::Executor if count(self.shared, worker.database(), Post::GATEWAY) == 0 => {
                drain.min(ORPHANED)
            }
            Kind::Executor => drain,
        }
    }
}

/// What a worker is there for.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Post {
    kind: Kind,
    /// Of a gateway 0.
    lane: Lane,
}

impl Post {
    const GATEWAY: Post = Post { kind: Kind::Gateway, lane: Lane::Http };

    fn executor(lane: Lane) -> Post {
        Post { kind: Kind::Executor, lane }
    }

    /// How many a database has. A gateway that leaves waits for the one that replaces it.
    fn count(self, shared: &'static Shared, database: usize) -> usize {
        let stays = |worker: &WorkerEntry| self.kind == Kind::Executor || !worker.asked_to_leave();
        staff_of(shared, database, self).filter(|(_, worker)| stays(worker)).count()
    }

    fn of(worker: &WorkerEntry) -> Post {
        Post { kind: worker.kind(), lane: worker.lane() }
    }
}

/// How many executors a lane should have, and at least has, and when to look again.
struct Wanted {
    fewest: usize,
    wanted: usize,
    rest: Duration,
}

/// The executors of a database's lane.
#[derive(Default)]
struct Executors {
    there: usize,
    ready: usize,
    busy: usize,
    long_idle: usize,
}

impl Executors {
    fn of(shared: &'static Shared, database: usize, lane: Lane, now: u64) -> Executors {
        let mut executors = Executors::default();
        for (_, worker) in staff_of(shared, database, Post::executor(lane)) {
            let busy = worker.busy_since.load(Relaxed) != 0;
            executors.there += 1;
            executors.ready += usize::from(worker.state() == WorkerState::Running);
            executors.busy += usize::from(busy);
            let idle = worker.idle_since.load(Relaxed) + IDLE_FOR < now;
            executors.long_idle += usize::from(!busy && idle);
        }
        executors
    }
}

/// The workers of a kind that a database has, those that leave included.
fn staff_of(
    shared: &'static Shared,
    database: usize,
    post: Post,
) -> impl Iterator<Item = (usize, &'static WorkerEntry)> {
    shared.workers.iter().enumerate().filter(move |(_, worker)| {
        !worker.is_free() && worker.database() == database && Post::of(worker) == post
    })
}

fn count(shared: &'static Shared, database: usize, post: Post) -> usize {
    staff_of(shared, database, post).count()
}

/// Asks the worker of a post that has been idle longest to leave, unless one is leaving already.
fn release_idlest(shared: &'static Shared, database: usize, post: Post) {
    if staff_of(shared, database, post).any(|(_, worker)| worker.asked_to_leave()) {
        return;
    }
    let idlest = staff_of(shared, database, post)
        .min_by_key(|(_, worker)| (worker.busy_since.load(Relaxed) != 0, worker.idle_since.load(Relaxed)));
    if let Some((place, worker)) = idlest {
        release(post.kind, place, worker);
    }
}

fn release(kind: Kind, place: usize, worker: &WorkerEntry) {
    if worker.ask_to_leave(shared::now_us()) {
        wake::wake(kind, place);
    }
}
