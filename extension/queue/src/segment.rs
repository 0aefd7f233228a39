//! The tables of a segment, opened.

use pg::refuse::{refuse, refuse_with_hint};
use pgrx::pg_sys;
use pgrx::prelude::*;
use session::authority::table_name;

use super::definition::Definition;
use super::opened::{Column, Opened};

/// Why a segment is opened, which decides on its locks. They are kept until the transaction ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Purpose {
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

/// The ledger by position: of the claims on the same positions the latest first.
const BY_FIRST: [Column; 3] = [
    Column::whole_number(1),
    Column::whole_number(5),
    Column { number: 2, kind: (TIME_FAMILY, 0), descends: true },
];
/// The ledger by producer, its epoch and sequence.
const BY_PRODUCER: [Column; 3] = [
    Column { number: PRODUCER, kind: TEXT_BY_BYTES, descends: false },
    Column::whole_number(10),
    Column::whole_number(11),
];
/// Attribute number of the ledger's producer.
pub(crate) const PRODUCER: i16 = 9;
const TEXT_BY_BYTES: (u32, u32) = (pg_sys::TEXT_BTREE_FAM_OID.to_u32(), pg_sys::C_COLLATION_OID.to_u32());
/// `datetime_ops` of B-trees in PostgreSQL's `pg_opfamily.dat`, which has no name in C.
const TIME_FAMILY: u32 = 434;

impl Segment {
    /// Opens a segment, and waits for its locks.
    pub(crate) fn open(queue: &Definition, number: usize, purpose: Purpose) -> Segment {
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
    pub(crate) fn try_open(queue: &Definition, number: usize, purpose: Purpose) -> Option<Segment> {
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
    pub(crate) fn release_tried(self, purpose: Purpose) {
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
    pub(crate) fn release(self, purpose: Purpose) {
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
        let place = |order: &[Column], is_partial| {
            let index = indexes.iter().position(|index| index.is_ordered_by(order, is_partial));
            index.unwrap_or_else(|| refuse_without_index(&ledger))
        };
        let (by_first, by_producer) = (place(&BY_FIRST, false), place(&BY_PRODUCER, true));
        Segment { number, rows, ledger, indexes, by_first, by_producer }
    }

    /// Pages of its rows, with those of the values that they have elsewhere. Not under the queue's lock: it takes one of PostgreSQL's.
    pub(crate) fn pages_of_rows(&self) -> u32 {
        self.rows.pages().saturating_add(self.rows.pages_elsewhere())
    }

    /// The ledger's index by position.
    pub(crate) fn by_first(&self) -> &Opened {
        &self.indexes[self.by_first]
    }

    /// The ledger's index by producer.
    pub(crate) fn by_producer(&self) -> &Opened {
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
            "REINDEX TABLE {name} makes one valid that is there; {name} needs one on (first, count, at desc), \
             and one on (producer, epoch, sequence) where producer is not null."
        ),
    )
}
