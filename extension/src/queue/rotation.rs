//! Which segment is written to, and truncating.
//!
//! Writers go on in the open segment until it is full and another is empty. A segment that is drained is truncated
//! by whoever comes by, without waiting for its locks.

use claims::{BLOCK, Block, State};
use pgrx::pg_sys;

use super::claim::learn;
use super::definition::Definition;
use super::ledger::{self, Row, Scan};
use super::segment::{Purpose, Segment};
use super::transactions::{self, Server};
use super::{SEGMENTS, now, producer, tidy};
use crate::authority::{run_as_owner, table_name};
use crate::settings;

/// Microseconds between two attempts of takers to truncate.
const TIDY_EVERY: i64 = 200_000;

/// Microseconds between two looks through a ledger for leases that have been acknowledged.
const LEASES_EVERY: i64 = 5_000_000;

/// Pages from which a segment is full.
fn full() -> u32 {
    settings::SEGMENT_SIZE.get() as u32 * ((1 << 20) / pg_sys::BLCKSZ)
}

/// The segment to write to, open.
pub fn open_for_sending(queue: &Definition) -> Segment {
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

/// An empty segment, which becomes the open one.
fn next(queue: &Definition) -> Option<Segment> {
    let empty: Vec<usize> = {
        let lock = queue.lock();
        (0..SEGMENTS).filter(|number| lock.segments[*number].is_clean).collect()
    };
    for number in empty {
        let Some(segment) = Segment::try_open(queue, number, Purpose::Send) else { continue };
        let mut lock = queue.lock();
        // The truncation that made it empty may have been rolled back.
        lock.segments[number].is_clean = segment.rows.pages() == 0;
        if lock.segments[number].is_clean {
            lock.open = number;
            return Some(segment);
        }
    }
    None
}

/// Truncates drained segments when this transaction commits, if nobody has tried lately.
pub fn tidy_sometimes(queue: &Definition) {
    let now = now();
    let due = {
        let mut lock = queue.lock();
        let due = now - lock.tidied > TIDY_EVERY && !candidates(&lock, now).is_empty();
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
pub fn tidy(queue: &Definition) -> usize {
    let known = queue.lock().is_known;
    if !known {
        learn(queue, Purpose::Look);
    }
    // First: afterwards this transaction may have locks against senders on the others, and would keep them waiting.
    leave_full(queue);
    let numbers = {
        let now = now();
        let mut lock = queue.lock();
        let numbers = candidates(&lock, now);
        numbers.iter().for_each(|number| lock.segments[*number].looked = now);
        numbers
    };
    numbers.into_iter().filter(|number| tidy_segment(queue, *number)).count()
}

/// Leaves the open segment for another if it is full and drained, as the next sender would: there may be none.
fn leave_full(queue: &Definition) {
    let (open, is_drained) = {
        let lock = queue.lock();
        (lock.open, lock.segments[lock.open].watch.is_drained())
    };
    if is_drained && Segment::open(queue, open, Purpose::Look).rows.pages() >= full() {
        next(queue);
    }
}

/// Segments that are drained, as far as is known, and at times those whose last rows are leased.
fn candidates(state: &super::memory::State, now: i64) -> Vec<usize> {
    let is_candidate = |number: &usize| {
        let segment = &state.segments[*number];
        let is_due = segment.watch.is_drained()
            || segment.watch.waits_for_times_alone() && now - segment.looked > LEASES_EVERY;
        *number != state.open && !segment.is_clean && is_due
    };
    (0..SEGMENTS).filter(is_candidate).collect()
}

fn tidy_segment(queue: &Definition, number: usize) -> bool {
    let (rows, ledger) = queue.tables(number);
    let is_leased = !queue.lock().segments[number].watch.is_drained();
    // Before it is locked against everybody.
    if is_leased && !is_drained(&Segment::open(queue, number, Purpose::Look)) {
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
    if !is_drained(&segment) {
        return false;
    }
    drop(segment);
    let last = {
        let mut lock = queue.lock();
        lock.segments[number].watch.forget_times();
        lock.next.saturating_sub(1)
    };
    truncate(queue, number, last);
    true
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
    let server = Server::now();
    let mut block = Block::new(0);
    for row in Scan::upwards(segment, &server, 0) {
        let first = match &row {
            Row::Batch(batch) => batch.span.first,
            Row::Claim(claim) => claim.span.first,
            Row::Mark(_) => continue,
        };
        if first >= block.start + BLOCK {
            if !is_consumed(&mut block) {
                return false;
            }
            block.reset(first);
        }
        match row {
            Row::Batch(batch) => block.add_batch(batch),
            Row::Claim(claim) => block.add_claim(claim),
            Row::Mark(_) => {}
        }
    }
    is_consumed(&mut block)
}

fn is_consumed(block: &mut Block) -> bool {
    block.settle();
    (block.start..block.start + BLOCK)
        .all(|position| matches!(block.state(position, 0), State::Absent | State::Consumed))
}

/// Empties both tables, and keeps what must not be forgotten: the last position, and how far producers are.
pub fn truncate(queue: &Definition, number: usize, last: u64) {
    let (rows, ledger) = queue.tables(number);
    let producers = producer::newest(&Segment::open(queue, number, Purpose::Look), None);
    run_as_owner(&format!("truncate {}, {}", table_name(rows), table_name(ledger)), &[]);
    let segment = Segment::open(queue, number, Purpose::Take);
    transactions::current();
    ledger::append_frozen(&segment, &[Row::Mark(last)], None);
    for origin in &producers {
        ledger::append_frozen(&segment, &[Row::Mark(last)], Some(origin));
    }
}
