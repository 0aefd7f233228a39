//! Writing rows. Those that the target refuses are found by halving.

use pgrx::pg_sys::Datum;

use super::blame::is_a_lines_fault;
use super::bucket::Rows;
use super::letters::Letters;
use super::subtransaction::in_subtransaction;
use super::target::Place;
use super::{Target, Written};
use crate::guard::{PgError, raise};
use crate::queue::append::{self, Origin, Source};
use crate::queue::definition::Definition;
use crate::queue::functions::messages;

/// Halves in which a refused row has been looked for until rows are written one by one.
const HALVINGS: usize = 64;

/// Stores the rows of a bucket.
pub fn store<'a>(
    target: &Target,
    rows: &Rows<'a>,
    origin: Option<&Origin>,
    written: &mut Written,
    letters: &mut Letters<'a>,
) {
    let mut is_noted = false;
    let mut failures = 0;
    let mut waiting = vec![Part { rows, first: 0, count: rows.len() }];
    while let Some(mut part) = waiting.pop() {
        if part.count == 0 {
            continue;
        }
        let origin = origin.filter(|_| part.count == rows.len());
        match write(target, &mut part, origin) {
            Ok(()) => {
                written.stored += part.count as u64;
                is_noted |= origin.is_some();
            }
            Err(error) if !is_a_lines_fault(&error, false) => raise(error),
            Err(error) if part.count == 1 => letters.add(rows.line(part.first), error.into()),
            Err(_) => {
                failures += 1;
                let pieces = if failures > HALVINGS { part.count } else { 2 };
                waiting.extend(part.divide(pieces).rev());
            }
        }
    }
    if let (Some(origin), false, Place::Queue(queue)) = (origin, is_noted, &target.place) {
        append::note(queue, origin);
    }
}

fn write(target: &Target, part: &mut Part<'_, '_>, origin: Option<&Origin>) -> Result<(), PgError> {
    match &target.place {
        // SAFETY: appending goes through pgrx's bindings, whose errors unwind.
        Place::Queue(queue) => unsafe { in_subtransaction(|| write_to_queue(queue, part, origin)) },
    }
}

fn write_to_queue(queue: &Definition, part: &mut Part<'_, '_>, origin: Option<&Origin>) {
    if queue.row_type.is_some() {
        append::append(queue, part, origin);
    } else {
        append::write(queue, part.count, 0, origin, &mut |table, place, position| {
            let (values, nulls) = part.row(place);
            messages::form(table, position, (!nulls[0]).then_some(values[0]), None)
        });
    }
}

/// Some neighbouring rows of a bucket.
struct Part<'r, 'a> {
    rows: &'r Rows<'a>,
    first: usize,
    count: usize,
}

impl<'r, 'a> Part<'r, 'a> {
    /// So many parts that are about as large.
    fn divide(&self, pieces: usize) -> impl DoubleEndedIterator<Item = Part<'r, 'a>> + use<'r, 'a> {
        let (rows, first, count) = (self.rows, self.first, self.count);
        let border = move |piece: usize| count * piece / pieces;
        (0..pieces).map(move |piece| Part {
            rows,
            first: first + border(piece),
            count: border(piece + 1) - border(piece),
        })
    }
}

impl Source for Part<'_, '_> {
    fn count(&self) -> usize {
        self.count
    }

    fn row(&mut self, place: usize) -> (&[Datum], &[bool]) {
        self.rows.row(self.first + place)
    }
}
