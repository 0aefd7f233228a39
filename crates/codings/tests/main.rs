//! Packing and unpacking, and bytes that nobody has packed.

use std::time::Duration;

use codings::{Coding, Packer, Unpacked, pack, unpack};
use hunt::Hunt;

#[test]
fn what_was_packed_comes_back_and_the_same_becomes_the_same() {
    let text = "the quick brown fox ".repeat(5_000);
    for bytes in [&b""[..], b"a", text.as_bytes(), &[0; 70_000]] {
        for coding in Coding::ALL {
            let packed = pack(coding, bytes).unwrap();
            assert_eq!(packed, pack(coding, bytes).unwrap(), "{coding:?}");
            let back = unpack(coding, &packed, bytes.len()).unwrap();
            assert_eq!(back, Unpacked::Whole(bytes.to_vec()), "{coding:?}");
        }
    }
}

#[test]
fn a_packer_appends_what_becomes_fewer_bytes_again_and_again() {
    let mut packer = Packer::default();
    let text = "the quick brown fox ".repeat(5_000);
    let mut random = fastrand::Rng::with_seed(1);
    let noise: Vec<u8> = (0..70_000).map(|_| random.u8(..)).collect();
    for (bytes, does) in
        [(text.as_bytes(), true), (&noise, false), (&[0; 70_000], true), (b"", false), (b"a", false)]
    {
        for coding in Coding::ALL.into_iter().chain(Coding::ALL) {
            let mut packed = b"before".to_vec();
            assert_eq!(packer.pack(coding, bytes, &mut packed).unwrap(), does, "{coding:?}");
            let (before, packed) = packed.split_at(6);
            assert_eq!(before, b"before");
            if does {
                assert!(packed.len() < bytes.len() / 10, "{coding:?}: {}", packed.len());
                let back = unpack(coding, packed, bytes.len()).unwrap();
                assert_eq!(back, Unpacked::Whole(bytes.to_vec()), "{coding:?}");
            } else {
                assert_eq!(packed, b"", "{coding:?}");
            }
        }
    }
}

#[test]
fn no_more_is_unpacked_than_the_bound() {
    let zeros = vec![0; 64 << 20];
    for coding in Coding::ALL {
        let packed = quickly(coding, &zeros);
        assert!(packed.len() < 1 << 20, "{coding:?}: {}", packed.len());
        assert_eq!(unpack(coding, &packed, zeros.len() - 1).unwrap(), Unpacked::TooLong, "{coding:?}");
        assert_eq!(unpack(coding, &packed, 0).unwrap(), Unpacked::TooLong, "{coding:?}");
    }
}

#[test]
fn what_is_cut_short_is_wrong() {
    let bytes = "abc".repeat(1000);
    for coding in Coding::ALL {
        let packed = pack(coding, bytes.as_bytes()).unwrap();
        for end in 0..packed.len() {
            let cut = unpack(coding, &packed[..end], bytes.len());
            assert!(
                !matches!(cut, Ok(Unpacked::Whole(ref back)) if back == bytes.as_bytes()),
                "{coding:?}: {end}"
            );
        }
    }
}

#[test]
fn what_stands_behind_the_end_is_wrong() {
    for coding in Coding::ALL {
        let mut packed = pack(coding, b"abc").unwrap();
        packed.extend_from_slice(b"<script>");
        assert!(unpack(coding, &packed, 100).is_err(), "{coding:?}");
    }
}

fn quickly(coding: Coding, bytes: &[u8]) -> Vec<u8> {
    let mut packed = Vec::new();
    Packer::default().pack(coding, bytes, &mut packed).unwrap();
    packed
}

mod hunts {
    use super::*;

    /// Hostile bytes cost an error, or what is within the bound.
    #[test]
    fn damaged_bytes_end_within_the_bound() {
        const BOUND: usize = 100_000;
        let mut hunt = Hunt::begin("damaged codings", Duration::from_millis(500));
        while let Some(mut random) = hunt.next_round() {
            let text: Vec<u8> = (0..random.usize(..3000)).map(|_| random.u8(b'a'..b'f')).collect();
            let coding = Coding::ALL[random.usize(..3)];
            let mut packed = quickly(coding, &text);
            for _ in 0..random.usize(1..4) {
                // Few bytes may become no fewer.
                let Some(last) = packed.len().checked_sub(1) else { break };
                let place = random.usize(..=last);
                packed[place] ^= 1 << random.u8(..8);
            }
            if let Ok(Unpacked::Whole(bytes)) = unpack(coding, &packed, BOUND) {
                assert!(bytes.len() <= BOUND);
            }
        }
    }
}

/// Windows larger than RFC 7932 has them would let a client choose how much memory is held.
#[test]
fn brotli_with_a_large_window_is_refused() {
    assert!(unpack(Coding::Brotli, &[0x11, 0xde], 100).is_err());
}
