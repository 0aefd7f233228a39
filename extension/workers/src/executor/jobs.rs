//! What executors of the lane `job` do: one job after the other, each in a transaction of its own.

use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use jobs::history;
use jobs::runs::Turn;
use queue::upkeep;
use session::{invalidations, leftovers, watch};
use shared::now_us;

use super::Serving;

impl Serving<'_> {
    /// Runs a job, or rests if there is none.
    pub(super) fn take_job(&mut self) {
        let entry = self.worker.entry();
        super::accept_invalidations();
        // What it knows it goes on with; without any it has nothing to do.
        let is_read = self.refresh().is_ok();
        let Some(jobs) = self.jobs.as_mut().filter(|_| is_read) else {
            return self.worker.wait(Some(invalidations::PAUSE));
        };
        // SAFETY: on the main thread, outside a transaction.
        let tick = unsafe { jobs.look_after_schedules() };
        entry.busy_since.store(now_us(), Relaxed);
        // SAFETY: on the main thread, outside a transaction.
        let turn = unsafe { jobs.turn(&mut self.runner) };
        entry.busy_since.store(0, Relaxed);
        match turn {
            Turn::Did => self.after_job(),
            Turn::Nothing(soonest) => self.rest(soonest.into_iter().chain(tick).min()),
        }
    }

    /// Gives up what a job has left, and ends what has taken too much.
    fn after_job(&mut self) {
        let entry = self.worker.entry();
        // SAFETY: on the main thread, outside a transaction.
        unsafe { leftovers::tidy() };
        if let Some(jobs) = self.jobs.as_mut() {
            // SAFETY: as above.
            unsafe { jobs.look_after_keys() };
            // SAFETY: as above.
            unsafe { history::look_after(self.worker.database) };
        }
        entry.requests.fetch_add(1, Relaxed);
        entry.idle_since.store(now_us(), Relaxed);
        self.handlers.require_unchanged();
        if watch::should_make_room() {
            self.worker.make_room();
        }
    }

    /// Rests until a job may be due, and looks after queues meanwhile.
    fn rest(&mut self, soonest: Option<Duration>) {
        watch::rest();
        self.look_after_queues();
        if self.upkeep.is_under_way() {
            self.upkeep.go_on();
            // It may be under way for as long as the next one is due in.
            // SAFETY: on the main thread, outside a transaction.
            unsafe { history::look_after(self.worker.database) };
            return;
        }
        // What is new in the configuration was locked.
        let soonest = match invalidations::configuration_is_stale() {
            true => Some(soonest.map_or(invalidations::PAUSE, |soonest| soonest.min(invalidations::PAUSE))),
            false => soonest,
        };
        // SAFETY: on the main thread, outside a transaction.
        let step = unsafe { history::look_after(self.worker.database) };
        let soonest = soonest.into_iter().chain(step).min();
        let Some(rest) = self.jobs.as_mut().and_then(|jobs| jobs.rest(soonest)) else { return };
        self.worker.wait(rest.or_else(upkeep::interval));
        if let Some(jobs) = self.jobs.as_mut() {
            jobs.rise();
        }
        self.notice_reload();
    }
}
