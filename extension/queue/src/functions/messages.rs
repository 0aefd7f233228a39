//! Functions of queues of messages, with pgmq's names and meaning.

use std::rc::Rc;

use claims::{FOR_GOOD, times};
use pg::entry::{Call, Returned, sql_function};
use pg::guard::direct;
use pg::refuse::refuse;
use pg::scratch::Scratch;
use pgrx::pg_sys::{self, Datum, HeapTuple};
use pgrx::prelude::*;
use session::authority::{run_as_owner, table_name};

use super::settled::{Found, named, remove, settled_queue};
use super::typed::{positions, quantity};
use crate::claim::{Search, claim};
use crate::claimed_rows::{Chosen, Fate, Haul, Wanted};
use crate::definition::{self, Definition, Right};
use crate::opened::Opened;
use crate::{append, archive, dead_letters, rows, settle, tidy, wake};

/// Microseconds of a second.
const SECOND: i64 = 1_000_000;
/// Between two looks for messages that match a condition, as long as no commit brings any.
const UNTOLD_PAUSE_MS: i64 = 1000;

/// A message and its headers.
pub type Content = (Option<Datum>, Option<Datum>);

sql_function!(
    /// `queue.send(queue_name, msg, …)`: headers and delay are known by their types.
    howdah_queue_send,
    |call| {
        let queue = sendable(call);
        let (headers, until) = (options(call).find_map(headers_of), delay(call, &queue));
        let span = send(&queue, &[(call.argument(1), headers.and_then(|place| call.argument(place)))], until);
        Datum::from(span.first as i64)
    }
);

sql_function!(
    /// `queue.send_batch(queue_name, msgs, …)`: headers and delay are known by their types.
    howdah_queue_send_batch,
    |call| {
        let queue = sendable(call);
        let messages = call.argument(1).map(elements).unwrap_or_default();
        if messages.is_empty() {
            refuse(PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE, "msgs cannot be NULL or empty");
        }
        let headers = options(call).find_map(headers_of).and_then(|place| call.argument(place));
        let headers = headers.map(elements);
        if let Some(headers) = headers.as_ref().filter(|headers| headers.len() != messages.len()) {
            refuse(
                PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE,
                &format!(
                    "headers array length ({}) must match msgs array length ({})",
                    headers.len(),
                    messages.len()
                ),
            );
        }
        let header = |place: usize| headers.as_ref().and_then(|headers| headers[place]);
        let contents: Vec<Content> =
            messages.iter().enumerate().map(|(place, message)| (*message, header(place))).collect();
        let span = send(&queue, &contents, delay(call, &queue));
        let returned = Returned::numbers(call);
        for position in span.first..span.end {
            // SAFETY: the function returns a set of bigint.
            unsafe { returned.add_values(&mut [Some(Datum::from(position as i64))]) };
        }
        returned.done()
    }
);

fn sendable(call: Call) -> Rc<Definition> {
    let queue = definition::find(call.need_text(0, "queue_name"));
    queue.check(Right::Send);
    queue.messages("queue.put(name, row)");
    queue
}

/// The arguments after the message, with their types.
fn options(call: Call) -> impl Iterator<Item = (usize, pg_sys::Oid)> {
    (2..call.count()).map(move |place| (place, call.type_of(place)))
}

fn headers_of((place, kind): (usize, pg_sys::Oid)) -> Option<usize> {
    (kind == pg_sys::JSONBOID || kind == pg_sys::JSONBARRAYOID).then_some(place)
}

/// Until when messages wait; 0 if they do not. `infinity` is for ever.
fn delay(call: Call, queue: &Definition) -> i64 {
    let until = options(call).find_map(|(place, kind)| match kind {
        pg_sys::INT4OID => Some(queue.time() + i64::from(call.need::<i32>(place, "delay")) * SECOND),
        pg_sys::TIMESTAMPTZOID => match call.argument(place) {
            Some(datum) => Some(datum.value() as i64),
            None => refuse(PgSqlErrorCode::ERRCODE_NULL_VALUE_NOT_ALLOWED, "argument delay must not be null"),
        },
        _ => None,
    });
    until.filter(|until| *until > queue.time()).map_or(0, times::within)
}

fn elements(array: Datum) -> Vec<Option<Datum>> {
    // SAFETY: an array of jsonb, which is a varlena aligned to int.
    unsafe {
        let array: *mut pg_sys::ArrayType = pg_sys::pg_detoast_datum(array.cast_mut_ptr()).cast();
        let (mut values, mut nulls, mut count) = (std::ptr::null_mut(), std::ptr::null_mut(), 0);
        let align = pg_sys::TYPALIGN_INT as std::ffi::c_char;
        pg_sys::deconstruct_array(
            array,
            pg_sys::JSONBOID,
            -1,
            false,
            align,
            &mut values,
            &mut nulls,
            &mut count,
        );
        (0..count as usize).map(|place| (!*nulls.add(place)).then(|| *values.add(place))).collect()
    }
}

/// Sends messages, which wait until `until`.
pub fn send(queue: &Definition, contents: &[Content], until: i64) -> claims::Span {
    append::write(queue, contents.len(), until, None, &mut |table, place, position| {
        let (message, headers) = contents[place];
        form(table, position, message, headers)
    })
}

/// The tuple of a message.
pub fn form(table: &Opened, position: u64, message: Option<Datum>, headers: Option<Datum>) -> HeapTuple {
    let mut values =
        [Datum::from(position as i64), message.unwrap_or(Datum::null()), headers.unwrap_or(Datum::null())];
    let mut nulls = [false, message.is_none(), headers.is_none()];
    // SAFETY: the table of a queue of messages has these columns.
    unsafe { pg_sys::heap_form_tuple((***table).rd_att, values.as_mut_ptr(), nulls.as_mut_ptr()) }
}

sql_function!(
    /// `queue.read(queue_name, vt, qty, conditional)`
    howdah_queue_read,
    |call| {
        let queue = takable(call, "queue.read(name, qty, vt, null::row_type)");
        let returned = Returned::declared(call);
        read(call, &queue, 3, &returned);
        tidy::tidy_sometimes(&queue);
        returned.done()
    }
);

sql_function!(
    /// `queue.read_with_poll(queue_name, vt, qty, max_poll_seconds, poll_interval_ms, conditional)`
    howdah_queue_read_with_poll,
    |call| {
        let queue = takable(call, "queue.read_with_poll(name, qty, vt, max_poll, null::row_type)");
        let returned = Returned::declared(call);
        let patience = i64::from(call.need::<i32>(3, "max_poll_seconds")) * SECOND;
        // Messages may be free and not match: then their times say nothing.
        let pause = if condition(call, 5).is_some() { UNTOLD_PAUSE_MS } else { 1 };
        wake::look_for(&queue, patience, pause, || read(call, &queue, 5, &returned) > 0);
        tidy::tidy_sometimes(&queue);
        returned.done()
    }
);

fn takable(call: Call, instead: &str) -> Rc<Definition> {
    let queue = settled_queue(call);
    queue.messages(instead);
    queue
}

/// Leases messages, as the arguments say; returns how many were found. `conditional` is the place of the condition.
fn read(call: Call, queue: &Definition, conditional: usize, returned: &Returned) -> usize {
    let time = i64::from(call.need::<i32>(1, "vt")) * SECOND;
    let count = quantity(call, 2);
    let fate = Fate::Leased(time, queue.max_reads);
    let mut hand_out = |haul: &Haul| hand_out(queue, haul, returned);
    match condition(call, conditional) {
        None => claim(queue, Wanted { count, fate }, hand_out),
        Some(condition) => claim_matching(queue, Wanted { count, fate }, condition, &mut hand_out),
    }
}

/// What messages are to contain.
fn condition(call: Call, place: usize) -> Option<Datum> {
    call.argument(place).filter(|condition| !is_empty_object(*condition))
}

fn is_empty_object(json: Datum) -> bool {
    // SAFETY: a jsonb; its container begins with its count of elements.
    unsafe {
        let json = pg_sys::pg_detoast_datum(json.cast_mut_ptr()).cast::<pg_sys::Jsonb>();
        (*json).root.header & pg_sys::JB_CMASK == 0 && (*json).root.header & pg_sys::JB_FOBJECT != 0
    }
}

/// Claims messages that contain the condition: free ones are looked at, then claimed if they are free still. Returns how many
/// are not dead.
fn claim_matching(
    queue: &Definition,
    wanted: Wanted,
    condition: Datum,
    hand_out: &mut dyn FnMut(&Haul),
) -> usize {
    let mut search = Search::new(queue, Fate::Shown);
    let mut live = 0;
    while live < wanted.count
        && let Some(shown) = search.slice(usize::MAX)
    {
        let mut matching = shown.iter().flat_map(|haul| matching(haul, condition)).peekable();
        while live < wanted.count && matching.peek().is_some() {
            let some: Vec<u64> = matching.by_ref().take(wanted.count - live).collect();
            for haul in settle::claim_free(queue, &some, wanted.fate) {
                live += haul.live;
                hand_out(&haul);
            }
        }
        queue.memory().give_way();
    }
    live
}

/// The positions of those messages that contain the condition.
fn matching(haul: &Haul, condition: Datum) -> Vec<u64> {
    let mut matching = Vec::new();
    each_message(haul, |row, (message, _)| {
        if message.is_some_and(|message| contains(message, condition)) {
            matching.push(row.position);
        }
    });
    matching
}

fn contains(message: Datum, condition: Datum) -> bool {
    // SAFETY: both are jsonb.
    unsafe {
        let arguments = [Some(message), Some(condition)];
        pgrx::direct_function_call::<bool>(pg_sys::jsonb_contains, &arguments).unwrap_or_default()
    }
}

sql_function!(
    /// `queue.pop(queue_name, qty)`
    howdah_queue_pop,
    |call| {
        let queue = takable(call, "queue.take(name, qty, null::row_type)");
        let returned = Returned::declared(call);
        let wanted = Wanted { count: quantity(call, 1), fate: Fate::Consumed };
        claim(&queue, wanted, |haul| hand_out(&queue, haul, &returned));
        tidy::tidy_sometimes(&queue);
        returned.done()
    }
);

sql_function!(
    /// `queue.peek(queue_name, qty)`
    howdah_queue_peek_messages,
    |call| {
        let queue = definition::find(call.need_text(0, "queue_name"));
        queue.check(Right::Take);
        queue.messages("queue.peek(name, qty, null::row_type)");
        let returned = Returned::declared(call);
        let wanted = Wanted { count: quantity(call, 1), fate: Fate::Shown };
        claim(&queue, wanted, |haul| hand_out(&queue, haul, &returned));
        returned.done()
    }
);

sql_function!(
    /// `queue.set_vt(queue_name, msg_id, vt, read_ct)`, and for arrays
    howdah_queue_set_vt,
    |call| {
        let queue = takable(call, "queue.nack(name, msg_id, delay, read_ct)");
        let until = match call.type_of(2) {
            pg_sys::INT4OID => queue.time() + i64::from(call.need::<i32>(2, "vt")) * SECOND,
            _ => call.argument(2).map_or_else(|| queue.time(), |datum| times::within(datum.value() as i64)),
        };
        let returned = Returned::declared(call);
        settle::settle(&queue, &named(call, 3), until, |haul| hand_out(&queue, haul, &returned));
        tidy::tidy_sometimes(&queue);
        returned.done()
    }
);

sql_function!(
    /// `queue.delete(queue_name, msg_id, read_ct)`, and for arrays
    howdah_queue_delete,
    |call| remove(call, &takable(call, "queue.ack(name, msg_id, read_ct)"))
);

sql_function!(
    /// `queue.archive(queue_name, msg_id, read_ct)`, and for arrays
    howdah_queue_archive,
    |call| {
        let queue = takable(call, "queue.ack(name, msg_id, read_ct)");
        let mut found = Found::new(call);
        settle::settle(&queue, &named(call, 2), FOR_GOOD, |haul| {
            store(&queue, haul);
            found.add(haul);
        });
        tidy::tidy_sometimes(&queue);
        found.answer()
    }
);

/// Hands out the messages of a haul, in the order of their positions. What is allocated for one is freed after it.
fn each_message(haul: &Haul, mut hand_out: impl FnMut(&Chosen, Content)) {
    let scratch = Scratch::here();
    let mut chosen = haul.rows.iter();
    rows::fetch(&haul.segment, &haul.batches, &positions(&haul.rows), |position, tuple| {
        if let Some(row) = chosen.find(|row| row.position == position) {
            scratch.run(|| hand_out(row, content(haul, std::ptr::from_ref(tuple).cast_mut())));
        }
    });
}

fn content(haul: &Haul, tuple: HeapTuple) -> Content {
    let (mut values, mut nulls) = ([Datum::null(); 3], [true; 3]);
    // SAFETY: a row of a table of messages.
    unsafe {
        let descriptor = (**haul.segment.rows).rd_att;
        let whole = if (*(*tuple).t_data).t_infomask & pg_sys::HEAP_HASEXTERNAL as u16 != 0 {
            direct(|| pg::toast_flatten_tuple(tuple, descriptor))
        } else {
            tuple
        };
        pg_sys::heap_deform_tuple(whole, descriptor, values.as_mut_ptr(), nulls.as_mut_ptr());
    }
    let value = |place: usize| (!nulls[place]).then(|| values[place]);
    (value(1), value(2))
}

/// Adds messages that were chosen; dead ones become dead letters.
pub fn hand_out(queue: &Definition, haul: &Haul, returned: &Returned) {
    each_message(haul, |row, (message, headers)| {
        if row.is_dead {
            return dead_letters::bury_message(queue, row, message, headers);
        }
        // SAFETY: the columns of queue.message_record.
        unsafe { returned.add_values(&mut record(row, message, headers)) };
    });
}

fn record(row: &Chosen, message: Option<Datum>, headers: Option<Datum>) -> [Option<Datum>; 7] {
    let time = |time: i64| Some(Datum::from(time));
    [
        Some(Datum::from(row.position as i64)),
        Some(Datum::from(row.reads)),
        time(row.sent_at),
        time(row.read_at).filter(|_| row.read_at != 0),
        time(row.until),
        message,
        headers,
    ]
}

/// Stores the messages of a haul in the queue's archive.
fn store(queue: &Definition, haul: &Haul) {
    let statement = format!(
        "insert into {} (msg_id, read_ct, enqueued_at, last_read_at, vt, message, headers)
         values ($1, $2, $3, $4, $5, $6, $7)",
        table_name(archive::table(queue))
    );
    let kinds = [
        pg_sys::INT8OID,
        pg_sys::INT4OID,
        pg_sys::TIMESTAMPTZOID,
        pg_sys::TIMESTAMPTZOID,
        pg_sys::TIMESTAMPTZOID,
        pg_sys::JSONBOID,
        pg_sys::JSONBOID,
    ];
    each_message(haul, |row, (message, headers)| {
        let row = Chosen { until: row.read_at.max(row.sent_at), ..*row };
        let values = record(&row, message, headers);
        let arguments: Vec<_> = values
            .into_iter()
            .zip(kinds)
            // SAFETY: the values are of these types.
            .map(|(value, kind)| unsafe { pgrx::datum::DatumWithOid::new(value, kind) })
            .collect();
        run_as_owner(&statement, &arguments);
    });
}
