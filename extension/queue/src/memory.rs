//! The shared memory of queues: what saves searching. Nothing in it is the truth but the next position.
//!
//! A queue's entry is found by its number in the queue's definition; entries of queues that are gone are reused
//! when there is no other. Each has a lock of PostgreSQL's, which PostgreSQL gives back when a transaction fails.

use std::cell::UnsafeCell;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering::*};

use claims::{Clock, Entry, Span};
use pg::refuse::refuse_with_hint;
use pgrx::pg_sys;
use pgrx::prelude::*;
use shared::settings::{self, MAX_WORKERS_EVER as MAX_WORKERS};
use shared::{AtomicTick, Part, Tick, tick};

use super::SEGMENTS;
use super::bell::Bell;
use super::transactions::Server;

/// The cursor and the watch list of a segment.
pub(crate) type Watch = claims::Watch<Places>;

/// The places of a watch list, which stand behind all queues.
pub(crate) struct Places {
    first: *mut Entry,
    count: usize,
}

impl AsRef<[Entry]> for Places {
    fn as_ref(&self) -> &[Entry] {
        // SAFETY: so many are there, and whoever has the queue's lock alone uses them.
        unsafe { std::slice::from_raw_parts(self.first, self.count) }
    }
}

impl AsMut<[Entry]> for Places {
    fn as_mut(&mut self) -> &mut [Entry] {
        // SAFETY: as above.
        unsafe { std::slice::from_raw_parts_mut(self.first, self.count) }
    }
}

/// Places of a watch list: for each transaction that can run at once, for what waits for times, and some to spare. In the
/// postmaster, once it knows how many processes there may be.
pub fn places() -> usize {
    const SPARE: usize = 32;
    // SAFETY: PostgreSQL's own variables.
    let transactions = unsafe { pg_sys::MaxBackends + pg::max_prepared_xacts };
    transactions as usize + SPARE
}

/// What is known of a segment.
#[repr(C)]
pub(crate) struct SegmentMemory {
    /// Where free rows may be.
    pub watch: Watch,
    /// Whether its tables are known to be empty, but for a few marks in the ledger.
    pub is_clean: bool,
    /// Whether it was compacted and has not been written to since: but for a few rows it is empty, and may be written to.
    pub is_small: bool,
    /// Whether its ledger was many times as large as its rows when somebody last looked.
    pub is_swollen: bool,
    /// How many rows were written to it since it was truncated, roughly: also those of transactions that go on. Who looks through its ledger
    /// puts both numbers right.
    pub rows: u64,
    /// How many of them were consumed, roughly.
    pub consumed: u64,
    /// How many had been when somebody last asked whether little is left.
    pub consumed_before: u64,
    /// When somebody last looked through its ledger to find out whether it can be truncated, or saw no reason to.
    pub looked: Tick,
    /// How many microseconds that took.
    pub took: u64,
    /// Whether what stays in it is moved to another.
    pub removal: Removal,
    /// Above the last position that its ledger speaks of, as far as is known.
    pub told: u64,
    /// The last transaction that has moved rows to another segment, or none if it is 0: it is truncated once every snapshot sees
    /// them there.
    pub moved: u64,
    /// The last transaction that has moved rows to it, or none if it is 0: what stays is not frozen before every snapshot sees it here.
    pub received: u64,
    /// Where the next rows are to be moved from; 0 for the beginning.
    pub moving: u64,
    /// Pages of its ledger that say how far producers of other segments are.
    pub carried: u32,
}

/// How far what stays in a segment is moved to another.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(crate) enum Removal {
    /// It is not.
    None = 0,
    /// Whoever comes by moves a slice.
    UnderWay,
    /// All was moved; it is to be looked whether something is left.
    Done,
}

impl SegmentMemory {
    /// Positions from a span are given out to a transaction, which will write so many rows. See [`Watch::reserve`].
    pub(crate) fn reserve(&mut self, transaction: u64, span: Span, rows: usize, until: i64, server: &Server) {
        self.is_clean = false;
        self.told = self.told.max(span.end);
        self.rows += rows as u64;
        self.watch.reserve(transaction, span, until, server);
    }

    /// How many of its rows are not consumed, roughly.
    pub(crate) fn live(&self) -> u64 {
        self.rows.saturating_sub(self.consumed)
    }

    /// So many rows of it were not consumed when `before` was noted, its rows and what was consumed of them.
    pub(crate) fn recount(&mut self, live: u64, before: (u64, u64)) {
        let (rows, consumed) = before;
        self.rows = (self.rows + live + consumed).saturating_sub(rows);
    }

    /// How many rows it has had, and how many of them were consumed, roughly.
    pub(crate) fn counts(&self) -> (u64, u64) {
        (self.rows, self.consumed)
    }

    /// So many rows of it are not consumed, and so many were.
    pub(crate) fn count(&mut self, live: u64, consumed: u64) {
        (self.rows, self.consumed, self.consumed_before) = (live + consumed, consumed, consumed);
    }
}

/// What the lock of a queue protects.
#[repr(C)]
pub struct State {
    /// Whether the rest has been found out since the server started.
    pub is_known: bool,
    /// Whether rows have been counted since then.
    pub(crate) is_counted: bool,
    /// The next position to be given out.
    pub next: u64,
    /// The time of the latest claim: claims are in order even if the server's clock goes back.
    clock: Clock,
    /// The segment that is written to.
    pub open: usize,
    /// When somebody last tried to truncate a segment.
    pub tidied: Tick,
    /// The next position then.
    pub tidied_at: u64,
    /// When a taker last looked how large the segments are.
    pub measured: Tick,
    /// When a segment was last truncated, or an executor tried.
    pub kept_up: Tick,
    /// The segments.
    pub(crate) segments: [SegmentMemory; SEGMENTS],
}

impl State {
    /// The time as it is for this queue: it never goes back, whatever the server's clock does.
    pub fn clock(&self) -> i64 {
        self.clock.time(super::wall_time(), tick().microseconds())
    }

    /// Something is claimed at a time of the queue.
    pub(crate) fn note_claim(&mut self, time: i64) {
        self.clock.note(time, tick().microseconds());
    }

    /// Nothing is known of claims.
    pub(crate) fn forget_claims(&mut self) {
        self.clock = Clock::default();
    }

    /// Somebody begins to truncate: takers leave it to them for a while.
    pub(crate) fn note_tidying(&mut self) {
        (self.tidied, self.tidied_at) = (tick(), self.next);
    }

    /// Whether a segment may be written to next.
    pub fn is_free(&self, number: usize) -> bool {
        self.segments[number].is_clean || self.segments[number].is_small
    }

    /// The earliest time at which a row may become free by itself, as far as that is known.
    pub fn next_time(&self, now: i64) -> Option<i64> {
        let segments = if self.is_known { &self.segments[..] } else { &[] };
        segments.iter().filter_map(|segment| segment.watch.next_time(now)).min()
    }
}

/// The entry of a queue.
#[repr(C, align(128))]
pub struct QueueMemory {
    database: AtomicU32,
    queue: AtomicU32,
    /// The table of its first segment's rows: a queue that was restored may have the number of one that is gone.
    table: AtomicU32,
    /// Rows that may have become free: who waits for rows looks again when it changes.
    arrivals: AtomicU64,
    /// Changes whenever rows may have become free, or times have changed.
    news: AtomicU64,
    /// The number of the bell that rings then, plus one; 0 for none.
    bell: AtomicU32,
    /// A bit for each gateway that has requests waiting for rows.
    gateways: [AtomicU64; MAX_WORKERS / 64],
    waiting: UnsafeCell<pg_sys::ConditionVariable>,
    /// When somebody last looked whether others have written to the ledgers.
    compared: AtomicTick,
    /// How many wait for the lock.
    contenders: AtomicU32,
    state: UnsafeCell<State>,
}

// SAFETY: `state` is used under the queue's lock, `waiting` by PostgreSQL's functions, which lock it.
unsafe impl Sync for QueueMemory {}

/// All queues: a part of the shared memory.
pub const PART: Part = Part { bytes, request_locks, lay_out };

/// Null until the shared memory stands.
static QUEUES: AtomicPtr<Queues> = AtomicPtr::new(std::ptr::null_mut());

/// The queues that have been used since the server started; an error in a session of a server that does not preload the library.
pub fn queues() -> &'static Queues {
    // SAFETY: null, or a leaked box that is never freed.
    match unsafe { QUEUES.load(Relaxed).as_ref() } {
        Some(queues) => queues,
        None => shared::not_preloaded(),
    }
}

fn count() -> usize {
    settings::MAX_QUEUES.get() as usize
}

/// Bells: one for each database.
fn bells() -> usize {
    settings::MAX_DATABASES.get() as usize
}

/// Where the bells begin, behind the entries.
fn hung() -> usize {
    (size_of::<QueueMemory>() * count()).next_multiple_of(align_of::<Bell>())
}

/// Where the places of watch lists begin, behind the bells.
fn watched() -> usize {
    (hung() + size_of::<Bell>() * bells()).next_multiple_of(align_of::<QueueMemory>())
}

fn bytes() -> usize {
    watched() + size_of::<Entry>() * count() * SEGMENTS * places()
}

fn request_locks() {
    // SAFETY: called in the hook that PostgreSQL has for it. One is for the table of entries.
    unsafe { pg_sys::RequestNamedLWLockTranche(TRANCHE.as_ptr(), count() as i32 + 1) };
}

/// # Safety
/// Memory of [`bytes`], aligned and full of zeros, in the postmaster.
unsafe fn lay_out(memory: NonNull<u8>) {
    // SAFETY: by contract; zeros are the empty state of an entry.
    unsafe {
        let entries = std::slice::from_raw_parts(memory.as_ptr().cast(), count());
        let bells = std::slice::from_raw_parts(memory.add(hung()).as_ptr().cast(), bells());
        let queues = Queues::new(entries, bells, memory.add(watched()).as_ptr().cast());
        // The few words of an earlier life are not given back: children forked before may use them.
        QUEUES.store(Box::into_raw(Box::new(queues)), Release);
    }
}

/// All queues.
pub struct Queues {
    entries: &'static [QueueMemory],
    bells: &'static [Bell],
    /// The first is for the table of entries; the others belong to the entries in their order.
    locks: *mut pg_sys::LWLockPadded,
}

// SAFETY: the locks are in shared memory and made for this.
unsafe impl Sync for Queues {}
// SAFETY: as above.
unsafe impl Send for Queues {}

/// Microseconds after which one looks again whether others still wait for a lock.
const NAP: i64 = 100;
/// So often at most.
const NAPS: usize = 10;

const TRANCHE: &std::ffi::CStr = c"howdah_queue";

impl Queues {
    /// The queues, on memory full of zeros. In the postmaster.
    ///
    /// # Safety
    /// At `places` there are [`places`] for each segment of each queue, zeros too, which nothing else uses.
    unsafe fn new(entries: &'static [QueueMemory], bells: &'static [Bell], places: *mut Entry) -> Queues {
        let count = self::places();
        for (number, entry) in entries.iter().enumerate() {
            // SAFETY: nobody else is attached yet; the places by contract.
            unsafe {
                pg_sys::ConditionVariableInit(entry.waiting.get());
                for (segment, memory) in (*entry.state.get()).segments.iter_mut().enumerate() {
                    let first = places.add((number * SEGMENTS + segment) * count);
                    (&raw mut memory.watch).write(Watch::on(Places { first, count }));
                }
            }
        }
        // SAFETY: the tranche has been asked for.
        Queues { entries, bells, locks: unsafe { pg_sys::GetNamedLWLockTranche(TRANCHE.as_ptr()) } }
    }

    fn lock_of(&self, number: usize) -> *mut pg_sys::LWLock {
        // SAFETY: there is a lock for the table and one for each entry.
        unsafe { &raw mut (*self.locks.add(number)).lock }
    }

    /// The number of a queue's entry, if it has one.
    pub(crate) fn find(&self, queue: u32, table: pg_sys::Oid) -> Option<usize> {
        // SAFETY: PostgreSQL's own variable.
        let database = unsafe { pg_sys::MyDatabaseId }.to_u32();
        self.entries.iter().position(|entry| {
            entry.has_number(database, queue) && entry.table.load(Acquire) == table.to_u32()
        })
    }

    /// The number of a queue's entry, which is made if need be; none if there is no room. `existing` has the queues of this database that
    /// exist for anybody: as long as a transaction may still use one, its entry is not given to another.
    pub(crate) fn number_of(
        &self,
        queue: u32,
        table: pg_sys::Oid,
        existing: impl Fn() -> Vec<u32>,
    ) -> Option<usize> {
        if let Some(number) = self.find(queue, table) {
            return Some(number);
        }
        // SAFETY: PostgreSQL's own variable.
        let database = unsafe { pg_sys::MyDatabaseId }.to_u32();
        let _table = Lock::take(self.lock_of(0));
        if let Some(number) = self.find(queue, table) {
            return Some(number);
        }
        let is_free = |entry: &QueueMemory| entry.database.load(Acquire) == 0;
        let free = self.entries.iter().position(is_free);
        let gone = || {
            let existing = existing();
            self.entries.iter().position(|entry| entry.is_gone(database, &existing))
        };
        // Whoever has dropped or made its tables keeps all others from both.
        let other = self.entries.iter().position(|entry| entry.has_number(database, queue));
        let number = other.or(free).or_else(gone)?;
        let entry = &self.entries[number];
        entry.database.store(0, Release);
        entry.bell.store(0, SeqCst);
        {
            let _lock = Lock::take(self.lock_of(number + 1));
            // SAFETY: the lock is held; zero is the state of which nothing is known.
            unsafe { (*entry.state.get()).is_known = false };
        }
        entry.queue.store(queue, Release);
        entry.table.store(table.to_u32(), Release);
        entry.database.store(database, Release);
        Some(number)
    }

    /// An error: there is room for no more.
    pub(crate) fn refuse_full(&self) -> ! {
        refuse_with_hint(
            PgSqlErrorCode::ERRCODE_CONFIGURATION_LIMIT_EXCEEDED,
            &format!("{} queues are in use, and there is room for no more", self.entries.len()),
            "Raise howdah.max_queues and restart the server.",
        );
    }

    /// Queues of this database that have rows, consumed or not, and of which for so many microseconds nobody has truncated a
    /// segment, nor an executor tried to; as of now one has.
    pub(crate) fn neglected(&self, microseconds: u64) -> Vec<u32> {
        // SAFETY: PostgreSQL's own variable.
        let database = unsafe { pg_sys::MyDatabaseId }.to_u32();
        let now = tick();
        let is_neglected = |number: &usize| {
            let entry = &self.entries[*number];
            if entry.database.load(Acquire) != database {
                return false;
            }
            let mut lock = self.lock(*number);
            let has_rows = lock.is_known && lock.segments.iter().any(|segment| !segment.is_clean);
            let is_neglected = has_rows && now.since(lock.kept_up) >= microseconds;
            if is_neglected {
                lock.kept_up = now;
            }
            is_neglected
        };
        let numbers = (0..self.entries.len()).filter(is_neglected);
        numbers.map(|number| self.entries[number].queue.load(Acquire)).collect()
    }

    /// The entries of queues of this database.
    pub(crate) fn of_this_database(&self) -> impl Iterator<Item = &'static QueueMemory> {
        // SAFETY: PostgreSQL's own variable.
        let database = unsafe { pg_sys::MyDatabaseId }.to_u32();
        self.entries.iter().filter(move |entry| entry.database.load(Acquire) == database)
    }

    /// The bell of a database, by its index.
    pub fn bell(&self, database: usize) -> &'static Bell {
        &self.bells[database]
    }

    /// The entry of this number.
    pub fn entry(&self, number: usize) -> &'static QueueMemory {
        &self.entries[number]
    }

    /// Locks an entry. Nothing that waits for a heavy lock may be called while it is held.
    pub(crate) fn lock(&self, number: usize) -> Locked {
        let (entry, lock) = (&self.entries[number], self.lock_of(number + 1));
        let lock = Lock::try_take(lock).unwrap_or_else(|| {
            entry.contenders.fetch_add(1, Relaxed);
            let lock = Lock::take(lock);
            entry.contenders.fetch_sub(1, Relaxed);
            lock
        });
        Locked { _lock: lock, state: entry.state.get() }
    }

    /// The same for who must not wait: none if the lock cannot be had at once.
    pub fn try_lock(&self, number: usize) -> Option<Locked> {
        let lock = Lock::try_take(self.lock_of(number + 1))?;
        Some(Locked { _lock: lock, state: self.entries[number].state.get() })
    }
}

impl QueueMemory {
    fn has_number(&self, database: u32, queue: u32) -> bool {
        self.database.load(Acquire) == database && self.queue.load(Acquire) == queue
    }

    /// Whether its queue is gone.
    fn is_gone(&self, database: u32, existing: &[u32]) -> bool {
        match self.database.load(Acquire) {
            own if own == database => !existing.contains(&self.queue.load(Acquire)),
            other => !pg::catalog::is_database(other),
        }
    }

    /// Whether nobody has looked for so many microseconds whether others have written to the ledgers; now somebody has.
    pub(crate) fn is_comparison_due(&self, microseconds: u64) -> bool {
        self.compared.renew(tick(), microseconds)
    }

    /// Lets those go first who wait for the lock: PostgreSQL's gives it to whoever comes first once it is free, and that is who
    /// has just had it. For who takes it again and again. Serves interrupts.
    pub(crate) fn give_way(&self) {
        for _ in 0..NAPS {
            pgrx::check_for_interrupts!();
            if self.contenders.load(Relaxed) == 0 {
                return;
            }
            // SAFETY: sleeps.
            unsafe { pg_sys::pg_usleep(NAP) };
        }
    }

    /// How many rows may have become free so far.
    pub fn arrivals(&self) -> u64 {
        self.arrivals.load(SeqCst)
    }

    /// Counts rows that may have become free. Wake the gateways afterwards.
    pub(crate) fn arrive(&self, rows: u64) {
        self.arrivals.fetch_add(rows, SeqCst);
    }

    /// A number that differs from an earlier one when rows may have become free since, or times have changed.
    pub fn news(&self) -> u64 {
        self.news.load(SeqCst)
    }

    /// Whoever waits is about to be woken.
    pub(crate) fn note_news(&self) {
        self.news.fetch_add(1, SeqCst);
    }

    /// Has the bell of this number rung from now on. Look at the queue afterwards.
    pub fn hang_on(&self, bell: usize) {
        self.bell.store(bell as u32 + 1, SeqCst);
    }

    /// The bell that it hangs on.
    pub(crate) fn bell(&self) -> Option<&'static Bell> {
        self.bell.load(SeqCst).checked_sub(1).map(|number| queues().bell(number as usize))
    }

    /// Has the gateway of this number woken by the next change. Look at the arrivals and times afterwards: whoever
    /// changes them looks at the gateways afterwards, so one of the two sees the other.
    pub fn call_gateway(&self, number: usize) {
        self.gateways[number / 64].fetch_or(1 << (number % 64), SeqCst);
    }

    /// Whether that gateway has not been woken since.
    pub fn is_called(&self, number: usize) -> bool {
        self.gateways[number / 64].load(SeqCst) >> (number % 64) & 1 == 1
    }

    /// The gateways that are to be woken.
    pub(crate) fn called_gateways(&self) -> impl Iterator<Item = usize> {
        let waiting = |(word, bits): (usize, &AtomicU64)| {
            // Most of the time nobody waits: then it is a load.
            let bits = if bits.load(SeqCst) == 0 { 0 } else { bits.swap(0, SeqCst) };
            (0..64).filter(move |bit| bits >> bit & 1 == 1).map(move |bit| word * 64 + bit)
        };
        self.gateways.iter().enumerate().flat_map(waiting)
    }

    /// The condition that rows have come.
    pub fn waiting(&self) -> *mut pg_sys::ConditionVariable {
        self.waiting.get()
    }
}

struct Lock(*mut pg_sys::LWLock);

impl Lock {
    fn take(lock: *mut pg_sys::LWLock) -> Lock {
        // SAFETY: a lock of the tranche, which this process does not hold.
        unsafe { pg_sys::LWLockAcquire(lock, pg_sys::LWLockMode::LW_EXCLUSIVE) };
        Lock(lock)
    }

    fn try_take(lock: *mut pg_sys::LWLock) -> Option<Lock> {
        // SAFETY: as above.
        let taken = unsafe { pg_sys::LWLockConditionalAcquire(lock, pg_sys::LWLockMode::LW_EXCLUSIVE) };
        taken.then(|| Lock(lock))
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // After an error PostgreSQL has reset its count of held interrupts, and gives back locks itself.
        if !std::thread::panicking() {
            // SAFETY: taken by `take`.
            unsafe { pg_sys::LWLockRelease(self.0) };
        }
    }
}

/// A locked entry.
pub struct Locked {
    _lock: Lock,
    state: *mut State,
}

impl Deref for Locked {
    type Target = State;

    fn deref(&self) -> &State {
        // SAFETY: the lock is held.
        unsafe { &*self.state }
    }
}

impl DerefMut for Locked {
    fn deref_mut(&mut self) -> &mut State {
        // SAFETY: the lock is held.
        unsafe { &mut *self.state }
    }
}
