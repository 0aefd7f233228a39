//! Rows that were chosen: what is wanted, what becomes of them, and in what order they are handed out.

use std::rc::Rc;

use claims::{Batch, Block, Claim, times};

use super::ledger::Row;
use super::segment::Segment;

/// Rows of a segment that are claimed under one hold of the queue's lock.
pub(crate) const SLICE: usize = 1024;

/// What is wanted of a queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Wanted {
    /// How many rows at most.
    pub count: usize,
    /// What becomes of them.
    pub fate: Fate,
}

/// What becomes of rows that are chosen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fate {
    /// Nothing: they are looked at.
    Shown,
    /// They are consumed.
    Consumed,
    /// They are leased for so many microseconds, and consumed if they have been read so often before.
    Leased(i64, Option<i32>),
    /// They are the transaction's until it settles them, and do not count as read. Should it commit without that, they are free after so
    /// many microseconds.
    Held(i64),
}

/// A row that was chosen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Chosen {
    /// Its position.
    pub position: u64,
    /// How often it has been read, this time included.
    pub reads: i32,
    /// When it came in.
    pub sent_at: i64,
    /// When it was read last, this time included; 0 if never.
    pub read_at: i64,
    /// Until when it is leased, or was delayed; of one that is held the latter.
    pub until: i64,
    /// Whether it has been read too often: it is a dead letter.
    pub is_dead: bool,
}

/// What was chosen in a segment.
pub struct Haul {
    /// The segment, open.
    pub(crate) segment: Rc<Segment>,
    /// The rows, in the order of their positions.
    pub(crate) rows: Vec<Chosen>,
    /// How many of them are not dead.
    pub live: usize,
    /// Where to look for them.
    pub batches: Vec<Batch>,
    /// When the latest of the claims on them was made.
    pub latest: i64,
    /// Whether a block of theirs is crowded with claims.
    pub is_crowded: bool,
}

impl Haul {
    /// Nothing of a segment.
    pub(crate) fn of(segment: Rc<Segment>) -> Haul {
        let (rows, batches) = (Vec::new(), Vec::new());
        Haul { segment, rows, live: 0, batches, latest: i64::MIN, is_crowded: false }
    }

    /// Adds a row whose block and batch are known.
    pub(crate) fn add(&mut self, block: &Block, batch: &Batch, row: Chosen) {
        if self.batches.last().is_none_or(|last| last.span != batch.span) {
            self.batches.push(*batch);
        }
        self.latest = self.latest.max(block.known(row.position).at);
        self.is_crowded |= block.is_crowded();
        self.live += usize::from(!row.is_dead);
        self.rows.push(row);
    }

    /// When a claim on the rows is made, if that is now: after those that are there, whatever the clock says.
    pub fn moment(&self, now: i64) -> i64 {
        now.max(self.latest.saturating_add(1))
    }

    /// The claims on the rows, as few as may be, but in a crowded block as many as are not more than others in the end.
    pub fn rows_of(&self, claims: impl IntoIterator<Item = Claim>) -> Vec<Row> {
        let parts = |claim: Claim| claim.span.aligned().map(move |span| Row::Claim(Claim { span, ..claim }));
        if self.is_crowded {
            claims.into_iter().flat_map(parts).collect()
        } else {
            claims.into_iter().map(Row::Claim).collect()
        }
    }

    /// Chooses a row whose block is known.
    pub(crate) fn choose(&mut self, block: &Block, position: u64, fate: Fate, now: i64) {
        let (known, batch) = (block.known(position), block.batch(position));
        let Some(batch) = batch else { return };
        let mut chosen = Chosen {
            position,
            reads: known.reads,
            sent_at: batch.at,
            read_at: known.read_at,
            until: if known.until <= 0 { batch.at } else { known.until },
            is_dead: false,
        };
        if let Fate::Leased(time, most) = fate {
            chosen.is_dead = most.is_some_and(|most| known.reads >= most);
            if !chosen.is_dead {
                chosen.reads += 1;
                chosen.read_at = now;
                chosen.until = times::after(now, time);
            }
        }
        self.add(block, batch, chosen);
    }

    /// Leaves out the rows that others have.
    fn leave_out(&mut self, others: &[Haul]) {
        let has =
            |other: &Haul, position| other.rows.binary_search_by_key(&position, |row| row.position).is_ok();
        self.rows.retain(|row| !others.iter().any(|other| has(other, row.position)));
        self.live = self.rows.iter().filter(|row| !row.is_dead).count();
    }

    /// Cuts off the rows from this place on.
    pub(crate) fn split_off(&mut self, place: usize) -> Haul {
        let rows = self.rows.split_off(place);
        let live = rows.iter().filter(|row| !row.is_dead).count();
        self.live -= live;
        Haul { segment: self.segment.clone(), rows, live, batches: self.batches.clone(), ..*self }
    }
}

/// Cuts hauls of several segments so that all their rows are in the order of their positions. What several have is handed out
/// once: after the restore of a backup, say, whose rows were moved while it was made.
pub(crate) fn in_order(hauls: Vec<Haul>) -> Vec<Haul> {
    let mut rest = hauls;
    for place in 1..rest.len() {
        let (before, others) = rest.split_at_mut(place);
        others[0].leave_out(before);
    }
    rest.retain(|haul| !haul.rows.is_empty());
    let mut ordered = Vec::with_capacity(rest.len());
    while rest.len() > 1 {
        rest.sort_unstable_by_key(|haul| haul.rows[0].position);
        let next = rest[1].rows[0].position;
        let place = rest[0].rows.partition_point(|row| row.position < next);
        if place == rest[0].rows.len() {
            ordered.push(rest.remove(0));
        } else {
            let later = rest[0].split_off(place);
            ordered.push(std::mem::replace(&mut rest[0], later));
        }
    }
    ordered.extend(rest);
    ordered
}
