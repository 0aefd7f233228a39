//! Query strings and `application/x-www-form-urlencoded`.
//!
//! As the [URL standard](https://url.spec.whatwg.org/#urlencoded-parsing) has it, with one difference: bytes
//! that are not UTF-8, and NUL, are errors. A `%` without two hexadecimal digits stands for itself, because
//! people type query strings by hand.

use std::borrow::Cow;

use percent_encoding::percent_decode;

use crate::error::{FormError, TextFault, shortened, text};

/// A name and its value.
pub type Pair<'a> = (Cow<'a, str>, Cow<'a, str>);

/// Reads `a=1&b=two+words&c`. Names may repeat, and the order is kept; empty pieces are skipped; a piece
/// without `=` has an empty value.
///
/// ```
/// let pairs = form::urlencoded::parse(b"q=two+words&q=%C3%BC", 100)?;
/// assert_eq!(pairs, [("q".into(), "two words".into()), ("q".into(), "ü".into())]);
/// # Ok::<(), form::FormError>(())
/// ```
pub fn parse(input: &[u8], max_fields: usize) -> Result<Vec<Pair<'_>>, FormError> {
    let mut pairs = Vec::new();
    for piece in input.split(|byte| *byte == b'&').filter(|piece| !piece.is_empty()) {
        if pairs.len() == max_fields {
            return Err(FormError::TooManyFields { limit: max_fields });
        }
        let (name, value) = match memchr::memchr(b'=', piece) {
            Some(at) => (&piece[..at], &piece[at + 1..]),
            None => (piece, &[][..]),
        };
        let name = decode(name).map_err(|fault| FormError::BadName { position: pairs.len() + 1, fault })?;
        let value = decode(value).map_err(|fault| FormError::BadValue { field: shortened(&name), fault })?;
        pairs.push((name, value));
    }
    Ok(pairs)
}

/// Borrows what has neither `+` nor `%`.
fn decode(raw: &[u8]) -> Result<Cow<'_, str>, TextFault> {
    if memchr::memchr2(b'+', b'%', raw).is_none() {
        return text(raw).map(Cow::Borrowed);
    }
    let spaced: Vec<u8> = raw.iter().map(|&byte| if byte == b'+' { b' ' } else { byte }).collect();
    let decoded: Vec<u8> = percent_decode(&spaced).collect();
    text(&decoded).map(|text| Cow::Owned(text.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(input: &str) -> Vec<(String, String)> {
        let parsed = parse(input.as_bytes(), 100).unwrap();
        parsed.into_iter().map(|(name, value)| (name.into_owned(), value.into_owned())).collect()
    }

    fn pair(name: &str, value: &str) -> (String, String) {
        (name.to_owned(), value.to_owned())
    }

    #[test]
    fn pieces_are_read_in_order() {
        assert_eq!(pairs("a=1&b=2&a=3"), [pair("a", "1"), pair("b", "2"), pair("a", "3")]);
        assert_eq!(pairs("&&a&=x&b==&"), [pair("a", ""), pair("", "x"), pair("b", "=")]);
        assert_eq!(pairs(""), []);
    }

    #[test]
    fn escapes_are_decoded_after_the_cuts() {
        assert_eq!(pairs("a%26b=c%3Dd%2B+e"), [pair("a&b", "c=d+ e")]);
        assert_eq!(pairs("n=100%&m=%zz%4"), [pair("n", "100%"), pair("m", "%zz%4")]);
    }

    #[test]
    fn plain_text_is_borrowed() {
        let parsed = parse("name=jörg".as_bytes(), 1).unwrap();
        assert!(matches!(&parsed[0], (Cow::Borrowed("name"), Cow::Borrowed("jörg"))));
    }

    #[test]
    fn what_postgres_cannot_hold_names_its_field() {
        let fault = |input: &[u8]| parse(input, 9).unwrap_err().to_string();
        assert_eq!(fault(b"a=1&b=%ff"), "the value of field 'b' is not valid UTF-8");
        assert_eq!(fault(b"a=1&b=\xff"), "the value of field 'b' is not valid UTF-8");
        assert_eq!(fault(b"b=x%00"), "the value of field 'b' contains a NUL byte");
        assert_eq!(fault(b"a=1&%00=2"), "the name of field number 2 contains a NUL byte");
    }

    #[test]
    fn one_field_too_many_is_refused() {
        assert!(parse(b"a&b&c", 3).is_ok());
        assert_eq!(parse(b"a&b&c&d", 3), Err(FormError::TooManyFields { limit: 3 }));
    }
}
