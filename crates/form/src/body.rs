//! A form's body as a list of fields, whichever way it is encoded.

use crate::field::{Field, Value};
use crate::{ContentType, FormError, multipart, urlencoded};

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
