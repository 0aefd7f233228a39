//! Browsers get a page in the place of an error's document, whoever has written that: the owner, or the event loop itself.

use std::time::Duration;

use error_pages::{ErrorPages, PageTemplate};
use gateway::Limits;
use problem::Problem;

use crate::harness::{Client, Event, Reply, Running};
use crate::http2_client::{body, request, with_client};

const BROWSER: &str = "Host: a\r\nX-Request-Id: one\r\nAccept: text/html,*/*;q=0.8\r\n";

/// A server whose pages are the status, the fault and the path.
fn running(limits: Limits) -> Running {
    let running = Running::start(limits);
    running.run(|server| {
        let mut pages = ErrorPages::default();
        for status in 400..=505 {
            let text = format!("{status} ");
            let pieces = [text.as_str(), "detail", " ", "request_id", " at ", "path", ""];
            pages.add("/", [status], None, PageTemplate::of(pieces).unwrap());
        }
        server.set_error_pages(pages);
    });
    running
}

#[test]
fn a_refusal_is_a_page_for_a_browser_as_far_as_its_head_tells() {
    let quick = Limits {
        head_timeout: Duration::from_millis(200),
        body_timeout: Duration::from_millis(200),
        ..Limits::default()
    };
    let running = running(Limits { max_body: 10, max_bodies: 5, ..quick });
    for (status, request, path) in [
        (400, format!("GET /%ff HTTP/1.1\r\n{BROWSER}\r\n"), ""),
        (408, format!("GET / HTTP/1.1\r\n{BROWSER}X: "), "/"),
        (408, format!("POST /up HTTP/1.1\r\n{BROWSER}Content-Length: 5\r\n\r\n1"), "/up"),
        (413, format!("POST /up HTTP/1.1\r\n{BROWSER}Content-Length: 11\r\n\r\n"), "/up"),
        (414, format!("GET /{} HTTP/1.1\r\n{BROWSER}\r\n", "x".repeat(10_000)), ""),
        (417, format!("GET / HTTP/1.1\r\n{BROWSER}Expect: x\r\n\r\n"), "/"),
        (431, format!("GET / HTTP/1.1\r\n{BROWSER}{}\r\n", "X: y\r\n".repeat(200)), "/"),
        (501, format!("CONNECT a:80 HTTP/1.1\r\n{BROWSER}\r\n"), ""),
        (503, format!("POST /up HTTP/1.1\r\n{BROWSER}Content-Length: 6\r\n\r\n123456"), "/up"),
    ] {
        let reply = running.connect().send(&request).reply();
        assert_eq!(
            (reply.status, reply.header("content-type")),
            (status, Some("text/html; charset=utf-8")),
            "{request}"
        );
        assert_eq!(reply.header("cache-control"), Some("no-store"));
        assert_eq!((reply.header("vary"), reply.header("x-request-id")), (Some("accept"), Some("one")));
        assert!(reply.closes());
        let body = String::from_utf8(reply.body.clone()).unwrap();
        assert!(
            body.starts_with(&format!("{status} ")) && body.ends_with(&format!(" one at {path}")),
            "{body}"
        );
        let scripted = request.replace("Accept:", "HX-Request: true\r\nAccept:");
        let reply = running.connect().send(scripted).reply();
        assert_eq!((reply.status, reply.header("content-type")), (status, Some("application/problem+json")));
    }
}

/// The answer that the owner gives to a request.
fn answered(
    running: &Running,
    client: &mut Client<std::net::TcpStream>,
    request: &str,
    problem: Problem,
) -> Reply {
    client.send(request);
    let ticket = running.held();
    running.run(move |server| server.reply(ticket, problem.write(Vec::new(), "two")));
    if request.starts_with("HEAD") { client.reply_to_head() } else { client.reply() }
}

#[test]
fn an_answer_of_the_owner_keeps_its_headers_and_head_has_no_body() {
    let running = running(Limits::default());
    let mut client = running.connect();
    let refused = || Problem { allow: Some("GET, HEAD".into()), ..Problem::new(405, "<no>") };
    for (method, body) in [("POST", "405 &lt;no&gt; two at /hold"), ("HEAD", "")] {
        let request = format!("{method} /hold HTTP/1.1\r\n{BROWSER}\r\n");
        let reply = answered(&running, &mut client, &request, refused());
        assert_eq!((reply.status, reply.header("allow")), (405, Some("GET, HEAD")));
        assert_eq!(reply.header("content-length"), Some("27"));
        assert_eq!(String::from_utf8_lossy(&reply.body), body);
        assert!(!reply.closes());
    }
    let program = "POST /hold HTTP/1.1\r\nHost: a\r\nAccept: */*\r\n\r\n";
    let reply = answered(&running, &mut client, program, refused());
    assert_eq!(
        (reply.header("content-type"), reply.header("vary")),
        (Some("application/problem+json"), None)
    );
}

#[test]
fn a_long_page_for_which_there_is_no_room_is_a_document() {
    let running = running(Limits { max_replies: 100_000, ..Limits::default() });
    running.run(|server| {
        let mut pages = ErrorPages::default();
        pages.add("/", [404], None, PageTemplate::of(["x".repeat(60_000).as_str()]).unwrap());
        server.set_error_pages(pages);
    });
    let mut client = running.connect();
    let mut ask = |path: &str| {
        client.send(format!("GET {path} HTTP/1.1\r\n{BROWSER}\r\n"));
        let ticket = running.held();
        running.run(move |server| server.reply(ticket, Problem::new(404, "none").write(Vec::new(), "x")));
        let reply = client.reply();
        (reply.status, reply.body.len() > 1000)
    };
    assert_eq!(ask("/hold"), (404, true));
    running.run(|server| {
        let mut pages = ErrorPages::default();
        pages.add("/", [404], None, PageTemplate::of(["x".repeat(120_000).as_str()]).unwrap());
        server.set_error_pages(pages);
    });
    assert_eq!(ask("/hold"), (404, false));
}

#[test]
fn http2_has_the_same_pages() {
    let running = running(Limits { max_body: 10, ..Limits::default() });
    with_client(&running, async |mut client| {
        for (path, sent, status, text) in [("/%ff", "", 400, "400 "), ("/up", "12345678901", 413, "413 ")] {
            for (accept, kind) in
                [("text/html", "text/html; charset=utf-8"), ("*/*", "application/problem+json")]
            {
                let mut asked = request("POST", path, sent);
                asked.headers_mut().insert("accept", accept.parse().unwrap());
                let response = client.send_request(asked).await.unwrap();
                assert_eq!(
                    (response.status().as_u16(), &response.headers()["content-type"]),
                    (status, &kind.parse().unwrap())
                );
                assert_eq!(response.headers().contains_key("vary"), accept == "text/html");
                let body = body(response).await;
                assert_eq!(body.starts_with(text.as_bytes()), accept == "text/html", "{body:?}");
            }
        }
        let mut asked = request("GET", "/hold", "");
        asked.headers_mut().insert("accept", "text/html".parse().unwrap());
        let answer = client.send_request(asked);
        let answering = async {
            let ticket = loop {
                match running.events.try_recv() {
                    Ok(Event::Held(ticket)) => break ticket,
                    _ => tokio::time::sleep(Duration::from_millis(1)).await,
                }
            };
            running.run(move |server| server.reply(ticket, Problem::new(404, "none").write(Vec::new(), "x")));
        };
        let (response, ()) = tokio::join!(answer, answering);
        assert_eq!(body(response.unwrap()).await, "404 none x at /hold");
    });
}
