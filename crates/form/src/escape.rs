//! Text into HTML.

use std::borrow::Cow;
use std::iter;

/// Escapes text for HTML: for the content of elements and for attribute values in either kind of quotes. Not
/// for scripts, style sheets, or attributes without quotes. Text without special characters is borrowed.
///
/// ```
/// assert_eq!(form::escape::html("<b> & 'c'"), "&lt;b&gt; &amp; &#39;c&#39;");
/// ```
pub fn html(text: &str) -> Cow<'_, str> {
    if !text.bytes().any(is_special) {
        return Cow::Borrowed(text);
    }
    let mut escaped = String::with_capacity(text.len() + text.len() / 8 + 8);
    escaped.extend(html_pieces(text));
    Cow::Owned(escaped)
}

/// What [`html`] makes of a text, piece by piece, for who has a place for it: what needs no escape, and references.
///
/// ```
/// assert_eq!(form::escape::html_pieces("a<b").collect::<Vec<_>>(), ["a", "&lt;", "b"]);
/// ```
pub fn html_pieces(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    iter::from_fn(move || {
        let &first = rest.as_bytes().first()?;
        let length = match reference(first) {
            Some(reference) => {
                rest = &rest[1..];
                return Some(reference);
            }
            None => rest.bytes().position(is_special).unwrap_or(rest.len()),
        };
        let (piece, after) = rest.split_at(length);
        rest = after;
        Some(piece)
    })
}

fn is_special(byte: u8) -> bool {
    reference(byte).is_some()
}

fn reference(byte: u8) -> Option<&'static str> {
    match byte {
        b'&' => Some("&amp;"),
        b'<' => Some("&lt;"),
        b'>' => Some("&gt;"),
        b'"' => Some("&quot;"),
        b'\'' => Some("&#39;"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_text_is_borrowed() {
        assert!(matches!(html("Jörg, 100 %"), Cow::Borrowed("Jörg, 100 %")));
        assert!(matches!(html(""), Cow::Borrowed("")));
    }

    #[test]
    fn every_special_character_is_escaped_wherever_it_stands() {
        assert_eq!(html("<>&\"'"), "&lt;&gt;&amp;&quot;&#39;");
        assert_eq!(html("ü<ö>"), "ü&lt;ö&gt;");
        assert_eq!(html("&amp;"), "&amp;amp;");
    }
}
