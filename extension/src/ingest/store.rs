//! Writing rows. Those that the target refuses are found by halving.

use std::collections::HashMap;

use pgrx::pg_sys::{self, Datum, Oid};

use super::blame::{is_a_lines_fault, raise};
use super::bucket::Rows;
use super::columns::Column;
use super::encode::Encoder;
use super::letters::Letters;
use super::table::{self, Way};
use super::target::Place;
use super::{Target, Written, copy, insert};
use crate::guard::PgError;
use crate::queue::append::{self, Origin, Source};
use crate::queue::definition::Definition;
use crate::queue::functions::messages;
use crate::subtransaction::in_subtransaction;

/// Halvings until rows are written one by one.
const HALVINGS: usize = 64;

/// Writes some of a bucket's rows.
trait Sink {
    /// Writes the rows at these places, in a subtransaction. Returns how many there are now.
    fn write(&mut self, places: &[u32]) -> Result<u64, PgError>;

    /// Whether a policy of the target has refused a row.
    fn is_by_policy(&self, _error: &PgError) -> bool {
        false
    }
}

/// Stores the rows of a bucket.
pub fn store<'a>(
    target: &Target,
    rows: &Rows<'a>,
    origin: Option<&Origin>,
    written: &mut Written,
    letters: &mut Letters<'a>,
) {
    match &target.place {
        Place::Queue(queue) => {
            let places: Vec<u32> = (0..rows.len() as u32).collect();
            let mut sink = QueueSink { queue, rows, origin, is_noted: false };
            written.stored += halve(&mut sink, rows, &places, letters);
            if let (Some(origin), false) = (origin, sink.is_noted) {
                append::note(queue, origin);
            }
        }
        Place::Table(table) => {
            check_constraints_at_once();
            let way = table::way(&table::open(*table), &rows.columns);
            for places in groups(rows) {
                let mut sink = TableSink::new(*table, way, rows, places[0]);
                written.stored += halve(&mut sink, rows, &places, letters);
            }
        }
    }
}

/// Writes rows; those that cannot be written are letters. Returns how many were.
fn halve<'a>(sink: &mut dyn Sink, rows: &Rows<'a>, places: &[u32], letters: &mut Letters<'a>) -> u64 {
    let (mut stored, mut failures) = (0, 0);
    let mut waiting = vec![places];
    while let Some(part) = waiting.pop() {
        if part.is_empty() {
            continue;
        }
        let error = match sink.write(part) {
            Ok(count) => {
                stored += count;
                continue;
            }
            Err(error) => error,
        };
        if !is_a_lines_fault(&error, sink.is_by_policy(&error)) {
            raise(error);
        }
        if let [place] = part {
            letters.add(rows.line(*place as usize), error.into());
            continue;
        }
        failures += 1;
        let size = if failures > HALVINGS { 1 } else { part.len().div_ceil(2) };
        waiting.extend(part.rchunks(size));
    }
    stored
}

/// Into a queue.
struct QueueSink<'r, 'a> {
    queue: &'r Definition,
    rows: &'r Rows<'a>,
    origin: Option<&'r Origin>,
    /// Whether the queue knows how far the producer is.
    is_noted: bool,
}

impl Sink for QueueSink<'_, '_> {
    fn write(&mut self, places: &[u32]) -> Result<u64, PgError> {
        let whole = places.len() == self.rows.len();
        let origin = self.origin.filter(|_| whole);
        let mut part = Part { rows: self.rows, places };
        // SAFETY: appending goes through pgrx's bindings, whose errors unwind.
        unsafe { in_subtransaction(|| append_part(self.queue, &mut part, origin))? };
        self.is_noted |= origin.is_some();
        Ok(places.len() as u64)
    }
}

fn append_part(queue: &Definition, part: &mut Part<'_, '_>, origin: Option<&Origin>) {
    if queue.row_type.is_some() {
        append::append(queue, part, origin);
    } else {
        append::write(queue, part.count(), 0, origin, &mut |table, place, position| {
            let (values, nulls) = part.row(place);
            messages::form(table, position, (!nulls[0]).then_some(values[0]), None)
        });
    }
}

/// Some rows of a bucket.
struct Part<'r, 'a> {
    rows: &'r Rows<'a>,
    places: &'r [u32],
}

impl Source for Part<'_, '_> {
    fn count(&self) -> usize {
        self.places.len()
    }

    fn row(&mut self, place: usize) -> (&[Datum], &[bool]) {
        self.rows.row(self.places[place] as usize)
    }
}

/// Into a table: rows whose lines have the same columns.
struct TableSink<'r, 'a> {
    table: Oid,
    way: Way,
    rows: &'r Rows<'a>,
    columns: Vec<&'r Column>,
}

impl<'r, 'a> TableSink<'r, 'a> {
    fn new(table: Oid, way: Way, rows: &'r Rows<'a>, example: u32) -> TableSink<'r, 'a> {
        let given = rows.given(example as usize);
        let columns: Vec<&Column> = rows.columns.all().iter().filter(|column| given[column.place]).collect();
        // COPY takes an empty list of columns for all of them.
        let way = if columns.is_empty() { Way::Insert("no columns") } else { way };
        TableSink { table, way, rows, columns }
    }
}

impl Sink for TableSink<'_, '_> {
    fn write(&mut self, places: &[u32]) -> Result<u64, PgError> {
        match self.way {
            Way::Copy => {
                let mut encoder = Encoder::new(self.rows, places, &self.columns);
                copy::copy(self.table, &self.columns, &mut encoder)
            }
            Way::Insert(_) => insert::insert(self.table, &self.columns, self.rows, places),
        }
    }

    fn is_by_policy(&self, error: &PgError) -> bool {
        self.way != Way::Copy && insert::is_by_policy(error, self.table, &self.columns)
    }
}

/// Rows by the columns that their lines have: the others get defaults, and one statement treats all rows alike.
fn groups(rows: &Rows<'_>) -> Vec<Vec<u32>> {
    let mut groups: Vec<Vec<u32>> = Vec::new();
    let mut numbers: HashMap<&[bool], usize> = HashMap::new();
    let mut last: Option<(&[bool], usize)> = None;
    for place in 0..rows.len() {
        let given = rows.given(place);
        let number = match last {
            Some((same, number)) if same == given => number,
            _ => *numbers.entry(given).or_insert_with(|| {
                groups.push(Vec::new());
                groups.len() - 1
            }),
        };
        last = Some((given, number));
        groups[number].push(place as u32);
    }
    groups
}

/// From here on deferrable constraints are checked by each statement, so that a row that violates one is found; as
/// `set constraints all immediate` does, until the transaction ends.
fn check_constraints_at_once() {
    // SAFETY: inside a transaction; a statement that names no constraint means all.
    unsafe {
        let mut statement: pg_sys::ConstraintsSetStmt = std::mem::zeroed();
        statement.type_ = pg_sys::NodeTag::T_ConstraintsSetStmt;
        pg_sys::AfterTriggerSetState(&mut statement);
    }
}
