//! What a result is as a response.

use std::cell::RefCell;

use pg::text::string;
use pgrx::pg_sys::{self, Oid};

use super::types::Types;

/// How the value in the result's column becomes a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// `http.response`: status, headers and body.
    Response,
    /// Text or json: the value's bytes are the body.
    Text(MediaType),
    /// bytea.
    Bytes(MediaType),
    /// jsonb: written as text.
    Jsonb,
    /// A row, as an object of JSON.
    Row,
    /// All rows, as an array of objects.
    Rows,
    /// void: 204.
    Void,
}

/// The content type of a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MediaType(pub &'static str);

impl MediaType {
    const PLAIN: MediaType = MediaType("text/plain; charset=utf-8");
    /// JSON.
    pub const JSON: MediaType = MediaType("application/json");
    const BINARY: MediaType = MediaType("application/octet-stream");
    const HTML: MediaType = MediaType("text/html; charset=utf-8");
    const XML: MediaType = MediaType("application/xml");
}

/// The domains of schema `http` that stand for a media type.
const NAMED: [(&str, &str); 7] = [
    ("css", "text/css; charset=utf-8"),
    ("csv", "text/csv; charset=utf-8"),
    ("javascript", "text/javascript; charset=utf-8"),
    ("markdown", "text/markdown; charset=utf-8"),
    ("svg", "image/svg+xml"),
    ("xml", "application/xml"),
    ("ndjson", "application/x-ndjson"),
];

impl Shape {
    /// Whether all columns of the result are in the response.
    pub(crate) fn has_columns(self) -> bool {
        matches!(self, Shape::Row | Shape::Rows)
    }

    /// The shape of a single value of this type; none if it must be turned into JSON first.
    pub(crate) fn of_value(value_type: Oid, types: &Types) -> Option<Shape> {
        if value_type == types.response {
            return Some(Shape::Response);
        }
        // SAFETY: inside a transaction; a type that a query or a function returns exists.
        let base = unsafe { pg_sys::getBaseType(value_type) };
        let media = (base != value_type).then(|| media_type(value_type)).flatten();
        match base {
            pg_sys::TEXTOID | pg_sys::VARCHAROID | pg_sys::BPCHAROID => {
                Some(Shape::Text(media.unwrap_or(MediaType::PLAIN)))
            }
            pg_sys::JSONOID => Some(Shape::Text(media.unwrap_or(MediaType::JSON))),
            pg_sys::XMLOID => Some(Shape::Text(media.unwrap_or(MediaType::XML))),
            pg_sys::JSONBOID => Some(Shape::Jsonb),
            pg_sys::BYTEAOID => Some(Shape::Bytes(media.unwrap_or(MediaType::BINARY))),
            pg_sys::VOIDOID => Some(Shape::Void),
            _ if base == types.html => Some(Shape::Text(media.unwrap_or(MediaType::HTML))),
            _ => None,
        }
    }
}

/// A name that lives as long as the process. There are as few as domains.
fn kept(name: &str) -> &'static str {
    thread_local! {
        static NAMES: RefCell<Vec<&'static str>> = const { RefCell::new(Vec::new()) };
    }
    NAMES.with_borrow_mut(|names| match names.iter().find(|known| **known == name) {
        Some(known) => known,
        None => {
            let name: &'static str = String::leak(name.to_owned());
            names.push(name);
            name
        }
    })
}

/// The media type that a domain is named for: one of [`NAMED`] in schema `http`, or any whose name has a
/// slash, such as `"image/png"`.
fn media_type(domain: Oid) -> Option<MediaType> {
    // SAFETY: inside a transaction; the domain exists.
    let qualified = unsafe { string(pg_sys::format_type_be_qualified(domain)) };
    let (schema, name) = qualified.split_once('.').unwrap_or(("", &qualified));
    let name = name.trim_matches('"');
    if name.contains('/') {
        return Some(MediaType(kept(name)));
    }
    let known = NAMED.iter().find(|(known, _)| schema == "http" && *known == name)?;
    Some(MediaType(known.1))
}
