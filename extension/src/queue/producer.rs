//! What a producer has had committed.
//!
//! Buckets of a producer are serialised by a lock on its name, kept until the transaction ends. Its newest row in a
//! ledger tells how far it is; an older epoch is refused.
//!
//! A session may wait for that lock as it likes. An executor is everybody's: of those that write for a producer
//! one waits, and the others say so and are free for other work.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::ptr::null_mut;

use pgrx::pg_sys;
use pgrx::prelude::*;

use super::SEGMENTS;
use super::definition::Definition;
use super::ledger::{self, COLUMNS, Origin};
use super::refuse::refuse_with_hint;
use super::segment::{Purpose, Segment};

/// The class of the lock, among advisory locks: those of sessions have classes 1 and 2.
const CLASS: u16 = 0x4851;
/// The class of the lock that the one executor has which waits.
const WAITING: u16 = 0x4852;

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

/// How many of the rows or lines that a producer sends, from number `first` on, are there already, if its last is number `last`.
/// An error if some before them are missing.
pub fn repeated(producer: &str, what: &str, first: i64, last: i64) -> u64 {
    let next = last.saturating_add(1);
    if first > next {
        refuse_with_hint(
            PgSqlErrorCode::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
            &format!("producer {producer}: {what} {first} comes after {what} {last}"),
            &format!("What is between them is missing; go on at {what} {next}."),
        );
    }
    next.saturating_sub(first) as u64
}

/// An error if the producer's epoch is over.
pub fn check_epoch(producer: &str, last: i32, epoch: i32) {
    if last > epoch {
        refuse_with_hint(
            PgSqlErrorCode::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
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
    let its = tag(CLASS, name);
    if acquire(&its, Wait::No) {
        return;
    }
    // SAFETY: PostgreSQL's own variable: null in a session.
    let is_executor = unsafe { !pg_sys::MyBgworkerEntry.is_null() };
    let place = tag(WAITING, name);
    if is_executor && !acquire(&place, Wait::No) {
        refuse_with_hint(
            PgSqlErrorCode::ERRCODE_LOCK_NOT_AVAILABLE,
            &format!("producer {producer} has a transaction under way, and another that waits for it"),
            "Use one connection for a producer, or a name for each; this one may try again.",
        );
    }
    acquire(&its, Wait::Yes);
    if is_executor {
        // SAFETY: acquired above.
        unsafe { pg_sys::LockRelease(&place, pg_sys::ExclusiveLock as i32, false) };
    }
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

/// A lock of a class that nobody else uses, on a hashed name of this database.
fn tag(class: u16, name: u64) -> pg_sys::LOCKTAG {
    pg_sys::LOCKTAG {
        // SAFETY: PostgreSQL's own variable.
        locktag_field1: unsafe { pg_sys::MyDatabaseId }.to_u32(),
        locktag_field2: (name >> 32) as u32,
        locktag_field3: name as u32,
        locktag_field4: class,
        locktag_type: pg_sys::LockTagType::LOCKTAG_ADVISORY as u8,
        locktag_lockmethodid: pg_sys::USER_LOCKMETHOD as u8,
    }
}

/// The newest row of a producer in all ledgers. No lock on them is kept: whoever sends all the time would never let a segment
/// be truncated. A truncation carries that row over, and the producer's lock keeps others from adding one.
pub fn last(queue: &Definition, producer: &str) -> Option<Origin> {
    let newest_of = |number| {
        let segment = Segment::open(queue, number, Purpose::Look);
        let found = newest(&segment, Some(producer), 1);
        segment.release(Purpose::Look);
        found
    };
    (0..SEGMENTS).flat_map(newest_of).max_by_key(|origin| (origin.epoch, origin.sequence))
}

/// How far each producer is, or one, as a ledger has it now, whatever the caller's snapshot: so many producers at most.
pub fn newest(segment: &Segment, producer: Option<&str>, most: usize) -> Vec<Origin> {
    let mut found: Vec<Origin> = Vec::new();
    // SAFETY: the relations are open for longer than the scan; the slot holds rows of the ledger.
    unsafe {
        let slot = pg_sys::table_slot_create(*segment.ledger, null_mut());
        let scan = begin(segment, producer);
        while pg_sys::index_getnext_slot(scan, pg_sys::ScanDirection::BackwardScanDirection, slot) {
            pg_sys::slot_getsomeattrs_int(slot, COLUMNS);
            let value = |column: usize| *(*slot).tts_values.add(column);
            let name = String::from_datum(value(8), false).unwrap_or_default();
            if found.last().is_none_or(|last| last.producer != name) {
                let (epoch, sequence) = (value(9).value() as i32, value(10).value() as i64);
                found.push(Origin { producer: name, epoch, sequence });
            }
            if found.len() >= most {
                break;
            }
            pgrx::check_for_interrupts!();
        }
        pg_sys::index_endscan(scan);
        pg_sys::ExecDropSingleTupleTableSlot(slot);
    }
    found
}

/// # Safety
/// The segment outlives the scan.
unsafe fn begin(segment: &Segment, producer: Option<&str>) -> pg_sys::IndexScanDesc {
    // SAFETY: by contract; the key is copied into the scan, its text is in the current memory context.
    unsafe {
        let snapshot = &raw mut pg_sys::SnapshotSelfData;
        let scan = ledger::index_beginscan(segment, &segment.by_producer, snapshot, producer.is_some());
        let mut key: pg_sys::ScanKeyData = std::mem::zeroed();
        if let Some(name) = producer.and_then(IntoDatum::into_datum) {
            let (equal, same) = (pg_sys::BTEqualStrategyNumber as u16, pg_sys::Oid::from(pg_sys::F_TEXTEQ));
            pg_sys::ScanKeyInit(&mut key, 1, equal, same, name);
        }
        let keys = if producer.is_some() { &raw mut key } else { null_mut() };
        pg_sys::index_rescan(scan, keys, producer.is_some().into(), null_mut(), 0);
        scan
    }
}
