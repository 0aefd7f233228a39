//! Where lines go.

use std::rc::Rc;

use pgrx::pg_sys::{self, Oid};
use pgrx::prelude::*;

use super::columns::Columns;
use super::{Sender, progress, table};
use crate::queue::append::{self, Origin};
use crate::queue::definition::{self, Definition, Right};
use crate::queue::producer;
use crate::queue::refuse::refuse;

/// Where lines go, and what becomes of what has no column.
pub struct Target {
    pub(super) place: Place,
    pub(super) keep: Keep,
}

/// What lines go into.
pub enum Place {
    /// A queue of typed rows or of messages.
    Queue(Rc<Definition>),
    /// A table, view or foreign table.
    Table(Oid),
}

/// What is kept besides the values of known keys. Both columns take JSON.
#[derive(Clone, Default, Debug)]
pub struct Keep {
    /// The column that gets the whole line.
    pub line: Option<String>,
    /// The column that gets an object of the keys that have no column.
    pub rest: Option<String>,
}

impl Target {
    /// The queue of this name; an error if there is none.
    pub fn queue(name: &str, keep: Keep) -> Target {
        Target { place: Place::Queue(definition::find(name)), keep }
    }

    /// The table, view or foreign table that this is.
    pub fn table(table: Oid, keep: Keep) -> Target {
        Target { place: Place::Table(table), keep }
    }

    /// How rows are written, and why so.
    pub fn way(&self) -> String {
        match &self.place {
            Place::Queue(_) => "into the queue's segment".into(),
            Place::Table(table) => table::way(&table::open(*table), &self.columns()).describe(),
        }
    }

    /// An error unless the current user may write. From here on what the lines are converted to stays what it is, until the
    /// transaction ends.
    pub fn check(&self) {
        // SAFETY: reads a variable of PostgreSQL's.
        if unsafe { pg_sys::GetDatabaseEncoding() } != pg_sys::pg_enc::PG_UTF8 as i32 {
            refuse(
                PgSqlErrorCode::ERRCODE_FEATURE_NOT_SUPPORTED,
                "lines of JSON go into databases whose encoding is UTF8 only",
            );
        }
        match &self.place {
            Place::Queue(queue) => {
                queue.check(Right::Send);
                queue.hold_row_type();
            }
            Place::Table(table) => table::check(*table),
        }
    }

    /// The number of the producer's last line that is there. Its other transactions are waited for; an epoch that is over is
    /// an error.
    pub fn resume(&self, sender: &Sender) -> Option<i64> {
        self.last(sender).map(|origin| origin.sequence)
    }

    /// Begins or goes on with an epoch: from the commit on, those before are over. The number of the producer's last line
    /// that is there. With `flushed` the commit says so anew even if the epoch is known, and so its flush covers lines that
    /// were committed without one.
    pub fn greet(&self, sender: &Sender, flushed: bool) -> i64 {
        let last = self.last(sender);
        let sequence = last.as_ref().map_or(0, |last| last.sequence);
        let is_known = last.is_some_and(|last| last.epoch == sender.epoch);
        if !is_known || (flushed && sequence > 0) {
            let origin = Origin { producer: sender.producer.to_owned(), epoch: sender.epoch, sequence };
            match &self.place {
                Place::Queue(queue) => append::note(queue, &origin),
                Place::Table(table) => progress::note(*table, &origin),
            }
        }
        sequence
    }

    fn last(&self, sender: &Sender) -> Option<Origin> {
        match &self.place {
            Place::Queue(queue) => producer::resume(queue, sender.producer, sender.epoch),
            Place::Table(table) => progress::resume(*table, sender),
        }
    }

    /// The columns that lines fill.
    pub fn columns(&self) -> Columns {
        match &self.place {
            Place::Queue(queue) => match queue.row_type {
                Some(row_type) => Columns::of_type(row_type, &self.keep),
                None => Columns::message(),
            },
            Place::Table(table) => Columns::of_table(&table::open(*table), &self.keep),
        }
    }
}
