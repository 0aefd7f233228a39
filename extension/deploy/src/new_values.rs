//! Values that a transaction has added to an enum. PostgreSQL lets nobody use them before the commit, as an index would keep them if they were
//! taken back; of a type that is new itself it would, but does not see that it is where files are subtransactions (before version 17).

use pgrx::pg_sys::{self, Oid};
use session::authority::rows_as_owner;

/// Lets values be used that were added to types of this transaction. Nothing changes while there is one that was added to an older type.
pub(crate) fn allow() {
    let query = "select e.oid, e.enumtypid, e.xmin::text::bigint from pg_enum e";
    let labels = rows_as_owner(query, &[], |row| {
        let (label, of, by) = (row.get::<Oid>(1).ok()??, row.get::<Oid>(2).ok()??, row.get::<i64>(3).ok()??);
        let by = pg_sys::TransactionId::from(u32::try_from(by).ok()?);
        // SAFETY: inside a transaction; both read what this process knows of it.
        Some(unsafe { (of, pg_sys::TransactionIdIsCurrentTransactionId(by), pg_sys::EnumUncommitted(label)) })
    });
    // One that came with its type is no addition.
    let is_new = |of: Oid| {
        labels.iter().any(|(other, is_own, is_added)| *other == of && *is_own && !is_added)
            && labels.iter().all(|(other, is_own, _)| *other != of || *is_own)
    };
    if labels.iter().filter(|(.., is_added)| *is_added).all(|(of, ..)| is_new(*of)) {
        // SAFETY: inside a transaction; it forgets which values were added.
        unsafe { pg_sys::AtEOXact_Enum() };
    }
}
