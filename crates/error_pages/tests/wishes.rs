use error_pages::PageWish;
use message::{RequestBuilder, RequestLine};

const BROWSER: (&str, &str) =
    ("Accept", "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8");

fn message(headers: &[(&str, &str)]) -> Vec<u8> {
    let line = RequestLine { method: "GET", raw_path: "/a%20b", path: "/a b", ..RequestLine::default() };
    let mut builder = RequestBuilder::new(&line, headers.len(), 0);
    for (name, value) in headers {
        builder.header(name.as_bytes(), value.as_bytes());
    }
    builder.finish(b"")
}

fn head(headers: &[(&str, &str)]) -> Vec<u8> {
    let lines: String = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    format!("GET /\0 HTTP/1.1\r\nnonsense\r\n{lines}\r\nAccept: text/html\r\n").into_bytes()
}

#[test]
fn a_browser_gets_a_page_and_nobody_else_does() {
    let dest = |value| ("Sec-Fetch-Dest", value);
    for (headers, is_page) in [
        (&[BROWSER][..], true),
        (&[("ACCEPT", "TEXT/HTML")], true),
        (&[("accept", "text/plain"), ("accept", "text/html")], true),
        (&[BROWSER, dest("document")], true),
        (&[dest("iframe"), BROWSER], true),
        (&[], false),
        (&[("accept", "*/*")], false),
        (&[("accept", "")], false),
        (&[("accept", "html")], false),
        (&[("accept", "image/avif,image/webp,*/*;q=0.8")], false),
        (&[("accept", "application/json, text/html;q=0.9")], false),
        (&[("accept", "text/html;q=0")], false),
        (&[("accept", "text/htmlx")], false),
        (&[dest("document")], false),
        (&[BROWSER, dest("image")], false),
        (&[BROWSER, dest("script")], false),
        (&[dest("empty"), BROWSER], false),
        (&[BROWSER, dest("")], false),
        (&[BROWSER, ("HX-Request", "true")], false),
        (&[("hx-request", "true"), BROWSER], false),
        (&[("x-accept", "text/html")], false),
    ] {
        let (known, unknown) = (PageWish::of_message(&message(headers)), PageWish::of_head(&head(headers)));
        let known = known.filter(PageWish::is_meant);
        assert_eq!((known.is_some(), unknown.is_some()), (is_page, is_page), "{headers:?}");
        known.iter().for_each(|wish| assert_eq!(wish.path(), "/a b"));
        unknown.iter().for_each(|wish| assert_eq!(wish.path(), ""));
    }
    for (line, path) in [
        ("GET /a/b?c HTTP/1.1", "/a/b"),
        ("GET /", "/"),
        ("GET a HTTP/1.1", ""),
        ("GET /%61 HTTP/1.1", ""),
        ("GET http://a/b HTTP/1.1", ""),
        ("nonsense", ""),
        ("", ""),
        (&format!("GET /{} HTTP/1.1", "x".repeat(2000)), ""),
    ] {
        let wish = PageWish::of_head(format!("{line}\r\nAccept: text/html\r\n").as_bytes());
        assert_eq!(wish.as_ref().map(PageWish::path), Some(path), "{line}");
    }
}

#[test]
fn whatever_bytes_come_ask_for_nothing() {
    let mut random = fastrand::Rng::with_seed(57);
    for _ in 0..20_000 {
        let mut bytes = message(&[BROWSER]);
        for _ in 0..random.usize(1..5) {
            let place = random.usize(..bytes.len());
            bytes[place] = random.u8(..);
        }
        bytes.truncate(random.usize(..=bytes.len()));
        let _ = (PageWish::of_message(&bytes), PageWish::of_head(&bytes));
    }
}
