//! What the HTTP door of queues needs beside SQL: lines from a request's body, and answers that wait for rows.

use std::io::Read;

use pgrx::pg_sys::Datum;
use pgrx::prelude::*;
use serde_json::{Value, json};

use crate::entry::sql_function;
use crate::ingest::{self, Bucket, Keep, Sender, Target, Written};
use crate::queue::definition::{self, Right};
use crate::queue::later;
use crate::queue::refuse::{refuse, refuse_with_hint};
use crate::request::current;
use crate::settings;

sql_function!(
    /// `queue.http_send(queue, body, producer, epoch, sequence)`
    howdah_queue_http_send,
    |call| {
        let queue = call.need_text(0, "queue");
        require_queue(queue);
        let target = Target::queue(queue, Keep::default());
        // Before the body costs anything.
        target.check();
        let body: &[u8] = match call.argument(1) {
            // SAFETY: bytea; the bytes stay where they are during the call.
            Some(datum) => unsafe {
                pgrx::varlena_to_byte_slice(pgrx::pg_sys::pg_detoast_datum_packed(datum.cast_mut_ptr()))
            },
            None => &[],
        };
        // SAFETY: the reference is used within this call.
        let encoding = unsafe { current::get() }.and_then(|(request, _)| request.header("content-encoding"));
        let inflated;
        let lines = match encoding.map(str::trim) {
            None | Some("" | "identity") => body,
            Some(encoding) => {
                inflated = inflate(body, encoding);
                &inflated
            }
        };
        let producer = call.text(2);
        let origin = producer.map(|producer| Sender {
            producer,
            epoch: call.need(3, "epoch"),
            first: call.need(4, "sequence"),
        });
        let longest = settings::LONGEST_LINE.get() as usize;
        let bucket = Bucket { lines, origin, listener: 0, cut: &[], longest };
        let written = ingest::write_in_parts(&target, &bucket);
        let answer = report(&written, origin.is_some()).to_string();
        answer.into_datum().unwrap_or(Datum::null())
    }
);

/// A client names the queue: that there is none is no mistake of the handler's. Answered with 404.
fn require_queue(name: &str) {
    if definition::look_up(name).is_none() {
        refuse(PgSqlErrorCode::ERRCODE_NO_DATA, &format!("there is no queue \"{name}\""));
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
        _ => refuse_with_hint(
            PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE,
            &format!("the body's Content-Encoding {encoding} is not known"),
            "Send lines as they are, or with gzip or zstd.",
        ),
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
        let name = call.need_text(0, "queue_name");
        require_queue(name);
        let queue = definition::find(name);
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
        later::ask(&queue, arrivals as u64, milliseconds, any_row);
        Datum::null()
    }
);
