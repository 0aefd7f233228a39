//! Writing rows.
//!
//! A bucket's positions are given out and put on the watch list, then its rows are written, in blocks, then the
//! ledger's rows about them: all in the caller's transaction, whose commit makes all of it visible.

use claims::{Batch, Span, times};
use pgrx::PgSqlErrorCode;
use pgrx::pg_sys::{self, BulkInsertState, Datum, HeapTuple, MemoryContext, TupleDesc, TupleTableSlot};

use super::definition::Definition;
use super::door::Door;
use super::layout::Layout;
pub use super::ledger::Origin;
use pg::refuse::refuse;

use super::ledger::{self, Row};
use super::opened::Opened;
use super::segment::Segment;
use super::transactions::{self, Server};
use super::{counted, rotation, wake, wall_time, write_behind};

/// Rows in the order of a row type's attributes.
pub trait Source {
    /// How many there are.
    fn count(&self) -> usize;
    /// As what the values were made: they are stored as nothing else. It lives as long as the source.
    fn row_type(&self) -> TupleDesc;
    /// The values of a row, and which of them are null. They need to live until the next call.
    fn row(&mut self, place: usize) -> (&[Datum], &[bool]);
}

/// Appends a bucket of converted rows to a queue of typed rows. With an origin the bucket is its producer's: call
/// [`super::producer::resume`] first in the same transaction. Returns the positions of the rows.
///
/// It checks no rights: [`Definition::check`] does, as whoever sends. The caller has a transaction and an active snapshot,
/// without which PostgreSQL stores no large values. Those who wait for rows are woken at the commit.
pub fn append(queue: &Definition, source: &mut dyn Source, origin: Option<&Origin>) -> Span {
    let mut layout: Option<Layout> = None;
    let (count, row_type) = (source.count(), source.row_type());
    write(queue, count, 0, origin, &mut |rows, place, position| {
        // SAFETY: the source outlives the layout.
        let layout = layout.get_or_insert_with(|| unsafe { Layout::of(queue.id, rows, row_type) });
        let (values, nulls) = source.row(place);
        // SAFETY: the source has values of the row type.
        unsafe { layout.of_values(values, nulls, position) }
    })
}

/// Notes how far a producer is whose last lines have left no row.
pub fn note(queue: &Definition, origin: &Origin) {
    // SAFETY: inside a transaction.
    unsafe { pg_sys::PreventCommandIfReadOnly(c"sending to a queue".as_ptr()) };
    let segment = rotation::open_for_sending(queue);
    transactions::current();
    let last = {
        let mut lock = queue.lock();
        let last = lock.next.saturating_sub(1);
        let memory = &mut lock.segments[segment.number];
        memory.is_clean = false;
        memory.told = memory.told.max(last + 1);
        last
    };
    ledger::append(&segment, &[Row::Mark(last)], Some(origin));
}

/// Runs `work` with what it allocates in a memory context. After an error PostgreSQL chooses the context.
fn within<T>(context: MemoryContext, work: impl FnOnce() -> T) -> T {
    // SAFETY: the context lives for as long as the transaction.
    unsafe {
        let before = pg_sys::MemoryContextSwitchTo(context);
        let result = work();
        pg_sys::MemoryContextSwitchTo(before);
        result
    }
}

/// Makes the tuple of a row: the table, the row's place among those that are written, its position.
pub(crate) type Make<'a> = &'a mut dyn FnMut(&Opened, usize, u64) -> HeapTuple;

/// Writes so many rows, which wait until `until`.
pub fn write(queue: &Definition, count: usize, until: i64, origin: Option<&Origin>, make: Make<'_>) -> Span {
    // SAFETY: inside a transaction.
    unsafe { pg_sys::PreventCommandIfReadOnly(c"sending to a queue".as_ptr()) };
    if count > i32::MAX as usize {
        refuse(PgSqlErrorCode::ERRCODE_PROGRAM_LIMIT_EXCEEDED, "too many rows for one batch");
    }
    let until = times::within(until);
    let segment = rotation::open_for_sending(queue);
    let (span, at) = reserve(queue, &segment, count as u64, until);
    if span.is_empty() {
        return span;
    }
    let mut writer = Writer::new(&segment, count);
    let mut rows = Vec::new();
    let (mut place, mut lowest, mut highest) = (0, u32::MAX, 0);
    for part in span.by_block() {
        let (low, high) = writer.write(part, place, make);
        (lowest, highest) = (lowest.min(low), highest.max(high));
        rows.push(Row::Batch(Batch { span: part, at, until, low, high, writer: 0 }));
        place += part.len() as usize;
    }
    writer.finish();
    ledger::append(&segment, &rows, origin);
    write_behind::written(queue, &segment, lowest, highest);
    wake::sent(queue, span.len(), until);
    span
}

/// Gives out positions.
fn reserve(queue: &Definition, segment: &Segment, count: u64, until: i64) -> (Span, i64) {
    let transaction = transactions::top();
    // So that this subtransaction, which the ledger's rows belong to, has one too.
    transactions::current();
    let mut lock = queue.lock();
    let server = Server::now();
    let span = Span { first: lock.next, end: lock.next + count };
    lock.next = span.end;
    let memory = &mut lock.segments[segment.number];
    memory.reserve(transaction, span, count as usize, until, &server);
    drop(lock);
    counted::written(queue, segment.number, count);
    (span, wall_time())
}

/// Writes tuples, those of a block at once.
struct Writer<'a> {
    segment: &'a Segment,
    door: Door,
    slots: Vec<*mut TupleTableSlot>,
    bulk: BulkInsertState,
    /// What is allocated for a block.
    context: MemoryContext,
}

/// Rows from which a bucket fills pages of its own.
const BULK: usize = 64;

impl<'a> Writer<'a> {
    fn new(segment: &'a Segment, count: usize) -> Writer<'a> {
        let bulk = match count {
            // SAFETY: inside a transaction.
            BULK.. => unsafe { pg_sys::GetBulkInsertState() },
            _ => std::ptr::null_mut(),
        };
        // SAFETY: a context that ends with the transaction at the latest.
        let context = unsafe {
            pg_sys::AllocSetContextCreateInternal(
                pg_sys::CurTransactionContext,
                c"howdah bucket".as_ptr(),
                pg_sys::ALLOCSET_DEFAULT_MINSIZE as usize,
                pg_sys::ALLOCSET_DEFAULT_INITSIZE as usize,
                pg_sys::ALLOCSET_DEFAULT_MAXSIZE as usize,
            )
        };
        // SAFETY: the table is open for as long as the writer.
        let door = unsafe { Door::of((**segment.rows).rd_att) };
        Writer { segment, door, slots: Vec::new(), bulk, context }
    }

    /// Writes the rows of a part of a block; the pages on which they are.
    fn write(&mut self, part: Span, place: usize, make: Make<'_>) -> (u32, u32) {
        let rows = &self.segment.rows;
        self.make_slots(part.len() as usize);
        let pages = within(self.context, || {
            let numbered = (part.first..part.end).enumerate();
            let mut measured = |tuple: HeapTuple| {
                // SAFETY: a tuple that was made for the table.
                unsafe { self.door.check(tuple) };
                tuple
            };
            let tuples: Vec<HeapTuple> =
                numbered.map(|(number, position)| measured(make(rows, place + number, position))).collect();
            if let [tuple] = tuples[..] { self.insert(tuple) } else { self.insert_all(&tuples) }
        });
        // SAFETY: nothing of it is used any more: slots are cleared.
        unsafe { pg_sys::MemoryContextReset(self.context) };
        pages
    }

    fn insert(&self, tuple: HeapTuple) -> (u32, u32) {
        // SAFETY: a tuple of the table, in a transaction that has a number.
        unsafe {
            let command = pg_sys::GetCurrentCommandId(true);
            pg_sys::heap_insert(*self.segment.rows, tuple, command, 0, self.bulk);
            let page = page_of(&(*tuple).t_self);
            (page, page)
        }
    }

    fn insert_all(&self, tuples: &[HeapTuple]) -> (u32, u32) {
        let skip_map = if self.bulk.is_null() { 0 } else { pg_sys::HEAP_INSERT_SKIP_FSM as i32 };
        let (mut low, mut high) = (u32::MAX, 0);
        // SAFETY: tuples of the table, in a transaction that has a number.
        unsafe {
            for (slot, tuple) in self.slots.iter().zip(tuples) {
                pg_sys::ExecStoreHeapTuple(*tuple, *slot, false);
            }
            let command = pg_sys::GetCurrentCommandId(true);
            let (rows, slots) = (*self.segment.rows, self.slots.as_ptr().cast_mut());
            pg_sys::heap_multi_insert(rows, slots, tuples.len() as i32, command, skip_map, self.bulk);
            for slot in &self.slots[..tuples.len()] {
                let page = page_of(&(**slot).tts_tid);
                (low, high) = (low.min(page), high.max(page));
                pg_sys::ExecClearTuple(*slot);
            }
        }
        (low, high)
    }

    /// A slot for each row, if there is more than one.
    fn make_slots(&mut self, count: usize) {
        // SAFETY: PostgreSQL's own variable.
        within(unsafe { pg_sys::CurTransactionContext }, || {
            while count > 1 && self.slots.len() < count {
                // SAFETY: the table is open for as long as the writer.
                let slot = unsafe {
                    let descriptor = (**self.segment.rows).rd_att;
                    pg_sys::MakeSingleTupleTableSlot(descriptor, &raw const pg_sys::TTSOpsHeapTuple)
                };
                self.slots.push(slot);
            }
        });
    }

    fn finish(self) {
        // SAFETY: what was made by this writer. After an error PostgreSQL frees it with the transaction.
        unsafe {
            for slot in &self.slots {
                pg_sys::ExecDropSingleTupleTableSlot(*slot);
            }
            if !self.bulk.is_null() {
                pg_sys::FreeBulkInsertState(self.bulk);
            }
            pg_sys::MemoryContextDelete(self.context);
        }
    }
}

/// The page that a row is on.
pub(crate) fn page_of(place: &pg_sys::ItemPointerData) -> u32 {
    u32::from(place.ip_blkid.bi_hi) << 16 | u32::from(place.ip_blkid.bi_lo)
}
