//! A relation that is open, and what its indexes are.

use std::ops::Deref;

use pg::version;
use pgrx::pg_sys::{self, Oid, Relation};

/// A column by which an index is ordered.
#[derive(Clone, Copy)]
pub struct Column {
    /// Its attribute number.
    pub number: i16,
    /// The family of operators and the collation that say which value is smaller.
    pub(super) kind: (u32, u32),
    pub(super) descends: bool,
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

    pub(crate) fn index(oid: Oid, lock: i32) -> Opened {
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
    pub(crate) fn has_indexes(&self) -> bool {
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
