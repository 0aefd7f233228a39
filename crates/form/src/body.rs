//! A form's body as a list of fields, whichever way it is encoded.

use std::borrow::Cow;

use crate::{ContentType, FormError, multipart, urlencoded};

/// A field of a form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field<'a> {
    /// Its name. Names may repeat.
    pub name: Cow<'a, str>,
    /// Its value.
    pub value: Value<'a>,
}

/// What a field holds.
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
    /// The part's `Content-Type`, as sent.
    pub content_type: Option<&'a str>,
    /// The file's bytes.
    pub bytes: &'a [u8],
}

/// Reads a form's body. `None` if the type is not one of a form.
///
/// ```
/// let content_type = form::ContentType::parse("application/x-www-form-urlencoded").unwrap();
/// let fields = form::body::parse(&content_type, b"name=J%C3%B6rg", 100)?.unwrap();
/// assert_eq!(fields[0].name, "name");
/// assert_eq!(fields[0].value, form::Value::Text("Jörg".into()));
/// # Ok::<(), form::FormError>(())
/// ```
pub fn parse<'a>(
    content_type: &ContentType<'_>,
    body: &'a [u8],
    max_fields: usize,
) -> Result<Option<Vec<Field<'a>>>, FormError> {
    match &*content_type.media_type {
        "application/x-www-form-urlencoded" => {
            let pairs = urlencoded::parse(body, max_fields)?;
            let field = |(name, value)| Field { name, value: Value::Text(value) };
            Ok(Some(pairs.into_iter().map(field).collect()))
        }
        "multipart/form-data" => {
            let boundary = content_type.boundary.as_deref().unwrap_or_default();
            multipart::parse(body, boundary, max_fields).map(Some)
        }
        _ => Ok(None),
    }
}
