//! Fields of a form, whichever way it is encoded.

use std::borrow::Cow;

/// A field of a form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field<'a> {
    /// Its name. Names may repeat.
    pub name: Cow<'a, str>,
    /// Its value.
    pub value: Value<'a>,
}

/// The value of a field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value<'a> {
    /// Text: UTF-8 without NUL.
    Text(Cow<'a, str>),
    /// An uploaded file.
    File(File<'a>),
}

/// An uploaded file. Name and type are the client's claims: never use the name as a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File<'a> {
    /// The file's name; empty if the client gave none.
    pub name: Cow<'a, str>,
    /// The part's `Content-Type`, as sent; `text/plain` if it has none (RFC 7578, 4.4).
    pub content_type: &'a str,
    /// The file's bytes.
    pub bytes: &'a [u8],
}
