//! The lines of a bucket, read: rows, and lines that are refused.

use ndjson::{Fault, Line, Lines, Reason, Text, Value};
use pgrx::pg_sys::{self, Datum, MemoryContext};

use super::arena::Arena;
use super::blame::Refusal;
use super::columns::Columns;
use super::letters::Letters;
use super::{Bucket, Target, Written};

/// Rows that lines have become.
pub struct Rows<'a> {
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
    pub columns: Columns,
    /// What values that are passed by reference point to.
    arena: Arena,
}

impl<'a> Rows<'a> {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.sources.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.sources.is_empty()
    }

    /// The values of a row, and which of them are null.
    pub fn row(&self, place: usize) -> (&[Datum], &[bool]) {
        let part = place * self.width..(place + 1) * self.width;
        (&self.values[part.clone()], &self.nulls[part])
    }

    /// Which values of a row its line has.
    pub fn given(&self, place: usize) -> &[bool] {
        &self.given[place * self.width..(place + 1) * self.width]
    }

    /// The line that a row was.
    pub fn line(&self, place: usize) -> Line<'a> {
        self.sources[place]
    }
}

/// Reads the lines of a bucket but for so many at its start.
pub fn read<'a>(
    target: &Target,
    bucket: &Bucket<'a>,
    repeated: u64,
    written: &mut Written,
    letters: &mut Letters<'a>,
) -> Rows<'a> {
    let mut reader = Reader::new(target.columns());
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
    scratch: MemoryContext,
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
        // SAFETY: a context within the current one, which is deleted when the bucket is read.
        let scratch = unsafe {
            pg_sys::AllocSetContextCreateInternal(
                pg_sys::CurrentMemoryContext,
                c"howdah line".as_ptr(),
                pg_sys::ALLOCSET_DEFAULT_MINSIZE as usize,
                pg_sys::ALLOCSET_DEFAULT_INITSIZE as usize,
                pg_sys::ALLOCSET_DEFAULT_MAXSIZE as usize,
            )
        };
        Reader { rows, rest: String::new(), scratch }
    }

    fn finish(self) -> Rows<'a> {
        // SAFETY: made above; what was needed of it is in the arena.
        unsafe { pg_sys::MemoryContextDelete(self.scratch) };
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
            self.rest.clear();
            let mut number = 0;
            ndjson::members(text, |key, value| {
                number += 1;
                match self.rows.columns.find(number - 1, key) {
                    Some(column) => self.set(start, column, value),
                    None => Ok(self.keep_rest(key, value)),
                }
            })?;
        } else {
            ndjson::check(text)?;
        }
        if let Some(column) = self.rows.columns.rest {
            self.rest.push_str(if self.rest.is_empty() { "{}" } else { "}" });
            let rest = std::mem::take(&mut self.rest);
            self.set(start, column, Value::Nested(&rest))?;
            self.rest = rest;
        }
        match self.rows.columns.line {
            Some(column) => self.set(start, column, Value::Nested(text)),
            None => Ok(()),
        }
    }

    /// Of a key that comes twice the last counts.
    fn set(&mut self, start: usize, column: usize, value: Value<'_>) -> Result<(), Refusal> {
        let column = self.rows.columns.column(column);
        let place = start + column.place;
        self.rows.given[place] = true;
        self.rows.nulls[place] = value == Value::Null;
        if value != Value::Null {
            self.rows.values[place] = match column.kind.convert(value, &mut self.rows.arena) {
                Some(datum) => datum,
                None => column.input.convert(value, &mut self.rows.arena, self.scratch)?,
            };
        }
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
