//! Which segment is written to, and truncating.
//!
//! Writers go on in the open segment until it is full and another is empty. A segment that is drained is truncated
//! by whoever comes by, without waiting for its locks.

use pgrx::pg_sys;

use super::claim::{compare_sometimes, learn};
use super::compact::{compact, survivors};
use super::definition::Definition;
use super::ledger::{self, Row, Scan};
use super::segment::{Purpose, Segment};
use super::transactions::{self, Server};
use super::{SEGMENTS, now, producer, tidy};
use crate::authority::{run_as_owner, table_name};
use crate::settings;

/// Microseconds between two attempts of takers to truncate.
const TIDY_EVERY: i64 = 200_000;

/// Microseconds between two looks through the ledger of a segment whose last rows are leased or delayed.
const LEASES_EVERY: i64 = 5_000_000;
/// The same if there is no other segment to go to: for so long the open one grows beyond its size.
const LEASES_EVERY_IF_CROWDED: i64 = 250_000;

/// How much is done to truncate segments.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Effort {
    /// As much as somebody can do in passing.
    Passing,
    /// As much as there is to do.
    Thorough,
}

impl Effort {
    /// Rows that a segment is compacted with at most.
    fn survivors(self) -> usize {
        match self {
            Effort::Passing => 4_000,
            Effort::Thorough => 100_000,
        }
    }

    /// Producers whose marks are carried over at most.
    fn producers(self) -> usize {
        match self {
            Effort::Passing => 2_000,
            Effort::Thorough => usize::MAX,
        }
    }
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
        lock.is_known.then_some(lock.open)
    };
    let Some(open) = open else {
        learn(queue, Purpose::Look);
        let open = queue.lock().open;
        return Segment::open(queue, open, Purpose::Send);
    };
    let segment = Segment::open(queue, open, Purpose::Send);
    if segment.rows.pages() + segment.ledger.pages() < full() {
        return segment;
    }
    next(queue).unwrap_or(segment)
}

/// A segment that is empty, or nearly so, which becomes the open one.
fn next(queue: &Definition) -> Option<Segment> {
    let mut free: Vec<usize> = {
        let lock = queue.lock();
        let is_free = |number: &usize| lock.segments[*number].is_clean || lock.segments[*number].is_small;
        let mut free: Vec<usize> = (0..SEGMENTS).filter(is_free).collect();
        free.sort_by_key(|number| !lock.segments[*number].is_clean);
        free
    };
    free.retain(|number| *number != queue.lock().open);
    for number in free {
        let Some(segment) = Segment::try_open(queue, number, Purpose::Send) else { continue };
        let mut lock = queue.lock();
        // The truncation that made it empty may have been rolled back.
        let pages = segment.rows.pages();
        lock.segments[number].is_clean = pages == 0;
        lock.segments[number].is_small = false;
        if pages <= worth_compacting() {
            lock.open = number;
            return Some(segment);
        }
    }
    None
}

/// Pages from which on a segment is compacted.
pub fn worth_compacting() -> u32 {
    full() / 4
}

/// Truncates drained segments when this transaction commits, if nobody has tried lately.
pub fn tidy_sometimes(queue: &Definition) {
    let now = now();
    let due = {
        let mut lock = queue.lock();
        let due = now - lock.tidied > TIDY_EVERY && !candidates(&lock, Effort::Passing, now).is_empty();
        if due {
            lock.tidied = now;
        }
        due
    };
    if due {
        tidy::at_commit(queue);
    }
}

/// Truncates the segments that are drained, and that nobody uses now. Returns how many.
pub fn tidy(queue: &Definition, effort: Effort) -> usize {
    let known = queue.lock().is_known;
    if !known {
        learn(queue, Purpose::Look);
    }
    // First: afterwards this transaction may have locks against senders on the others, and would keep them waiting.
    leave_full(queue);
    let numbers = {
        let now = now();
        let mut lock = queue.lock();
        let numbers = candidates(&lock, effort, now);
        numbers.iter().for_each(|number| lock.segments[*number].looked = now);
        numbers
    };
    numbers.into_iter().filter(|number| tidy_segment(queue, *number, effort)).count()
}

/// Leaves the open segment for another if it is full and nothing in it is to be taken now, as the next sender would: there may
/// be none. Leases that are on the list may be acknowledged already.
fn leave_full(queue: &Definition) {
    let (open, is_done) = {
        let lock = queue.lock();
        (lock.open, lock.segments[lock.open].watch.waits_for_times_alone())
    };
    if is_done && Segment::open(queue, open, Purpose::Look).rows.pages() >= full() {
        next(queue);
    }
}

/// Segments that are drained, as far as is known, and at times those whose last rows are leased or delayed.
fn candidates(state: &super::memory::State, effort: Effort, now: i64) -> Vec<usize> {
    let is_free = |number: usize| state.segments[number].is_clean || state.segments[number].is_small;
    let is_crowded = !(0..SEGMENTS).any(|number| number != state.open && is_free(number));
    let every = if is_crowded { LEASES_EVERY_IF_CROWDED } else { LEASES_EVERY };
    let is_candidate = |number: &usize| {
        let segment = &state.segments[*number];
        let is_time = effort == Effort::Thorough || now - segment.looked > every;
        let is_due = segment.watch.is_drained() || segment.watch.waits_for_times_alone() && is_time;
        *number != state.open && !segment.is_clean && is_due
    };
    (0..SEGMENTS).filter(is_candidate).collect()
}

fn tidy_segment(queue: &Definition, number: usize, effort: Effort) -> bool {
    let (rows, ledger) = queue.tables(number);
    let is_leased = !queue.lock().segments[number].watch.is_drained();
    // Before it is locked against everybody.
    if is_leased && !is_worth_it(&Segment::open(queue, number, Purpose::Look), effort) {
        return false;
    }
    if !lock_both(rows, ledger) {
        return false;
    }
    let segment = Segment::open(queue, number, Purpose::Look);
    if segment.rows.pages() == 0 && is_short(&segment) {
        queue.lock().segments[number].is_clean = true;
        return false;
    }
    let Some(survivors) = survivors(&segment, effort.survivors()) else { return false };
    if !survivors.is_empty() && segment.rows.pages() < worth_compacting() {
        return false;
    }
    if producer::newest(&segment, None, effort.producers().saturating_add(1)).len() > effort.producers() {
        return false;
    }
    let last = {
        let mut lock = queue.lock();
        let last = lock.next.saturating_sub(1);
        let memory = &mut lock.segments[number];
        if survivors.is_empty() {
            memory.watch.forget_times();
        } else if memory.watch.is_drained() {
            memory.watch.look_again(0);
        }
        memory.is_small = !survivors.is_empty();
        last
    };
    if survivors.is_empty() {
        drop(segment);
        truncate(queue, number, last);
    } else {
        compact(queue, segment, &survivors, last);
    }
    true
}

/// Whether a segment has nothing, or so little that it is worth while to compact it.
fn is_worth_it(segment: &Segment, effort: Effort) -> bool {
    let most = if segment.rows.pages() < worth_compacting() { 0 } else { effort.survivors() };
    survivors(segment, most).is_some()
}

/// A ledger that has but marks.
fn is_short(segment: &Segment) -> bool {
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

/// Whether the ledger says so: whatever is in shared memory, rows are not truncated on its word alone.
pub fn is_drained(segment: &Segment) -> bool {
    survivors(segment, 0).is_some()
}

/// Notes in the ledger of a new queue that it has begun, for one that a crash empties: a ledger without that was emptied.
pub fn begin(queue: &Definition) {
    let segment = Segment::open(queue, 0, Purpose::Take);
    transactions::current();
    ledger::append(&segment, &[Row::Mark(0)], None);
}

/// Empties both tables, and keeps what must not be forgotten: the last position, and how far producers are.
pub fn truncate(queue: &Definition, number: usize, last: u64) {
    let (rows, ledger) = queue.tables(number);
    let producers = producer::newest(&Segment::open(queue, number, Purpose::Look), None, usize::MAX);
    run_as_owner(&format!("truncate {}, {}", table_name(rows), table_name(ledger)), &[]);
    let segment = Segment::open(queue, number, Purpose::Take);
    transactions::current();
    {
        let told = &mut queue.lock().segments[number].told;
        *told = (last + 1).max(*told);
    }
    ledger::append_frozen(&segment, &[Row::Mark(last)], None);
    for origin in &producers {
        ledger::append_frozen(&segment, &[Row::Mark(last)], Some(origin));
    }
}
