//! Suspicions against jobs after a crash, in shared memory: suspects, which run alone before others begin, for a time.
//!
//! All of them together keep others waiting for `howdah.job_crash_wait` at most, from the first look on; each has its part of that. One that takes
//! longer goes on beside others, and the next one has its time beside such alone. When the whole time is over nobody waits any more, and
//! a suspect that has not run is a job like any.

use std::sync::atomic::Ordering::*;

use pg::log_line;
use schedule::suspects::{Place, Standing, time_alone};
use shared::{now_us, settings};

use crate::memory::{Jobs, Seat, jobs};
use crate::record::Entry;
use crate::slots::Company;

/// How long others wait at most, in microseconds.
fn longest_wait() -> u64 {
    settings::JOB_CRASH_WAIT.get() as u64 * 1000
}

impl Jobs {
    /// Whether something is held against any job. A load.
    pub(crate) fn holds_something(&self) -> bool {
        self.record.held.load(SeqCst) != 0
    }

    /// Everything that is held against jobs.
    pub(crate) fn held(&self) -> &'static [Entry] {
        &self.record.entries
    }

    /// Whether suspects are waited for still. Who asks first says so in the log.
    pub(crate) fn waits_for_suspects(&self) -> bool {
        let (waited_since, most) = (&self.solitude().waited_since, longest_wait());
        if most > 0 && waited_since.compare_exchange(0, now_us().max(1), Relaxed, Relaxed).is_ok() {
            let jobs = if self.suspects() == 1 { "the job" } else { "each of the jobs" };
            log_line::log!(
                "howdah runs {jobs} that ran when the server crashed alone: others wait for that, {} s at most",
                most.div_ceil(1_000_000)
            );
        }
        !self.solitude().is_over(waited_since, most)
    }

    /// Whether others wait for a suspect as things stand, as far as its entry tells.
    pub(crate) fn is_waited_for(&self, entry: &Entry) -> bool {
        !entry.owner().is_some_and(|executor| self.slot(executor).is_late())
    }

    /// For how many seconds others wait at most, if any wait now.
    pub(crate) fn longest_wait_for_suspects(&self) -> Option<u64> {
        let solitude = self.solitude();
        let is_open = |entry: &Entry| {
            entry.get().is_some_and(|(_, standing)| standing.is_suspect()) && self.is_waited_for(entry)
        };
        let waits = self.holds_something()
            && solitude.waited_since.load(Relaxed) != 0
            && !solitude.is_over(&solitude.waited_since, longest_wait())
            && self.held().iter().any(is_open);
        waits.then(|| longest_wait().div_ceil(1_000_000))
    }

    /// A suspect that has run alone for its time has company from now on.
    pub(crate) fn end_solitude(&self) {
        let solitude = self.solitude();
        let time = time_alone(longest_wait(), self.suspects());
        let is_over = || {
            solitude.is_over(&solitude.alone_since, time)
                || solitude.is_over(&solitude.waited_since, longest_wait())
        };
        if solitude.alone.load(Relaxed) == 0 || !is_over() {
            return;
        }
        let _lock = self.lock();
        if let Some(executor) = solitude.alone.swap(0, Relaxed).checked_sub(1) {
            self.slot(executor as usize).admit_company();
        }
    }

    /// Asks for an attempt beside which no job of any database runs but suspects that take long; false while others run, or another is
    /// alone.
    pub(crate) fn begin_alone(&self, seat: Seat, number: usize) -> bool {
        let lock = self.lock();
        let solitude = self.solitude();
        if self.is_left_to_another() || self.record.slots.iter().any(|slot| slot.runs_innocent()) {
            return false;
        }
        solitude.alone.store(seat.executor as u32 + 1, Relaxed);
        solitude.alone_since.store(now_us(), Relaxed);
        self.count_in(seat, number, &lock);
        self.slot(seat.executor).open(number, seat.database, seat.oid, Company::None);
        true
    }

    /// Whether the server is left to an executor.
    pub(crate) fn is_left_to_another(&self) -> bool {
        self.solitude().alone.load(Relaxed) != 0
    }

    /// Holds something against the job that an executor runs.
    pub(crate) fn hold_against(&self, executor: usize, standing: Standing) {
        if let Some(place) = self.slot(executor).place() {
            self.hold(place, standing);
        }
    }

    /// Somebody has cancelled a job of this executor, which is about to write that down.
    pub(crate) fn hold_cancelled(&self, place: Place, executor: usize) {
        let _lock = self.lock();
        self.record.hold_cancelled(place, executor);
    }

    /// That was written down, or could not be: then others do.
    pub(crate) fn settle_cancelled(&self, place: Place, executor: usize, is_written: bool) {
        let _lock = self.lock();
        for entry in &self.record.entries {
            if entry.get().is_some_and(|(known, _)| known == place) {
                entry.release(executor, (!is_written).then_some(Standing::Cancelled));
            }
        }
        self.record.count();
    }

    fn hold(&self, place: Place, standing: Standing) {
        let _lock = self.lock();
        self.record.hold(place, standing);
    }

    /// The job that an executor has is done: nothing is held against it any more.
    pub(crate) fn forgive(&self, executor: usize) {
        if let Some(place) = self.slot(executor).place() {
            let _lock = self.lock();
            self.record.forgive(place);
        }
    }

    /// The job that an executor has ended by an error: it is no suspect any more.
    pub(crate) fn acquit(&self, executor: usize) {
        if let Some(place) = self.slot(executor).place() {
            let _lock = self.lock();
            self.record.acquit(place);
        }
    }

    /// An executor has written down what is held against a job: what is held from now on; none for nothing.
    pub(crate) fn settle(&self, executor: usize, entry: &Entry, standing: Option<Standing>) {
        let _lock = self.lock();
        entry.release(executor, standing);
        self.record.count();
    }

    /// What an executor was about to write down is left to others, as it ends.
    pub(crate) fn disown(&self, executor: usize) {
        for entry in &self.record.entries {
            if let Some((_, standing)) = entry.get() {
                entry.release(executor, Some(standing));
            }
        }
    }
}

/// An executor ends in order, or by what it ran: what is held against that.
pub(crate) fn ended(executor: usize, is_overrun: bool) {
    let standing = match is_overrun {
        _ if jobs().slot(executor).shut() => Standing::Cancelled,
        true => Standing::Overrun,
        false => Standing::Ended,
    };
    jobs().hold_against(executor, standing);
    jobs().disown(executor);
}
