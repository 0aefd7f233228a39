//! The tables of a segment, opened.

use std::ops::Deref;

use pgrx::pg_sys::{self, Oid, Relation};
use pgrx::prelude::*;

use super::definition::Definition;
use super::refuse::{refuse, refuse_with_hint};

/// Why a segment is opened, which decides on its locks. They are kept until the transaction ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Purpose {
    /// Rows are only looked at.
    Look,
    /// Rows are taken: claims are appended.
    Take,
    /// Rows are appended.
    Send,
}

impl Purpose {
    fn locks(self) -> (i32, i32) {
        let (share, row) = (pg_sys::AccessShareLock as i32, pg_sys::RowExclusiveLock as i32);
        match self {
            Purpose::Look => (share, share),
            Purpose::Take => (share, row),
            Purpose::Send => (row, row),
        }
    }
}

/// A relation that is open. Its lock stays until the transaction ends.
pub struct Opened(Relation);

impl Opened {
    /// Opens a table; none if it is gone.
    pub fn table(oid: Oid, lock: i32) -> Option<Opened> {
        // SAFETY: inside a transaction.
        let relation = unsafe { pg_sys::try_table_open(oid, lock) };
        // A value of it closes what it has: there must be none of a relation that is not there.
        (!relation.is_null()).then(|| Opened(relation))
    }

    /// A relation that is open, and that the value closes.
    pub fn relation(relation: Relation) -> Opened {
        Opened(relation)
    }

    fn index(oid: Oid, lock: i32) -> Opened {
        // SAFETY: an index of a table that is locked.
        Opened(unsafe { pg_sys::index_open(oid, lock) })
    }

    /// The index of this table whose first column is the table's column of this number, if there is one.
    pub fn index_by(&self, column: i16, lock: i32) -> Option<Opened> {
        self.indexes(lock).into_iter().find_map(|(first, index)| (first == column).then_some(index))
    }

    /// The indexes of this table, with the number of the column that each begins with.
    fn indexes(&self, lock: i32) -> Vec<(i16, Opened)> {
        // SAFETY: the table is open and locked; the list is in the current memory context.
        unsafe {
            let list = pg_sys::RelationGetIndexList(self.0);
            let count = if list.is_null() { 0 } else { (*list).length };
            let open = |place| {
                let index = Opened::index(pg_sys::list_nth_oid(list, place), lock);
                (*(*(**index).rd_index).indkey.values.as_ptr(), index)
            };
            let indexes = (0..count).map(open).collect();
            pg_sys::list_free(list);
            indexes
        }
    }

    /// Pages of its main fork.
    pub fn pages(&self) -> u32 {
        // SAFETY: the relation is open.
        unsafe { pg_sys::RelationGetNumberOfBlocksInFork(self.0, pg_sys::ForkNumber::MAIN_FORKNUM) }
    }
}

impl Deref for Opened {
    type Target = Relation;

    fn deref(&self) -> &Relation {
        &self.0
    }
}

impl Drop for Opened {
    fn drop(&mut self) {
        // After an error PostgreSQL closes what is open.
        if !std::thread::panicking() {
            // SAFETY: the relation is open; its lock stays.
            unsafe { pg_sys::relation_close(self.0, pg_sys::NoLock as i32) };
        }
    }
}

/// A segment, opened.
pub struct Segment {
    /// Which it is.
    pub number: usize,
    /// The table of rows.
    pub rows: Opened,
    /// The ledger.
    pub ledger: Opened,
    /// The ledger's index by position.
    pub by_first: Opened,
    /// The ledger's index by producer.
    pub by_producer: Opened,
}

/// Attribute number of the ledger's producer.
const PRODUCER: i16 = 9;

impl Segment {
    /// Opens a segment, and waits for its locks.
    pub fn open(queue: &Definition, number: usize, purpose: Purpose) -> Segment {
        let (rows, ledger) = queue.tables(number);
        let (rows_lock, ledger_lock) = purpose.locks();
        let gone = || -> ! {
            refuse(PgSqlErrorCode::ERRCODE_UNDEFINED_OBJECT, &format!("queue {} was dropped", queue.name))
        };
        let rows = Opened::table(rows, rows_lock).unwrap_or_else(|| gone());
        let ledger = Opened::table(ledger, ledger_lock).unwrap_or_else(|| gone());
        Segment::of_tables(number, rows, ledger, ledger_lock, purpose)
    }

    /// Opens a segment if its locks can be had at once.
    pub fn try_open(queue: &Definition, number: usize, purpose: Purpose) -> Option<Segment> {
        let (rows, ledger) = queue.tables(number);
        let (rows_lock, ledger_lock) = purpose.locks();
        // SAFETY: inside a transaction.
        let locked = unsafe {
            pg_sys::ConditionalLockRelationOid(rows, rows_lock)
                && pg_sys::ConditionalLockRelationOid(ledger, ledger_lock)
        };
        locked.then(|| Segment::open(queue, number, purpose))
    }

    /// The same for one that was opened by [`Segment::try_open`], which has two locks on each table.
    pub fn release_tried(self, purpose: Purpose) {
        let (rows_lock, ledger_lock) = purpose.locks();
        // SAFETY: the relations are open.
        let (rows, ledger) = unsafe { ((**self.rows).rd_id, (**self.ledger).rd_id) };
        self.release(purpose);
        // SAFETY: the locks were taken before those of opening.
        unsafe {
            pg_sys::UnlockRelationOid(ledger, ledger_lock);
            pg_sys::UnlockRelationOid(rows, rows_lock);
        }
    }

    /// Closes it and gives its locks back, for others that may want to truncate it.
    pub fn release(self, purpose: Purpose) {
        let (rows_lock, ledger_lock) = purpose.locks();
        let oid = |relation: &Opened| {
            // SAFETY: the relation is open.
            unsafe { (***relation).rd_id }
        };
        let ledger =
            [&self.by_producer, &self.by_first, &self.ledger].map(|relation| (oid(relation), ledger_lock));
        let rows = (oid(&self.rows), rows_lock);
        drop(self);
        for (relation, lock) in ledger.into_iter().chain([rows]) {
            // SAFETY: the lock was taken by opening the segment.
            unsafe { pg_sys::UnlockRelationOid(relation, lock) };
        }
    }

    fn of_tables(number: usize, rows: Opened, ledger: Opened, ledger_lock: i32, purpose: Purpose) -> Segment {
        // SAFETY: the table is open.
        unsafe {
            if purpose == Purpose::Send && (*(**rows).rd_rel).relhasindex {
                refuse_with_hint(
                    PgSqlErrorCode::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
                    "the table of a queue's segment has an index",
                    "Drop the index: rows are found without one.",
                );
            }
        }
        let (mut by_first, mut by_producer) = (None, None);
        for (column, index) in ledger.indexes(ledger_lock) {
            match column {
                1 => by_first = Some(index),
                PRODUCER => by_producer = Some(index),
                _ => {}
            }
        }
        let (Some(by_first), Some(by_producer)) = (by_first, by_producer) else {
            refuse(PgSqlErrorCode::ERRCODE_UNDEFINED_OBJECT, "an index of a queue's ledger is missing");
        };
        Segment { number, rows, ledger, by_first, by_producer }
    }
}
