//! What passes, between a client and something that plays the platform.

use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;

use super::front::free_port;
use super::*;

/// What browsers talk to, before a platform that answers each connection so.
struct Stage {
    port: u16,
    browser: Browser,
}

impl Stage {
    fn begin(play: impl Fn(TcpStream) + Clone + Send + 'static) -> Stage {
        let platform = TcpListener::bind("127.0.0.1:0").unwrap();
        let behind = platform.local_addr().unwrap().port();
        thread::spawn(move || {
            for stream in platform.incoming().map_while(io::Result::ok) {
                let play = play.clone();
                thread::spawn(move || play(stream));
            }
        });
        Stage::before(behind)
    }

    fn before(behind: u16) -> Stage {
        let port = free_port().unwrap();
        let browser = Browser::begin(Front::listen(port, &[]).unwrap(), behind).unwrap();
        browser.say(Now::Live, true);
        Stage { port, browser }
    }

    fn connect(&self) -> TcpStream {
        let client = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        client.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        client
    }

    fn send(&self, request: &str) -> String {
        let mut client = self.connect();
        client.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        let _ = client.read_to_string(&mut answer);
        answer
    }

    fn visit(&self, more: &str) -> String {
        self.send(&format!(
            "GET / HTTP/1.1\r\nHost: localhost\r\nAccept: text/html\r\nConnection: close\r\n{more}\r\n"
        ))
    }
}

/// Reads to the end of a head.
fn head(stream: &mut TcpStream) -> String {
    let (mut head, mut byte) = (Vec::new(), [0]);
    while !head.ends_with(b"\r\n\r\n") && stream.read(&mut byte).unwrap_or(0) == 1 {
        head.push(byte[0]);
    }
    String::from_utf8(head).unwrap()
}

/// Answers each request with this.
fn says(answer: &'static str) -> impl Fn(TcpStream) + Clone + Send {
    move |mut stream| {
        head(&mut stream);
        let _ = stream.write_all(answer.as_bytes());
    }
}

#[test]
fn where_no_platform_is_it_says_so() {
    let stage = Stage::before(free_port().unwrap());
    let answer = stage.send("GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    assert!(answer.starts_with("HTTP/1.1 503") && answer.contains("does not answer (yet)"), "{answer}");
    stage.browser.say(Now::Starts, false);
    let page = stage.visit("");
    assert!(page.starts_with("HTTP/1.1 503") && page.contains("The platform starts"), "{page}");
    assert!(page.contains("live.js"), "{page}");
}

#[test]
fn the_platform_is_told_who_asks_and_gets_what_concerns_it() {
    let stage = Stage::begin(|mut stream| {
        let asked = head(&mut stream);
        let length = asked.len();
        let _ = write!(
            stream,
            "HTTP/1.1 200 OK\r\nConnection: x-hop\r\nX-Hop: 1\r\nKeep-Alive: timeout=5\r\nContent-Length: {length}\r\n\r\n{asked}"
        );
    });
    let answer =
        stage.visit("If-None-Match: \"1\"\r\nRange: bytes=0-1\r\nAccept-Encoding: gzip\r\nX-Case: kept\r\n");
    let (ours, asked) = answer.split_once("\r\n\r\n").unwrap();
    assert!(!ours.to_lowercase().contains("hop") && !ours.to_lowercase().contains("keep-alive"), "{answer}");
    let mut lines = asked.lines();
    let announced = lines.next().unwrap();
    assert!(announced.starts_with("PROXY TCP4 127.0.0.1 127.0.0.1 "), "{announced}");
    let rest: Vec<&str> = lines.take_while(|line| !line.is_empty()).collect();
    assert_eq!(rest, ["GET / HTTP/1.1", "Host: localhost", "Accept: text/html", "X-Case: kept"]);
}

#[test]
fn a_page_gets_the_script_at_its_end_and_validators_go() {
    let stage = Stage::begin(says(
        "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 5\r\nETag: \"1\"\r\nX-Kept: 1\r\n\r\n<p>Hi",
    ));
    let page = stage.visit("");
    let (head, body) = page.split_once("\r\n\r\n").unwrap();
    let length = format!("content-length: {}", body.len());
    assert!(head.to_lowercase().contains(&length), "{page}");
    assert!(!head.contains("ETag") && head.contains("X-Kept") && body.starts_with("<p>Hi<script"), "{page}");
    // Whoever is no browser gets it as it is.
    let plain = stage.send("GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    assert!(plain.contains("ETag") && plain.ends_with("\r\n\r\n<p>Hi"), "{plain}");
}

#[test]
fn a_page_in_chunks_gets_it_too_and_one_that_breaks_off_does_not() {
    let stage = Stage::begin(says(
        "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n<p>Hi\r\n0\r\nX-Sum: 1\r\n\r\n",
    ));
    let page = stage.visit("");
    assert!(page.contains("<p>Hi") && page.contains("live.js") && page.ends_with("0\r\n\r\n"), "{page}");
    let stage =
        Stage::begin(says("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 50\r\n\r\n<p>Hi"));
    let page = stage.visit("");
    assert!(page.ends_with("<p>Hi"), "{page}");
}

#[test]
fn what_flows_is_not_held_and_who_does_not_read_stops_it() {
    // Sends for ever, and says how much was taken.
    let (sender, sent) = std::sync::mpsc::channel();
    let stage = Stage::begin(move |mut stream| {
        head(&mut stream);
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 100000000\r\n\r\n");
        stream.set_nonblocking(true).unwrap();
        let (mut total, mut last) = (0, Instant::now());
        while last.elapsed() < Duration::from_millis(300) && total < 100_000_000 {
            match stream.write(&[b'x'; 65536]) {
                Ok(count) => (total, last) = (total + count, Instant::now()),
                Err(_) => thread::sleep(Duration::from_millis(1)),
            }
        }
        let _ = sender.send(total);
    });
    let mut client = stage.connect();
    client.write_all(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
    let total = sent.recv_timeout(Duration::from_secs(30)).unwrap();
    // The buffers of four sockets, and ours.
    assert!(total < 30_000_000, "{total} bytes were taken for somebody who reads none");
}

#[test]
fn an_upload_arrives_as_it_comes_and_only_once_it_may() {
    let stage = Stage::begin(|mut stream| {
        let asked = head(&mut stream);
        let mut first = [0];
        stream.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
        let early = stream.read(&mut first).is_ok();
        let _ = stream.write_all(b"HTTP/1.1 100 Continue\r\n\r\n");
        stream.set_read_timeout(None).unwrap();
        let is_there = stream.read_exact(&mut first).is_ok();
        let expects = asked.contains("Expect: 100-continue");
        let told = format!("{early} {is_there} {expects}");
        let _ = write!(stream, "HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{told}", told.len());
    });
    let mut client = stage.connect();
    client
        .write_all(b"POST / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\nx")
        .unwrap();
    let mut answer = String::new();
    client.read_to_string(&mut answer).unwrap();
    assert!(answer.ends_with("false true true"), "{answer}");
}

#[test]
fn one_request_is_never_read_as_two() {
    let stage = Stage::begin(|mut stream| {
        let mut all = head(&mut stream).into_bytes();
        stream.set_read_timeout(Some(Duration::from_millis(200))).unwrap();
        let _ = stream.read_to_end(&mut all);
        let count = String::from_utf8_lossy(&all).matches(" HTTP/1.1\r\n").count();
        let _ = write!(stream, "HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\n{count} seen");
    });
    let hidden = "GET /hidden HTTP/1.1\r\nHost: localhost\r\n\r\n";
    for framing in [
        format!("Content-Length: {}\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", hidden.len() + 5),
        format!("Content-Length: 0\r\nContent-Length: {}\r\n\r\n", hidden.len()),
        "Transfer-Encoding: identity, chunked\r\n\r\n0\r\n\r\n".to_owned(),
        "Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n".to_owned(),
        "Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n".to_owned(),
        "Content-Length: +0\r\n\r\n".to_owned(),
        "Connection: content-length\r\nContent-Length: 0\r\n\r\n".to_owned(),
        "Connection: transfer-encoding\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n".to_owned(),
    ] {
        let answer = stage.send(&format!("POST / HTTP/1.1\r\nHost: localhost\r\n{framing}{hidden}"));
        assert!(!answer.contains("2 seen"), "{framing:?}: {answer}");
        assert!(answer.starts_with("HTTP/1.1 400") || answer.contains("1 seen"), "{framing:?}: {answer}");
    }
    let large =
        stage.send(&format!("GET / HTTP/1.1\r\nHost: localhost\r\nX: {}\r\n\r\n", "x".repeat(300_000)));
    assert!(large.is_empty() || large.starts_with("HTTP/1.1 431"), "{large}");
}

#[test]
fn listeners_and_connections_have_a_bound_and_places_come_back() {
    let stage = Stage::begin(says("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nHi"));
    let listen = || {
        let mut client = stage.connect();
        client.write_all(b"GET /.howdah/events HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
        let told = head(&mut client);
        (client, told)
    };
    let mut listeners: Vec<_> = (0..MOST_LISTENERS).map(|_| listen()).collect();
    assert!(listeners.iter().all(|(_, told)| told.starts_with("HTTP/1.1 200")));
    assert!(listen().1.starts_with("HTTP/1.1 503"));
    listeners.pop();
    while !listen().1.starts_with("HTTP/1.1 200") {}

    // The rest of the places, by those who say nothing.
    let idle: Vec<_> = (0..MOST_CONNECTIONS).map(|_| stage.connect()).collect();
    let mut late = stage.connect();
    late.write_all(b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").unwrap();
    late.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
    assert!(late.read(&mut [0]).is_err(), "it was answered beside as many as there may be");
    drop((idle, listeners));
    late.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    let mut answer = String::new();
    late.read_to_string(&mut answer).unwrap();
    assert!(answer.ends_with("Hi"), "{answer}");
}

#[test]
fn http2_is_passed_as_it_is_and_a_client_that_stays_holds_nothing_once_the_platform_has_ended() {
    let stage = Stage::begin(|mut stream| {
        let mut announced = String::new();
        while !announced.ends_with("\r\n") {
            let mut byte = [0];
            stream.read_exact(&mut byte).unwrap();
            announced.push(byte[0] as char);
        }
        let mut preface = [0; 24];
        stream.read_exact(&mut preface).unwrap();
        let _ = stream.write_all(&preface);
    });
    let preface = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
    let mut client = stage.connect();
    // In two pieces, of which the first could begin a word of HTTP/1.1.
    client.write_all(&preface[..2]).unwrap();
    thread::sleep(Duration::from_millis(20));
    client.write_all(&preface[2..]).unwrap();
    let mut answer = Vec::new();
    client.read_to_end(&mut answer).unwrap();
    assert_eq!(answer, preface);
}

#[test]
fn it_ends_with_what_was_under_way_answered_and_nothing_listens_any_more() {
    let (asked, is_asked) = std::sync::mpsc::channel();
    let stage = Stage::begin(move |mut stream| {
        head(&mut stream);
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nlo");
        let _ = asked.send(());
        thread::sleep(Duration::from_millis(100));
        let _ = stream.write_all(b"ng");
    });
    let mut client = stage.connect();
    client.write_all(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
    is_asked.recv().unwrap();
    head(&mut client);
    let port = stage.port;
    drop(stage);
    let mut body = [0; 4];
    client.read_exact(&mut body).unwrap();
    assert_eq!(&body, b"long");
    assert!(TcpStream::connect(("127.0.0.1", port)).is_err());
}
