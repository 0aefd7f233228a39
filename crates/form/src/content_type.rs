//! `Content-Type` headers.

use std::borrow::Cow;

use crate::parameters::{Parameterized, is_token};

/// A `Content-Type` header, read.
///
/// ```
/// let content_type = form::ContentType::parse("Text/HTML; charset=\"UTF-8\"").unwrap();
/// assert_eq!(content_type.media_type, "text/html");
/// assert!(content_type.is_utf8());
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContentType<'a> {
    /// Type and subtype in lower case, such as `text/html`.
    pub media_type: String,
    /// The character set as written.
    pub charset: Option<Cow<'a, str>>,
    /// The boundary of a multipart type.
    pub boundary: Option<Cow<'a, str>>,
}

impl<'a> ContentType<'a> {
    /// Reads the header, or `None` if it is malformed.
    pub fn parse(header: &'a str) -> Option<Self> {
        let mut parsed = Parameterized::parse(header)?;
        let (kind, subtype) = parsed.value.split_once('/')?;
        if !is_token(kind) || !is_token(subtype) {
            return None;
        }
        Some(Self {
            media_type: parsed.value.to_ascii_lowercase(),
            charset: parsed.take("charset"),
            boundary: parsed.take("boundary"),
        })
    }

    /// Whether text of this type can be read as UTF-8: no charset, UTF-8, or its subset ASCII.
    pub fn is_utf8(&self) -> bool {
        self.charset.as_deref().is_none_or(|charset| {
            ["utf-8", "utf8", "us-ascii"].iter().any(|known| charset.eq_ignore_ascii_case(known))
        })
    }

    /// Whether the type is JSON: `application/json` or one that ends in `+json`.
    pub fn is_json(&self) -> bool {
        self.media_type == "application/json" || self.media_type.ends_with("+json")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn type_and_parameters_are_read() {
        let parsed = ContentType::parse("multipart/form-data; boundary=\"a b\"; charset=latin1").unwrap();
        assert_eq!(parsed.media_type, "multipart/form-data");
        assert_eq!(parsed.boundary.as_deref(), Some("a b"));
        assert!(!parsed.is_utf8());
    }

    #[test]
    fn json_types_are_known() {
        let is_json = |header| ContentType::parse(header).unwrap().is_json();
        assert!(is_json("application/json; charset=utf-8"));
        assert!(is_json("application/problem+JSON"));
        assert!(!is_json("text/json5"));
    }

    #[test]
    fn malformed_headers_are_refused() {
        for header in ["", "text", "text/", "/html", "te xt/html", "text/html; charset", "a/b/c"] {
            assert_eq!(ContentType::parse(header), None, "{header}");
        }
    }
}
