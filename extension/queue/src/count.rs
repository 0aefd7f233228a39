//! How many rows there are, from the ledgers: 128 positions at a time, and never the rows themselves.

use claims::{BLOCK, Batch, Block, Claim, FOR_GOOD, State, block_of};

use super::definition::Definition;
use super::learn::{are_open, open};
use super::ledger::{Row, Scan};
use super::segment::{Purpose, Segment};
use super::transactions::{Moment, Server};
use super::{SEGMENTS, wall_time};

/// What a queue holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Count {
    /// Rows that are not consumed.
    pub rows: i64,
    /// Those of them that may be taken now.
    pub free: i64,
    /// When the oldest came in.
    pub oldest: Option<i64>,
    /// When the newest came in.
    pub newest: Option<i64>,
}

/// Counts what is not consumed, all at one moment: rows are moved from one segment to another meanwhile.
pub fn count(queue: &Definition) -> Count {
    if queue.place().is_none() {
        return count_all(queue);
    }
    loop {
        let segments = open(queue, Purpose::Look);
        let (lowest, moment, now) = {
            let lock = queue.lock();
            if !are_open(&segments, &lock) {
                // Rows were moved meanwhile to one that had none.
                continue;
            }
            // Under the lock: what is below has been consumed by then.
            let lowest = |segment: &Segment| lock.segments[segment.number].watch.lowest();
            (segments.iter().map(lowest).collect::<Vec<u64>>(), Moment::now(), lock.clock())
        };
        let mut count = Count::default();
        for (segment, lowest) in segments.iter().zip(lowest) {
            count.add_segment(segment, lowest, &moment, now, 0);
        }
        return count;
    }
}

/// The same by the ledgers alone, of a queue for which there is no room in shared memory: nobody moves rows of it.
fn count_all(queue: &Definition) -> Count {
    let (mut count, moment) = (Count::default(), Moment::now());
    for number in 0..SEGMENTS {
        count.add_segment(&Segment::open(queue, number, Purpose::Look), 0, &moment, wall_time(), 0);
    }
    count
}

/// Has [`Definition::live_roughly`] tell the truth, if nobody has counted since the server started: what was there before is in no
/// counter. It reads the ledgers once.
pub fn count_once(queue: &Definition) {
    let segments = open(queue, Purpose::Look);
    {
        let mut lock = queue.lock();
        if std::mem::replace(&mut lock.is_counted, true) {
            return;
        }
    }
    for segment in segments {
        let (lowest, before, moment, now, next) = {
            let lock = queue.lock();
            let memory = &lock.segments[segment.number];
            (memory.watch.lowest(), memory.counts(), Moment::now(), lock.clock(), lock.next)
        };
        let mut count = Count::default();
        count.add_segment(&segment, lowest, &moment, now, next);
        queue.lock().segments[segment.number].recount(count.rows as u64, before);
    }
}

/// Positions that have been given out; none if there is no room for the queue, and nobody knows.
pub(crate) fn given_out(queue: &Definition) -> Option<i64> {
    queue.place().map(|_| queue.lock().next.saturating_sub(1) as i64)
}

impl Count {
    /// Adds what a segment had at a moment. Rows below `counted` count also while they are being sent, as they are in the numbers already.
    fn add_segment(&mut self, segment: &Segment, from: u64, moment: &Moment, now: i64, counted: u64) {
        let server = Server::now();
        let mut block = Block::new(from);
        for row in Scan::upwards_as_of(segment, &server, moment, block.start) {
            let (Row::Batch(Batch { span, .. }) | Row::Claim(Claim { span, .. })) = row else { continue };
            if block_of(span.first) != block.start {
                self.add_block(&mut block, now);
                block.reset(span.first);
            }
            match row {
                // What has not been committed is not there.
                Row::Batch(batch) if batch.writer == 0 || span.first < counted => {
                    block.add_batch(Batch { writer: 0, ..batch });
                }
                // What has not been committed is not consumed.
                Row::Claim(claim) if claim.claimant != 0 => {
                    block.add_claim(Claim { until: FOR_GOOD - 1, claimant: 0, ..claim });
                }
                Row::Claim(claim) => block.add_claim(claim),
                _ => {}
            }
        }
        self.add_block(&mut block, now);
    }

    fn add_block(&mut self, block: &mut Block, now: i64) {
        block.settle();
        for position in block.start..block.start + BLOCK {
            let state = block.state(position, now);
            let (State::Free | State::Waits(_) | State::Busy(_), Some(batch)) =
                (state, block.batch(position))
            else {
                continue;
            };
            self.rows += 1;
            self.free += i64::from(state == State::Free);
            self.oldest = Some(self.oldest.map_or(batch.at, |oldest| oldest.min(batch.at)));
            self.newest = Some(self.newest.map_or(batch.at, |newest| newest.max(batch.at)));
        }
    }
}
