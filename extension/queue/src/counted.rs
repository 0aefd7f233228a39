//! What this transaction has counted in shared memory: rows that it has written, and rows that it has consumed. What is rolled back, also to a
//! savepoint, is taken from the numbers again.

use std::cell::RefCell;

use claims::tally::{Counted, Tally};
use pg::transaction_end::{SubtransactionEnd, TransactionEnd, at_subtransaction_end, at_transaction_end};
use pgrx::pg_sys;

use super::definition::Definition;
use crate::memory::queues;

thread_local! {
    static TALLY: RefCell<Tally> = const { RefCell::new(Tally::new()) };
}

/// This transaction writes so many rows to a segment.
pub(crate) fn written(queue: &Definition, segment: usize, rows: u64) {
    add(Counted { entry: queue.memory_number(), segment, rows, consumed: 0 });
}

/// This transaction has consumed so many rows of a segment.
pub(crate) fn consumed(queue: &Definition, segment: usize, rows: u64) {
    add(Counted { entry: queue.memory_number(), segment, rows: 0, consumed: rows });
}

fn add(counted: Counted) {
    at_transaction_end(ended);
    at_subtransaction_end(part_ended);
    // SAFETY: inside a transaction.
    let within = unsafe { pg_sys::GetCurrentSubTransactionId() };
    TALLY.with_borrow_mut(|tally| tally.add(within, counted));
}

fn ended(end: TransactionEnd) {
    let counted = TALLY.with_borrow_mut(Tally::take_all);
    if end == TransactionEnd::RolledBack {
        undo(counted);
    }
}

fn part_ended(end: SubtransactionEnd) {
    match end {
        SubtransactionEnd::Committed(own, parent) => TALLY.with_borrow_mut(|tally| tally.merge(own, parent)),
        SubtransactionEnd::RolledBack(own) => undo(TALLY.with_borrow_mut(|tally| tally.take(own))),
    }
}

fn undo(counted: Vec<Counted>) {
    for Counted { entry, segment, rows, consumed } in counted {
        let mut lock = queues().lock(entry);
        let memory = &mut lock.segments[segment];
        memory.rows = memory.rows.saturating_sub(rows);
        memory.consumed = memory.consumed.saturating_sub(consumed);
    }
}
