//! Which tables a transaction has changed, as PostgreSQL counts rows for its statistics.
//!
//! The counts are transactional: what was rolled back to a savepoint is not in them. They name the tables that have rows, partitions and not
//! their parents, whatever has written: statements, triggers, foreign keys, COPY, logical replication. VACUUM, VACUUM FULL and CLUSTER change no
//! table in them but catalogs. A table that is opened while `track_counts` is off is not counted.

use std::ffi::c_int;

use pgrx::pg_sys::{self, Oid};

/// `PgStat_SubXactStatus` of utils/pgstat_internal.h, from version 15 on.
#[repr(C)]
struct SubtransactionCounts {
    nest_level: c_int,
    previous: *mut SubtransactionCounts,
    pending_drops: pg_sys::dlist_head,
    pending_drops_count: u32,
    first: *mut pg_sys::PgStat_TableXactStatus,
}

unsafe extern "C-unwind" {
    // utils/pgstat_internal.h. It makes the level if there is none.
    fn pgstat_get_xact_stack_level(nest_level: c_int) -> *mut SubtransactionCounts;
}

/// The tables that a transaction has changed.
pub struct Changed(*mut pg_sys::PgStat_TableXactStatus);

impl Changed {
    /// Those of the transaction of this process. To be asked when no subtransaction is open, from before the commit until locks are released.
    ///
    /// # Safety
    /// Inside a guard and a transaction; an error jumps.
    pub unsafe fn now() -> Changed {
        // SAFETY: by contract.
        Changed(unsafe { (*pgstat_get_xact_stack_level(1)).first })
    }

    /// Another mark than before if another table has been changed since.
    pub fn mark(&self) -> usize {
        // New ones come first.
        self.0.addr()
    }
}

/// A table that a transaction has changed.
#[derive(Clone, Copy, Debug)]
pub struct ChangedTable {
    /// The table.
    pub table: Oid,
    /// Whether all databases share it.
    pub is_shared: bool,
    /// How it was changed.
    pub how: How,
}

/// How a table was changed.
#[derive(Clone, Copy, Debug)]
pub struct How {
    /// Rows have come.
    pub inserted: bool,
    /// Rows are others.
    pub updated: bool,
    /// Rows have gone.
    pub deleted: bool,
    /// It was emptied, or has gone.
    pub truncated: bool,
}

/// Some tables come twice.
impl Iterator for Changed {
    type Item = ChangedTable;

    fn next(&mut self) -> Option<ChangedTable> {
        loop {
            // SAFETY: the list is the transaction's, which has not ended.
            let (counts, table) = unsafe {
                let counts = self.0.as_ref()?;
                (counts, &*counts.parent)
            };
            self.0 = counts.next;
            let how = How {
                inserted: counts.tuples_inserted != 0,
                updated: counts.tuples_updated != 0,
                deleted: counts.tuples_deleted != 0,
                truncated: counts.truncdropped,
            };
            if how.inserted || how.updated || how.deleted || how.truncated {
                let (table, is_shared) = crate::version::counted_table(table);
                return Some(ChangedTable { table, is_shared, how });
            }
        }
    }
}
