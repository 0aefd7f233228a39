//! Writing rows. Those that the target refuses are found by halving.

use pg::guard::PgError;
use pgrx::pg_sys::{self, Datum, TupleDesc};
use queue::append::{self, Origin, Source};
use queue::definition::Definition;
use queue::functions::messages;
use queue::producer;
use queue::shape::Shape;
use session::subtransaction::in_subtransaction;

use super::blame::{Fault, fault, raise};
use super::bucket::Written;
use super::columns::Column;
use super::encode::Encoder;
use super::letters::Letters;
use super::read::Rows;
use super::table::{self, Way};
use super::target::{Held, HeldPlace};
use super::{copy, defaults, insert};

/// Halvings until rows are written one by one.
const HALVINGS: usize = 64;

/// Writes some of a bucket's rows.
trait Sink {
    /// Writes the rows at these places, in a subtransaction. Returns how many there are now.
    fn write(&mut self, places: &[u32]) -> Result<u64, PgError>;

    /// Whose fault an error of [`Sink::write`] is.
    fn fault(&self, error: &PgError) -> Fault;
}

/// Stores the rows of a bucket, in their order.
pub(crate) fn store<'a>(
    target: &Held<'_>,
    rows: &mut Rows<'a>,
    origin: Option<&Origin>,
    written: &mut Written,
    letters: &mut Letters<'a>,
) {
    match &target.place {
        HeldPlace::Messages(queue) => {
            written.stored += store_in_queue(queue, None, rows, origin, letters);
        }
        HeldPlace::Rows(queue, shape) => {
            shape.check();
            written.stored += store_in_queue(queue, Some(shape), rows, origin, letters);
        }
        HeldPlace::Table(shape) => {
            shape.check();
            check_constraints_at_once();
            let way = table::way(shape.relation(), &rows.columns);
            if way == Way::Copy {
                defaults::fill_in(shape.relation(), rows);
            }
            let mut halving = Halving::new(rows, letters);
            // Columns that a line lacks get their defaults, and one statement treats all its rows alike.
            let are_alike = |one: &u32, next: &u32| rows.given(*one as usize) == rows.given(*next as usize);
            for alike in places(rows).chunk_by(are_alike) {
                halving.halve(&mut TableSink::new(shape, way, rows, alike[0]), alike);
            }
            halving.try_suspects(|place| TableSink::new(shape, way, rows, place));
            written.stored += halving.stored;
        }
    }
}

/// Stores rows in a queue, messages if they have no shape; how many.
fn store_in_queue<'a>(
    queue: &Definition,
    shape: Option<&Shape>,
    rows: &Rows<'a>,
    origin: Option<&Origin>,
    letters: &mut Letters<'a>,
) -> u64 {
    let mut halving = Halving::new(rows, letters);
    let mut sink = QueueSink { queue, shape, rows, origin, is_noted: false };
    halving.halve(&mut sink, &places(rows));
    if let (Some(origin), false) = (origin, sink.is_noted)
        && producer::last(queue, &origin.producer).as_ref() != Some(origin)
    {
        append::note(queue, origin);
    }
    halving.stored
}

fn places(rows: &Rows<'_>) -> Vec<u32> {
    (0..rows.len() as u32).collect()
}

/// Writing the rows of a bucket, and finding those that cannot be written.
struct Halving<'h, 'a> {
    rows: &'h Rows<'a>,
    letters: &'h mut Letters<'a>,
    /// How many rows there are now.
    stored: u64,
    /// Whether the target has taken rows: so what others of the bucket fail of is theirs.
    has_taken_any: bool,
    /// Rows that have failed alone, with an error that may be the target's.
    suspects: Vec<(u32, PgError)>,
    /// How often a part was halved, or has become a suspect.
    halvings: usize,
}

impl<'h, 'a> Halving<'h, 'a> {
    fn new(rows: &'h Rows<'a>, letters: &'h mut Letters<'a>) -> Halving<'h, 'a> {
        Halving { rows, letters, stored: 0, has_taken_any: false, suspects: Vec::new(), halvings: 0 }
    }

    /// Writes rows; those that cannot be written are letters, or suspects.
    fn halve(&mut self, sink: &mut dyn Sink, places: &[u32]) {
        let mut waiting = vec![places];
        while let Some(part) = waiting.pop() {
            if part.is_empty() {
                continue;
            }
            let error = match self.write(sink, part) {
                Ok(()) => continue,
                Err(error) => error,
            };
            let fault = sink.fault(&error);
            // A target that takes nothing is not asked for each row.
            let is_in_vain = fault == Fault::Unknown && !self.has_taken_any && self.halvings > HALVINGS;
            if fault == Fault::Server || is_in_vain {
                raise(error);
            }
            match part {
                [place] if fault == Fault::Line => self.bury(*place, error),
                [place] => {
                    self.halvings += 1;
                    self.suspects.push((*place, error));
                }
                _ => {
                    self.halvings += 1;
                    let size = if self.halvings > HALVINGS { 1 } else { part.len().div_ceil(2) };
                    waiting.extend(part.rchunks(size));
                }
            }
        }
    }

    /// Writes each suspect once more: others change what is there meanwhile. If the target has taken nothing, it may be the target
    /// that is to be mended.
    fn try_suspects<S: Sink>(&mut self, sink: impl Fn(u32) -> S) {
        for (place, error) in std::mem::take(&mut self.suspects) {
            if !self.has_taken_any {
                raise(error);
            }
            let mut sink = sink(place);
            let Err(error) = self.write(&mut sink, &[place]) else { continue };
            if sink.fault(&error) == Fault::Server {
                raise(error);
            }
            self.bury(place, error);
        }
    }

    fn write(&mut self, sink: &mut dyn Sink, places: &[u32]) -> Result<(), PgError> {
        self.stored += sink.write(places)?;
        self.has_taken_any = true;
        Ok(())
    }

    fn bury(&mut self, place: u32, error: PgError) {
        self.letters.add(self.rows.line(place as usize), error.into());
    }
}

/// Into a queue.
struct QueueSink<'r, 'a> {
    queue: &'r Definition,
    shape: Option<&'r Shape>,
    rows: &'r Rows<'a>,
    origin: Option<&'r Origin>,
    /// Whether the queue knows how far the producer is.
    is_noted: bool,
}

impl Sink for QueueSink<'_, '_> {
    fn write(&mut self, places: &[u32]) -> Result<u64, PgError> {
        let whole = places.len() == self.rows.len();
        let origin = self.origin.filter(|_| whole);
        let (queue, part) = (self.queue, Part { rows: self.rows, places });
        // SAFETY: appending goes through pgrx's bindings, whose errors unwind.
        unsafe {
            in_subtransaction(|| match self.shape {
                Some(shape) => append_rows(queue, shape, part, origin),
                None => append_messages(queue, &part, origin),
            })?;
        }
        self.is_noted |= origin.is_some();
        Ok(places.len() as u64)
    }

    fn fault(&self, error: &PgError) -> Fault {
        // No code of a user's runs here.
        match fault(error, false) {
            Fault::Unknown => Fault::Server,
            known => known,
        }
    }
}

fn append_rows(queue: &Definition, shape: &Shape, part: Part<'_, '_>, origin: Option<&Origin>) {
    append::append(queue, &mut OfType { part, shape }, origin);
}

fn append_messages(queue: &Definition, part: &Part<'_, '_>, origin: Option<&Origin>) {
    append::write(queue, part.places.len(), 0, origin, &mut |table, place, position| {
        let (values, nulls) = part.row(place);
        messages::form(table, position, (!nulls[0]).then_some(values[0]), None)
    });
}

/// Some rows of a bucket.
struct Part<'r, 'a> {
    rows: &'r Rows<'a>,
    places: &'r [u32],
}

impl Part<'_, '_> {
    fn row(&self, place: usize) -> (&[Datum], &[bool]) {
        self.rows.row(self.places[place] as usize)
    }
}

/// Rows of a row type.
struct OfType<'r, 'a> {
    part: Part<'r, 'a>,
    shape: &'r Shape,
}

impl Source for OfType<'_, '_> {
    fn count(&self) -> usize {
        self.part.places.len()
    }

    fn row_type(&self) -> TupleDesc {
        self.shape.columns()
    }

    fn row(&mut self, place: usize) -> (&[Datum], &[bool]) {
        self.part.row(place)
    }
}

/// Into a table: rows whose lines have the same columns.
struct TableSink<'r, 'a> {
    table: &'r Shape,
    way: Way,
    rows: &'r Rows<'a>,
    columns: Vec<&'r Column>,
}

impl<'r, 'a> TableSink<'r, 'a> {
    fn new(table: &'r Shape, way: Way, rows: &'r Rows<'a>, example: u32) -> TableSink<'r, 'a> {
        let given = rows.given(example as usize);
        let columns: Vec<&Column> = rows.columns.all().iter().filter(|column| given[column.place]).collect();
        // COPY takes an empty list of columns for all of them.
        let way = if columns.is_empty() { Way::Insert("no columns") } else { way };
        TableSink { table, way, rows, columns }
    }
}

impl Sink for TableSink<'_, '_> {
    fn write(&mut self, places: &[u32]) -> Result<u64, PgError> {
        // Triggers and defaults have run since.
        self.table.check();
        match self.way {
            Way::Copy => {
                let mut encoder = Encoder::new(self.rows, places, &self.columns);
                copy::copy(self.table.relation(), &self.columns, &mut encoder)
            }
            Way::Insert(_) => insert::insert(self.table.oid(), &self.columns, self.rows, places),
        }
    }

    fn fault(&self, error: &PgError) -> Fault {
        let by_policy = self.way != Way::Copy && insert::is_by_policy(error, self.table.oid(), &self.columns);
        fault(error, by_policy)
    }
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
