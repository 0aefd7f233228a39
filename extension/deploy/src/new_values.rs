//! Values that a transaction has added to an enum. PostgreSQL lets nobody use them before the commit, as an index would keep them if they were
//! taken back; of a type that is new itself it would, but does not see that it is where files are subtransactions (before version 17).

use pgrx::pg_sys::{self, Oid};
use session::authority::rows_as_owner;

/// Lets values be used that were added to types of this transaction. Nothing changes while there is one that was added to an older type.
pub(crate) fn allow() {
    let query = "select e.oid, e.enumtypid from pg_enum e";
    let labels = rows_as_owner(query, &[], |row| {
        let (label, of) = (row.get::<Oid>(1).ok()??, row.get::<Oid>(2).ok()??);
        // SAFETY: inside a transaction; it reads what this process knows of it.
        Some((of, unsafe { pg_sys::EnumUncommitted(label) }))
    });
    if labels.into_iter().filter(|(_, is_added)| *is_added).all(|(of, _)| is_new(of)) {
        // SAFETY: inside a transaction; it forgets which values were added.
        unsafe { pg_sys::AtEOXact_Enum() };
    }
}

/// Whether a type was made in this transaction, and not only changed: as PostgreSQL asks, but for any of its subtransactions.
fn is_new(of: Oid) -> bool {
    let cache = pg_sys::SysCacheIdentifier::TYPEOID as i32;
    // SAFETY: inside a transaction; a row of the cache that is given back.
    unsafe {
        let row = pg_sys::SearchSysCache1(cache, pg_sys::Datum::from(of));
        if row.is_null() {
            return false;
        }
        let head = (*row).t_data;
        let is_own = pg_sys::TransactionIdIsCurrentTransactionId((*head).t_choice.t_heap.t_xmin);
        let is_changed = u32::from((*head).t_infomask) & pg_sys::HEAP_UPDATED != 0;
        pg_sys::ReleaseSysCache(row);
        is_own && !is_changed
    }
}
