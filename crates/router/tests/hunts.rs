//! Random attacks on patterns and paths, beside a search that tries every route.
//! `make hunt` lets them run for long.

use std::time::Duration;

use hunt::bytes::{assembled, damage};
use hunt::{Hunt, Rng};
use router::{Match, Router, path};

const PIECES: [&[u8]; 16] = [
    b"/",
    b"a",
    b"b",
    b"%61",
    b"%2F",
    b"%2f",
    b"%C3%BC",
    "ü".as_bytes(),
    b"%c3",
    b"%00",
    b"%",
    b"%4",
    b"\0",
    b"..",
    b"+",
    b"%25",
];

fn pattern(random: &mut Rng) -> String {
    let mut pattern = String::new();
    for at in 0..random.usize(1..5) {
        pattern.push('/');
        match random.u8(..6) {
            0 | 1 => pattern.push_str(&format!("{{p{at}}}")),
            2 if random.bool() => return pattern + "{*rest}",
            _ => pattern.push_str(["a", "b", "", "ü", "a/b", ".."][random.usize(..6)]),
        }
    }
    pattern
}

/// How specific each segment of a pattern is, if the path matches: literals before parameters before the rest.
fn rank(pattern: &str, path: &str) -> Option<Vec<u8>> {
    let mut parts = path.strip_prefix('/')?.split('/');
    let mut rank = Vec::new();
    for segment in pattern[1..].split('/') {
        let part = path::decode(parts.next()?).unwrap();
        match segment {
            rest if rest.starts_with("{*") => {
                rank.push(2);
                return Some(rank);
            }
            parameter if parameter.starts_with('{') => {
                rank.push(1);
                if part.is_empty() {
                    return None;
                }
            }
            literal => {
                rank.push(0);
                if literal != part {
                    return None;
                }
            }
        }
    }
    parts.next().is_none().then_some(rank)
}

#[test]
fn routes_as_a_search_of_all_finds_them() {
    let mut hunt = Hunt::begin("routes", Duration::from_millis(500));
    while let Some(mut random) = hunt.next_round() {
        let (mut router, mut patterns) = (Router::new(), Vec::new());
        for _ in 0..random.usize(1..8) {
            let pattern = pattern(&mut random);
            if router.insert("GET", &pattern, patterns.len() as u32).is_ok() {
                patterns.push(pattern);
            }
        }
        // With the pieces that are wrong or without them.
        let known = random.usize(8..=PIECES.len());
        let mut bytes = [b"/", &*assembled(&mut random, &PIECES[..known], 8)].concat();
        damage(&mut random, &mut bytes, &PIECES);
        let raw = String::from_utf8_lossy(&bytes);
        let Ok(answer) = router.lookup("GET", &raw) else {
            assert!(path::decode(&raw).is_err(), "{raw:?}");
            continue;
        };
        let decoded = path::decode(&raw).unwrap();
        assert!(!decoded.contains('\0'), "{raw:?}");
        let ranked = patterns.iter().enumerate().filter_map(|(at, pattern)| Some((rank(pattern, &raw)?, at)));
        let expected = ranked.min().map(|(_, at)| at);
        let Match::Found(found) = answer else {
            assert_eq!(expected, None, "{raw:?} {patterns:?}");
            continue;
        };
        assert_eq!(Some(found.route as usize), expected, "{raw:?} {patterns:?}");
        // Put into their places, the parameters are the path again.
        let filled =
            found.params.iter().fold(patterns[found.route as usize].clone(), |all, (name, value)| {
                all.replace(&format!("{{{name}}}"), &value).replace(&format!("{{*{name}}}"), &value)
            });
        assert_eq!(filled, decoded, "{patterns:?}");
    }
}

#[test]
fn patterns_of_any_text() {
    let mut hunt = Hunt::begin("patterns", Duration::from_millis(200));
    let pieces: [&[u8]; 11] =
        [b"/", b"{", b"}", b"*", b"{a}", b"{*b}", b"{a", b"1", b"\0", "ü".as_bytes(), b"x_y"];
    while let Some(mut random) = hunt.next_round() {
        let mut bytes = [b"/", &*assembled(&mut random, &pieces, 300)].concat();
        damage(&mut random, &mut bytes, &pieces);
        let text = String::from_utf8_lossy(&bytes);
        let mut router = Router::new();
        match router.insert("GET", &text, 7) {
            Ok(()) => assert_eq!(router.len(), 1),
            Err(error) => {
                assert!(router.is_empty() && error.to_string().len() < 2000);
            }
        }
    }
}
