//! Storing rows that were read too often as dead letters.

use pg::guard::PgError;
use pgrx::datum::DatumWithOid;
use pgrx::pg_sys::{self, Datum, Oid};
use pgrx::prelude::*;
use session::authority::{run_as_owner, with_path};
use session::settings_in_force::SAFE_PATH;
use session::subtransaction::attempted;

use super::claimed_rows::Chosen;
use super::definition::Definition;
use super::door::{LARGEST, refuse_large};
use super::row_text::{self, RowText, with_plain_settings};
use super::unfolded::{Form, Room};

/// Bytes that a row may have as JSON, and those of a message as text that is worth a warning.
const SHOWN: usize = 8 << 20;
/// Bytes that are kept of an error's message.
const LONGEST_MESSAGE: usize = 1000;
/// Bytes that are kept of a row if there is room for no more.
const BEGINNING: usize = 8 << 10;

/// Puts a row among the dead letters. The caller has consumed it. It is kept as texts, which come back as the row, and beside
/// them as JSON for whoever looks; if jsonb cannot hold it, as a line. A row that is too large for that is kept as the bytes that
/// it is, and what is small of it as JSON: whatever it is, those behind it go on. Nothing of users' is called.
pub(crate) fn bury(queue: &Definition, chosen: &Chosen, row: Datum) {
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
pub(crate) fn bury_message(
    queue: &Definition,
    chosen: &Chosen,
    message: Option<Datum>,
    headers: Option<Datum>,
) {
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

/// The bytes of a row, so many at most.
fn bytes_of(row: Datum, most: usize) -> Bytes {
    // SAFETY: a composite value is a varlena.
    let bytes = unsafe { pgrx::varlena_to_byte_slice(pg_sys::pg_detoast_datum(row.cast_mut_ptr())) };
    Bytes { kept: bytes[..bytes.len().min(most)].to_vec(), length: bytes.len() }
}

fn insert(queue: &Definition, chosen: &Chosen, kept: Kept) {
    let sqlstate = kept.why.as_ref().map(|why| why.sqlstate().to_owned());
    let mut error = format!("read {} times", chosen.reads);
    match kept.why.as_ref().map(|why| why.in_short(LONGEST_MESSAGE)) {
        Some(why) if kept.text.is_some() => error += &format!("; it is not JSON: {why}"),
        Some(why) => error += &format!("; it is not kept whole: {why}"),
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

/// A value that is copied out of the memory of a query: a varlena of any type.
#[derive(Clone, Copy)]
pub struct Copied(pub Datum);

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
