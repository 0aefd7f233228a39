//! Claims on positions that are named: acknowledged, given back, put off.

use std::rc::Rc;

use claims::{BLOCK, Block, Claim, Span, State, block_of};
use pgrx::pg_sys;

use super::claim::{claim_rows, watch_claim};
use super::claimed_rows::{Chosen, Fate, Haul, in_order};
use super::definition::Definition;
use super::learn::{are_open, open};
use super::ledger::{self, Row, Scan};
use super::memory::Locked;
use super::segment::{Purpose, Segment};
use super::transactions::{self, Server};
use super::{rows, wake};

/// Positions that are looked up under one hold of the queue's lock: each may be in a block of its own.
const SLICE: usize = 256;

/// A row that is named to be settled.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Named {
    /// Its position.
    pub position: u64,
    /// Which reading of it settles it, by its number; none for whoever names it.
    pub receipt: Option<i32>,
}

impl Named {
    /// Whether a row that has been read so often is meant.
    fn is_read(&self, reads: i32) -> bool {
        self.receipt.is_none_or(|receipt| receipt == reads)
    }
}

/// Until when the rows wait from now on: [`claims::FOR_GOOD`] consumes them. Hands out those that were there, in their
/// order, and returns how many that were. A row that has been read again since its receipt is left to who has read it.
///
/// Rows that another transaction has claimed and not committed are waited for, as an UPDATE would. It goes in slices, between
/// which others have the queue's lock and this session can be cancelled.
pub(crate) fn settle(
    queue: &Definition,
    named: &[Named],
    until: i64,
    mut hand_out: impl FnMut(&Haul),
) -> usize {
    let mut named = named.to_vec();
    named.sort_unstable();
    named.dedup();
    let (mut count, mut rest) = (0, &named[..]);
    while !rest.is_empty() {
        let (slice, later) = rest.split_at(rest.len().min(SLICE));
        rest = later;
        for haul in settle_slice(queue, slice, until) {
            count += haul.rows.len();
            hand_out(&haul);
        }
        if !rest.is_empty() {
            queue.memory().give_way();
        }
    }
    count
}

fn settle_slice(queue: &Definition, named: &[Named], until: i64) -> Vec<Haul> {
    loop {
        match settle_unless_claimed(queue, named, until) {
            Ok(hauls) => return hauls,
            Err(transaction) => wait_for(transaction),
        }
    }
}

/// The same for who does not wait: an error is the transaction that has claimed one of the rows, and nothing was settled.
pub(crate) fn settle_unless_claimed(
    queue: &Definition,
    named: &[Named],
    until: i64,
) -> Result<Vec<Haul>, u64> {
    settle_as(queue, named, until, 0)
}

/// The same, with so many readings more than there were.
pub(crate) fn settle_as(
    queue: &Definition,
    named: &[Named],
    until: i64,
    reads: i32,
) -> Result<Vec<Haul>, u64> {
    loop {
        let segments = open(queue, Purpose::Take);
        let mut lock = queue.lock();
        if !are_open(&segments, &lock) {
            // Rows were moved meanwhile to one that had none.
            continue;
        }
        let server = Server::now();
        // Nobody has the others yet.
        let given_out = named.partition_point(|row| row.position < lock.next);
        let mut hauls = find(segments, &named[..given_out], &server, until)?;
        hauls.iter_mut().flat_map(|haul| &mut haul.rows).for_each(|row| row.reads += reads);
        claim(queue, &mut lock, &hauls, &server, until);
        drop(lock);
        let count = hauls.iter().map(|haul| haul.rows.len()).sum();
        wake::settled(queue, count, until);
        return Ok(in_order(hauls));
    }
}

/// A row that is not consumed, whoever has it, and whether somebody has.
pub(crate) fn look_at(queue: &Definition, position: u64) -> Option<(Haul, State)> {
    let segments = open(queue, Purpose::Look);
    let lock = queue.lock();
    if position >= lock.next {
        return None;
    }
    let (server, now) = (Server::now(), lock.clock());
    for segment in segments {
        let mut haul = Haul::of(Rc::new(segment));
        let block = read_block(&haul.segment, position, &server);
        let state = block.state(position, now);
        if !matches!(state, State::Absent | State::Consumed) {
            haul.choose(&block, position, Fate::Shown, now);
            return Some((haul, state));
        }
    }
    None
}

/// # Panics
/// As PostgreSQL's error, if waiting would be a deadlock.
pub(crate) fn wait_for(transaction: u64) {
    let number = pg_sys::TransactionId::from_inner(transaction as u32);
    // SAFETY: inside a transaction, without the queue's lock.
    unsafe {
        pg_sys::XactLockTableWait(
            number,
            std::ptr::null_mut(),
            std::ptr::null_mut(),
            pg_sys::XLTW_Oper::XLTW_None,
        );
    }
}

/// The rows that exist and are not consumed, or a transaction to be waited for.
fn find(segments: Vec<Segment>, named: &[Named], server: &Server, until: i64) -> Result<Vec<Haul>, u64> {
    let mut hauls = Vec::new();
    for segment in segments {
        let mut haul = Haul::of(Rc::new(segment));
        for group in named.chunk_by(|one, other| block_of(one.position) == block_of(other.position)) {
            find_in_block(&mut haul, group, server, until)?;
        }
        hauls.push(haul);
    }
    hauls.retain(|haul| !haul.rows.is_empty());
    Ok(hauls)
}

fn find_in_block(haul: &mut Haul, named: &[Named], server: &Server, until: i64) -> Result<(), u64> {
    let block = read_block(&haul.segment, named[0].position, server);
    for row in named {
        let position = row.position;
        match (block.state(position, 0), block.batch(position)) {
            (State::Busy(transaction), _) => return Err(transaction),
            (State::Absent | State::Consumed, _) | (_, None) => {}
            (_, Some(batch)) => {
                let known = block.known(position);
                // Two receipts may name it.
                let is_found = haul.rows.last().is_some_and(|last| last.position == position);
                if is_found || !row.is_read(known.reads) {
                    continue;
                }
                let (reads, read_at) = (known.reads, known.read_at);
                let row = Chosen { position, reads, sent_at: batch.at, read_at, until, is_dead: false };
                haul.add(&block, batch, row);
            }
        }
    }
    Ok(())
}

/// What the ledger says of the block of a position.
pub(crate) fn read_block(segment: &Segment, position: u64, server: &Server) -> Block {
    read_block_and_next(segment, position, server).0
}

/// The same, and a position to which the ledger says nothing of what is above the block.
pub(crate) fn read_block_and_next(segment: &Segment, position: u64, server: &Server) -> (Block, u64) {
    let mut block = Block::new(position);
    let (end, mut next) = (block.start + BLOCK, u64::MAX);
    for row in Scan::upwards(segment, server, block.start) {
        if row.place() >= end {
            next = row.place();
            break;
        }
        match row {
            Row::Batch(batch) => block.add_batch(batch),
            Row::Claim(claim) => block.add_claim(claim),
            Row::Mark(_) | Row::Moved => {}
        }
    }
    block.settle();
    (block, next)
}

fn claim(queue: &Definition, lock: &mut Locked, hauls: &[Haul], server: &Server, until: i64) {
    if hauls.is_empty() {
        return;
    }
    let now = lock.clock();
    lock.note_claim(now);
    // So that this subtransaction, which the claims belong to, has a number.
    transactions::current();
    for haul in hauls {
        let at = haul.moment(now);
        let claims = haul.rows.iter().map(|row| {
            let span = Span { first: row.position, end: row.position + 1 };
            let (reads, read_at) = (row.reads, row.read_at);
            Claim { span, at, until, reads, read_at, claimant: 0 }
        });
        let memory = &mut lock.segments[haul.segment.number];
        for span in rows::spans_of(haul.rows.iter().map(|row| row.position)) {
            watch_claim(queue, haul.segment.number, memory, span, until, server);
        }
        let cursor = memory.watch.cursor();
        ledger::append(&haul.segment, &haul.rows_of(merge(claims, cursor)), None);
    }
}

/// Neighbouring claims of one block that are alike become one, but none has positions on both sides of the cursor.
pub(crate) fn merge(claims: impl Iterator<Item = Claim>, cursor: u64) -> Vec<Claim> {
    let mut merged: Vec<Claim> = Vec::new();
    for next in claims {
        if let Some(last) = merged.last_mut()
            && last.span.end == next.span.first
            && next.span.first != cursor
            && block_of(last.span.first) == block_of(next.span.first)
            && (last.reads, last.read_at) == (next.reads, next.read_at)
        {
            last.span.end = next.span.end;
        } else {
            merged.push(next);
        }
    }
    merged
}

/// Leases or consumes those of the positions that are free now, as `fate` says.
pub(crate) fn claim_free(queue: &Definition, positions: &[u64], fate: Fate) -> Vec<Haul> {
    if positions.is_empty() {
        return Vec::new();
    }
    let segments = open(queue, Purpose::Take);
    let mut lock = queue.lock();
    let (server, now) = (Server::now(), lock.clock());
    lock.note_claim(now);
    let mut hauls = Vec::new();
    for segment in segments {
        let mut haul = Haul::of(Rc::new(segment));
        for group in positions.chunk_by(|one, other| block_of(*one) == block_of(*other)) {
            let block = read_block(&haul.segment, group[0], &server);
            let free = group.iter().filter(|position| block.state(**position, now) == State::Free);
            free.for_each(|position| haul.choose(&block, *position, fate, now));
        }
        if !haul.rows.is_empty() {
            transactions::current();
            let memory = &mut lock.segments[haul.segment.number];
            claim_rows(queue, memory, &haul, fate, now, &server);
            hauls.push(haul);
        }
    }
    drop(lock);
    wake::claimed(queue, hauls.iter().map(|haul| haul.rows.len()).sum(), fate);
    in_order(hauls)
}
