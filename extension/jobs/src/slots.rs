//! What each executor runs, in a file that all processes map: it outlives them, so that after a crash it is known what ran.

use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU8, AtomicU32, AtomicU64, Ordering::*};

use registry::Text;
use schedule::suspects::{Place, Ran};

/// What an executor runs.
#[repr(C, align(64))]
pub struct Slot {
    /// The number of the kind's entry, plus one; 0 while nothing runs.
    kind: AtomicU32,
    /// The database, by its index, and by its oid.
    database: AtomicU32,
    oid: AtomicU32,
    /// The job's queue, and its position there; 0 while none is taken.
    queue: AtomicU32,
    position: AtomicU64,
    /// Its attempt.
    attempt: AtomicU32,
    /// Whether no other job runs beside it: a [`Company`], by its number.
    company: AtomicU8,
    /// Whether its process was told to end while it ran: a crash is another's.
    was_told: AtomicBool,
    /// When it began, as `timestamptz` counts.
    began_at: AtomicI64,
    /// Changes with each attempt that begins or ends. The lowest bits say whether it may be cancelled, whether somebody has, and whether a
    /// transaction that is open wants to: one word, so that an attempt that is about to commit either hears of a cancel, or the cancel that it
    /// came too late.
    sequence: AtomicU64,
    /// How far it says that it is, in thousandths, plus one; 0 if it says nothing.
    progress: AtomicU32,
    /// What it says of that.
    remark: Text<16>,
}

/// An attempt runs that may be cancelled.
const OPEN: u64 = 1;
/// Somebody has cancelled it, for good.
const CANCELLED: u64 = 2;
/// A transaction that is open has cancelled it.
const HELD: u64 = 4;
/// That transaction is about to commit; it may fail yet.
const CONFIRMED: u64 = 8;
/// From one sequence number to the next.
const STEP: u64 = 16;

/// What has become of the wish to cancel an attempt.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Hold {
    /// It does not commit before the transaction that holds it has ended. The attempt, by its sequence number.
    New(u64),
    /// It is held, or cancelled, already.
    Known,
    /// It is not that which runs, or is about to commit.
    Gone,
}

/// Who runs beside a job.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(crate) enum Company {
    /// Whoever may.
    Any = 0,
    /// Nobody: it is a suspect.
    None = 1,
    /// Whoever may, as it is a suspect that takes long.
    Late = 2,
}

/// A job that runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Running {
    /// The number of its queue.
    pub queue: u32,
    /// Its position there.
    pub position: u64,
    /// Which attempt it is.
    pub attempt: u32,
    /// When it began.
    pub began_at: i64,
}

/// What a job says of itself.
#[derive(Clone, PartialEq, Debug)]
pub struct Progress {
    /// How far it is, from 0 to 1.
    pub fraction: f64,
    /// What it says of that.
    pub remark: String,
}

/// The sequence number after another, of an attempt that may not be cancelled.
fn after(sequence: u64) -> u64 {
    (sequence | (STEP - 1)) + 1
}

/// Whether an attempt counts as cancelled that ends at this sequence number.
fn is_cancelled(sequence: u64) -> bool {
    sequence & OPEN != 0 && sequence & (CANCELLED | CONFIRMED) != 0
}

impl Slot {
    /// The executor is to run a job of a kind, by the number of its entry, in a database.
    pub(crate) fn open(&self, kind: usize, database: usize, oid: u32, company: Company) {
        self.database.store(database as u32, Relaxed);
        self.oid.store(oid, Relaxed);
        self.company.store(company as u8, Relaxed);
        self.was_told.store(false, Relaxed);
        self.kind.store(kind as u32 + 1, Release);
    }

    /// The number of the kind's entry, and of the database, of what it runs.
    pub(crate) fn kind(&self) -> Option<(usize, usize)> {
        let kind = self.kind.load(Acquire).checked_sub(1)?;
        Some((kind as usize, self.database.load(Relaxed) as usize))
    }

    /// It is alone no more.
    pub(crate) fn admit_company(&self) {
        self.company.store(Company::Late as u8, Relaxed);
    }

    /// Whether it runs a job that is no suspect.
    pub(crate) fn runs_innocent(&self) -> bool {
        self.kind.load(Acquire) != 0 && self.company.load(Relaxed) == Company::Any as u8
    }

    /// Whether it runs a suspect that takes long.
    pub(crate) fn is_late(&self) -> bool {
        self.kind.load(Acquire) != 0 && self.company.load(Relaxed) == Company::Late as u8
    }

    /// It runs nothing any more.
    pub(crate) fn close(&self) {
        self.shut();
        self.position.store(0, Relaxed);
        self.kind.store(0, Release);
    }

    /// A job was taken: its attempt begins. What somebody has cancelled stays so if it is the same job, which is tried again.
    pub(crate) fn take(&self, running: Running) {
        let is_same = self.position.load(Relaxed) == running.position
            && self.queue.load(Relaxed) == running.queue
            && self.attempt.load(Relaxed) == running.attempt;
        let was_cancelled = self.shut() && is_same;
        self.progress.store(0, Relaxed);
        self.remark.set("");
        self.queue.store(running.queue, Relaxed);
        self.attempt.store(running.attempt, Relaxed);
        self.began_at.store(running.began_at, Relaxed);
        self.position.store(running.position, Release);
        let bits = if was_cancelled { OPEN | CANCELLED } else { OPEN };
        self.sequence.store(self.next() | bits, SeqCst);
    }

    /// The attempt cannot be cancelled any more, as it is over, or is about to commit. Whether it was cancelled before.
    pub(crate) fn shut(&self) -> bool {
        is_cancelled(self.sequence.swap(self.next(), SeqCst))
    }

    /// The same, unless a transaction that is open has cancelled it: none then.
    pub(crate) fn shut_unless_held(&self) -> Option<bool> {
        let before = self
            .sequence
            .fetch_update(SeqCst, SeqCst, |sequence| (sequence & HELD == 0).then_some(after(sequence)))
            .ok()?;
        Some(is_cancelled(before))
    }

    /// The next sequence number. Nobody else changes it.
    fn next(&self) -> u64 {
        after(self.sequence.load(SeqCst))
    }

    /// Whether the attempt that runs was cancelled. Safe inside a signal.
    pub fn is_cancelled(&self) -> bool {
        self.sequence.load(SeqCst) & (OPEN | CANCELLED) == OPEN | CANCELLED
    }

    /// Whether an executor has this job: it runs it, or writes down what became of it.
    pub(crate) fn has(&self, database: usize, queue: u32, position: u64) -> bool {
        self.position.load(Acquire) == position
            && self.queue.load(Relaxed) == queue
            && self.database.load(Relaxed) == database as u32
            && self.kind.load(Relaxed) != 0
    }

    /// Cancels the attempt that runs, which is this process's own; false if it is about to commit.
    pub(crate) fn cancel(&self) -> bool {
        self.sequence.fetch_or(CANCELLED, SeqCst) & OPEN != 0
    }

    /// Whether a transaction that is about to commit has cancelled the attempt, and nobody has for good.
    pub(crate) fn is_being_cancelled(&self) -> bool {
        self.sequence.load(SeqCst) & (OPEN | CANCELLED | CONFIRMED) == OPEN | CONFIRMED
    }

    /// Holds the attempt of a job for a transaction that cancels it. Who calls has the lock on the job's cancels.
    pub(crate) fn hold(&self, database: usize, queue: u32, position: u64) -> Hold {
        let sequence = self.sequence.load(SeqCst);
        if sequence & OPEN == 0 || !self.has(database, queue, position) {
            return Hold::Gone;
        }
        // It is still the same attempt that is of this job.
        if sequence & (HELD | CANCELLED) != 0 {
            return if self.sequence.load(SeqCst) == sequence { Hold::Known } else { Hold::Gone };
        }
        match self.sequence.compare_exchange(sequence, sequence | HELD, SeqCst, SeqCst) {
            Ok(_) => Hold::New(sequence),
            Err(_) => Hold::Gone,
        }
    }

    /// The transaction that holds the attempt of this sequence number is about to commit: false if that has ended meanwhile.
    pub(crate) fn confirm(&self, sequence: u64) -> bool {
        self.change(sequence, |bits| bits | CONFIRMED)
    }

    /// It has committed, or was rolled back: it holds the attempt no more. What the job has cancelled itself stays so.
    pub(crate) fn let_go(&self, sequence: u64, is_cancelled: bool) {
        let cancelled = if is_cancelled { CANCELLED } else { 0 };
        self.change(sequence, |bits| bits & !(HELD | CONFIRMED) | cancelled);
    }

    /// Changes the bits of an attempt that is held; false if it has ended.
    fn change(&self, sequence: u64, change: impl Fn(u64) -> u64) -> bool {
        let is_its = |now: u64| now / STEP == sequence / STEP && now & HELD != 0;
        self.sequence.fetch_update(SeqCst, SeqCst, |now| is_its(now).then(|| change(now))).is_ok()
    }

    /// Where the job is that somebody had cancelled when the server ended.
    pub(crate) fn cancelled_place(&self) -> Option<Place> {
        self.place().filter(|_| is_cancelled(self.sequence.load(SeqCst)))
    }

    /// The process is told to end, as another has crashed or the server stops at once. Safe inside a signal.
    pub fn tell_to_end(&self) {
        self.was_told.store(true, SeqCst);
    }

    /// The job that runs.
    pub(crate) fn running(&self) -> Option<(usize, Running)> {
        let position = self.position.load(Acquire);
        let (_, database) = self.kind().filter(|_| position != 0)?;
        let running = Running {
            queue: self.queue.load(Relaxed),
            position,
            attempt: self.attempt.load(Relaxed),
            began_at: self.began_at.load(Relaxed),
        };
        Some((database, running))
    }

    /// Where the job that runs is.
    pub(crate) fn place(&self) -> Option<Place> {
        let (_, running) = self.running()?;
        Some(Place { database: self.oid.load(Relaxed), queue: running.queue, position: running.position })
    }

    /// What ran when the server crashed, unless the process was told to end.
    pub(crate) fn ran(&self) -> Option<Ran> {
        let place = self.place()?;
        let ran = Ran { place, was_alone: self.company.load(Relaxed) == Company::None as u8 };
        (!self.was_told.load(SeqCst)).then_some(ran)
    }

    /// Nothing has ever run here.
    pub(crate) fn reset(&self) {
        self.close();
        self.company.store(Company::Any as u8, Relaxed);
        self.was_told.store(false, Relaxed);
        self.sequence.store(0, Relaxed);
    }

    /// Notes how far the attempt is.
    pub(crate) fn tell(&self, thousandths: u32, remark: &str) {
        self.progress.store(thousandths + 1, Relaxed);
        self.remark.set(remark);
    }

    /// How far the attempt says that it is.
    pub fn progress(&self) -> Option<Progress> {
        let thousandths = self.progress.load(Relaxed).checked_sub(1)?;
        Some(Progress { fraction: f64::from(thousandths) / 1000.0, remark: self.remark.get() })
    }
}
