//! The lines of a bucket, read: rows, and lines that are refused.

use ndjson::{Fault, Line, Lines, Reason, Text, Value};
use pgrx::pg_sys::Datum;

use super::arena::Arena;
use super::blame::Refusal;
use super::bucket::{Bucket, Written};
use super::columns::{Column, Columns};
use super::letters::Letters;
use super::scratch::Scratch;
use super::size;
use super::target::{Held, HeldPlace};

/// Rows that lines have become.
pub(crate) struct Rows<'a> {
    /// Lines of the bucket, empty and bad ones too.
    pub lines: u64,
    /// Attributes of a row.
    width: usize,
    values: Vec<Datum>,
    nulls: Vec<bool>,
    /// Which values the line has, null or not: the others get their defaults.
    given: Vec<bool>,
    sources: Vec<Line<'a>>,
    /// The columns that the values are of.
    pub(crate) columns: Columns,
    /// What values that are passed by reference point to.
    arena: Arena,
}

impl<'a> Rows<'a> {
    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.sources.len()
    }

    /// The values of a row, and which of them are null.
    pub(crate) fn row(&self, place: usize) -> (&[Datum], &[bool]) {
        let part = place * self.width..(place + 1) * self.width;
        (&self.values[part.clone()], &self.nulls[part])
    }

    /// Which values of a row its line has.
    pub(crate) fn given(&self, place: usize) -> &[bool] {
        &self.given[place * self.width..(place + 1) * self.width]
    }

    /// Columns, by their number, that some lines have and others lack.
    pub(crate) fn uneven(&self) -> Vec<usize> {
        let rows = || (0..self.len()).map(|place| self.given(place));
        let Some(first) = rows().next() else { return Vec::new() };
        if rows().all(|given| given == first) {
            return Vec::new();
        }
        let is_uneven = |column: &Column| rows().any(|given| given[column.place] != first[column.place]);
        let columns = self.columns.all().iter().enumerate();
        columns.filter(|(_, column)| is_uneven(column)).map(|(number, _)| number).collect()
    }

    /// Gives the rows whose lines lack a column this value, as if the lines had it.
    pub(crate) fn fill_in(&mut self, column: usize, value: Option<Datum>) {
        let place = self.columns.column(column).place;
        for at in (place..self.given.len()).step_by(self.width) {
            if !std::mem::replace(&mut self.given[at], true) {
                self.values[at] = value.unwrap_or(Datum::null());
                self.nulls[at] = value.is_none();
            }
        }
    }

    /// The line that a row was.
    pub(crate) fn line(&self, place: usize) -> Line<'a> {
        self.sources[place]
    }
}

/// Reads the lines of a bucket but for so many at its start.
pub(crate) fn read<'a>(
    target: &Held<'_>,
    bucket: &Bucket<'a>,
    repeated: u64,
    written: &mut Written,
    letters: &mut Letters<'a>,
) -> Rows<'a> {
    let mut reader = Reader::new(target.columns());
    reader.measures = matches!(target.place, HeldPlace::Table(_));
    let mut cut = bucket.cut.iter().peekable();
    for line in Lines::of(bucket.lines) {
        reader.rows.lines += 1;
        let cut = cut.next_if(|cut| cut.line == line.number);
        if line.is_empty() {
            continue;
        }
        written.received += 1;
        if line.number < repeated {
            written.repeated += 1;
        } else if let Some(refusal) = bucket.refused {
            let length = cut.map_or(line.bytes.len() as u64, |cut| cut.length);
            letters.add_cut(line, length, refusal.clone());
        } else if let Some(cut) = cut {
            letters.add_cut(line, cut.length, Refusal::too_long(bucket.longest));
        } else if line.bytes.len() > bucket.longest {
            letters.add(line, Refusal::too_long(bucket.longest));
        } else if let Err(refusal) = reader.add(line) {
            letters.add(line, refusal);
        }
    }
    reader.finish()
}

struct Reader<'a> {
    rows: Rows<'a>,
    /// An object of the keys that have no column, of the line that is read.
    rest: String,
    scratch: Scratch,
    /// Whether rows are measured here: a queue measures what it takes, from whomever it comes.
    measures: bool,
}

impl<'a> Reader<'a> {
    fn new(columns: Columns) -> Reader<'a> {
        let rows = Rows {
            lines: 0,
            width: columns.width,
            values: Vec::new(),
            nulls: Vec::new(),
            given: Vec::new(),
            sources: Vec::new(),
            columns,
            arena: Arena::default(),
        };
        Reader { rows, rest: String::new(), scratch: Scratch::new(), measures: false }
    }

    fn finish(self) -> Rows<'a> {
        self.scratch.delete();
        self.rows
    }

    fn add(&mut self, line: Line<'a>) -> Result<(), Refusal> {
        let start = self.rows.values.len();
        self.rows.values.resize(start + self.rows.width, Datum::null());
        self.rows.nulls.resize(start + self.rows.width, true);
        self.rows.given.resize(start + self.rows.width, false);
        let result = self.fill(start, line.bytes);
        match result {
            Ok(()) => self.rows.sources.push(line),
            Err(_) => {
                self.rows.values.truncate(start);
                self.rows.nulls.truncate(start);
                self.rows.given.truncate(start);
            }
        }
        result
    }

    /// Fills the row whose values begin at `start`.
    fn fill(&mut self, start: usize, line: &[u8]) -> Result<(), Refusal> {
        let text = utf8(line)?;
        if self.rows.columns.need_objects {
            self.fill_values(start, text)?;
        } else {
            ndjson::check(text)?;
        }
        if let Some(column) = self.rows.columns.rest {
            self.rest.push_str(if self.rest.is_empty() { "{}" } else { "}" });
            let rest = std::mem::take(&mut self.rest);
            self.set(start, column, Value::Nested(&rest))?;
            self.rest = rest;
        }
        if let Some(column) = self.rows.columns.line {
            self.set(start, column, Value::Nested(text))?;
        }
        self.check_what_is_left_null(start)?;
        if self.measures && size::may_be_large(text) { self.measure(start) } else { Ok(()) }
    }

    /// Refuses a row that is too large as text.
    fn measure(&self, start: usize) -> Result<(), Refusal> {
        let row = |place: usize| start + place;
        let given = |column: &&Column| !self.rows.nulls[row(column.place)];
        let columns = self.rows.columns.all().iter().filter(given);
        let values = columns.map(|column| (self.rows.values[row(column.place)], column.kind_of_data.0));
        // SAFETY: what has been converted is of the columns' types, and lines are read inside a transaction.
        if unsafe { size::fits(values, &self.scratch) } { Ok(()) } else { Err(Refusal::too_large()) }
    }

    /// Of a key that comes twice the last counts. What comes before it is converted as well, which costs less than to look
    /// for others of its name; only where something is refused it is left out.
    fn fill_values(&mut self, start: usize, text: &str) -> Result<(), Refusal> {
        let Err(refusal) = self.set_values(start, text, |_| true) else { return Ok(()) };
        let Some(counts) = self.members_that_count(text) else { return Err(refusal) };
        let row = start..start + self.rows.width;
        self.rows.nulls[row.clone()].fill(true);
        self.rows.given[row].fill(false);
        self.set_values(start, text, |number| counts[number])
    }

    /// Sets the values of a line's members, of those with a column only the ones that count.
    fn set_values(
        &mut self,
        start: usize,
        text: &str,
        counts: impl Fn(usize) -> bool,
    ) -> Result<(), Refusal> {
        self.rest.clear();
        let mut number = 0;
        ndjson::members(text, |key, value| {
            number += 1;
            match self.rows.columns.find(number - 1, key) {
                Some(column) if counts(number - 1) => self.set(start, column, value),
                Some(_) => Ok(()),
                None => {
                    self.keep_rest(key, value);
                    Ok(())
                }
            }
        })
    }

    /// Which members of a line are the last of their column; none if no column comes twice, or the line is no object.
    fn members_that_count(&mut self, text: &str) -> Option<Vec<bool>> {
        let mut columns = Vec::new();
        let read: Result<(), Refusal> = ndjson::members(text, |key, _| {
            columns.push(self.rows.columns.find(columns.len(), key));
            Ok(())
        });
        read.ok()?;
        let mut is_known = vec![false; self.rows.columns.all().len()];
        let mut counts: Vec<bool> = columns
            .iter()
            .rev()
            .map(|column| column.is_some_and(|column| !std::mem::replace(&mut is_known[column], true)))
            .collect();
        counts.reverse();
        let comes_twice = columns.iter().zip(&counts).any(|(column, counts)| column.is_some() && !counts);
        comes_twice.then_some(counts)
    }

    /// A domain may not be null, and has not been asked where its key does not come.
    fn check_what_is_left_null(&mut self, start: usize) -> Result<(), Refusal> {
        for place in 0..self.rows.columns.null_if_missing.len() {
            let column = self.rows.columns.null_if_missing[place];
            let column = self.rows.columns.column(column);
            if !self.rows.given[start + column.place] {
                column.input.take_null(&self.scratch)?;
            }
        }
        Ok(())
    }

    fn set(&mut self, start: usize, column: usize, value: Value<'_>) -> Result<(), Refusal> {
        let column = self.rows.columns.column(column);
        let place = start + column.place;
        self.rows.given[place] = true;
        self.rows.nulls[place] = value == Value::Null;
        if value == Value::Null {
            return column.input.take_null(&self.scratch);
        }
        self.rows.values[place] = match column.kind.convert(value, &mut self.rows.arena) {
            Some(datum) => datum,
            None => column.input.convert(value, &mut self.rows.arena, &self.scratch)?,
        };
        Ok(())
    }

    fn keep_rest(&mut self, key: Text<'_>, value: Value<'_>) {
        if self.rows.columns.rest.is_none() {
            return;
        }
        self.rest.push(if self.rest.is_empty() { '{' } else { ',' });
        self.rest.push_str(key.quoted());
        self.rest.push(':');
        match value {
            Value::Null => self.rest.push_str("null"),
            Value::Bool(value) => self.rest.push_str(if value { "true" } else { "false" }),
            Value::Number(written) | Value::Nested(written) => self.rest.push_str(written),
            Value::Text(text) => self.rest.push_str(text.quoted()),
        }
    }
}

/// The line as text. Twice as fast as the standard library's way where most is not ASCII.
fn utf8(line: &[u8]) -> Result<&str, Fault> {
    simdutf8::basic::from_utf8(line).map_err(|_| {
        let at = std::str::from_utf8(line).map_or_else(|error| error.valid_up_to(), str::len);
        Fault { reason: Reason::NotUtf8, at }
    })
}
