//! What must be understood, in pieces of any size, and that nothing else does harm.

use crate::reading::{Reader, Seen, read};
use http1::Limits;

const STREAM: &[u8] = b"GET /a%20b/%C3%BC?x=1&y=%41 HTTP/1.1\r\nHost: example.org:8080\r\nX-A: 1\r\n\r\n\
\r\nPOST /chunks HTTP/1.1\r\nhost:a\r\nTRANSFER-ENCODING: Chunked\r\n\r\n3;ext=\"1\"\r\nabc\r\n00A\r\n0123456789\r\n0\r\nT: 1\r\n\r\n\
POST /length HTTP/1.1\r\nHost: [::1]:80\r\nContent-Length: 5\r\nExpect: 100-Continue\r\n\r\nhello\
OPTIONS * HTTP/1.1\r\nHost:\r\nUpgrade: h2c\r\nConnection: Upgrade\r\n\r\n\
GET http://other.org?q HTTP/1.1\r\nHost: ignored\r\n\r\n\
HEAD /old HTTP/1.0\r\nConnection: x, Keep-Alive\r\n\r\n\
GET /last HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";

fn whole() -> Vec<Seen> {
    read(STREAM).unwrap()
}

#[test]
fn a_pipelined_stream_is_read_as_it_was_meant() {
    let seen = whole();
    let paths: Vec<_> = seen.iter().map(|seen| (&*seen.method, &*seen.path, &*seen.query)).collect();
    let expected = [
        ("GET", "/a b/ü", "x=1&y=%41"),
        ("POST", "/chunks", ""),
        ("POST", "/length", ""),
        ("OPTIONS", "*", ""),
        ("GET", "/", "q"),
        ("HEAD", "/old", ""),
        ("GET", "/last", ""),
    ];
    assert_eq!(paths, expected);
    let authorities: Vec<_> = seen.iter().map(|seen| &*seen.authority).collect();
    assert_eq!(authorities, ["example.org:8080", "a", "[::1]:80", "", "other.org", "", "a"]);
    assert_eq!(seen[1].body, b"abc0123456789");
    assert_eq!(seen[2].body, b"hello");
    let expecting: Vec<_> = seen.iter().map(|seen| seen.expects_continue).collect();
    assert_eq!(expecting, [false, false, true, false, false, false, false]);
    let keeping: Vec<_> = seen.iter().map(|seen| seen.keep_alive).collect();
    assert_eq!(keeping, [true, true, true, true, true, true, false]);
    assert_eq!(seen[0].headers, 2);
}

#[test]
fn every_split_of_a_stream_gives_the_same_requests() {
    let whole = whole();
    for at in 0..=STREAM.len() {
        let mut reader = Reader::new(Limits::default());
        reader.feed(&STREAM[..at]).unwrap();
        reader.feed(&STREAM[at..]).unwrap();
        assert_eq!(reader.seen, whole, "split at {at}");
    }
    let mut reader = Reader::new(Limits::default());
    STREAM.chunks(1).for_each(|byte| reader.feed(byte).unwrap());
    assert_eq!(reader.seen, whole);
}

#[test]
fn http_1_0_closes_unless_asked_and_needs_no_host() {
    let seen =
        read(b"GET / HTTP/1.0\r\n\r\nGET / HTTP/1.0\r\nConnection: close, keep-alive\r\n\r\n").unwrap();
    assert!(seen.iter().all(|seen| !seen.keep_alive));
    let seen = read(b"GET / HTTP/1.0\r\nExpect: 100-continue\r\n\r\n").unwrap();
    assert!(!seen[0].expects_continue);
}

/// RFC 9110, 2.5.
#[test]
fn a_later_version_of_http_1_is_read_as_http_1_1() {
    let later = |bytes: &[u8], minor: char| {
        read(String::from_utf8_lossy(bytes).replace("HTTP/1.1", &format!("HTTP/1.{minor}")).as_bytes())
    };
    for minor in ['2', '9'] {
        assert_eq!(later(STREAM, minor).unwrap(), whole(), "{minor}");
    }
    for count in [1, 63, 64, 65, 99] {
        let text = format!("GET / HTTP/1.1\r\nHost: a\r\n{}\r\n", "x: y\r\n".repeat(count));
        assert_eq!(later(text.as_bytes(), '2').unwrap()[0].headers, count + 1);
    }
    let none = format!("GET / HTTP/1.2\r\n{}\r\n", "x: y\r\n".repeat(101));
    assert_eq!(read(none.as_bytes()).unwrap_err().status, 431);
}

#[test]
fn a_percent_that_begins_no_escape_stands_for_itself_in_a_query() {
    let seen = read(b"GET /?discount=50%&x=%zz HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
    assert_eq!(seen[0].query, "discount=50%&x=%zz");
}

#[test]
fn any_number_of_headers_up_to_the_limit_is_read() {
    for count in [1, 63, 64, 65, 99] {
        let text = format!("GET / HTTP/1.1\r\nHost: a\r\n{}\r\n", "x: y\r\n".repeat(count));
        assert_eq!(read(text.as_bytes()).unwrap()[0].headers, count + 1);
    }
}

#[test]
fn random_and_changed_bytes_do_no_harm() {
    let mut random = fastrand::Rng::with_seed(5);
    for round in 0..20_000 {
        let bytes = if round % 4 == 0 { noise(&mut random) } else { changed(&mut random) };
        let mut reader = Reader::new(Limits { max_body: 1000, ..Limits::default() });
        let mut rest = &bytes[..];
        while !rest.is_empty() {
            let (piece, others) = rest.split_at(random.usize(1..=rest.len()));
            rest = others;
            if let Err(reject) = reader.feed(piece) {
                assert!((400..600).contains(&reject.status));
                break;
            }
        }
        assert!(reader.seen.iter().all(|seen| seen.body.len() <= 1000 && !seen.path.contains('\0')));
    }
}

fn noise(random: &mut fastrand::Rng) -> Vec<u8> {
    (0..random.usize(..300)).map(|_| random.u8(..)).collect()
}

fn changed(random: &mut fastrand::Rng) -> Vec<u8> {
    let mut bytes = STREAM.to_vec();
    for _ in 0..random.usize(1..5) {
        let at = random.usize(..bytes.len());
        match random.u8(..4) {
            0 => bytes[at] = random.u8(..),
            1 => drop(bytes.remove(at)),
            2 => bytes.insert(at, b"\r\n :%0\0,"[random.usize(..8)]),
            _ => bytes.truncate(at.max(8)),
        }
    }
    bytes
}
