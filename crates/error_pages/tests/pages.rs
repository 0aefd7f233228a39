use error_pages::statuses::{ErrorKind, all};
use error_pages::{ErrorPages, PageTemplate, PageWish};
use message::{RequestBuilder, RequestLine, Response, ResponseBuilder};
use problem::Problem;

fn wish(path: &str) -> PageWish {
    let line = RequestLine { method: "GET", raw_path: path, path, ..RequestLine::default() };
    let mut builder = RequestBuilder::new(&line, 1, 0);
    builder.header(b"accept", b"text/html");
    PageWish::of_message(&builder.finish(b"")).unwrap()
}

fn page(pieces: &[&str]) -> PageTemplate {
    PageTemplate::of(pieces.iter().copied()).unwrap()
}

/// The status, the headers and the body of an answer.
fn shown(pages: &ErrorPages, problem: &Problem, path: &str) -> (u16, String, String) {
    let answer = pages.response(&problem.write(Vec::new(), "an-id"), &wish(path)).expect("a page");
    let answer = Response::parse(&answer).unwrap();
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    assert!(!answer.is_problem());
    (answer.status(), text(answer.header_block()), text(answer.body()))
}

fn body(pages: &ErrorPages, status: u16, path: &str) -> String {
    shown(pages, &Problem::new(status, "<fault>"), path).2
}

#[test]
fn the_longest_prefix_answers_and_a_missing_page_is_the_one_built_in() {
    let mut pages = ErrorPages::default();
    pages.add("/shop", [404], Some(true), page(&["shop ", "detail", ""]));
    pages.add("/", [404, 500], None, page(&["root ", "path", " ", "request_id", ""]));
    pages.add("/shop/admin", [500], None, page(&["admin"]));
    for (path, expected) in [
        ("/", "root / an-id"),
        ("/a b", "root /a b an-id"),
        ("/shop", "shop &lt;fault&gt;"),
        ("/shop/", "shop &lt;fault&gt;"),
        ("/shop/x", "shop &lt;fault&gt;"),
        ("/shopping", "root /shopping an-id"),
    ] {
        assert_eq!(body(&pages, 404, path), expected, "{path}");
    }
    assert_eq!(body(&pages, 500, "/shop/admin/x"), "admin");
    let untold = Problem { detail: None, ..Problem::new(404, "") };
    for built_in in
        [body(&pages, 404, "/shop/admin"), body(&pages, 500, "/shop"), shown(&pages, &untold, "/shop").2]
    {
        assert!(built_in.starts_with("<!doctype html>") && built_in.contains("an-id"), "{built_in}");
    }
}

#[test]
fn without_the_page_that_is_built_in_a_document_stays() {
    let mut pages = ErrorPages::default();
    pages.add("/", [404], None, page(&["own"]));
    pages.set_built_in(false);
    assert_eq!(body(&pages, 404, "/x"), "own");
    assert_eq!(pages.response(&Problem::new(500, "x").write(Vec::new(), "x"), &wish("/")), None);
}

#[test]
fn status_and_headers_of_the_document_stay() {
    let pages = ErrorPages::default();
    let refused = Problem { allow: Some("GET, HEAD".into()), by_accept: true, ..Problem::new(405, "no") };
    let (status, headers, body) = shown(&pages, &refused, "/");
    assert_eq!(status, 405);
    assert_eq!(
        headers,
        "content-type: text/html; charset=utf-8\r\nx-request-id: an-id\r\nallow: GET, HEAD\r\nvary: accept\r\n"
    );
    assert!(body.contains("<p>no\n"), "{body}");
    assert!(shown(&pages, &Problem::new(503, "no"), "/").1.contains("retry-after: 1\r\n"));
    assert!(
        shown(&pages, &Problem::new(415, "no"), "/")
            .1
            .contains("accept-encoding: identity\r\nvary: accept\r\n")
    );
    let mut closing = ResponseBuilder::new(400).unwrap();
    closing.is_problem();
    closing.close();
    let closing = pages.response(&closing.finish(b"no document"), &wish("/")).unwrap();
    assert!(Response::parse(&closing).unwrap().closes());
}

#[test]
fn an_answer_of_a_handler_stays_as_it_is() {
    let pages = ErrorPages::default();
    let mut own = ResponseBuilder::new(404).unwrap();
    own.header("content-type", "application/problem+json").unwrap();
    assert_eq!(pages.response(&own.finish(b"{}"), &wish("/")), None);
    assert_eq!(pages.response(&Problem::new(201, "raised").write(Vec::new(), "x"), &wish("/")), None);
    assert_eq!(pages.response(b"", &wish("/")), None);
}

#[test]
fn the_page_that_is_built_in_says_what_to_do_and_takes_nothing_for_html() {
    let pages = ErrorPages::default();
    for status in (400..=599).chain([418, 599]) {
        let (code, _, body) = shown(&pages, &Problem::new(status, "<i>\"fault\"</i>"), "/<path>");
        assert_eq!(code, status);
        assert!(
            body.contains("<p>&lt;i&gt;&quot;fault&quot;&lt;/i&gt;\n") && !body.contains("<i>"),
            "{body}"
        );
        assert!(
            body.contains("<a href=\"/\">")
                && body.contains("color-scheme: light dark")
                && body.contains("<title>")
        );
        assert!(body.contains(&format!("{status}, request an-id")) && body.len() < 1500, "{body}");
    }
}

#[test]
fn each_error_has_one_file() {
    let kinds = [ErrorKind::One(404), ErrorKind::Class(4), ErrorKind::Rest];
    let mut found: Vec<u16> = kinds.iter().flat_map(|kind| kind.statuses(&kinds)).collect();
    found.sort_unstable();
    assert_eq!(found, all().collect::<Vec<_>>());
    assert_eq!(
        (ErrorKind::One(404).statuses(&kinds), ErrorKind::One(418).statuses(&kinds)),
        (vec![404], vec![418])
    );
    assert!(ErrorKind::Class(4).statuses(&kinds).iter().all(|status| status / 100 == 4 && *status != 404));
    assert!(ErrorKind::Rest.statuses(&kinds).iter().all(|status| status / 100 == 5));
    for (stem, kind) in [
        ("5xx", Some(ErrorKind::Class(5))),
        ("default", Some(ErrorKind::Rest)),
        ("frame", None),
        ("4-x", None),
    ] {
        assert_eq!(ErrorKind::of(stem), Ok(kind));
    }
    for bad in ["200", "399", "600", "40", "4040", "99999"] {
        assert!(ErrorKind::of(bad).is_err(), "{bad}");
    }
}

#[test]
fn whatever_bytes_come_from_a_process_do_no_harm() {
    let (mut random, mut pages) = (fastrand::Rng::with_seed(57), ErrorPages::default());
    pages.add("/", [404], None, page(&["", "detail", "", "request_id", "", "path", ""]));
    let document = Problem::new(404, "é \"fault\"").write(Vec::new(), "an-id");
    for _ in 0..20_000 {
        let mut bytes = document.clone();
        for _ in 0..random.usize(1..4) {
            let place = random.usize(..bytes.len());
            bytes[place] = random.u8(..);
        }
        bytes.truncate(random.usize(..=bytes.len()));
        if let Some(answer) = pages.response(&bytes, &wish("/")) {
            assert!(Response::parse(&answer).is_ok_and(|answer| answer.status() >= 400));
        }
    }
}
