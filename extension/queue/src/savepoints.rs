//! What a transaction has claimed in its subtransactions.
//!
//! The watch list knows a transaction by its top alone: else hundreds of savepoints, or of blocks with an exception handler,
//! would fill it. So whoever rolls back to a savepoint says which positions have become free by it.

use std::cell::RefCell;

use claims::Span;
use pg::transaction_end::{SubtransactionEnd, at_subtransaction_end, at_transaction_end};
use pgrx::pg_sys::{self, SubTransactionId};

use super::definition::Definition;
use super::transactions::Server;
use crate::memory::queues;

/// The transaction itself, among its subtransactions.
const TOP: SubTransactionId = 1;
/// Ranges that are kept apart of one subtransaction and segment.
const APART: usize = 16;

/// Positions that a subtransaction has claimed.
#[derive(Clone, Copy)]
struct Claimed {
    within: SubTransactionId,
    /// Number of the queue's entry in shared memory.
    queue: usize,
    segment: usize,
    span: Span,
}

impl Claimed {
    fn is_beside(&self, other: &Claimed) -> bool {
        (self.within, self.queue, self.segment) == (other.within, other.queue, other.segment)
    }

    fn touches(&self, other: &Claimed) -> bool {
        self.is_beside(other) && self.span.first <= other.span.end && other.span.first <= self.span.end
    }
}

thread_local! {
    static CLAIMED: RefCell<Vec<Claimed>> = const { RefCell::new(Vec::new()) };
}

/// The current subtransaction has claimed positions; at the top there is nothing to remember.
pub(crate) fn claimed(queue: &Definition, segment: usize, span: Span) {
    // SAFETY: inside a transaction.
    let within = unsafe { pg_sys::GetCurrentSubTransactionId() };
    if within != TOP {
        follow();
        let new = Claimed { within, queue: queue.memory_number(), segment, span };
        CLAIMED.with_borrow_mut(|claimed| remember(claimed, new));
    }
}

/// Has this session told of the ends of its transactions, from now on.
pub(crate) fn follow() {
    // Everybody can see it.
    at_transaction_end(|_| CLAIMED.with_borrow_mut(Vec::clear));
    at_subtransaction_end(|end| match end {
        SubtransactionEnd::Committed(own, parent) => committed(own, parent),
        SubtransactionEnd::RolledBack(own) => rolled_back(own),
    });
}

/// Remembers a range, widening one that is there where it is beside it, or where there are many.
fn remember(claimed: &mut Vec<Claimed>, new: Claimed) {
    let widened = claimed.iter().rposition(|known| known.touches(&new)).or_else(|| {
        let mut beside = claimed.iter().enumerate().filter(|(_, known)| known.is_beside(&new));
        let first = beside.next().map(|(place, _)| place);
        first.filter(|_| beside.count() + 1 >= APART)
    });
    match widened {
        Some(place) => {
            let span = &mut claimed[place].span;
            *span = Span { first: span.first.min(new.span.first), end: span.end.max(new.span.end) };
        }
        None => claimed.push(new),
    }
}

/// A subtransaction has become part of its parent.
fn committed(own: SubTransactionId, parent: SubTransactionId) {
    for claimed in taken(own) {
        if parent != TOP {
            CLAIMED.with_borrow_mut(|all| remember(all, Claimed { within: parent, ..claimed }));
        }
    }
}

/// A subtransaction was rolled back: what it had claimed is free.
fn rolled_back(own: SubTransactionId) {
    for Claimed { queue, segment, span, .. } in taken(own) {
        let mut lock = queues().lock(queue);
        lock.segments[segment].watch.freed(span, &Server::now());
    }
}

fn taken(own: SubTransactionId) -> Vec<Claimed> {
    CLAIMED.with_borrow_mut(|claimed| claimed.extract_if(.., |known| known.within == own).collect())
}
