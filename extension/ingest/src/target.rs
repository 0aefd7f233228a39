//! Where lines go.

use std::rc::Rc;

use pg::refuse::refuse;
use pgrx::pg_sys::{self, Oid};
use pgrx::prelude::*;
use queue::append::{self, Origin};
use queue::definition::{self, Definition, Right};
use queue::producer;
use queue::shape::Shape;

use super::bucket::{Keep, Sender, Written};
use super::columns::Columns;
use super::{progress, table};

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

impl Target {
    /// The queue of this name; an error if there is none.
    pub fn queue(name: &str, keep: Keep) -> Target {
        Target::of_queue(definition::find(name), keep)
    }

    /// This queue.
    pub fn of_queue(queue: Rc<Definition>, keep: Keep) -> Target {
        Target { place: Place::Queue(queue), keep }
    }

    /// The table, view or foreign table that this is.
    pub fn table(table: Oid, keep: Keep) -> Target {
        Target { place: Place::Table(table), keep }
    }

    /// An error unless the current user may write. From here on others do not alter what the lines are converted to, until the
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
        // An error if there is no number for the next line.
        producer::number(sender.producer, sequence, 2);
        let is_known = last.is_some_and(|last| last.epoch == sender.epoch);
        if !is_known || (flushed && sequence > 0) {
            self.note(sender, sequence);
        }
        sequence
    }

    /// Has this commit say how far a producer is if it says nothing else of lines that are there already: those may be committed without
    /// a flush, or before a standby has them, and are about to be acknowledged again.
    pub fn cover_repeated(&self, sender: &Sender, written: &Written) {
        if written.repeated > 0 && written.stored == 0 {
            self.note(sender, written.sequence);
        }
    }

    fn note(&self, sender: &Sender, sequence: i64) {
        let origin = Origin { producer: sender.producer.to_owned(), epoch: sender.epoch, sequence };
        match &self.place {
            Place::Queue(queue) => append::note(queue, &origin),
            Place::Table(table) => progress::note(*table, &origin),
        }
    }

    fn last(&self, sender: &Sender) -> Option<Origin> {
        match &self.place {
            Place::Queue(queue) => producer::resume(queue, sender.producer, sender.epoch),
            Place::Table(table) => progress::resume(*table, sender),
        }
    }

    /// The target while lines are converted and stored. It has been checked.
    pub fn hold(&self) -> Held<'_> {
        let place = match &self.place {
            Place::Queue(queue) => match queue.shape() {
                Some(shape) => HeldPlace::Rows(queue, shape),
                None => HeldPlace::Messages(queue),
            },
            Place::Table(table) => HeldPlace::Table(Shape::of(table::open(*table))),
        };
        Held { place, keep: &self.keep }
    }
}

/// A target that nobody alters: neither others nor code that conversions call.
pub struct Held<'t> {
    pub(super) place: HeldPlace<'t>,
    keep: &'t Keep,
}

/// What lines go into, and what columns that has.
pub(crate) enum HeldPlace<'t> {
    /// A queue of messages.
    Messages(&'t Definition),
    /// A queue of rows.
    Rows(&'t Definition, Shape),
    /// A table, view or foreign table.
    Table(Shape),
}

impl Held<'_> {
    /// The columns that lines fill.
    pub(crate) fn columns(&self) -> Columns {
        match &self.place {
            HeldPlace::Messages(_) => Columns::message(),
            HeldPlace::Rows(_, shape) => Columns::of_type(shape, self.keep),
            HeldPlace::Table(shape) => Columns::of_table(shape, self.keep),
        }
    }

    /// How rows are written, and why so.
    pub fn way(&self) -> String {
        match &self.place {
            HeldPlace::Table(shape) => table::way(shape.relation(), &self.columns()).describe(),
            _ => "into the queue's segment".into(),
        }
    }
}
