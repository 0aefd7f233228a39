//! What a producer has had committed.
//!
//! Buckets of a producer are serialised by a lock on its name, kept until the transaction ends. Its newest row in a
//! ledger tells how far it is; an older epoch is refused.
//!
//! A session may wait for that lock as it likes. An executor is everybody's: of those that write for a producer
//! one waits, and the others say so and are free for other work. Where producers are many that somebody holds, half of the executors wait for
//! them, and the others no longer than a commit takes.

use std::cell::Cell;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::marker::PhantomData;
use std::ptr::null_mut;

use pg::refuse::{refuse, refuse_with_hint};
use pg::{LockTimeout, lock_tag};
use pgrx::pg_sys::{self, Datum};
use pgrx::prelude::*;

use shared::settings;

use super::SEGMENTS;
use super::definition::Definition;
use super::ledger::{self, COLUMNS, Origin};
use super::segment::{Purpose, Segment};

/// Bytes that the name of a producer may have.
pub const LONGEST_NAME: usize = 256;

/// The class of the lock on a producer's name.
const CLASS: u16 = 0x4851;
/// The class of the lock that the one executor has which waits.
const WAITING: u16 = 0x4852;
/// The class of the locks that executors have which wait for long.
const SEAT: u16 = 0x4853;
/// For how long one waits that has none of these, in milliseconds.
const SHORT_WAIT: i32 = 200;

/// Waits for the producer's other transactions, and returns its epoch and the sequence number of its last row that was
/// committed; none if it has sent nothing yet. An error if a newer epoch has begun.
pub fn resume(queue: &Definition, producer: &str, epoch: i32) -> Option<Origin> {
    lock(("queue", queue.id), producer);
    let last = last(queue, producer);
    if let Some(last) = &last {
        check_epoch(producer, last.epoch, epoch);
    }
    last
}

/// How many of so many rows or lines that a producer sends, from number `first` on, are there already, if its last is number
/// `last`. An error if some before them are missing: of a producer that is not known those are from number 1 on, unless it sends none
/// and so says with what it begins. Else what it sends later with lower numbers, as requests may overtake each other, would count as
/// being there.
pub fn repeated(producer: &str, what: &str, first: i64, count: usize, last: Option<i64>) -> u64 {
    let Some(last) = last else {
        if count > 0 && first > 1 {
            refuse_out_of_turn(
                &format!(
                    "producer {producer} is not known, and begins with {what} 1, not with {what} {first}"
                ),
                &format!(
                    "Send what is before. If {what} {first} is its first, send none with that number before, to say so."
                ),
            );
        }
        return 0;
    };
    // One more than the last number that there is has no place in 64 bits.
    let next = i128::from(last) + 1;
    if i128::from(first) > next {
        refuse_out_of_turn(
            &format!("producer {producer}: {what} {first} comes after {what} {last}"),
            &format!("What is between them is missing; go on at {what} {next}."),
        );
    }
    (next - i128::from(first)) as u64
}

/// The number of a producer's line that is so many behind number `first`. An error if there is none. The last number of all is no
/// line's, so that whoever counts on has one for the next.
pub fn number(producer: &str, first: i64, behind: i64) -> i64 {
    first.checked_add(behind).unwrap_or_else(|| {
        refuse_with_hint(
            PgSqlErrorCode::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
            &format!("producer {producer} has no numbers left: {} is the last of a line", i64::MAX - 1),
            "Send under another name, or have the producer forgotten.",
        )
    })
}

/// An error unless this can be a producer that sends so many rows or lines, from number `first` on.
pub fn check(producer: &str, what: &str, epoch: i32, first: i64, count: usize) {
    let refuse = |message: &str| -> ! { refuse(PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE, message) };
    if producer.is_empty() || producer.len() > LONGEST_NAME {
        refuse(&format!("a producer has a name of 1 to {LONGEST_NAME} bytes, not of {}", producer.len()));
    }
    if epoch < 0 {
        refuse(&format!("producer {producer}: epoch {epoch} is negative"));
    }
    if first < 1 {
        refuse(&format!("producer {producer}: a {what} cannot have number {first}, they begin at 1"));
    }
    // A row may have the last number, a line may not: see `number`.
    if count > 0 && i64::try_from(count - 1).ok().and_then(|behind| first.checked_add(behind)).is_none() {
        refuse(&format!("producer {producer}: there are no numbers for {count} {what}s from {first} on"));
    }
}

thread_local! {
    /// Whether the last error was that a producer has sent what is not its turn.
    static OUT_OF_TURN: Cell<bool> = const { Cell::new(false) };
}

/// Whether an error since the last call was that a producer's epoch is over, or that it has left out a number.
pub fn was_out_of_turn() -> bool {
    OUT_OF_TURN.take()
}

fn refuse_out_of_turn(message: &str, hint: &str) -> ! {
    OUT_OF_TURN.set(true);
    refuse_with_hint(PgSqlErrorCode::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE, message, hint)
}

/// An error if the producer's epoch is over.
pub fn check_epoch(producer: &str, last: i32, epoch: i32) {
    if last > epoch {
        refuse_out_of_turn(
            &format!("producer {producer} has begun epoch {last}: epoch {epoch} is over"),
            "Another process has taken over; this one must stop.",
        );
    }
}

/// Waits for the other transactions of a producer of a queue or table, whose number this is. An error in an executor if
/// another waits already.
pub fn lock(target: (&str, u32), producer: &str) {
    let mut hasher = DefaultHasher::new();
    (target, producer).hash(&mut hasher);
    let name = hasher.finish();
    let its = lock_tag(CLASS, name);
    if acquire(&its, Wait::No) {
        return;
    }
    // SAFETY: PostgreSQL's own variable: null in a session.
    let is_executor = unsafe { !pg_sys::MyBgworkerEntry.is_null() };
    let place = lock_tag(WAITING, name);
    if is_executor && !acquire(&place, Wait::No) {
        refuse_with_hint(
            PgSqlErrorCode::ERRCODE_LOCK_NOT_AVAILABLE,
            &format!("producer {producer} has a transaction under way, and another that waits for it"),
            "Use one connection for a producer, or a name for each; this one may try again.",
        );
    }
    let seat = if is_executor { take_seat() } else { None };
    let hurry = (is_executor && seat.is_none()).then(|| LockTimeout::at_most(SHORT_WAIT));
    acquire(&its, Wait::Yes);
    drop(hurry);
    if is_executor {
        [Some(place), seat].iter().flatten().for_each(release);
    }
}

/// A seat for one that waits, of half as many as there may be executors for lines; none if all are taken.
fn take_seat() -> Option<pg_sys::LOCKTAG> {
    let seats = (settings::MAX_INGEST_EXECUTORS.get() as u64 / 2).max(1);
    (0..seats).map(|seat| lock_tag(SEAT, seat)).find(|seat| acquire(seat, Wait::No))
}

#[derive(PartialEq)]
enum Wait {
    No,
    Yes,
}

/// Acquires a lock until the transaction ends; false if it cannot be had at once and is not waited for.
fn acquire(tag: &pg_sys::LOCKTAG, wait: Wait) -> bool {
    // SAFETY: inside a transaction.
    let result = unsafe { pg_sys::LockAcquire(tag, pg_sys::ExclusiveLock as i32, false, wait == Wait::No) };
    result != pg_sys::LockAcquireResult::LOCKACQUIRE_NOT_AVAIL
}

/// Gives a lock back before the transaction ends.
fn release(tag: &pg_sys::LOCKTAG) {
    // SAFETY: acquired by this transaction.
    unsafe { pg_sys::LockRelease(tag, pg_sys::ExclusiveLock as i32, false) };
}

/// The newest row of a producer in all ledgers. All are open at once, as rows are carried from one to another; but no lock on
/// them is kept: whoever sends all the time would never let a segment be truncated. A truncation sees to it that the row is
/// elsewhere, and the producer's lock keeps others from adding one.
pub fn last(queue: &Definition, producer: &str) -> Option<Origin> {
    let segments = open_all(queue);
    let last = latest(segments.iter().filter_map(|segment| newest(segment, Some(producer)).next()));
    segments.into_iter().for_each(|segment| segment.release(Purpose::Look));
    last
}

fn open_all(queue: &Definition) -> Vec<Segment> {
    (0..SEGMENTS).map(|number| Segment::open(queue, number, Purpose::Look)).collect()
}

fn latest(origins: impl Iterator<Item = Origin>) -> Option<Origin> {
    origins.max_by_key(|origin| (origin.epoch, origin.sequence))
}

/// Tells how far each producer of a queue is, from the last name to the first.
pub fn for_each(queue: &Definition, mut tell: impl FnMut(Origin)) {
    let segments = open_all(queue);
    let mut ledgers: Vec<_> = segments.iter().map(|segment| newest(segment, None).peekable()).collect();
    loop {
        let next = ledgers.iter_mut().filter_map(|ledger| Some(ledger.peek()?.producer.clone())).max();
        let Some(name) = next else { break };
        latest(ledgers.iter_mut().filter_map(|ledger| ledger.next_if(|origin| origin.producer == name)))
            .into_iter()
            .for_each(&mut tell);
    }
    drop(ledgers);
    segments.into_iter().for_each(|segment| segment.release(Purpose::Look));
}

/// How far each producer is, or one, as a ledger has it now, whatever the caller's snapshot; from the last name to the first.
pub(crate) fn newest<'a>(segment: &'a Segment, producer: Option<&str>) -> Newest<'a> {
    let names = producer.map_or(Names::All, Names::One);
    Newest { rows: Rows::of(segment, names), producer: None }
}

/// The newest row of each producer in a ledger. See [`newest`].
pub(crate) struct Newest<'a> {
    rows: Rows<'a>,
    /// The producer that was found last.
    producer: Option<String>,
}

impl Iterator for Newest<'_> {
    type Item = Origin;

    fn next(&mut self) -> Option<Origin> {
        let last = self.producer.take();
        let (origin, _) = self.rows.find(|(origin, _)| last.as_ref() != Some(&origin.producer))?;
        self.producer = Some(origin.producer.clone());
        Some(origin)
    }
}

/// Producers of a segment of which no other ledger says that they are as far.
pub struct Lacking {
    /// They, so many at most.
    pub origins: Vec<Origin>,
    /// The name of the last that was looked at, if more follow.
    pub last: Option<String>,
}

/// Looks at the producers of a segment with names below one, or at all; at so many at most, and until so many are lacking. A row of
/// another ledger counts if `counts` says so of its transaction. The other segments stay locked.
pub(crate) fn lacking(
    queue: &Definition,
    segment: &Segment,
    below: Option<&str>,
    (looked, most): (usize, usize),
    counts: impl Fn(pg_sys::TransactionId) -> bool,
) -> Lacking {
    let names = || below.map_or(Names::All, Names::Below);
    let others: Vec<Segment> = (0..SEGMENTS)
        .filter(|number| *number != segment.number)
        .map(|number| Segment::open(queue, number, Purpose::Look))
        .collect();
    let mut ledgers: Vec<_> = others.iter().map(|other| Rows::of(other, names()).peekable()).collect();
    let mut origins = Vec::new();
    let own = Newest { rows: Rows::of(segment, names()), producer: None };
    for (place, origin) in own.enumerate() {
        let is_there = |rows: &mut std::iter::Peekable<Rows<'_>>| {
            // Names come in descending order, and of each its newest row first.
            while rows.next_if(|(other, _)| other.producer > origin.producer).is_some() {}
            let mut is_there = false;
            while let Some((_, writer)) = rows.next_if(|(other, _)| other.is_as_far_as(&origin)) {
                is_there |= counts(writer);
            }
            is_there
        };
        // Each is to pass by, whatever the others say.
        let is_there = ledgers.iter_mut().map(is_there).filter(|is_there| *is_there).count() > 0;
        let name = origin.producer.clone();
        if !is_there {
            origins.push(origin);
        }
        if place + 1 >= looked || origins.len() >= most {
            return Lacking { origins, last: Some(name) };
        }
    }
    Lacking { origins, last: None }
}

impl Origin {
    fn is_as_far_as(&self, other: &Origin) -> bool {
        self.producer == other.producer && (self.epoch, self.sequence) >= (other.epoch, other.sequence)
    }
}

/// Whose rows a scan has.
#[derive(Clone, Copy)]
enum Names<'n> {
    All,
    One(&'n str),
    Below(&'n str),
}

impl Names<'_> {
    fn key(self) -> Option<(u32, u32, Datum)> {
        let (strategy, function, name) = match self {
            Names::All => return None,
            Names::One(name) => (pg_sys::BTEqualStrategyNumber, pg_sys::F_TEXTEQ, name),
            Names::Below(name) => (pg_sys::BTLessStrategyNumber, pg_sys::F_TEXT_LT, name),
        };
        name.into_datum().map(|name| (strategy, function, name))
    }
}

/// Rows of a ledger that have a producer, and the transactions that have written them, from the last name to the first, and from
/// the newest to the oldest.
struct Rows<'a> {
    scan: pg_sys::IndexScanDesc,
    slot: *mut pg_sys::TupleTableSlot,
    segment: PhantomData<&'a Segment>,
}

impl<'a> Rows<'a> {
    fn of(segment: &'a Segment, names: Names<'_>) -> Rows<'a> {
        // SAFETY: the relations are open for longer than the scan.
        unsafe {
            let slot = pg_sys::table_slot_create(*segment.ledger, null_mut());
            Rows { scan: begin(segment, names), slot, segment: PhantomData }
        }
    }
}

impl Iterator for Rows<'_> {
    type Item = (Origin, pg_sys::TransactionId);

    fn next(&mut self) -> Option<Self::Item> {
        pgrx::check_for_interrupts!();
        // SAFETY: the scan and the slot live; the slot holds rows of the ledger, which are tuples on pages.
        unsafe {
            let backwards = pg_sys::ScanDirection::BackwardScanDirection;
            if !pg_sys::index_getnext_slot(self.scan, backwards, self.slot) {
                return None;
            }
            pg_sys::slot_getsomeattrs_int(self.slot, COLUMNS);
            let value = |column: usize| *(*self.slot).tts_values.add(column);
            let producer = String::from_datum(value(8), false).unwrap_or_default();
            let (epoch, sequence) = (value(9).value() as i32, value(10).value() as i64);
            let tuple = (*self.slot.cast::<pg_sys::HeapTupleTableSlot>()).tuple;
            Some((Origin { producer, epoch, sequence }, writer_of(tuple)))
        }
    }
}

/// # Safety
/// A tuple on a page that is pinned.
unsafe fn writer_of(tuple: pg_sys::HeapTuple) -> pg_sys::TransactionId {
    // SAFETY: by contract.
    unsafe {
        let header = (*tuple).t_data;
        let is_frozen =
            u32::from((*header).t_infomask) & pg_sys::HEAP_XMIN_FROZEN == pg_sys::HEAP_XMIN_FROZEN;
        if is_frozen { pg_sys::FrozenTransactionId } else { (*header).t_choice.t_heap.t_xmin }
    }
}

impl Drop for Rows<'_> {
    fn drop(&mut self) {
        // After an error PostgreSQL ends what is open.
        if !std::thread::panicking() {
            // SAFETY: both live.
            unsafe {
                pg_sys::index_endscan(self.scan);
                pg_sys::ExecDropSingleTupleTableSlot(self.slot);
            }
        }
    }
}

/// # Safety
/// The segment outlives the scan.
unsafe fn begin(segment: &Segment, names: Names<'_>) -> pg_sys::IndexScanDesc {
    // SAFETY: by contract; the key is copied into the scan, its text is in the current memory context. The column's collation is
    // that of the key, "C".
    unsafe {
        let snapshot = &raw mut pg_sys::SnapshotSelfData;
        let given = names.key();
        let scan = ledger::index_beginscan(segment, segment.by_producer(), snapshot, given.is_some());
        let mut key: pg_sys::ScanKeyData = std::mem::zeroed();
        if let Some((strategy, function, name)) = given {
            pg_sys::ScanKeyInit(&mut key, 1, strategy as u16, pg_sys::Oid::from(function), name);
        }
        let keys = if given.is_some() { &raw mut key } else { null_mut() };
        pg_sys::index_rescan(scan, keys, given.is_some().into(), null_mut(), 0);
        scan
    }
}
