//! `multipart/form-data` ([RFC 7578](https://www.rfc-editor.org/rfc/rfc7578)) over a complete body.
//!
//! Published parsers read streams. Over bytes in memory the format is a search for boundaries, and values
//! stay where they are.

use std::borrow::Cow;

use httparse::{EMPTY_HEADER, Header, Status};
use memchr::memmem;

use crate::error::{FormError, shortened, text};
use crate::field::{Field, File, Value};
use crate::parameters::Parameterized;

/// Longest head of one part, in bytes.
const MAX_HEAD: usize = 8 * 1024;
/// Most header lines of one part.
const MAX_HEADERS: usize = 16;

/// Reads all parts in order. A part with a `filename` is a file; any other is text. What a browser sends for a file that
/// nobody chose, no name and no bytes, is left out.
pub fn parse<'a>(body: &'a [u8], boundary: &str, max_parts: usize) -> Result<Vec<Field<'a>>, FormError> {
    if !is_boundary(boundary) {
        return Err(broken(0, "the Content-Type header has no valid boundary"));
    }
    let delimiter = format!("\r\n--{boundary}");
    let finder = memmem::Finder::new(&delimiter);
    // The first delimiter may stand at the very beginning, without the line break before it.
    let mut rest = if body.starts_with(&delimiter.as_bytes()[2..]) {
        &body[delimiter.len() - 2..]
    } else {
        let at = finder.find(body).ok_or_else(|| broken(0, "the boundary does not occur in it"))?;
        &body[at + delimiter.len()..]
    };
    let (mut fields, mut position) = (Vec::new(), 0);
    while !rest.starts_with(b"--") {
        if position == max_parts {
            return Err(FormError::TooManyFields { limit: max_parts });
        }
        position += 1;
        let part = after_delimiter(rest).map_err(|reason| broken(position, reason))?;
        let end = finder.find(part).ok_or_else(|| broken(position, "its end is missing"))?;
        let field = read_part(&part[..end + 2], position)?;
        if !is_unfilled(&field) {
            fields.push(field);
        }
        rest = &part[end + delimiter.len()..];
    }
    Ok(fields)
}

/// Whether it is a file that the user has not chosen.
fn is_unfilled(field: &Field<'_>) -> bool {
    matches!(&field.value, Value::File(file) if file.name.is_empty() && file.bytes.is_empty())
}

/// RFC 2046: 1 to 70 characters, of which a space is not the last.
fn is_boundary(boundary: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"'()+_,-./:=? ".contains(&byte);
    (1..=70).contains(&boundary.len()) && boundary.bytes().all(allowed) && !boundary.ends_with(' ')
}

/// Skips the blanks that may follow a boundary and the line break. The line break that begins the part stays,
/// for it may be the one before the next delimiter.
fn after_delimiter(rest: &[u8]) -> Result<&[u8], &'static str> {
    let blanks = rest.iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
    if rest[blanks..].starts_with(b"\r\n") {
        Ok(&rest[blanks..])
    } else if rest.len() == blanks {
        Err("its end is missing")
    } else {
        Err("the boundary before it is followed by other text")
    }
}

/// Reads one part with the line breaks around it: the one after its delimiter and the one that begins the
/// next. Where the content is empty, the latter may end the head as well.
fn read_part(part: &[u8], position: usize) -> Result<Field<'_>, FormError> {
    let bad = |reason| broken(position, reason);
    let head_end = memmem::find(part, b"\r\n\r\n").ok_or_else(|| bad("its head has no end"))? + 4;
    let content = part.get(head_end..part.len() - 2).unwrap_or_default();
    let (disposition, content_type) = read_head(&part[2..head_end]).map_err(bad)?;
    let mut disposition = Parameterized::parse(disposition)
        .filter(|parsed| parsed.value.eq_ignore_ascii_case("form-data"))
        .ok_or_else(|| bad("its Content-Disposition header is malformed"))?;
    let name = disposition.take("name").ok_or_else(|| bad("it has no name"))?;
    let value = match disposition.take("filename") {
        Some(name) => {
            let content_type = content_type.unwrap_or("text/plain");
            Value::File(File { name, content_type, bytes: content })
        }
        None => {
            let text =
                text(content).map_err(|fault| FormError::BadValue { field: shortened(&name), fault })?;
            Value::Text(Cow::Borrowed(text))
        }
    };
    Ok(Field { name, value })
}

/// The values of `Content-Disposition` and `Content-Type` from the header lines of a part, which end with an
/// empty line.
fn read_head(lines: &[u8]) -> Result<(&str, Option<&str>), &'static str> {
    if lines.len() > MAX_HEAD {
        return Err("its head is too long");
    }
    let mut headers = [EMPTY_HEADER; MAX_HEADERS];
    let headers = match httparse::parse_headers(lines, &mut headers) {
        Ok(Status::Complete((_, headers))) => headers,
        Err(httparse::Error::TooManyHeaders) => return Err("it has too many headers"),
        Ok(Status::Partial) | Err(_) => return Err("its headers are malformed"),
    };
    let disposition =
        header(headers, "content-disposition")?.ok_or("it has no Content-Disposition header")?;
    Ok((disposition, header(headers, "content-type")?))
}

/// The value of a header that may stand there once.
fn header<'a>(headers: &[Header<'a>], name: &str) -> Result<Option<&'a str>, &'static str> {
    let mut found = headers.iter().filter(|header| header.name.eq_ignore_ascii_case(name));
    match (found.next(), found.next()) {
        (_, Some(_)) => Err("it has the same header twice"),
        (Some(header), None) => text(header.value).map(Some).map_err(|_| "its headers are not valid UTF-8"),
        (None, None) => Ok(None),
    }
}

fn broken(part: usize, reason: &'static str) -> FormError {
    FormError::BadMultipart { part, reason }
}
