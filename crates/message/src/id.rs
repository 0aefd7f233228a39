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

/// A new id, as [`push_new`] makes them.
pub fn new() -> String {
    let mut id = Vec::with_capacity(16);
    push_new(&mut id);
    id.into_iter().map(char::from).collect()
}

/// Appends a new id of 16 hexadecimal digits.
///
/// The counter starts at a value that depends on the time and the process, and is mixed by a bijection
/// (splitmix64): within a process no id comes twice, and two processes are unlikely to meet. It is no secret.
/// The start is chosen at first use, so a process that forks has to do so before.
pub fn push_new(out: &mut Vec<u8>) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let number = mix(next());
    out.extend((0..16).rev().map(|digit| DIGITS[(number >> (4 * digit) & 15) as usize]));
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
    fn only_visible_ascii_of_bounded_length_is_sane() {
        assert!(super::is_sane(b"a-1_/{}"));
        assert!(super::is_sane(&[b'x'; 128]));
        for bad in [&b""[..], &[b'x'; 129], b"a b", b"a\tb", b"\x7f", b"\xc3\xa4"] {
            assert!(!super::is_sane(bad), "{bad:?}");
        }
    }
}
