//! Truncating segments that are drained, and those of which little is left.
//!
//! A segment that is drained is truncated by whoever comes by, without waiting for its locks.

use pgrx::pg_sys;
use shared::{Tick, tick};

use super::candidates::{Effort, Pressure, candidates};
use super::compact::{Extent, Remains, Survivor, again, compact, remains, sizes_elsewhere};
use super::definition::Definition;
use super::fullness::{full, has_room, is_empty, is_swollen, pages};
use super::learn::learn;
use super::ledger::{Origin, Row, Scan};
use super::memory::Removal;
use super::rotation::{leave_full, truncate};
use super::segment::{Purpose, Segment};
use super::shift::Shift;
use super::transactions::Server;
use super::{producer, wall_time};

/// Producers whose marks a truncation writes at most. The others are carried over before.
const PRODUCERS: usize = 1_000;

/// What was done.
#[derive(Default)]
pub(crate) struct Tidied {
    /// How many segments were truncated.
    pub truncated: usize,
    /// Segments of which something is to be moved first.
    pub left: Vec<usize>,
}

/// What was found in a segment.
enum Found {
    /// So little that it can be truncated.
    Drained(Drained),
    /// Something is to be moved first.
    Left,
    /// Too much, or somebody uses it.
    Kept,
}

/// A segment that can be truncated.
struct Drained {
    segment: Segment,
    _senders: Senders,
    survivors: Vec<Survivor>,
    /// Those whose marks are to be written.
    producers: Vec<Origin>,
    /// Whether others are left out, of whom the other segments say as much.
    relies_on_others: bool,
    /// Whether what stays is moved instead if somebody uses the segment.
    is_movable: bool,
}

impl Drained {
    fn number(&self) -> usize {
        self.segment.number
    }
}

/// What became of the attempt to truncate a segment.
#[derive(PartialEq, Eq)]
enum Truncated {
    Yes,
    /// Somebody uses it. What stays is to be moved, so that nobody does.
    Left,
    /// Somebody uses it.
    No,
}

/// Pages that a compaction writes anew at most, which is done within some tens of milliseconds.
const COMPACTED: u32 = (4 << 20) / pg_sys::BLCKSZ;

/// Pages from which on a segment is compacted.
fn worth_compacting() -> u32 {
    full() / 4
}

/// Truncates the segments that are drained, and that nobody uses now.
pub(crate) fn tidy(queue: &Definition, effort: Effort) -> Tidied {
    let known = queue.lock().is_known;
    if !known {
        learn(queue, Purpose::Look);
    }
    // First: afterwards this transaction may have locks against senders on the others, and would keep them waiting.
    leave_full(queue);
    let (numbers, is_moving) = {
        let mut lock = queue.lock();
        let numbers = candidates(&mut lock, effort, tick());
        let is_moving: Vec<bool> =
            lock.segments.iter().map(|segment| segment.removal == Removal::UnderWay).collect();
        (numbers, is_moving)
    };
    let mut tidied = Tidied::default();
    // What is truncated is locked until the transaction ends: so all are looked through before.
    let mut drained = Vec::new();
    for number in numbers {
        if is_moving[number] {
            tidied.left.push(number);
            continue;
        }
        match look_through(queue, number, effort) {
            Found::Drained(segment) => drained.push(segment),
            Found::Left => tidied.left.push(number),
            Found::Kept => {}
        }
    }
    let mut has_relied = false;
    for segment in drained {
        let (number, relies) = (segment.number(), segment.relies_on_others);
        if relies && has_relied {
            // Of two that rely on each other one is kept.
            continue;
        }
        match segment.truncate(queue) {
            Truncated::Yes => {
                has_relied |= relies;
                tidied.truncated += 1;
            }
            Truncated::Left => tidied.left.push(number),
            Truncated::No => {}
        }
    }
    let mut lock = queue.lock();
    for number in &tidied.left {
        let memory = &mut lock.segments[*number];
        if memory.removal != Removal::UnderWay {
            (memory.removal, memory.moving) = (Removal::UnderWay, 0);
        }
    }
    if tidied.truncated > 0 {
        lock.kept_up = tick();
    }
    drop(lock);
    tidied
}

/// What a taker's commit does: it truncates what is drained, and moves a slice of what is to be moved.
pub(crate) fn tidy_in_passing(queue: &Definition) {
    let left = tidy(queue, Effort::Passing).left;
    // One at a time: there may be room when it is gone.
    if let Some(number) = left.first() {
        Shift::of(*number).step(queue);
    }
}

/// What is looked through is locked against those who write rows alone, and there are none: the segment is not the open one. What
/// is consumed stays so.
fn look_through(queue: &Definition, number: usize, effort: Effort) -> Found {
    let Some(senders) = Senders::lock_out(queue.tables(number).0) else { return Found::Kept };
    let (carried, is_drained) = {
        let lock = queue.lock();
        let memory = &lock.segments[number];
        if lock.open == number {
            return Found::Kept;
        }
        (memory.carried, memory.watch.is_drained())
    };
    let Some(segment) = Segment::try_open(queue, number, Purpose::Look) else { return Found::Kept };
    // Marks of producers that have sent nothing but empty lines may be many: then those that count are written anew.
    if segment.rows.pages() == 0 && pages(&segment, carried) <= full() / 2 && has_marks_alone(&segment) {
        queue.lock().segments[number].is_clean = is_empty(&segment, carried);
        return Found::Kept;
    }
    if is_drained && !is_seen_elsewhere(queue, &segment) {
        return Found::Kept;
    }
    let begun = tick();
    let remains = remains(&segment, extent(&segment, carried, effort), queue.time());
    note_remains(queue, &segment, begun, remains.as_ref());
    let Some(remains) = remains else { return Found::Kept };
    let (most, blocks) = effort.survivors();
    let live = live_pages(&segment, &remains);
    let is_movable = is_worth_moving(queue, &segment, carried, &remains, live);
    // What fills a quarter of a segment leaves one that nobody would go to.
    if remains.live > most as u64
        || remains.blocks > blocks
        || live > worth_compacting().min(COMPACTED).into()
    {
        return if is_movable { Found::Left } else { Found::Kept };
    }
    if !is_seen_elsewhere(queue, &segment) || remains.live > 0 && !is_seen_here(queue, &segment) {
        return Found::Kept;
    }
    let Some((producers, relies_on_others)) = producers(queue, &segment, effort) else {
        return if effort == Effort::Thorough { Found::Left } else { Found::Kept };
    };
    let survivors = remains.survivors;
    Found::Drained(Drained { segment, _senders: senders, survivors, producers, relies_on_others, is_movable })
}

/// Puts shared memory right about a segment that was looked through while nobody wrote rows.
fn note_remains(queue: &Definition, segment: &Segment, begun: Tick, remains: Option<&Remains>) {
    let now = tick();
    let carried = queue.lock().segments[segment.number].carried;
    let pages = pages(segment, carried);
    let mut lock = queue.lock();
    let memory = &mut lock.segments[segment.number];
    (memory.looked, memory.took) = (now, now.since(begun));
    memory.is_small = has_room(segment, pages);
    memory.removal = Removal::None;
    if let Some(remains) = remains {
        memory.count(remains.live, remains.all - remains.live);
        if remains.live == 0 {
            // Nobody opens it any more, however many come and go. A lease would stay on the list until its time is over.
            memory.watch.pass_all();
        }
    }
}

impl Drained {
    /// Truncates it, unless somebody uses it. It is locked against everybody for as long as that takes, and looking at what
    /// stays once more.
    fn truncate(self, queue: &Definition) -> Truncated {
        let number = self.segment.number;
        let (rows, ledger) = queue.tables(number);
        if !lock_both(rows, ledger) {
            let is_left = self.is_movable && !self.survivors.is_empty();
            return if is_left { Truncated::Left } else { Truncated::No };
        }
        let Some(survivors) = again(&self.segment, &self.survivors) else {
            unlock_both(rows, ledger);
            return Truncated::No;
        };
        let last = {
            let mut lock = queue.lock();
            let last = lock.next.saturating_sub(1);
            let memory = &mut lock.segments[number];
            if survivors.is_empty() {
                memory.watch.pass_all();
            } else if memory.watch.is_drained() {
                memory.watch.look_again(0);
            }
            memory.is_small = !survivors.is_empty();
            last
        };
        if survivors.is_empty() {
            drop(self.segment);
            truncate(queue, number, last, &self.producers);
        } else {
            compact(queue, self.segment, &survivors, last, &self.producers);
            queue.lock().segments[number].count(survivors.len() as u64, 0);
        }
        Truncated::Yes
    }
}

/// How much of a segment is looked for. It is not compacted if it is small with its ledger, and may be written to.
fn extent(segment: &Segment, carried: u32, effort: Effort) -> Extent {
    let pages = pages(segment, carried);
    let is_small = pages < worth_compacting() && !is_swollen(segment, carried);
    if is_small && has_room(segment, pages) { Extent::Most(0) } else { Extent::All(effort.survivors().0) }
}

/// Pages that the survivors of a segment fill, roughly: as if all rows were of one size, but for what they have elsewhere, as what
/// stays may be much larger than what goes.
fn live_pages(segment: &Segment, remains: &Remains) -> u64 {
    let pages = u64::from(segment.rows.pages()) * remains.live / remains.all.max(1);
    if segment.rows.pages_elsewhere() == 0 {
        return pages;
    }
    let known = &remains.survivors;
    let elsewhere: u64 = sizes_elsewhere(segment, known).iter().sum();
    pages + elsewhere / u64::from(pg_sys::BLCKSZ) * remains.live / (known.len() as u64).max(1)
}

/// Whether the survivors of a segment, which fill so many pages, are moved to the open one: if they are a small part of it, so that
/// for each that is moved several are not, or its ledger is swollen; or if there is no other segment to go to, the open one has
/// grown by as much, and as much of it was consumed. While some are moved nobody takes them, but who comes takes what is younger: so
/// if they may be taken, that must be what happens anyway.
fn is_worth_moving(
    queue: &Definition,
    segment: &Segment,
    carried: u32,
    remains: &Remains,
    live: u64,
) -> bool {
    let (open, pressure) = {
        let lock = queue.lock();
        (lock.open, Pressure::of(&lock))
    };
    let is_small = live <= u64::from(segment.pages_of_rows()) / 4 || is_swollen(segment, carried);
    let is_small_part = remains.free == 0 && is_small;
    let is_paid_for = || {
        let open = u64::from(Segment::open(queue, open, Purpose::Look).pages_of_rows());
        matches!(pressure, Pressure::High(consumed) if consumed >= remains.live)
            && open >= live.max(full().into())
    };
    is_small_part || is_paid_for()
}

/// Whether everybody sees what was moved from a segment where it is now. A snapshot from before, like a dump's, may not have been
/// used yet: it would see it nowhere.
fn is_seen_elsewhere(queue: &Definition, segment: &Segment) -> bool {
    let moved = queue.lock().segments[segment.number].moved;
    is_seen_by_all(segment, moved)
}

/// Whether everybody sees here what was moved to a segment. A snapshot from before sees it where it was: it would see it twice if it
/// were frozen here.
fn is_seen_here(queue: &Definition, segment: &Segment) -> bool {
    let received = queue.lock().segments[segment.number].received;
    is_seen_by_all(segment, received)
}

fn is_seen_by_all(segment: &Segment, transaction: u64) -> bool {
    transaction == 0 || transaction < Server::now().widen(horizon(segment))
}

/// Every snapshot sees what transactions below this one have committed.
fn horizon(segment: &Segment) -> pg_sys::TransactionId {
    // SAFETY: the relation is open.
    unsafe { pg_sys::GetOldestNonRemovableTransactionId(*segment.ledger) }
}

/// The producers whose marks a truncation has to write; none if they are too many. Of many, those are left out of which another
/// ledger says as much to every snapshot; whether that is so.
fn producers(queue: &Definition, segment: &Segment, effort: Effort) -> Option<(Vec<Origin>, bool)> {
    let all: Vec<Origin> = producer::newest(segment, None).take(PRODUCERS + 1).collect();
    if all.len() <= PRODUCERS {
        return Some((all, false));
    }
    if effort == Effort::Passing {
        return None;
    }
    let horizon = horizon(segment);
    // SAFETY: compares numbers.
    let counts = |writer| unsafe { pg_sys::TransactionIdPrecedes(writer, horizon) };
    let lacking = producer::lacking(queue, segment, None, (usize::MAX, PRODUCERS + 1), counts).origins;
    (lacking.len() <= PRODUCERS).then_some((lacking, true))
}

/// Keeps those out who write rows to a table, until it is dropped.
struct Senders(pg_sys::Oid);

impl Senders {
    const LOCK: i32 = pg_sys::ShareRowExclusiveLock as i32;

    /// None if somebody writes, or does the same.
    fn lock_out(rows: pg_sys::Oid) -> Option<Senders> {
        // SAFETY: inside a transaction.
        let is_locked = unsafe { pg_sys::ConditionalLockRelationOid(rows, Self::LOCK) };
        // Made only then: one that is dropped gives the lock back.
        is_locked.then(|| Senders(rows))
    }
}

impl Drop for Senders {
    fn drop(&mut self) {
        // After an error PostgreSQL gives back locks itself.
        if !std::thread::panicking() {
            // SAFETY: taken by `lock_out`. Who has truncated has a stronger one.
            unsafe { pg_sys::UnlockRelationOid(self.0, Self::LOCK) };
        }
    }
}

/// A ledger that has but marks.
fn has_marks_alone(segment: &Segment) -> bool {
    Scan::upwards(segment, &Server::now(), 0).all(|row| matches!(row, Row::Mark(_)))
}

/// Locks both tables against everybody, if that can be had at once.
fn lock_both(rows: pg_sys::Oid, ledger: pg_sys::Oid) -> bool {
    let lock = pg_sys::AccessExclusiveLock as i32;
    // SAFETY: inside a transaction.
    unsafe {
        if !pg_sys::ConditionalLockRelationOid(rows, lock) {
            return false;
        }
        let both = pg_sys::ConditionalLockRelationOid(ledger, lock);
        if !both {
            pg_sys::UnlockRelationOid(rows, lock);
        }
        both
    }
}

fn unlock_both(rows: pg_sys::Oid, ledger: pg_sys::Oid) {
    // SAFETY: locked by `lock_both`.
    unsafe {
        pg_sys::UnlockRelationOid(ledger, pg_sys::AccessExclusiveLock as i32);
        pg_sys::UnlockRelationOid(rows, pg_sys::AccessExclusiveLock as i32);
    }
}

/// Whether the ledger says so: whatever is in shared memory, rows are not truncated on its word alone.
pub(crate) fn is_drained(segment: &Segment) -> bool {
    remains(segment, Extent::Most(0), wall_time()).is_some()
}
