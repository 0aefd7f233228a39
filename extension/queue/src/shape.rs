//! The columns that values are made for, held until they are stored.
//!
//! What makes values may run code of users, such as a domain's check, and that code is in this transaction: no lock keeps it from
//! altering what they are made for. So the relation stays open meanwhile: what a session has open PostgreSQL does not let it alter,
//! truncate or drop. Only a column that goes with its type (DROP … CASCADE) goes all the same, so the columns are compared before
//! values are stored.

use pg::refuse::{refuse, refuse_with_hint};
use pgrx::pg_sys::{self, Oid, TupleDesc};
use pgrx::prelude::*;
use session::authority::table_name;

use super::layout::have_same_columns;
use super::opened::Opened;

/// A table's columns or a row type's attributes, as they were when this was made.
pub struct Shape {
    relation: Opened,
    /// Counted: it stays what it is when the relation gets another.
    columns: TupleDesc,
}

impl Shape {
    /// The shape of a relation.
    pub fn of(relation: Opened) -> Shape {
        // SAFETY: the relation is open, and what it has is counted.
        let columns = unsafe { (**relation).rd_att };
        // SAFETY: as above; the count is given back when the value is dropped, or by PostgreSQL after an error.
        unsafe { pg_sys::IncrTupleDescRefCount(columns) };
        Shape { relation, columns }
    }

    /// The shape of a composite type, which others do not alter until the transaction ends.
    pub fn of_type(row_type: Oid) -> Shape {
        // SAFETY: a look-up and a lock inside a transaction; the lock brings the news of what it has waited for.
        let relation = unsafe {
            let relation = pg_sys::get_typ_typrelid(row_type);
            pg_sys::try_relation_open(relation, pg_sys::AccessShareLock as i32)
        };
        if relation.is_null() {
            refuse(PgSqlErrorCode::ERRCODE_UNDEFINED_OBJECT, "the queue's row type was dropped");
        }
        Shape::of(Opened::relation(relation))
    }

    /// The columns that values are made for.
    pub fn columns(&self) -> TupleDesc {
        self.columns
    }

    /// The relation's number.
    pub fn oid(&self) -> Oid {
        // SAFETY: the relation is open.
        unsafe { (**self.relation).rd_id }
    }

    /// The relation.
    pub fn relation(&self) -> &Opened {
        &self.relation
    }

    /// An error unless values that were made for it can be stored: a column has gone.
    pub fn check(&self) {
        // SAFETY: the relation is open.
        let now = unsafe { (**self.relation).rd_att };
        // SAFETY: both are counted.
        if now != self.columns && !unsafe { have_same_columns(now, self.columns) } {
            refuse_with_hint(
                PgSqlErrorCode::ERRCODE_OBJECT_IN_USE,
                &format!("{} was altered by what made values for it", table_name(self.oid())),
                "A function that a domain, a default or a trigger calls drops the type of a column.",
            );
        }
    }
}

impl Drop for Shape {
    fn drop(&mut self) {
        // After an error PostgreSQL gives back what is counted.
        if !std::thread::panicking() {
            // SAFETY: counted by this value.
            unsafe { pg_sys::DecrTupleDescRefCount(self.columns) };
        }
    }
}
