//! URLs of routes: the pattern is the name, and its parameters and the query are values.

use std::cell::RefCell;
use std::collections::HashMap;

use form::escape::url_pieces;
use message::Request;
use pg::TextBuilder;
use pg::entry::{Call, sql_function};
use pg::guard::direct;
use pg::refuse::{refuse, refuse_with_hint};
use pgrx::pg_sys::Datum;
use pgrx::prelude::*;
use request::{current, read_inputs};
use router::checked_parameters;

use super::super::requests::request;
use super::printing::{PrintedValue, ROOM, own, pieces};
use super::with_room;

sql_function!(
    /// `http.url(pattern, variadic "any")`
    howdah_url,
    |call| match call.text(0) {
        Some(pattern) => url(call, pattern),
        None => call.null(),
    }
);

sql_function!(
    /// `http.url_with(variadic "any")`
    howdah_url_with,
    |call| {
        let changes = texts(call, 0);
        check_pairs(changes.len(), "http.url_with()", |name| changes[name].is_none());
        let changes: Vec<_> = changes.chunks_exact(2).map(|pair| (pair[0].unwrap_or_default(), pair[1])).collect();
        let Some(request) = request() else { return call.null() };
        match read_inputs::take_all_parameters(request) {
            Ok(present) => call.give(at_own_path(request, with(&present, &changes))),
            Err(error) => refuse(PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE, &format!("query string: {error}")),
        }
    }
);

/// A URL of the query alone, with the path where the page does not stand at its own: where it answers a form.
fn at_own_path(request: &Request<'_>, query: String) -> String {
    // SAFETY: used within this call.
    let stands_elsewhere = unsafe { current::get() }.is_some_and(|seen| seen.form.is_sent());
    if stands_elsewhere { format!("{}{query}", request.raw_path()) } else { query }
}

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

/// So many patterns are kept in a process.
const MOST_PATTERNS: usize = 500;

thread_local! {
    /// Patterns that were read.
    static PATTERNS: RefCell<HashMap<&'static str, &'static ReadPattern>> = RefCell::default();
}

/// A pattern that was read.
struct ReadPattern {
    pattern: Box<str>,
    pieces: Vec<PatternPiece>,
}

/// A piece of a pattern.
enum PatternPiece {
    /// Text, encoded.
    Text(Box<str>),
    /// The place of a value that is one segment.
    Segment,
    /// The place of a value that is the rest of the path.
    Rest,
}

/// A pattern that was read before: by this call's function, or by another; one that is new is kept if there is room.
fn known(call: Call, pattern: &str) -> Option<&'static ReadPattern> {
    // SAFETY: inside a function that PostgreSQL calls; what it keeps is a pattern of this process, which stays.
    unsafe {
        let own = own(call).cast::<*const ReadPattern>();
        if let Some(last) = (*own).as_ref().filter(|last| *last.pattern == *pattern) {
            return Some(last);
        }
        let found = match PATTERNS.with_borrow(|known| (known.get(pattern).copied(), known.len())) {
            (Some(found), _) => found,
            (None, MOST_PATTERNS..) => return None,
            (None, _) => {
                let read = ReadPattern { pattern: pattern.into(), pieces: pieces_of(pattern) };
                let kept: &ReadPattern = Box::leak(Box::new(read));
                PATTERNS.with_borrow_mut(|known| known.insert(&kept.pattern, kept));
                kept
            }
        };
        *own = found;
        Some(found)
    }
}

/// The pieces of a pattern; an error if it is none.
fn pieces_of(pattern: &str) -> Vec<PatternPiece> {
    if let Err(error) = checked_parameters(pattern) {
        refuse(PgSqlErrorCode::ERRCODE_SYNTAX_ERROR, &error.to_string());
    }
    let mut pieces = Vec::new();
    let mut text = String::new();
    for (number, segment) in pattern.split('/').enumerate() {
        text.push_str(if number > 0 { "/" } else { "" });
        if segment.starts_with('{') {
            pieces.push(PatternPiece::Text(std::mem::take(&mut text).into()));
            pieces.push(if segment.starts_with("{*") { PatternPiece::Rest } else { PatternPiece::Segment });
        } else {
            text.extend(url_pieces(segment));
        }
    }
    if !text.is_empty() {
        pieces.push(PatternPiece::Text(text.into()));
    }
    pieces
}

/// The path of a pattern with the call's values in the places of its parameters, and what is left of them, name and value, as its query. Null if a
/// value of the path is null.
fn url(call: Call, pattern: &str) -> Datum {
    let read;
    let pattern_pieces = match known(call, pattern) {
        Some(known) => &known.pieces,
        None => {
            read = pieces_of(pattern);
            &read
        }
    };
    let parameters = pattern_pieces.iter().filter(|piece| !matches!(piece, PatternPiece::Text(_))).count();
    let mut room = ROOM;
    // SAFETY: inside a transaction; what is owned meanwhile is dropped by an error.
    let values = unsafe { direct(|| pieces(call, 1, &mut room)) };
    if values.len() < parameters {
        refuse(
            PgSqlErrorCode::ERRCODE_SYNTAX_ERROR,
            &format!("{pattern} has {parameters} parameters, and there are {} values", values.len()),
        );
    }
    let is_null = |place: usize| call.argument(1 + place).is_none();
    check_pairs(values.len() - parameters, "http.url()", |name| is_null(parameters + name));
    if (0..parameters).any(is_null) {
        return call.null();
    }
    let kinds = pattern_pieces.iter().filter(|piece| !matches!(piece, PatternPiece::Text(_)));
    for (value, kind) in values.iter().zip(kinds) {
        check_segments(pattern, text(value), matches!(kind, PatternPiece::Rest));
    }
    let length = pattern.len() + values.iter().map(|value| value.bytes.len() + 1).sum::<usize>();
    let (of_path, of_query) = values.split_at(parameters);
    let query = of_query.chunks_exact(2).enumerate();
    let query = query.filter(|(pair, _)| !is_null(parameters + 2 * pair + 1)).map(|(_, pair)| pair);
    // SAFETY: as above.
    let url = unsafe {
        direct(|| {
            let mut url = with_room(length);
            push_path(&mut url, pattern_pieces, of_path);
            let mut mark: &[u8] = b"?";
            for pair in query {
                url.push(std::mem::replace(&mut mark, b"&"));
                push_encoded(&mut url, text(&pair[0]));
                url.push(b"=");
                push_encoded(&mut url, text(&pair[1]));
            }
            url
        })
    };
    if url.written().starts_with(b"//") {
        let made = String::from_utf8_lossy(url.written());
        refuse(
            PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE,
            &format!("{pattern} gives {made:?}, which is no path of this site"),
        );
    }
    url.finish()
}

/// The text of a value.
fn text(value: &PrintedValue) -> &str {
    // SAFETY: text of a database whose encoding is UTF-8.
    unsafe { std::str::from_utf8_unchecked(value.bytes) }
}

/// An error if a value is no segment, or the rest of a path has one that is none. Browsers take `.` and `..` for steps in a path, however they are
/// encoded: they would ask for another.
fn check_segments(pattern: &str, value: &str, is_rest: bool) {
    let is_step = |segment: &&str| matches!(*segment, "." | "..") || segment.is_empty() && !is_rest;
    let step = if is_rest { value.split('/').find(is_step) } else { Some(value).filter(is_step) };
    if let Some(step) = step {
        refuse(
            PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE,
            &format!("{step:?} is no value for a segment of {pattern}: browsers would ask for another path"),
        );
    }
}

/// Adds a pattern with values in the places of its parameters.
///
/// # Safety
/// Inside [`direct`].
unsafe fn push_path(url: &mut TextBuilder, pieces: &[PatternPiece], values: &[PrintedValue]) {
    let mut values = values.iter().map(text);
    // SAFETY: by contract.
    unsafe {
        for piece in pieces {
            match piece {
                PatternPiece::Text(piece) => url.push(piece.as_bytes()),
                PatternPiece::Segment => push_encoded(url, values.next().unwrap_or_default()),
                PatternPiece::Rest => {
                    for (number, part) in values.next().unwrap_or_default().split('/').enumerate() {
                        url.push(if number > 0 { b"/" } else { b"" });
                        push_encoded(url, part);
                    }
                }
            }
        }
    }
}

/// Adds a value, percent-encoded.
///
/// # Safety
/// Inside [`direct`].
unsafe fn push_encoded(url: &mut TextBuilder, value: &str) {
    // SAFETY: by contract.
    url_pieces(value).for_each(|piece| unsafe { url.push(piece.as_bytes()) });
}

/// An error unless so many values are names and values in turns, of which no name is null.
fn check_pairs(count: usize, function: &str, is_null: impl Fn(usize) -> bool) {
    // A call that is written wrong is no fault of who asks: no error of data.
    if !count.is_multiple_of(2) {
        refuse_with_hint(
            PgSqlErrorCode::ERRCODE_SYNTAX_ERROR,
            &format!(
                "{function} takes names and values of the query in turns, and the last name has no value"
            ),
            "http.url('/books/{id}', 7, 'page', 2) is /books/7?page=2.",
        );
    }
    if (0..count).step_by(2).any(is_null) {
        refuse(PgSqlErrorCode::ERRCODE_NULL_VALUE_NOT_ALLOWED, &format!("a name of {function} is null"));
    }
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
