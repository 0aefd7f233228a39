//! The body of a request that is packed.

use std::borrow::Cow;

use codings::{Coding, Unpacked, unpack};
use message::Request;

/// Why a body cannot be unpacked.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Unread {
    /// It is packed by something else than one of the codings that are known, or by several.
    Unknown(String),
    /// The coding, and what is wrong with the bytes.
    Invalid(Coding, String),
    /// It has more bytes than this once it is unpacked.
    TooLong(usize),
}

/// Characters of a header that are told.
const TOLD: usize = 100;

/// Whether a request says that its body is packed.
pub fn is_packed(request: &Request<'_>) -> bool {
    !coding_names(request).is_empty()
}

/// The message of a request as if its body had not been packed; none if it says nothing of that. No bytes are none by whichever coding.
///
/// # Errors
///
/// Why that cannot be: no more than `bound` bytes are unpacked.
pub fn unpacked(request: &Request<'_>, bound: usize) -> Result<Option<Vec<u8>>, Unread> {
    let names = coding_names(request);
    if names.is_empty() {
        return Ok(None);
    }
    if request.body().is_empty() {
        return Ok(Some(request.with_plain_body(b"")));
    }
    let Some(coding) = Coding::of(names.as_bytes()) else {
        return Err(Unread::Unknown(names.chars().take(TOLD).collect()));
    };
    match unpack(coding, request.body(), bound) {
        Ok(Unpacked::Whole(body)) => Ok(Some(request.with_plain_body(&body))),
        Ok(Unpacked::TooLong) => Err(Unread::TooLong(bound)),
        Err(error) => Err(Unread::Invalid(coding, error.to_string())),
    }
}

/// The codings that a request names, in their order; empty if there are none but `identity`.
fn coding_names<'r>(request: &Request<'r>) -> Cow<'r, str> {
    let values = request.headers().filter(|(name, _)| *name == "content-encoding").map(|(_, value)| value);
    let is_one = |name: &&str| !name.is_empty() && !name.eq_ignore_ascii_case("identity");
    let mut names = values.flat_map(|value| value.split(',')).map(str::trim).filter(is_one);
    let Some(first) = names.next() else { return "".into() };
    names.fold(first.into(), |all, name| format!("{all}, {name}").into())
}
