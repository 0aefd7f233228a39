//! Preconditions by a table, and tags of bodies.

use conditions::Verdict::{Failed, NotModified, Perform};
use conditions::{Preconditions, Validators, Verdict, tag_of};

const DATE: &str = "Sat, 28 Nov 2026 12:00:00 GMT";
const BEFORE: &str = "Sat, 28 Nov 2026 11:59:59 GMT";
const LATER: &str = "Sat, 28 Nov 2026 12:00:01 GMT";

/// Headers, whether the method reads, what is there (a tag and a date; none for nothing), and what becomes of it.
type Case = (&'static [(&'static str, &'static str)], bool, Option<(&'static str, &'static str)>, Verdict);

const THERE: Option<(&str, &str)> = Some(("\"a\"", DATE));
const WEAK: Option<(&str, &str)> = Some(("W/\"a\"", DATE));

const TABLE: &[Case] = &[
    (&[], true, THERE, Perform),
    (&[("If-None-Match", "\"a\"")], true, THERE, NotModified),
    (&[("if-none-match", "W/\"a\"")], true, THERE, NotModified),
    (&[("If-None-Match", "\"a\"")], true, WEAK, NotModified),
    (&[("If-None-Match", "\"b\"")], true, THERE, Perform),
    (&[("If-None-Match", "a")], true, THERE, Perform),
    (&[("If-None-Match", "*")], true, THERE, NotModified),
    (&[("If-None-Match", "*")], true, None, Perform),
    (&[("If-None-Match", "\"b\", \"a\"")], true, THERE, NotModified),
    (&[("If-None-Match", "\"b\" ,\t, W/\"a\"")], true, THERE, NotModified),
    (&[("If-None-Match", "\"b\""), ("If-None-Match", "\"a\"")], true, THERE, NotModified),
    (&[("If-None-Match", "\"b,\"a\"")], true, THERE, Perform),
    (&[("If-None-Match", "\"x,\"a\"\", \"a\"")], true, THERE, Perform),
    (&[("If-None-Match", "\"b,a\", \"a\"")], true, THERE, NotModified),
    (&[("If-None-Match", "\"a-gzip\"")], true, THERE, NotModified),
    (&[("If-None-Match", "\"a;br\"")], true, THERE, NotModified),
    (&[("If-None-Match", "\"a-zip\"")], true, THERE, Perform),
    (&[("If-None-Match", "w/\"a\"")], true, THERE, Perform),
    (&[("If-None-Match", "\"a\" \"b\"")], true, THERE, Perform),
    (&[("If-None-Match", "")], true, THERE, Perform),
    (&[("If-None-Match", "\"a\"")], false, THERE, Failed),
    (&[("If-None-Match", "*")], false, THERE, Failed),
    (&[("If-None-Match", "*")], false, None, Perform),
    (&[("If-None-Match", "\"b\"")], false, THERE, Perform),
    (&[("If-Match", "\"a\"")], false, THERE, Perform),
    (&[("If-Match", "\"b\", \"a\"")], false, THERE, Perform),
    (&[("If-Match", "\"b\"")], false, THERE, Failed),
    (&[("If-Match", "W/\"a\"")], false, THERE, Failed),
    (&[("If-Match", "\"a\"")], false, WEAK, Failed),
    (&[("If-Match", "*")], false, THERE, Perform),
    (&[("If-Match", "*")], false, None, Failed),
    (&[("If-Match", "\"a\"")], false, None, Failed),
    (&[("If-Match", "nonsense")], false, THERE, Failed),
    (&[("If-Match", "\"b\"")], true, THERE, Failed),
    (&[("If-Match", "\"a\""), ("If-None-Match", "\"a\"")], true, THERE, NotModified),
    (&[("If-Match", "\"b\""), ("If-None-Match", "\"a\"")], true, THERE, Failed),
    (&[("If-Modified-Since", DATE)], true, THERE, NotModified),
    (&[("If-Modified-Since", LATER)], true, THERE, NotModified),
    (&[("If-Modified-Since", BEFORE)], true, THERE, Perform),
    (&[("If-Modified-Since", "yesterday")], true, THERE, Perform),
    (&[("If-Modified-Since", DATE)], false, THERE, Perform),
    (&[("If-Modified-Since", DATE)], true, Some(("\"a\"", "")), Perform),
    (&[("If-Modified-Since", DATE), ("If-None-Match", "\"b\"")], true, THERE, Perform),
    (&[("If-Modified-Since", BEFORE), ("If-None-Match", "\"a\"")], true, THERE, NotModified),
    (&[("If-Unmodified-Since", DATE)], false, THERE, Perform),
    (&[("If-Unmodified-Since", BEFORE)], false, THERE, Failed),
    (&[("If-Unmodified-Since", BEFORE), ("If-Match", "\"a\"")], false, THERE, Perform),
    (&[("If-Unmodified-Since", "never")], false, THERE, Perform),
    (&[("If-Unmodified-Since", BEFORE)], false, None, Perform),
    (&[("If-Range", "\"a\""), ("If", "x")], true, THERE, Perform),
];

#[test]
fn requests_end_as_the_table_says() {
    for (headers, is_read, there, verdict) in TABLE {
        let preconditions =
            Preconditions::of(headers.iter().map(|(name, value)| (name.as_bytes(), value.as_bytes())));
        let now = there.map(|(tag, date)| Validators {
            tag: Some(tag.as_bytes()),
            last_modified: Some(date.as_bytes()),
        });
        assert_eq!(preconditions.judge(*is_read, now), *verdict, "{headers:?}, read {is_read}, {there:?}");
        assert_eq!(
            preconditions.is_empty(),
            headers.iter().all(|(name, _)| !name.to_lowercase().contains("match") && !name.contains("ince"))
        );
    }
}

#[test]
fn a_tag_is_of_its_bytes_alone() {
    let (one, other) = (tag_of(b"one", false), tag_of(b"other", false));
    assert_ne!(one, other);
    assert_eq!(one, tag_of(b"one", false));
    assert_ne!(one, tag_of(b"one", true));
    // It is what others compute: the first 16 bytes of BLAKE3.
    assert_eq!(tag_of(b"", false), "\"rxNJufX5oaagQE3qNtzJSQ\"");
    assert!(one.starts_with('"') && one.ends_with('"') && one.len() == 24, "{one}");
    let condition = [(b"if-none-match".as_slice(), one.as_bytes())];
    let now = Some(Validators { tag: Some(one.as_bytes()), last_modified: None });
    assert_eq!(Preconditions::of(condition.into_iter()).judge(true, now), NotModified);
}

#[test]
fn no_bytes_whatever_make_it_fail() {
    let mut random = fastrand::Rng::with_seed(3);
    for _ in 0..20_000 {
        let any = b"\"W/,* \tab-gzip\xff\x00";
        let value: Vec<u8> = (0..random.usize(..12)).map(|_| any[random.usize(..any.len())]).collect();
        let tag: Vec<u8> = (0..random.usize(..6)).map(|_| b"\"W/a,"[random.usize(..5)]).collect();
        let headers = [
            (b"If-Match".as_slice(), value.as_slice()),
            (b"If-None-Match", &value),
            (b"If-Modified-Since", &tag),
        ];
        let now = Some(Validators { tag: Some(&tag), last_modified: Some(&value) });
        for is_read in [false, true] {
            let _ = Preconditions::of(headers.into_iter()).judge(is_read, now);
        }
    }
}
