//! Reading and writing ledgers.
//!
//! A ledger is read with snapshots that look at the state of transactions now, whatever the caller's isolation.

use std::ptr::null_mut;

use claims::{Batch, Claim, Span, times};
use pg::refuse::refuse_with_hint;
use pg::version;
use pgrx::pg_sys::{self, Datum, SnapshotData, TupleTableSlot};
use pgrx::prelude::*;
use session::authority::table_name;

use super::opened::{Condition, Opened};
use super::segment::{PRODUCER, Segment};
use super::transactions::{Moment, Server};

/// Columns of a ledger: first, at, until, read_at, count, reads, low, high, producer, epoch, sequence. The count of a claim is
/// negative: so the claims on the same positions are together in the index, the latest first.
pub(crate) const COLUMNS: i32 = 11;
/// Columns that are never null.
const FIXED: i32 = 8;
/// `reads` of a batch.
const BATCH: i32 = -1;
/// `reads` of a mark that says that rows were moved.
const MOVED: i32 = -2;

/// Who has sent rows, and how far: a producer of the wire.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Origin {
    /// The producer's name.
    pub producer: String,
    /// Its epoch: an older one is refused.
    pub epoch: i32,
    /// Sequence number of its last row.
    pub sequence: i64,
}

/// A row of the ledger.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Row {
    /// Positions exist.
    Batch(Batch),
    /// Positions are claimed.
    Claim(Claim),
    /// Nothing but numbers that were given out.
    Mark(u64),
    /// Rows were moved to another segment. It is a mark at position 0.
    Moved,
}

impl Row {
    /// The first position that it says something of; none if it is a mark.
    pub fn first(&self) -> Option<u64> {
        match self {
            Row::Batch(Batch { span, .. }) | Row::Claim(Claim { span, .. }) => Some(span.first),
            Row::Mark(_) | Row::Moved => None,
        }
    }

    /// The position after those that it speaks of.
    pub fn end(&self) -> u64 {
        match self {
            Row::Batch(Batch { span, .. }) | Row::Claim(Claim { span, .. }) => span.end,
            Row::Mark(position) => position + 1,
            Row::Moved => 0,
        }
    }

    /// Where it is in the order of the ledger.
    pub fn place(&self) -> u64 {
        match self {
            Row::Batch(Batch { span, .. }) | Row::Claim(Claim { span, .. }) => span.first,
            Row::Mark(position) => *position,
            Row::Moved => 0,
        }
    }
}

/// Whether rows were moved to another segment since this one was truncated, or are being moved.
pub(crate) fn has_moved(segment: &Segment) -> bool {
    let server = Server::now();
    Scan::upwards(segment, &server, 0).take_while(|row| row.place() == 0).any(|row| row == Row::Moved)
}

/// Which transactions' rows are seen, besides those of the own and of committed ones.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Sight {
    /// Those in progress too.
    InProgress,
    /// All, even those that were rolled back.
    All,
}

/// Claims on the same positions that a scan passes by until it jumps over the others. It passes in the index alone, and a jump reads
/// a page of that.
const PASSED: u32 = 32;
/// Claims in progress on the same positions that are read: all are of one transaction, which may have claimed them again and again.
const IN_PROGRESS: u32 = 16;

/// A scan of a ledger in the order of positions. Upwards it leaves out claims that do not count, as there is a later one on the very
/// same positions: of a message that was prolonged a million times it reads a few rows.
pub(crate) struct Scan<'a> {
    server: &'a Server,
    snapshot: Box<SnapshotData>,
    scan: pg_sys::IndexScanDesc,
    slot: *mut TupleTableSlot,
    direction: pg_sys::ScanDirection::Type,
    moment: Option<&'a Moment>,
    alike: Alike,
    /// From which positions and count on it goes on, where it has jumped.
    behind: Box<[pg_sys::ScanKeyData; 2]>,
}

/// Claims on the same positions, of which a scan has read the latest.
#[derive(Default)]
struct Alike {
    first: i64,
    /// As it is stored; 0 if it has not read any.
    count: i32,
    /// How many of them it has read that are in progress.
    in_progress: u32,
    /// Whether it has read one that counts.
    is_known: bool,
    /// How many it has left out.
    passed: u32,
}

impl Alike {
    /// Whether the next row is of no account.
    fn pass(&mut self, (first, count): (i64, i32)) -> bool {
        if count >= 0 {
            return false;
        }
        if (first, count) != (self.first, self.count) {
            *self = Alike { first, count, ..Alike::default() };
        }
        let is_passed = self.is_known || self.in_progress >= IN_PROGRESS;
        self.passed += u32::from(is_passed);
        is_passed
    }

    /// A row that was not passed by has been read.
    fn add(&mut self, row: &Row) {
        if let Row::Claim(claim) = row {
            self.in_progress += u32::from(claim.claimant != 0);
            self.is_known |= claim.claimant == 0;
        }
    }
}

impl<'a> Scan<'a> {
    /// The rows whose first position is `from` or above.
    pub(crate) fn upwards(segment: &Segment, server: &'a Server, from: u64) -> Scan<'a> {
        let direction = pg_sys::ScanDirection::ForwardScanDirection;
        Scan::begin(segment, server, Sight::InProgress, Some(from), direction)
    }

    /// The same as it was at a moment: whoever has committed since counts as in progress. So what is moved from one ledger to
    /// another meanwhile is in one of them. Behind [`IN_PROGRESS`] claims in progress on the same positions one that has committed is not read.
    pub(crate) fn upwards_as_of(
        segment: &Segment,
        server: &'a Server,
        moment: &'a Moment,
        from: u64,
    ) -> Scan<'a> {
        let mut scan = Scan::upwards(segment, server, from);
        scan.moment = Some(moment);
        scan
    }

    /// All rows, the last first.
    pub(crate) fn downwards(segment: &Segment, server: &'a Server, sight: Sight) -> Scan<'a> {
        Scan::begin(segment, server, sight, None, pg_sys::ScanDirection::BackwardScanDirection)
    }

    fn begin(
        segment: &Segment,
        server: &'a Server,
        sight: Sight,
        from: Option<u64>,
        direction: pg_sys::ScanDirection::Type,
    ) -> Scan<'a> {
        // SAFETY: the relations are open for longer than the scan, and the snapshot does not move.
        unsafe {
            let mut snapshot: Box<SnapshotData> = Box::new(std::mem::zeroed());
            snapshot.snapshot_type = match sight {
                Sight::InProgress => pg_sys::SnapshotType::SNAPSHOT_DIRTY,
                Sight::All => pg_sys::SnapshotType::SNAPSHOT_ANY,
            };
            let slot = pg_sys::table_slot_create(*segment.ledger, null_mut());
            let scan = index_beginscan(segment, segment.by_first(), &mut *snapshot, from.is_some());
            (*scan).xs_want_itup = true;
            match from {
                Some(from) => rescan_from(scan, from),
                None => pg_sys::index_rescan(scan, null_mut(), 0, null_mut(), 0),
            }
            let (alike, behind) = (Alike::default(), Box::new(std::mem::zeroed()));
            Scan { server, snapshot, scan, slot, direction, moment: None, alike, behind }
        }
    }

    /// The transaction that has written the row of the slot, if it has not committed.
    fn in_progress(&self) -> pg_sys::TransactionId {
        let known = self.snapshot.xmin;
        let Some(moment) = self.moment.filter(|_| known == pg_sys::TransactionId::INVALID) else {
            return known;
        };
        // SAFETY: the slot holds a row of a table, on a pinned page.
        let writer = unsafe {
            let tuple = pg_sys::ExecFetchSlotHeapTuple(self.slot, false, null_mut());
            pg_sys::htup::HeapTupleHeaderGetXmin((*tuple).t_data)
        };
        if moment.has(writer) { known } else { writer }
    }

    /// Goes on with the rows whose first position is `from` or above.
    pub(crate) fn go_on_from(&mut self, from: u64) {
        // SAFETY: the scan is open, and begins with a key of this shape.
        unsafe { rescan_from(self.scan, from) };
    }

    /// Goes on behind the claims on the same positions.
    fn jump(&mut self) {
        // SAFETY: the scan is open. Its index begins with these columns, whose order the functions have; the keys live as long as it.
        unsafe {
            let strategy = pg_sys::BTGreaterStrategyNumber as u16;
            let [first, count] = &mut *self.behind;
            pg_sys::ScanKeyInit(
                first,
                1,
                strategy,
                pg_sys::Oid::from(pg_sys::F_BTINT8CMP),
                Datum::from(self.alike.first),
            );
            pg_sys::ScanKeyInit(
                count,
                2,
                strategy,
                pg_sys::Oid::from(pg_sys::F_BTINT4CMP),
                Datum::from(self.alike.count),
            );
            first.sk_flags = pg_sys::SK_ROW_MEMBER as i32;
            count.sk_flags = (pg_sys::SK_ROW_MEMBER | pg_sys::SK_ROW_END) as i32;
            let mut both: pg_sys::ScanKeyData = std::mem::zeroed();
            (both.sk_flags, both.sk_attno, both.sk_strategy) = (pg_sys::SK_ROW_HEADER as i32, 1, strategy);
            both.sk_argument = Datum::from(self.behind.as_mut_ptr());
            pg_sys::index_rescan(self.scan, &mut both, 1, null_mut(), 0);
        }
    }

    /// The first position and the count of the index's entry.
    ///
    /// # Safety
    /// The scan has one. Its index begins with these columns, which are never null.
    unsafe fn key(&self) -> (i64, i32) {
        const FIRST: usize = size_of::<pg_sys::IndexTupleData>();
        const COUNT: usize = FIRST + size_of::<i64>();
        // SAFETY: by contract. Behind its header an entry has the columns in their order, aligned as in a row.
        unsafe {
            let entry = (*self.scan).xs_itup.cast::<u8>();
            (entry.add(FIRST).cast::<i64>().read(), entry.add(COUNT).cast::<i32>().read())
        }
    }

    /// The row of the slot.
    fn read(&self) -> Row {
        // SAFETY: the slot holds a row of the ledger, whose first columns are never null.
        unsafe {
            pg_sys::slot_getsomeattrs_int(self.slot, FIXED);
            let value = |column: usize| *(*self.slot).tts_values.add(column);
            let long = |column: usize| value(column).value() as i64;
            let int = |column: usize| value(column).value() as i32;
            let (first, count, reads) = (long(0) as u64, int(4), int(5));
            let span = Span { first, end: first + u64::from(count.unsigned_abs()) };
            let busy = match self.in_progress() {
                pg_sys::TransactionId::INVALID => 0,
                transaction => self.server.widen(transaction),
            };
            let (at, until) = (long(1), long(2));
            if count == 0 && reads == MOVED {
                Row::Moved
            } else if count == 0 {
                Row::Mark(first)
            } else if reads == BATCH {
                Row::Batch(Batch { span, at, until, low: int(6) as u32, high: int(7) as u32, writer: busy })
            } else {
                Row::Claim(Claim { span, at, until, reads, read_at: long(3), claimant: busy })
            }
        }
    }
}

/// Has a scan begin with the rows whose first position is `from` or above.
///
/// # Safety
/// It was begun with a key.
unsafe fn rescan_from(scan: pg_sys::IndexScanDesc, from: u64) {
    // SAFETY: by contract. The scan copies the key.
    unsafe {
        let mut key: pg_sys::ScanKeyData = std::mem::zeroed();
        let (strategy, function) =
            (pg_sys::BTGreaterEqualStrategyNumber as u16, pg_sys::Oid::from(pg_sys::F_INT8GE));
        pg_sys::ScanKeyInit(&mut key, 1, strategy, function, Datum::from(from as i64));
        pg_sys::index_rescan(scan, &mut key, 1, null_mut(), 0);
    }
}

/// Begins a scan of an index of the ledger.
///
/// # Safety
/// The segment and the snapshot outlive the scan.
pub(crate) unsafe fn index_beginscan(
    segment: &Segment,
    index: &Opened,
    snapshot: *mut SnapshotData,
    has_key: bool,
) -> pg_sys::IndexScanDesc {
    // SAFETY: by contract.
    unsafe { version::index_beginscan(*segment.ledger, **index, snapshot, has_key.into()) }
}

impl Iterator for Scan<'_> {
    type Item = Row;

    fn next(&mut self) -> Option<Row> {
        let is_upwards = self.direction == pg_sys::ScanDirection::ForwardScanDirection;
        loop {
            // Under a lock of a queue it is put off.
            pgrx::check_for_interrupts!();
            // SAFETY: the scan is open; SnapshotDirty answers in the snapshot, which is empty before.
            unsafe {
                // Where a snapshot may see several versions of a row, PostgreSQL asks for the next one before the next entry.
                if !(*self.scan).xs_heap_continue {
                    if pg_sys::index_getnext_tid(self.scan, self.direction).is_null() {
                        return None;
                    }
                    if is_upwards && self.alike.pass(self.key()) {
                        if self.alike.passed >= PASSED {
                            self.jump();
                        }
                        continue;
                    }
                }
                self.snapshot.xmin = pg_sys::TransactionId::INVALID;
                if pg_sys::index_fetch_heap(self.scan, self.slot) {
                    let row = self.read();
                    self.alike.add(&row);
                    return Some(row);
                }
            }
        }
    }
}

impl Drop for Scan<'_> {
    fn drop(&mut self) {
        // After an error PostgreSQL gives back what the scan holds.
        if !std::thread::panicking() {
            // SAFETY: the scan is open.
            unsafe {
                pg_sys::index_endscan(self.scan);
                pg_sys::ExecDropSingleTupleTableSlot(self.slot);
            }
        }
    }
}

/// Appends rows to a ledger. The last gets the origin.
pub(crate) fn append(segment: &Segment, rows: &[Row], origin: Option<&Origin>) {
    insert(segment, rows, origin, 0);
}

/// The same for a ledger that this transaction has truncated: snapshots that are older than the truncation see an empty
/// table, but for these rows. A dump that has such a snapshot, and locks the ledger afterwards, has them.
pub(crate) fn append_frozen(segment: &Segment, rows: &[Row], origin: Option<&Origin>) {
    insert(segment, rows, origin, pg_sys::HEAP_INSERT_FROZEN as i32);
}

fn insert(segment: &Segment, rows: &[Row], origin: Option<&Origin>, options: i32) {
    // That of producers is for rows that have one.
    let is_wanted = |index: &&Opened| origin.is_some() || !std::ptr::eq(*index, segment.by_producer());
    let indexes: Vec<Index> = segment.indexes.iter().filter(is_wanted).filter_map(Index::of).collect();
    for (place, row) in rows.iter().enumerate() {
        pgrx::check_for_interrupts!();
        let mut values = values_of(row);
        let mut nulls = [false; COLUMNS as usize];
        match origin.filter(|_| place + 1 == rows.len()) {
            Some(origin) => {
                values[8] = origin.producer.as_str().into_datum().unwrap_or_else(Datum::null);
                values[9] = origin.epoch.into();
                values[10] = origin.sequence.into();
            }
            None => nulls[8..].fill(true),
        }
        // SAFETY: a tuple of the ledger's columns, written in a transaction that has a number.
        unsafe {
            let ledger = *segment.ledger;
            let tuple = pg_sys::heap_form_tuple((*ledger).rd_att, values.as_mut_ptr(), nulls.as_mut_ptr());
            pg_sys::heap_insert(ledger, tuple, pg_sys::GetCurrentCommandId(true), options, null_mut());
            for index in &indexes {
                index.insert(&values, &nulls, segment, &mut (*tuple).t_self);
            }
            pg_sys::heap_freetuple(tuple);
        }
    }
}

fn values_of(row: &Row) -> [Datum; COLUMNS as usize] {
    let long = |value: i64| Datum::from(value);
    let int = |value: i32| Datum::from(value);
    let mut values = [Datum::null(); COLUMNS as usize];
    let (span, at, until, read_at, reads, low, high) = match row {
        Row::Batch(batch) => {
            (batch.span, batch.at, batch.until, 0, BATCH, batch.low as i32, batch.high as i32)
        }
        Row::Claim(claim) => (claim.span, claim.at, claim.until, claim.read_at, claim.reads, 0, 0),
        Row::Mark(first) => (Span { first: *first, end: *first }, super::wall_time(), 0, 0, 0, 0, 0),
        Row::Moved => (Span { first: 0, end: 0 }, super::wall_time(), 0, 0, MOVED, 0, 0),
    };
    let count = span.len() as i32;
    // Whoever has computed them: a time that PostgreSQL cannot write would break every dump.
    let time = |value: i64| long(times::stored(value));
    values[..8].copy_from_slice(&[
        long(span.first as i64),
        time(at),
        time(until),
        time(read_at),
        int(if matches!(row, Row::Claim(_)) { -count } else { count }),
        int(reads),
        int(low),
        int(high),
    ]);
    values
}

/// An index of a ledger that rows are put into.
struct Index<'a> {
    index: &'a Opened,
    /// What PostgreSQL wants to know at each insertion.
    description: *mut pg_sys::IndexInfo,
    condition: Condition,
}

impl<'a> Index<'a> {
    /// None if it is not to have rows yet, or no more. An error if it is none of ours, nor like them.
    fn of(index: &'a Opened) -> Option<Index<'a>> {
        // SAFETY: the index is open; the description is in the current memory context.
        unsafe {
            if !(*(***index).rd_index).indisready {
                return None;
            }
            let description = pg_sys::BuildIndexInfo(**index);
            let is_plain = (*(***index).rd_rel).relam == pg_sys::BTREE_AM_OID
                && (*description).ii_Expressions.is_null()
                && !(*description).ii_Unique;
            let condition = index.condition();
            if !is_plain || !matches!(condition, Condition::None | Condition::IsGiven(PRODUCER)) {
                refuse_with_hint(
                    PgSqlErrorCode::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
                    &format!(
                        "the ledger of a queue has an index of another kind: {}",
                        table_name((***index).rd_id)
                    ),
                    "Drop the index: the queue does not need it.",
                );
            }
            Some(Index { index, description, condition })
        }
    }

    /// # Safety
    /// The values and nulls are those of the row at `place`.
    unsafe fn insert(
        &self,
        values: &[Datum; COLUMNS as usize],
        nulls: &[bool; COLUMNS as usize],
        segment: &Segment,
        place: *mut pg_sys::ItemPointerData,
    ) {
        // SAFETY: the description is of an index of the ledger, and by contract.
        unsafe {
            let description = &*self.description;
            if let Condition::IsGiven(column) = self.condition
                && nulls[column as usize - 1]
            {
                return;
            }
            let columns = &description.ii_IndexAttrNumbers[..description.ii_NumIndexAttrs as usize];
            let mut keys: Vec<Datum> = columns.iter().map(|column| values[*column as usize - 1]).collect();
            let mut are_null: Vec<bool> = columns.iter().map(|column| nulls[*column as usize - 1]).collect();
            pg_sys::index_insert(
                **self.index,
                keys.as_mut_ptr(),
                are_null.as_mut_ptr(),
                place,
                *segment.ledger,
                pg_sys::IndexUniqueCheck::UNIQUE_CHECK_NO,
                false,
                self.description,
            );
        }
    }
}
