//! The shared memory of jobs: what runs, and what limits ask for. Nothing in it is the truth about a job; that is in its queue.

use std::cell::UnsafeCell;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicI64, AtomicPtr, AtomicU32, AtomicU64, Ordering::*};

use pgrx::pg_sys;
use registry::Text;
use schedule::{Rate, Starts};
use shared::settings::{self, MAX_WORKERS_EVER};
use shared::{Part, now_us};

/// What is known of a kind.
#[repr(C, align(128))]
pub struct KindMemory {
    database: AtomicU32,
    kind: AtomicU32,
    /// Attempts that have begun.
    pub begun: AtomicU64,
    /// Attempts that have succeeded.
    pub done: AtomicU64,
    /// Attempts that have failed.
    pub failed: AtomicU64,
    /// Microseconds that attempts have taken.
    pub busy_us: AtomicU64,
    /// Microseconds that jobs waited from when they were due to when they began.
    pub waited_us: AtomicU64,
    /// The longest of those waits.
    pub longest_wait_us: AtomicU64,
    /// Why none of its jobs can run; empty if they can.
    pub reason: Text<32>,
    limits: UnsafeCell<Limited>,
}

/// What the lock protects.
#[repr(C)]
struct Limited {
    running: u32,
    starts: Starts,
}

// SAFETY: `limits` is used under the lock; all else is atomic.
unsafe impl Sync for KindMemory {}

/// What an executor runs.
#[repr(C, align(64))]
pub struct Slot {
    /// The number of the kind's entry, plus one; 0 while nothing runs.
    kind: AtomicU32,
    /// The database, by its index.
    database: AtomicU32,
    /// The job's queue, and its position there; 0 while none is taken.
    queue: AtomicU32,
    position: AtomicU64,
    /// Its attempt.
    attempt: AtomicU32,
    /// When it began, as `timestamptz` counts.
    began_at: AtomicI64,
    /// Changes with each attempt that begins or ends: odd while one runs.
    sequence: AtomicU64,
    /// The sequence of the attempt that somebody has cancelled.
    cancelled: AtomicU64,
    /// How far it says that it is, in thousandths, plus one; 0 if it says nothing.
    progress: AtomicU32,
    /// What it says of that.
    remark: Text<16>,
}

impl Slot {
    /// Whether the attempt that runs was cancelled. Safe inside a signal.
    pub fn is_cancelled(&self) -> bool {
        let sequence = self.sequence.load(SeqCst);
        sequence % 2 == 1 && self.cancelled.load(SeqCst) == sequence
    }

    /// An attempt begins, or ends.
    fn turn(&self, begins: bool) {
        let sequence = self.sequence.load(SeqCst);
        if (sequence % 2 == 1) != begins {
            self.sequence.store(sequence + 1, SeqCst);
        }
    }
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

impl Slot {
    /// How far the attempt says that it is.
    pub fn progress(&self) -> Option<Progress> {
        let thousandths = self.progress.load(Relaxed).checked_sub(1)?;
        Some(Progress { fraction: f64::from(thousandths) / 1000.0, remark: self.remark.get() })
    }
}

/// What holds for a kind.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// How many may run at the same time; none for a share of the executors.
    pub at_once: Option<u32>,
    /// How many may begin in a time.
    pub rate: Option<Rate>,
}

/// Whether an attempt may begin.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Permission {
    /// It may.
    Granted,
    /// As many run as may run at the same time.
    Full,
    /// After so many microseconds.
    In(u64),
}

/// The part of the shared memory.
pub const PART: Part = Part { bytes, request_locks, lay_out };

static JOBS: AtomicPtr<Jobs> = AtomicPtr::new(std::ptr::null_mut());

/// All of it.
pub struct Jobs {
    /// When the memory was laid out: after a crash nobody knows what began before.
    begun_us: u64,
    running: &'static [AtomicU32],
    kinds: &'static [KindMemory],
    slots: &'static [Slot],
    lock: *mut pg_sys::LWLockPadded,
}

// SAFETY: the lock is in shared memory and made for this.
unsafe impl Sync for Jobs {}
// SAFETY: as above.
unsafe impl Send for Jobs {}

const TRANCHE: &std::ffi::CStr = c"howdah_job";

/// The jobs; an error in a session of a server that does not preload the library.
pub fn jobs() -> &'static Jobs {
    // SAFETY: null, or a leaked box that is never freed.
    match unsafe { JOBS.load(Relaxed).as_ref() } {
        Some(jobs) => jobs,
        None => shared::not_preloaded(),
    }
}

fn kinds() -> usize {
    settings::MAX_JOB_KINDS.get() as usize
}

fn databases() -> usize {
    settings::MAX_DATABASES.get() as usize
}

/// Where the slots begin, behind the kinds.
fn slots_at() -> usize {
    size_of::<KindMemory>() * kinds()
}

/// Where the numbers of what runs in each database begin.
fn running_at() -> usize {
    slots_at() + size_of::<Slot>() * MAX_WORKERS_EVER
}

fn bytes() -> usize {
    running_at() + size_of::<AtomicU32>() * databases()
}

fn request_locks() {
    // SAFETY: called in the hook that PostgreSQL has for it.
    unsafe { pg_sys::RequestNamedLWLockTranche(TRANCHE.as_ptr(), 1) };
}

/// # Safety
/// Memory of [`bytes`], aligned and full of zeros, in the postmaster.
unsafe fn lay_out(memory: NonNull<u8>) {
    // SAFETY: by contract; zeros are the empty state of everything. The tranche has been asked for.
    unsafe {
        let at = |offset: usize| memory.add(offset).as_ptr();
        let jobs = Jobs {
            begun_us: now_us(),
            running: std::slice::from_raw_parts(at(running_at()).cast(), databases()),
            kinds: std::slice::from_raw_parts(at(0).cast(), kinds()),
            slots: std::slice::from_raw_parts(at(slots_at()).cast(), MAX_WORKERS_EVER),
            lock: pg_sys::GetNamedLWLockTranche(TRANCHE.as_ptr()),
        };
        // The few words of an earlier life are not given back: children forked before may use them.
        JOBS.store(Box::into_raw(Box::new(jobs)), Release);
    }
}

/// The lock, held.
struct Lock(*mut pg_sys::LWLock);

impl Drop for Lock {
    fn drop(&mut self) {
        // SAFETY: taken by `Jobs::lock`; nothing raises while it is held.
        unsafe { pg_sys::LWLockRelease(self.0) };
    }
}

impl Jobs {
    fn lock(&self) -> Lock {
        // SAFETY: a lock of the tranche, which this process does not hold.
        unsafe {
            let lock = &raw mut (*self.lock).lock;
            pg_sys::LWLockAcquire(lock, pg_sys::LWLockMode::LW_EXCLUSIVE);
            Lock(lock)
        }
    }

    /// What the lock protects of a kind.
    #[allow(clippy::mut_from_ref)]
    fn limited(&self, number: usize, _: &Lock) -> &mut Limited {
        // SAFETY: the lock is held, and nobody keeps the reference for longer.
        unsafe { &mut *self.kinds[number].limits.get() }
    }

    /// The entry of this number.
    pub fn kind(&self, number: usize) -> &'static KindMemory {
        &self.kinds[number]
    }

    /// The entry of a kind of a database, if it has one.
    pub fn find(&self, database: u32, kind: u32) -> Option<usize> {
        self.kinds.iter().position(|entry| {
            entry.database.load(Acquire) == database && entry.kind.load(Acquire) == kind
        })
    }

    /// The number of the entry of a kind of a database, which is made if need be; none if there is no room.
    pub fn number_of(&self, database: u32, kind: u32) -> Option<usize> {
        if let Some(number) = self.find(database, kind) {
            return Some(number);
        }
        let lock = self.lock();
        if let Some(number) = self.find(database, kind) {
            return Some(number);
        }
        let number = self.kinds.iter().position(|entry| entry.database.load(Acquire) == 0)?;
        let entry = &self.kinds[number];
        for counter in [&entry.begun, &entry.done, &entry.failed, &entry.busy_us, &entry.waited_us] {
            counter.store(0, Relaxed);
        }
        entry.longest_wait_us.store(0, Relaxed);
        entry.reason.set("");
        let limited = self.limited(number, &lock);
        limited.running = 0;
        limited.starts.begin(self.begun_us as i64);
        entry.kind.store(kind, Release);
        entry.database.store(database, Release);
        Some(number)
    }

    /// Gives up the entries of a database's kinds that are gone.
    pub fn keep(&self, database: u32, is_there: impl Fn(u32) -> bool) {
        let lock = self.lock();
        for (number, entry) in self.kinds.iter().enumerate() {
            let is_gone = entry.database.load(Acquire) == database && !is_there(entry.kind.load(Acquire));
            if is_gone && self.limited(number, &lock).running == 0 {
                entry.database.store(0, Release);
            }
        }
    }

    /// Asks for an attempt of a kind in this executor, one of `most` that there may be in the database.
    pub fn begin(&self, executor: usize, database: usize, number: usize, limits: &Limits, most: u32) -> Permission {
        let lock = self.lock();
        let limited = self.limited(number, &lock);
        let others = self.running[database].load(Relaxed).saturating_sub(limited.running);
        if limited.running >= allowed(limits, others, most) {
            return Permission::Full;
        }
        if let Some(rate) = limits.rate {
            let now = now_us() as i64;
            if let Err(free) = limited.starts.start(rate, now) {
                return Permission::In((free - now).unsigned_abs());
            }
        }
        limited.running += 1;
        self.running[database].fetch_add(1, Relaxed);
        let slot = &self.slots[executor];
        slot.database.store(database as u32, Relaxed);
        slot.kind.store(number as u32 + 1, Release);
        Permission::Granted
    }

    /// Whether another attempt of the kind might begin now, as far as those that run tell.
    pub fn has_room(&self, database: usize, number: usize, limits: &Limits, most: u32) -> bool {
        let lock = self.lock();
        let running = self.limited(number, &lock).running;
        let others = self.running[database].load(Relaxed).saturating_sub(running);
        running < allowed(limits, others, most)
    }

    /// The attempt of an executor has ended, or nothing has begun: whether another of its kind could not begin before.
    pub fn end(&self, executor: usize, limits: Option<(&Limits, u32)>) -> bool {
        let slot = &self.slots[executor];
        slot.position.store(0, Relaxed);
        let Some(number) = slot.kind.load(Acquire).checked_sub(1) else { return false };
        let lock = self.lock();
        let limited = self.limited(number as usize, &lock);
        let running = &self.running[slot.database.load(Relaxed) as usize];
        let others = running.load(Relaxed).saturating_sub(limited.running);
        let was_full = limits.is_none_or(|(limits, most)| limited.running >= allowed(limits, others, most));
        limited.running = limited.running.saturating_sub(1);
        running.fetch_sub(1, Relaxed);
        slot.kind.store(0, Release);
        was_full
    }

    /// What an executor runs.
    pub fn slot(&self, executor: usize) -> &'static Slot {
        &self.slots[executor]
    }

    /// Notes which job an executor has taken: an attempt begins.
    pub fn note(&self, executor: usize, running: Running) {
        let slot = &self.slots[executor];
        slot.turn(false);
        slot.progress.store(0, Relaxed);
        slot.remark.set("");
        slot.queue.store(running.queue, Relaxed);
        slot.attempt.store(running.attempt, Relaxed);
        slot.began_at.store(running.began_at, Relaxed);
        slot.position.store(running.position, Release);
        slot.turn(true);
    }

    /// The attempt that an executor runs is over: a cancel that comes now is void. Whether one has come before.
    pub fn over(&self, executor: usize) -> bool {
        let slot = &self.slots[executor];
        let is_cancelled = slot.is_cancelled();
        slot.turn(false);
        is_cancelled
    }

    /// Cancels the attempt of a job that runs; the number of its executor, which is to be signalled. None if it does not run.
    pub fn cancel(&self, database: usize, queue: u32, position: u64) -> Option<usize> {
        let is_it = |slot: &Slot| {
            slot.position.load(Acquire) == position
                && slot.queue.load(Relaxed) == queue
                && slot.database.load(Relaxed) == database as u32
                && slot.kind.load(Relaxed) != 0
        };
        let executor = self.slots.iter().position(is_it)?;
        let slot = &self.slots[executor];
        let sequence = slot.sequence.load(SeqCst);
        // It is still the same attempt that is of this job.
        if sequence % 2 == 0 || !is_it(slot) || slot.sequence.load(SeqCst) != sequence {
            return None;
        }
        slot.cancelled.store(sequence, SeqCst);
        Some(executor)
    }

    /// Notes how far the attempt of this executor is.
    pub fn tell(&self, executor: usize, thousandths: u32, remark: &str) {
        let slot = &self.slots[executor];
        slot.progress.store(thousandths + 1, Relaxed);
        slot.remark.set(remark);
    }

    /// Whether another executor has a job: it has failed there, and that is being noted.
    pub fn is_held(&self, executor: usize, database: usize, queue: u32, position: u64) -> bool {
        self.slots.iter().enumerate().any(|(other, slot)| {
            other != executor
                && slot.position.load(Acquire) == position
                && slot.queue.load(Relaxed) == queue
                && slot.database.load(Relaxed) == database as u32
                && slot.kind.load(Relaxed) != 0
        })
    }

    /// The jobs of a database that run, each with the number of its executor.
    pub fn running(&self, database: usize) -> impl Iterator<Item = (usize, Running)> {
        self.slots.iter().enumerate().filter_map(move |(executor, slot)| {
            let position = slot.position.load(Acquire);
            let is_it = position != 0
                && slot.kind.load(Relaxed) != 0
                && slot.database.load(Relaxed) == database as u32;
            is_it.then(|| {
                let running = Running {
                    queue: slot.queue.load(Relaxed),
                    position,
                    attempt: slot.attempt.load(Relaxed),
                    began_at: slot.began_at.load(Relaxed),
                };
                (executor, running)
            })
        })
    }

    /// How many of a kind run.
    pub fn running_of(&self, number: usize) -> u32 {
        let lock = self.lock();
        self.limited(number, &lock).running
    }
}

/// How many attempts of a kind may run at the same time, with so many of others and so many executors at most. A kind that says nothing has
/// its share of the executors that the others leave, so that each of them finds one free.
fn allowed(limits: &Limits, others: u32, most: u32) -> u32 {
    limits.at_once.unwrap_or_else(|| {
        let left = most.saturating_sub(others);
        (left * settings::JOB_SHARE.get() as u32).div_ceil(100).max(1)
    })
}
