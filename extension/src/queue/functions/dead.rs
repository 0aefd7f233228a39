//! Dead letters: rows that were read too often, and lines that were refused.

use std::collections::BTreeMap;

use pgrx::datum::DatumWithOid;
use pgrx::pg_sys::{self, Datum, Oid};
use pgrx::prelude::*;

use super::messages;
use crate::authority::{
    Converter, as_table_owner, check_table_owner, rows_as_owner, run_as_owner, value_as_owner, with_path,
};
use crate::entry::{Call, sql_function};
use crate::guard::{PgError, unwind};
use crate::ingest::blame::Refusal;
use crate::ingest::{self, Keep, Target};
use crate::pg::refuse::refuse;
use crate::queue::claim::Chosen;
use crate::queue::definition::{self, Definition, Right};
use crate::queue::door::{self, LARGEST, refuse_large};
use crate::queue::row_text::{self, RowText, with_plain_settings};
use crate::queue::scratch;
use crate::queue::shape::Shape;
use crate::queue::unfolded::{Form, Room};
use crate::request::identity::SAFE_PATH;
use crate::subtransaction::in_subtransaction;
use crate::worker::watch;

/// Bytes that a row may have as JSON, and those of a message as text that is worth a warning.
const SHOWN: usize = 8 << 20;
/// Bytes that are kept of a row if there is room for no more.
const BEGINNING: usize = 8 << 10;

/// Puts a row among the dead letters. The caller has consumed it. It is kept as texts, which come back as the row, and beside
/// them as JSON for whoever looks; if jsonb cannot hold it, as a line. A row that is too large for that is kept as the bytes that
/// it is, and what is small of it as JSON: whatever it is, those behind it go on. Nothing of users' is called.
pub fn bury(queue: &Definition, chosen: &Chosen, row: Datum) {
    let letter = || insert(queue, chosen, with_path(SAFE_PATH, || with_plain_settings(|| kept(row))));
    // As texts it may be small enough, and be no letter with all that is kept beside them.
    if let Err(why) = attempted(letter) {
        insert(
            queue,
            chosen,
            Kept { line: Some(bytes_of(row, BEGINNING)), why: Some(why), ..Kept::default() },
        );
    }
}

fn kept(row: Datum) -> Kept {
    // SAFETY: a composite value.
    let text = attempted(|| unsafe { row_text::written(row, LARGEST) }.unwrap_or_else(|| refuse_large()));
    // SAFETY: as above.
    let plain = || unsafe { row_text::plain_row(row, SHOWN) };
    let json = attempted(|| of_row::<Copied>("select pg_catalog.to_jsonb($1)", plain()));
    let line =
        || attempted(|| of_row::<String>("select pg_catalog.row_to_json($1)::pg_catalog.text", plain()));
    match (text, json) {
        (Ok(text), Ok(json)) => Kept { text: Some(text), json: Some(json), ..Kept::default() },
        (Err(why), json) => {
            Kept { line: Some(bytes_of(row, LARGEST)), json: json.ok(), why: Some(why), ..Kept::default() }
        }
        (Ok(text), Err(why)) => {
            let line = line().map_or_else(|_| bytes_of(row, LARGEST), |line| Bytes::all(line.into_bytes()));
            Kept { text: Some(text), line: Some(line), why: Some(why), ..Kept::default() }
        }
    }
}

/// Puts a message among the dead letters. The caller has consumed it.
pub fn bury_message(queue: &Definition, chosen: &Chosen, message: Option<Datum>, headers: Option<Datum>) {
    let json = |datum: Option<Datum>| datum.map(Copied);
    // SAFETY: both are jsonb.
    let is_long = |datum: Datum| unsafe { !Room::new(SHOWN, Form::Text).has(datum, pg_sys::JSONBOID) };
    let is_long = [message, headers].into_iter().flatten().any(is_long);
    insert(queue, chosen, Kept { json: json(message), headers: json(headers), is_long, ..Kept::default() });
}

/// What is kept of a row or message.
#[derive(Default)]
struct Kept {
    /// The message, or the row, as jsonb.
    json: Option<Copied>,
    headers: Option<Copied>,
    text: Option<RowText>,
    /// What stands in the place of JSON, and why there is none.
    line: Option<Bytes>,
    why: Option<PgError>,
    /// Whether the JSON is long as a text: whoever looks at all letters should know before.
    is_long: bool,
}

/// Bytes, or the first of them.
struct Bytes {
    kept: Vec<u8>,
    /// How many there are.
    length: usize,
}

impl Bytes {
    fn all(kept: Vec<u8>) -> Bytes {
        Bytes { length: kept.len(), kept }
    }
}

/// What a query makes of a row.
fn of_row<T: FromDatum + IntoDatum>(query: &str, row: Datum) -> T {
    // SAFETY: the row is of an anonymous composite type.
    let argument = unsafe { DatumWithOid::new(row, pg_sys::RECORDOID) };
    match Spi::get_one_with_args::<T>(query, &[argument]) {
        Ok(Some(value)) => value,
        Ok(None) => error!("a row became null"),
        Err(error) => error!("{error}"),
    }
}

/// Runs `work` in a subtransaction. What comes of others, of the server or of a cancel is raised; that `work` has taken more
/// memory than a request may is its own fault, and the memory is free again.
pub fn attempted<T>(work: impl FnOnce() -> T) -> Result<T, PgError> {
    // SAFETY: what is called raises through pgrx's guards. The memory is a child of the caller's: what `work` returns lives as long.
    unsafe {
        let outer = pg_sys::CurrentMemoryContext;
        let memory = scratch::new_in(outer);
        pg_sys::MemoryContextSwitchTo(memory);
        let result = in_subtransaction(|| {
            let value = work();
            // What is asked for meanwhile is of this work.
            pgrx::check_for_interrupts!();
            value
        });
        pg_sys::MemoryContextSwitchTo(outer);
        result.map_err(|error| {
            pg_sys::MemoryContextDelete(memory);
            let excess = watch::out_of_memory(&error);
            let is_void = watch::recover();
            match excess {
                Some(excess) if is_void => excess,
                _ if is_of_others(&error) => unwind(error),
                _ => error,
            }
        })
    }
}

/// Whether an error may be gone when the same is tried again: it is no row's fault.
fn is_of_others(error: &PgError) -> bool {
    ["40", "53", "57", "58"].contains(&&error.sqlstate()[..2]) || error.sqlstate() == "55P03"
}

/// The bytes of a row, so many at most.
fn bytes_of(row: Datum, most: usize) -> Bytes {
    // SAFETY: a composite value is a varlena.
    let bytes = unsafe { pgrx::varlena_to_byte_slice(pg_sys::pg_detoast_datum(row.cast_mut_ptr())) };
    Bytes { kept: bytes[..bytes.len().min(most)].to_vec(), length: bytes.len() }
}

fn insert(queue: &Definition, chosen: &Chosen, kept: Kept) {
    let refusal = kept.why.map(Refusal::from);
    let sqlstate = refusal.as_ref().map(|why| String::from_utf8_lossy(&why.sqlstate).into_owned());
    let mut error = format!("read {} times", chosen.reads);
    match refusal {
        Some(why) if kept.text.is_some() => error += &format!("; it is not JSON: {}", why.message),
        Some(why) => error += &format!("; it is not kept whole: {}", why.message),
        None if kept.is_long => error += &format!("; its JSON has more than {} MB as text", SHOWN >> 20),
        None => {}
    }
    let [json, headers] =
        [kept.json, kept.headers].map(|value| typed(value.map(|value| value.0), pg_sys::JSONBOID));
    let [names, values] = [kept.text.map(|text| text.names), kept.text.map(|text| text.values)]
        .map(|value| typed(value, pg_sys::TEXTARRAYOID));
    let length = kept.line.as_ref().map(|line| line.length as i32);
    let arguments: [DatumWithOid<'_>; 12] = [
        (queue.id as i32).into(),
        (chosen.position as i64).into(),
        chosen.reads.into(),
        typed(Some(Datum::from(chosen.sent_at)), pg_sys::TIMESTAMPTZOID),
        sqlstate.into(),
        error.into(),
        json,
        headers,
        kept.line.map(|line| line.kept).into(),
        length.into(),
        names,
        values,
    ];
    run_as_owner(
        "insert into queue.dead_letter (
           queue, msg_id, read_ct, enqueued_at, sqlstate, error, message, headers, line, line_length, column_names, column_values)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)",
        &arguments,
    );
}

/// A parameter of a type.
fn typed<'a>(value: Option<Datum>, of_type: Oid) -> DatumWithOid<'a> {
    match value {
        // SAFETY: the callers' values are of the types that they name.
        Some(value) => unsafe { DatumWithOid::new(value, of_type) },
        None => DatumWithOid::null_oid(of_type),
    }
}

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
    super::typed::put(queue, &rows);
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

/// A value that is copied out of the memory of a query: a varlena of any type.
#[derive(Clone, Copy)]
struct Copied(Datum);

impl FromDatum for Copied {
    unsafe fn from_polymorphic_datum(datum: Datum, is_null: bool, _type: Oid) -> Option<Self> {
        (!is_null).then_some(Copied(datum))
    }

    unsafe fn from_datum_in_memory_context(
        mut context: pgrx::PgMemoryContexts,
        datum: Datum,
        is_null: bool,
        _type: Oid,
    ) -> Option<Self> {
        if is_null {
            return None;
        }
        // SAFETY: a varlena.
        unsafe {
            let copy = context.switch_to(|_| pg_sys::pg_detoast_datum_copy(datum.cast_mut_ptr()));
            Some(Copied(Datum::from(copy)))
        }
    }
}

impl IntoDatum for Copied {
    fn into_datum(self) -> Option<Datum> {
        Some(self.0)
    }

    fn type_oid() -> Oid {
        pg_sys::JSONBOID
    }

    fn is_compatible_with(_other: Oid) -> bool {
        true
    }
}
