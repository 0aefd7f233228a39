//! Answers that are packed, and bodies that are unpacked, beside the plain ones.

use std::time::Duration;

use codings::{Coding, Packer, Unpacked, unpack};
use conditions::{Preconditions, Validators, Verdict};
use hunt::Hunt;
use message::{Request, RequestBuilder, RequestLine, Response, ResponseBuilder};
use packing::{LEAST, Unread, Wish, is_packed, known_as, packed, plain_tag, unpacked, wish};

fn response(status: u16, headers: &[(&str, &str)], body: &[u8]) -> Vec<u8> {
    let mut builder = ResponseBuilder::new(status).unwrap();
    headers.iter().for_each(|(name, value)| builder.header(name, value).unwrap());
    builder.finish(body)
}

fn request(method: &str, headers: &[(&str, &str)], body: &[u8]) -> Vec<u8> {
    let line = RequestLine { method, raw_path: "/a%20b?c", path: "/a b", ..RequestLine::default() };
    let mut builder = RequestBuilder::new(&line, headers.len(), 0);
    headers.iter().for_each(|(name, value)| builder.header(name.as_bytes(), value.as_bytes()));
    builder.finish(body)
}

fn wish_of(accept: &str, response: &[u8]) -> Wish {
    let request = request("GET", &[("accept-encoding", accept)], b"");
    wish(&Request::parse(&request).unwrap(), &Response::parse(response).unwrap())
}

fn header(response: &[u8], wanted: &str) -> Option<String> {
    let response = Response::parse(response).unwrap();
    let found = response.headers().find(|(name, _)| *name == wanted.as_bytes());
    found.map(|(_, value)| String::from_utf8(value.to_vec()).unwrap())
}

const JSON: (&str, &str) = ("content-type", "application/json");

#[test]
fn what_gains_is_packed_as_its_client_takes_it() {
    let rows = response(200, &[JSON], "[1,2]".repeat(LEAST).as_bytes());
    for (accept, wanted) in [
        ("gzip, deflate, br, zstd", Wish::Packed(Coding::Zstd)),
        ("gzip, deflate, br", Wish::Packed(Coding::Brotli)),
        ("gzip", Wish::Packed(Coding::Gzip)),
        ("zstd;q=0.5, gzip", Wish::Packed(Coding::Gzip)),
        ("", Wish::Varies),
        ("deflate", Wish::Varies),
        ("*;q=0", Wish::Varies),
    ] {
        assert_eq!(wish_of(accept, &rows), wanted, "{accept}");
    }
}

#[test]
fn what_gains_nothing_or_must_not_change_is_left_as_it_is() {
    let long = "a".repeat(LEAST);
    let headers: [&[(&str, &str)]; 12] = [
        &[],
        &[("content-type", "image/png")],
        &[JSON, ("content-encoding", "gzip")],
        &[JSON, ("content-range", "bytes 0-1023/5000")],
        &[JSON, ("accept-ranges", "bytes")],
        &[JSON, ("set-cookie", "a=b")],
        &[JSON, ("cache-control", "max-age=5, No-Transform")],
        &[JSON, ("content-digest", "sha-256=:x:")],
        &[JSON, ("repr-digest", "sha-256=:x:")],
        &[JSON, ("digest", "x")],
        &[JSON, ("content-md5", "x")],
        &[("content-type", "\u{e9}")],
    ];
    for headers in headers {
        assert_eq!(wish_of("br", &response(200, headers, long.as_bytes())), Wish::Plain, "{headers:?}");
    }
    assert_eq!(wish_of("br", &response(200, &[JSON], &long.as_bytes()[1..])), Wish::Plain);
    assert_eq!(wish_of("br", &response(206, &[JSON], long.as_bytes())), Wish::Plain);
    let packs = Wish::Packed(Coding::Brotli);
    assert_eq!(wish_of("br", &response(404, &[JSON], long.as_bytes())), packs);
    assert_eq!(wish_of("br", &response(200, &[JSON, ("accept-ranges", "none")], long.as_bytes())), packs);
    let mut problem = ResponseBuilder::new(422).unwrap();
    problem.header("content-type", "application/problem+json").unwrap();
    problem.is_problem();
    assert_eq!(wish_of("br", &problem.finish(long.as_bytes())), Wish::Plain);
}

#[test]
fn a_packed_answer_says_what_the_plain_one_does_and_its_coding() {
    let mut packer = Packer::default();
    let body = "{\"a\": 1}".repeat(500);
    let headers = [JSON, ("etag", "\"x\""), ("x-other", "y"), ("vary", "accept"), ("date", "now")];
    let mut builder = ResponseBuilder::new(201).unwrap();
    headers.iter().for_each(|(name, value)| builder.header(name, value).unwrap());
    builder.close();
    let plain = builder.finish(body.as_bytes());
    for coding in Coding::ALL {
        let bytes = packed(&plain, coding, &mut packer, b"what was there".to_vec()).unwrap();
        let answer = Response::parse(&bytes).unwrap();
        assert_eq!((answer.status(), answer.closes(), answer.has_date()), (201, true, true));
        assert_eq!(
            answer.headers().map(|(name, _)| String::from_utf8_lossy(name)).collect::<Vec<_>>(),
            ["content-type", "etag", "x-other", "vary", "date", "content-encoding"]
        );
        assert_eq!(header(&bytes, "vary").unwrap(), "accept, accept-encoding");
        assert_eq!(header(&bytes, "etag").unwrap(), format!("\"x-{}\"", coding.name()));
        assert_eq!(header(&bytes, "content-encoding").unwrap(), coding.name());
        assert_eq!(&*plain_tag(&answer).unwrap(), b"\"x\"");
        let back = unpack(coding, answer.body(), body.len()).unwrap();
        assert_eq!(back, Unpacked::Whole(body.clone().into_bytes()));
    }
    let weak = response(200, &[JSON, ("etag", "W/\"x\"")], body.as_bytes());
    let bytes = packed(&weak, Coding::Gzip, &mut packer, Vec::new()).unwrap();
    assert_eq!(header(&bytes, "etag").unwrap(), "W/\"x\"");
    let untagged = response(200, &[JSON], body.as_bytes());
    assert_eq!(plain_tag(&Response::parse(&untagged).unwrap()), None);
    // Its own tag ends so, and it is plain.
    let own = response(200, &[JSON, ("etag", "\"x-gzip\"")], body.as_bytes());
    assert_eq!(&*plain_tag(&Response::parse(&own).unwrap()).unwrap(), b"\"x-gzip\"");
}

#[test]
fn what_becomes_no_shorter_is_not_packed() {
    let mut random = fastrand::Rng::with_seed(7);
    let noise: Vec<u8> = (0..5_000).map(|_| random.u8(..)).collect();
    let noise = response(200, &[("content-type", "text/plain")], &noise);
    for coding in Coding::ALL {
        assert_eq!(packed(&noise, coding, &mut Packer::default(), Vec::new()), None, "{coding:?}");
        assert_eq!(packed(b"", coding, &mut Packer::default(), Vec::new()), None);
    }
}

#[test]
fn a_client_hears_the_tag_that_it_knows() {
    let unmodified = response(304, &[("etag", "\"x\""), ("cache-control", "no-cache")], b"");
    for (named, told) in [
        ("\"x\"", "\"x\""),
        ("\"x-zstd\"", "\"x-zstd\""),
        ("\"y-zstd\", \"x-gzip\"", "\"x-gzip\""),
        ("\"x-zstd\", \"x\"", "\"x\""),
        ("*", "\"x\""),
        ("W/\"x-br\"", "\"x-br\""),
    ] {
        let headers = [(&b"if-none-match"[..], named.as_bytes())];
        let preconditions = Preconditions::of(headers.into_iter());
        let now = Validators { tag: Some(b"\"x\""), last_modified: None };
        assert_eq!(preconditions.judge(true, Some(now)), Verdict::NotModified, "{named}");
        let answer = known_as(unmodified.clone(), &preconditions);
        assert_eq!(header(&answer, "etag").unwrap(), told, "{named}");
        assert_eq!(header(&answer, "vary").is_some(), told != "\"x\"", "{named}");
        assert_eq!(header(&answer, "cache-control").unwrap(), "no-cache");
    }
}

#[test]
fn a_request_is_the_same_without_its_coding() {
    let body = "a,b\n".repeat(1000);
    for coding in Coding::ALL {
        let packed = codings::pack(coding, body.as_bytes()).unwrap();
        let length = packed.len().to_string();
        let headers = [
            ("content-type", "text/csv"),
            ("content-length", length.as_str()),
            ("content-encoding", coding.name()),
            ("x-request-id", "the-id"),
            ("cookie", "a=b"),
        ];
        let message = request("POST", &headers, &packed);
        let before = Request::parse(&message).unwrap();
        assert!(is_packed(&before));
        let plain = unpacked(&before, body.len(), reserve).unwrap().unwrap();
        let after = Request::parse(&plain).unwrap();
        assert_eq!(after.body(), body.as_bytes());
        assert_eq!((after.id(), after.method(), after.path()), ("the-id", "POST", "/a b"));
        assert_eq!(after.raw_path(), before.raw_path());
        let length = body.len().to_string();
        assert_eq!(
            after.headers().collect::<Vec<_>>(),
            [
                ("content-type", "text/csv"),
                ("x-request-id", "the-id"),
                ("cookie", "a=b"),
                ("content-length", length.as_str())
            ]
        );
        assert!(message::is_personal(&plain) && !is_packed(&after));
        assert_eq!(unpacked(&before, body.len() - 1, reserve), Err(Unread::TooLong(body.len() - 1)));
        let cut = request("POST", &headers, &packed[..packed.len() - 1]);
        let cut = unpacked(&Request::parse(&cut).unwrap(), body.len(), reserve);
        assert!(matches!(cut, Err(Unread::Invalid(of, _)) if of == coding), "{cut:?}");
    }
}

#[test]
fn what_is_not_packed_stays_and_what_nobody_knows_is_told() {
    let of = |coding: &str, body: &[u8]| {
        let message = request("POST", &[("content-encoding", coding)], body);
        unpacked(&Request::parse(&message).unwrap(), 100, reserve)
    };
    for plain in ["identity", "", " , Identity,"] {
        assert_eq!(of(plain, b"abc"), Ok(None), "{plain}");
    }
    let none = of("gzip", b"").unwrap().unwrap();
    let none = Request::parse(&none).unwrap();
    assert_eq!((none.body(), is_packed(&none)), (&b""[..], false));
    assert_eq!(of("deflate", b"abc"), Err(Unread::Unknown("deflate".into())));
    assert_eq!(of("gzip, br", b"abc"), Err(Unread::Unknown("gzip, br".into())));
    assert!(matches!(of("identity, X-GZIP", b"abc"), Err(Unread::Invalid(Coding::Gzip, _))));
    let Err(Unread::Unknown(told)) = of(&"x".repeat(5000), b"abc") else { panic!() };
    assert_eq!(told.len(), 100);
}

mod hunts {
    use super::*;

    /// Random answers: the packed one is the plain one, for whoever unpacks it and asks again.
    #[test]
    fn random_answers_come_back_and_hold() {
        let mut packer = Packer::default();
        let mut hunt = Hunt::begin("packed answers", Duration::from_millis(500));
        while let Some(mut random) = hunt.next_round() {
            let letters = random.u8(1..60);
            let body: Vec<u8> = (0..random.usize(..8000)).map(|_| b'A' + random.u8(..letters)).collect();
            let tag = format!("\"{}\"", random.u32(..));
            let plain = response(200, &[JSON, ("etag", &tag)], &body);
            let coding = Coding::ALL[random.usize(..3)];
            let Some(bytes) = packed(&plain, coding, &mut packer, Vec::new()) else { continue };
            let answer = Response::parse(&bytes).unwrap();
            assert_eq!(unpack(coding, answer.body(), body.len()).unwrap(), Unpacked::Whole(body));
            assert!(bytes.len() < plain.len() + 64);
            let known = header(&bytes, "etag").unwrap();
            let named = [(&b"if-none-match"[..], known.as_bytes())];
            let now = Validators { tag: Some(tag.as_bytes()), last_modified: None };
            assert_eq!(Preconditions::of(named.into_iter()).judge(true, Some(now)), Verdict::NotModified);
        }
    }
}

fn reserve(bytes: &mut Vec<u8>, more: usize) -> bool {
    bytes.try_reserve(more).is_ok()
}

/// A request names as many codings as its head has room for; a head of 2 MB takes no longer than a pass over it.
#[test]
fn a_million_codings_are_told_in_short() {
    let message = request("POST", &[("content-encoding", &"a,".repeat(1_000_000))], b"x");
    let request = Request::parse(&message).unwrap();
    assert!(is_packed(&request));
    let Err(Unread::Unknown(told)) = unpacked(&request, 100, reserve) else { panic!("it is known") };
    assert_eq!(told, "a, ".repeat(34)[..100]);
}

#[test]
fn a_body_for_which_there_is_no_memory_is_told() {
    for coding in Coding::ALL {
        let packed = codings::pack(coding, &[b' '; 100_000]).unwrap();
        let message = request("POST", &[("content-encoding", coding.name())], &packed);
        let few: codings::Reserve =
            |bytes, more| bytes.len() + more < 50_000 && bytes.try_reserve(more).is_ok();
        assert_eq!(
            unpacked(&Request::parse(&message).unwrap(), 1 << 20, few),
            Err(Unread::NoMemory),
            "{coding:?}"
        );
    }
}
