//! HTTP/1 over real sockets: what a client of the web may do, and what it gets.

use std::net::Shutdown;

use crate::harness::{Event, Running};
use gateway::Limits;

#[test]
fn a_connection_is_kept_and_a_body_comes_back() {
    let running = Running::start(Limits::default());
    let mut client = running.connect();
    for _ in 0..3 {
        let reply = client.get("/");
        assert_eq!((reply.status, &*reply.body), (200, &b"hello"[..]));
        assert_eq!((reply.header("server"), reply.closes()), (Some("howdah"), false));
        assert!(reply.header("date").is_some());
    }
    let post = "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nabcde";
    assert_eq!(client.send(post).reply().body, b"abcde");
    let chunked = "POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n";
    assert_eq!(client.send(chunked).reply().body, b"abcde");
    assert_eq!(client.get("/facts?a=%20").body, b"GET /facts a=%20 Http11 a -");
}

#[test]
fn every_answer_has_the_id_of_its_request() {
    let running = Running::start(Limits::default());
    let mut client = running.connect();
    let (first, second) = (client.get("/id"), client.get("/id"));
    assert!(first.id().len() == 16 && first.id().bytes().all(|digit| digit.is_ascii_hexdigit()));
    assert_eq!((first.id().as_bytes(), second.id().as_bytes()), (&*first.body, &*second.body));
    assert_ne!(first.id(), second.id());
    for length in [1, 36, 37, 128] {
        let sent = "i".repeat(length);
        let request = |path: &str| format!("GET {path} HTTP/1.1\r\nHost: a\r\nX-Request-Id: {sent}\r\n\r\n");
        let reply = client.send(request("/id")).reply();
        assert_eq!((reply.id(), &*reply.body), (&*sent, sent.as_bytes()));
        for path in ["/big/100000", "/malformed", "/status/204", "/status/304"] {
            let reply = client.send(request(path)).reply();
            assert_eq!(reply.id(), sent, "{path}");
            if reply.closes() {
                client = running.connect();
            }
        }
        assert_eq!(client.send(request("/own-id")).reply().id(), "the application's");
    }
    let insane = "GET /id HTTP/1.1\r\nHost: a\r\nX-Request-Id: a b\r\n\r\n";
    let reply = client.send(insane).reply();
    assert_eq!((reply.id().len(), reply.id().as_bytes()), (16, &*reply.body));
    let reply = client.send("HEAD /id HTTP/1.1\r\nHost: a\r\nX-Request-Id: h\r\n\r\n").reply_to_head();
    assert_eq!(reply.id(), "h");
    let reply = client.send("GET /% HTTP/1.1\r\nHost: a\r\nX-Request-Id: bad\r\n\r\n").reply();
    assert_eq!((reply.status, reply.id()), (400, "bad"));
}

#[test]
fn pipelined_requests_are_answered_in_order() {
    let running = Running::start(Limits::default());
    let mut client = running.connect();
    let requests: String = (0..500).map(|n| format!("GET /facts?{n} HTTP/1.1\r\nHost: a\r\n\r\n")).collect();
    client.send(requests);
    for n in 0..500 {
        assert_eq!(client.reply().body, format!("GET /facts {n} Http11 a -").as_bytes());
    }
}

#[test]
fn a_request_split_anywhere_is_the_same_request() {
    let running = Running::start(Limits::default());
    let mut client = running.connect();
    let request = b"POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc";
    for at in 1..request.len() {
        client.send(&request[..at]);
        // The answer to another client's request shows that the first piece has been read.
        assert_eq!(running.connect().get("/").status, 200);
        assert_eq!(client.send(&request[at..]).reply().body, b"abc", "split at {at}");
    }
}

#[test]
fn head_gets_the_length_of_get_and_no_body() {
    let running = Running::start(Limits::default());
    let mut client = running.connect();
    let reply = client.send("HEAD /big/1234 HTTP/1.1\r\nHost: a\r\n\r\n").reply_to_head();
    assert_eq!((reply.status, reply.header("content-length")), (200, Some("1234")));
    assert_eq!(client.get("/").body, b"hello");
}

#[test]
fn responses_without_content_have_none() {
    let running = Running::start(Limits::default());
    let mut client = running.connect();
    for status in [204, 304] {
        let reply = client.get(&format!("/status/{status}"));
        assert_eq!((reply.status, reply.header("content-length")), (status, None));
    }
    assert_eq!(client.get("/status/205").header("content-length"), Some("0"));
    assert_eq!(client.get("/status/599").status, 599);
}

#[test]
fn http_1_0_is_closed_or_kept_as_it_asks() {
    let running = Running::start(Limits::default());
    let mut client = running.connect();
    let reply = client.send("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n").reply();
    assert_eq!(reply.header("connection"), Some("keep-alive"));
    assert!(client.send("GET / HTTP/1.0\r\n\r\n").reply().closes());
    assert!(client.is_closed());
}

#[test]
fn a_connection_closes_when_either_side_asks() {
    let running = Running::start(Limits::default());
    let mut client = running.connect();
    assert!(client.send("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n").reply().closes());
    assert!(client.is_closed());
    let mut client = running.connect();
    assert!(client.get("/close").closes());
    assert!(client.is_closed());
}

#[test]
fn a_large_response_arrives_whole_at_a_client_that_reads_late() {
    let running = Running::start(Limits::default());
    let mut client = running.connect();
    client.send("GET /big/20000000 HTTP/1.1\r\nHost: a\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n");
    assert_eq!(running.connect().get("/").status, 200);
    let body = client.reply().body;
    assert!(body.len() == 20_000_000 && body.iter().all(|&byte| byte == b'x'));
    assert_eq!(client.reply().body, b"hello");
}

#[test]
fn a_large_body_arrives_whole() {
    let running = Running::start(Limits::default());
    let mut client = running.connect();
    let body: Vec<u8> = (0..5_000_000_u32).map(|n| (n % 251) as u8).collect();
    client
        .send(format!("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: {}\r\n\r\n", body.len()))
        .send(&body);
    assert!(client.reply().body == body);
}

#[test]
fn a_client_that_expects_continue_is_told_only_if_its_body_is_acceptable() {
    let running = Running::start(Limits { max_body: 10, ..Limits::default() });
    let mut client = running.connect();
    client.send("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\n");
    assert_eq!(client.reply_to_head().status, 100);
    assert_eq!(client.send("abc").reply().body, b"abc");
    client.send("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 11\r\nExpect: 100-continue\r\n\r\n");
    assert_eq!(client.reply().status, 413);
    assert!(client.is_closed());
}

#[test]
fn a_malformed_reply_does_not_hang_the_connection() {
    let running = Running::start(Limits::default());
    let mut client = running.connect();
    assert_eq!(client.get("/malformed").status, 500);
}

#[test]
fn a_slow_request_holds_up_nobody_else() {
    let running = Running::start(Limits::default());
    let mut slow = running.connect();
    slow.send("GET /hold HTTP/1.1\r\nHost: a\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n");
    let ticket = running.held();
    let mut fast = running.connect();
    (0..100).for_each(|_| assert_eq!(fast.get("/").status, 200));
    assert!(running.release(ticket));
    assert_eq!(slow.reply().body, b"released");
    assert_eq!(slow.reply().body, b"hello");
}

#[test]
fn a_client_that_leaves_is_reported_and_needs_no_reply() {
    let running = Running::start(Limits::default());
    let mut client = running.connect();
    client.send("GET /hold HTTP/1.1\r\nHost: a\r\n\r\n");
    let ticket = running.held();
    drop(client);
    assert_eq!(running.event(), Event::Gone(ticket));
    assert!(!running.release(ticket));
    running.until(|server| server.counters().open == 0);
}

#[test]
fn a_client_that_stops_sending_is_gone_unless_half_closed_clients_are_served() {
    for half_close in [false, true] {
        let running = Running::start(Limits { half_close, ..Limits::default() });
        let mut client = running.connect();
        client.send("GET /hold HTTP/1.1\r\nHost: a\r\n\r\n");
        let ticket = running.held();
        client.stream.shutdown(Shutdown::Write).unwrap();
        if half_close {
            assert!(running.release(ticket));
            assert_eq!(client.reply().body, b"released");
        } else {
            assert_eq!(running.event(), Event::Gone(ticket));
        }
        assert!(client.is_closed());
    }
}

#[test]
fn a_half_closed_client_gets_the_replies_to_all_it_has_sent() {
    let running = Running::start(Limits { half_close: true, ..Limits::default() });
    let mut client = running.connect();
    client.send("GET /hold HTTP/1.1\r\nHost: a\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n");
    let ticket = running.held();
    client.stream.shutdown(Shutdown::Write).unwrap();
    assert!(running.release(ticket));
    assert_eq!(client.reply().body, b"released");
    assert_eq!(client.reply().body, b"hello");
    assert!(client.is_closed());
}

#[test]
fn a_body_cut_short_reaches_nobody() {
    let running = Running::start(Limits::default());
    let mut client = running.connect();
    client.send("POST /hold HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nabc");
    client.stream.shutdown(Shutdown::Write).unwrap();
    assert!(client.is_closed());
    assert_eq!(running.run(|server| server.counters().requests), 0);
}

#[test]
fn an_absolute_target_names_the_host_whatever_host_says() {
    let running = Running::start(Limits::default());
    let mut client = running.connect();
    let reply = client.send("GET http://other.org/host HTTP/1.1\r\nHost: localhost\r\n\r\n").reply();
    assert_eq!(reply.body, b"other.org");
}
