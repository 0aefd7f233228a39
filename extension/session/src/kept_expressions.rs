//! Expressions that PostgreSQL keeps with tables and indexes, and for whom.
//!
//! The expressions and the condition of an index, the key of a partitioned table, and what that makes of a partition's bounds are
//! planned once in a process: the bodies of SQL functions stand in them, with what their names meant in the search_path of whoever
//! came first. Who plans a statement need not even be allowed to read the table. For whoever writes to it next those names may be
//! functions of the first one's. So they go with the plans ([`kept_plans`](super::kept_plans)), from PostgreSQL's own table of
//! relations. All else that it keeps of a relation is as it is stored, or planned by each statement for itself.

use std::ptr::null_mut;

use pg::version::new_file_since;
use pgrx::pg_sys::{self, List, MemoryContext, Relation};

use super::relations;

/// How `PartitionKeyData` of utils/partcache.h begins. From version 16 on its strategy is a number of four bytes.
#[repr(C)]
struct PartitionKey {
    strategy_and_columns: [i16; 4],
    columns: *mut pg_sys::AttrNumber,
    expressions: *mut List,
}

/// `FirstNormalObjectId` of access/transam.h: PostgreSQL's own have neither expressions nor partitions.
const FIRST_OF_USERS: u32 = 16384;

/// `InvalidSubTransactionId` of c.h.
const NO_SUBTRANSACTION: pg_sys::SubTransactionId = 0;

/// Has all of them planned anew, as whoever needs them next.
pub(crate) fn forget() {
    relations::for_each(|relation| {
        // SAFETY: a relation that is kept. What is called removes at most this one, and can neither fail nor read a catalog.
        unsafe {
            if (*relation).rd_id.to_u32() < FIRST_OF_USERS {
                return;
            }
            if !(*relation).rd_indexprs.is_null() || !(*relation).rd_indpred.is_null() {
                forget_of_index(relation);
            } else {
                forget_key(relation);
                forget_bounds(relation);
            }
        }
    });
}

/// # Safety
/// An index that is kept.
unsafe fn forget_of_index(index: Relation) {
    // SAFETY: by contract. Nobody points to them: whoever asks gets a copy.
    unsafe {
        (*index).rd_indexprs = null_mut();
        (*index).rd_indpred = null_mut();
        if is_unused(index) {
            // Their memory is the entry's.
            pg::RelationCacheInvalidateEntry((*index).rd_id);
        }
    }
}

/// # Safety
/// A relation that is kept.
unsafe fn forget_key(table: Relation) {
    // SAFETY: by contract; a key that has been made.
    unsafe {
        let key = (*table).rd_partkey.cast::<PartitionKey>();
        if key.is_null() || (*key).expressions.is_null() {
            return;
        }
        let memory = (*table).rd_partkeycxt;
        (*table).rd_partkey = null_mut();
        (*table).rd_partkeycxt = null_mut();
        if (*table).rd_refcnt == 0 {
            delete(memory);
        } else if !pg_sys::TopTransactionContext.is_null() {
            // A statement that runs goes on with it.
            pg_sys::MemoryContextSetParent(memory, pg_sys::TopTransactionContext);
        }
    }
}

/// # Safety
/// A relation that is kept.
unsafe fn forget_bounds(partition: Relation) {
    // SAFETY: by contract. Nobody points to it: whoever asks gets a copy.
    unsafe {
        if (*partition).rd_partcheck.is_null() {
            return;
        }
        let memory = (*partition).rd_partcheckcxt;
        (*partition).rd_partcheck = null_mut();
        (*partition).rd_partcheckvalid = false;
        (*partition).rd_partcheckcxt = null_mut();
        delete(memory);
    }
}

/// # Safety
/// Null, or memory that nobody uses any more.
unsafe fn delete(memory: MemoryContext) {
    if !memory.is_null() {
        // SAFETY: by contract.
        unsafe { pg_sys::MemoryContextDelete(memory) };
    }
}

/// Whether PostgreSQL may drop what it keeps of a relation: nobody has opened it, and this transaction has not made it.
///
/// # Safety
/// A relation that is kept.
unsafe fn is_unused(relation: Relation) -> bool {
    // SAFETY: by contract.
    unsafe {
        (*relation).rd_refcnt == 0
            && (*relation).rd_createSubid == NO_SUBTRANSACTION
            && new_file_since(&*relation) == NO_SUBTRANSACTION
    }
}
