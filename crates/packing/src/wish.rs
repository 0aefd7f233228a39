//! Answers that are packed, and those that are not.

use codings::{Accepted, Coding};
use message::{Request, Response};

/// Bytes of a body from which on it is packed: shorter ones fit into a packet or two as they are.
pub const LEAST: usize = 1 << 10;

/// The form in which an answer leaves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Wish {
    /// Everybody gets it as it is.
    Plain,
    /// This client gets it as it is, and others by a coding.
    Varies,
    /// The client gets it by this coding.
    Packed(Coding),
}

/// The form in which the answer to a request leaves.
pub fn wish(request: &Request<'_>, response: &Response<'_>) -> Wish {
    if !gains(response) {
        return Wish::Plain;
    }
    accepted_coding(request, |_| true).map_or(Wish::Varies, Wish::Packed)
}

/// The coding by which a request gets an answer that is packed while its client waits, of those that are there: the one that it likes best, and
/// of these the quickest for what it saves.
pub fn accepted_coding(request: &Request<'_>, is_there: impl Fn(Coding) -> bool) -> Option<Coding> {
    let values = request.headers().filter(|(name, _)| *name == "accept-encoding").map(|(_, value)| value);
    let rank = |coding| match coding {
        Coding::Zstd => 0,
        Coding::Brotli => 1,
        Coding::Gzip => 2,
    };
    Accepted::of(values).best(|coding| is_there(coding).then(|| rank(coding)), 3)
}

/// Whether an answer becomes shorter by a coding, and may.
pub fn gains(response: &Response<'_>) -> bool {
    // A page may take the place of an error's document. A part is one of the plain bytes.
    if response.body().len() < LEAST || response.is_problem() || has_no_whole_body(response.status()) {
        return false;
    }
    headers_gain(response.headers())
}

/// Whether an answer with these headers becomes shorter by a coding, and may. Their names may be in upper case.
pub fn headers_gain<'h>(headers: impl Iterator<Item = (&'h [u8], &'h [u8])>) -> bool {
    let mut gains = false;
    for (name, value) in headers {
        let is = |known: &str| name.eq_ignore_ascii_case(known.as_bytes());
        if is("content-type") {
            gains = std::str::from_utf8(value).is_ok_and(codings::gains);
        }
        let stays = is("cache-control") && has_member(value, b"no-transform")
            || is("accept-ranges") && value != b"none"
            // Of what depends on a secret and on what others can choose the length tells the secret.
            || is("set-cookie")
            || OF_PLAIN_BYTES.iter().any(|known| is(known));
        if stays {
            return false;
        }
    }
    gains
}

/// Headers that say something of the bytes as they are.
const OF_PLAIN_BYTES: [&str; 6] =
    ["content-encoding", "content-range", "content-digest", "repr-digest", "digest", "content-md5"];

/// Whether an answer has an entity tag for its bytes as they are.
pub fn has_strong_tag(response: &Response<'_>) -> bool {
    response.headers().any(|(name, value)| name == b"etag" && value.starts_with(b"\""))
}

/// Whether a status says that a part follows, or nothing, whatever the handler has given.
fn has_no_whole_body(status: u16) -> bool {
    matches!(status, 204 | 205 | 206 | 304)
}

fn has_member(list: &[u8], wanted: &[u8]) -> bool {
    list.split(|byte| *byte == b',').any(|member| member.trim_ascii().eq_ignore_ascii_case(wanted))
}
