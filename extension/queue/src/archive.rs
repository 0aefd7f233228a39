//! The archive of a queue of messages.

use std::ptr::null_mut;

use pgrx::pg_sys::{self, Oid};

use super::definition::{self, Definition};
use super::opened::{Column, Opened};

/// The archive's table.
pub(crate) fn table(queue: &Definition) -> Oid {
    definition::relation(&format!("a_{}", queue.name))
}

/// The highest number in the archive of an unlogged queue, or 0. A crash empties such a queue and its ledgers with it, but not
/// the archive, where each number can be only once. The ledgers of any other queue know better.
pub(crate) fn last(queue: &Definition) -> u64 {
    if !queue.is_unlogged || queue.row_type.is_some() {
        return 0;
    }
    let lock = pg_sys::AccessShareLock as i32;
    let Some(archive) = Opened::table(table(queue), lock) else { return 0 };
    let is_by_number = |index: &Opened| index.is_ordered_by(&[Column::whole_number(1)], false);
    match archive.indexes(lock).into_iter().find(is_by_number) {
        Some(by_number) => highest_by(&archive, &by_number),
        // Its primary key was dropped.
        None => highest(&archive),
    }
}

fn highest_by(archive: &Opened, by_number: &Opened) -> u64 {
    // SAFETY: table and index are open. Without a snapshot the scan takes one itself.
    unsafe {
        let scan = pg_sys::systable_beginscan_ordered(**archive, **by_number, null_mut(), 0, null_mut());
        let tuple = pg_sys::systable_getnext_ordered(scan, pg_sys::ScanDirection::BackwardScanDirection);
        let last = if tuple.is_null() { 0 } else { number_of(archive, tuple) };
        pg_sys::systable_endscan_ordered(scan);
        last
    }
}

fn highest(archive: &Opened) -> u64 {
    // SAFETY: the table is open. Without a snapshot the scan takes one itself.
    unsafe {
        let scan = pg_sys::systable_beginscan(**archive, Oid::INVALID, false, null_mut(), 0, null_mut());
        let mut last = 0;
        loop {
            pgrx::check_for_interrupts!();
            let tuple = pg_sys::systable_getnext(scan);
            if tuple.is_null() {
                break;
            }
            last = number_of(archive, tuple).max(last);
        }
        pg_sys::systable_endscan(scan);
        last
    }
}

/// # Safety
/// A row of the archive, whose first column is its number.
unsafe fn number_of(archive: &Opened, tuple: pg_sys::HeapTuple) -> u64 {
    let mut is_null = false;
    // SAFETY: by contract.
    let number = unsafe { pg_sys::heap_getattr(tuple, 1, (***archive).rd_att, &mut is_null) };
    u64::try_from(number.value() as i64).unwrap_or_default()
}
