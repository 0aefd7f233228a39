//! Values to data by parsers of our own, for common types and common spellings. What they do not know the type's input
//! function decides, and it alone refuses.

use ndjson::{Text, Value};
use pgrx::pg_sys::{self, Datum, Oid};

use super::arena::Arena;

/// A type that has a parser here.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// `smallint`
    Int2,
    /// `integer`
    Int4,
    /// `bigint`
    Int8,
    /// `text`, `varchar` without a length
    Text,
    /// `boolean`
    Bool,
    /// `uuid`
    Uuid,
    /// Any other.
    Other,
}

impl Kind {
    /// That of a type with its modifier.
    pub fn of(kind: Oid, modifier: i32) -> Kind {
        match kind {
            pg_sys::INT2OID => Kind::Int2,
            pg_sys::INT4OID => Kind::Int4,
            pg_sys::INT8OID => Kind::Int8,
            pg_sys::TEXTOID => Kind::Text,
            pg_sys::VARCHAROID if modifier < 0 => Kind::Text,
            pg_sys::BOOLOID => Kind::Bool,
            pg_sys::UUIDOID => Kind::Uuid,
            _ => Kind::Other,
        }
    }

    /// The value as data; none if this parser does not know the spelling.
    pub fn convert(self, value: Value<'_>, arena: &mut Arena) -> Option<Datum> {
        match self {
            Kind::Int2 => Some(Datum::from(i16::try_from(integer(value)?).ok()?)),
            Kind::Int4 => Some(Datum::from(i32::try_from(integer(value)?).ok()?)),
            Kind::Int8 => Some(Datum::from(integer(value)?)),
            Kind::Text => text(value, arena),
            Kind::Bool => match value {
                Value::Bool(value) => Some(Datum::from(value)),
                _ => None,
            },
            Kind::Uuid => uuid(spelling(value)?, arena),
            Kind::Other => None,
        }
    }
}

/// A string without escapes, or a number as it is written.
fn spelling<'a>(value: Value<'a>) -> Option<&'a str> {
    match value {
        Value::Number(written) => Some(written),
        Value::Text(text) => text.plain(),
        _ => None,
    }
}

fn integer(value: Value<'_>) -> Option<i64> {
    spelling(value)?.parse().ok()
}

fn text(value: Value<'_>, arena: &mut Arena) -> Option<Datum> {
    match value {
        Value::Text(text) => match text.plain() {
            Some(plain) => Some(arena.varlena(plain.as_bytes())),
            None => Some(escaped(text, arena)),
        },
        Value::Number(written) | Value::Nested(written) => Some(arena.varlena(written.as_bytes())),
        Value::Bool(value) => Some(arena.varlena(value.to_string().as_bytes())),
        Value::Null => None,
    }
}

fn escaped(text: Text<'_>, arena: &mut Arena) -> Datum {
    let mut said = Vec::with_capacity(text.written().len());
    text.write(&mut said);
    arena.varlena(&said)
}

/// Thirty-two digits, with hyphens as they are usually written.
fn uuid(spelling: &str, arena: &mut Arena) -> Option<Datum> {
    let bytes = spelling.as_bytes();
    if bytes.len() != 36 || [8, 13, 18, 23].iter().any(|place| bytes[*place] != b'-') {
        return None;
    }
    let digits = [0, 2, 4, 6, 9, 11, 14, 16, 19, 21, 24, 26, 28, 30, 32, 34];
    let mut uuid = [0; 16];
    for (byte, place) in uuid.iter_mut().zip(digits) {
        *byte = digit(bytes[place])? << 4 | digit(bytes[place + 1])?;
    }
    let copy = arena.bytes(16);
    copy.copy_from_slice(&uuid);
    Some(Datum::from(copy.as_mut_ptr()))
}

fn digit(byte: u8) -> Option<u8> {
    char::from(byte).to_digit(16).map(|digit| digit as u8)
}
