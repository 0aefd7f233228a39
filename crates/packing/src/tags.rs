//! Entity tags of answers that are packed: `"x-zstd"` for `"x"`. A weak one says that its answers mean the same, and is one for all codings.

use std::borrow::Cow;

use codings::Coding;
use conditions::Preconditions;
use message::{Response, ResponseBuilder};

/// The tag of an answer by a coding.
pub(crate) fn suffixed(tag: &[u8], coding: Coding) -> Cow<'_, [u8]> {
    match tag.strip_suffix(b"\"").filter(|start| start.starts_with(b"\"")) {
        Some(start) => [start, b"-", coding.name().as_bytes(), b"\""].concat().into(),
        None => tag.into(),
    }
}

/// The tag that an answer has while it is plain; none if it has none.
pub fn plain_tag<'r>(response: &Response<'r>) -> Option<Cow<'r, [u8]>> {
    let header = |wanted: &[u8]| response.headers().find(|(name, _)| *name == wanted).map(|(_, value)| value);
    let tag = header(b"etag")?;
    let coding = header(b"content-encoding").and_then(Coding::of);
    let stripped = coding.and_then(|coding| {
        let start = tag.strip_suffix(format!("-{}\"", coding.name()).as_bytes())?;
        Some([start, b"\""].concat())
    });
    Some(stripped.map_or(tag.into(), Cow::from))
}

/// A 304 with the tag by which its client knows the answer, where that names a coding: a cache between looks for what it has by the tag.
pub fn known_as(unmodified: Vec<u8>, preconditions: &Preconditions<'_>) -> Vec<u8> {
    let retagged = || {
        let response = Response::parse(&unmodified).ok()?;
        let tag = response.headers().find(|(name, _)| *name == b"etag")?.1;
        let known = preconditions.known_as(tag)?;
        let mut builder = ResponseBuilder::new(response.status()).ok()?;
        for (name, value) in response.headers() {
            builder.header(name, if name == b"etag" { &known[..] } else { value }).ok()?;
        }
        let mut retagged = builder.finish(response.body());
        message::vary_by(&mut retagged, "accept-encoding");
        Some(retagged)
    };
    retagged().unwrap_or(unmodified)
}
