//! Sending dead letters once more, and discarding them: rows that were read too often, and lines that were refused.

use std::collections::BTreeMap;

use pg::entry::{Call, sql_function};
use pg::refuse::refuse;
use pgrx::datum::DatumWithOid;
use pgrx::pg_sys::{self, Datum, Oid};
use pgrx::prelude::*;
use queue::dead_letters::Copied;
use queue::definition::{self, Definition, Right};
use queue::door;
use queue::functions::{messages, typed};
use queue::row_text::{self, RowText, with_plain_settings};
use queue::shape::Shape;
use session::authority::{
    Converter, as_table_owner, check_table_owner, rows_as_owner, run_as_owner, value_as_owner,
};
use session::subtransaction::attempted;

use crate as ingest;
use crate::blame::Refusal;
use crate::{Keep, Target};

sql_function!(
    /// `queue.redrive(queue_name, qty, line_column, rest_column)`
    howdah_queue_redrive,
    |call| {
        let queue = definition::find(call.need_text(0, "queue_name"));
        queue.check(Right::Manage);
        let shape = queue.shape();
        let target = Target::queue(&queue.name, keep(call));
        let letters = exhume(Some(&queue), None, call.get(1));
        if letters.is_empty() {
            return Datum::from(0i64);
        }
        let converter = queue.row_type.map_or(Converter::CurrentUser, Converter::of);
        let mut sorted = Sorted::default();
        send_rows(&queue, shape.as_ref(), &converter, &letters, &mut sorted);
        let lines = lines_of(&letters);
        if !lines.is_empty() {
            target.check();
        }
        for (listener, lines) in lines {
            sorted.add(&lines, |text| converter.run(|| ingest::write_again(&target, text, listener)));
        }
        sorted.settle()
    }
);

sql_function!(
    /// `queue.redrive(into_table, qty, line_column, rest_column)`
    howdah_queue_redrive_into_table,
    |call| {
        let table: Oid = call.need(0, "into_table");
        check_table_owner(table);
        let target = Target::table(table, keep(call));
        let letters = exhume(None, Some(table), call.get(1));
        let mut sorted = Sorted::default();
        for (listener, lines) in lines_of(&letters) {
            sorted.add(&lines, |text| {
                as_table_owner(table, || {
                    target.check();
                    ingest::write_again(&target, text, listener)
                })
            });
        }
        sorted.settle()
    }
);

/// The columns that keep lines, as redrive is told.
fn keep(call: Call) -> Keep {
    Keep { line: call.text(2).map(str::to_owned), rest: call.text(3).map(str::to_owned) }
}

/// A dead letter that is locked.
struct Letter {
    /// Where it is.
    place: String,
    content: messages::Content,
    /// The listener where it arrived, and the line as it was.
    line: Option<(i32, Vec<u8>)>,
    text: Option<RowText>,
}

/// Letters of a queue or table, all or the oldest.
fn exhume(queue: Option<&Definition>, table: Option<Oid>, most: Option<i32>) -> Vec<Letter> {
    let statement = "select place, message, headers, line, listener, column_names, column_values
                     from queue.exhume($1, $2, $3)";
    let number = queue.map(|queue| queue.id as i32);
    let arguments = [number.into(), table.into(), most.unwrap_or(i32::MAX).into()];
    rows_as_owner(statement, &arguments, |row| {
        let copied = |place: usize| row.get::<Copied>(place).ok().flatten().map(|value| value.0);
        let listener = row.get::<i32>(5).ok().flatten();
        let line = row.get::<Vec<u8>>(4).ok().flatten();
        let text = copied(6).zip(copied(7)).map(|(names, values)| RowText { names, values });
        Some(Letter {
            place: row.get::<String>(1).ok()??,
            content: (copied(2), copied(3)),
            line: listener.zip(line),
            text,
        })
    })
}

/// Sends what has been a row or message before; what is no row of the type any more stays.
fn send_rows(
    queue: &Definition,
    shape: Option<&Shape>,
    converter: &Converter,
    letters: &[Letter],
    sorted: &mut Sorted,
) {
    let letters = letters.iter().filter(|letter| letter.line.is_none());
    let (Some(row_type), Some(shape)) = (queue.row_type, shape) else {
        let mut contents = Vec::new();
        for letter in letters {
            let (message, headers) = letter.content;
            let values = [message, headers].into_iter().flatten().map(|json| (json, pg_sys::JSONBOID));
            // SAFETY: both are jsonb.
            match attempted(|| unsafe { door::measure(values) }) {
                Ok(()) => {
                    contents.push(letter.content);
                    sorted.sent.push(letter.place.clone());
                }
                Err(why) => sorted.keep(letter.place.clone(), Refusal::from(why)),
            }
        }
        messages::send(queue, &contents, 0);
        return;
    };
    let mut rows = Vec::new();
    for letter in letters {
        // SAFETY: the texts of a row, and a composite type.
        let revived = attempted(|| unsafe {
            let Some(text) = letter.text else {
                refuse(PgSqlErrorCode::ERRCODE_FEATURE_NOT_SUPPORTED, "nothing but its JSON was kept");
            };
            let row = converter.run(|| with_plain_settings(|| row_text::read(text, row_type)));
            door::measure(std::iter::once((row, row_type)));
            row
        });
        match revived {
            Ok(row) => {
                rows.push(row);
                sorted.sent.push(letter.place.clone());
            }
            Err(why) => sorted.keep(letter.place.clone(), Refusal::from(why)),
        }
    }
    shape.check();
    typed::put(queue, &rows);
}

/// Lines that were refused, with the places of their letters, by the listener where they arrived.
fn lines_of(letters: &[Letter]) -> BTreeMap<i32, Vec<(&str, &[u8])>> {
    let mut lines = BTreeMap::<i32, Vec<(&str, &[u8])>>::new();
    for letter in letters {
        if let Some((listener, line)) = &letter.line {
            lines.entry(*listener).or_default().push((&letter.place, line));
        }
    }
    lines
}

/// Letters that were sent, and those that stay.
#[derive(Default)]
struct Sorted {
    sent: Vec<String>,
    kept: Vec<String>,
    sqlstates: Vec<String>,
    errors: Vec<String>,
}

impl Sorted {
    fn keep(&mut self, place: String, why: Refusal) {
        self.kept.push(place);
        self.sqlstates.push(String::from_utf8_lossy(&why.sqlstate).into_owned());
        self.errors.push(why.message);
    }

    /// Writes lines, which says what was refused.
    fn add(&mut self, lines: &[(&str, &[u8])], write: impl FnOnce(&[u8]) -> Vec<(u64, Refusal)>) {
        let text = lines.iter().map(|(_, line)| *line).collect::<Vec<_>>().join(&b'\n');
        let mut refused: BTreeMap<u64, Refusal> = write(&text).into_iter().collect();
        for (number, (place, _)) in lines.iter().enumerate() {
            match refused.remove(&(number as u64)) {
                Some(why) => self.keep((*place).to_owned(), why),
                None => self.sent.push((*place).to_owned()),
            }
        }
    }

    /// Removes the letters that were sent; how many.
    fn settle(self) -> Datum {
        let count = self.sent.len() as i64;
        let arguments = [self.sent.into(), self.kept.into(), self.sqlstates.into(), self.errors.into()];
        run_as_owner("select queue.settle($1, $2, $3, $4)", &arguments);
        Datum::from(count)
    }
}

sql_function!(
    /// `queue.discard_dead_letters(queue_name, before)`
    howdah_queue_discard_dead_letters,
    |call| {
        let queue = definition::find(call.need_text(0, "queue_name"));
        queue.check(Right::Manage);
        discard(call, Some(queue.id as i32), None)
    }
);

sql_function!(
    /// `queue.discard_dead_letters(into_table, before)`
    howdah_queue_discard_dead_letters_of_table,
    |call| {
        let table: Oid = call.need(0, "into_table");
        check_table_owner(table);
        discard(call, None, Some(table))
    }
);

/// Removes letters of a queue or table, all or those that were buried before a time; how many.
fn discard(call: Call, queue: Option<i32>, table: Option<Oid>) -> Datum {
    let before = match call.argument(1) {
        // SAFETY: a timestamptz.
        Some(before) => unsafe { DatumWithOid::new(before, pg_sys::TIMESTAMPTZOID) },
        None => DatumWithOid::null_oid(pg_sys::TIMESTAMPTZOID),
    };
    let arguments = [queue.into(), table.into(), before];
    Datum::from(value_as_owner::<i64>("select queue.discard($1, $2, $3)", &arguments).unwrap_or_default())
}
