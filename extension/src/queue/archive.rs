//! The archive of a queue of messages.

use std::ptr::null_mut;

use pgrx::pg_sys::{self, Oid};

use super::definition::{self, Definition};
use super::segment::Opened;

/// The archive's table.
pub fn table(queue: &Definition) -> Oid {
    definition::relation(&format!("a_{}", queue.name))
}

/// The highest number in the archive of an unlogged queue, or 0. A crash empties such a queue and its ledgers with it, but not
/// the archive, where each number can be only once. The ledgers of any other queue know better.
pub fn last(queue: &Definition) -> u64 {
    if !queue.is_unlogged || queue.row_type.is_some() {
        return 0;
    }
    let lock = pg_sys::AccessShareLock as i32;
    let Some(archive) = Opened::table(table(queue), lock) else { return 0 };
    let Some(by_number) = archive.index_by(1, lock) else { return 0 };
    // SAFETY: table and index are open. Without a snapshot the scan takes one itself.
    unsafe {
        let scan = pg_sys::systable_beginscan_ordered(*archive, *by_number, null_mut(), 0, null_mut());
        let tuple = pg_sys::systable_getnext_ordered(scan, pg_sys::ScanDirection::BackwardScanDirection);
        let mut last = 0;
        if !tuple.is_null() {
            let mut is_null = false;
            last = pg_sys::heap_getattr(tuple, 1, (**archive).rd_att, &mut is_null).value() as i64;
        }
        pg_sys::systable_endscan_ordered(scan);
        u64::try_from(last).unwrap_or_default()
    }
}
