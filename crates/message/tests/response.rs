//! A response must carry what a handler may say, and nothing that would break the protocol.

use message::header::BadHeader;
use message::response::BadStatus;
use message::{Response, ResponseBuilder, vary_by, with_header};

#[test]
fn status_headers_and_body_arrive() {
    let mut builder = ResponseBuilder::new(404).unwrap();
    builder.header("Content-Type", " text/html ").unwrap();
    builder.header("Set-Cookie", "a=1").unwrap();
    builder.header("set-cookie", "b=ü").unwrap();
    let bytes = builder.finish(b"<b>\0</b>");
    let response = Response::parse(&bytes).unwrap();
    assert_eq!(response.status(), 404);
    assert_eq!(response.body(), b"<b>\0</b>");
    assert_eq!(&bytes[response.body_start()..], response.body());
    let block = "content-type: text/html\r\nset-cookie: a=1\r\nset-cookie: b=ü\r\n";
    assert_eq!(response.header_block(), block.as_bytes());
    let headers: Vec<_> = response.headers().collect();
    assert_eq!(headers[2], (&b"set-cookie"[..], "b=ü".as_bytes()));
    assert_eq!(headers.len(), 3);
    assert!(!response.closes() && !response.has_date() && !response.has_server());
}

#[test]
fn names_that_are_no_tokens_are_refused() {
    for name in ["", "a b", "a:", "a\r\nb", "ä", "a\0"] {
        let error = ResponseBuilder::new(200).unwrap().header(name, "x");
        assert_eq!(error, Err(BadHeader::Name(name.to_owned())));
    }
}

#[test]
fn values_with_control_characters_are_refused() {
    for value in ["a\r\nset-cookie: x", "a\nb", "a\rb", "a\0b", "\x7f", "\x1b[0m"] {
        let mut builder = ResponseBuilder::new(200).unwrap();
        assert_eq!(builder.header("x", value), Err(BadHeader::Value("x".to_owned())), "{value:?}");
        assert_eq!(Response::parse(&builder.finish(b"")).unwrap().header_block(), b"");
    }
}

#[test]
fn headers_of_connection_and_framing_are_left_out() {
    let mut builder = ResponseBuilder::new(200).unwrap();
    for name in
        ["Content-Length", "Transfer-Encoding", "keep-alive", "Upgrade", "Trailer", "Connection", "TE"]
    {
        builder.header(name, "7").unwrap();
    }
    let bytes = builder.finish(b"");
    let response = Response::parse(&bytes).unwrap();
    assert_eq!((response.header_block(), response.closes()), (&b""[..], false));
}

#[test]
fn connection_close_date_and_server_become_flags() {
    let mut builder = ResponseBuilder::new(200).unwrap();
    builder.header("Connection", "x, Close").unwrap();
    builder.header("Date", "now").unwrap();
    builder.header("Server", "mine").unwrap();
    let bytes = builder.finish(b"");
    let response = Response::parse(&bytes).unwrap();
    assert!(response.closes() && response.has_date() && response.has_server());
    assert_eq!(response.header_block(), b"date: now\r\nserver: mine\r\n");
}

#[test]
fn a_status_outside_of_200_to_599_is_refused() {
    for status in [0, 1, 100, 101, 199, 600, 999, u16::MAX] {
        assert_eq!(ResponseBuilder::new(status).err(), Some(BadStatus(status)));
    }
    for status in [200, 299, 520, 599] {
        assert!(ResponseBuilder::new(status).is_ok());
    }
}

#[test]
fn a_buffer_used_again_keeps_nothing() {
    let mut first = ResponseBuilder::new(500).unwrap();
    first.header("a", "b").unwrap();
    let second = ResponseBuilder::in_buffer(first.finish(b"secret"), 200).unwrap().finish(b"");
    assert_eq!(second, ResponseBuilder::new(200).unwrap().finish(b""));
}

#[test]
fn random_and_changed_bytes_do_no_harm() {
    let mut random = fastrand::Rng::with_seed(4);
    let mut builder = ResponseBuilder::new(200).unwrap();
    builder.header("content-type", "text/plain").unwrap();
    let sample = builder.finish(b"body");
    for round in 0..50_000 {
        let mut bytes = sample.clone();
        if round % 2 == 0 {
            bytes = (0..random.usize(..60)).map(|_| random.u8(..)).collect();
        } else {
            let at = random.usize(..bytes.len());
            bytes[at] = random.u8(..);
            bytes.truncate(random.usize(..=bytes.len()));
        }
        if let Ok(response) = Response::parse(&bytes) {
            assert!(response.headers().count() <= bytes.len());
            assert_eq!(response.body_start() + response.body().len(), bytes.len());
        }
    }
}

#[test]
fn one_more_header_leaves_the_rest_as_it_was() {
    let mut builder = ResponseBuilder::new(200).unwrap();
    builder.header("content-type", "text/plain").unwrap();
    builder.header("date", "now").unwrap();
    let before = builder.finish(b"a: b\r\n");
    let after = with_header(&before, "Age", "3");
    let (before, after) = (Response::parse(&before).unwrap(), Response::parse(&after).unwrap());
    assert_eq!((after.status(), after.body(), after.has_date()), (200, before.body(), true));
    let added = (&b"age"[..], &b"3"[..]);
    assert_eq!(after.headers().collect::<Vec<_>>(), before.headers().chain([added]).collect::<Vec<_>>());
    // What is no header, and no response, changes nothing.
    let plain = ResponseBuilder::new(204).unwrap().finish(b"");
    assert_eq!(with_header(&plain, "a b", "3"), plain);
    assert_eq!(with_header(b"short", "age", "3"), b"short");
}

#[test]
fn a_response_says_what_it_depends_on_beside_what_it_said_and_nothing_twice() {
    let varied = |said: &[&str]| {
        let mut builder = ResponseBuilder::new(200).unwrap();
        builder.header("content-type", "text/plain").unwrap();
        said.iter().for_each(|value| builder.header("Vary", value).unwrap());
        builder.header("date", "now").unwrap();
        let before = builder.finish(b"vary: body\r\n");
        let mut after = before.clone();
        vary_by(&mut after, "accept");
        let (before, after) = (Response::parse(&before).unwrap(), Response::parse(&after).unwrap());
        assert_eq!((after.status(), after.body(), after.has_date()), (200, before.body(), true));
        let others = |response: &Response<'_>| {
            response
                .headers()
                .filter(|(name, _)| *name != b"vary")
                .map(|(_, value)| value.to_vec())
                .collect::<Vec<_>>()
        };
        assert_eq!(others(&after), others(&before));
        let values = after.headers().filter(|(name, _)| *name == b"vary");
        values.map(|(_, value)| String::from_utf8_lossy(value).into_owned()).collect::<Vec<_>>()
    };
    assert_eq!(varied(&[]), ["accept"]);
    assert_eq!(varied(&["Cookie, accept-language"]), ["Cookie, accept-language, accept"]);
    assert_eq!(varied(&["accept-encoding", "cookie"]), ["accept-encoding, accept", "cookie"]);
    for said in ["Accept", "cookie , ACCEPT", "*"] {
        assert_eq!(varied(&[said]), [said]);
    }
    let mut short = b"short".to_vec();
    vary_by(&mut short, "accept");
    assert_eq!(short, b"short");
}
