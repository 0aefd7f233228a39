//! Writing rows. Those that the target refuses are found by halving.

use pgrx::pg_sys::Datum;

use super::blame::is_a_lines_fault;
use super::bucket::{Rows, reject};
use super::subtransaction::in_subtransaction;
use super::{Target, Written};
use crate::guard::raise;
use crate::queue::append::{self, Origin, Source};

/// Stores the rows of a bucket.
pub fn store(target: &Target, rows: &Rows, origin: Option<&Origin>, written: &mut Written) {
    let Target::Queue(queue) = target;
    let whole = Part { rows, first: 0, count: rows.len() };
    let mut is_noted = false;
    let mut waiting = vec![whole];
    while let Some(mut part) = waiting.pop() {
        let origin = origin.filter(|_| part.count == rows.len());
        if part.count == 0 {
            continue;
        }
        // SAFETY: appending goes through pgrx's bindings, whose errors unwind.
        match unsafe { in_subtransaction(|| append::append(queue, &mut part, origin)) } {
            Ok(_) => {
                written.stored += part.count as u64;
                is_noted |= origin.is_some();
            }
            Err(error) if !is_a_lines_fault(&error, false) => raise(error),
            Err(error) if part.count == 1 => reject(written, rows.line(part.first), error.into()),
            Err(_) => {
                let half = part.count / 2;
                waiting.push(Part { rows, first: part.first + half, count: part.count - half });
                waiting.push(Part { rows, first: part.first, count: half });
            }
        }
    }
    if let Some(origin) = origin.filter(|_| !is_noted) {
        append::note(queue, origin);
    }
}

/// Some rows of a bucket.
struct Part<'a> {
    rows: &'a Rows,
    first: usize,
    count: usize,
}

impl Source for Part<'_> {
    fn count(&self) -> usize {
        self.count
    }

    fn row(&mut self, place: usize) -> (&[Datum], &[bool]) {
        self.rows.row(self.first + place)
    }
}
