//! What must be refused, and with which status and words.

use crate::reading::{Reader, read};
use http1::{Limits, Reject};

fn refusal(bytes: &[u8]) -> (u16, &'static str) {
    match read(bytes) {
        Err(Reject { status, detail }) => (status, detail),
        Ok(seen) => panic!("{:?} was read as {seen:?}", String::from_utf8_lossy(bytes)),
    }
}

#[test]
fn malformed_request_lines_are_refused() {
    let version = "the request line does not end with a version of HTTP";
    let cases: &[(&[u8], u16, &str)] = &[
        (b"GET\r\n", 400, version),
        (b"GET /\r\n", 400, version),
        (b"GET / HTTP/1.1 \r\n", 400, version),
        (b"GET / http/1.1\r\n", 400, version),
        (b"GET / HTTP/1.1x\r\n", 400, version),
        (b"GET / HTTP/11\r\n", 400, version),
        (b"hello\r\n", 400, version),
        (b"GET / HTTP/2.0\r\n", 505, "the version is not HTTP/1.0, HTTP/1.1 or HTTP/2 with prior knowledge"),
        (b"GET / HTTP/3.1\r\n", 505, "the version is not HTTP/1.0, HTTP/1.1 or HTTP/2 with prior knowledge"),
        (b"GET / HTTP/0.9\r\n", 505, "the version is not HTTP/1.0, HTTP/1.1 or HTTP/2 with prior knowledge"),
        (b"GET / HTTP/1.10\r\n", 400, version),
        (b"GET  / HTTP/1.2\r\nHost: a\r\n\r\n", 400, "the request line is malformed"),
        (b"G(T / HTTP/1.2\r\nHost: a\r\n\r\n", 400, "the request line is malformed"),
        (b"GET /\x01 HTTP/1.2\r\nHost: a\r\n\r\n", 400, "the request line is malformed"),
        (b"GET / HTTP/1.2\r\nHost : a\r\n\r\n", 400, "a header's name is not a token"),
        (b"GET / HTTP/1.2\r\n\r\n", 400, "no Host header"),
        (b"\x16\x03\x01\x02", 400, "this is not HTTP"),
        (b" GET / HTTP/1.1\r\n", 400, "this is not HTTP"),
        (b"\0", 400, "this is not HTTP"),
        (b"\r\n\r\n\r\n", 400, "empty lines where a request should begin"),
        (b"GET / HTTP/1.1\nHost: a\n\n", 400, "a line of the head ends with LF alone"),
        (b"GET  / HTTP/1.1\r\nHost: a\r\n\r\n", 400, "the request line is malformed"),
        (b"GET /  HTTP/1.1\r\nHost: a\r\n\r\n", 400, "the request line is malformed"),
        (b"GET\t/ HTTP/1.1\r\nHost: a\r\n\r\n", 400, "the request line is malformed"),
        (b"G(T / HTTP/1.1\r\nHost: a\r\n\r\n", 400, "the request line is malformed"),
        (b"GET /\x01 HTTP/1.1\r\nHost: a\r\n\r\n", 400, "the request line is malformed"),
        (b"GET /\xff HTTP/1.1\r\nHost: a\r\n\r\n", 400, "the request line is malformed"),
        (b"GET / x HTTP/1.1\r\nHost: a\r\n\r\n", 400, "the request line is malformed"),
    ];
    for &(bytes, status, detail) in cases {
        assert_eq!(refusal(bytes), (status, detail), "{:?}", String::from_utf8_lossy(bytes));
    }
}

#[test]
fn malformed_headers_are_refused() {
    let cases: &[(&[u8], u16, &str)] = &[
        (b"Host: a\r\n folded\r\n", 400, "a header continues on a second line"),
        (b"Host: a\r\n\tfolded\r\n", 400, "a header continues on a second line"),
        (b" X: a\r\n", 400, "a header continues on a second line"),
        (b"Host: a\nX: b\r\n", 400, "a line of the head ends with LF alone"),
        (b"Host: a\rX: b\r\n", 400, "a header's value has a control character"),
        (b"Host: a\r\r\n", 400, "a header's value has a control character"),
        (b"Host: a\r\nX : b\r\n", 400, "a header's name is not a token"),
        (b"Host: a\r\nX\r\n", 400, "a header's name is not a token"),
        (b"Host: a\r\n: b\r\n", 400, "a header's name is not a token"),
        (b"Host: a\r\nX\xc3\xa4: b\r\n", 400, "a header's name is not a token"),
        (b"Host: a\r\nX: \0\r\n", 400, "a header's value has a control character"),
        (b"Host: a\r\nX: \x7f\r\n", 400, "a header's value has a control character"),
    ];
    for &(headers, status, detail) in cases {
        let bytes = [b"GET / HTTP/1.1\r\n", headers, b"\r\n"].concat();
        assert_eq!(refusal(&bytes), (status, detail), "{:?}", String::from_utf8_lossy(headers));
    }
}

#[test]
fn headers_that_contradict_are_refused() {
    let cases: &[(&str, u16, &str)] = &[
        ("", 400, "no Host header"),
        ("Host: a\r\nHost: a\r\n", 400, "two Host headers"),
        ("Host: a b\r\n", 400, "the host has characters that no host has"),
        ("Host: user@a\r\n", 400, "the host has characters that no host has"),
        ("Host: a/b\r\n", 400, "the host has characters that no host has"),
        (
            "Host: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n",
            400,
            "both Content-Length and Transfer-Encoding",
        ),
        (
            "Host: a\r\nTransfer-Encoding: chunked\r\nContent-Length: 0\r\n",
            400,
            "both Content-Length and Transfer-Encoding",
        ),
        ("Host: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n", 400, "two values of Content-Length"),
        ("Host: a\r\nContent-Length: 1, 1\r\n", 400, "two values of Content-Length"),
        ("Host: a\r\nContent-Length: 1\r\nContent-Length: 1\r\n", 400, "two values of Content-Length"),
        ("Host: a\r\nContent-Length: 1, 2\r\n", 400, "two values of Content-Length"),
        ("Host: a\r\nContent-Length: \r\n", 400, "Content-Length is not a number"),
        ("Host: a\r\nContent-Length: -1\r\n", 400, "Content-Length is not a number"),
        ("Host: a\r\nContent-Length: +1\r\n", 400, "Content-Length is not a number"),
        ("Host: a\r\nContent-Length: 0x1\r\n", 400, "Content-Length is not a number"),
        ("Host: a\r\nContent-Length: 1 1\r\n", 400, "Content-Length is not a number"),
        ("Host: a\r\nContent-Length: 99999999999999999999\r\n", 413, "Content-Length is too large"),
        ("Host: a\r\nContent-Length: 8388609\r\n", 413, "the body is too large"),
        ("Host: a\r\nTransfer-Encoding: gzip\r\n", 400, "Transfer-Encoding does not end with chunked, once"),
        ("Host: a\r\nTransfer-Encoding: \r\n", 400, "Transfer-Encoding does not end with chunked, once"),
        (
            "Host: a\r\nTransfer-Encoding: xchunked\r\n",
            400,
            "Transfer-Encoding does not end with chunked, once",
        ),
        (
            "Host: a\r\nTransfer-Encoding: chunked, chunked\r\n",
            400,
            "Transfer-Encoding does not end with chunked, once",
        ),
        (
            "Host: a\r\nTransfer-Encoding: chunked, gzip\r\n",
            400,
            "Transfer-Encoding does not end with chunked, once",
        ),
        ("Host: a\r\nTransfer-Encoding: gzip, chunked\r\n", 501, "no transfer coding but chunked is served"),
        (
            "Host: a\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
            400,
            "two Transfer-Encoding headers",
        ),
        ("Host: a\r\nExpect: tea\r\n", 417, "the only expectation served is 100-continue"),
    ];
    for &(headers, status, detail) in cases {
        let bytes = format!("POST / HTTP/1.1\r\n{headers}\r\n");
        assert_eq!(refusal(bytes.as_bytes()), (status, detail), "{headers:?}");
    }
    let old = b"POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n";
    assert_eq!(refusal(old), (400, "Transfer-Encoding in HTTP/1.0"));
}

#[test]
fn targets_that_cannot_be_served_are_refused() {
    let escapes = "the escapes in the request target are not UTF-8";
    let percent = "the path has a % without two hexadecimal digits";
    let cases: &[(&str, u16, &str)] = &[
        ("CONNECT a:80", 501, "CONNECT is not served: this is no proxy"),
        ("CONNECT /", 501, "CONNECT is not served: this is no proxy"),
        ("GET a:80", 400, "the request target is no path"),
        ("GET *", 400, "the target * is for OPTIONS alone"),
        ("GET ftp://a/", 400, "the scheme of the request target is not http or https"),
        ("GET http://", 400, "the request target has no host"),
        ("GET http:///x", 400, "the request target has no host"),
        ("GET http://u:p@a/", 400, "the host has characters that no host has"),
        ("GET /#f", 400, "the request target has a fragment"),
        ("GET /%", 400, percent),
        ("GET /%2", 400, percent),
        ("GET /%zz", 400, percent),
        ("GET /%+1", 400, percent),
        ("GET /%ff", 400, escapes),
        ("GET /%c3%28", 400, escapes),
        ("GET /%ed%a0%80", 400, escapes),
        ("GET /%c0%80", 400, escapes),
        ("GET /%00", 400, "the request target has a NUL"),
        ("GET /?%00", 400, "the request target has a NUL"),
        ("GET /?a=%ff", 400, escapes),
    ];
    for &(line, status, detail) in cases {
        let bytes = format!("{line} HTTP/1.1\r\nHost: a\r\n\r\n");
        assert_eq!(refusal(bytes.as_bytes()), (status, detail), "{line}");
    }
}

#[test]
fn malformed_chunks_are_refused() {
    let size = "the size of a chunk is not a hexadecimal number";
    let cases: &[(&[u8], u16, &str)] = &[
        (b"\r\n", 400, size),
        (b"x\r\n", 400, size),
        (b"-1\r\n", 400, size),
        (b"0x1\r\n", 400, size),
        (b" 1\r\n", 400, size),
        (b";a\r\n", 400, size),
        (b"1\n", 400, size),
        (b"1\rx", 400, "CR without LF"),
        (b"1\r\naX", 400, "a chunk is longer than its size"),
        (b"1\r\na\rX", 400, "a chunk is longer than its size"),
        (b"1\r\na\nX", 400, "a chunk is longer than its size"),
        (b"1;a\nb", 400, "a chunk extension has a control character"),
        (b"00000000000000001\r\n", 413, "the size of a chunk has too many digits"),
        (b"ffffffffffffffff\r\n", 413, "the body is too large"),
        (b"800001\r\n", 413, "the body is too large"),
        (b"0\r\nX: y\n", 400, "a trailer has a control character"),
        (b"0\r\nX: y\rz", 400, "CR without LF"),
        (b"0\r\n\rx", 400, "CR without LF"),
    ];
    for &(body, status, detail) in cases {
        let bytes = [b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n", body].concat();
        assert_eq!(refusal(&bytes), (status, detail), "{:?}", String::from_utf8_lossy(body));
    }
}

#[test]
fn chunk_extensions_and_trailers_are_bounded() {
    let start = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
    let extension = format!("{start}1;{}\r\n", "x".repeat(5000));
    assert_eq!(refusal(extension.as_bytes()), (400, "chunk extensions are too long"));
    let extensions = format!("{start}{}", format!("1;{}\r\na\r\n", "x".repeat(99)).repeat(50));
    assert_eq!(refusal(extensions.as_bytes()), (400, "chunk extensions are too long"));
    let trailers = format!("{start}0\r\n{}", "X: y\r\n".repeat(5000));
    assert_eq!(refusal(trailers.as_bytes()), (431, "the trailers are too large"));
}

#[test]
fn oversized_heads_are_refused_before_they_are_complete() {
    let long = "x".repeat(20_000);
    assert_eq!(refusal(long.as_bytes()).0, 414);
    assert_eq!(refusal(format!("GET /{long}").as_bytes()).0, 414);
    assert_eq!(refusal(format!("GET /{} HTTP/1.1\r\nHost: a\r\n\r\n", "x".repeat(8192)).as_bytes()).0, 414);
    assert_eq!(refusal(format!("GET / HTTP/1.1\r\nX: {long}").as_bytes()).0, 431);
    assert_eq!(refusal(format!("GET / HTTP/1.1\r\nX: {long}\r\n\r\n").as_bytes()).0, 431);
    assert_eq!(refusal(format!("GET / HTTP/1.1\r\n{}", "a:b\r\n".repeat(101)).as_bytes()).0, 431);
    assert_eq!(refusal(format!("GET / HTTP/1.1\r\n{}\r\n", "a:b\r\n".repeat(10_000)).as_bytes()).0, 431);
}

#[test]
fn limits_hold_to_the_byte() {
    let request = |path: usize, headers: usize| {
        format!("GET /{} HTTP/1.1\r\nHost: a\r\n{}\r\n", "x".repeat(path - 1), "b: c\r\n".repeat(headers - 1))
    };
    let limits = Limits { max_uri: 300, max_headers: 70, max_head: request(300, 70).len(), max_body: 5 };
    let outcome = |limits: Limits, text: &str| {
        Reader::new(limits).feed(text.as_bytes()).map_err(|reject| reject.status)
    };
    assert_eq!(outcome(limits, &request(300, 70)), Ok(()));
    assert_eq!(outcome(limits, &request(301, 69)), Err(414));
    assert_eq!(outcome(limits, &request(200, 71)), Err(431));
    assert_eq!(outcome(Limits { max_head: limits.max_head - 1, ..limits }, &request(300, 70)), Err(431));
    let chunked = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
    assert_eq!(outcome(limits, &format!("{chunked}2\r\nab\r\n3\r\ncde\r\n0\r\n\r\n")), Ok(()));
    assert_eq!(outcome(limits, &format!("{chunked}2\r\nab\r\n4\r\n")), Err(413));
}

#[test]
fn what_follows_the_size_of_a_chunk_is_an_extension_or_nothing() {
    let post = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
    for line in [
        "1 x",
        "1 ",
        "1\t",
        "1;",
        "1; ",
        "1;=x",
        "1;bad[=x",
        "1;a=",
        "1;a=\"b",
        "1;a=\"b\"c",
        "1;a b",
        "1;a=",
    ] {
        let bytes = format!("{post}{line}\r\na\r\n0\r\n\r\n");
        assert_eq!(refusal(bytes.as_bytes()).0, 400, "{line:?}");
    }
    for line in ["1;a", "1;a=b", "1 ; a = \"b\\\"c;\" ;d", "1;a;b=\"\"", "1;a ;b"] {
        let bytes = format!("{post}{line}\r\na\r\n0;last\r\nX-Trailer: y\r\n\r\n");
        assert_eq!(read(bytes.as_bytes()).unwrap()[0].body, b"a", "{line:?}");
    }
    for trailer in ["no colon", ": no name", "a b: c", "nothing"] {
        let bytes = format!("{post}0\r\n{trailer}\r\n\r\n");
        assert_eq!(refusal(bytes.as_bytes()).0, 400, "{trailer:?}");
    }
}

#[test]
fn a_host_is_a_host_and_a_port() {
    for host in ["a:b", "a:80:80", "[::1]x", "[::1]:x", "[::1", "a]", "::1"] {
        let bytes = format!("GET / HTTP/1.1\r\nHost: {host}\r\n\r\n");
        assert_eq!(refusal(bytes.as_bytes()), (400, "the host is not a host and a port"), "{host}");
    }
    for host in ["", "a", "a:", "a:80", "[::1]", "[::1]:80", "127.0.0.1:9000"] {
        let bytes = format!("GET / HTTP/1.1\r\nHost: {host}\r\n\r\n");
        assert_eq!(read(bytes.as_bytes()).unwrap()[0].authority, host);
    }
}

#[test]
fn a_target_is_percent_encoded() {
    let refused = refusal("GET /ä HTTP/1.1\r\nHost: a\r\n\r\n".as_bytes());
    assert_eq!(refused, (400, "the request target has characters that must be percent-encoded"));
}

/// The two doors, the request line and `:path`, refuse one that is not encoded before; the target does not rely on it.
#[test]
fn no_target_has_a_nul_however_it_is_written() {
    for target in ["/a\0", "/\0?x", "/?\0", "/%00", "/?%00"] {
        let reject = http1::Target::of(target, None).unwrap_err();
        assert_eq!((reject.status, reject.detail), (400, "the request target has a NUL"), "{target:?}");
    }
}
