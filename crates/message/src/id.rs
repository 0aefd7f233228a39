//! The id of a request: what the client sent as X-Request-Id if it is sane, otherwise one made here.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

/// The longest id that is taken from a client, in bytes.
pub const MAX_LEN: usize = 128;

/// Whether an id that a client sent may go into logs and answers: 1 to 128 visible ASCII characters.
pub fn is_sane(id: &[u8]) -> bool {
    (1..=MAX_LEN).contains(&id.len()) && id.iter().all(u8::is_ascii_graphic)
}

/// The id that a client sent, if it is sane.
pub fn sane(id: &[u8]) -> Option<&str> {
    std::str::from_utf8(id).ok().filter(|id| is_sane(id.as_bytes()))
}

/// The id of a request, beside the request: it outlives it until the answer. The ids that are made here, and those that most
/// clients make, take no memory of their own.
#[derive(Debug, Clone)]
pub struct Kept(Place);

/// Bytes of a UUID.
const SHORT: usize = 36;

#[derive(Debug, Clone)]
enum Place {
    Here { length: u8, bytes: [u8; SHORT] },
    Elsewhere(Box<[u8]>),
}

impl Kept {
    pub(crate) fn new(id: &[u8]) -> Self {
        if id.len() > SHORT {
            return Self(Place::Elsewhere(id.into()));
        }
        let mut bytes = [0; SHORT];
        bytes[..id.len()].copy_from_slice(id);
        Self(Place::Here { length: id.len() as u8, bytes })
    }

    /// The id: visible ASCII.
    pub fn as_bytes(&self) -> &[u8] {
        match &self.0 {
            Place::Here { length, bytes } => &bytes[..usize::from(*length)],
            Place::Elsewhere(bytes) => bytes,
        }
    }
}

/// Bytes of a new id.
pub const LENGTH: usize = 16;

/// A new id, as [`push_new`] makes them.
pub fn new() -> String {
    let mut id = Vec::with_capacity(LENGTH);
    push_new(&mut id);
    id.into_iter().map(char::from).collect()
}

/// Appends a new id of 16 hexadecimal digits.
///
/// The counter starts at a value that depends on the time and the process, and is mixed by a bijection
/// (splitmix64): within a process no id comes twice, and two processes are unlikely to meet. It is no secret.
/// The start is chosen at first use, so a process that forks has to do so before.
pub fn push_new(out: &mut Vec<u8>) {
    let number = mix(next());
    let digits = [digits((number >> 32) as u32), digits(number as u32)];
    out.extend_from_slice(digits.as_flattened());
}

/// Eight hexadecimal digits, all at once: a nibble goes into each byte, and becomes its digit there. One by one they cost a
/// hundred instructions more.
fn digits(number: u32) -> [u8; 8] {
    let number = u64::from(number);
    let number = (number | number << 16) & 0x0000_ffff_0000_ffff;
    let number = (number | number << 8) & 0x00ff_00ff_00ff_00ff;
    let number = (number | number << 4) & 0x0f0f_0f0f_0f0f_0f0f;
    let is_letter = (number + 0x0606_0606_0606_0606) >> 4 & 0x0101_0101_0101_0101;
    (number + 0x3030_3030_3030_3030 + is_letter * u64::from(b'a' - b'0' - 10)).to_be_bytes()
}

fn next() -> u64 {
    static START: OnceLock<u64> = OnceLock::new();
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let start = START.get_or_init(|| {
        let time = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos() as u64;
        mix(time ^ mix(u64::from(std::process::id())))
    });
    start.wrapping_add(COUNT.fetch_add(1, Ordering::Relaxed))
}

/// The finalizer of splitmix64.
fn mix(number: u64) -> u64 {
    let number = (number ^ number >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ number >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ number >> 31
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    #[test]
    fn ids_are_sixteen_hexadecimal_digits_and_differ() {
        let ids: HashSet<Vec<u8>> = (0..10_000)
            .map(|_| {
                let mut id = Vec::new();
                super::push_new(&mut id);
                id
            })
            .collect();
        assert_eq!(ids.len(), 10_000);
        assert!(ids.iter().all(|id| id.len() == 16 && id.iter().all(u8::is_ascii_hexdigit)));
    }

    #[test]
    fn digits_are_those_of_the_number() {
        for number in [0, 1, 0x0123_4567, 0x89ab_cdef, 0xf0f0_0f0f, u32::MAX] {
            assert_eq!(super::digits(number), format!("{number:08x}").as_bytes());
        }
    }

    #[test]
    fn an_id_is_kept_beside_its_message() {
        use crate::{RequestBuilder, RequestLine};
        for length in [1, 16, 36, 37, 128] {
            let sent = "i".repeat(length);
            let mut builder =
                RequestBuilder::new(&RequestLine { method: "GET", ..RequestLine::default() }, 3, 0);
            builder.header(b"a", b"b");
            builder.header(b"x-request-id", sent.as_bytes());
            let mut message = builder.finish(b"body");
            assert_eq!(super::Kept::of(&message).as_bytes(), sent.as_bytes());
            message.truncate(70);
            assert_eq!(super::Kept::of(&message).as_bytes(), b"");
        }
        let made = RequestBuilder::new(&RequestLine::default(), 0, 0).finish_head();
        assert_eq!(super::Kept::of(&made).as_bytes(), crate::Request::parse(&made).unwrap().id().as_bytes());
        assert_eq!(super::Kept::of(b"").as_bytes(), b"");
    }

    #[test]
    fn only_visible_ascii_of_bounded_length_is_sane() {
        assert!(super::is_sane(b"a-1_/{}"));
        assert!(super::is_sane(&[b'x'; 128]));
        for bad in [&b""[..], &[b'x'; 129], b"a b", b"a\tb", b"\x7f", b"\xc3\xa4"] {
            assert!(!super::is_sane(bad), "{bad:?}");
        }
    }
}
