//! Percent-decoding of paths, and which paths are refused.

use std::borrow::Cow;
use std::fmt;

use percent_encoding::percent_decode_str;

/// Why a path is answered with 400 instead of being routed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathError {
    /// A `%` without two hexadecimal digits behind it.
    BadEscape,
    /// The decoded bytes are not UTF-8.
    NotUtf8,
    /// A NUL byte, which PostgreSQL's text cannot hold.
    Nul,
}

impl fmt::Display for PathError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::BadEscape => "the path has a '%' that two hexadecimal digits do not follow",
            Self::NotUtf8 => "the path is not valid UTF-8 once it is percent-decoded",
            Self::Nul => "the path contains a NUL byte",
        })
    }
}

impl std::error::Error for PathError {}

/// Decodes a whole raw path. Encoded slashes become slashes: use it for display and for the request's `path`,
/// never for routing.
pub fn decode(raw: &str) -> Result<Cow<'_, str>, PathError> {
    if !needs_decoding(raw)? {
        return Ok(Cow::Borrowed(raw));
    }
    check_escapes(raw)?;
    let decoded = percent_decode_str(raw).decode_utf8().map_err(|_| PathError::NotUtf8)?;
    if decoded.contains('\0') {
        return Err(PathError::Nul);
    }
    Ok(decoded)
}

/// Whether the path has escapes. One pass over the bytes, and for most paths the only one.
pub(crate) fn needs_decoding(raw: &str) -> Result<bool, PathError> {
    match memchr::memchr2(b'%', 0, raw.as_bytes()) {
        None => Ok(false),
        Some(at) if raw.as_bytes()[at] == b'%' => Ok(true),
        Some(_) => Err(PathError::Nul),
    }
}

/// Decodes part of a path that [`decode`] has accepted. A slash is one byte, so a cut at slashes leaves every
/// part valid.
pub(crate) fn decode_checked(part: &str) -> Cow<'_, str> {
    percent_decode_str(part).decode_utf8_lossy()
}

fn check_escapes(raw: &str) -> Result<(), PathError> {
    let bytes = raw.as_bytes();
    for at in memchr::memchr_iter(b'%', bytes) {
        match bytes.get(at + 1..at + 3) {
            Some(digits) if digits.iter().all(u8::is_ascii_hexdigit) => {}
            _ => return Err(PathError::BadEscape),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_text_is_borrowed() {
        assert!(matches!(decode("/users/jörg"), Ok(Cow::Borrowed("/users/jörg"))));
    }

    #[test]
    fn escapes_are_decoded_once() {
        assert_eq!(decode("/a%2Fb%20c%2541").unwrap(), "/a/b c%41");
    }

    #[test]
    fn a_plus_is_a_plus() {
        assert_eq!(decode("/a+b%2B").unwrap(), "/a+b+");
    }

    #[test]
    fn what_postgres_cannot_hold_is_refused() {
        assert_eq!(decode("/a%00"), Err(PathError::Nul));
        assert_eq!(decode("/a\0"), Err(PathError::Nul));
        assert_eq!(decode("/%20\0"), Err(PathError::Nul));
        assert_eq!(decode("/%ff"), Err(PathError::NotUtf8));
        assert_eq!(decode("/%c3/%a9"), Err(PathError::NotUtf8));
        assert_eq!(decode("/%ed%a0%80"), Err(PathError::NotUtf8));
    }

    #[test]
    fn broken_escapes_are_refused() {
        for raw in ["/%", "/%4", "/%4g", "/%%41", "/100%/x"] {
            assert_eq!(decode(raw), Err(PathError::BadEscape), "{raw}");
        }
    }
}
