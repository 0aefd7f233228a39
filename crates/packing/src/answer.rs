//! An answer by a coding.

use codings::{Coding, Packer};
use message::{Response, ResponseBuilder};

use crate::tags::suffixed;

/// Bytes that a packed answer has beside those of the plain one: its coding, `Vary`, the end of its tag.
const MORE: usize = 128;

/// A [`message::Response`] by a coding, in memory that is there already; none if it becomes no shorter, or is none, or there is no
/// memory for it. What depends on the memory that clients choose is asked for by [`Vec::try_reserve`].
pub fn packed(response: &[u8], coding: Coding, packer: &mut Packer, mut buffer: Vec<u8>) -> Option<Vec<u8>> {
    let plain = Response::parse(response).ok()?;
    buffer.clear();
    buffer.try_reserve(response.len() + MORE).ok()?;
    let mut builder = ResponseBuilder::in_buffer(buffer, plain.status()).ok()?;
    if plain.closes() {
        builder.close();
    }
    for (name, value) in plain.headers() {
        match name {
            b"etag" => builder.header(name, suffixed(value, coding)).ok()?,
            _ => builder.header(name, value).ok()?,
        }
    }
    builder.header("content-encoding", coding.name()).ok()?;
    let mut bytes = builder.finish_head();
    message::vary_by(&mut bytes, "accept-encoding");
    let is_shorter = packer.pack(coding, plain.body(), &mut bytes).unwrap_or_default();
    is_shorter.then_some(bytes)
}
