//! URLs of routes: the pattern is the name, and its parameters and the query are values.

use form::escape::url_pieces;
use pg::entry::{Call, sql_function};
use pg::guard::direct;
use pg::refuse::{refuse, refuse_with_hint};
use pgrx::prelude::*;
use request::read_inputs;
use router::checked_parameters;

use super::super::requests::request;
use super::printing::{PrintedValue, ROOM, pieces};

sql_function!(
    /// `http.url(pattern, variadic "any")`
    howdah_url,
    |call| match call.get::<&str>(0) {
        Some(pattern) => match url(pattern, &texts(call, 1)) {
            Some(url) => call.give(url),
            None => call.null(),
        },
        None => call.null(),
    }
);

sql_function!(
    /// `http.url_with(variadic "any")`
    howdah_url_with,
    |call| {
        let changes = pairs(&texts(call, 0), "http.url_with()");
        let Some(request) = request() else { return call.null() };
        match read_inputs::take_all_parameters(request) {
            Ok(present) => call.give(with(&present, &changes)),
            Err(error) => refuse(PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE, &format!("query string: {error}")),
        }
    }
);

/// The texts of the arguments from a place on; none for null.
fn texts(call: Call, first: usize) -> Vec<Option<&'static str>> {
    let mut room = ROOM;
    // SAFETY: inside a transaction; nothing that has a destructor is held meanwhile. Text of a database whose encoding is UTF-8.
    unsafe {
        let all = direct(|| pieces(call, first, &mut room));
        let text = |piece: &PrintedValue| std::str::from_utf8_unchecked(piece.bytes);
        let each = all.iter().enumerate();
        each.map(|(place, piece)| call.argument(first + place).map(|_| text(piece))).collect()
    }
}

/// The path of a pattern with these values in the places of its parameters, and what is left of them, name and value, as its query. None if a
/// value of the path is null.
fn url(pattern: &str, values: &[Option<&str>]) -> Option<String> {
    let names = match checked_parameters(pattern) {
        Ok(names) => names,
        Err(error) => refuse(PgSqlErrorCode::ERRCODE_SYNTAX_ERROR, &error.to_string()),
    };
    if values.len() < names.len() {
        refuse(
            PgSqlErrorCode::ERRCODE_SYNTAX_ERROR,
            &format!("{pattern} has {} parameters, and there are {} values", names.len(), values.len()),
        );
    }
    let (of_path, of_query) = values.split_at(names.len());
    let query = pairs(of_query, "http.url()");
    let mut of_path = of_path.iter();
    let mut url = String::new();
    for (number, segment) in pattern.split('/').enumerate() {
        if number > 0 {
            url.push('/');
        }
        if !segment.starts_with('{') {
            url.extend(url_pieces(segment));
            continue;
        }
        let value = (*of_path.next()?)?;
        if segment.starts_with("{*") {
            let each = value.split('/').enumerate();
            each.for_each(|(place, part)| {
                url.push_str(if place > 0 { "/" } else { "" });
                push_segment(&mut url, pattern, part);
            });
        } else if value.is_empty() {
            refuse_segment(pattern, value);
        } else {
            push_segment(&mut url, pattern, value);
        }
    }
    if !url.starts_with('/') || url.starts_with("//") {
        refuse(
            PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE,
            &format!("{pattern} gives {url:?}, which is no path of this site"),
        );
    }
    push_query(&mut url, query.iter().filter_map(|(name, value)| Some((*name, (*value)?))));
    Some(url)
}

/// Browsers take `.` and `..` for steps in a path, however they are encoded: they would ask for another.
fn push_segment(url: &mut String, pattern: &str, value: &str) {
    if matches!(value, "." | "..") {
        refuse_segment(pattern, value);
    }
    url.extend(url_pieces(value));
}

fn refuse_segment(pattern: &str, value: &str) -> ! {
    refuse(
        PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE,
        &format!("{value:?} is no value for a segment of {pattern}: browsers would ask for another path"),
    )
}

/// Names and values, in turns. What is written wrong is no fault of who asks: no error of data.
fn pairs<'a>(values: &[Option<&'a str>], function: &str) -> Vec<(&'a str, Option<&'a str>)> {
    if !values.len().is_multiple_of(2) {
        refuse_with_hint(
            PgSqlErrorCode::ERRCODE_SYNTAX_ERROR,
            &format!(
                "{function} takes names and values of the query in turns, and the last name has no value"
            ),
            "http.url('/books/{id}', 7, 'page', 2) is /books/7?page=2.",
        );
    }
    let pairs = values.chunks_exact(2);
    pairs
        .map(|pair| match pair[0] {
            Some(name) => (name, pair[1]),
            None => refuse(
                PgSqlErrorCode::ERRCODE_NULL_VALUE_NOT_ALLOWED,
                &format!("a name of {function} is null"),
            ),
        })
        .collect()
}

/// The query with changes: a name that is given has that value alone, at the place of its first; null takes it out.
fn with<'a>(
    present: &'a [(std::borrow::Cow<'_, str>, std::borrow::Cow<'_, str>)],
    changes: &[(&'a str, Option<&'a str>)],
) -> String {
    let is_changed = |name: &str| changes.iter().any(|(changed, _)| *changed == name);
    let last =
        |name: &str| changes.iter().rev().find(|(changed, _)| *changed == name).and_then(|(_, value)| *value);
    let mut query: Vec<(&str, &str)> = Vec::new();
    let names = present.iter().map(|(name, _)| name.as_ref()).chain(changes.iter().map(|(name, _)| *name));
    let values = present.iter().map(|(_, value)| Some(value.as_ref())).chain(changes.iter().map(|_| None));
    for (name, value) in names.zip(values) {
        if !is_changed(name) {
            query.extend(value.map(|value| (name, value)));
        } else if !query.iter().any(|(known, _)| *known == name) {
            query.extend(last(name).map(|value| (name, value)));
        }
    }
    let mut url = String::new();
    push_query(&mut url, query.into_iter());
    // Of the same path, without a query.
    if url.is_empty() { "?".to_owned() } else { url }
}

fn push_query<'a>(url: &mut String, query: impl Iterator<Item = (&'a str, &'a str)>) {
    for (place, (name, value)) in query.enumerate() {
        url.push(if place == 0 { '?' } else { '&' });
        url.extend(url_pieces(name));
        url.push('=');
        url.extend(url_pieces(value));
    }
}
