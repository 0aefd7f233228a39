//! What shared memory does not know: the segments that may have rows, found out after a restart, and whether others have written to the
//! ledgers since.

use claims::{BLOCK, Batch, Claim, block_of};
use pgrx::pg_sys;
use shared::Tick;

use super::definition::Definition;
use super::ledger::{Row, Scan, Sight};
use super::look::WORK;
use super::memory::{self, Locked, Removal};
use super::segment::{Purpose, Segment};
use super::transactions::{self, Server};
use super::{SEGMENTS, archive, fullness, wall_time};

/// Microseconds between two looks whether others have written to the ledgers.
const COMPARE_EVERY: u64 = 100_000;

/// Opens the segments that may have rows, the one with the oldest first, and finds out what shared memory does not
/// know yet.
pub(crate) fn open(queue: &Definition, purpose: Purpose) -> Vec<Segment> {
    let order = {
        let lock = queue.lock();
        lock.is_known.then(|| order(&lock))
    };
    match order {
        Some(order) => open_these(queue, &order, purpose),
        None => learn(queue, purpose),
    }
}

fn open_these(queue: &Definition, numbers: &[usize], purpose: Purpose) -> Vec<Segment> {
    numbers.iter().map(|number| Segment::open(queue, *number, purpose)).collect()
}

/// The segments that are not drained.
pub(crate) fn order(state: &memory::State) -> Vec<usize> {
    let mut order: Vec<usize> =
        (0..SEGMENTS).filter(|number| !state.segments[*number].watch.is_drained()).collect();
    order.sort_by_key(|number| state.segments[*number].watch.lowest());
    order
}

/// Whether all segments that are not drained are among these: rows may be moved to one that had none.
pub(crate) fn are_open(segments: &[Segment], state: &memory::State) -> bool {
    order(state).iter().all(|number| segments.iter().any(|segment| segment.number == *number))
}

/// After a restart: the next position is found in the ledgers, or above the archive, and everything is to be looked at.
pub(crate) fn learn(queue: &Definition, purpose: Purpose) -> Vec<Segment> {
    let segments: Vec<Segment> = (0..SEGMENTS).map(|number| Segment::open(queue, number, purpose)).collect();
    let archived = archive::last(queue);
    let pages: Vec<u32> = segments.iter().map(|segment| fullness::pages(segment, 0)).collect();
    let mut lock = queue.lock();
    if !lock.is_known {
        learn_locked(&mut lock, &segments, &pages);
        lock.next = lock.next.max(archived + 1);
        if queue.is_unlogged && lock.segments.iter().all(|segment| segment.told == 0) {
            // A crash has emptied the ledgers, and nobody knows the last number. There was none for each microsecond, so the
            // time is above all of them.
            lock.next = lock.next.max(wall_time().try_into().unwrap_or(0));
        }
    }
    segments
}

fn learn_locked(lock: &mut Locked, segments: &[Segment], pages: &[u32]) {
    let server = Server::now();
    let lasts: Vec<Last> = segments.iter().map(|segment| last_of(segment, &server)).collect();
    let ends: Vec<u64> =
        segments.iter().zip(&lasts).map(|(segment, last)| end_of_positions(segment, &server, last)).collect();
    lock.next = ends.iter().copied().max().unwrap_or(0).max(1);
    lock.open = ends.iter().position(|end| *end == lock.next).unwrap_or(0);
    lock.forget_claims();
    (lock.tidied, lock.tidied_at) = (Tick::default(), 0);
    (lock.measured, lock.kept_up) = (Tick::default(), Tick::default());
    for (place, segment) in segments.iter().enumerate() {
        let memory = &mut lock.segments[place];
        memory.is_clean = fullness::is_empty(segment, 0);
        // It may have survivors: without them the open segment would have none to give way to.
        memory.is_small = fullness::has_room(segment, pages[place]);
        memory.told = lasts[place].told;
        // No snapshot is as old as the start of the server, unless a transaction of before is prepared.
        let before = transactions::first_since_start() - 1;
        (memory.moved, memory.received) = (before, before);
        (memory.moving, memory.carried) = (0, 0);
        memory.count(0, 0);
        (memory.looked, memory.took, memory.removal) = (Tick::default(), 0, Removal::None);
        memory.is_swollen = false;
        memory.watch.begin(ends[place]);
    }
    // Of a new queue all is counted as it comes. To read the ledgers beside its first sender, whose rows are not there yet, would miss them.
    lock.is_counted = lasts.iter().all(|last| last.told == 0);
    // SAFETY: PostgreSQL's own state. On a standby rows come that this memory does not hear of.
    lock.is_known = unsafe { !pg_sys::RecoveryInProgress() };
}

/// What the last row of a segment's ledger says.
struct Last {
    /// The position after the last that it speaks of; 0 if the ledger is empty.
    told: u64,
    /// Above all positions of the ledger: no row of it crosses a block, and the last need not be the one that ends last.
    end: u64,
}

fn last_of(segment: &Segment, server: &Server) -> Last {
    match Scan::downwards(segment, server, Sight::All).next() {
        Some(Row::Batch(Batch { span, .. }) | Row::Claim(Claim { span, .. })) => {
            Last { told: span.end, end: block_of(span.first) + BLOCK }
        }
        Some(Row::Mark(position)) => Last { told: position + 1, end: position + 1 },
        Some(Row::Moved) | None => Last { told: 0, end: 1 },
    }
}

/// The position after the last that a ledger speaks of, or one above: if the last block has very many rows not all are read.
fn end_of_positions(segment: &Segment, server: &Server, last: &Last) -> u64 {
    let start = block_of(last.end - 1);
    let rows = Scan::downwards(segment, server, Sight::All).take_while(|row| row.place() >= start);
    let ends: Vec<u64> = rows.map(|row| row.end()).take(WORK).collect();
    if ends.len() == WORK { last.end } else { ends.into_iter().fold(1, u64::max) }
}

/// Finds out at times whether others have written to the ledgers: COPY, a restore, the apply of logical replication. Then
/// everything is looked at again, and no number of theirs is given out.
pub(crate) fn compare_sometimes(queue: &Definition) {
    if !queue.memory().is_comparison_due(COMPARE_EVERY) || !queue.lock().is_known {
        return;
    }
    for number in 0..SEGMENTS {
        // One that somebody truncates is being written to by us.
        let Some(segment) = Segment::try_open(queue, number, Purpose::Look) else { continue };
        let last = last_of(&segment, &Server::now());
        segment.release_tried(Purpose::Look);
        let mut lock = queue.lock();
        if last.told > lock.segments[number].told {
            look_again(&mut lock, number, &last);
        }
    }
}

fn look_again(lock: &mut Locked, number: usize, last: &Last) {
    lock.next = lock.next.max(last.end);
    let memory = &mut lock.segments[number];
    memory.told = last.told;
    memory.is_clean = false;
    memory.watch.look_again(last.end);
}
