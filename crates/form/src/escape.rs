//! Text into HTML and URLs.

use std::borrow::Cow;
use std::iter;

use percent_encoding::{AsciiSet, CONTROLS, NON_ALPHANUMERIC, utf8_percent_encode};

/// What stands for itself in every part of a URL (RFC 3986, 2.3) is not in it.
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');
/// What stands in no URL (RFC 3986, 2); all that is not ASCII does not either.
const NOT_IN_URLS: &AsciiSet = &CONTROLS
    .add(b' ')
    .add(b'"')
    .add(b'<')
    .add(b'>')
    .add(b'\\')
    .add(b'^')
    .add(b'`')
    .add(b'{')
    .add(b'|')
    .add(b'}');

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
            None => plain_length(rest),
        };
        let (piece, after) = rest.split_at(length);
        rest = after;
        Some(piece)
    })
}

/// Gives each of [`html_pieces`] to `take`.
///
/// ```
/// let mut pieces = Vec::new();
/// form::escape::each_html_piece("a<b", |piece| pieces.push(piece));
/// assert_eq!(pieces, ["a", "&lt;", "b"]);
/// ```
#[inline]
pub fn each_html_piece<'a>(text: &'a str, mut take: impl FnMut(&'a str)) {
    let mut rest = text;
    loop {
        let length = plain_length(rest);
        if length > 0 {
            take(&rest[..length]);
        }
        let Some(reference) = rest.as_bytes().get(length).and_then(|byte| reference(*byte)) else { return };
        take(reference);
        rest = &rest[length + 1..];
    }
}

/// The number of bytes before the first that needs an escape. Sixteen are looked at at a time, which compilers make one of.
#[inline]
fn plain_length(text: &str) -> usize {
    let bytes = text.as_bytes();
    let is_special_in = |found: bool, byte: &u8| {
        let is_quote = (*byte == b'"') | (*byte == b'\'') | (*byte == b'\r');
        found | is_quote | (*byte == b'&') | (*byte == b'<') | (*byte == b'>')
    };
    let (chunks, _) = bytes.as_chunks::<16>();
    let mut plain = 16 * chunks.iter().take_while(|chunk| !chunk.iter().fold(false, is_special_in)).count();
    if let Some(chunk) = bytes[plain..].first_chunk::<8>()
        && !chunk.iter().fold(false, is_special_in)
    {
        plain += 8;
    }
    plain + bytes[plain..].iter().position(|byte| is_special(*byte)).unwrap_or(bytes.len() - plain)
}

/// Encodes text as a part of a URL, piece by piece: a segment of a path, a name or a value of a query string. All but letters,
/// digits, `-`, `.`, `_` and `~` is percent-encoded.
///
/// ```
/// assert_eq!(form::escape::url_pieces("a b/ü").collect::<String>(), "a%20b%2F%C3%BC");
/// ```
pub fn url_pieces(text: &str) -> impl Iterator<Item = &str> {
    utf8_percent_encode(text, RESERVED)
}

/// Makes a URL of what people write for one, piece by piece: blanks, and what is not ASCII, are percent-encoded; what is encoded
/// already stays.
///
/// ```
/// assert_eq!(form::escape::location_pieces("/a b?c=%20ü#d").collect::<String>(), "/a%20b?c=%20%C3%BC#d");
/// ```
pub fn location_pieces(text: &str) -> impl Iterator<Item = &str> {
    utf8_percent_encode(text, NOT_IN_URLS)
}

fn is_special(byte: u8) -> bool {
    const SPECIAL: [bool; 256] = {
        let mut special = [false; 256];
        let mut byte = 0;
        while byte < special.len() {
            special[byte] = reference(byte as u8).is_some();
            byte += 1;
        }
        special
    };
    SPECIAL[usize::from(byte)]
}

const fn reference(byte: u8) -> Option<&'static str> {
    match byte {
        b'&' => Some("&amp;"),
        b'<' => Some("&lt;"),
        b'>' => Some("&gt;"),
        b'"' => Some("&quot;"),
        b'\'' => Some("&#39;"),
        // A parser takes one that is written as it is for the end of a line.
        b'\r' => Some("&#13;"),
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

    /// Texts are looked at in chunks: each byte stands at each place of one, alone and beside another, and behind characters of several bytes.
    #[test]
    fn each_byte_is_escaped_at_each_place_of_texts_of_each_length() {
        let naive = |text: &str| {
            text.chars().fold(String::new(), |made, character| {
                match u8::try_from(character).ok().and_then(reference) {
                    Some(reference) => made + reference,
                    None => made + character.encode_utf8(&mut [0; 4]),
                }
            })
        };
        let check = |text: &str| {
            let expected = naive(text);
            let mut made = String::new();
            each_html_piece(text, |piece| made.push_str(piece));
            assert_eq!(made, expected, "{text:?}");
            assert_eq!(html_pieces(text).collect::<String>(), expected, "{text:?}");
            assert_eq!(html(text), expected, "{text:?}");
        };
        for byte in (0..128_u8).map(char::from) {
            for length in 0..=40 {
                for place in 0..=length {
                    let (before, behind) = ("a".repeat(place), "b".repeat(length - place));
                    check(&format!("{before}{byte}{behind}"));
                    check(&format!("ü{before}{byte}{behind}<"));
                }
            }
        }
    }
}
