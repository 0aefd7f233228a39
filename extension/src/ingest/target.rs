//! Where lines go.

use std::rc::Rc;

use crate::queue::definition::{self, Definition, Right};
use crate::queue::producer;
use crate::queue::refuse::refuse;

use super::Sender;
use super::columns::Columns;

use pgrx::pg_sys;
use pgrx::prelude::*;

/// Where lines go.
pub enum Target {
    /// A queue of typed rows or of messages.
    Queue(Rc<Definition>),
}

impl Target {
    /// The queue of this name; an error if there is none.
    pub fn queue(name: &str) -> Target {
        Target::Queue(definition::find(name))
    }

    /// How rows are written, and why so.
    pub fn way(&self) -> String {
        match self {
            Target::Queue(_) => "into the queue's segment".into(),
        }
    }

    /// An error unless the current user may write.
    pub fn check(&self) {
        // SAFETY: reads a variable of PostgreSQL's.
        if unsafe { pg_sys::GetDatabaseEncoding() } != pg_sys::pg_enc::PG_UTF8 as i32 {
            refuse(
                PgSqlErrorCode::ERRCODE_FEATURE_NOT_SUPPORTED,
                "lines of JSON go into databases whose encoding is UTF8 only",
            );
        }
        match self {
            Target::Queue(queue) => queue.check(Right::Send),
        }
    }

    /// The number of the producer's last line that is there. Its other transactions are waited for; an epoch that is over is
    /// an error.
    pub fn resume(&self, sender: &Sender) -> Option<i64> {
        match self {
            Target::Queue(queue) => {
                producer::resume(queue, sender.producer, sender.epoch).map(|origin| origin.sequence)
            }
        }
    }

    /// The columns that lines fill.
    pub fn columns(&self) -> Columns {
        match self {
            Target::Queue(queue) => Columns::of_type(queue.typed("queue.send")),
        }
    }
}
