//! Which segment is written to.
//!
//! Writers go on in the open segment until it is full and another is empty.

use session::authority::{run_as_owner, table_name};

use super::definition::Definition;
use super::fullness::{full, has_room, is_empty, is_swollen, pages};
use super::learn::{compare_sometimes, learn};
use super::ledger::{self, Origin, Row};
use super::memory::Removal;
use super::segment::{Purpose, Segment};
use super::{SEGMENTS, transactions};

/// The segment to write to, open.
pub(crate) fn open_for_sending(queue: &Definition) -> Segment {
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

/// A segment that is empty, or else the smallest that has room, which becomes the open one.
fn next(queue: &Definition) -> Option<Segment> {
    let free: Vec<usize> = {
        let lock = queue.lock();
        let mut free: Vec<usize> =
            (0..SEGMENTS).filter(|number| *number != lock.open && lock.is_free(*number)).collect();
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

/// Looks how large the segments are, but for those that somebody truncates. Whether the open one is to be left.
pub(crate) fn measure(queue: &Definition) -> bool {
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

/// Leaves the open segment for another if it is full, as the next sender would: there may be none. Likewise if its ledger is swollen.
pub(crate) fn leave_full(queue: &Definition) {
    if measure(queue) {
        next(queue);
    }
}

/// Notes in the ledger of a new queue that it has begun, for one that a crash empties: a ledger without that was emptied.
pub(crate) fn begin(queue: &Definition) {
    let segment = Segment::open(queue, 0, Purpose::Take);
    transactions::current();
    ledger::append(&segment, &[Row::Mark(0)], None);
}

/// Empties both tables, and keeps what must not be forgotten: the last position, and how far these producers are.
pub(crate) fn truncate(queue: &Definition, number: usize, last: u64, producers: &[Origin]) {
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
