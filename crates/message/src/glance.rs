//! Parts of a request that are asked of its message without a check of the rest of it: for who has the message of each request for a moment, and
//! mostly needs nothing of it.

use crate::layout::u32_at;
use crate::request::{CLIENT, ENDS, FIXED, PATH, RAW_PATH};

/// The percent-decoded path in a message that [`crate::RequestBuilder`] has written.
pub fn path_in(message: &[u8]) -> Option<&str> {
    let part = |part: usize| between(message, end_of(message, part - 1)?, end_of(message, part)?);
    match part(PATH)? {
        "" => part(RAW_PATH),
        path => Some(path),
    }
}

/// The values of the headers with a name, in lower case, in a message that [`crate::RequestBuilder`] has written.
pub fn values_in<'m>(message: &'m [u8], name: &str) -> impl Iterator<Item = &'m str> {
    let count = u32_at(message, 24).unwrap_or_default() as usize;
    let mut start = end_of(message, CLIENT).unwrap_or_default();
    let header = move |number: usize| {
        let entry = FIXED + 8 * number;
        let (middle, end) = (u32_at(message, entry)? as usize, u32_at(message, entry + 4)? as usize);
        let begin = std::mem::replace(&mut start, end);
        let is_it =
            middle.checked_sub(begin) == Some(name.len()) && between(message, begin, middle) == Some(name);
        if is_it { between(message, middle, end) } else { None }
    };
    (0..count.min(message.len() / 8)).filter_map(header)
}

/// Where a part of the text ends.
fn end_of(message: &[u8], part: usize) -> Option<usize> {
    u32_at(message, ENDS + 4 * part).map(|end| end as usize)
}

fn between(message: &[u8], start: usize, end: usize) -> Option<&str> {
    let text = FIXED.checked_add(8_usize.checked_mul(u32_at(message, 24)? as usize)?)?;
    std::str::from_utf8(message.get(text.checked_add(start)?..text.checked_add(end)?)?).ok()
}
