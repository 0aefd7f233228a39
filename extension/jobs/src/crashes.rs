//! What is held against jobs after a crash, or after the end of an executor: suspects run alone, and what is charged is written down
//! before anybody takes the job again.

use std::time::Duration;

use claims::times;
use pg::guard::{PgError, Report};
use queue::items::{self, Found};
use request::Runner;
use schedule::Priority;
use schedule::suspects::{Place, Standing, pause_after_end};
use session::own_transaction::transaction;
use shared::{shared, tick};

use crate::failure::{self, End, Taken};
use crate::id;
use crate::memory::jobs;
use crate::record::Entry;
use crate::runs::Runs;
use crate::turn::{Turn, wake_all};

/// When one looks again who waits for a suspect, or for what another writes down.
const SOON: Duration = Duration::from_millis(10);

impl Runs {
    /// Does what has to be done before any other job begins; none if there is nothing of that.
    ///
    /// # Safety
    /// On the main thread, outside a transaction.
    pub(crate) unsafe fn look_at_held(&mut self, runner: &mut Runner) -> Option<Turn> {
        let mut waits = false;
        jobs().end_solitude();
        for entry in jobs().held() {
            let Some((place, standing)) = entry.get() else { continue };
            let is_here = place.database == self.seat.oid;
            if standing.is_due() && is_here {
                if self.write_down(entry, place, standing) {
                    return Some(Turn::Did);
                }
                waits = true;
            } else if standing.is_suspect()
                && (is_here || is_served(place.database))
                && jobs().is_waited_for(entry)
                && jobs().waits_for_suspects()
            {
                // SAFETY: by contract.
                if is_here && unsafe { self.run_suspect(entry, place, standing, runner) } {
                    return Some(Turn::Did);
                }
                waits = true;
            }
        }
        // Its time may be over a moment after that of all together: then nobody else would have others look.
        (waits || jobs().is_left_to_another()).then_some(Turn::Nothing(Some(SOON)))
    }

    /// Runs a suspect with no other job beside it; false if that cannot be yet.
    unsafe fn run_suspect(
        &mut self,
        entry: &Entry,
        place: Place,
        standing: Standing,
        runner: &mut Runner,
    ) -> bool {
        let executor = self.seat.executor;
        if !entry.own(executor) {
            return false;
        }
        let Some((at, priority)) = self.kind_of(place.queue).filter(|(at, _)| self.kinds[*at].is_open())
        else {
            // It waits in its queue, if it is there.
            jobs().settle(executor, entry, None);
            return true;
        };
        let Some(number) = self.kinds[at].number else { return false };
        if !jobs().begin_alone(self.seat, number) {
            entry.release(executor, Some(standing));
            return false;
        }
        // SAFETY: by contract.
        unsafe { self.serve(at, priority, Some(place.position), runner) };
        jobs().settle(executor, entry, None);
        wake_all();
        true
    }

    /// Writes down what is held against a job; false if another does, or it cannot be.
    fn write_down(&mut self, entry: &Entry, place: Place, standing: Standing) -> bool {
        let executor = self.seat.executor;
        if !entry.own(executor) {
            return false;
        }
        let kind = self.kind_of(place.queue);
        let written =
            kind.map_or(Ok(None), |(at, priority)| self.settle_held(entry, place, standing, at, priority));
        let is_written = written.is_ok();
        jobs().settle(executor, entry, written.unwrap_or(Some(standing)));
        is_written
    }

    /// What is held against the job from now on.
    fn settle_held(
        &self,
        entry: &Entry,
        place: Place,
        standing: Standing,
        at: usize,
        priority: Priority,
    ) -> Result<Option<Standing>, PgError> {
        let kind = &self.kinds[at];
        let Some(queue) = kind.queue(priority) else { return Ok(None) };
        let mut reads = 0;
        let found =
            transaction(Report::Log, || items::look_at(&queue, place.position, |item| reads = item.reads))?;
        if found == Found::Gone {
            return Ok(None);
        }
        let taken = Taken {
            position: place.position,
            priority,
            root: id::of(queue.id, place.position),
            attempt: reads as u32 + 1,
            began_at: queue::wall_time(),
            began: tick(),
            queue,
        };
        let (error, end, next) = match standing {
            Standing::Ended => {
                let until = times::after(taken.queue.time(), pause_after_end(entry.times()));
                transaction(Report::Log, || items::give_back(&taken.queue, &[place.position], until))?;
                return Ok(Some(Standing::Known));
            }
            Standing::Charged if taken.attempt >= kind.row.attempts => (crashed(), End::Crashed, None),
            Standing::Charged => (crashed(), End::Crashed, Some(Standing::Convict)),
            Standing::Cancelled => (ended_cancelled(), End::Cancelled, None),
            _ => (overrun(), End::Failed, None),
        };
        failure::record(kind, &taken, &error, end).map(|()| next)
    }

    /// The place of the kind whose jobs are in a queue, and their priority.
    fn kind_of(&self, queue: u32) -> Option<(usize, Priority)> {
        self.kinds
            .iter()
            .enumerate()
            .find_map(|(at, kind)| kind.priority_of(queue).map(|priority| (at, priority)))
    }
}

/// Whether anybody runs jobs of a database.
fn is_served(oid: u32) -> bool {
    use shared::databases::DatabaseState;
    use std::sync::atomic::Ordering::Relaxed;
    shared().databases.iter().any(|database| {
        database.oid() == oid
            && database.state() == DatabaseState::Serving
            && database.job_kinds.load(Relaxed) > 0
    })
}

fn crashed() -> PgError {
    PgError {
        sqlstate: *b"57P02",
        message: "the server process that ran the job has crashed".into(),
        hint: Some("The server's log says by which signal.".into()),
        ..PgError::default()
    }
}

fn ended_cancelled() -> PgError {
    PgError {
        message: "the job was cancelled, and its process ended before that was written down".into(),
        ..overrun()
    }
}

fn overrun() -> PgError {
    PgError {
        sqlstate: *b"57014",
        message: "the job went on for seconds after it was cancelled, so its process was ended".into(),
        hint: Some("Something in it catches query_canceled, or looks for no interrupts.".into()),
        ..PgError::default()
    }
}
