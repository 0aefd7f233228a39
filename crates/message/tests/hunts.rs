//! Random attacks on the messages between gateway and executor.

use std::time::Duration;

use hunt::Hunt;
use hunt::bytes::damage;
use message::{Request, RequestBuilder, RequestLine, Response, ResponseBuilder};

fn word(random: &mut hunt::Rng) -> String {
    (0..random.usize(..12))
        .map(|_| {
            let last = if random.bool() { '\u{7f}' } else { '\u{500}' };
            random.char('\u{1}'..=last)
        })
        .collect()
}

#[test]
fn requests() {
    let mut hunt = Hunt::begin("requests as messages", Duration::from_millis(500));
    while let Some(mut random) = hunt.next_round() {
        let [method, raw_path, path, query, authority, client] = [(); 6].map(|()| word(&mut random));
        let line = RequestLine {
            method: &method,
            raw_path: &raw_path,
            path: if random.bool() { &raw_path } else { &path },
            query_string: &query,
            authority: &authority,
            client: &client,
            ..RequestLine::default()
        };
        let headers: Vec<_> =
            (0..random.usize(..5)).map(|_| (word(&mut random), word(&mut random))).collect();
        let mut builder = RequestBuilder::new(&line, random.usize(..5), random.usize(..200));
        for (name, value) in &headers {
            builder.header(name.as_bytes(), value.as_bytes());
        }
        let body: Vec<u8> = (0..random.usize(..20)).map(|_| random.u8(..)).collect();
        let mut bytes = builder.finish(&body);
        let request = Request::parse(&bytes).unwrap();
        assert_eq!((request.method(), request.raw_path()), (&*method, &*raw_path));
        // An empty path stands for the raw one.
        let expected = if line.path.is_empty() { &*raw_path } else { line.path };
        assert_eq!((request.path(), request.query_string()), (expected, &*query));
        assert_eq!((request.authority(), request.body()), (&*authority, &*body));
        assert_eq!(request.client(), client);
        let lower = |name: &str| name.chars().map(|each| each.to_ascii_lowercase()).collect::<String>();
        let read: Vec<_> =
            request.headers().map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        let expected: Vec<_> = headers.iter().map(|(name, value)| (lower(name), value.clone())).collect();
        assert_eq!(read, expected);
        damage(&mut random, &mut bytes, &[b"\0\0\0\0", b"\xff\xff\xff\xff", b"\x80"]);
        if let Ok(request) = Request::parse(&bytes) {
            // Everything is looked at: no end of a part lies outside of the text or within a character.
            assert!(
                !format!("{request:?}").is_empty() && request.headers().all(|(name, _)| !name.contains('\0'))
            );
        }
    }
}

#[test]
fn responses() {
    let mut hunt = Hunt::begin("responses as messages", Duration::from_millis(300));
    while let Some(mut random) = hunt.next_round() {
        let mut builder = ResponseBuilder::new(random.u16(200..600)).unwrap();
        for _ in 0..random.usize(..4) {
            let name = if random.bool() { "x-name".to_owned() } else { word(&mut random) };
            let value = word(&mut random);
            // What is refused leaves nothing behind.
            let _ = builder.header(&name, &value);
            builder.header("x-after", "1").unwrap();
        }
        let mut bytes = builder.finish(b"body");
        let response = Response::parse(&bytes).unwrap();
        let head = response.header_block();
        assert!(head.is_empty() || head.ends_with(b"\r\n"));
        for line in String::from_utf8_lossy(head).split_terminator("\r\n") {
            let (name, value) = line.split_once(": ").unwrap();
            assert!(!name.is_empty() && !name.contains(|each: char| each.is_control() || each == ' '));
            assert!(!value.contains(['\r', '\n', '\0']));
        }
        damage(&mut random, &mut bytes, &[b"\0\0\0\0", b"\xff\xff\xff\xff", b"\r\n"]);
        if let Ok(response) = Response::parse(&bytes) {
            assert!(!format!("{response:?}").is_empty());
        }
    }
}
