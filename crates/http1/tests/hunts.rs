//! Random attacks on the reader of HTTP/1.
//! `make hunt` lets them run for long.

use std::time::Duration;

use http1::{Chunked, Limits, Target};
use hunt::Hunt;
use hunt::bytes::{assembled, cut, damage};

use crate::reading::{Reader, Seen, read};

const LIMITS: Limits = Limits { max_head: 600, max_uri: 120, max_headers: 8, max_body: 200 };

const PIECES: [&[u8]; 40] = [
    b"GET / HTTP/1.1\r\nHost: a\r\n\r\n",
    b"POST /a%20b?x=%C3%BC HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n",
    b"POST /l HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\n",
    b"5\r\nhello\r\n",
    b"0\r\n\r\n",
    b"0\r\nT: 1\r\n\r\n",
    b"a;name=\"v\\\"\" ; b\r\n0123456789\r\n",
    b"hello",
    b"GET",
    b" ",
    b"/",
    b"%",
    b"%2",
    b"%ff",
    b"%00",
    b"?",
    b"#",
    b" HTTP/1.1\r\n",
    b" HTTP/1.0\r\n",
    b"HTTP/1.2",
    b"http://other:80/x",
    b"*",
    b"OPTIONS",
    b"Host: [::1]:80\r\n",
    b"Host: a:b\r\n",
    b"Content-Length: 5\r\n",
    b"Content-Length: 5, 6\r\n",
    b"Content-Length: 18446744073709551616\r\n",
    b"Transfer-Encoding: gzip, chunked\r\n",
    b"Connection: close, x\r\n",
    b"Expect: 100-continue\r\n",
    b"\r\n",
    b"\n",
    b"\r",
    b":",
    b"\t",
    b"\0",
    b"\xff",
    b"FFFFFFFFFFFFFFFF\r\n",
    b"00000000000000005\r\n",
];

/// What comes of pieces: the requests, and how it ended.
fn outcome(pieces: &[&[u8]]) -> (Vec<Seen>, Option<u16>) {
    let mut reader = Reader::new(LIMITS);
    let rejected = pieces.iter().find_map(|piece| reader.feed(piece).err());
    (reader.seen, rejected.map(|reject| reject.status))
}

#[test]
fn streams_of_requests() {
    let mut hunt = Hunt::begin("streams of HTTP/1", Duration::from_millis(500));
    while let Some(mut random) = hunt.next_round() {
        let mut stream = assembled(&mut random, &PIECES, 12);
        damage(&mut random, &mut stream, &PIECES);
        let whole = outcome(&[&stream]);
        let pieces = cut(&mut random, &stream);
        let (seen, status) = outcome(&pieces);
        assert_eq!(seen, whole.0, "{}", stream.escape_ascii());
        // Which limit is exceeded first may depend on how much has come; whether one is does not.
        assert_eq!(status.is_some(), whole.1.is_some(), "{}", stream.escape_ascii());
        for request in &seen {
            assert!(request.body.len() <= LIMITS.max_body && !request.path.contains('\0'));
            assert!(request.headers <= LIMITS.max_headers && request.query.is_ascii());
        }
        assert!(whole.1.is_none_or(|status| (400..600).contains(&status)));
    }
}

#[test]
fn chunked_bodies() {
    let mut hunt = Hunt::begin("chunked bodies", Duration::from_millis(300));
    while let Some(mut random) = hunt.next_round() {
        let (mut stream, mut body) = (Vec::new(), Vec::new());
        for _ in 0..random.usize(..6) {
            let chunk: Vec<u8> = (0..random.usize(1..30)).map(|_| random.u8(..)).collect();
            let zeros = "0".repeat(random.usize(..4));
            let extension = ["", ";a", " ; a=\"\\\"\"", ";a=b;c"][random.usize(..4)];
            stream.extend_from_slice(format!("{zeros}{:x}{extension}\r\n", chunk.len()).as_bytes());
            stream.extend_from_slice(&chunk);
            stream.extend_from_slice(b"\r\n");
            body.extend_from_slice(&chunk);
        }
        stream.extend_from_slice(b"0\r\nX-Trailer: y\r\n\r\n");
        let length = stream.len();
        stream.extend_from_slice(b"GET / HTTP/1.1");
        let (mut chunked, mut decoded, mut used) = (Chunked::default(), Vec::new(), 0);
        for piece in cut(&mut random, &stream) {
            used += chunked.decode(piece, &mut decoded, &LIMITS).unwrap();
        }
        assert!(chunked.is_done());
        assert_eq!((used, &decoded), (length, &body));
        let head = b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
        assert_eq!(read(&[head, &stream[..length]].concat()).unwrap()[0].body, body);
    }
}

#[test]
fn targets() {
    let mut hunt = Hunt::begin("targets", Duration::from_millis(200));
    while let Some(mut random) = hunt.next_round() {
        let mut bytes = [b"/", &*assembled(&mut random, &PIECES[8..23], 10)].concat();
        damage(&mut random, &mut bytes, &PIECES);
        let text = String::from_utf8_lossy(&bytes);
        let Ok(target) = Target::parse("GET", &text) else { continue };
        // A path that is encoded from what was understood is understood as the same.
        let encoded = target.path.bytes().fold(String::new(), |all, byte| format!("{all}%{byte:02X}"));
        let again = Target::of(&encoded, None).unwrap();
        assert_eq!(again.path, target.path);
        assert!(!target.path.contains('\0') && target.raw_path.is_ascii() && !target.query.contains('#'));
    }
}
