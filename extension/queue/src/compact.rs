//! Survivors: the rows of an old segment that stay when all others are consumed, because they are delayed or leased, or because
//! nobody wants them.
//!
//! They would keep their segment from being truncated, and two of them in two segments would end truncation for good. So a segment
//! of which little is left is truncated all the same, and its survivors are written to it again: with their positions, and
//! with what its ledger says of each. That happens in the transaction of the truncation, under its lock, which nobody has
//! a lock beside who has written to the segment or taken from it. They are frozen, as marks are: who has an older
//! snapshot, like a dump, sees them, also those that were sent since.
//!
//! That is done for few: nobody shall wait for long. Many are moved to another segment before, by [`super::shift`].

use std::ptr::null_mut;

use claims::{BLOCK, Batch, Block, Claim, Span, State, block_of};
use pg::scratch::Scratch;
use pgrx::pg_sys::{self, Datum, Tuplestorestate};

use super::definition::Definition;
use super::ledger::{self, Row, Scan};
use super::page::position_of;
use super::segment::{Purpose, Segment};
use super::settle::{read_block, read_block_and_next};
use super::transactions::Server;
use super::{append, rotation, rows};

/// A row that is not consumed.
#[derive(Clone, Copy)]
pub(crate) struct Survivor {
    /// Its position.
    pub position: u64,
    /// The batch that it came in with.
    pub batch: Batch,
    /// The claim that counts, if there is one.
    pub claim: Option<Claim>,
}

/// What is left of a segment, by its ledger alone, whatever is in shared memory.
#[derive(Default)]
pub(crate) struct Remains {
    /// The rows that are not consumed: all, or as many as were wanted.
    pub survivors: Vec<Survivor>,
    /// In how many blocks they are.
    pub blocks: usize,
    /// How many rows are not consumed.
    pub live: u64,
    /// How many of them wait for no time.
    pub free: u64,
    /// How many rows there were.
    pub all: u64,
}

/// How far a segment is looked through for what is left of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Extent {
    /// Until so many are found that the segment is not compacted by who asks.
    Most(usize),
    /// To the end, to count what is left. So many are kept.
    All(usize),
}

impl Extent {
    fn kept(self) -> usize {
        match self {
            Extent::Most(kept) | Extent::All(kept) => kept,
        }
    }
}

/// What is left of a segment at a time of its queue; none if there is more than was asked for, or if a transaction still works with one of the
/// rows.
pub(crate) fn remains(segment: &Segment, extent: Extent, now: i64) -> Option<Remains> {
    let server = Server::now();
    let (mut block, mut remains) = (Block::new(0), Remains::default());
    for row in Scan::upwards(segment, &server, 0) {
        let Some(first) = row.first() else { continue };
        if first >= block.start + BLOCK {
            remains.add_block(&mut block, extent, now)?;
            block.reset(first);
        }
        add(&mut block, row);
    }
    remains.add_block(&mut block, extent, now)?;
    Some(remains)
}

fn add(block: &mut Block, row: Row) {
    match row {
        Row::Batch(batch) => block.add_batch(batch),
        Row::Claim(claim) => block.add_claim(claim),
        Row::Mark(_) | Row::Moved => {}
    }
}

impl Remains {
    fn add_block(&mut self, block: &mut Block, extent: Extent, now: i64) -> Option<()> {
        let before = self.live;
        block.settle();
        for position in block.start..block.start + BLOCK {
            self.all += u64::from(block.batch(position).is_some());
            match Survivor::of(block, position) {
                Err(_) => return None,
                Ok(None) => {}
                Ok(Some(survivor)) => {
                    self.live += 1;
                    self.free += u64::from(survivor.until() <= now);
                    if self.survivors.len() < extent.kept() {
                        self.survivors.push(survivor);
                    } else if matches!(extent, Extent::Most(_)) {
                        return None;
                    }
                }
            }
        }
        self.blocks += usize::from(self.live > before);
        Some(())
    }
}

impl Survivor {
    /// A row that is not consumed, if there is one; the transaction that works with it.
    fn of(block: &Block, position: u64) -> Result<Option<Survivor>, u64> {
        match (block.state(position, 0), block.batch(position)) {
            (State::Absent | State::Consumed, _) | (_, None) => Ok(None),
            (State::Busy(transaction), _) => Err(transaction),
            (_, Some(batch)) => Ok(Some(Survivor { position, batch: *batch, claim: block.claim(position) })),
        }
    }

    /// Until when it waits.
    pub(crate) fn until(&self) -> i64 {
        self.claim.map_or(self.batch.until, |claim| claim.until)
    }

    /// Whether it and the next one may share a row of the ledger.
    fn is_followed_by(&self, next: &Survivor) -> bool {
        self.position + 1 == next.position
            && block_of(self.position) == block_of(next.position)
            && (self.batch.at, self.batch.until) == (next.batch.at, next.batch.until)
    }
}

fn is_of_one_block(one: &Survivor, other: &Survivor) -> bool {
    block_of(one.position) == block_of(other.position)
}

/// What has become of survivors since; none if a transaction works with one of them. Only their blocks are read.
pub(crate) fn again(segment: &Segment, survivors: &[Survivor]) -> Option<Vec<Survivor>> {
    let server = Server::now();
    let mut left = Vec::with_capacity(survivors.len());
    for group in survivors.chunk_by(is_of_one_block) {
        let block = read_block(segment, group[0].position, &server);
        for known in group {
            left.extend(Survivor::of(&block, known.position).ok()?);
        }
    }
    Some(left)
}

/// The survivors of whose positions the ledger of another segment says nothing. What it says of one is of a row that was there before,
/// perhaps of the survivor itself before it was moved.
pub(crate) fn unknown_to(segment: &Segment, survivors: &[Survivor], server: &Server) -> Vec<Survivor> {
    let mut unknown = Vec::with_capacity(survivors.len());
    // The ledger says nothing of what is between the block that was read last and this position.
    let mut next = 0;
    for group in survivors.chunk_by(is_of_one_block) {
        if block_of(group[0].position) + BLOCK <= next {
            unknown.extend_from_slice(group);
            continue;
        }
        let block;
        (block, next) = read_block_and_next(segment, group[0].position, server);
        unknown.extend(group.iter().filter(|survivor| !block.speaks_of(survivor.position)));
    }
    unknown
}

/// The survivors of a part of a segment that begins at `from`, without those that a transaction works with, and where the next
/// part begins; 0 if there is none. So many are found, `rows` of the ledger read, and the last block to its end.
pub(crate) fn part(
    segment: &Segment,
    server: &Server,
    from: u64,
    most: usize,
    mut rows: usize,
) -> (Vec<Survivor>, u64) {
    let (mut block, mut survivors) = (Block::new(from), Vec::new());
    let mut add_block = |block: &mut Block| {
        block.settle();
        let positions = block.start..block.start + BLOCK;
        survivors.extend(positions.filter_map(|position| Survivor::of(block, position).ok().flatten()));
        survivors.len() >= most
    };
    for row in Scan::upwards(segment, server, block.start) {
        rows = rows.saturating_sub(1);
        let Some(first) = row.first() else { continue };
        if first >= block.start + BLOCK {
            if add_block(&mut block) || rows == 0 {
                return (survivors, block_of(first));
            }
            block.reset(first);
        }
        add(&mut block, row);
    }
    add_block(&mut block);
    (survivors, 0)
}

/// Truncates a segment that is locked against everybody, and writes its survivors to it again. `last` is the last position that was
/// given out.
pub(crate) fn compact(
    queue: &Definition,
    segment: Segment,
    survivors: &[Survivor],
    last: u64,
    producers: &[ledger::Origin],
) {
    let number = segment.number;
    let kept = Kept::gather(&segment, survivors);
    drop(segment);
    rotation::truncate(queue, number, last, producers);
    kept.write(&Segment::open(queue, number, Purpose::Take), survivors, Kind::Frozen);
}

/// How rows are written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    /// As any rows.
    Plain,
    /// Into a segment that this transaction has truncated: every snapshot sees them.
    Frozen,
}

/// Rows that are on their way from a segment to another, or over a truncation: in memory, or in a file if they are large.
pub(crate) struct Kept(*mut Tuplestorestate);

impl Kept {
    /// The rows of survivors.
    pub(crate) fn gather(segment: &Segment, survivors: &[Survivor]) -> Kept {
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

    /// Writes the rows, and what is known of them.
    pub(crate) fn write(self, segment: &Segment, survivors: &[Survivor], kind: Kind) {
        let mut left = survivors.iter();
        let mut written: Vec<(&Survivor, u32)> = Vec::with_capacity(survivors.len());
        let scratch = Scratch::here();
        // SAFETY: the slot is of the table that the rows are from, or one with the same columns; it and the store are freed
        // here, after an error with the memory context.
        unsafe {
            let descriptor = (**segment.rows).rd_att;
            let slot = pg_sys::MakeSingleTupleTableSlot(descriptor, &raw const pg_sys::TTSOpsMinimalTuple);
            while pg_sys::tuplestore_gettupleslot(self.0, true, false, slot) {
                pgrx::check_for_interrupts!();
                scratch.run(|| {
                    let tuple = pg_sys::ExecCopySlotHeapTuple(slot);
                    let position = position_of(tuple);
                    if let Some(survivor) = left.find(|survivor| survivor.position == position) {
                        written.push((survivor, write_one(segment, tuple, kind)));
                    }
                });
            }
            pg_sys::ExecDropSingleTupleTableSlot(slot);
            pg_sys::tuplestore_end(self.0);
        }
        let rows = rows_about(&written);
        match kind {
            Kind::Plain => ledger::append(segment, &rows, None),
            Kind::Frozen => ledger::append_frozen(segment, &rows, None),
        }
    }
}

/// What the ledger says of rows that were written, each with its page. Neighbours of a batch are a batch again; each has a
/// claim of its own, as none may have positions on both sides of the cursor.
fn rows_about(written: &[(&Survivor, u32)]) -> Vec<Row> {
    let mut rows = Vec::new();
    for run in written.chunk_by(|(one, _), (other, _)| one.is_followed_by(other)) {
        let (first, last) = (run[0].0, run[run.len() - 1].0);
        let span = Span { first: first.position, end: last.position + 1 };
        let pages = || run.iter().map(|(_, page)| *page);
        let (low, high) = (pages().min().unwrap_or(0), pages().max().unwrap_or(u32::MAX));
        rows.push(Row::Batch(Batch { span, low, high, writer: 0, ..first.batch }));
        rows.extend(run.iter().filter_map(|(survivor, _)| survivor.claim.map(Row::Claim)));
    }
    rows
}

/// Bytes of what these rows have elsewhere, which is not read.
pub(crate) fn sizes_elsewhere(segment: &Segment, survivors: &[Survivor]) -> Vec<u64> {
    let mut batches: Vec<Batch> = survivors.iter().map(|survivor| survivor.batch).collect();
    batches.dedup();
    let wanted = rows::spans_of(survivors.iter().map(|survivor| survivor.position));
    let mut sizes = vec![0; survivors.len()];
    rows::fetch(segment, &batches, &wanted, |position, tuple| {
        if let Ok(place) = survivors.binary_search_by_key(&position, |survivor| survivor.position) {
            // SAFETY: a row of the segment's table, on a pinned page.
            sizes[place] = unsafe { size_elsewhere(segment, tuple) };
        }
    });
    sizes
}

/// # Safety
/// A row of the segment's table.
unsafe fn size_elsewhere(segment: &Segment, tuple: &pg_sys::HeapTupleData) -> u64 {
    // SAFETY: by contract; an array has a place for each column.
    unsafe {
        if (*tuple.t_data).t_infomask & pg_sys::HEAP_HASEXTERNAL as u16 == 0 {
            return 0;
        }
        let descriptor = (**segment.rows).rd_att;
        let count = (*descriptor).natts as usize;
        let (mut values, mut nulls) = (vec![Datum::null(); count], vec![false; count]);
        let tuple = std::ptr::from_ref(tuple).cast_mut();
        pg_sys::heap_deform_tuple(tuple, descriptor, values.as_mut_ptr(), nulls.as_mut_ptr());
        let is_elsewhere = |place: &usize| {
            !nulls[*place]
                && pg::attribute(descriptor, *place).attlen == -1
                && pgrx::varatt_is_1b_e(values[*place].cast_mut_ptr())
        };
        (0..count).filter(is_elsewhere).map(|place| pg_sys::toast_datum_size(values[place]) as u64).sum()
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

/// The page that it is on now.
///
/// # Safety
/// A row with the columns of the segment's table, which this transaction has truncated if the row is to be frozen.
unsafe fn write_one(segment: &Segment, tuple: pg_sys::HeapTuple, kind: Kind) -> u32 {
    let options = match kind {
        Kind::Plain => 0,
        Kind::Frozen => pg_sys::HEAP_INSERT_FROZEN as i32,
    };
    // SAFETY: by contract; the transaction has a number, as it has claimed the row or truncated.
    unsafe {
        let command = pg_sys::GetCurrentCommandId(true);
        pg_sys::heap_insert(*segment.rows, tuple, command, options, null_mut());
        append::page_of(&(*tuple).t_self)
    }
}
