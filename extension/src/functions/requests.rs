//! Functions that read the current request.

use form::body::{Field, Value};
use message::Request;
use pgrx::pg_sys;
use pgrx::prelude::*;

use super::version_1;
use crate::request::{current, params};

/// Most fields that are read.
const MAX_FIELDS: usize = 10_000;

version_1!(
    /// `http.current_request`
    howdah_current_request,
    pg_finfo_howdah_current_request,
    |call: &mut pg_sys::FunctionCallInfoBaseData| {
        // The references are used within this call.
        match current::get() {
            Some((request, types)) => params::request_row(request, types),
            None => null(call),
        }
    }
);

version_1!(
    /// `http.form_file`
    howdah_form_file,
    pg_finfo_howdah_form_file,
    |call: &mut pg_sys::FunctionCallInfoBaseData| {
        let name = crate::request::plan::string(pg_sys::text_to_cstring((*call.args.as_ptr()).value.cast_mut_ptr()));
        match current::get() {
            Some((request, types)) => file(request, types, &name).unwrap_or_else(|| null(call)),
            None => null(call),
        }
    }
);

fn null(call: &mut pg_sys::FunctionCallInfoBaseData) -> pg_sys::Datum {
    call.isnull = true;
    pg_sys::Datum::null()
}

fn file(request: &Request<'_>, types: &crate::request::types::Types, name: &str) -> Option<pg_sys::Datum> {
    fields(request).iter().find(|field| field.name == name).and_then(|field| match &field.value {
        // SAFETY: called by PostgreSQL, which catches what this raises.
        Value::File(file) => Some(unsafe { params::file_row(file, types) }),
        Value::Text(_) => None,
    })
}

fn request<'a>() -> Option<&'a Request<'a>> {
    // SAFETY: every function here uses it within its call.
    unsafe { current::get() }.map(|(request, _)| request)
}

/// `http.header_value` of the current request
#[pg_extern]
fn header_value(name: &str) -> Option<&'static str> {
    request()?.header(&name.to_ascii_lowercase())
}

/// `http.cookie`
#[pg_extern]
fn cookie(name: &str) -> Option<&'static str> {
    let headers = request()?.headers().filter(|(known, _)| *known == "cookie");
    headers
        .flat_map(|(_, value)| form::cookie::pairs(value))
        .find(|(known, _)| *known == name)
        .map(|(_, value)| value)
}

/// `http.query_value`
#[pg_extern]
fn query_value(name: &str) -> Option<String> {
    query(name).into_iter().next()
}

/// `http.query_values`
#[pg_extern]
fn query_values(name: &str) -> Vec<String> {
    query(name)
}

fn query(name: &str) -> Vec<String> {
    let Some(request) = request() else { return Vec::new() };
    match form::urlencoded::parse(request.query_string().as_bytes(), MAX_FIELDS) {
        Ok(pairs) => pairs
            .into_iter()
            .filter(|(known, _)| known == name)
            .map(|(_, value)| value.into_owned())
            .collect(),
        Err(error) => refuse(&format!("query string: {error}")),
    }
}

/// `http.form_value`
#[pg_extern]
fn form_value(name: &str) -> Option<String> {
    form(name).into_iter().next()
}

/// `http.form_values`
#[pg_extern]
fn form_values(name: &str) -> Vec<String> {
    form(name)
}

fn form(name: &str) -> Vec<String> {
    let Some(request) = request() else { return Vec::new() };
    let texts = fields(request).into_iter().filter(|field| field.name == name);
    texts
        .filter_map(|field| match field.value {
            Value::Text(text) => Some(text.into_owned()),
            Value::File(_) => None,
        })
        .collect()
}

fn fields<'a>(request: &Request<'a>) -> Vec<Field<'a>> {
    let Some(content_type) = request.header("content-type").and_then(form::ContentType::parse) else {
        return Vec::new();
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
