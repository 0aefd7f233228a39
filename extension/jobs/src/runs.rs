//! Running jobs in an executor: which comes next, and what becomes of it.

use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use pg::guard::{PgError, Report};
use pg::log_line;
use queue::bell::Bell;
use queue::items::{self, Outlook};
use queue::memory::queues;
use request::Runner;
use request::apart::{Failure, Work};
use request::table::NoTable;
use schedule::{Priority, Turns};
use session::own_transaction::transaction;
use session::vacuum::vacuum;
use session::{deployments, invalidations, log_rate, stored_settings, watch};
use shared::{Tick, now_us, settings, tick};

use crate::attempt::{Attempt, cancelled};
use crate::current::Shown;
use crate::failure;
use crate::kinds::{self, Kind, stop};
use crate::memory::{Limits, Permission, Seat, jobs};
pub use crate::turn::Turn;
use crate::{keys, suspects, ticks};

/// How long a kind rests after something has failed that is no job's fault, in microseconds.
pub(crate) const PAUSE_US: u64 = 1_000_000;
/// How often a job is run anew because functions and tables change meanwhile.
const CATALOG_TRIES: u32 = 8;
/// How often what another transaction has made fail is tried again at once.
const CONFLICT_TRIES: u32 = 3;
/// How long one rests at most while jobs wait for a time: the clock may be set forward.
const LONGEST_REST: Duration = Duration::from_secs(1);

/// What an executor knows of jobs, and does with them.
pub struct Runs {
    pub(crate) kinds: Vec<Kind>,
    /// The configuration that they are of, or that could not be read because it is locked.
    as_of: u64,
    /// So often in a row a job was left because they may have changed.
    left: u32,
    /// The database is a copy of another, and nobody has said that jobs are to run here.
    is_copy: bool,
    turns: Turns,
    /// Behind the kind that was served last.
    next: usize,
    /// Where this executor sits.
    pub(crate) seat: Seat,
    bell: &'static Bell,
    /// The rings of the bell before the last look.
    rings: u64,
    /// A kind of which no other attempt could begin can have one now.
    pub(crate) owes_ring: bool,
    /// The time for which this executor has set the alarm.
    alarm: Option<Tick>,
    /// How many keys were held when their table was last vacuumed here.
    live_keys: u32,
}

/// What became of one kind's turn.
pub(crate) enum Outcome {
    /// Something ran.
    Ran,
    /// Nothing was there, or could be.
    Nothing,
    /// Something is there, and kinds may have changed since they were read.
    Outdated,
}

impl Runs {
    /// An executor that sits here.
    pub fn new(seat: Seat) -> Runs {
        let bell = queues().bell(seat.database);
        Runs {
            kinds: Vec::new(),
            as_of: 0,
            left: 0,
            is_copy: false,
            turns: Turns::default(),
            next: 0,
            seat,
            bell,
            rings: 0,
            owes_ring: false,
            alarm: None,
            live_keys: 0,
        }
    }

    /// Reads the kinds again if the configuration has changed; whether it has.
    ///
    /// # Safety
    /// On the main thread, outside a transaction.
    pub unsafe fn refresh(&mut self, runner: &mut Runner) -> Result<bool, NoTable> {
        let (mut rows, mut is_copy) = (Vec::new(), false);
        let mut along = |client: &pgrx::spi::SpiClient<'_>| {
            rows = kinds::read(client)?;
            is_copy = kinds::is_copy(client)?;
            Ok(())
        };
        let as_of = invalidations::configuration();
        // SAFETY: by contract.
        unsafe {
            let has_changed = runner.refresh_if_unlocked(&mut along)?;
            self.as_of = as_of;
            if has_changed {
                stored_settings::learn(rows.iter().map(|row| row.role));
                if is_copy && !self.is_copy {
                    log_line::log!(
                        "howdah runs no jobs here: this database is a copy, and job.resume() has not been called"
                    );
                }
                self.is_copy = is_copy;
                kinds::note_oids(&rows);
                let known = std::mem::take(&mut self.kinds);
                self.kinds = kinds::compile(rows, known, self.seat.oid, self.seat.database);
                self.owes_ring = true;
            }
            Ok(has_changed)
        }
    }

    /// Enqueues what schedules are due for. When to look again, if there are any.
    ///
    /// # Safety
    /// On the main thread, outside a transaction.
    pub unsafe fn look_after_schedules(&mut self) -> Option<Duration> {
        self.rings = self.bell.rings();
        if self.is_copy {
            return None;
        }
        // SAFETY: by contract.
        unsafe { ticks::look_after(self.seat.database) }
    }

    /// Looks for a job, after schedules, in the order of priorities and then of kinds, and runs it.
    ///
    /// # Safety
    /// On the main thread, outside a transaction.
    pub unsafe fn turn(&mut self, runner: &mut Runner) -> Turn {
        if self.is_copy {
            self.bell.answer();
            return Turn::Nothing(None);
        }
        if jobs().holds_something() {
            // SAFETY: by contract.
            if let Some(turn) = unsafe { self.look_at_held(runner) } {
                return turn;
            }
        }
        let mut soonest = None;
        for priority in self.turns.next_order() {
            for place in 0..self.kinds.len() {
                let place = (self.next + place) % self.kinds.len();
                let Some(granted) = self.look(place, priority, &mut soonest) else { continue };
                // SAFETY: by contract.
                let outcome = unsafe { self.serve(place, priority, None, runner) };
                if matches!(outcome, Outcome::Ran) {
                    self.kinds[place].had_one(priority);
                    self.next = place + 1;
                    return Turn::Did;
                }
                if let Some(number) = self.kinds[place].number {
                    jobs().take_back(number, granted);
                }
                if matches!(outcome, Outcome::Outdated) {
                    return Turn::Did;
                }
            }
        }
        self.owes_ring = false;
        self.bell.answer();
        Turn::Nothing(soonest)
    }

    /// Whether an attempt of a kind and priority may begin: then when it was granted, otherwise when it may.
    fn look(&mut self, place: usize, priority: Priority, soonest: &mut Option<Duration>) -> Option<u64> {
        let kind = &mut self.kinds[place];
        if !kind.is_open() {
            return None;
        }
        let mut wait = |microseconds: u64| {
            let time = Duration::from_micros(microseconds);
            *soonest = Some(soonest.map_or(time, |known| known.min(time)));
            None
        };
        match kind.outlook(priority) {
            Outlook::Never => return None,
            Outlook::At(time) => return wait(time.since(tick()) + 1),
            Outlook::Now => {}
        }
        let resting = kind.rests_until.saturating_sub(now_us());
        if resting > 0 {
            return wait(resting);
        }
        match jobs().begin(self.seat, kind.number?, &kind.limits, most()) {
            Permission::Granted(now) => Some(now),
            // Whoever ends an attempt looks again.
            Permission::Full => None,
            Permission::In(microseconds) => wait(microseconds + 1),
        }
    }

    /// The configuration that must still be the last one when a job is taken. None if it was not so often in a row: changes without end
    /// keep no job waiting.
    pub(crate) fn kinds_as_of(&self) -> Option<u64> {
        (self.left < CATALOG_TRIES).then_some(self.as_of)
    }

    /// Runs a job of a kind and priority, the next or a named one. It was granted.
    ///
    /// # Safety
    /// On the main thread, outside a transaction.
    pub(crate) unsafe fn serve(
        &mut self,
        place: usize,
        priority: Priority,
        named: Option<u64>,
        runner: &mut Runner,
    ) -> Outcome {
        let kind = &self.kinds[place];
        let is_single = named.is_some() || kind.row.batch < 2 || now_us() < kind.singly_until;
        // SAFETY: by contract.
        let outcome = unsafe {
            match is_single {
                true => self.run(place, priority, named, runner),
                false => self.run_batch(place, priority, runner),
            }
        };
        let limits = &self.kinds[place].limits;
        let was_full = jobs().end(self.seat.executor, Some((limits, most())));
        self.owes_ring |= was_full;
        match outcome {
            Outcome::Ran => self.left = 0,
            Outcome::Outdated => self.left += 1,
            Outcome::Nothing => {}
        }
        outcome
    }

    unsafe fn run(
        &mut self,
        place: usize,
        priority: Priority,
        named: Option<u64>,
        runner: &mut Runner,
    ) -> Outcome {
        let Some(attempt) = Attempt::of(&self.kinds[place], priority, self.seat, named, self.kinds_as_of())
        else {
            return Outcome::Nothing;
        };
        let mut tries = 0;
        loop {
            tries += 1;
            // SAFETY: by contract.
            let result = unsafe { self.once(place, &attempt, runner) };
            if attempt.is_outdated() {
                return Outcome::Outdated;
            }
            let Some(taken) = attempt.taken() else { return self.nothing_taken(place, result) };
            let error = match result {
                Ok(true) => {
                    self.done(&attempt, 1);
                    attempt.log(true);
                    if named.is_none() && jobs().holds_something() {
                        jobs().forgive(self.seat.executor);
                    }
                    return Outcome::Ran;
                }
                // It was another's when it was to be tried again.
                Ok(false) => return Outcome::Nothing,
                Err(Failure::Raised { error, is_of_changes }) => {
                    let may_succeed = is_of_changes && tries < CATALOG_TRIES
                        || is_conflict(&error) && tries < CONFLICT_TRIES;
                    if may_succeed && !attempt.is_cancelled() {
                        continue;
                    }
                    error
                }
                Err(Failure::Unfit | Failure::Before(_)) if attempt.is_cancelled() => cancelled(),
                Err(Failure::Unfit | Failure::Before(_)) => return self.nothing_taken(place, result),
            };
            jobs().kind(attempt.number).failed.fetch_add(1, Relaxed);
            attempt.log(false);
            if named.is_none() && jobs().holds_something() {
                jobs().acquit(self.seat.executor);
            }
            let write = || failure::record(&self.kinds[place], &taken, &error, attempt.end());
            if attempt.written(&taken, write).is_err() {
                self.kinds[place].rests_until = now_us() + PAUSE_US;
            }
            return Outcome::Ran;
        }
    }

    /// So many jobs of a kind are done.
    pub(crate) fn done(&self, attempt: &Attempt, count: u64) {
        let counters = jobs().kind(attempt.number);
        counters.done.fetch_add(count, Relaxed);
        if !counters.reason.is_empty() {
            counters.reason.set("");
        }
    }

    /// One try.
    unsafe fn once(&mut self, place: usize, attempt: &Attempt, runner: &mut Runner) -> Result<bool, Failure> {
        let ring = self.ring(place);
        let callee = &mut self.kinds[place].callee;
        let shown = Shown(&attempt.kind);
        watch::begin();
        let mut run = || {
            let mut take = || attempt.take().inspect(|_| ring.if_more(attempt));
            let mut work = Work { what: &shown, take: &mut take, check: &mut || attempt.check() };
            // SAFETY: by contract.
            log_rate::for_client(|| unsafe { runner.run_apart(callee, &mut work) })
        };
        // SAFETY: by contract.
        let result = unsafe { deployments::unmixed(&mut run, is_mixed) };
        self.owes_ring &= !attempt.has_taken();
        let result = result.unwrap_or_else(being_deployed).map_err(|failure| match failure {
            Failure::Raised { error, is_of_changes } => {
                Failure::Raised { error: attempt.explained(error), is_of_changes }
            }
            failure => failure,
        });
        attempt.over();
        watch::end();
        result
    }

    /// When another executor is to be woken beside a job of a kind.
    pub(crate) fn ring(&self, place: usize) -> Ring {
        let kind = &self.kinds[place];
        Ring { bell: self.bell, is_owed: self.owes_ring, limits: kind.limits, database: self.seat.database }
    }

    /// Nothing was taken: because there is nothing, or nothing can be.
    pub(crate) fn nothing_taken<T>(&mut self, place: usize, result: Result<T, Failure>) -> Outcome {
        let kind = &mut self.kinds[place];
        match result {
            Ok(_) => {}
            Err(Failure::Unfit) => {
                let reason = kind.callee.obstacle().map(|error| error.message.clone()).unwrap_or_default();
                stop(kind, &reason);
                kinds::follow(&kind.row);
            }
            Err(Failure::Before(error) | Failure::Raised { error, .. }) => {
                stop(kind, &error.message);
                kind.rests_until = now_us() + PAUSE_US;
            }
        }
        Outcome::Nothing
    }

    /// Vacuums the table of keys if many have been given up: they come and go faster than autovacuum looks.
    ///
    /// # Safety
    /// On the main thread, outside a transaction.
    pub unsafe fn look_after_keys(&mut self) {
        if !jobs().are_keys_to_be_vacuumed(self.seat.database, self.live_keys) {
            return;
        }
        let Ok(table) = transaction(Report::Log, keys::table) else { return };
        // SAFETY: by contract. What fails is logged, and tried again after as many.
        if unsafe { vacuum(table) }.is_ok() {
            self.live_keys = transaction(Report::Log, keys::count_roughly).unwrap_or_default();
        }
    }

    /// This executor goes to rest, until it is woken or for so long; false if there is something to do after all.
    pub fn rest(&mut self, soonest: Option<Duration>) -> Option<Option<Duration>> {
        self.bell.rest(self.seat.executor);
        if self.bell.rings() != self.rings {
            self.bell.rise(self.seat.executor);
            return None;
        }
        let Some(wait) = soonest else { return Some(None) };
        let time = tick().after(wait.as_micros() as u64);
        if self.bell.set_alarm(time) {
            self.alarm = Some(time);
            return Some(Some(wait.min(LONGEST_REST)));
        }
        Some(None)
    }

    /// It rests no more.
    pub fn rise(&mut self) {
        self.bell.rise(self.seat.executor);
        self.stop_alarm();
    }

    fn stop_alarm(&mut self) {
        if let Some(time) = self.alarm.take() {
            self.bell.stop_alarm(time);
            // Whoever rests relies on it.
            self.owes_ring = true;
        }
    }

    /// Whether what this executor runs was cancelled. Safe inside a signal.
    pub fn is_cancelled(executor: usize) -> bool {
        jobs().slot(executor).is_cancelled()
    }

    /// The process is told to end, as another has crashed. Safe inside a signal.
    pub fn tell_to_end(executor: usize) {
        jobs().slot(executor).tell_to_end();
    }

    /// The process ends: nothing of it is left in shared memory, and another looks.
    pub fn leave(executor: usize, database: usize) {
        suspects::ended(executor, watch::is_ending());
        jobs().end(executor, None);
        let bell = queues().bell(database);
        bell.rise(executor);
        bell.forget_alarm();
        bell.call_one();
    }
}

/// Whether another executor is to be woken.
#[derive(Clone, Copy)]
pub(crate) struct Ring {
    bell: &'static Bell,
    /// Whether it is, whatever is left of the kind.
    is_owed: bool,
    limits: Limits,
    database: usize,
}

impl Ring {
    /// Wakes one if there are more jobs of the kind that may begin, or if it is owed. A job was taken.
    pub(crate) fn if_more(&self, attempt: &Attempt) {
        let is_more = || {
            self.bell.is_heard()
                && items::outlook(&attempt.queue) == Outlook::Now
                && jobs().has_room(self.database, attempt.number, &self.limits, most())
        };
        if self.is_owed || is_more() {
            self.bell.call_one();
        }
    }
}

/// Whether a run was given up because the application was deployed meanwhile.
pub(crate) fn is_mixed<T>(result: &Result<T, Failure>) -> bool {
    matches!(result, Err(Failure::Raised { error, .. }) if error.sqlstate == deployments::MIXED)
}

/// What is said of a kind whose application is being deployed for long.
pub(crate) fn being_deployed<T>() -> Result<T, Failure> {
    Err(Failure::Before(PgError {
        sqlstate: *b"55006",
        message: "the application is being deployed".into(),
        ..PgError::default()
    }))
}

/// Executors for jobs that there may be.
fn most() -> u32 {
    settings::MAX_JOB_EXECUTORS.get().max(settings::MIN_JOB_EXECUTORS.get()) as u32
}

/// Whether another transaction has made it fail, so that it may succeed at once.
pub(crate) fn is_conflict(error: &PgError) -> bool {
    matches!(error.sqlstate(), "40001" | "40P01")
}
