//! The tables of a segment, opened.

use std::ops::Deref;

use pgrx::pg_sys::{self, Oid, Relation};
use pgrx::prelude::*;

use super::definition::Definition;
use super::refuse::{refuse, refuse_with_hint};
use crate::authority::table_name;

/// Attribute number of an index's condition in `pg_index`.
const CONDITION: i32 = pg_sys::Anum_pg_index_indpred as i32;

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

    /// The indexes of this table, also those that are being built or have failed to be.
    pub fn indexes(&self, lock: i32) -> Vec<Opened> {
        // SAFETY: the table is open and locked; the list is in the current memory context.
        unsafe {
            let list = pg_sys::RelationGetIndexList(self.0);
            let count = if list.is_null() { 0 } else { (*list).length };
            let open = |place| Opened::index(pg_sys::list_nth_oid(list, place), lock);
            let indexes = (0..count).map(open).collect();
            pg_sys::list_free(list);
            indexes
        }
    }

    /// Whether it has an index. Its row in `pg_class` says so also for a while after the last one was dropped.
    fn has_indexes(&self) -> bool {
        // SAFETY: the table is open; the list is in the current memory context.
        unsafe {
            let list = pg_sys::RelationGetIndexList(self.0);
            let has_some = !list.is_null();
            pg_sys::list_free(list);
            has_some
        }
    }

    /// Whether this index has all rows of its table, in the order of these of its columns, and those alone that have a value in the
    /// first if `is_partial`. One that REINDEX CONCURRENTLY builds or has replaced lacks rows.
    pub fn is_ordered_by(&self, columns: &[i16], is_partial: bool) -> bool {
        // SAFETY: the index is open; it has as many columns and options as it says.
        unsafe {
            let index = *self.0;
            let form = &*index.rd_index;
            let count = form.indnkeyatts as usize;
            let keys = std::slice::from_raw_parts(form.indkey.values.as_ptr(), count);
            let options = std::slice::from_raw_parts(index.rd_indoption, count);
            form.indislive
                && form.indisready
                && form.indisvalid
                && (*index.rd_rel).relam == pg_sys::BTREE_AM_OID
                && keys == columns
                && options.iter().all(|option| *option == 0)
                && pg_sys::heap_attisnull(index.rd_indextuple, CONDITION, std::ptr::null_mut()) != is_partial
        }
    }

    /// Whether this transaction has truncated it, which a rollback undoes.
    pub fn is_truncated_here(&self) -> bool {
        // SAFETY: the relation is open.
        let relation = unsafe { &*self.0 };
        #[cfg(feature = "pg15")]
        let file_since = relation.rd_firstRelfilenodeSubid;
        #[cfg(not(feature = "pg15"))]
        let file_since = relation.rd_firstRelfilelocatorSubid;
        // InvalidSubTransactionId
        file_since != 0
    }

    /// Pages of its main fork.
    pub fn pages(&self) -> u32 {
        // SAFETY: the relation is open.
        unsafe { pg_sys::RelationGetNumberOfBlocksInFork(self.0, pg_sys::ForkNumber::MAIN_FORKNUM) }
    }

    /// Pages of the values that its rows have elsewhere, in its TOAST table.
    pub fn pages_elsewhere(&self) -> u32 {
        let lock = pg_sys::AccessShareLock as i32;
        // SAFETY: the relation is open.
        let elsewhere = unsafe { (*(*self.0).rd_rel).reltoastrelid };
        if elsewhere == Oid::INVALID {
            return 0;
        }
        let pages = Opened::table(elsewhere, lock).map_or(0, |table| table.pages());
        // SAFETY: taken above. Who truncates this table has that one truncated, and would wait for the lock.
        unsafe { pg_sys::UnlockRelationOid(elsewhere, lock) };
        pages
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
    /// All indexes of the ledger: while one is rebuilt concurrently, rows go into both.
    pub indexes: Vec<Opened>,
    /// Which of them are by position and by producer.
    by_first: usize,
    by_producer: usize,
}

/// Attribute number of the ledger's first position.
const FIRST: i16 = 1;
/// Attribute numbers of the ledger's producer, its epoch and sequence.
pub const PRODUCER: [i16; 3] = [9, 10, 11];

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
        let ledger = self.indexes.iter().chain([&self.ledger]).map(|relation| (oid(relation), ledger_lock));
        let relations: Vec<_> = ledger.chain([(oid(&self.rows), rows_lock)]).collect();
        drop(self);
        for (relation, lock) in relations {
            // SAFETY: the lock was taken by opening the segment.
            unsafe { pg_sys::UnlockRelationOid(relation, lock) };
        }
    }

    fn of_tables(number: usize, rows: Opened, ledger: Opened, ledger_lock: i32, purpose: Purpose) -> Segment {
        if purpose == Purpose::Send && rows.has_indexes() {
            refuse_with_hint(
                PgSqlErrorCode::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
                "the table of a queue's segment has an index",
                "Drop the index: rows are found without one.",
            );
        }
        let indexes = ledger.indexes(ledger_lock);
        let place = |columns: &[i16], is_partial| {
            let index = indexes.iter().position(|index| index.is_ordered_by(columns, is_partial));
            index.unwrap_or_else(|| refuse_without_index(&ledger))
        };
        let (by_first, by_producer) = (place(&[FIRST], false), place(&PRODUCER, true));
        Segment { number, rows, ledger, indexes, by_first, by_producer }
    }

    /// Pages of its rows, with those of the values that they have elsewhere. Not under the queue's lock: it takes one of PostgreSQL's.
    pub fn pages_of_rows(&self) -> u32 {
        self.rows.pages().saturating_add(self.rows.pages_elsewhere())
    }

    /// The ledger's index by position.
    pub fn by_first(&self) -> &Opened {
        &self.indexes[self.by_first]
    }

    /// The ledger's index by producer.
    pub fn by_producer(&self) -> &Opened {
        &self.indexes[self.by_producer]
    }
}

fn refuse_without_index(ledger: &Opened) -> ! {
    // SAFETY: the table is open.
    let name = table_name(unsafe { (***ledger).rd_id });
    refuse_with_hint(
        PgSqlErrorCode::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
        &format!("an index of {name} is missing or not valid"),
        &format!(
            "REINDEX TABLE {name} makes one valid that is there; {name} needs two, like those of other ledgers."
        ),
    )
}
