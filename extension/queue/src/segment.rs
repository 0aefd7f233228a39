//! The tables of a segment, opened.

use std::ops::Deref;

use pg::refuse::{refuse, refuse_with_hint};
use pg::version;
use pgrx::pg_sys::{self, Oid, Relation};
use pgrx::prelude::*;
use session::authority::table_name;

use super::definition::Definition;

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

/// A column by which an index is ordered.
#[derive(Clone, Copy)]
pub struct Column {
    /// Its attribute number.
    pub number: i16,
    /// The family of operators and the collation that say which value is smaller.
    kind: (u32, u32),
    descends: bool,
}

impl Column {
    /// One of whole numbers, the smallest first.
    pub(crate) const fn whole_number(number: i16) -> Column {
        Column { number, kind: (pg_sys::INTEGER_BTREE_FAM_OID.to_u32(), 0), descends: false }
    }
}

/// Which rows an index has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Condition {
    /// All.
    None,
    /// Those that have a value in this column.
    IsGiven(i16),
    /// Those that fulfil something else.
    Other,
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
    pub(crate) fn indexes(&self, lock: i32) -> Vec<Opened> {
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

    /// Whether this index has all rows of its table, in this order; those alone that have a value in the first column if
    /// `is_partial`. One that REINDEX CONCURRENTLY builds or has replaced lacks rows.
    pub(crate) fn is_ordered_by(&self, order: &[Column], is_partial: bool) -> bool {
        // SAFETY: the index is open; it has as many columns, options, families and collations as it says.
        unsafe {
            let index = *self.0;
            let form = &*index.rd_index;
            let is_usable = form.indislive && form.indisready && form.indisvalid;
            if !is_usable
                || (*index.rd_rel).relam != pg_sys::BTREE_AM_OID
                || form.indnkeyatts as usize != order.len()
            {
                return false;
            }
            let keys = form.indkey.values.as_ptr();
            let is_column = |(place, column): (usize, &Column)| {
                let [family, collation] =
                    [index.rd_opfamily, index.rd_indcollation].map(|of| (*of.add(place)).to_u32());
                let is_as = |(of_family, of_collation)| family == of_family && collation == of_collation;
                let descends =
                    if column.descends { pg_sys::INDOPTION_DESC | pg_sys::INDOPTION_NULLS_FIRST } else { 0 };
                *keys.add(place) == column.number
                    && *index.rd_indoption.add(place) as u32 == descends
                    && is_as(column.kind)
            };
            order.iter().enumerate().all(is_column)
                && match self.condition() {
                    Condition::None => !is_partial,
                    Condition::IsGiven(column) => is_partial && column == order[0].number,
                    Condition::Other => false,
                }
        }
    }

    /// Which rows of its table this index has.
    pub(crate) fn condition(&self) -> Condition {
        // SAFETY: the index is open; each node is read as what it says that it is.
        unsafe {
            let conditions = pg_sys::RelationGetIndexPredicate(self.0);
            if conditions.is_null() {
                return Condition::None;
            }
            let first = pg_sys::list_nth(conditions, 0).cast::<pg_sys::NullTest>();
            if (*conditions).length != 1
                || (*first).xpr.type_ != pg_sys::NodeTag::T_NullTest
                || (*first).nulltesttype != pg_sys::NullTestType::IS_NOT_NULL
            {
                return Condition::Other;
            }
            let column = (*first).arg.cast::<pg_sys::Var>();
            if (*column).xpr.type_ != pg_sys::NodeTag::T_Var {
                Condition::Other
            } else {
                Condition::IsGiven((*column).varattno)
            }
        }
    }

    /// Whether this transaction has truncated it, which a rollback undoes.
    pub(crate) fn is_truncated_here(&self) -> bool {
        // SAFETY: the relation is open.
        let relation = unsafe { &*self.0 };
        // InvalidSubTransactionId
        version::new_file_since(relation) != 0
    }

    /// Pages of its main fork.
    pub(crate) fn pages(&self) -> u32 {
        // SAFETY: the relation is open.
        unsafe { pg_sys::RelationGetNumberOfBlocksInFork(self.0, pg_sys::ForkNumber::MAIN_FORKNUM) }
    }

    /// Pages of the values that its rows have elsewhere, in its TOAST table.
    pub(crate) fn pages_elsewhere(&self) -> u32 {
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
