//! What a request has for arguments, before PostgreSQL converts it.

use std::borrow::Cow;

use form::File;
use problem::ParameterError;

/// What the request has for an argument.
#[derive(Debug)]
pub enum Value<'a> {
    /// JSON's null.
    Null,
    /// A field of a form or a query in which nothing is, for an argument whose type has no empty text.
    Empty,
    /// Text, to be converted.
    Text(Cow<'a, str>),
    /// Several texts of the same name, or the elements of a JSON array.
    Many(Vec<Option<Cow<'a, str>>>),
    /// JSON, as its text.
    Json(&'a str),
    /// Bytes.
    Bytes(&'a [u8]),
    /// An uploaded file.
    File(File<'a>),
    /// Several of the same name.
    Files(Vec<File<'a>>),
    /// A row, of which each attribute has the value of its own name.
    Row(Vec<Value<'a>>),
    /// The request itself.
    Request,
}

/// Why arguments cannot be bound: the client's fault.
#[derive(Debug)]
pub struct BindError {
    /// What is answered.
    pub status: u16,
    /// What is wrong.
    pub detail: String,
}

impl BindError {
    /// 400.
    pub(crate) fn bad(detail: impl Into<String>) -> Self {
        Self { status: 400, detail: detail.into() }
    }
}

/// The values of the arguments that the request gives, and which these are, as a bit set.
#[derive(Debug, Default)]
pub struct Bound<'a> {
    /// One value for each bit of `given`.
    pub values: Vec<Value<'a>>,
    /// Which arguments are given.
    pub given: u64,
    /// Arguments that are missing, or whose values cannot be read, and what is wrong with them.
    pub wrong: Vec<(ArgumentPlace, ParameterError)>,
}

/// The place of an argument, and of the attribute of its row, if it is that.
pub type ArgumentPlace = (usize, Option<usize>);
