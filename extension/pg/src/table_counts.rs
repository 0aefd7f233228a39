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
pub struct Changed {
    next: *mut pg_sys::PgStat_TableXactStatus,
}

impl Changed {
    /// Those of the transaction of this process. To be asked when no subtransaction is open, from before the commit until locks are released.
    ///
    /// # Safety
    /// Inside a guard and a transaction; an error jumps.
    pub unsafe fn now() -> Changed {
        // SAFETY: by contract.
        Changed { next: unsafe { (*pgstat_get_xact_stack_level(1)).first } }
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
    /// How many rows of it were.
    pub rows: Rows,
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
                let counts = self.next.as_ref()?;
                (counts, &*counts.parent)
            };
            self.next = counts.next;
            let rows = Rows {
                inserted: counts.tuples_inserted.cast_unsigned(),
                updated: counts.tuples_updated.cast_unsigned(),
                deleted: counts.tuples_deleted.cast_unsigned(),
            };
            let how = How {
                inserted: rows.inserted != 0,
                updated: rows.updated != 0,
                deleted: rows.deleted != 0,
                truncated: counts.truncdropped,
            };
            if how.inserted || how.updated || how.deleted || how.truncated {
                let (table, is_shared) = crate::version::counted_table(table);
                return Some(ChangedTable { table, is_shared, how, rows });
            }
        }
    }
}

/// How many rows of a table were changed.
#[derive(Clone, Copy, Debug, Default)]
pub struct Rows {
    /// That have come.
    pub inserted: u64,
    /// That are others.
    pub updated: u64,
    /// That have gone.
    pub deleted: u64,
}

impl Rows {
    /// All of them.
    pub fn all(self) -> u64 {
        self.inserted + self.updated + self.deleted
    }
}

/// The rows of each of these tables that the transaction of this process has changed so far, subtransactions that are open included.
///
/// # Safety
/// Inside a guard and a transaction; an error jumps.
pub unsafe fn rows_of<const COUNT: usize>(tables: &[u32; COUNT]) -> [Rows; COUNT] {
    let mut rows = [Rows::default(); COUNT];
    // SAFETY: by contract; lists of the transaction's.
    unsafe {
        let mut level = pgstat_get_xact_stack_level(crate::GetCurrentTransactionNestLevel());
        while let Some(open) = level.as_ref() {
            let mut next = open.first;
            while let Some(counts) = next.as_ref() {
                let (table, _) = crate::version::counted_table(&*counts.parent);
                if let Some(place) = tables.iter().position(|one| *one == table.to_u32()) {
                    rows[place].inserted += counts.tuples_inserted.cast_unsigned();
                    rows[place].updated += counts.tuples_updated.cast_unsigned();
                    rows[place].deleted += counts.tuples_deleted.cast_unsigned();
                }
                next = counts.next;
            }
            level = open.previous;
        }
    }
    rows
}
