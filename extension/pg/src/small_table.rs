//! Small tables that are read whole, without SQL, and kept until they change.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;

use pgrx::pg_sys::{self, Datum, Oid};
use pgrx::prelude::*;

use crate::entry::unfailing_callback;

/// A value of a row.
#[derive(Clone, Copy)]
pub struct Field(pub Option<Datum>);

impl Field {
    /// Of a column of four bytes; null is 0.
    pub fn number(self) -> u32 {
        self.0.map_or(0, |datum| datum.value() as u32)
    }

    /// The oid that it is, or the number of an object; null is invalid.
    pub fn oid(self) -> Oid {
        Oid::from(self.number())
    }

    /// Of a column of type boolean; null is false.
    pub fn is_true(self) -> bool {
        self.0.is_some_and(|datum| datum.value() as u8 != 0)
    }

    /// Of a column of type text.
    pub fn text(self) -> Option<String> {
        // SAFETY: used on columns of type text.
        self.0.and_then(|datum| unsafe { String::from_datum(datum, false) })
    }
}

/// The first columns of all rows of a table, as of now.
pub fn rows<const N: usize>(table: Oid) -> Vec<[Field; N]> {
    // SAFETY: without a snapshot the scan takes one itself.
    unsafe { rows_as_of(table, std::ptr::null_mut()) }
}

/// The same as of a snapshot.
///
/// # Safety
/// The snapshot lives for as long as the call.
pub unsafe fn rows_as_of<const N: usize>(table: Oid, snapshot: pg_sys::Snapshot) -> Vec<[Field; N]> {
    let mut rows = Vec::new();
    // SAFETY: a scan inside a transaction; what it returns is copied into the current memory context.
    unsafe {
        let relation = pg_sys::table_open(table, pg_sys::AccessShareLock as i32);
        let descriptor = (*relation).rd_att;
        let scan =
            pg_sys::systable_beginscan(relation, Oid::INVALID, false, snapshot, 0, std::ptr::null_mut());
        loop {
            let tuple = pg_sys::systable_getnext(scan);
            if tuple.is_null() {
                break;
            }
            let copy = pg_sys::heap_copytuple(tuple);
            rows.push(std::array::from_fn(|place| {
                let mut is_null = false;
                let datum = pg_sys::heap_getattr(copy, place as i32 + 1, descriptor, &mut is_null);
                Field((!is_null).then_some(datum))
            }));
        }
        pg_sys::systable_endscan(scan);
        pg_sys::table_close(relation, pg_sys::AccessShareLock as i32);
    }
    rows
}

/// The numbers in the first column of all rows that exist for anybody: also those that a transaction which still runs, perhaps this, has made
/// or deleted.
pub fn numbers_for_anybody(table: Oid) -> Vec<u32> {
    let numbers = |rows: Vec<[Field; 1]>| rows.into_iter().map(|row| row[0].number());
    // SAFETY: inside a transaction. A dirty snapshot needs nothing but its type.
    unsafe {
        let mut dirty: pg_sys::SnapshotData = std::mem::zeroed();
        dirty.snapshot_type = pg_sys::SnapshotType::SNAPSHOT_DIRTY;
        let now = numbers(rows_as_of(table, &raw mut dirty));
        // What this transaction has deleted is there before its first command.
        let before = pg_sys::RegisterSnapshot(pg_sys::GetLatestSnapshot());
        (*before).curcid = 0;
        let deleted_here = numbers(rows_as_of(table, before));
        pg_sys::UnregisterSnapshot(before);
        now.chain(deleted_here).collect()
    }
}

thread_local! {
    /// How often each table that is followed may have changed.
    static CHANGES: RefCell<BTreeMap<u32, u64>> = const { RefCell::new(BTreeMap::new()) };
    static REGISTERED: Cell<bool> = const { Cell::new(false) };
}

unfailing_callback! {
    unsafe fn relation_changed(_: Datum, relation: Oid) {
        CHANGES.with_borrow_mut(|changes| {
            let is_it = |table: u32| relation == Oid::INVALID || relation.to_u32() == table;
            changes.iter_mut().filter(|(table, _)| is_it(**table)).for_each(|(_, changes)| *changes += 1);
        });
    }
}

/// How often a table may have changed since this process first asked: whoever writes to it sends an invalidation of it.
pub fn changes(table: Oid) -> u64 {
    if !REGISTERED.replace(true) {
        // SAFETY: the callback touches what is this thread's and raises nothing.
        unsafe { pg_sys::CacheRegisterRelcacheCallback(Some(relation_changed), Datum::from(0)) };
    }
    CHANGES.with_borrow_mut(|changes| *changes.entry(table.to_u32()).or_default())
}
