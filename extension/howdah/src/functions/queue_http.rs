//! What the HTTP door of queues needs beside SQL: lines from a request's body, and answers that wait for rows.

use std::io::Read;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::rc::Rc;

use ingest::{Bucket, Keep, Sender, Target, Written};
use pg::entry::sql_function;
use pg::guard::{self, PgError, unwind};
use pg::refuse::{refuse, refuse_with_hint};
use pgrx::pg_sys::Datum;
use pgrx::prelude::*;
use queue::definition::{self, Definition, Right};
use queue::producer;
use request::current;
use request::later::{self, Later};
use serde_json::{Value, json};
use session::authority::{current_user, may_become, name_of, web_role};
use shared::settings;

sql_function!(
    /// `queue.http_send(queue, body, producer, epoch, sequence)`
    howdah_queue_http_send,
    |call| {
        let queue = require_queue(call.need_text(0, "queue"));
        let target = Target::of_queue(queue.clone(), Keep::default());
        // Before the body costs anything.
        target.check();
        check_owner(&queue);
        let body: &[u8] = match call.argument(1) {
            // SAFETY: bytea; the bytes stay where they are during the call.
            Some(datum) => unsafe {
                pgrx::varlena_to_byte_slice(pgrx::pg_sys::pg_detoast_datum_packed(datum.cast_mut_ptr()))
            },
            None => &[],
        };
        // SAFETY: the reference is used within this call.
        let encoding = unsafe { current::get() }.and_then(|seen| seen.request.header("content-encoding"));
        let inflated;
        let lines = match encoding.map(str::trim) {
            None | Some("") => body,
            Some(encoding) if encoding.eq_ignore_ascii_case("identity") => body,
            Some(encoding) => {
                inflated = inflate(body, encoding);
                &inflated
            }
        };
        let name = call.text(2);
        let origin = name.map(|producer| Sender {
            producer,
            epoch: call.need(3, "epoch"),
            first: call.need(4, "sequence"),
        });
        let longest = settings::LONGEST_LINE.get() as usize;
        let bucket = Bucket { lines, origin, listener: 0, cut: &[], longest, refused: None };
        let written = or_conflict(|| ingest::write_in_parts(&target, &bucket));
        if let Some(sender) = &origin {
            target.cover_repeated(sender, &written);
        }
        let answer = report(&written, origin.is_some()).to_string();
        answer.into_datum().unwrap_or(Datum::null())
    }
);

/// A producer that sends what is not its turn is answered with 409: it is no mistake of the handler's. The SQLSTATE says so to
/// whoever answers.
fn or_conflict<T>(write: impl FnOnce() -> T) -> T {
    producer::was_out_of_turn();
    catch_unwind(AssertUnwindSafe(write)).unwrap_or_else(|panic| {
        if !producer::was_out_of_turn() {
            resume_unwind(panic);
        }
        let error = PgError { sqlstate: *b"PT409", ..guard::of_panic(panic) };
        // SAFETY: on the main thread, inside a guard; the error is the work's own, and gone before the jump.
        unsafe { guard::direct(|| guard::raise(error)) }
    })
}

/// A client names the queue: that there is none is no mistake of the handler's. Answered with 404.
fn require_queue(name: &str) -> Rc<Definition> {
    definition::look_up(name)
        .unwrap_or_else(|| refuse(PgSqlErrorCode::ERRCODE_NO_DATA, &format!("there is no queue \"{name}\"")))
}

sql_function!(
    /// `queue.check_owner(queue_name)`
    howdah_queue_check_owner,
    |call| {
        let name = call.need_text(0, "queue_name");
        loop {
            let queue = require_queue(name);
            check_owner(&queue);
            queue.hold();
            // Another may have had the name meanwhile.
            if require_queue(name).id == queue.id {
                return Datum::null();
            }
        }
    }
);

/// A client names the queue, and the code of its row type runs as the route's role. So that nobody's queue is a way to a role that is
/// not its owner's, the owner has to be one who may become that role; whoever owns queues may register routes for howdah_web. Whoever
/// calls it outside of a request has chosen the queue.
fn check_owner(queue: &Definition) {
    let role = current_user();
    // SAFETY: nothing is done with the reference.
    let is_of_client = unsafe { current::get() }.is_some();
    if is_of_client && role != web_role() && !may_become(queue.owner, role) {
        let [owner, role] = [queue.owner, role].map(name_of);
        refuse_with_hint(
            PgSqlErrorCode::ERRCODE_INSUFFICIENT_PRIVILEGE,
            &format!("queue {} is {owner}'s, who may not become {role}", queue.name),
            "Routes of another role than howdah_web serve the queues of those who may become it.",
        );
    }
}

/// What is answered: counts, and the lines that were refused, by their number in the body, from 1.
fn report(written: &Written, has_producer: bool) -> Value {
    let errors: Vec<Value> = written
        .rejected
        .iter()
        .map(|rejected| {
            let code = String::from_utf8_lossy(&rejected.sqlstate);
            json!({ "line": rejected.line + 1, "code": code, "error": rejected.message })
        })
        .collect();
    let mut answer = json!({
        "received": written.received,
        "stored": written.stored,
        "repeated": written.repeated,
        "rejected": written.rejected_count,
    });
    if written.dropped > 0 {
        answer["dropped"] = written.dropped.into();
    }
    if !errors.is_empty() {
        answer["errors"] = errors.into();
    }
    if has_producer {
        answer["sequence"] = written.sequence.into();
    }
    answer
}

/// Memory that a zstd body may ask for, as a power of two: 8 MiB, which every decoder of RFC 8878 has.
const WINDOW_LOG: u32 = 23;

/// Inflates a body. One that becomes larger than `howdah.max_inflated_body` is an error before it has the memory.
fn inflate(body: &[u8], encoding: &str) -> Vec<u8> {
    let limit = settings::MAX_INFLATED_BODY.get() as usize;
    let mut lines = Vec::new();
    let read = match encoding.to_ascii_lowercase().as_str() {
        "gzip" | "x-gzip" => {
            flate2::read::MultiGzDecoder::new(body).take(limit as u64 + 1).read_to_end(&mut lines)
        }
        "zstd" => zstd::stream::read::Decoder::with_buffer(body)
            .and_then(|mut decoder| decoder.window_log_max(WINDOW_LOG).map(|()| decoder))
            .and_then(|decoder| decoder.take(limit as u64 + 1).read_to_end(&mut lines)),
        _ => unwind(PgError {
            // 415 (RFC 9110, 15.5.16).
            sqlstate: *b"PT415",
            message: format!(
                "the body's Content-Encoding {encoding} is not known: send lines as they are, or with gzip or zstd"
            ),
            ..PgError::default()
        }),
    };
    if let Err(error) = read {
        refuse(
            PgSqlErrorCode::ERRCODE_INVALID_BINARY_REPRESENTATION,
            &format!("the body is no valid {encoding}: {error}"),
        );
    }
    if lines.len() > limit {
        refuse_with_hint(
            PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE,
            &format!("the body has more than {limit} bytes once it is inflated"),
            "Send less at once, or raise howdah.max_inflated_body.",
        );
    }
    lines
}

sql_function!(
    /// `queue.arrivals(queue_name)`
    howdah_queue_arrivals,
    |call| {
        let queue = require_queue(call.need_text(0, "queue_name"));
        queue.check(Right::Take);
        Datum::from(queue.memory().arrivals() as i64)
    }
);

/// Milliseconds that an answer waits at most.
const LONGEST_WAIT: i32 = 60_000;

sql_function!(
    /// `queue.answer_later(queue_name, arrivals, milliseconds, any_row)`
    howdah_queue_answer_later,
    |call| {
        let queue = definition::find(call.need_text(0, "queue_name"));
        queue.check(Right::Take);
        let arrivals: i64 = call.need(1, "arrivals");
        let milliseconds: i32 = call.need(2, "milliseconds");
        let any_row: bool = call.need(3, "any_row");
        let milliseconds = milliseconds.clamp(0, LONGEST_WAIT) as u32;
        let queue = queue.memory_number() as u32;
        later::ask(Later { queue, milliseconds, arrivals: arrivals as u64, any_row });
        Datum::null()
    }
);
