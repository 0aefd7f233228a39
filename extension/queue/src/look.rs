//! Looking through a ledger for rows that are free.

use claims::watch::Obstacle;
use claims::{BLOCK, Batch, Block, Claim, Rows, Span, State, block_of};

use super::claimed_rows::{Haul, Wanted};
use super::ledger::{Row, Scan};
use super::segment::Segment;
use super::transactions::Server;

/// Ranges of obstacles that one look remembers apart.
const OBSTACLES: usize = 64;

/// Rows of the ledger after which a look stops where it is: nobody waits for the queue's lock for longer than some
/// milliseconds. A block is always looked through to its end.
pub const WORK: usize = 4096;

/// Positions that are worth a jump over their claims.
const FAR: u64 = 8;

/// A look through a range.
pub(crate) struct Look<'a> {
    haul: &'a mut Haul,
    wanted: Wanted,
    now: i64,
    /// Rows of the ledger that it may read still.
    pub work: usize,
    /// What it has passed by and that is not consumed.
    pub obstacles: Vec<Obstacle>,
    /// Where the ledger's rows are about what has not been looked at, when enough was found.
    pub rows: Rows,
    /// A transaction that it has met, and the one at its top.
    top: (u64, u64),
}

impl<'a> Look<'a> {
    /// A look that adds to the haul.
    pub(crate) fn new(haul: &'a mut Haul, wanted: Wanted, now: i64) -> Look<'a> {
        Look { haul, wanted, now, work: WORK, obstacles: Vec::new(), rows: Rows::default(), top: (0, 0) }
    }

    /// Looks through `all`, though not from `end` on, whose rows in the ledger are at `rows`. Returns the position up to
    /// which it has come: that may be above `end`, where the ledger says nothing of what is between.
    pub(crate) fn through(&mut self, all: Span, end: u64, rows: Rows, server: &Server) -> u64 {
        let span = Span { end: all.end.min(end), ..all };
        let mut block = Block::new(span.first);
        // Positions below have been looked at; so many above may be free.
        let (mut seen, mut promising) = (span.first, 0);
        // The scan keeps the ledger's index busy; the haul is changed meanwhile.
        let segment: *const Segment = &*self.haul.segment;
        // SAFETY: the segment stays where it is for as long as the haul is borrowed.
        let mut scan = Scan::upwards(unsafe { &*segment }, server, rows.from);
        while let Some(row) = scan.next() {
            self.work = self.work.saturating_sub(1);
            let (Row::Batch(Batch { span: about, .. }) | Row::Claim(Claim { span: about, .. })) = row else {
                continue;
            };
            let other = block_of(about.first) != block.start;
            // Rows are in the order of their positions: nothing more comes about what is below this one.
            if other || (about.first > seen && promising >= self.left()) {
                let end = if other { block.start + BLOCK } else { about.first };
                if let Some(upto) = self.through_block(&mut block, seen, end.min(span.end), server) {
                    return upto;
                }
                (seen, promising) = (end.max(seen), 0);
            }
            if about.first >= span.end {
                let upto = self.through_block(&mut block, seen, span.end, server);
                return upto.unwrap_or(block_of(about.first).clamp(span.end, all.end));
            }
            if other {
                if self.work == 0 {
                    return block_of(about.first).max(span.first);
                }
                block.reset(about.first);
                seen = block.start.max(span.first);
            }
            match row {
                Row::Batch(batch) => {
                    promising += about.end.saturating_sub(about.first.max(seen)) as usize;
                    block.add_batch(batch);
                    if about.first == rows.from && rows.then - rows.from >= FAR {
                        scan.go_on_from(rows.then);
                    }
                }
                Row::Claim(claim) => block.add_claim(claim),
                Row::Mark(_) | Row::Moved => {}
            }
        }
        self.through_block(&mut block, seen, span.end, server).unwrap_or(all.end)
    }

    /// How many rows are wanted still.
    fn left(&self) -> usize {
        self.wanted.count.saturating_sub(self.haul.live)
    }

    fn has_enough(&self) -> bool {
        self.left() == 0 || self.haul.rows.len() >= super::claimed_rows::SLICE
    }

    /// Looks through a part of a block; the position after the last that was chosen, if nothing more is wanted.
    fn through_block(&mut self, block: &mut Block, from: u64, end: u64, server: &Server) -> Option<u64> {
        block.settle();
        for position in from.max(block.start)..end.min(block.start + BLOCK) {
            match block.state(position, self.now) {
                State::Absent | State::Consumed => {}
                State::Busy(transaction) => {
                    let top = self.top_of(transaction, server);
                    self.obstacle(position, top, i64::MIN);
                }
                State::Waits(until) => self.obstacle(position, 0, until),
                State::Free => {
                    self.haul.choose(block, position, self.wanted.fate, self.now);
                    if self.has_enough() {
                        self.rows = block.rows_about(position + 1);
                        return Some(position + 1);
                    }
                }
            }
        }
        None
    }

    fn top_of(&mut self, transaction: u64, server: &Server) -> u64 {
        if self.top.0 != transaction {
            self.top = (transaction, server.top_of(transaction));
        }
        self.top.1
    }

    fn obstacle(&mut self, position: u64, transaction: u64, until: i64) {
        let full = self.obstacles.len() >= OBSTACLES;
        let alike = |known: &&mut Obstacle| known.transaction == transaction;
        let known = if full {
            self.obstacles.iter_mut().rev().find(alike)
        } else {
            self.obstacles.last_mut().filter(|known| alike(known) && known.span.end + BLOCK >= position)
        };
        match known {
            Some(known) => {
                known.span.end = position + 1;
                known.until = known.until.min(until);
            }
            None => {
                let span = Span { first: position, end: position + 1 };
                self.obstacles.push(Obstacle { span, transaction, until });
            }
        }
    }
}
