//! The state of 128 neighbouring positions, from the rows of the ledger about them.

use crate::spans::Span;
use crate::{BLOCK, FOR_GOOD, block_of};

/// A row of the ledger that says that positions exist.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Batch {
    /// The positions; they do not cross a block.
    pub span: Span,
    /// When they came in, in microseconds.
    pub at: i64,
    /// Until when they wait, in microseconds.
    pub until: i64,
    /// The first page to look at.
    pub low: u32,
    /// The last page to look at.
    pub high: u32,
    /// The transaction that writes it, while it is in progress; otherwise 0.
    pub writer: u64,
}

/// A row of the ledger that claims positions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Claim {
    /// The positions; they do not cross a block.
    pub span: Span,
    /// When the claim was made: of two the later one counts.
    pub at: i64,
    /// Until when it holds; [`FOR_GOOD`] if the positions are consumed.
    pub until: i64,
    /// How often the positions have been read.
    pub reads: i32,
    /// When they were read last; 0 if never.
    pub read_at: i64,
    /// The transaction that claims, while it is in progress; otherwise 0.
    pub claimant: u64,
}

/// Where the rows of the ledger are that speak of some positions. All-zero bytes: nobody knows.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[repr(C)]
pub struct Rows {
    /// The first of them begins at this position.
    pub from: u64,
    /// All others begin at this one or later: if it is not `from`, the first is a batch, and what is between are claims on what
    /// has been consumed.
    pub then: u64,
}

impl Rows {
    /// All from this position on.
    pub fn all(from: u64) -> Rows {
        Rows { from, then: from }
    }
}

/// What may be done with a position.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum State {
    /// There is no such row, or not yet.
    Absent,
    /// It may be claimed.
    Free,
    /// A transaction in progress writes or claims it.
    Busy(u64),
    /// It is leased, or delayed, until then.
    Waits(i64),
    /// It is gone.
    Consumed,
}

/// What is known of one position.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Known {
    /// Index of its batch; none if it does not exist.
    batch: Option<u16>,
    busy: u64,
    /// When the claim that counts was made; `i64::MIN` if there is none.
    pub at: i64,
    /// Until when it waits; [`FOR_GOOD`] if it is consumed.
    pub until: i64,
    /// How often it has been read.
    pub reads: i32,
    /// When it was read last; 0 if never.
    pub read_at: i64,
}

const NOTHING: Known = Known { batch: None, busy: 0, at: i64::MIN, until: i64::MIN, reads: 0, read_at: 0 };

/// The state of a block. Rows of the ledger may be added in any order.
pub struct Block {
    /// The first position of the block.
    pub start: u64,
    batches: Vec<Batch>,
    claims: Vec<Claim>,
    known: Box<[Known; BLOCK as usize]>,
}

/// Rows of the ledger that claim positions of a block, of which it is crowded. If each has a claim of its own it has half of them.
const CROWDED: usize = 2 * BLOCK as usize;

impl Block {
    /// A block of which nothing is known.
    pub fn new(position: u64) -> Block {
        let known = Box::new([NOTHING; BLOCK as usize]);
        Block { start: block_of(position), batches: Vec::new(), claims: Vec::new(), known }
    }

    /// Makes it another block of which nothing is known.
    pub fn reset(&mut self, position: u64) {
        self.start = block_of(position);
        self.batches.clear();
        self.claims.clear();
    }

    /// Adds a batch.
    pub fn add_batch(&mut self, batch: Batch) {
        self.batches.push(batch);
    }

    /// Adds a claim.
    pub fn add_claim(&mut self, claim: Claim) {
        self.claims.push(claim);
    }

    /// Puts together what has been added. Call it before [`Block::state`].
    pub fn settle(&mut self) {
        self.known.fill(NOTHING);
        for (number, batch) in self.batches.iter().enumerate() {
            for known in &mut self.known[places(self.start, batch.span)] {
                known.batch = Some(number as u16);
                known.busy = batch.writer;
                known.until = batch.until;
            }
        }
        for claim in &self.claims {
            for known in &mut self.known[places(self.start, claim.span)] {
                known.apply(claim);
            }
        }
    }

    /// Where the rows of the ledger are that speak of `position` or later ones.
    pub fn rows_about(&self, position: u64) -> Rows {
        let is_across = |span: &Span| span.first < position && span.end > position;
        let from = self.spans().filter(is_across).map(|span| span.first).fold(position, u64::min);
        let mut claims = self.claims.iter().filter(|claim| is_across(&claim.span));
        let batches = self.batches.iter().filter(|batch| is_across(&batch.span));
        let is_one_batch = claims.next().is_none() && batches.count() == 1;
        Rows { from, then: if is_one_batch { position } else { from } }
    }

    /// Whether so many claims are known that those to come are to be alike: see [`Span::aligned`].
    pub fn is_crowded(&self) -> bool {
        self.claims.len() > CROWDED
    }

    /// Whether a row of the ledger speaks of a position, also if it is consumed.
    pub fn speaks_of(&self, position: u64) -> bool {
        self.spans().any(|span| span.first <= position && position < span.end)
    }

    /// The positions that each row of the ledger speaks of.
    fn spans(&self) -> impl Iterator<Item = Span> {
        let batches = self.batches.iter().map(|batch| batch.span);
        batches.chain(self.claims.iter().map(|claim| claim.span))
    }

    /// What is known of a position of the block.
    pub fn known(&self, position: u64) -> &Known {
        &self.known[(position - self.start) as usize]
    }

    /// The claim that counts of those on a position of the block, if there is any.
    pub fn claim(&self, position: u64) -> Option<Claim> {
        let Known { at, until, reads, read_at, .. } = *self.known(position);
        let span = Span { first: position, end: position + 1 };
        (at != NOTHING.at).then_some(Claim { span, at, until, reads, read_at, claimant: 0 })
    }

    /// The batch of a position of the block.
    pub fn batch(&self, position: u64) -> Option<&Batch> {
        self.known(position).batch.map(|number| &self.batches[usize::from(number)])
    }

    /// What may be done with a position of the block at this time.
    pub fn state(&self, position: u64, now: i64) -> State {
        let known = self.known(position);
        match known {
            Known { batch: None, .. } => State::Absent,
            Known { until: FOR_GOOD, busy: 0, .. } => State::Consumed,
            Known { busy, .. } if *busy != 0 => State::Busy(*busy),
            Known { until, .. } if *until > now => State::Waits(*until),
            _ => State::Free,
        }
    }
}

fn places(start: u64, span: Span) -> std::ops::Range<usize> {
    let place = |position: u64| position.saturating_sub(start).min(BLOCK) as usize;
    place(span.first)..place(span.end).max(place(span.first))
}

impl Known {
    fn apply(&mut self, claim: &Claim) {
        if claim.claimant != 0 {
            self.busy = claim.claimant;
        } else if claim.until == FOR_GOOD || (claim.at >= self.at && self.until != FOR_GOOD) {
            self.at = claim.at;
            self.until = claim.until;
            self.reads = claim.reads;
            self.read_at = claim.read_at;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn batch(first: u64, end: u64) -> Batch {
        Batch { span: Span { first, end }, at: 1, until: 0, low: 0, high: 0, writer: 0 }
    }

    fn claim(first: u64, end: u64, at: i64, until: i64) -> Claim {
        Claim { span: Span { first, end }, at, until, reads: 1, read_at: at, claimant: 0 }
    }

    #[test]
    fn positions_without_a_batch_are_absent_and_others_free() {
        let mut block = Block::new(300);
        block.add_batch(batch(300, 310));
        block.settle();
        assert_eq!(block.start, 256);
        assert_eq!(block.state(299, 10), State::Absent);
        assert_eq!(block.state(300, 10), State::Free);
        assert_eq!(block.state(310, 10), State::Absent);
    }

    #[test]
    fn the_ledger_speaks_also_of_positions_that_have_but_a_claim() {
        let mut block = Block::new(300);
        block.add_batch(batch(300, 302));
        block.add_claim(claim(303, 304, 10, FOR_GOOD));
        let known: Vec<u64> = (299..306).filter(|position| block.speaks_of(*position)).collect();
        assert_eq!(known, [300, 301, 303]);
    }

    #[test]
    fn of_the_rows_before_a_position_one_batch_alone_speaks_of_it_or_who_looks_reads_all() {
        let mut block = Block::new(0);
        block.add_batch(batch(1, 50));
        block.add_claim(claim(1, 9, 10, FOR_GOOD));
        assert_eq!(block.rows_about(9), Rows { from: 1, then: 9 });
        assert_eq!(block.rows_about(50), Rows::all(50));
        block.add_claim(claim(9, 12, 10, 20));
        assert_eq!(block.rows_about(10), Rows::all(1), "a claim is across");
        assert_eq!(block.rows_about(12), Rows { from: 1, then: 12 });
        block.add_batch(batch(11, 60));
        assert_eq!(block.rows_about(12), Rows::all(1), "two batches have it");
        assert_eq!(block.rows_about(50), Rows { from: 11, then: 50 });
    }

    #[test]
    fn the_latest_claim_counts_whatever_the_order_of_the_rows() {
        let mut block = Block::new(0);
        block.add_batch(batch(1, 5));
        block.add_claim(claim(1, 3, 20, 25));
        block.add_claim(claim(1, 5, 10, 90));
        block.settle();
        assert_eq!(block.state(1, 30), State::Free, "the lease was given back");
        assert_eq!(block.state(4, 30), State::Waits(90));
    }

    #[test]
    fn consumption_is_final() {
        let mut block = Block::new(0);
        block.add_batch(batch(1, 3));
        block.add_claim(claim(1, 2, 10, FOR_GOOD));
        block.add_claim(claim(1, 3, 20, 25));
        block.settle();
        assert_eq!(block.state(1, 99), State::Consumed);
        assert_eq!(block.state(2, 99), State::Free);
    }

    #[test]
    fn a_transaction_in_progress_keeps_what_it_claims() {
        let mut block = Block::new(0);
        block.add_batch(batch(1, 3));
        block.add_claim(Claim { claimant: 7, ..claim(1, 2, 10, FOR_GOOD) });
        block.settle();
        assert_eq!(block.state(1, 99), State::Busy(7));
        assert_eq!(block.state(2, 99), State::Free);
    }
}
