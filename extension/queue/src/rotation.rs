//! Which segment is written to, and truncating.
//!
//! Writers go on in the open segment until it is full and another is empty. A segment that is drained is truncated
//! by whoever comes by, without waiting for its locks.

use pgrx::pg_sys;
use session::authority::{run_as_owner, table_name};
use shared::settings;

use super::claim::{compare_sometimes, learn};
use super::compact::{Extent, Remains, Survivor, again, compact, remains, sizes_elsewhere};
use super::definition::Definition;
use super::ledger::{self, Origin, Row, Scan};
use super::memory::{Removal, SegmentMemory, State};
use super::segment::{Purpose, Segment};
use super::shift::{self, Shift};
use super::transactions::{self, Server};
use super::{SEGMENTS, now, producer, tidy};

/// Microseconds between two attempts of takers to truncate.
const TIDY_EVERY: i64 = 200_000;
/// Rows that come in for each slice that takers move: so it ends before much has come, and costs each of them little.
const MOVE_EVERY: u64 = 2 * shift::ROWS as u64;

/// Microseconds between two looks through the ledger of a segment of which something stays.
const LOOK_EVERY: i64 = 5_000_000;
/// The same if there is no other segment to go to: for so long the open one grows beyond its size.
const LOOK_EVERY_IF_CROWDED: i64 = 250_000;
/// The same for an executor that counts what shared memory may have counted wrongly.
const COUNT_EVERY: i64 = 60_000_000;
/// A look through a ledger is not repeated before so many times as long as it has taken.
const LOOKS_APART: i64 = 8;

/// How much is done to truncate segments.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Effort {
    /// As much as somebody can do in passing.
    Passing,
    /// As much as there is to do: what is too much for one transaction is said to be left.
    Thorough,
}

impl Effort {
    /// Rows that a segment is compacted with at most, and in how many blocks they may be: each is read under the lock.
    fn survivors(self) -> (usize, usize) {
        match self {
            Effort::Passing => (2_000, 500),
            // The others are moved before.
            Effort::Thorough => (1_000, 250),
        }
    }
}

/// Pages from which a ledger may be swollen: three thousand claims.
const SWOLLEN: u32 = 32;
/// How many times as large as the rows it is then. Of messages that are sent one by one it is three times as large, and each
/// reading adds one.
const SWOLLEN_TIMES: u32 = 16;

/// Producers whose marks a truncation writes at most. The others are carried over before.
const PRODUCERS: usize = 1_000;

/// What was done.
#[derive(Default)]
pub struct Tidied {
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

/// Pages from which a segment is full.
fn full() -> u32 {
    settings::SEGMENT_SIZE.get() as u32 * ((1 << 20) / pg_sys::BLCKSZ)
}

/// The segment to write to, open.
pub fn open_for_sending(queue: &Definition) -> Segment {
    compare_sometimes(queue);
    let open = {
        let lock = queue.lock();
        lock.is_known.then(|| (lock.open, lock.segments[lock.open].carried))
    };
    let Some((open, carried)) = open else {
        learn(queue, Purpose::Look);
        let open = queue.lock().open;
        return Segment::open(queue, open, Purpose::Send);
    };
    let segment = Segment::open(queue, open, Purpose::Send);
    if pages(&segment, carried) < full() {
        return segment;
    }
    next(queue).unwrap_or(segment)
}

/// Pages of a segment that make it full: what is only carried over to its ledger does not, as it would be carried on and on.
pub fn pages(segment: &Segment, carried: u32) -> u32 {
    segment.pages_of_rows().saturating_add(segment.ledger.pages().saturating_sub(carried))
}

/// A segment that is empty, or else the smallest that has room, which becomes the open one.
fn next(queue: &Definition) -> Option<Segment> {
    let free: Vec<usize> = {
        let lock = queue.lock();
        let mut free: Vec<usize> =
            (0..SEGMENTS).filter(|number| *number != lock.open && is_free(&lock, *number)).collect();
        free.sort_by_key(|number| (!lock.segments[*number].is_clean, lock.segments[*number].live()));
        free
    };
    for number in free {
        let Some(segment) = Segment::try_open(queue, number, Purpose::Send) else { continue };
        let carried = queue.lock().segments[number].carried;
        let pages = pages(&segment, carried);
        let mut lock = queue.lock();
        // The truncation that made it empty may have been rolled back.
        let memory = &mut lock.segments[number];
        memory.is_clean = is_empty(&segment, memory.carried);
        memory.is_small = false;
        if has_room(&segment, pages) {
            memory.removal = Removal::None;
            lock.open = number;
            return Some(segment);
        }
    }
    None
}

/// Whether a segment of so many [`pages`] may be written to as if it were empty. Not if rows were moved out of it: what is to be
/// moved to the open segment may not have been there before.
pub fn has_room(segment: &Segment, pages: u32) -> bool {
    pages <= full() / 2 && !ledger::has_moved(segment)
}

/// Whether a segment has no rows and a short ledger, whatever becomes of this transaction.
pub fn is_empty(segment: &Segment, carried: u32) -> bool {
    segment.rows.pages() == 0 && pages(segment, carried) <= full() / 2 && !segment.rows.is_truncated_here()
}

/// Pages that a compaction writes anew at most, which is done within some tens of milliseconds.
const COMPACTED: u32 = (4 << 20) / pg_sys::BLCKSZ;

/// Pages from which on a segment is compacted.
fn worth_compacting() -> u32 {
    full() / 4
}

/// Truncates drained segments when this transaction commits, if nobody has tried lately.
pub fn tidy_sometimes(queue: &Definition) {
    let now = now();
    let (due, is_to_measure) = {
        let mut lock = queue.lock();
        let due = is_rested(&lock, now) && !candidates(&mut lock, Effort::Passing, now).is_empty();
        if due {
            lock.note_tidying();
        }
        let is_to_measure = !due && now - lock.measured > TIDY_EVERY && Pressure::of(&lock) == Pressure::Low;
        if is_to_measure {
            lock.measured = now;
        }
        (due, is_to_measure)
    };
    if due || is_to_measure && measure(queue) {
        tidy::at_commit(queue);
    }
}

fn is_rested(state: &State, now: i64) -> bool {
    let is_moving = || state.segments.iter().any(|segment| segment.removal == Removal::UnderWay);
    now - state.tidied > TIDY_EVERY || state.next.saturating_sub(state.tidied_at) >= MOVE_EVERY && is_moving()
}

/// Truncates the segments that are drained, and that nobody uses now.
pub fn tidy(queue: &Definition, effort: Effort) -> Tidied {
    let known = queue.lock().is_known;
    if !known {
        learn(queue, Purpose::Look);
    }
    // First: afterwards this transaction may have locks against senders on the others, and would keep them waiting.
    leave_full(queue);
    let (numbers, is_moving) = {
        let mut lock = queue.lock();
        let numbers = candidates(&mut lock, effort, now());
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
        lock.kept_up = now();
    }
    drop(lock);
    tidied
}

/// What a taker's commit does: it truncates what is drained, and moves a slice of what is to be moved.
pub fn tidy_in_passing(queue: &Definition) {
    let left = tidy(queue, Effort::Passing).left;
    // One at a time: there may be room when it is gone.
    if let Some(number) = left.first() {
        Shift::of(*number).step(queue);
    }
}

/// Leaves the open segment for another if it is full, as the next sender would: there may be none. Likewise if its ledger is swollen.
fn leave_full(queue: &Definition) {
    if measure(queue) {
        next(queue);
    }
}

/// Looks how large the segments are, but for those that somebody truncates. Whether the open one is to be left.
fn measure(queue: &Definition) -> bool {
    let mut is_to_be_left = false;
    for number in 0..SEGMENTS {
        let Some(segment) = Segment::try_open(queue, number, Purpose::Look) else { continue };
        let carried = queue.lock().segments[number].carried;
        let (is_swollen, pages) = (is_swollen(&segment, carried), pages(&segment, carried));
        {
            let mut lock = queue.lock();
            lock.segments[number].is_swollen = is_swollen;
            is_to_be_left |= lock.open == number && (is_swollen || pages >= full());
        }
        segment.release_tried(Purpose::Look);
    }
    is_to_be_left
}

/// Whether a segment's ledger is many times as large as its rows, which are retried, or whose leases are prolonged, again and again:
/// each time adds a claim. What rows have elsewhere does not count: there are not
/// more of them for it.
fn is_swollen(segment: &Segment, carried: u32) -> bool {
    let (rows, ledger) = (segment.rows.pages(), segment.ledger.pages().saturating_sub(carried));
    rows > 0 && ledger >= SWOLLEN.max(SWOLLEN_TIMES.saturating_mul(rows))
}

/// Segments that are drained, as far as is known, or of which something is moved; and at times those of which little is left.
/// First those of which least is left.
fn candidates(state: &mut State, effort: Effort, now: i64) -> Vec<usize> {
    let (open, pressure) = (state.open, Pressure::of(state));
    let is_candidate =
        |number: &usize| *number != open && is_candidate(&mut state.segments[*number], pressure, effort, now);
    let mut candidates: Vec<usize> = (0..SEGMENTS).filter(is_candidate).collect();
    candidates.sort_by_key(|number| state.segments[*number].live());
    candidates
}

/// How urgent it is to empty a segment.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Pressure {
    /// There is another to go to from the open one.
    Low,
    /// There is none. Of the open one so many rows are consumed, whose space is given back once it can be left.
    High(u64),
}

impl Pressure {
    fn of(state: &State) -> Pressure {
        let is_other_free = |number: usize| number != state.open && is_free(state, number);
        if (0..SEGMENTS).any(is_other_free) {
            Pressure::Low
        } else {
            Pressure::High(state.segments[state.open].consumed)
        }
    }

    fn look_every(self) -> i64 {
        match self {
            Pressure::Low => LOOK_EVERY,
            Pressure::High(_) => LOOK_EVERY_IF_CROWDED,
        }
    }
}

fn is_free(state: &State, number: usize) -> bool {
    state.segments[number].is_clean || state.segments[number].is_small
}

fn is_candidate(segment: &mut SegmentMemory, pressure: Pressure, effort: Effort, now: i64) -> bool {
    if segment.is_clean {
        return false;
    }
    if segment.removal != Removal::None || segment.watch.is_drained() {
        return true;
    }
    let since = now - segment.looked;
    let is_thorough = effort == Effort::Thorough;
    if !is_thorough && since <= pressure.look_every().max(LOOKS_APART * segment.took) {
        return false;
    }
    segment.is_swollen
        || segment.watch.waits_for_times_alone()
        || little_is_left(segment, pressure, now)
        || is_thorough && since > COUNT_EVERY.max(LOOKS_APART * segment.took)
}

/// Whether rows are left in a segment that nobody wants, though they may be taken, as far as is known. Takers who want every row take
/// the oldest first: so it is passed by only once they go on with rows that came later, or no more are taken at all.
fn little_is_left(segment: &mut SegmentMemory, pressure: Pressure, now: i64) -> bool {
    match pressure {
        Pressure::High(consumed) => consumed >= segment.live().max(1),
        Pressure::Low => {
            let has_rested =
                std::mem::replace(&mut segment.consumed_before, segment.consumed) == segment.consumed;
            if !has_rested {
                segment.looked = now;
            }
            has_rested && segment.live() <= segment.rows / 4
        }
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
    let begun = now();
    let remains = remains(&segment, extent(&segment, carried, effort));
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
fn note_remains(queue: &Definition, segment: &Segment, begun: i64, remains: Option<&Remains>) {
    let now = now();
    let carried = queue.lock().segments[segment.number].carried;
    let pages = pages(segment, carried);
    let mut lock = queue.lock();
    let memory = &mut lock.segments[segment.number];
    (memory.looked, memory.took) = (now, now - begun);
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
        unsafe { pg_sys::ConditionalLockRelationOid(rows, Self::LOCK) }.then_some(Senders(rows))
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
pub fn is_drained(segment: &Segment) -> bool {
    remains(segment, Extent::Most(0)).is_some()
}

/// Notes in the ledger of a new queue that it has begun, for one that a crash empties: a ledger without that was emptied.
pub fn begin(queue: &Definition) {
    let segment = Segment::open(queue, 0, Purpose::Take);
    transactions::current();
    ledger::append(&segment, &[Row::Mark(0)], None);
}

/// Empties both tables, and keeps what must not be forgotten: the last position, and how far these producers are.
pub fn truncate(queue: &Definition, number: usize, last: u64, producers: &[Origin]) {
    let (rows, ledger) = queue.tables(number);
    run_as_owner(&format!("truncate {}, {}", table_name(rows), table_name(ledger)), &[]);
    let segment = Segment::open(queue, number, Purpose::Take);
    transactions::current();
    {
        let memory = &mut queue.lock().segments[number];
        memory.told = (last + 1).max(memory.told);
        memory.moving = 0;
        (memory.removal, memory.took, memory.is_swollen) = (Removal::None, 0, false);
        memory.count(0, 0);
    }
    ledger::append_frozen(&segment, &[Row::Mark(last)], None);
    for origin in producers {
        ledger::append_frozen(&segment, &[Row::Mark(last)], Some(origin));
    }
    queue.lock().segments[number].carried = segment.ledger.pages();
}
