//! The lines of a bucket, read: rows, and lines that are refused.

use ndjson::{Fault, Line, Lines, Reason, Value};
use pgrx::pg_sys::Datum;

use super::arena::Arena;
use super::blame::Refusal;
use super::columns::Columns;
use super::{Bucket, NAMED, Rejected, Target, Written};

/// Rows that lines have become.
pub struct Rows {
    /// Lines of the bucket, empty and bad ones too.
    pub lines: u64,
    /// Attributes of a row.
    width: usize,
    values: Vec<Datum>,
    nulls: Vec<bool>,
    /// Of each row the number of its line.
    numbers: Vec<u64>,
    /// What values that are passed by reference point to.
    _arena: Arena,
}

impl Rows {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.numbers.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.numbers.is_empty()
    }

    /// The values of a row, and which of them are null.
    pub fn row(&self, place: usize) -> (&[Datum], &[bool]) {
        let part = place * self.width..(place + 1) * self.width;
        (&self.values[part.clone()], &self.nulls[part])
    }

    /// The number of a row's line.
    pub fn line(&self, place: usize) -> u64 {
        self.numbers[place]
    }
}

/// Reads the lines of a bucket but for so many at its start.
pub fn read(target: &Target, bucket: &Bucket, repeated: u64, written: &mut Written) -> Rows {
    let mut columns = target.columns();
    let mut rows = Rows {
        lines: 0,
        width: columns.width,
        values: Vec::new(),
        nulls: Vec::new(),
        numbers: Vec::new(),
        _arena: Arena::default(),
    };
    for line in Lines::of(bucket.lines) {
        rows.lines += 1;
        if line.is_empty() {
            continue;
        }
        written.received += 1;
        if line.number < repeated {
            written.repeated += 1;
        } else if let Err(refusal) = rows.add(&mut columns, line) {
            reject(written, line.number, refusal);
        }
    }
    rows
}

/// Notes a line that is refused.
pub fn reject(written: &mut Written, line: u64, refusal: Refusal) {
    written.rejected_count += 1;
    if written.rejected.len() < NAMED {
        written.rejected.push(Rejected { line, sqlstate: refusal.sqlstate, message: refusal.message });
    }
}

impl Rows {
    fn add(&mut self, columns: &mut Columns, line: Line<'_>) -> Result<(), Refusal> {
        let start = self.values.len();
        let result = self.fill(columns, line.bytes);
        match result {
            Ok(()) => self.numbers.push(line.number),
            Err(_) => {
                self.values.truncate(start);
                self.nulls.truncate(start);
            }
        }
        result
    }

    fn fill(&mut self, columns: &mut Columns, line: &[u8]) -> Result<(), Refusal> {
        let text = std::str::from_utf8(line)
            .map_err(|error| Fault { reason: Reason::NotUtf8, at: error.valid_up_to() })?;
        let start = self.values.len();
        self.values.resize(start + self.width, Datum::null());
        self.nulls.resize(start + self.width, true);
        let mut number = 0;
        ndjson::members(text, |key, value| {
            let column = columns.find(number, key);
            number += 1;
            let Some(column) = column else { return Ok(()) };
            let column = columns.column(column);
            let place = start + column.place;
            // Of a key that comes twice the last counts.
            self.nulls[place] = value == Value::Null;
            if value != Value::Null {
                self.values[place] = match column.kind.convert(value, &mut self._arena) {
                    Some(datum) => datum,
                    None => column.input.convert(value, &mut self._arena)?,
                };
            }
            Ok(())
        })
    }
}
