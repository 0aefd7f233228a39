//! The body of a request that is packed.

use codings::{Coding, Reserve, Unpacked, unpack_by};
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
    /// There is no memory for it.
    NoMemory,
}

/// Characters of a header that are told.
const TOLD: usize = 100;

/// Whether a request says that its body is packed.
pub fn is_packed(request: &Request<'_>) -> bool {
    coding_names(request).next().is_some()
}

/// The message of a request as if its body had not been packed; none if it says nothing of that. No bytes are none by whichever coding. Memory for it
/// is got by `reserve`.
///
/// # Errors
///
/// Why that cannot be: no more than `bound` bytes are unpacked.
pub fn unpacked(request: &Request<'_>, bound: usize, reserve: Reserve) -> Result<Option<Vec<u8>>, Unread> {
    let mut names = coding_names(request);
    let Some(first) = names.next() else { return Ok(None) };
    if request.body().is_empty() {
        return Ok(Some(request.head_for_plain_body(0)));
    }
    let is_one = names.next().is_none();
    let Some(coding) = Coding::of(first.as_bytes()).filter(|_| is_one) else {
        return Err(Unread::Unknown(told(request)));
    };
    match unpack_by(reserve, coding, request.body(), bound) {
        Ok(Unpacked::Whole(body)) => behind(request.head_for_plain_body(body.len()), body, reserve).map(Some),
        Ok(Unpacked::TooLong) => Err(Unread::TooLong(bound)),
        Ok(Unpacked::NoMemory) => Err(Unread::NoMemory),
        Err(error) => Err(Unread::Invalid(coding, error.to_string())),
    }
}

/// A body behind its head, in the body's memory.
fn behind(head: Vec<u8>, mut body: Vec<u8>, reserve: Reserve) -> Result<Vec<u8>, Unread> {
    if !reserve(&mut body, head.len()) {
        return Err(Unread::NoMemory);
    }
    let length = body.len();
    body.resize(length + head.len(), 0);
    body.copy_within(..length, head.len());
    body[..head.len()].copy_from_slice(&head);
    Ok(body)
}

/// The codings that a request names, in their order, without `identity`.
fn coding_names<'r>(request: &Request<'r>) -> impl Iterator<Item = &'r str> {
    let values = request.headers().filter(|(name, _)| *name == "content-encoding").map(|(_, value)| value);
    let is_one = |name: &&str| !name.is_empty() && !name.eq_ignore_ascii_case("identity");
    values.flat_map(|value| value.split(',')).map(str::trim).filter(is_one)
}

/// The first characters of these names.
fn told(request: &Request<'_>) -> String {
    // No name is shorter than a character.
    let names: Vec<&str> = coding_names(request).take(TOLD).collect();
    names.join(", ").chars().take(TOLD).collect()
}
