//! Values to data by parsers of our own, for common types and common spellings. What they do not know the type's input
//! function decides, and it alone refuses.

use std::str::FromStr;

use literal::{decimal, moment};
use ndjson::{Text, Value};
use pgrx::pg_sys::{self, Datum, Oid};

use super::arena::Arena;

/// A type that has a parser here.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    /// `smallint`
    Int2,
    /// `integer`
    Int4,
    /// `bigint`
    Int8,
    /// `real`
    Float4,
    /// `double precision`
    Float8,
    /// `numeric`, with its modifier
    Numeric(i32),
    /// `text`, `varchar` without a length
    Text,
    /// `varchar` of so many characters
    Varchar(usize),
    /// `bytea`
    Bytes,
    /// `date`
    Date,
    /// `timestamp`
    Timestamp,
    /// `timestamptz`
    TimestampWithZone,
    /// `json`
    Json,
    /// `boolean`
    Bool,
    /// `uuid`
    Uuid,
    /// Any other.
    Other,
}

impl Kind {
    /// That of a type with its modifier.
    pub(crate) fn of(kind: Oid, modifier: i32) -> Kind {
        match kind {
            pg_sys::INT2OID => Kind::Int2,
            pg_sys::INT4OID => Kind::Int4,
            pg_sys::INT8OID => Kind::Int8,
            pg_sys::TEXTOID => Kind::Text,
            pg_sys::VARCHAROID if modifier < 0 => Kind::Text,
            // The modifier counts the header.
            pg_sys::VARCHAROID => Kind::Varchar(modifier as usize - 4),
            pg_sys::FLOAT4OID => Kind::Float4,
            pg_sys::FLOAT8OID => Kind::Float8,
            pg_sys::NUMERICOID => Kind::Numeric(modifier),
            pg_sys::BYTEAOID => Kind::Bytes,
            pg_sys::DATEOID => Kind::Date,
            pg_sys::TIMESTAMPOID if modifier < 0 => Kind::Timestamp,
            pg_sys::TIMESTAMPTZOID if modifier < 0 => Kind::TimestampWithZone,
            pg_sys::JSONOID => Kind::Json,
            pg_sys::BOOLOID => Kind::Bool,
            pg_sys::UUIDOID => Kind::Uuid,
            _ => Kind::Other,
        }
    }

    /// The value as data; none if this parser does not know the spelling.
    pub(crate) fn convert(self, value: Value<'_>, arena: &mut Arena) -> Option<Datum> {
        match self {
            Kind::Int2 => Some(Datum::from(i16::try_from(integer(value)?).ok()?)),
            Kind::Int4 => Some(Datum::from(i32::try_from(integer(value)?).ok()?)),
            Kind::Int8 => Some(Datum::from(integer(value)?)),
            Kind::Float4 => {
                let (number, text) = number::<f32>(value)?;
                is_exact(number.is_finite(), number == 0.0, text)
                    .then(|| Datum::from(number.to_bits() as i32))
            }
            Kind::Float8 => {
                let (number, text) = number::<f64>(value)?;
                is_exact(number.is_finite(), number == 0.0, text)
                    .then(|| Datum::from(number.to_bits() as i64))
            }
            Kind::Numeric(modifier) => {
                let mut content = Vec::with_capacity(64);
                decimal::numeric(spelling(value)?, modifier, &mut content)?;
                Some(arena.varlena(&content))
            }
            Kind::Text => text(value, arena),
            Kind::Varchar(longest) => varchar(value, longest, arena),
            Kind::Bytes => bytes(value, arena),
            Kind::Bool => boolean(value),
            Kind::Uuid => uuid(spelling(value)?, arena),
            Kind::Date => moment::date(spelling(value)?).map(Datum::from),
            Kind::Timestamp => moment::timestamp(spelling(value)?).map(Datum::from),
            Kind::TimestampWithZone => moment::timestamp_with_zone(spelling(value)?).map(Datum::from),
            Kind::Json => json(value, arena),
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

/// A number with digits at both ends, and how it is written.
fn number<'a, T: FromStr>(value: Value<'a>) -> Option<(T, &'a str)> {
    let text = spelling(value)?;
    let has_digits = text.strip_prefix('-').unwrap_or(text).starts_with(|first: char| first.is_ascii_digit())
        && text.ends_with(|last: char| last.is_ascii_digit());
    Some((text.parse().ok().filter(|_| has_digits)?, text))
}

/// Whether a floating-point number is neither too large nor too small to be told from zero.
fn is_exact(is_finite: bool, is_zero: bool, text: &str) -> bool {
    let digits = || text.bytes().take_while(|byte| !matches!(byte, b'e' | b'E'));
    is_finite && (!is_zero || digits().all(|byte| !matches!(byte, b'1'..=b'9')))
}

fn boolean(value: Value<'_>) -> Option<Datum> {
    match value {
        Value::Bool(value) => Some(Datum::from(value)),
        _ => spelling(value)?.parse::<bool>().ok().map(Datum::from),
    }
}

fn varchar(value: Value<'_>, longest: usize, arena: &mut Arena) -> Option<Datum> {
    let written = spelling(value)?;
    let fits = written.len() <= longest || written.chars().count() <= longest;
    fits.then(|| arena.varlena(written.as_bytes()))
}

/// Hexadecimal digits after `\\x`, whose backslash is escaped in JSON.
fn bytes(value: Value<'_>, arena: &mut Arena) -> Option<Datum> {
    let Value::Text(text) = value else { return None };
    let digits = text.written().strip_prefix(r"\\x")?.as_bytes();
    if digits.len() % 2 != 0 {
        return None;
    }
    let pairs = digits.chunks_exact(2).map(|pair| Some(digit(pair[0])? << 4 | digit(pair[1])?));
    Some(arena.varlena(&pairs.collect::<Option<Vec<u8>>>()?))
}

fn json(value: Value<'_>, arena: &mut Arena) -> Option<Datum> {
    match value {
        Value::Text(text) => Some(arena.varlena(text.quoted().as_bytes())),
        Value::Number(written) | Value::Nested(written) => Some(arena.varlena(written.as_bytes())),
        Value::Bool(value) => Some(arena.varlena(value.to_string().as_bytes())),
        Value::Null => None,
    }
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
