//! Dead letters: rows that were read too often, and lines that were refused.

use std::collections::BTreeMap;

use pgrx::datum::{DatumWithOid, JsonB};
use pgrx::pg_sys::{self, Datum, Oid};
use pgrx::prelude::*;

use super::{messages, typed};
use crate::authority::{as_role, check_table_owner, rows_as_owner, run_as_owner, runner_of, value_as_owner};
use crate::entry::{Call, sql_function};
use crate::guard::PgError;
use crate::ingest::blame::{Refusal, raise};
use crate::ingest::{self, Bucket, Keep, Target};
use crate::queue::claim::Chosen;
use crate::queue::definition::{self, Definition, Right};
use crate::request::identity::SAFE_PATH;
use crate::subtransaction::in_subtransaction;

/// Puts a row among the dead letters. The caller has consumed it. It is kept as JSON; a row that jsonb cannot hold, or that a cast
/// of its type's owner refuses, as text, or in the end as the bytes that it is: whatever it is, those behind it go on.
pub fn bury(queue: &Definition, chosen: &Chosen, value: Datum, value_type: Oid) {
    let why = match converted::<JsonB>("select pg_catalog.to_jsonb($1)", value, value_type) {
        Ok(row) => return insert(queue, chosen, row, None),
        Err(why) => why,
    };
    let text = ["select pg_catalog.row_to_json($1)::pg_catalog.text", "select $1::pg_catalog.text"]
        .into_iter()
        .find_map(|query| converted::<String>(query, value, value_type).ok().flatten());
    // SAFETY: a composite value is a varlena.
    let bytes =
        || unsafe { Vec::from(pgrx::varlena_to_byte_slice(pg_sys::pg_detoast_datum(value.cast_mut_ptr()))) };
    insert_as_line(queue, chosen, text.map_or_else(bytes, String::into_bytes), &Refusal::from(why));
}

/// What a query makes of a row; the error, if it is the row's.
fn converted<T: FromDatum + IntoDatum>(
    query: &str,
    value: Datum,
    value_type: Oid,
) -> Result<Option<T>, PgError> {
    // SAFETY: the value is of the type; what is called raises through pgrx's guards.
    let result = unsafe {
        let argument = DatumWithOid::new(value, value_type);
        in_subtransaction(|| as_type_owner(value_type, || Spi::get_one_with_args::<T>(query, &[argument])))
    };
    match result {
        // A cast of somebody's may fail as it likes. What comes of others, of the server or of a cancel passes.
        Err(error)
            if ["40", "53", "55", "57", "58"].iter().any(|class| error.sqlstate().starts_with(class)) =>
        {
            raise(error)
        }
        result => result,
    }
}

/// Puts a message among the dead letters. The caller has consumed it.
pub fn bury_message(queue: &Definition, chosen: &Chosen, message: Option<Datum>, headers: Option<Datum>) {
    // SAFETY: both are of type jsonb.
    let [message, headers] =
        [message, headers].map(|datum| datum.and_then(|datum| unsafe { JsonB::from_datum(datum, false) }));
    insert(queue, chosen, message, headers);
}

fn insert(queue: &Definition, chosen: &Chosen, row: Option<JsonB>, headers: Option<JsonB>) {
    let arguments: [DatumWithOid<'_>; 6] = [
        (queue.id as i32).into(),
        (chosen.position as i64).into(),
        chosen.reads.into(),
        row.into(),
        headers.into(),
        // SAFETY: a timestamptz.
        unsafe { DatumWithOid::new(Datum::from(chosen.sent_at), pg_sys::TIMESTAMPTZOID) },
    ];
    run_as_owner(
        "insert into queue.dead_letter (queue, msg_id, read_ct, message, headers, enqueued_at, error)
         values ($1, $2, $3, $4, $5, $6, 'read ' || $3 || ' times')",
        &arguments,
    );
}

fn insert_as_line(queue: &Definition, chosen: &Chosen, line: Vec<u8>, why: &Refusal) {
    let sqlstate = String::from_utf8_lossy(&why.sqlstate).into_owned();
    let arguments: [DatumWithOid<'_>; 8] = [
        (queue.id as i32).into(),
        (chosen.position as i64).into(),
        chosen.reads.into(),
        (line.len() as i32).into(),
        line.into(),
        // SAFETY: a timestamptz.
        unsafe { DatumWithOid::new(Datum::from(chosen.sent_at), pg_sys::TIMESTAMPTZOID) },
        sqlstate.into(),
        format!("read {} times; it is not JSON: {}", chosen.reads, why.message).into(),
    ];
    run_as_owner(
        "insert into queue.dead_letter (queue, msg_id, read_ct, line_length, line, enqueued_at, sqlstate, error)
         values ($1, $2, $3, $4, $5, $6, $7, $8)",
        &arguments,
    );
}

sql_function!(
    /// `queue.redrive(queue_name, qty, line_column, rest_column)`
    howdah_queue_redrive,
    |call| {
        let queue = definition::find(call.need_text(0, "queue_name"));
        queue.check(Right::Manage);
        queue.hold_row_type();
        let (letters, lines) = exhume(Some(&queue), None, call.get(1));
        match queue.row_type {
            None => messages::send(&queue, &letters, 0),
            Some(row_type) => {
                let rows: Vec<Datum> = letters.iter().filter_map(|(row, _)| revive(*row, row_type)).collect();
                typed::put(&queue, &rows)
            }
        };
        let target = Target::queue(&queue.name, Keep { line: call.text(2).map(str::to_owned), rest: call.text(3).map(str::to_owned) });
        Datum::from(letters.len() as i64 + send_lines(&target, &lines))
    }
);

sql_function!(
    /// `queue.redrive(into_table, qty, line_column, rest_column)`
    howdah_queue_redrive_into_table,
    |call| {
        let table: Oid = call.need(0, "into_table");
        check_table_owner(table);
        let (_, lines) = exhume(None, Some(table), call.get(1));
        let target = Target::table(table, Keep { line: call.text(2).map(str::to_owned), rest: call.text(3).map(str::to_owned) });
        Datum::from(send_lines(&target, &lines))
    }
);

/// Lines that were refused, by the listener where they arrived.
type Lines = BTreeMap<i32, Vec<Vec<u8>>>;

/// Takes letters of a queue or table, all or the oldest, from the dead: rows, and lines.
fn exhume(
    queue: Option<&Definition>,
    table: Option<Oid>,
    most: Option<i32>,
) -> (Vec<messages::Content>, Lines) {
    let statement = "select message, headers, line, listener from queue.exhume($1, $2, $3)";
    let number = queue.map(|queue| queue.id as i32);
    let arguments = [number.into(), table.into(), most.unwrap_or(i32::MAX).into()];
    let exhumed = rows_as_owner(statement, &arguments, |row| {
        let json = |place: usize| row.get::<JsonB>(place).ok().flatten().and_then(JsonB::into_datum);
        let line = row.get::<Vec<u8>>(3).ok().flatten();
        let listener = row.get::<i32>(4).ok().flatten().unwrap_or_default();
        Some(((json(1), json(2)), line.map(|line| (listener, line))))
    });
    let (mut letters, mut lines) = (Vec::new(), Lines::new());
    for (content, line) in exhumed {
        match line {
            Some((listener, line)) => lines.entry(listener).or_default().push(line),
            None => letters.push(content),
        }
    }
    (letters, lines)
}

/// Sends lines that were refused before; how many are rows now. The others are dead letters again, of the same listener.
fn send_lines(target: &Target, lines: &Lines) -> i64 {
    let mut stored = 0;
    for (listener, lines) in lines {
        let lines = lines.join(&b'\n');
        let bucket =
            Bucket { lines: &lines, origin: None, listener: *listener, cut: &[], longest: usize::MAX };
        stored += ingest::write(target, &bucket).stored as i64;
    }
    stored
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

/// A row of the type from its JSON.
fn revive(row: Option<Datum>, row_type: Oid) -> Option<Datum> {
    // SAFETY: a null of the type, and a jsonb.
    let arguments = unsafe { [DatumWithOid::null_oid(row_type), DatumWithOid::new(row, pg_sys::JSONBOID)] };
    // The row is copied out of the memory of the query, as it is used after.
    let row = as_type_owner(row_type, || {
        Spi::get_one_with_args::<AnyRow>("select pg_catalog.jsonb_populate_record($1, $2)", &arguments)
    });
    row.map(|row| row.0)
}

/// Casts to json, domains and ranges in a row type may call functions of somebody's. They run as the owner of the type, who has
/// chosen them, or as howdah_web: neither as the owner of the extension nor as whoever reads the queue or manages it.
fn as_type_owner<T>(row_type: Oid, work: impl FnOnce() -> Result<T, pgrx::spi::Error>) -> T {
    match as_role(runner_of(row_type), SAFE_PATH, work) {
        Ok(value) => value,
        Err(error) => error!("{error}"),
    }
}

/// A composite value of any type.
struct AnyRow(Datum);

impl FromDatum for AnyRow {
    unsafe fn from_polymorphic_datum(datum: Datum, is_null: bool, _type: Oid) -> Option<Self> {
        (!is_null).then_some(AnyRow(datum))
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
        // SAFETY: a composite value, which is a varlena.
        unsafe {
            let copy = context.switch_to(|_| pg_sys::pg_detoast_datum_copy(datum.cast_mut_ptr()));
            Some(AnyRow(Datum::from(copy)))
        }
    }
}

impl IntoDatum for AnyRow {
    fn into_datum(self) -> Option<Datum> {
        Some(self.0)
    }

    fn type_oid() -> Oid {
        pg_sys::RECORDOID
    }

    fn is_compatible_with(_other: Oid) -> bool {
        true
    }
}
