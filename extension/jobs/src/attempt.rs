//! One attempt of a job: taken in the transaction that runs it, watched, counted, logged.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use pg::guard::{PgError, unwind};
use pg::log_line;
use queue::definition::Definition;
use queue::items::{self, Fate, Item};
use queue::tidy;
use schedule::Priority;
use schedule::suspects::Place;
use session::{invalidations, log_rate, watch};
use shared::databases::LineKind;
use shared::{settings, tick};

use crate::cancels;
use crate::current::{self, Current};
use crate::entry::{self, Entry};
use crate::failure::{End, Taken};
use crate::id;
use crate::keys;
use crate::kinds::Kind;
use crate::memory::{Seat, jobs};
use crate::slots::Running;

/// The pause of who has found a job whose failure is being written down.
const HELD: Duration = Duration::from_millis(1);

/// An attempt, or the wish for one.
pub(crate) struct Attempt {
    /// The kind's name.
    pub kind: String,
    attempts: u32,
    timeout_us: Option<u64>,
    priority: Priority,
    /// Where its jobs come from.
    pub queue: Rc<Definition>,
    /// The number of the kind's entry.
    pub number: usize,
    seat: Seat,
    /// The position of the job that is to run; none for the next.
    named: Option<u64>,
    /// The configuration that the kind is of; none if it is run by an older one, too.
    as_of: Option<u64>,
    is_outdated: Cell<bool>,
    taken: RefCell<Option<Taken>>,
    waited_us: Cell<u64>,
    is_cancelled: Cell<bool>,
    /// Whether it runs: its time counts once.
    runs: Cell<bool>,
    /// The kind's number, and the key that the job that runs may hold.
    kind_id: u32,
    key: RefCell<Option<String>>,
}

/// A job that was taken from its queue.
pub(crate) struct Job {
    /// Its position.
    pub position: u64,
    /// How often it has failed.
    reads: i32,
    sent_at: i64,
    due: i64,
    entry: Entry,
}

impl Job {
    /// That of an item.
    pub(crate) fn of(item: &Item<'_>) -> Job {
        let (position, reads, sent_at, due) = (item.position, item.reads, item.sent_at, item.due);
        Job { position, reads, sent_at, due, entry: entry::of(item) }
    }

    /// Bytes of its arguments.
    pub(crate) fn size(&self) -> usize {
        self.entry.arguments.len()
    }
}

impl Attempt {
    /// The next job of a kind and priority, or a named one; none where there can be none. The next one is left where it is if the
    /// configuration is another than `as_of` by then: whoever has enqueued it may have changed the kind before.
    pub(crate) fn of(
        kind: &Kind,
        priority: Priority,
        seat: Seat,
        named: Option<u64>,
        as_of: Option<u64>,
    ) -> Option<Attempt> {
        Some(Attempt {
            kind: kind.row.name.clone(),
            attempts: kind.row.attempts,
            timeout_us: kind.row.timeout_us,
            priority,
            queue: kind.queue(priority)?,
            number: kind.number?,
            seat,
            named,
            as_of,
            is_outdated: Cell::new(false),
            taken: RefCell::new(None),
            waited_us: Cell::new(0),
            is_cancelled: Cell::new(false),
            runs: Cell::new(false),
            kind_id: kind.row.id,
            key: RefCell::new(None),
        })
    }

    /// The job that was taken.
    pub(crate) fn taken(&self) -> Option<Taken> {
        self.taken.borrow().clone()
    }

    /// Whether a job was taken.
    pub(crate) fn has_taken(&self) -> bool {
        self.taken.borrow().is_some()
    }

    /// Forgets the job that was taken: another follows.
    pub(crate) fn forget(&self) {
        *self.taken.borrow_mut() = None;
        self.is_cancelled.set(false);
    }

    /// Whether somebody has cancelled the job by its id.
    pub(crate) fn is_cancelled(&self) -> bool {
        self.is_cancelled.get()
    }

    /// Writes down by `write` what became of the job that was taken, which has failed. Whoever was told that it is cancelled is not told wrong,
    /// whatever fails here: it is held against the job until it is written.
    pub(crate) fn written<E>(&self, taken: &Taken, write: impl FnOnce() -> Result<(), E>) -> Result<(), E> {
        if !self.is_cancelled() {
            return write();
        }
        let place = self.place_of(taken.position);
        jobs().hold_cancelled(place, self.seat.executor);
        let written = write();
        jobs().settle_cancelled(place, self.seat.executor, written.is_ok());
        written
    }

    /// Where a job of its queue is.
    fn place_of(&self, position: u64) -> Place {
        Place { database: self.seat.oid, queue: self.queue.id, position }
    }

    /// A job is cancelled, and what is to be written down of that commits later.
    pub(crate) fn hold_cancelled(&self, position: u64) {
        jobs().hold_cancelled(self.place_of(position), self.seat.executor);
    }

    /// It has committed, or not.
    pub(crate) fn settle_cancelled(&self, positions: &[u64], is_written: bool) {
        for position in positions {
            jobs().settle_cancelled(self.place_of(*position), self.seat.executor, is_written);
        }
    }

    /// How it ends if it has failed.
    pub(crate) fn end(&self) -> End {
        if self.is_cancelled() { End::Cancelled } else { End::Failed }
    }

    /// Takes a job, or the one that it has taken before, in the transaction that is to run it; its arguments.
    pub(crate) fn take(&self) -> Option<String> {
        let again = self.taken.borrow().as_ref().map(|taken| taken.position);
        let named = again.or(self.named);
        let mut found = None;
        let mut hand_out = |item: &Item<'_>| found = Some(Job::of(item));
        match named {
            Some(position) => items::take_named(&self.queue, &[position], Fate::Consumed, &mut hand_out),
            None => items::take(&self.queue, 1, Fate::Consumed, &mut hand_out),
        };
        let job = found?;
        if named.is_none() && self.notices_change() {
            return None;
        }
        if self.is_held(&job) {
            std::thread::sleep(HELD);
            return None;
        }
        tidy::tidy_sometimes(&self.queue);
        Some(self.begin(job, again.is_none()))
    }

    /// Whether the kind may have changed since it was read. Asked in a transaction that has seen the job: what was committed before
    /// that was enqueued is told by then.
    pub(crate) fn notices_change(&self) -> bool {
        // SAFETY: inside the guard in which jobs are taken, between two statements.
        let is_outdated =
            self.as_of.is_some_and(|as_of| unsafe { invalidations::is_configuration_after(as_of) });
        self.is_outdated.set(is_outdated);
        is_outdated
    }

    /// Whether it has left the job because the kind may have changed.
    pub(crate) fn is_outdated(&self) -> bool {
        self.is_outdated.get()
    }

    /// Whether another executor has the job: it has failed there, and that is being written down.
    pub(crate) fn is_held(&self, job: &Job) -> bool {
        jobs().is_held(self.seat.executor, self.seat.database, self.queue.id, job.position)
    }

    /// The attempt of a job begins; its arguments.
    pub(crate) fn begin(&self, job: Job, is_first_try: bool) -> String {
        let id = id::of(self.queue.id, job.position);
        let taken = Taken {
            queue: self.queue.clone(),
            position: job.position,
            priority: self.priority,
            root: job.entry.root.unwrap_or(id),
            attempt: job.reads as u32 + 1,
            began_at: queue::wall_time(),
            began: tick(),
        };
        jobs().slot(self.seat.executor).take(Running {
            queue: self.queue.id,
            position: taken.position,
            attempt: taken.attempt,
            began_at: taken.began_at,
        });
        if is_first_try {
            self.count(job.due.max(job.sent_at), taken.began_at);
        }
        current::set(Some(Current {
            id,
            root: taken.root,
            kind: self.kind.clone(),
            attempt: taken.attempt,
            attempts: self.attempts,
            enqueued_at: job.sent_at,
            executor: self.seat.executor,
        }));
        *self.key.borrow_mut() = job.entry.key;
        *self.taken.borrow_mut() = Some(taken);
        self.runs.set(true);
        if let Some(timeout) = self.timeout_us {
            watch::set_deadline(timeout);
        }
        job.entry.arguments
    }

    fn count(&self, due: i64, began_at: i64) {
        let counters = jobs().kind(self.number);
        let waited = (began_at - due).max(0) as u64;
        self.waited_us.set(waited);
        counters.begun.fetch_add(1, Relaxed);
        counters.waited_us.fetch_add(waited, Relaxed);
        counters.longest_wait_us.fetch_max(waited, Relaxed);
    }

    /// The function has returned: what was cancelled is undone, also if the job has caught that; who cancels it from here on comes too late. Its
    /// key is free with its commit.
    pub(crate) fn check(&self) {
        if self.taken().is_some_and(|taken| cancels::shut(self.seat.executor, taken.id())) {
            self.is_cancelled.set(true);
        }
        if self.is_cancelled() || watch::is_cancelled() {
            unwind(cancelled());
        }
        let key = self.key.borrow().clone();
        if let (Some(key), Some(taken)) = (key, self.taken()) {
            keys::release(self.kind_id, &key, taken.id());
        }
    }

    /// The attempt has ended, or one try of it, if one runs: a cancel that comes now is void.
    pub(crate) fn over(&self) {
        if !self.runs.replace(false) {
            return;
        }
        if self.taken().is_some_and(|taken| cancels::shut_ended(self.seat.executor, taken.id())) {
            self.is_cancelled.set(true);
        }
        if let Some(taken) = self.taken.borrow().as_ref() {
            jobs().kind(self.number).busy_us.fetch_add(taken.took_us(), Relaxed);
        }
        current::set(None);
    }

    /// Logs the attempt if `howdah.log_min_duration` asks for that.
    pub(crate) fn log(&self, is_done: bool) {
        let minimum = settings::LOG_MIN_DURATION.get();
        if minimum < 0 {
            return;
        }
        let Some(taken) = self.taken() else { return };
        let (took, waited) = (taken.took_us(), self.waited_us.get());
        if took + waited < minimum as u64 * 1000 || !log_rate::allows(LineKind::Request) {
            return;
        }
        let end = if is_done { "done" } else { "failed" };
        log_line::log!(
            "howdah job {} of kind {}, attempt {} {end} in {:.3} ms, after it waited {:.3} ms",
            taken.id(),
            self.kind,
            taken.attempt,
            took as f64 / 1000.0,
            waited as f64 / 1000.0
        );
    }

    /// Says that it was the time that was over. Before [`watch::end`].
    pub(crate) fn explained(&self, error: PgError) -> PgError {
        match self.timeout_us {
            Some(timeout) if watch::is_late() && error.sqlstate() == "57014" => {
                let timeout = Duration::from_micros(timeout);
                let message = format!("the job has run for longer than {timeout:?}, the timeout of its kind");
                PgError { message, ..error }
            }
            _ => error,
        }
    }
}

/// Why a job that was cancelled has failed.
pub(crate) fn cancelled() -> PgError {
    PgError { sqlstate: *b"57014", message: "the job was cancelled".into(), ..PgError::default() }
}
