//! Entity tags: made of bodies, read from lists, compared.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

/// Bytes of a digest that a tag has: nobody finds two bodies with the same.
const DIGEST: usize = 16;
/// What proxies that compress append to a tag, within its quotes.
const SUFFIXES: [&[u8]; 6] = [b"-gzip", b"-br", b"-zstd", b"-deflate", b";gzip", b";br"];

/// The entity tag of a body, strong and with its quotes: the same for the same bytes, on whichever server. Of a page, which may stand beside a
/// route at the same path, it is another than of what programs get there.
pub fn tag_of(body: &[u8], is_page: bool) -> String {
    let digest = blake3::hash(body);
    let kind = if is_page { "-page" } else { "" };
    format!("\"{}{kind}\"", URL_SAFE_NO_PAD.encode(&digest.as_bytes()[..DIGEST]))
}

/// A tag of a list.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Tag<'t> {
    is_weak: bool,
    /// What is within its quotes.
    opaque: &'t [u8],
}

/// Whether lists name a tag, or anything that is there, by strong comparison: a weak tag is equal to none.
pub(crate) fn name_strongly(lists: &[&[u8]], tag: Option<&[u8]>) -> bool {
    name(lists, tag, |named, now| !named.is_weak && !now.is_weak)
}

/// The same by weak comparison: whether they are weak does not matter.
pub(crate) fn name_weakly(lists: &[&[u8]], tag: Option<&[u8]>) -> bool {
    name(lists, tag, |_, _| true)
}

fn name(lists: &[&[u8]], tag: Option<&[u8]>, may_match: impl Fn(Tag<'_>, Tag<'_>) -> bool) -> bool {
    let now =
        tag.and_then(|tag| read(tag.trim_ascii())).filter(|(_, rest)| rest.is_empty()).map(|(tag, _)| tag);
    lists.iter().any(|list| {
        let list = list.trim_ascii();
        list == b"*"
            || now.is_some_and(|now| {
                tags(list).any(|named| is_same(named.opaque, now.opaque) && may_match(named, now))
            })
    })
}

/// The tag of a list that is of the same body as another, compressed on its way; none if that other is named itself.
pub(crate) fn known_as(lists: &[&[u8]], tag: &[u8]) -> Option<Vec<u8>> {
    let (now, _) = read(tag.trim_ascii())?;
    let same = |named: &Tag<'_>| is_same(named.opaque, now.opaque);
    let named = || lists.iter().flat_map(|list| tags(list.trim_ascii())).filter(same);
    if now.is_weak || named().any(|named| named.opaque == now.opaque) {
        return None;
    }
    named().next().map(|named| [b"\"", named.opaque, b"\""].concat())
}

/// Whether tags are of the same body, perhaps compressed on its way.
fn is_same(named: &[u8], now: &[u8]) -> bool {
    named == now || SUFFIXES.iter().any(|suffix| named.strip_suffix(*suffix) == Some(now))
}

/// The tags of a list, until something in it is none.
fn tags(list: &[u8]) -> impl Iterator<Item = Tag<'_>> {
    let mut rest = list;
    std::iter::from_fn(move || {
        // Members may be empty.
        while let Some((b',' | b' ' | b'\t', behind)) = rest.split_first() {
            rest = behind;
        }
        let (tag, behind) = read(rest)?;
        let behind = behind.trim_ascii_start();
        if !behind.is_empty() && behind[0] != b',' {
            rest = b"";
            return None;
        }
        rest = behind;
        Some(tag)
    })
}

/// The tag at the beginning of a text, and what is behind it.
fn read(text: &[u8]) -> Option<(Tag<'_>, &[u8])> {
    let (is_weak, quoted) = match text.strip_prefix(b"W/") {
        Some(quoted) => (true, quoted),
        None => (false, text),
    };
    let inside = quoted.strip_prefix(b"\"")?;
    let end = inside.iter().position(|byte| *byte == b'"')?;
    let opaque = &inside[..end];
    let is_allowed = |byte: &u8| matches!(byte, 0x21 | 0x23..=0x7e | 0x80..=0xff);
    opaque.iter().all(is_allowed).then_some((Tag { is_weak, opaque }, &inside[end + 1..]))
}
