//! What a request says must arrive as it was said, and no bytes may do harm.

use message::{Request, RequestBuilder, RequestLine, Scheme, Version};

fn line() -> RequestLine<'static> {
    RequestLine {
        method: "POST",
        raw_path: "/a%20b",
        path: "/a b",
        query_string: "x=1&y",
        authority: "example.org:8080",
        client: "{\"subject\":\"CN=ada\"}",
        scheme: Scheme::Https,
        version: Version::Http2,
        remote: Some("[2001:db8::1]:4711".parse().unwrap()),
        local_port: 9000,
    }
}

fn sample() -> Vec<u8> {
    let mut builder = RequestBuilder::new(&line(), 3, 0);
    builder.header(b"Accept", b"text/html");
    builder.header(b"X-Name", "Jürgen".as_bytes());
    builder.header(b"X-Latin", b"J\xfcrgen");
    builder.finish(b"body\0bytes")
}

#[test]
fn every_field_arrives_as_it_was_given() {
    let bytes = sample();
    let request = Request::parse(&bytes).unwrap();
    assert_eq!(request.method(), "POST");
    assert_eq!(request.raw_path(), "/a%20b");
    assert_eq!(request.path(), "/a b");
    assert_eq!(request.query_string(), "x=1&y");
    assert_eq!(request.authority(), "example.org:8080");
    assert_eq!(request.client(), line().client);
    assert_eq!(request.scheme().as_str(), "https");
    assert_eq!(request.version(), Version::Http2);
    assert_eq!(request.remote(), line().remote);
    assert_eq!(request.local_port(), 9000);
    assert_eq!(request.body(), b"body\0bytes");
    assert_eq!(request.id().len(), 16);
    let headers: Vec<_> = request.headers().collect();
    assert_eq!(headers, [("accept", "text/html"), ("x-name", "Jürgen"), ("x-latin", "Jürgen")]);
    assert_eq!(request.header("x-name"), Some("Jürgen"));
    assert_eq!(request.header("missing"), None);
}

#[test]
fn what_a_write_changes_is_read_by_the_same_without_its_body() {
    let mut builder = RequestBuilder::new(&line(), 4, 0);
    for (name, value) in [
        ("Content-Type", "text/plain"),
        ("If-Match", "\"x\""),
        ("X-Request-Id", "abc"),
        ("Transfer-Encoding", "chunked"),
        ("Cookie", "session=1"),
    ] {
        builder.header(name.as_bytes(), value.as_bytes());
    }
    for (message, headers) in [
        (builder.finish(b"body"), vec![("x-request-id", "abc"), ("cookie", "session=1")]),
        (sample(), Vec::new()),
    ] {
        let write = Request::parse(&message).unwrap();
        let bytes = write.to_read();
        let read = Request::parse(&bytes).unwrap();
        assert_eq!((read.method(), read.body(), read.id()), ("GET", &b""[..], write.id()));
        assert_eq!((read.raw_path(), read.path(), read.query_string()), ("/a%20b", "/a b", "x=1&y"));
        assert_eq!((read.authority(), read.client()), (write.authority(), write.client()));
        assert_eq!((read.remote(), read.local_port()), (write.remote(), write.local_port()));
        assert_eq!((read.scheme(), read.version()), (write.scheme(), write.version()));
        let expected = if headers.is_empty() { write.headers().collect() } else { headers };
        assert_eq!(read.headers().collect::<Vec<_>>(), expected);
    }
}

#[test]
fn what_was_accepted_is_the_same_again() {
    let mut accepted = 0;
    for at in 0..sample().len() {
        let mut bytes = sample();
        bytes[at] ^= 1;
        if let Ok(request) = Request::parse(&bytes) {
            // SAFETY: accepted just now.
            let again = unsafe { Request::parse_again(&bytes) };
            assert_eq!(format!("{again:?}"), format!("{request:?}"));
            accepted += 1;
        }
    }
    assert!(accepted > 50);
}

#[test]
fn an_empty_request_is_one() {
    let bytes = RequestBuilder::new(&RequestLine::default(), 0, 0).finish(b"");
    let request = Request::parse(&bytes).unwrap();
    assert_eq!((request.path(), request.remote(), request.headers().len()), ("", None, 0));
    assert_eq!(request.version(), Version::Http11);
}

#[test]
fn a_mapped_address_is_given_as_ipv4() {
    let remote = Some("[::ffff:192.0.2.1]:80".parse().unwrap());
    let bytes = RequestBuilder::new(&RequestLine { remote, ..line() }, 0, 0).finish(b"");
    assert_eq!(Request::parse(&bytes).unwrap().remote(), Some("192.0.2.1:80".parse().unwrap()));
}

#[test]
fn more_or_fewer_headers_than_announced_are_right() {
    for announced in 0..6 {
        let mut builder = RequestBuilder::new(&line(), announced, 0);
        builder.header(b"X-Request-Id", b"seven-7");
        builder.header(b"B", b"2");
        builder.header(b"C", b"");
        let bytes = builder.finish(b"rest");
        let request = Request::parse(&bytes).unwrap();
        let headers: Vec<_> = request.headers().collect();
        assert_eq!(headers, [("x-request-id", "seven-7"), ("b", "2"), ("c", "")]);
        assert_eq!((request.id(), request.authority()), ("seven-7", "example.org:8080"));
        assert_eq!(request.body(), b"rest");
    }
}

#[test]
fn an_id_that_is_not_sane_is_replaced() {
    for bad in [&b"has space"[..], b"", &[b'x'; 129], b"\xff"] {
        let mut builder = RequestBuilder::new(&line(), 1, 0);
        builder.header(b"x-request-id", bad);
        let bytes = builder.finish(b"");
        assert_eq!(Request::parse(&bytes).unwrap().id().len(), 16, "{bad:?}");
    }
}

#[test]
fn a_nul_in_the_text_is_refused() {
    let bytes = RequestBuilder::new(&RequestLine { path: "/\0", ..line() }, 0, 0).finish(b"");
    assert!(Request::parse(&bytes).is_err());
}

/// Touches every byte that the view can reach.
fn read_all(bytes: &[u8]) {
    let Ok(request) = Request::parse(bytes) else { return };
    let texts = [request.id(), request.method(), request.path(), request.raw_path(), request.query_string()];
    let headers: usize = request.headers().map(|(name, value)| name.len() + value.len()).sum();
    let total = texts.iter().map(|text| text.len()).sum::<usize>() + request.authority().len() + headers;
    assert!(total + request.body().len() <= 2 * bytes.len());
    std::hint::black_box((request.remote(), request.version(), request.scheme(), request.local_port()));
}

#[test]
fn random_bytes_do_no_harm() {
    let mut random = fastrand::Rng::with_seed(1);
    for _ in 0..20_000 {
        let bytes: Vec<u8> = (0..random.usize(..200)).map(|_| random.u8(..)).collect();
        read_all(&bytes);
    }
}

#[test]
fn changed_and_cut_messages_do_no_harm() {
    let mut random = fastrand::Rng::with_seed(2);
    let sample = sample();
    for _ in 0..50_000 {
        let mut bytes = sample.clone();
        for _ in 0..random.usize(1..4) {
            let at = random.usize(..bytes.len());
            bytes[at] = if random.bool() { random.u8(..) } else { random.u8(..4) };
        }
        bytes.truncate(random.usize(..=bytes.len()));
        read_all(&bytes);
    }
}

#[test]
fn random_requests_arrive_as_they_were_given() {
    let mut random = fastrand::Rng::with_seed(3);
    for _ in 0..2_000 {
        let mut text =
            |longest| -> String { (0..random.usize(..longest)).map(|_| random.char('\u{1}'..)).collect() };
        let (method, path, query) = (text(9), text(50), text(50));
        let headers: Vec<(String, String)> =
            (0..text(9).len()).map(|_| (text(9).to_ascii_lowercase(), text(30))).collect();
        let line =
            RequestLine { method: &method, raw_path: "/raw", path: &path, query_string: &query, ..line() };
        let mut builder = RequestBuilder::new(&line, headers.len(), 0);
        headers.iter().for_each(|(name, value)| builder.header(name.as_bytes(), value.as_bytes()));
        let bytes = builder.finish(path.as_bytes());
        let request = Request::parse(&bytes).unwrap();
        assert_eq!((request.method(), request.query_string()), (&*method, &*query));
        assert_eq!(request.path(), if path.is_empty() { "/raw" } else { &path });
        assert_eq!(request.body(), path.as_bytes());
        assert!(request.headers().eq(headers.iter().map(|(name, value)| (&**name, &**value))));
    }
}

#[test]
fn a_head_is_no_larger_than_it_has_to_be() {
    for id in [None, Some("a".repeat(60))] {
        let headers = [("accept", "*/*".to_owned()), ("cookie", "c".repeat(1700))];
        let headers = headers.into_iter().chain(id.map(|id| ("x-request-id", id)));
        let headers: Vec<(&str, String)> = headers.chain([("x", "y".repeat(300))]).collect();
        let length = headers.iter().map(|(name, value)| name.len() + value.len()).sum();
        let mut builder = RequestBuilder::new(&line(), headers.len(), length);
        headers.iter().for_each(|(name, value)| builder.header(name.as_bytes(), value.as_bytes()));
        let head = builder.finish_head();
        assert!(head.capacity() < head.len() + 32, "{} bytes for {}", head.capacity(), head.len());
    }
}

#[test]
fn a_glance_finds_path_and_headers_and_nothing_in_other_bytes() {
    use message::glance::{path_in, values_in};
    let mut random = fastrand::Rng::with_seed(57);
    for path in ["/a b", "/a%20b", ""] {
        let line =
            RequestLine { method: "GET", raw_path: "/a%20b", path, client: "{}", ..RequestLine::default() };
        let mut builder = RequestBuilder::new(&line, 3, 0);
        for (name, value) in [("Accept", "one"), ("x-accept", "no"), ("accept", "two, three"), ("accept", "")]
        {
            builder.header(name.as_bytes(), value.as_bytes());
        }
        let mut bytes = builder.finish(b"accept");
        let path = Request::parse(&bytes).unwrap().path().to_owned();
        assert_eq!(path_in(&bytes), Some(path.as_str()));
        assert_eq!(values_in(&bytes, "accept").collect::<Vec<_>>(), ["one", "two, three", ""]);
        assert_eq!(values_in(&bytes, "host").count(), 0);
        for _ in 0..20_000 {
            let place = random.usize(..bytes.len());
            let before = std::mem::replace(&mut bytes[place], random.u8(..));
            let cut = &bytes[..random.usize(..=bytes.len())];
            let _ = (
                path_in(cut),
                values_in(cut, "accept").count(),
                path_in(&bytes),
                values_in(&bytes, "accept").count(),
            );
            bytes[place] = before;
        }
    }
}
