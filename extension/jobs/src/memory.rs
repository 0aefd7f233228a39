//! The shared memory of jobs: what runs, and what limits ask for. Nothing in it is the truth about a job; that is in its queue.

use std::cell::UnsafeCell;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering::*};

use pgrx::pg_sys;
use registry::Text;
use schedule::{Rate, Starts};
use shared::settings;
use shared::{Part, now_us, shared};

use crate::clock::Clock;
use crate::record::Record;
use crate::slots::{Company, Running, Slot};
use crate::solitude::Solitude;
use crate::walk::Walk;

/// What is known of a kind.
#[repr(C, align(128))]
pub struct KindMemory {
    database: AtomicU32,
    kind: AtomicU32,
    /// The role that has defined it; 0 while nobody has committed that.
    owner: AtomicU32,
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

/// Where an executor sits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Seat {
    /// Its number among the workers.
    pub executor: usize,
    /// Its database, by its index.
    pub database: usize,
    /// The same by its oid.
    pub oid: u32,
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
    /// It may, and counts as begun now, by `now_us`.
    Granted(u64),
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
    /// What is kept about suspects.
    solitude: &'static Solitude,
    /// How many there were when the server began.
    suspects: usize,
    /// For each database: keys that have been given up since its table of keys was last vacuumed.
    dead_keys: &'static [AtomicU32],
    running: &'static [AtomicU32],
    walks: &'static [Walk],
    clocks: &'static [Clock],
    kinds: &'static [KindMemory],
    pub(crate) record: &'static Record,
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

/// Where what is kept about suspects begins, behind the kinds.
fn solitude_at() -> usize {
    size_of::<KindMemory>() * kinds()
}

/// Where the numbers of what runs in each database begin.
fn running_at() -> usize {
    solitude_at() + size_of::<Solitude>()
}

/// Where the numbers of keys that have been given up begin.
fn dead_keys_at() -> usize {
    running_at() + size_of::<AtomicU32>() * databases()
}

/// Where the walks through what is old begin.
fn walks_at() -> usize {
    (dead_keys_at() + size_of::<AtomicU32>() * databases()).next_multiple_of(align_of::<Walk>())
}

/// Where the times begin at which schedules are looked at next.
fn clocks_at() -> usize {
    walks_at() + size_of::<Walk>() * databases()
}

fn bytes() -> usize {
    clocks_at() + size_of::<Clock>() * databases()
}

/// The file of what runs, once it is mapped.
static RECORD: AtomicPtr<Record> = AtomicPtr::new(std::ptr::null_mut());

/// The file of what runs: mapped once in the life of the postmaster.
fn record() -> &'static Record {
    // SAFETY: null, or mapped for good.
    if let Some(known) = unsafe { RECORD.load(Acquire).as_ref() } {
        return known;
    }
    let record = Record::map();
    RECORD.store(std::ptr::from_ref(record).cast_mut(), Release);
    record
}

fn request_locks() {
    // SAFETY: called in the hook that PostgreSQL has for it.
    unsafe { pg_sys::RequestNamedLWLockTranche(TRANCHE.as_ptr(), 1) };
}

/// # Safety
/// Memory of [`bytes`], aligned and full of zeros, in the postmaster.
unsafe fn lay_out(memory: NonNull<u8>) {
    let record = record();
    record.settle();
    // SAFETY: by contract; zeros are the empty state of everything. The tranche has been asked for.
    unsafe {
        let at = |offset: usize| memory.add(offset).as_ptr();
        let jobs = Jobs {
            begun_us: now_us(),
            solitude: &*at(solitude_at()).cast(),
            suspects: record.suspects(),
            dead_keys: std::slice::from_raw_parts(at(dead_keys_at()).cast(), databases()),
            running: std::slice::from_raw_parts(at(running_at()).cast(), databases()),
            walks: std::slice::from_raw_parts(at(walks_at()).cast(), databases()),
            clocks: std::slice::from_raw_parts(at(clocks_at()).cast(), databases()),
            kinds: std::slice::from_raw_parts(at(0).cast(), kinds()),
            record,
            lock: pg_sys::GetNamedLWLockTranche(TRANCHE.as_ptr()),
        };
        // The few words of an earlier life are not given back: children forked before may use them.
        JOBS.store(Box::into_raw(Box::new(jobs)), Release);
    }
}

/// The lock, held.
pub(crate) struct Lock(*mut pg_sys::LWLock);

impl Drop for Lock {
    fn drop(&mut self) {
        // SAFETY: taken by `Jobs::lock`; nothing raises while it is held.
        unsafe { pg_sys::LWLockRelease(self.0) };
    }
}

impl Jobs {
    pub(crate) fn lock(&self) -> Lock {
        // SAFETY: a lock of the tranche, which this process does not hold.
        unsafe {
            let lock = &raw mut (*self.lock).lock;
            pg_sys::LWLockAcquire(lock, pg_sys::LWLockMode::LW_EXCLUSIVE);
            Lock(lock)
        }
    }

    /// How many suspects there were when the server began.
    pub(crate) fn suspects(&self) -> usize {
        self.suspects
    }

    /// What is kept about suspects.
    pub(crate) fn solitude(&self) -> &'static Solitude {
        self.solitude
    }

    /// One more attempt of a kind runs.
    pub(crate) fn count_in(&self, seat: Seat, number: usize, lock: &Lock) {
        self.limited(number, lock).running += 1;
        self.running[seat.database].fetch_add(1, Relaxed);
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
        self.kinds
            .iter()
            .position(|entry| entry.database.load(Acquire) == database && entry.kind.load(Acquire) == kind)
    }

    /// The same of a kind that a role has defined and committed, which executors have read.
    pub fn number_of_committed(&self, database: u32, kind: u32, owner: u32) -> Option<usize> {
        let number = self.number_of(database, kind)?;
        self.kinds[number].owner.store(owner, Relaxed);
        Some(number)
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
        entry.owner.store(0, Relaxed);
        entry.kind.store(kind, Release);
        entry.database.store(database, Release);
        Some(number)
    }

    /// Whether there is no room for another kind.
    pub(crate) fn is_full(&self) -> bool {
        self.kinds.iter().all(|entry| entry.database.load(Acquire) != 0)
    }

    /// Gives up the entries of databases that are gone. Inside a transaction.
    pub(crate) fn keep_databases(&self) {
        let known: Vec<u32> = self.kinds.iter().map(|entry| entry.database.load(Acquire)).collect();
        for database in
            known.into_iter().filter(|database| *database != 0 && !pg::catalog::is_database(*database))
        {
            self.keep(database, |_| false);
        }
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

    /// Asks for an attempt of a kind in this executor, of a database with so many executors at most.
    pub fn begin(&self, seat: Seat, number: usize, limits: &Limits, most: u32) -> Permission {
        let lock = self.lock();
        let limited = self.limited(number, &lock);
        let others = self.running[seat.database].load(Relaxed).saturating_sub(limited.running);
        let is_full = limited.running >= allowed(limits, others, most);
        if is_full || self.is_kept_for_others(seat.database, number, most, &lock) || self.is_left_to_another()
        {
            return Permission::Full;
        }
        let now = now_us();
        if let Some(rate) = limits.rate
            && let Err(free) = limited.starts.start(rate, now as i64)
        {
            return Permission::In((free - now as i64).unsigned_abs());
        }
        limited.running += 1;
        self.running[seat.database].fetch_add(1, Relaxed);
        self.slot(seat.executor).open(number, seat.database, seat.oid, Company::Any);
        Permission::Granted(now)
    }

    /// Whether another attempt of the kind might begin now, as far as those that run tell.
    pub fn has_room(&self, database: usize, number: usize, limits: &Limits, most: u32) -> bool {
        let lock = self.lock();
        let running = self.limited(number, &lock).running;
        let others = self.running[database].load(Relaxed).saturating_sub(running);
        running < allowed(limits, others, most) && !self.is_kept_for_others(database, number, most, &lock)
    }

    /// Whether the last executor is kept from a kind for other owners.
    fn is_kept_for_others(&self, database: usize, number: usize, most: u32, lock: &Lock) -> bool {
        let running = self.running[database].load(Relaxed);
        // Kinds are gone through for the last one alone.
        if running + 1 < most {
            return false;
        }
        let its = &self.kinds[number];
        let (oid, owner) = (its.database.load(Relaxed), its.owner.load(Relaxed));
        let (mut of_owner, mut others_have_kinds) = (0, false);
        for (number, entry) in self.kinds.iter().enumerate() {
            if entry.database.load(Relaxed) != oid {
                continue;
            }
            match entry.owner.load(Relaxed) {
                0 => {}
                known if known == owner => of_owner += self.limited(number, lock).running,
                _ => others_have_kinds = true,
            }
        }
        schedule::is_kept_for_others(running, most, of_owner, others_have_kinds)
    }

    /// The attempt of an executor has ended, or nothing has begun: whether another of its kind could not begin before.
    pub fn end(&self, executor: usize, limits: Option<(&Limits, u32)>) -> bool {
        let slot = self.slot(executor);
        let Some((number, database)) = slot.kind() else { return false };
        let lock = self.lock();
        let limited = self.limited(number, &lock);
        let running = &self.running[database];
        let total = running.load(Relaxed);
        let others = total.saturating_sub(limited.running);
        // Near the end of the executors others have waited, too.
        let was_full = limits.is_none_or(|(limits, most)| {
            total + 1 >= most || limited.running >= allowed(limits, others, most)
        });
        limited.running = limited.running.saturating_sub(1);
        running.fetch_sub(1, Relaxed);
        slot.close();
        was_full || self.solitude.leave(executor)
    }

    /// Nothing of a kind has begun that was granted then.
    pub(crate) fn take_back(&self, number: usize, granted: u64) {
        let lock = self.lock();
        self.limited(number, &lock).starts.take_back(granted as i64);
    }

    /// What an executor runs.
    pub fn slot(&self, executor: usize) -> &'static Slot {
        &self.record.slots[executor]
    }

    /// Whether another executor has a job: it has failed there, and that is being noted.
    pub fn is_held(&self, executor: usize, database: usize, queue: u32, position: u64) -> bool {
        let mut others = self.record.slots.iter().enumerate().filter(|(other, _)| *other != executor);
        others.any(|(_, slot)| slot.has(database, queue, position))
    }

    /// The jobs of a database that run, each with the number of its executor.
    pub fn running(&self, database: usize) -> impl Iterator<Item = (usize, Running)> {
        let all = self.record.slots.iter().enumerate();
        all.filter_map(move |(executor, slot)| {
            slot.running().filter(|(of, _)| *of == database).map(|(_, running)| (executor, running))
        })
    }

    /// The number of the executor that runs a job; none if none does.
    pub(crate) fn executor_of(&self, database: usize, queue: u32, position: u64) -> Option<usize> {
        self.record.slots.iter().position(|slot| slot.has(database, queue, position))
    }

    /// The walk through what is old in a database.
    pub(crate) fn walk(&self, database: usize) -> &'static Walk {
        &self.walks[database]
    }

    /// When schedules of a database are looked at next.
    pub(crate) fn clock(&self, database: usize) -> &'static Clock {
        &self.clocks[database]
    }

    /// A key of a database has been given up.
    pub(crate) fn count_dead_key(&self, database: usize) {
        self.dead_keys[database].fetch_add(1, Relaxed);
    }

    /// Whether so many keys have been given up that their table is to be vacuumed; of those that ask one is told so.
    pub(crate) fn are_keys_to_be_vacuumed(&self, database: usize, live: u32) -> bool {
        const FEW: u32 = 1000;
        let dead = self.dead_keys[database].load(Relaxed);
        dead >= FEW.max(live / 2)
            && self.dead_keys[database].compare_exchange(dead, 0, Relaxed, Relaxed).is_ok()
    }

    /// How many of a kind run.
    pub fn running_of(&self, number: usize) -> u32 {
        let lock = self.lock();
        self.limited(number, &lock).running
    }
}

/// How many attempts of a kind may run at the same time, with so many of others and so many executors at most.
fn allowed(limits: &Limits, others: u32, most: u32) -> u32 {
    schedule::allowed(limits.at_once, settings::JOB_SHARE.get() as u32, others, most)
}

/// The index of this session's database.
pub(crate) fn own_database() -> Option<usize> {
    // SAFETY: PostgreSQL's own variable.
    let oid = unsafe { pg_sys::MyDatabaseId }.to_u32();
    shared().databases.iter().position(|database| !database.is_unused() && database.oid() == oid)
}
