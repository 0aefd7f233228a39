//! The answer to a request for a file: a status, headers, and which bytes.

use std::ops::Range;
use std::time::{Duration, UNIX_EPOCH};

use codings::{Accepted, Coding};
use conditions::{Preconditions, Validators, Verdict};

use crate::media_type::media_type;
use crate::range::{WantedRange, wanted};
use crate::tree::StaticFile;

/// How long clients may keep what never changes: a year, which is what they take for ever.
const FOR_EVER: &str = "public, max-age=31536000, immutable";
/// Clients keep everything else as well, and ask each time whether it is there still.
const ASK: &str = "no-cache";
/// Hexadecimal digits of the digest that a tag has: nobody finds two files with the same.
const TAG: usize = 32;

/// A request's wishes beside the path. Its method is GET or HEAD.
#[derive(Clone, Debug, Default)]
pub struct Asked<'r> {
    /// Its conditions.
    pub preconditions: Preconditions<'r>,
    /// Which codings it takes.
    pub accepted: Accepted,
    /// Its header `Range`.
    pub range: Option<&'r str>,
    /// Its header `If-Range`.
    pub if_range: Option<&'r str>,
}

impl<'r> Asked<'r> {
    /// The wishes of headers, whose names are in lower case.
    pub fn of(headers: impl Iterator<Item = (&'r str, &'r str)> + Clone) -> Asked<'r> {
        let first = |wanted: &str| headers.clone().find(|(name, _)| *name == wanted).map(|(_, value)| value);
        let accepted = headers.clone().filter(|(name, _)| *name == "accept-encoding").map(|(_, value)| value);
        Asked {
            preconditions: Preconditions::of(
                headers.clone().map(|(name, value)| (name.as_bytes(), value.as_bytes())),
            ),
            accepted: Accepted::of(accepted),
            range: first("range"),
            if_range: first("if-range"),
        }
    }
}

/// Which bytes an answer has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileBytes {
    /// None.
    None,
    /// These of the file's.
    Plain(Range<u64>),
    /// All, by a coding.
    Packed(Coding),
}

/// An answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileAnswer {
    /// Its status.
    pub status: u16,
    /// Its headers, without those of its length.
    pub headers: Vec<(&'static str, String)>,
    /// Its bytes.
    pub body: FileBytes,
}

/// The answer to a request.
pub fn answer(file: &StaticFile<'_>, asked: &Asked<'_>) -> FileAnswer {
    let tag = tag(file, None);
    let (size, packed) = (file.version.size, &file.version.packed);
    let modified = httpdate::fmt_http_date(UNIX_EPOCH + Duration::from_secs(file.version.since));
    // Those of all codings name the same file, and are compared so.
    let validators = Validators { tag: Some(tag.as_bytes()), last_modified: Some(modified.as_bytes()) };
    let verdict = asked.preconditions.judge(true, Some(validators));
    if verdict == Verdict::Failed {
        return FileAnswer { status: 412, headers: Vec::new(), body: FileBytes::None };
    }
    let range = asked.range.filter(|_| asked.if_range.is_none_or(|seen| is_same(seen, &tag, &modified)));
    let part = range.map_or(WantedRange::All, |range| wanted(range, size));
    let coding = match part {
        WantedRange::All => asked.accepted.best(|coding| packed[coding as usize], size),
        WantedRange::Part(_) | WantedRange::Nothing => None,
    };
    let mut headers = vec![
        ("etag", self::tag(file, coding)),
        ("last-modified", modified),
        ("cache-control", if file.is_immutable { FOR_EVER } else { ASK }.to_owned()),
    ];
    if packed.iter().any(Option::is_some) {
        headers.push(("vary", "accept-encoding".to_owned()));
    }
    if verdict == Verdict::NotModified {
        return FileAnswer { status: 304, headers, body: FileBytes::None };
    }
    if part == WantedRange::Nothing {
        let length = ("content-range", format!("bytes */{size}"));
        return FileAnswer { status: 416, headers: vec![length], body: FileBytes::None };
    }
    headers.push(("content-type", media_type(&file.name).to_owned()));
    if let Some(coding) = coding {
        headers.push(("content-encoding", coding.name().to_owned()));
        return FileAnswer { status: 200, headers, body: FileBytes::Packed(coding) };
    }
    match part {
        WantedRange::Part(part) => {
            let range = format!("bytes {}-{}/{size}", part.start, part.end - 1);
            headers.push(("content-range", range));
            FileAnswer { status: 206, headers, body: FileBytes::Plain(part) }
        }
        _ => {
            headers.push(("accept-ranges", "bytes".to_owned()));
            FileAnswer { status: 200, headers, body: FileBytes::Plain(0..size) }
        }
    }
}

/// The tag of a file's bytes, plain or by a coding.
fn tag(file: &StaticFile<'_>, coding: Option<Coding>) -> String {
    let digest = &file.version.digest;
    let digits = digest.get(..TAG).unwrap_or(digest);
    match coding {
        Some(coding) => format!("\"{digits}-{}\"", coding.name()),
        None => format!("\"{digits}\""),
    }
}

/// Whether `If-Range` says what is there: by its tag, strongly, or its date, exactly.
fn is_same(seen: &str, tag: &str, modified: &str) -> bool {
    let seen = seen.trim();
    seen == tag || seen == modified
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::Version;

    const DIGEST: &str = "4f3c9a1b2d5e00000000000000000000ffffffffffffffffffffffffffffffff";
    const TAG: &str = "\"4f3c9a1b2d5e00000000000000000000\"";
    const DATE: &str = "Thu, 01 Jan 1970 00:16:40 GMT";

    fn version() -> Version {
        let packed = [Some(300), None, Some(400)];
        Version { digest: DIGEST.into(), size: 1000, since: 1000, is_current: true, is_fixed: false, packed }
    }

    fn ask(version: &Version, headers: &[(&str, &str)]) -> (u16, FileBytes, String) {
        ask_for(&StaticFile { name: "app.css".into(), version, is_immutable: false }, headers)
    }

    fn ask_for(file: &StaticFile<'_>, headers: &[(&str, &str)]) -> (u16, FileBytes, String) {
        let answer = answer(file, &Asked::of(headers.iter().copied()));
        let said = answer.headers.iter().map(|(name, value)| format!("{name}: {value}\n")).collect();
        (answer.status, answer.body, said)
    }

    #[test]
    fn conditions_come_before_ranges_and_name_the_file_in_whichever_coding() {
        let packed = TAG.replace("0\"", "0-br\"");
        for (headers, status, body) in [
            (&[][..], 200, FileBytes::Plain(0..1000)),
            (&[("accept-encoding", "gzip, br")], 200, FileBytes::Packed(Coding::Brotli)),
            (&[("accept-encoding", "gzip")], 200, FileBytes::Packed(Coding::Gzip)),
            (&[("accept-encoding", "zstd")], 200, FileBytes::Plain(0..1000)),
            (&[("range", "bytes=0-9"), ("accept-encoding", "br")], 206, FileBytes::Plain(0..10)),
            (&[("range", "bytes=1000-")], 416, FileBytes::None),
            (&[("range", "bytes=0-1,2-3")], 200, FileBytes::Plain(0..1000)),
            (&[("if-none-match", TAG)], 304, FileBytes::None),
            (&[("if-none-match", &packed)], 304, FileBytes::None),
            (&[("if-none-match", "\"x\"")], 200, FileBytes::Plain(0..1000)),
            (&[("if-none-match", TAG), ("range", "bytes=0-9")], 304, FileBytes::None),
            (&[("if-match", "\"x\""), ("range", "bytes=0-9")], 412, FileBytes::None),
            (&[("if-match", TAG)], 200, FileBytes::Plain(0..1000)),
            (&[("if-modified-since", DATE)], 304, FileBytes::None),
            (&[("if-modified-since", "Thu, 01 Jan 1970 00:16:39 GMT")], 200, FileBytes::Plain(0..1000)),
            (&[("if-unmodified-since", "Thu, 01 Jan 1970 00:16:39 GMT")], 412, FileBytes::None),
            (&[("if-range", TAG), ("range", "bytes=0-9")], 206, FileBytes::Plain(0..10)),
            (&[("if-range", DATE), ("range", "bytes=0-9")], 206, FileBytes::Plain(0..10)),
            (&[("if-range", &packed), ("range", "bytes=0-9")], 200, FileBytes::Plain(0..1000)),
            (&[("if-range", "W/\"x\""), ("range", "bytes=0-9")], 200, FileBytes::Plain(0..1000)),
            (
                &[("if-range", "Thu, 01 Jan 1970 00:16:41 GMT"), ("range", "bytes=0-9")],
                200,
                FileBytes::Plain(0..1000),
            ),
        ] {
            let (got, bytes, _) = ask(&version(), headers);
            assert_eq!((got, bytes), (status, body), "{headers:?}");
        }
    }

    #[test]
    fn an_answer_says_how_long_it_may_be_kept_and_by_what_it_differs() {
        let (_, _, said) = ask(&version(), &[("accept-encoding", "br")]);
        for header in [
            "cache-control: no-cache\n",
            "vary: accept-encoding\n",
            "content-encoding: br\n",
            "0-br\"\n",
            "content-type: text/css; charset=utf-8\n",
        ] {
            assert!(said.contains(header), "{said}");
        }
        let plain = Version { packed: [None; 3], ..version() };
        let for_ever = StaticFile { name: "app.css".into(), version: &plain, is_immutable: true };
        let (_, _, said) = ask_for(&for_ever, &[("accept-encoding", "br")]);
        assert!(!said.contains("vary") && !said.contains("content-encoding"), "{said}");
        assert!(said.contains("cache-control: public, max-age=31536000, immutable\n"), "{said}");
        let (_, _, said) = ask(&version(), &[("range", "bytes=990-")]);
        assert!(said.contains("content-range: bytes 990-999/1000\n") && said.contains("vary: "), "{said}");
        let (_, _, said) = ask(&version(), &[("range", "bytes=5000-")]);
        assert_eq!(said, "content-range: bytes */1000\n");
        let (_, _, said) = ask(&version(), &[("if-none-match", "*")]);
        assert!(said.contains("etag") && said.contains("vary") && !said.contains("content-"), "{said}");
    }

    #[test]
    fn an_empty_file_is_sent_whichever_part_is_asked_for() {
        let empty = Version { size: 0, packed: [None; 3], ..version() };
        assert_eq!(ask(&empty, &[]).1, FileBytes::Plain(0..0));
        assert_eq!(ask(&empty, &[("range", "bytes=0-")]).0, 200);
    }
}
