//! The work of the functions that a page's SQL calls, apart from PostgreSQL's part in it.
//!
//! - [`html_pieces`], of `http.html_of` and `http.attribute`, for a value that is not HTML.
//! - [`safe_url`], of `http.safe_url`.
//! - [`script_json_pieces`], of `http.script_json`.

use std::borrow::Cow;
use std::iter;

/// Schemes of links and pictures.
const SCHEMES: [&str; 4] = ["http", "https", "mailto", "tel"];
/// An address that leads nowhere.
const NOWHERE: &str = "about:invalid";

/// Text for HTML, piece by piece: for the content of elements and for attributes in either kind of quotes. A parser reads back the very text,
/// also a carriage return, which it would take for a line's end.
///
/// ```
/// assert_eq!(pages::escape::html_pieces("a<b\r").collect::<String>(), "a&lt;b&#13;");
/// ```
pub fn html_pieces(text: &str) -> impl Iterator<Item = &str> {
    pieces(text, |rest| {
        let reference = match rest.as_bytes().first()? {
            b'&' => "&amp;",
            b'<' => "&lt;",
            b'>' => "&gt;",
            b'"' => "&quot;",
            b'\'' => "&#39;",
            b'\r' => "&#13;",
            _ => return None,
        };
        Some((reference, 1))
    })
}

/// JSON for a script, piece by piece: nothing in it ends the script or begins a comment, and it is still the same JSON.
///
/// ```
/// assert_eq!(pages::escape::script_json_pieces("\"</script>\"").collect::<String>(), "\"\\u003c/script\\u003e\"");
/// ```
pub fn script_json_pieces(json: &str) -> impl Iterator<Item = &str> {
    pieces(json, |rest| {
        Some(match rest.as_bytes().first()? {
            b'<' => ("\\u003c", 1),
            b'>' => ("\\u003e", 1),
            b'&' => ("\\u0026", 1),
            0xe2 if rest.starts_with('\u{2028}') => ("\\u2028", 3),
            0xe2 if rest.starts_with('\u{2029}') => ("\\u2029", 3),
            _ => return None,
        })
    })
}

/// A text with what is escaped at the beginning of a rest replaced.
fn pieces<'a>(
    text: &'a str,
    escaped: impl Fn(&'a str) -> Option<(&'static str, usize)>,
) -> impl Iterator<Item = &'a str> {
    let mut rest = text;
    iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        if let Some((piece, length)) = escaped(rest) {
            rest = &rest[length..];
            return Some(piece);
        }
        let end = rest.char_indices().find(|(place, _)| escaped(&rest[*place..]).is_some());
        let (piece, after) = rest.split_at(end.map_or(rest.len(), |(place, _)| place));
        rest = after;
        Some(piece)
    })
}

/// A URL that browsers do not run: one of `http`, `https`, `mailto` and `tel`, or one without a scheme. All else becomes `about:invalid`.
/// It is looked at as browsers do, which leave out some characters before they find the scheme.
///
/// ```
/// use pages::escape::safe_url;
///
/// assert_eq!(safe_url("/books?q=a:b"), "/books?q=a:b");
/// assert_eq!(safe_url("mailto:someone@example.com"), "mailto:someone@example.com");
/// assert_eq!(safe_url(" java\nscript:alert(1)"), "about:invalid");
/// ```
pub fn safe_url(url: &str) -> Cow<'_, str> {
    let read = as_browsers_read(url);
    match scheme(&read) {
        Some(scheme) if !is_known_scheme(scheme) => Cow::Borrowed(NOWHERE),
        _ => Cow::Borrowed(url),
    }
}

/// A URL as browsers read it: without blanks and control characters around it, and without tabs and line ends.
pub(crate) fn as_browsers_read(url: &str) -> Cow<'_, str> {
    let read = url.trim_matches(|letter: char| letter <= ' ');
    match read.contains(['\t', '\n', '\r']) {
        true => Cow::Owned(read.replace(['\t', '\n', '\r'], "")),
        false => Cow::Borrowed(read),
    }
}

/// The text before the first colon, unless the path has begun before.
pub(crate) fn scheme(read: &str) -> Option<&str> {
    let end = read.find([':', '/', '?', '#'])?;
    read[end..].starts_with(':').then(|| &read[..end])
}

pub(crate) fn is_known_scheme(scheme: &str) -> bool {
    SCHEMES.iter().any(|known| scheme.eq_ignore_ascii_case(known))
}
