//! `http.format`: HTML with places for values, as `format()` has them.

use pg::entry::{Call, sql_function};
use pg::refuse::{refuse, refuse_with_hint};
use pgrx::pg_sys::Datum;
use pgrx::prelude::*;

use super::printing::{ROOM, pieces};
use super::{push, with_room};

sql_function!(
    /// `http.format(template, variadic "any")`
    howdah_format,
    |call| match call.get::<&str>(0) {
        Some(template) => format(call, template),
        None => call.null(),
    }
);

/// A part of a template: text, or the value at a place.
#[derive(Clone, Copy)]
enum TemplatePart<'a> {
    Text(&'a str),
    Value(usize),
}

fn format(call: Call, template: &str) -> Datum {
    check(template, call.count() - 1);
    let mut room = ROOM;
    // SAFETY: inside a function that PostgreSQL calls; nothing that has a destructor is held.
    unsafe {
        let values = pieces(call, 1, &mut room);
        let mut text =
            with_room(template.len() + values.iter().map(|value| value.bytes.len()).sum::<usize>());
        for part in (TemplateParts { rest: template, next: 0 }).map_while(Result::ok) {
            match part {
                TemplatePart::Text(part) => text.push(part.as_bytes()),
                // Checked above.
                TemplatePart::Value(place) => {
                    values
                        .get(place)
                        .into_iter()
                        .for_each(|value| push(&mut text, value.bytes, !value.is_html));
                }
            }
        }
        text.finish()
    }
}

/// An error if the template cannot be read, or has a place for which there is no value.
fn check(template: &str, values: usize) {
    for part in (TemplateParts { rest: template, next: 0 }) {
        match part {
            Ok(TemplatePart::Value(place)) if place >= values => refuse(
                PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE,
                &format!("the template has a place for value {}, and there are {values}", place + 1),
            ),
            Ok(_) => {}
            Err(found) => refuse_with_hint(
                PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE,
                &format!("the template has {found:?}"),
                "Places are written %s, or %1$s for the first value, and a percent sign %%. HTML knows no %I and %L.",
            ),
        }
    }
}

/// The parts of what is left of a template; an error has what cannot be read.
#[derive(Clone)]
struct TemplateParts<'a> {
    rest: &'a str,
    /// The place of the next `%s`.
    next: usize,
}

impl<'a> Iterator for TemplateParts<'a> {
    type Item = Result<TemplatePart<'a>, &'a str>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let Some(after) = self.rest.strip_prefix('%') else {
            let (text, rest) = self.rest.split_at(self.rest.find('%').unwrap_or(self.rest.len()));
            self.rest = rest;
            return Some(Ok(TemplatePart::Text(text)));
        };
        if let Some(rest) = after.strip_prefix('%') {
            self.rest = rest;
            return Some(Ok(TemplatePart::Text("%")));
        }
        if let Some(rest) = after.strip_prefix('s') {
            self.rest = rest;
            self.next += 1;
            return Some(Ok(TemplatePart::Value(self.next - 1)));
        }
        let digits = after.bytes().take_while(u8::is_ascii_digit).count();
        let place = after[..digits].parse::<usize>().ok().and_then(|number| number.checked_sub(1));
        let Some((place, rest)) = place.zip(after[digits..].strip_prefix("$s")) else {
            let length = 1 + digits + after[digits..].chars().next().map_or(0, char::len_utf8);
            let found = &self.rest[..length];
            self.rest = "";
            return Some(Err(found));
        };
        self.rest = rest;
        // As `format()` has it: those without a number go on behind it.
        self.next = place + 1;
        Some(Ok(TemplatePart::Value(place)))
    }
}
