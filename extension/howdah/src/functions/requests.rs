//! Functions that read the current request.

use std::borrow::Cow;

use form::{Field, Value};
use message::{Request, Scheme};
use pg::entry::sql_function;
use pg::guard::{PgError, direct, unwind};
use pgrx::pg_sys;
use pgrx::prelude::*;
use request::bound_value::BindError;
use request::current::CurrentRequest;
use request::read_inputs::{self, ReadInput};
use request::sources::{body_has, coded_body};
use request::{current, params, secrecy};

/// Most fields that are read.
const MAX_FIELDS: usize = 10_000;

sql_function!(
    /// `http.current_request`
    howdah_current_request,
    |call| {
        // SAFETY: the references are used within this call.
        match unsafe { current::get() } {
            // SAFETY: inside a transaction.
            Some(seen) => unsafe { direct(|| params::request_row(seen.request, seen.types)) },
            None => call.null(),
        }
    }
);

sql_function!(
    /// `http.form_file`
    howdah_form_file,
    |call| {
        let name = call.need_text(0, "name");
        // SAFETY: the references are used within this call.
        match unsafe { current::get() } {
            Some(seen) => file(seen, name).unwrap_or_else(|| call.null()),
            None => call.null(),
        }
    }
);

fn file(seen: &CurrentRequest<'_>, name: &str) -> Option<pg_sys::Datum> {
    fields(seen.request).iter().find(|field| field.name == name).and_then(|field| match &field.value {
        // SAFETY: inside a transaction; the fields are dropped if it raises.
        Value::File(file) => Some(unsafe { direct(|| params::file_row(file, seen.types)) }),
        Value::Text(_) => None,
    })
}

pub(super) fn request<'a>() -> Option<&'a Request<'a>> {
    // SAFETY: every function here uses it within its call.
    unsafe { current::get() }.map(|seen| seen.request)
}

sql_function!(
    /// `http.is_https`
    is_https_wrapper,
    |call| call.give(request().map(|request| current::scheme(request) == Scheme::Https))
);

sql_function!(
    /// `http.header_value` of the current request
    header_value_wrapper,
    |call| call.give(header_value(call.need_text(0, "name")))
);

fn header_value(name: &str) -> Option<&'static str> {
    ReadInput::Header(name.to_ascii_lowercase()).take(request()?)
}

sql_function!(
    /// `http.cookie`
    cookie_wrapper,
    |call| call.give(cookie(call.need_text(0, "name")).map(Cow::into_owned))
);

pub(super) fn cookie(name: &str) -> Option<Cow<'static, str>> {
    ReadInput::Cookie(name.to_owned()).take(request()?).map(form::cookie::decoded)
}

sql_function!(
    /// `http.query_value`
    query_value_wrapper,
    |call| call.give(query_value(call.need_text(0, "name")))
);

fn query_value(name: &str) -> Option<String> {
    query(name).into_iter().next()
}

sql_function!(
    /// `http.query_values`
    query_values_wrapper,
    |call| call.give(query_values(call.need_text(0, "name")))
);

fn query_values(name: &str) -> Vec<String> {
    query(name)
}

fn query(name: &str) -> Vec<String> {
    let Some(request) = request() else { return Vec::new() };
    match read_inputs::take_parameters(name, request) {
        Ok(values) => noted(name, values.into_iter().map(Cow::into_owned).collect()),
        Err(error) => refuse(&format!("query string: {error}")),
    }
}

sql_function!(
    /// `http.path_value`
    path_value_wrapper,
    |call| call.give(current::path_value(call.need_text(0, "name")))
);

sql_function!(
    /// `http.form_value`
    form_value_wrapper,
    |call| call.give(form_value(call.need_text(0, "name")))
);

fn form_value(name: &str) -> Option<String> {
    form(name).into_iter().next()
}

sql_function!(
    /// `http.form_values`
    form_values_wrapper,
    |call| call.give(form_values(call.need_text(0, "name")))
);

fn form_values(name: &str) -> Vec<String> {
    form(name)
}

fn form(name: &str) -> Vec<String> {
    let Some(request) = request() else { return Vec::new() };
    let texts = fields(request).into_iter().filter(|field| field.name == name);
    let texts = texts.filter_map(|field| match field.value {
        Value::Text(text) => Some(text.into_owned()),
        Value::File(_) => None,
    });
    noted(name, texts.collect())
}

/// Values of a name, which are withheld from messages if it is that of a secret.
fn noted(name: &str, values: Vec<String>) -> Vec<String> {
    if secrecy::is_named(name) {
        values.iter().for_each(|value| secrecy::note_named(value));
    }
    values
}

sql_function!(
    /// `http.is_given`
    is_given_wrapper,
    |call| call.give(is_given(call.need_text(0, "name")))
);

fn is_given(name: &str) -> Option<bool> {
    let request = request()?;
    let is_in_body = || match body_has(request, name) {
        Ok(has) => has,
        Err(BindError { status: 415, detail }) => refuse_coded(detail),
        Err(error) => refuse(&error.detail),
    };
    Some(!query(name).is_empty() || is_in_body())
}

fn refuse_coded(message: String) -> ! {
    unwind(PgError { sqlstate: *b"PT415", message, ..PgError::default() })
}

fn fields<'a>(request: &Request<'a>) -> Vec<Field<'a>> {
    let Some(content_type) = request.header("content-type").filter(|_| !request.body().is_empty()) else {
        return Vec::new();
    };
    if let Some(message) = coded_body(request) {
        refuse_coded(message);
    }
    let Some(content_type) = form::ContentType::parse(content_type) else {
        refuse("the Content-Type cannot be read");
    };
    match form::body::parse(&content_type, request.body(), MAX_FIELDS) {
        Ok(fields) => fields.unwrap_or_default(),
        Err(error) => refuse(&format!("the form cannot be read: {error}")),
    }
}

/// The client's fault: 400.
fn refuse(message: &str) -> ! {
    pg_sys::panic::ErrorReport::new(
        PgSqlErrorCode::ERRCODE_INVALID_TEXT_REPRESENTATION,
        message.to_owned(),
        "howdah",
    )
    .report(PgLogLevel::ERROR);
    unreachable!("an ERROR report does not return")
}
