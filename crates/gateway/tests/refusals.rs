//! Clients that send too much, too slowly or nonsense: each gets an answer where there can be one, and no more.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use crate::harness::{Client, PATIENCE, Running};
use gateway::Limits;

/// Sends bytes on a connection of their own: the answer, after which the connection must end.
fn refused(running: &Running, bytes: impl AsRef<[u8]>) -> u16 {
    refused_with_id(running, bytes).0
}

/// The status, and the id that the answer names.
fn refused_with_id(running: &Running, bytes: impl AsRef<[u8]>) -> (u16, String) {
    let mut client = running.connect();
    let reply = client.send(bytes).reply();
    assert!(reply.closes());
    assert_eq!(reply.header("content-type"), Some("application/problem+json"));
    let id = reply.header("x-request-id").expect("an id").to_owned();
    let body = String::from_utf8(reply.body).unwrap();
    assert!(body.contains(&format!(r#""status":{}"#, reply.status)), "{body}");
    assert!(body.contains(&format!(r#""request_id":"{id}","#)), "{body}");
    assert!(client.is_closed());
    (reply.status, id)
}

#[test]
fn refusals_name_the_request_by_what_it_has_sent() {
    let running = Running::start(Limits { max_body: 10, max_bodies: 5, ..quick() });
    let sent = "Host: a\r\nX-Request-Id: sent-1\r\n";
    for (status, request) in [
        (400, format!("GET /%ff HTTP/1.1\r\n{sent}\r\n")),
        (400, format!("POST / HTTP/1.1\r\n{sent}Transfer-Encoding: chunked\r\n\r\nzz\r\n")),
        (408, format!("GET / HTTP/1.1\r\n{sent}X: ")),
        (408, format!("POST / HTTP/1.1\r\n{sent}Content-Length: 5\r\n\r\n1")),
        (413, format!("POST / HTTP/1.1\r\n{sent}Content-Length: 11\r\n\r\n")),
        (414, format!("GET /{} HTTP/1.1\r\n{sent}\r\n", "x".repeat(10_000))),
        (417, format!("GET / HTTP/1.1\r\n{sent}Expect: x\r\n\r\n")),
        (431, format!("GET / HTTP/1.1\r\n{sent}{}\r\n", "X: y\r\n".repeat(200))),
        (501, format!("CONNECT a:80 HTTP/1.1\r\n{sent}\r\n")),
        (503, format!("POST / HTTP/1.1\r\n{sent}Content-Length: 6\r\n\r\n123456")),
    ] {
        assert_eq!(refused_with_id(&running, &request), (status, "sent-1".into()), "{request:?}");
    }
    // One that cannot be taken over, and none: ids are made, and differ.
    let bad = "GET /%ff HTTP/1.1\r\nHost: a\r\nX-Request-Id: a b\r\n\r\n";
    let made = [bad, bad, "nonsense\r\n"].map(|request| refused_with_id(&running, request).1);
    assert!(made.iter().all(|id| id.len() == 16), "{made:?}");
    assert!(made[0] != made[1] && made[1] != made[2], "{made:?}");
}

#[test]
fn malformed_requests_get_400_and_the_end_of_the_connection() {
    let running = Running::start(Limits::default());
    for request in [
        "nonsense\r\n",
        "GET / HTTP/1.1\r\n\r\n",
        "GET / HTTP/1.1\nHost: a\n\n",
        "GET /%00 HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET /%ff HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
    ] {
        assert_eq!(refused(&running, request), 400, "{request:?}");
    }
    assert_eq!(refused(&running, "GET / HTTP/3.0\r\n\r\n"), 505);
    assert_eq!(refused(&running, "CONNECT a:80 HTTP/1.1\r\nHost: a\r\n\r\n"), 501);
    assert_eq!(refused(&running, "GET / HTTP/1.1\r\nHost: a\r\nExpect: x\r\n\r\n"), 417);
    let rejects = running.run(|server| server.counters().rejects);
    assert_eq!(rejects, [(400, 7), (417, 1), (501, 1), (505, 1)]);
}

#[test]
fn oversized_requests_get_their_status_even_while_the_client_still_sends() {
    let running = Running::start(Limits { max_body: 1000, ..Limits::default() });
    assert_eq!(refused(&running, format!("GET /{} HTTP/1.1\r\nHost: a\r\n\r\n", "x".repeat(100_000))), 414);
    let headers = "X: y\r\n".repeat(10_000);
    assert_eq!(refused(&running, format!("GET / HTTP/1.1\r\nHost: a\r\n{headers}\r\n")), 431);
    assert_eq!(
        refused(&running, format!("GET / HTTP/1.1\r\nHost: a\r\nX: {}\r\n\r\n", "y".repeat(100_000))),
        431
    );
    let body = "x".repeat(200_000);
    assert_eq!(
        refused(&running, format!("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 200000\r\n\r\n{body}")),
        413
    );
    let start = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
    assert_eq!(refused(&running, format!("{start}3e7\r\n{}\r\n3\r\nabc\r\n0\r\n\r\n", "x".repeat(999))), 413);
    assert_eq!(running.run(|server| server.counters().requests), 0);
}

#[test]
fn bodies_beyond_the_memory_for_all_get_503() {
    let running = Running::start(Limits { max_bodies: 1000, ..Limits::default() });
    let mut first = running.connect();
    first.send(format!("POST /hold HTTP/1.1\r\nHost: a\r\nContent-Length: 900\r\n\r\n{}", "x".repeat(900)));
    let ticket = running.held();
    let second = format!("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 200\r\n\r\n{}", "x".repeat(200));
    assert_eq!(refused(&running, &second), 503);
    running.release(ticket);
    assert_eq!(first.reply().status, 200);
    assert_eq!(running.connect().send(&second).reply().body.len(), 200);
}

/// A request for `/echo` whose body is of this length.
fn post(length: usize, sent: usize) -> String {
    format!("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: {length}\r\n\r\n{}", "x".repeat(sent))
}

/// Sends bodies that lack their last byte, and returns when the server holds them, or has refused them.
fn stall(running: &Running, count: usize, length: usize) -> Vec<Client<TcpStream>> {
    let bytes = post(length, length - 1);
    let until = running.run(|server| server.counters().bytes_in) + (count * bytes.len()) as u64;
    let send = |_| {
        let mut client = running.connect();
        client.send(&bytes);
        client
    };
    let clients = (0..count).map(send).collect();
    running.until(move |server| server.counters().bytes_in >= until);
    clients
}

#[test]
fn a_body_that_has_not_grown_for_longest_gives_way() {
    let running = Running::start(Limits { max_bodies: 1000, ..Limits::default() });
    let mut first = stall(&running, 1, 450);
    let mut second = stall(&running, 1, 402);
    for _ in 0..10 {
        assert_eq!(running.connect().send(post(500, 500)).reply().status, 200);
        assert_eq!(running.run(|server| server.counters().rejects), [(408, 1)]);
    }
    assert_eq!(first[0].reply().status, 408);
    assert!(first[0].is_closed());
    second[0].send("x");
    assert_eq!(second[0].reply().body.len(), 402);
}

#[test]
fn a_body_that_comes_byte_by_byte_gives_way_before_one_that_came_later() {
    let running = Running::start(Limits { max_bodies: 1000, ..Limits::default() });
    let [mut slow, mut quick] = [running.connect(), running.connect()];
    let held = |bytes| running.until(move |server| server.counters().bytes_in >= bytes);
    let head = post(500, 0).len() as u64;
    slow.send(post(500, 400));
    held(head + 400);
    quick.send(post(500, 400));
    held(2 * head + 800);
    for byte in 1..=20 {
        slow.send("x");
        held(2 * head + 800 + byte);
    }
    quick.send("x".repeat(60));
    held(2 * head + 880);
    slow.send("x");
    held(2 * head + 881);
    assert_eq!(running.connect().send(post(300, 300)).reply().status, 200);
    assert_eq!(slow.reply().status, 408);
    assert_eq!(quick.send("x".repeat(40)).reply().status, 200);
}

#[test]
fn small_bodies_and_large_ones_give_way_apart_from_each_other() {
    let running = Running::start(Limits { max_bodies: 400_000, ..Limits::default() });
    let mut large = stall(&running, 1, 100_001);
    let _small = stall(&running, 40, 10_001);
    assert_eq!(running.run(|server| server.counters().rejects), [(408, 10)]);
    let mut small = stall(&running, 1, 8_001);
    let _large = stall(&running, 10, 100_001);
    assert_eq!(large[0].reply().status, 408, "large ones were too many, then");
    assert_eq!(small[0].send("x").reply().status, 200);
}

#[test]
fn large_bodies_that_nothing_can_take_away_leave_room_for_small_ones() {
    let running = Running::start(Limits { max_bodies: 1_000_000, ..Limits::default() });
    let mut first = running.connect();
    first.send(post(900_000, 900_000).replacen("/echo", "/hold", 1));
    let ticket = running.held();
    assert_eq!(refused(&running, post(60_000, 60_000)), 503);
    assert_eq!(running.connect().send(post(16_000, 16_000)).reply().status, 200);
    assert!(running.release(ticket));
    assert_eq!(first.reply().status, 200);
}

#[test]
fn a_connection_too_many_gets_503_while_requests_run_on_all_others() {
    let running = Running::start(Limits { max_connections: 2, ..Limits::default() });
    let mut clients = [running.connect(), running.connect()];
    let tickets = clients.each_mut().map(|client| {
        client.send("GET /hold HTTP/1.1\r\nHost: a\r\n\r\n");
        running.held()
    });
    let mut third = running.connect();
    let reply = third.reply();
    assert_eq!((reply.status, reply.header("retry-after")), (503, Some("1")));
    assert!(reply.header("x-request-id").is_some());
    assert!(third.is_closed());
    tickets.iter().for_each(|ticket| assert!(running.release(*ticket)));
    clients.iter_mut().for_each(|client| assert_eq!(client.reply().status, 200));
    assert_eq!(running.run(|server| server.counters().refused), 1);
}

#[test]
fn clients_that_are_told_so_are_few_and_the_others_are_closed_without_a_word() {
    const TOLD: usize = 64;
    let running = Running::start(Limits { max_connections: 1, ..Limits::default() });
    let mut served = running.connect();
    served.send("GET /hold HTTP/1.1\r\nHost: a\r\n\r\n");
    let ticket = running.held();
    // None of them goes, so that each is being told until the server loses patience.
    let mut refused: Vec<_> = (0..8 * TOLD).map(|_| running.connect()).collect();
    let told = refused.iter_mut().filter_map(|client| client.try_reply(true)).collect::<Vec<_>>();
    assert!(told.iter().all(|reply| reply.status == 503));
    assert!((TOLD..8 * TOLD).contains(&told.len()), "{} were told", told.len());
    drop(refused);
    assert!(running.release(ticket));
    assert_eq!((served.reply().status, served.get("/").status), (200, 200));
}

/// Connects, sends something, and returns when the server has read it.
fn saying(running: &Running, bytes: impl AsRef<[u8]>) -> Client<TcpStream> {
    let (accepted, read) = running.run(|server| (server.counters().accepted, server.counters().bytes_in));
    let mut client = running.connect();
    client.send(bytes.as_ref());
    let until = read + bytes.as_ref().len() as u64;
    running.until(move |server| server.counters().accepted > accepted && server.counters().bytes_in >= until);
    client
}

#[test]
fn connections_that_wait_for_their_clients_give_way_to_those_that_come() {
    let running = Running::start(Limits { max_connections: 7, ..Limits::default() });
    let mut reader = saying(&running, "GET /big/20000000 HTTP/1.1\r\nHost: a\r\n\r\n");
    let mut body = saying(&running, post(10, 9));
    let mut head = saying(&running, "GET / HTTP/1.1\r\n");
    let [mut first, mut second] = [running.connect(), running.connect()];
    let mut runs = running.connect();
    assert_eq!((first.get("/").status, second.get("/").status, first.get("/").status), (200, 200, 200));
    let mut silent = saying(&running, "");
    runs.send("GET /hold HTTP/1.1\r\nHost: a\r\n\r\n");
    let ticket = running.held();
    let held = || {
        let mut client = running.connect();
        client.send("GET /hold HTTP/1.1\r\nHost: a\r\n\r\n");
        let ticket = running.held();
        (client, ticket)
    };
    let mut others = Vec::new();
    for client in [&mut silent, &mut second, &mut first, &mut body, &mut head] {
        others.push(held());
        assert!(client.is_closed());
    }
    others.push(held());
    // What has been sent before comes, but not all.
    let mut taken = Vec::new();
    let _ = reader.stream.read_to_end(&mut taken);
    assert!(taken.len() < 20_000_000);
    assert_eq!(running.connect().reply().status, 503);
    for (mut client, ticket) in others.into_iter().chain([(runs, ticket)]) {
        assert!(running.release(ticket));
        assert_eq!(client.reply().body, b"released");
    }
    running.until(|server| server.counters().open == 0);
    assert_eq!(running.run(|server| (server.counters().refused, server.counters().gone)), (1, 0));
}

fn quick() -> Limits {
    Limits {
        head_timeout: Duration::from_millis(200),
        body_timeout: Duration::from_millis(400),
        idle_timeout: Duration::from_millis(300),
        write_timeout: Duration::from_millis(300),
        min_body_rate: 0,
        ..Limits::default()
    }
}

#[test]
fn a_slow_head_gets_408_however_it_trickles() {
    let running = Running::start(quick());
    let mut client = running.connect();
    let start = Instant::now();
    assert_eq!(client.send("GET / HT").reply().status, 408);
    assert!(start.elapsed() >= Duration::from_millis(190));
    assert!(client.is_closed());
    let mut client = running.connect();
    client.stream.set_read_timeout(Some(Duration::from_millis(20))).unwrap();
    let mut reply = [0; 12];
    // A byte now and then, until the answer is there: writing goes on for as long as the head is awaited.
    while client.stream.read_exact(&mut reply).is_err() {
        assert!(start.elapsed() < PATIENCE);
        let _ = client.stream.write_all(b"G");
    }
    assert_eq!(&reply, b"HTTP/1.1 408");
}

#[test]
fn a_slow_head_behind_another_request_gets_408() {
    let running = Running::start(Limits { idle_timeout: PATIENCE * 2, ..quick() });
    let mut client = running.connect();
    client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\nGET / ");
    assert_eq!(client.reply().status, 200);
    assert_eq!(client.reply().status, 408);
}

#[test]
fn a_slow_body_gets_408() {
    let running = Running::start(quick());
    for framing in ["Content-Length: 10", "Transfer-Encoding: chunked"] {
        let mut client = running.connect();
        client.send(format!("POST / HTTP/1.1\r\nHost: a\r\n{framing}\r\n\r\n1"));
        assert_eq!(client.reply().status, 408);
        assert!(client.is_closed());
    }
}

#[test]
fn a_body_below_the_least_rate_gets_408() {
    let limits = Limits { body_timeout: PATIENCE * 2, min_body_rate: 1000, ..quick() };
    let running = Running::start(limits);
    let mut client = running.connect();
    let start = Instant::now();
    client.send(format!("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9999\r\n\r\n{}", "x".repeat(300)));
    assert_eq!(client.reply().status, 408);
    let taken = start.elapsed();
    assert!(
        taken >= Duration::from_millis(490) && taken < PATIENCE,
        "200 ms of grace and 300 earned, not {taken:?}"
    );
}

#[test]
fn idle_connections_are_closed_without_a_word() {
    let running = Running::start(quick());
    let mut silent = running.connect();
    let mut served = running.connect();
    assert_eq!(served.get("/").status, 200);
    assert!(silent.is_closed());
    assert!(served.is_closed());
}

#[test]
fn a_client_that_does_not_take_its_response_is_closed() {
    let running = Running::start(quick());
    let mut client = running.connect();
    client.send("GET /big/50000000 HTTP/1.1\r\nHost: a\r\n\r\n");
    running.until(|server| server.counters().requests == 1);
    running.until(|server| server.counters().open == 0);
}

/// What a client gets of 50 MB that takes 25 MB a second at most, and never nothing.
fn taken_slowly(running: &Running) -> usize {
    let mut client = running.connect();
    client.send(format!("GET /big/{LENGTH} HTTP/1.1\r\nHost: a\r\n\r\n"));
    let (mut buffer, mut taken) = (vec![0; 250_000], 0);
    while let Ok(read @ 1..) = client.stream.read(&mut buffer) {
        taken += read;
        if taken >= LENGTH {
            break;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    taken
}

const LENGTH: usize = 50_000_000;

#[test]
fn a_client_that_takes_its_response_below_the_least_rate_is_closed() {
    let running = Running::start(Limits { min_response_rate: 100_000_000, ..quick() });
    assert!(taken_slowly(&running) < LENGTH, "the client got all of it");
    running.until(|server| server.counters().open == 0);
}

#[test]
fn a_slow_client_is_closed_while_replies_hold_more_than_half_of_their_memory() {
    // It would have to take all in five times 300 ms.
    let running = Running::start(Limits { max_replies: 60_000_000, ..quick() });
    assert!(taken_slowly(&running) < LENGTH, "the client got all of it");
    running.until(|server| server.counters().open == 0);
}

#[test]
fn a_request_that_takes_long_to_answer_outlives_all_timers() {
    let running = Running::start(quick());
    let mut client = running.connect();
    client.send("GET /hold HTTP/1.1\r\nHost: a\r\n\r\n");
    let ticket = running.held();
    // Another connection that is closed for idling shows that more than its time has passed.
    let mut other = running.connect();
    assert_eq!(other.get("/").status, 200);
    assert!(other.is_closed());
    assert!(running.release(ticket));
    assert_eq!(client.reply().body, b"released");
}
