//! `http.call`: a request in the caller's transaction.

use deploy::recorder;
use http1::Target;
use message::{Request, RequestBuilder, RequestLine, Response, Scheme};
use pg::entry::{Call, sql_function};
use pg::guard::direct;
use pg::refuse::{refuse, refuse_with_hint};
use pgrx::pg_sys;
use pgrx::prelude::*;
use request::headers::headers;
use request::types::Types;
use request::{call, params};
use session::authority::refuse_restricted;
use shared::attached;

sql_function!(
    /// `http.call(method, target, headers, body, scheme)`
    howdah_call,
    |call| {
        refuse_restricted();
        refuse_in_request();
        // SAFETY: inside a transaction, in a database with the extension.
        let types = unsafe { Types::look_up(pg_sys::get_namespace_oid(c"http".as_ptr(), false)) };
        let message = message(call, &types, true);
        let request = match Request::parse(&message) {
            Ok(request) => request,
            Err(error) => refuse(PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE, &error.to_string()),
        };
        // SAFETY: in a session, inside the transaction of the call, whose snapshot is active.
        let answer = unsafe { request::call::call(&request) };
        if let Some(endpoint) = request::call::take_endpoint() {
            recorder::note_route(&endpoint);
        }
        match Response::parse(&answer) {
            Ok(response) => {
                recorder::note_answer(|| described(&request, &response));
                // SAFETY: as above; what is owned is dropped if it raises.
                unsafe { direct(|| params::response_row(&response, &types)) }
            }
            Err(error) => refuse(PgSqlErrorCode::ERRCODE_INTERNAL_ERROR, &error.to_string()),
        }
    }
);

/// Bytes of a body that are shown.
const SHOWN: usize = 300;

/// A request and its answer, for people.
fn described(request: &Request<'_>, response: &Response<'_>) -> String {
    let body = response.body();
    let shown = String::from_utf8_lossy(&body[..body.len().min(SHOWN)]);
    let more = if body.len() > SHOWN { "…" } else { "" };
    let (method, path) = (request.method(), request.path());
    format!("{method} {path} was answered with {}: {}{more}", response.status(), shown.trim_end())
}

/// The request that the arguments describe: method, target, headers, and with a body that and the scheme.
pub(super) fn message(call: Call, types: &Types, has_body: bool) -> Vec<u8> {
    let method = call.need_text(0, "method").to_uppercase();
    if !message::header::is_token(method.as_bytes()) {
        bad(&format!("{method:?} is no method: it is a word of letters, such as GET"));
    }
    let target = call.need_text(1, "target");
    let target = match Target::parse(&method, target) {
        Ok(target) => target,
        Err(reject) => bad(&format!("target {target:?}: {}", reject.detail)),
    };
    // SAFETY: an http.header[] by the function's declaration.
    let given = call.argument(2).map_or(&[][..], |array| unsafe { direct(|| headers(array, types)) });
    let text = |value: &[u8]| String::from_utf8_lossy(value).into_owned();
    let host =
        given.iter().find(|header| header.name.eq_ignore_ascii_case(b"host")).map(|host| text(host.value));
    let (body, scheme) = if has_body { (call.get::<&[u8]>(3), call.text(4)) } else { (None, None) };
    let scheme = match scheme {
        None | Some("http") => Scheme::Http,
        Some("https") => Scheme::Https,
        Some(other) => bad(&format!("scheme {other} is neither http nor https")),
    };
    let line = RequestLine {
        method: &method,
        raw_path: target.raw_path,
        path: &target.path,
        query_string: target.query,
        authority: target.authority.or(host.as_deref()).unwrap_or_default(),
        scheme,
        ..RequestLine::default()
    };
    let length = given.iter().map(|header| header.name.len() + header.value.len()).sum();
    let mut builder = RequestBuilder::new(&line, given.len(), length);
    for header in given {
        let value = header.value.trim_ascii();
        if !message::header::is_token(header.name) || !message::header::is_value(value) {
            bad(&format!("header {:?} has a name or a value that no request has", text(header.name)));
        }
        builder.header(header.name, value);
    }
    builder.finish(body.unwrap_or_default())
}

pub(super) fn bad(message: &str) -> ! {
    refuse(PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE, message)
}

/// An error in a worker, in a request, and where there are no counters and gates for one.
pub(super) fn refuse_in_request() {
    if call::is_in_request() {
        refuse_with_hint(
            PgSqlErrorCode::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
            "http.call() cannot be called while a request is answered",
            "It is for sessions, tests and deployments. A handler calls the other handler's function.",
        );
    }
    if attached().is_none() {
        refuse_with_hint(
            PgSqlErrorCode::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
            "howdah is not loaded by this server",
            "Add howdah to shared_preload_libraries and restart the server.",
        );
    }
}
