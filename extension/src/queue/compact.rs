//! Survivors: the few rows of an old segment that stay when all others are consumed, because they are delayed or leased.
//!
//! They would keep their segment from being truncated, and two of them in two segments would end truncation for good. So a segment
//! of which little is left is truncated all the same, and its survivors are written to it again: with their positions, and
//! with what its ledger says of each. That happens in the transaction of the truncation, under its lock, which nobody has
//! a lock beside who has written to the segment or taken from it. They are frozen, as marks are: who has an older
//! snapshot, like a dump, sees them.

use std::ptr::null_mut;

use claims::{BLOCK, Batch, Block, Claim, Span, State};
use pgrx::pg_sys::{self, Tuplestorestate};

use super::definition::Definition;
use super::ledger::{self, Row, Scan};
use super::page::position_of;
use super::scratch::Scratch;
use super::segment::{Purpose, Segment};
use super::transactions::Server;
use super::{append, rotation, rows};
use crate::pg;

/// A row that is not consumed.
pub struct Survivor {
    position: u64,
    batch: Batch,
    claim: Option<Claim>,
}

/// The rows that are not consumed, by the ledger alone, whatever is in shared memory; none if there are more than so many, or
/// if a transaction still works with one of them.
pub fn survivors(segment: &Segment, most: usize) -> Option<Vec<Survivor>> {
    let server = Server::now();
    let (mut block, mut survivors) = (Block::new(0), Vec::new());
    for row in Scan::upwards(segment, &server, 0) {
        let first = match &row {
            Row::Batch(batch) => batch.span.first,
            Row::Claim(claim) => claim.span.first,
            Row::Mark(_) => continue,
        };
        if first >= block.start + BLOCK {
            add_block(&mut block, &mut survivors, most)?;
            block.reset(first);
        }
        match row {
            Row::Batch(batch) => block.add_batch(batch),
            Row::Claim(claim) => block.add_claim(claim),
            Row::Mark(_) => {}
        }
    }
    add_block(&mut block, &mut survivors, most)?;
    Some(survivors)
}

fn add_block(block: &mut Block, survivors: &mut Vec<Survivor>, most: usize) -> Option<()> {
    block.settle();
    for position in block.start..block.start + BLOCK {
        match (block.state(position, 0), block.batch(position)) {
            (State::Absent | State::Consumed, _) | (_, None) => {}
            (State::Busy(_), _) => return None,
            _ if survivors.len() >= most => return None,
            (_, Some(batch)) => {
                survivors.push(Survivor { position, batch: *batch, claim: block.claim(position) });
            }
        }
    }
    Some(())
}

/// Truncates a segment that is locked against everybody, and writes its survivors to it again. `last` is the last position that was
/// given out.
pub fn compact(queue: &Definition, segment: Segment, survivors: &[Survivor], last: u64) {
    let number = segment.number;
    let kept = Kept::gather(&segment, survivors);
    drop(segment);
    rotation::truncate(queue, number, last);
    kept.write(&Segment::open(queue, number, Purpose::Take), survivors);
}

/// Rows that are kept over a truncation: in memory, or in a file if they are large.
struct Kept(*mut Tuplestorestate);

impl Kept {
    fn gather(segment: &Segment, survivors: &[Survivor]) -> Kept {
        // SAFETY: inside a transaction; the store is in the current memory context.
        let kept = Kept(unsafe { pg_sys::tuplestore_begin_heap(false, false, pg_sys::work_mem) });
        let mut batches: Vec<Batch> = survivors.iter().map(|survivor| survivor.batch).collect();
        batches.dedup();
        let wanted = rows::spans_of(survivors.iter().map(|survivor| survivor.position));
        let scratch = Scratch::here();
        rows::fetch(segment, &batches, &wanted, |_, tuple| {
            scratch.run(|| {
                let tuple = std::ptr::from_ref(tuple).cast_mut();
                // SAFETY: a row of the segment's table, on a pinned page. Values that are stored elsewhere come along: they go
                // with the segment.
                unsafe { pg_sys::tuplestore_puttuple(kept.0, flattened(segment, tuple)) };
            });
        });
        kept
    }

    /// Writes the rows, and what is known of them, to the segment that this transaction has truncated.
    fn write(self, segment: &Segment, survivors: &[Survivor]) {
        let mut survivors = survivors.iter();
        let scratch = Scratch::here();
        // SAFETY: the slot is of the table that the rows are from; it and the store are freed here, after an error with the
        // memory context.
        unsafe {
            let descriptor = (**segment.rows).rd_att;
            let slot = pg_sys::MakeSingleTupleTableSlot(descriptor, &raw const pg_sys::TTSOpsMinimalTuple);
            while pg_sys::tuplestore_gettupleslot(self.0, true, false, slot) {
                pgrx::check_for_interrupts!();
                scratch.run(|| {
                    let tuple = pg_sys::ExecCopySlotHeapTuple(slot);
                    let position = position_of(tuple);
                    if let Some(survivor) = survivors.find(|survivor| survivor.position == position) {
                        write_one(segment, survivor, tuple);
                    }
                });
            }
            pg_sys::ExecDropSingleTupleTableSlot(slot);
            pg_sys::tuplestore_end(self.0);
        }
    }
}

/// # Safety
/// A row of the segment's table.
unsafe fn flattened(segment: &Segment, tuple: pg_sys::HeapTuple) -> pg_sys::HeapTuple {
    // SAFETY: by contract.
    unsafe {
        if (*(*tuple).t_data).t_infomask & pg_sys::HEAP_HASEXTERNAL as u16 == 0 {
            return tuple;
        }
        pg::toast_flatten_tuple(tuple, (**segment.rows).rd_att)
    }
}

/// # Safety
/// A row of the segment's table, which this transaction has truncated.
unsafe fn write_one(segment: &Segment, survivor: &Survivor, tuple: pg_sys::HeapTuple) {
    // SAFETY: by contract; the transaction has a number, as it has truncated.
    let page = unsafe {
        let command = pg_sys::GetCurrentCommandId(true);
        let frozen = pg_sys::HEAP_INSERT_FROZEN as i32;
        pg_sys::heap_insert(*segment.rows, tuple, command, frozen, null_mut());
        append::page_of(&(*tuple).t_self)
    };
    let span = Span { first: survivor.position, end: survivor.position + 1 };
    let batch = Batch { span, low: page, high: page, writer: 0, ..survivor.batch };
    let rows = [Some(Row::Batch(batch)), survivor.claim.map(Row::Claim)];
    let rows: Vec<Row> = rows.into_iter().flatten().collect();
    ledger::append_frozen(segment, &rows, None);
}
