//! Several jobs of a kind in one transaction, for kinds that allow it: each in a subtransaction, undone alone when it fails.

use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use pg::guard::PgError;
use queue::items::{self, Fate};
use queue::tidy;
use request::Runner;
use request::apart::Several;
use schedule::Priority;
use session::subtransaction::in_subtransaction;
use session::{deployments, log_rate, watch};
use shared::now_us;

use crate::attempt::{Attempt, Job};
use crate::current::{self, Shown};
use crate::failure::{Failed, Taken};
use crate::id;
use crate::kinds::{Kind, Row};
use crate::memory::jobs;
use crate::runs::{Outcome, PAUSE_US, Ring, Runs, being_deployed, is_conflict, is_mixed};

/// How long a job is taken to last of whose kind nothing is known, in microseconds.
const FIRST_US: u64 = 1000;
/// For how long a transaction takes more jobs: what the first ones have done is seen when it ends.
const LONGEST: Duration = Duration::from_millis(20);

/// Bytes of arguments that a transaction takes at once.
const MOST_BYTES: usize = 8 << 20;
/// For how long jobs are held should a transaction commit without settling them, which it does not.
const HOLD_US: i64 = 60_000_000;

/// The jobs of a transaction.
struct Batch<'a> {
    attempt: &'a Attempt,
    row: &'a Row,
    ring: Ring,
    begun: Instant,
    /// Those that have not been run, the last first.
    held: Vec<Job>,
    /// The positions of those that are done, and of those that are to be given back.
    done: Vec<u64>,
    unrun: Vec<u64>,
    failed: u64,
    /// One has failed by another transaction: it is given back, and has its tries by itself.
    has_conflict: bool,
    /// The positions of those that somebody has cancelled.
    cancelled: Vec<u64>,
    /// What could not be written down of a job that has failed: the transaction ends there.
    error: Option<PgError>,
}

impl Several for Batch<'_> {
    fn begin(&mut self) -> bool {
        let mut bytes = 0;
        let size = self.size();
        let (held, unrun) = (&mut self.held, &mut self.unrun);
        items::take(&self.attempt.queue, size, Fate::Held(HOLD_US), |item| {
            if bytes > MOST_BYTES {
                return unrun.push(item.position);
            }
            let job = Job::of(item);
            bytes += job.size();
            held.push(job);
        });
        if self.attempt.notices_change() {
            self.held.clear();
            return false;
        }
        self.held.reverse();
        let queue = self.attempt.queue.id;
        current::set_batch(self.held.iter().map(|job| id::of(queue, job.position)).collect());
        if self.held.is_empty() {
            return false;
        }
        self.ring.if_more(self.attempt);
        tidy::tidy_sometimes(&self.attempt.queue);
        true
    }

    fn next(&mut self) -> Option<String> {
        self.attempt.forget();
        let job = self.held.pop()?;
        if self.attempt.is_held(&job) {
            self.unrun.push(job.position);
            return self.next();
        }
        watch::begin();
        Some(self.attempt.begin(job, true))
    }

    fn check(&mut self) {
        self.attempt.check();
    }

    fn ended(&mut self, result: Result<(), PgError>) -> bool {
        let error = result.err().map(|error| self.attempt.explained(error));
        self.attempt.over();
        watch::end();
        let Some(taken) = self.attempt.taken() else { return false };
        self.attempt.log(error.is_none());
        match error {
            None => self.done.push(taken.position),
            Some(error) if is_conflict(&error) && !self.attempt.is_cancelled() => {
                self.unrun.push(taken.position);
                self.has_conflict = true;
            }
            Some(error) => {
                self.failed += 1;
                if self.attempt.is_cancelled() {
                    self.attempt.hold_cancelled(taken.position);
                    self.cancelled.push(taken.position);
                }
                self.error = self.write(&taken, &error).err();
                if self.error.is_some() {
                    self.unrun.push(taken.position);
                }
            }
        }
        self.error.is_none() && !self.has_conflict && self.begun.elapsed() < LONGEST
    }

    fn finish(&mut self) {
        self.unrun.extend(self.held.drain(..).map(|job| job.position));
        let queue = &self.attempt.queue;
        items::settle(queue, &self.done);
        items::give_back(queue, &self.unrun, queue::wall_time());
    }
}

impl<'a> Batch<'a> {
    fn new(attempt: &'a Attempt, row: &'a Row, ring: Ring) -> Batch<'a> {
        let (held, done, unrun) = (Vec::new(), Vec::new(), Vec::new());
        Batch {
            attempt,
            row,
            ring,
            begun: Instant::now(),
            held,
            done,
            unrun,
            failed: 0,
            has_conflict: false,
            cancelled: Vec::new(),
            error: None,
        }
    }

    /// How many jobs to take: as many as take [`LONGEST`] by what is known of the kind.
    fn size(&self) -> usize {
        let counters = jobs().kind(self.attempt.number);
        let begun = counters.begun.load(Relaxed);
        let mean_us = counters.busy_us.load(Relaxed).checked_div(begun).unwrap_or(FIRST_US).max(1);
        let fitting = LONGEST.as_micros() as u64 / mean_us;
        fitting.clamp(1, self.row.batch.into()) as usize
    }

    /// Writes a failure down in the transaction; what cannot be written leaves the job as it was.
    fn write(&self, taken: &Taken, error: &PgError) -> Result<(), PgError> {
        let failed = Failed { kind: self.row, taken, end: self.attempt.end(), is_held: true };
        // SAFETY: inside the transaction; what is called raises through pgrx's guards.
        failed.write(error, |write| unsafe { in_subtransaction(write) })
    }
}

impl Runs {
    /// Runs jobs of a kind that allows several in one transaction. It was granted.
    ///
    /// # Safety
    /// On the main thread, outside a transaction.
    pub(crate) unsafe fn run_batch(
        &mut self,
        place: usize,
        priority: Priority,
        runner: &mut Runner,
    ) -> Outcome {
        let Some(attempt) = Attempt::of(&self.kinds[place], priority, self.seat, None, self.kinds_as_of())
        else {
            return Outcome::Nothing;
        };
        let ring = self.ring(place);
        let Kind { row, callee, .. } = &mut self.kinds[place];
        let (row, shown) = (&*row, Shown(&attempt.kind));
        let (mut counts, mut unwritten, mut cancelled) = ((0, 0), None, Vec::new());
        let mut has_conflict = false;
        let mut run = || {
            let mut batch = Batch::new(&attempt, row, ring);
            // SAFETY: by contract.
            let result =
                log_rate::for_client(|| unsafe { runner.run_several_apart(callee, &shown, &mut batch) });
            (counts, unwritten) = ((batch.done.len() as u64, batch.failed), batch.error.take());
            has_conflict = batch.has_conflict;
            attempt.settle_cancelled(&std::mem::take(&mut cancelled), false);
            cancelled = std::mem::take(&mut batch.cancelled);
            result
        };
        // SAFETY: by contract.
        let result = unsafe { deployments::unmixed(&mut run, is_mixed) }.unwrap_or_else(being_deployed);
        current::set_batch(Vec::new());
        attempt.over();
        watch::end();
        attempt.settle_cancelled(&cancelled, result.is_ok() && unwritten.is_none());
        let (done, failed) = counts;
        if done + failed > 0 {
            self.owes_ring = false;
        }
        match result {
            Ok(()) if attempt.is_outdated() => return Outcome::Outdated,
            Ok(()) if done + failed == 0 && !has_conflict => return Outcome::Nothing,
            Ok(()) => {
                self.done(&attempt, done);
                jobs().kind(attempt.number).failed.fetch_add(failed, Relaxed);
            }
            // Nothing of it is left. Each by itself, it will be seen whose fault it was.
            Err(_) if done + failed > 0 => self.kinds[place].singly_until = now_us() + PAUSE_US,
            Err(failure) => return self.nothing_taken(place, Err::<(), _>(failure)),
        }
        if has_conflict {
            self.kinds[place].singly_until = now_us() + PAUSE_US;
        }
        if unwritten.is_some() {
            self.kinds[place].rests_until = now_us() + PAUSE_US;
        }
        Outcome::Ran
    }
}
