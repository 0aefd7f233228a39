//! Bodies that come in parts: a client gets all of them, and holds one at a time.

use std::io::Read;

use gateway::Limits;

use crate::harness::{PART, Running, pattern};
use crate::http2_client::{body, request, with_client};

/// Around the ends of parts, of what is copied behind a head, and of HTTP/2's frames and windows.
const LENGTHS: [u64; 10] =
    [1, 100, PART - 1, PART, PART + 1, 2 * PART, 250_000, 300_001, 1_000_000, 3_333_333];

#[test]
fn a_body_comes_whole_and_the_connection_goes_on() {
    let running = Running::start(Limits::default());
    let mut client = running.connect();
    for length in LENGTHS {
        let reply = client.send(format!("GET /parts/{length} HTTP/1.1\r\nHost: a\r\n\r\n")).reply();
        assert_eq!(reply.header("content-length"), Some(length.to_string().as_str()));
        assert!(reply.body == pattern(0..length), "{length}");
        let after = client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n").reply();
        assert_eq!(after.body, b"hello");
    }
    with_client(&running, |mut sender| async move {
        for length in LENGTHS {
            let response =
                sender.send_request(request("GET", &format!("/parts/{length}"), "")).await.unwrap();
            assert_eq!(response.headers()["content-length"], length.to_string().as_str());
            assert!(body(response).await == pattern(0..length), "{length}");
        }
    });
}

#[test]
fn a_client_of_head_gets_the_length_alone() {
    let running = Running::start(Limits::default());
    let mut client = running.connect();
    client.send("HEAD /parts/1000000 HTTP/1.1\r\nHost: a\r\n\r\n");
    let reply = client.reply_to_head();
    assert_eq!(reply.header("content-length"), Some("1000000"));
    let after = client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n").reply();
    assert_eq!(after.body, b"hello");
    with_client(&running, |mut sender| async move {
        let response = sender.send_request(request("HEAD", "/parts/1000000", "")).await.unwrap();
        assert_eq!(response.headers()["content-length"], "1000000");
        assert!(body(response).await.is_empty());
    });
}

#[test]
fn a_body_that_does_not_go_on_ends_its_connection_or_stream() {
    let running = Running::start(Limits::default());
    let mut client = running.connect();
    client.send("GET /cut/200000 HTTP/1.1\r\nHost: a\r\n\r\n");
    let mut got = Vec::new();
    client.stream.read_to_end(&mut got).unwrap();
    assert!(got.len() > 200_000 && got.len() < 250_000, "{}", got.len());
    with_client(&running, |mut sender| async move {
        let response = sender.send_request(request("GET", "/cut/200000", "")).await.unwrap();
        use http_body_util::BodyExt;
        assert!(response.into_body().collect().await.is_err());
        let response = sender.send_request(request("GET", "/", "")).await.unwrap();
        assert_eq!(body(response).await, "hello", "the others go on");
    });
}

#[test]
fn clients_that_read_nothing_hold_a_part_each() {
    let limits = Limits { max_replies: 1 << 30, ..Limits::default() };
    let running = Running::start(limits);
    let mut clients: Vec<_> = (0..20).map(|_| running.connect()).collect();
    for client in &mut clients {
        client.send("GET /parts/50000000 HTTP/1.1\r\nHost: a\r\n\r\n");
    }
    // The kernel takes something of each, and a part is in memory then.
    running.until(|server| server.in_flight() == 0);
    let room = running.run(|server| server.room_for_replies());
    let held = (1 << 30) - room;
    assert!(held <= 20 * (PART as usize + 8192), "{held}");
    drop(clients);
    running.until(|server| server.room_for_replies() == 1 << 30);
}
