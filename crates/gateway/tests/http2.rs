//! HTTP/2 with prior knowledge over real sockets.

use std::io::Write;
use std::net::TcpStream;
use std::time::{Duration, Instant};

use crate::frames::{
    DATA, GO_AWAY, HEADERS, NO_TABLE, RESET, error_of, frame, headers, next_of, post, raw, read_frame,
    read_to_end, status_of, window,
};
use crate::harness::{Event, PATIENCE, Running};
use crate::http2_client::{body, request, with_client};
use bytes::Bytes;
use gateway::{Limits, Parting};

#[test]
fn requests_and_bodies_arrive_and_come_back() {
    let running = Running::start(Limits::default());
    with_client(&running, async |mut client| {
        let response = client.send_request(request("GET", "/facts?a=1", "")).await.unwrap();
        assert_eq!(response.status(), 200);
        assert_eq!(response.headers()["server"], "howdah");
        assert!(response.headers().contains_key("date"));
        assert_eq!(body(response).await, "GET /facts a=1 Http2 example.org -");
        let large = Bytes::from(vec![b'y'; 3_000_000]);
        let response = client.send_request(request("POST", "/echo", large.clone())).await.unwrap();
        assert_eq!(response.headers()["content-length"], "3000000");
        assert!(body(response).await == large);
    });
}

#[test]
fn every_answer_has_the_id_of_its_request() {
    let running = Running::start(Limits::default());
    with_client(&running, async |mut client| {
        let response = client.send_request(request("GET", "/id", "")).await.unwrap();
        let id = response.headers()["x-request-id"].clone();
        assert!(id.len() == 16 && body(response).await == id.as_bytes());
        for length in [1, 36, 37, 128] {
            let sent = "i".repeat(length);
            for path in ["/id", "/big/100000", "/malformed", "/status/204", "/%ff", "/own-id"] {
                let mut asked = request("GET", path, "");
                asked.headers_mut().insert("x-request-id", sent.parse().unwrap());
                let response = client.send_request(asked).await.unwrap();
                let ids: Vec<_> = response.headers().get_all("x-request-id").iter().collect();
                assert_eq!(ids, [if path == "/own-id" { "the application's" } else { &*sent }], "{path}");
            }
        }
    });
}

#[test]
fn more_headers_than_the_library_takes_are_an_error_that_is_answered() {
    let running = Running::start(Limits::default());
    with_client(&running, async |mut client| {
        for count in [24_573, 24_577, 32_769, 100_000] {
            let path = format!("/headers/{count}");
            let response = client.send_request(request("GET", &path, "")).await.expect("an answer");
            assert_eq!(response.status(), 500, "{count}");
            let problem = body(response).await;
            assert!(String::from_utf8_lossy(&problem).contains("more headers than"), "{problem:?}");
        }
        let response = client.send_request(request("GET", "/headers/200", "")).await.unwrap();
        assert_eq!((response.status().as_u16(), response.headers()["x-199"].as_bytes()), (200, &b""[..]));
    });
}

#[test]
fn cookies_in_several_headers_become_one() {
    let running = Running::start(Limits::default());
    with_client(&running, async |mut client| {
        let mut request = request("GET", "/facts", "");
        request.headers_mut().append("cookie", "a=1".parse().unwrap());
        request.headers_mut().append("cookie", "b=2".parse().unwrap());
        let response = client.send_request(request).await.unwrap();
        assert_eq!(body(response).await, "GET /facts  Http2 example.org a=1; b=2");
    });
}

#[test]
fn head_and_statuses_without_content_have_no_body() {
    let running = Running::start(Limits::default());
    with_client(&running, async |mut client| {
        let response = client.send_request(request("HEAD", "/big/99", "")).await.unwrap();
        assert_eq!(response.headers()["content-length"], "99");
        assert_eq!(body(response).await, "");
        let response = client.send_request(request("GET", "/status/204", "")).await.unwrap();
        assert!(!response.headers().contains_key("content-length"));
        let response = client.send_request(request("GET", "/status/599", "")).await.unwrap();
        assert_eq!((response.status().as_u16(), &*body(response).await), (599, &b"status"[..]));
        let response = client.send_request(request("GET", "/malformed", "")).await.unwrap();
        assert_eq!(response.status(), 500);
    });
}

#[test]
fn streams_of_one_connection_run_side_by_side() {
    let running = Running::start(Limits::default());
    with_client(&running, async |mut client| {
        let first = client.send_request(request("GET", "/hold/1", ""));
        let second = client.send_request(request("GET", "/hold/2", ""));
        let release = async {
            let fast = client.clone().send_request(request("GET", "/", "")).await.unwrap();
            assert_eq!(body(fast).await, "hello");
            let tickets = [running.held(), running.held()];
            assert!(tickets.into_iter().rev().all(|ticket| running.release(ticket)));
        };
        let (first, second, ()) = tokio::join!(first, second, release);
        assert_eq!(body(first.unwrap()).await, "released");
        assert_eq!(body(second.unwrap()).await, "released");
    });
}

#[test]
fn a_stream_that_is_reset_is_reported_and_the_others_go_on() {
    let running = Running::start(Limits::default());
    with_client(&running, async |mut client| {
        let held = tokio::spawn(client.send_request(request("GET", "/hold", "")));
        let other = client.send_request(request("GET", "/", "")).await.unwrap();
        assert_eq!(other.status(), 200);
        let ticket = running.held();
        held.abort();
        // The reset leaves with the next frames; the reply shows that the connection lives on.
        let other = client.send_request(request("GET", "/", "")).await.unwrap();
        assert_eq!(body(other).await, "hello");
        assert_eq!(running.event(), Event::Gone(ticket));
    });
}

#[test]
fn a_connection_that_is_lost_takes_its_streams_with_it() {
    let running = Running::start(Limits::default());
    with_client(&running, async |mut client| {
        let held = tokio::spawn(client.send_request(request("GET", "/hold", "")));
        assert_eq!(client.send_request(request("GET", "/", "")).await.unwrap().status(), 200);
        drop(held);
    });
    // The client's runtime has ended, and its socket with it.
    let ticket = running.held();
    assert_eq!(running.event(), Event::Gone(ticket));
    running.until(|server| server.counters().open == 0);
}

#[test]
fn what_cannot_be_served_is_refused_on_its_stream_alone() {
    let limits = Limits { max_body: 100, max_uri: 50, max_headers: 20, ..Limits::default() };
    let running = Running::start(limits);
    with_client(&running, async |mut client| {
        let long = format!("/{}", "x".repeat(60));
        let cases =
            [("/%00", 0, 400), ("/%ff", 0, 400), ("/?%00", 0, 400), (&*long, 0, 414), ("/", 101, 413)];
        for (path, length, status) in cases {
            let response = client.send_request(request("POST", path, vec![b'x'; length])).await.unwrap();
            assert_eq!(response.status(), status, "{path}");
            assert_eq!(response.headers()["content-type"], "application/problem+json");
        }
        let mut many = request("GET", "/", "");
        for n in 0..30 {
            many.headers_mut().append("x", n.into());
        }
        assert_eq!(client.send_request(many).await.unwrap().status(), 431);
        assert_eq!(client.send_request(request("GET", "/", "")).await.unwrap().status(), 200);
    });
}

#[test]
fn unlisten_lets_running_streams_finish_and_ends_the_connection() {
    let running = Running::start(Limits::default());
    with_client(&running, async |mut client| {
        let held = tokio::spawn(client.send_request(request("GET", "/hold", "")));
        assert_eq!(client.send_request(request("GET", "/", "")).await.unwrap().status(), 200);
        let ticket = running.held();
        assert!(running.run(|server| server.unlisten(1)));
        assert!(running.release(ticket));
        assert_eq!(body(held.await.unwrap().unwrap()).await, "released");
        while client.ready().await.is_ok() {
            tokio::task::yield_now().await;
        }
        running.until(|server| server.is_drained());
    });
}

#[test]
fn a_flood_of_resets_ends_the_connection() {
    let running = Running::start(Limits::default());
    let mut stream = raw(&running, &[]);
    for id in (1..100_000).step_by(2) {
        let pair = [headers(id, 5, "/hold"), frame(3, 0, id, &8_u32.to_be_bytes())].concat();
        if stream.write_all(&pair).is_err() {
            break;
        }
    }
    read_to_end(&mut stream);
    assert_eq!(running.connect().get("/").status, 200);
    assert!(running.run(|server| server.counters().requests) < 2000);
}

#[test]
fn a_flood_of_continuations_ends_the_connection() {
    let running = Running::start(Limits::default());
    let mut stream = raw(&running, &[]);
    stream.write_all(&headers(1, 0, "/")).unwrap();
    let more = frame(9, 0, 1, &[[0x40, 1, b'x', 1, b'y']; 200].concat());
    while stream.write_all(&more).is_ok() {}
    read_to_end(&mut stream);
    assert_eq!(running.connect().get("/").status, 200);
}

#[test]
fn idle_connections_and_clients_that_take_nothing_are_closed() {
    let time = Duration::from_millis(300);
    let running = Running::start(Limits { idle_timeout: time, write_timeout: time, ..Limits::default() });
    let mut idle = raw(&running, &[]);
    read_to_end(&mut idle);
    // So is one whose head is not complete.
    let mut begun = raw(&running, &[]);
    begun.write_all(&headers(1, END_STREAM, "/")).unwrap();
    read_to_end(&mut begun);
    // SETTINGS_INITIAL_WINDOW_SIZE is 0, and no window is ever opened.
    let mut closed = raw(&running, &[0, 4, 0, 0, 0, 0]);
    closed.write_all(&headers(1, 5, "/big/1000000")).unwrap();
    read_to_end(&mut closed);
    running.until(|server| server.counters().open == 0);
    assert_eq!(running.run(|server| server.counters().requests), 1);
}

#[test]
fn connections_that_wait_for_their_clients_give_way_to_those_that_come() {
    let running = Running::start(Limits { max_connections: 6, ..Limits::default() });
    let saying = |settings: &[u8], bytes: &[u8]| {
        let read = running.run(|server| server.counters().bytes_in);
        let mut stream = raw(&running, settings);
        stream.write_all(bytes).unwrap();
        let until = read + (33 + settings.len() + bytes.len()) as u64;
        running.until(move |server| server.counters().bytes_in >= until);
        stream
    };
    let reader = saying(&window(0), &headers(1, END_STREAM | END_HEADERS, "/"));
    let body = saying(&[], &headers(1, END_HEADERS, "/echo"));
    let head = saying(&[], &headers(1, END_STREAM, "/"));
    let mut idle = saying(NO_TABLE, &headers(1, END_STREAM | END_HEADERS, "/"));
    assert_eq!(status_of(&next_of(&mut idle, 1).1), 200);
    let silent = saying(&[], &[]);
    // One of its requests runs, however many others do not come.
    let requests = [headers(1, END_HEADERS, "/echo"), headers(3, END_STREAM | END_HEADERS, "/hold")].concat();
    let mut runs = saying(NO_TABLE, &requests);
    let ticket = running.held();
    let mut others = Vec::new();
    for mut stream in [head, silent, idle, body, reader] {
        let mut client = running.connect();
        client.send("GET /hold HTTP/1.1\r\nHost: a\r\n\r\n");
        others.push((client, running.held()));
        let (kind, payload) = next_of(&mut stream, u32::MAX);
        assert_eq!((kind, error_of(kind, &payload)), (GO_AWAY, 0));
        read_to_end(&mut stream);
    }
    assert_eq!(running.connect().reply().status, 503);
    assert!(running.release(ticket));
    assert_eq!(status_of(&next_of(&mut runs, 3).1), 200);
    for (mut client, ticket) in others {
        assert!(running.release(ticket));
        assert_eq!(client.reply().body, b"released");
    }
    let counters = running.run(|server| server.counters());
    assert_eq!((counters.refused, counters.gone), (1, 0));
}

/// `X: x…`, 4,000 bytes, to be remembered in HPACK's dynamic table, where it is [`REMEMBERED`].
fn remembered() -> Vec<u8> {
    let length = [0x7f, (4000 - 127) as u8 & 0x7f | 0x80, ((4000 - 127) >> 7) as u8];
    [&[0x40, 1, b'x'][..], &length, &[b'x'; 4000]].concat()
}

const REMEMBERED: u8 = 0x80 | 62;

/// [`headers`] that four long ones are added to.
fn long_headers(stream: u32, flags: u8, path: &str, first: &[u8]) -> Vec<u8> {
    let path = [&[0x04, path.len() as u8], path.as_bytes()].concat();
    let block = [&[0x83, 0x86, 0x01, 1, b'a'], &path[..], first, &[REMEMBERED; 3]].concat();
    frame(HEADERS, flags, stream, &block)
}

#[test]
fn heads_count_among_bodies_until_their_requests_end() {
    let running = Running::start(Limits { max_bodies: 125_000, ..Limits::default() });
    let mut stream = raw(&running, &[]);
    stream.write_all(&long_headers(1, END_STREAM | END_HEADERS, "/hold", &remembered())).unwrap();
    for id in (3..40).step_by(2) {
        let request = long_headers(id, END_STREAM | END_HEADERS, "/hold", &[REMEMBERED]);
        stream.write_all(&request).unwrap();
    }
    running.until(|server| server.counters().rejects == [(503, 15)]);
    drop(stream);
    running.until(|server| server.counters().open == 0);
    with_client(&running, async |mut client| {
        let response = client.send_request(request("POST", "/echo", vec![b'y'; 90_000])).await.unwrap();
        assert_eq!(response.status(), 200, "the memory is given back");
    });
}

#[test]
fn heads_whose_bodies_do_not_come_give_way() {
    let running = Running::start(Limits { max_bodies: 125_000, ..Limits::default() });
    let mut stream = raw(&running, NO_TABLE);
    stream.write_all(&long_headers(1, END_HEADERS, "/echo", &remembered())).unwrap();
    for id in (3..40).step_by(2) {
        stream.write_all(&long_headers(id, END_HEADERS, "/echo", &[REMEMBERED])).unwrap();
    }
    running.until(|server| server.counters().rejects == [(408, 15)]);
    assert_eq!(status_of(&next_of(&mut stream, 1).1), 408, "the first");
    with_client(&running, async |mut client| {
        for _ in 0..10 {
            let response = client.send_request(request("GET", "/", "")).await.unwrap();
            assert_eq!(response.status(), 200);
            let response = client.send_request(request("POST", "/echo", vec![b'y'; 10_000])).await.unwrap();
            assert_eq!(response.status(), 200);
        }
    });
    stream.write_all(&frame(DATA, END_STREAM, 39, b"the last")).unwrap();
    assert_eq!(status_of(&next_of(&mut stream, 39).1), 200);
}

#[test]
fn streams_count_among_bodies_however_short_their_heads_are() {
    let running = Running::start(Limits { max_bodies: 1_000_000, ..Limits::default() });
    // So few of each client that none is cut off because its bodies do not come.
    let mut clients: Vec<_> = (0..25).map(|_| raw(&running, &[])).collect();
    for client in &mut clients {
        let heads: Vec<u8> = (1..32).step_by(2).flat_map(|id| headers(id, 4, "/echo")).collect();
        client.write_all(&heads).unwrap();
    }
    // Of 400 some 240 have room, each with 4 kB and its head.
    running.until(|server| matches!(server.counters().rejects[..], [(408, 140..180)]));
    with_client(&running, async |mut client| {
        for _ in 0..10 {
            let response = client.send_request(request("POST", "/echo", vec![b'y'; 10_000])).await.unwrap();
            assert_eq!(response.status(), 200);
        }
    });
}

#[test]
fn a_body_below_the_least_rate_gets_408() {
    let limits =
        Limits { head_timeout: Duration::from_millis(300), body_timeout: PATIENCE * 2, ..Limits::default() };
    let running = Running::start(Limits { min_body_rate: 1000, ..limits });
    let mut stream = raw(&running, &[]);
    stream.write_all(&headers(1, 4, "/echo")).unwrap();
    let begin = Instant::now();
    while running.run(|server| server.counters().rejects) != [(408, 1)] {
        assert!(begin.elapsed() < PATIENCE, "it goes on");
        stream.write_all(&frame(0, 0, 1, b"x")).unwrap();
        std::thread::sleep(Duration::from_millis(20));
    }
    // 2,000 bytes at a time are more than enough.
    stream.write_all(&headers(3, 4, "/echo")).unwrap();
    for _ in 0..3 {
        std::thread::sleep(Duration::from_millis(200));
        stream.write_all(&frame(0, 0, 3, &[b'x'; 2000])).unwrap();
    }
    stream.write_all(&frame(0, 1, 3, b"")).unwrap();
    running.until(|server| server.counters().requests == 1);
    assert_eq!(running.run(|server| server.counters().rejects), [(408, 1)]);
}

/// Requests that are reset as soon as they are sent.
fn resets(streams: std::ops::Range<u32>) -> Vec<u8> {
    let stream =
        |number| [headers(2 * number + 1, 5, "/hold"), frame(3, 0, 2 * number + 1, &8u32.to_be_bytes())];
    streams.flat_map(stream).flatten().collect()
}

#[test]
fn requests_that_are_reset_together_leave_the_others_of_their_connection_alone() {
    let running = Running::start(Limits::default());
    let mut stream = raw(&running, &[]);
    stream.write_all(&headers(1, 5, "/hold")).unwrap();
    let ticket = running.held();
    stream.write_all(&[resets(1..500), headers(1001, 5, "/")].concat()).unwrap();
    let answered = |stream: &mut TcpStream, wanted: u32| loop {
        let (kind, id, _) = crate::frames::read_frame(stream).expect("the connection goes on");
        if (kind, id) == (0, wanted) {
            return;
        }
    };
    answered(&mut stream, 1001);
    assert!(running.release(ticket));
    answered(&mut stream, 1);
}

#[test]
fn a_client_that_resets_without_end_loses_its_connection() {
    let running = Running::start(Limits::default());
    let mut stream = raw(&running, &[]);
    for round in 0..40 {
        if stream.write_all(&resets(round * 100..(round + 1) * 100)).is_err() {
            break;
        }
        // The server has looked at the socket before the next come.
        running.run(|_| ());
    }
    read_to_end(&mut stream);
    let requests = running.run(|server| server.counters().requests);
    assert!(requests <= 2000, "{requests} requests were run");
}

#[test]
fn the_host_is_a_header_and_what_contradicts_itself_is_refused() {
    let running = Running::start(Limits::default());
    with_client(&running, |mut sender| async move {
        let facts = sender.send_request(request("GET", "/host", "")).await.unwrap();
        assert_eq!(body(facts).await, "example.org");
        let cases: [(&[(&str, &str)], u16); 5] = [
            (&[("host", "example.org")], 200),
            (&[("host", "other.org")], 400),
            (&[("host", "example.org"), ("host", "example.org")], 400),
            (&[("x-blank", " a")], 400),
            (&[("expect", "tea")], 417),
        ];
        for (headers, status) in cases {
            let mut asked = request("GET", "/host", "");
            for (name, value) in headers {
                let name = hyper::header::HeaderName::from_static(name);
                asked.headers_mut().append(name, hyper::header::HeaderValue::from_static(value));
            }
            assert_eq!(sender.send_request(asked).await.unwrap().status(), status, "{headers:?}");
        }
    });
}

/// The flags END_STREAM and END_HEADERS.
const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;

const EXPECTING: (&str, &str) = ("expect", "100-continue");

/// RFC 9110, 10.1.1: a client may wait for it for ever.
#[test]
fn a_client_that_waits_with_its_body_is_told_to_send_it() {
    let running = Running::start(Limits::default());
    let mut stream = raw(&running, NO_TABLE);
    for id in [1, 3] {
        stream.write_all(&post(id, END_HEADERS, "/echo", &[EXPECTING])).unwrap();
        let (kind, block) = next_of(&mut stream, id);
        assert_eq!((kind, status_of(&block)), (HEADERS, 100));
        stream.write_all(&frame(DATA, 0, id, b"one ")).unwrap();
        stream.write_all(&frame(DATA, END_STREAM, id, b"two")).unwrap();
        let (kind, block) = next_of(&mut stream, id);
        assert_eq!((kind, status_of(&block)), (HEADERS, 200));
        assert_eq!(next_of(&mut stream, id), (DATA, b"one two".to_vec()));
    }
    assert_eq!(running.run(|server| server.counters().requests), 2);
}

#[test]
fn a_client_whose_body_comes_at_once_or_is_refused_is_told_nothing_else() {
    let limits = Limits { max_body: 100, max_bodies: 7100, ..Limits::default() };
    let running = Running::start(limits);
    let mut stream = raw(&running, NO_TABLE);
    let mut ask = |id: u32, request: Vec<u8>, status: u16| {
        stream.write_all(&request).unwrap();
        let (kind, block) = next_of(&mut stream, id);
        assert_eq!((kind, status_of(&block)), (HEADERS, status), "stream {id}");
    };
    let begin = |id, more: &[(&str, &str)]| post(id, END_HEADERS, "/echo", &[&[EXPECTING], more].concat());
    let at_once = [begin(1, &[]), frame(DATA, END_STREAM, 1, b"body")].concat();
    ask(1, at_once, 200);
    ask(3, post(3, END_HEADERS | END_STREAM, "/echo", &[EXPECTING]), 200);
    ask(5, begin(5, &[("content-length", "101")]), 413);
    ask(7, post(7, END_HEADERS, "/echo", &[("expect", "tea")]), 417);
    ask(9, post(9, END_HEADERS, "/%00", &[EXPECTING]), 400);
    let long = "x".repeat(120);
    let heads: Vec<_> = (0..25).map(|_| ("x", &*long)).collect();
    ask(11, begin(11, &heads), 503);
    assert_eq!(running.run(|server| server.counters().rejects), [(400, 1), (413, 1), (417, 1), (503, 1)]);
}

#[test]
fn a_stream_that_is_refused_is_read_on_for_a_while_and_then_reset_without_an_error() {
    const LONG: Duration = Duration::from_secs(600);
    let short = Duration::from_millis(100);
    for (parting, sends) in
        [(Parting { quiet: short, time: LONG }, false), (Parting { quiet: LONG, time: short }, true)]
    {
        let running = Running::start(Limits { max_body: 100, parting, ..Limits::default() });
        let mut stream = raw(&running, NO_TABLE);
        stream.write_all(&post(1, END_HEADERS, "/echo", &[("content-length", "9000000")])).unwrap();
        let (kind, block) = next_of(&mut stream, 1);
        assert_eq!((kind, status_of(&block)), (HEADERS, 413));
        assert_eq!(next_of(&mut stream, 1).0, DATA);
        // What comes meanwhile is let in, and thrown away.
        let sent = frame(DATA, 0, 1, &[0; 1000]);
        (0..if sends { 60 } else { 0 }).for_each(|_| stream.write_all(&sent).unwrap());
        let (kind, payload) = next_of(&mut stream, 1);
        assert_eq!((kind, error_of(kind, &payload)), (RESET, 0));
        stream.write_all(&headers(3, END_STREAM | END_HEADERS, "/")).unwrap();
        assert_eq!(status_of(&next_of(&mut stream, 3).1), 200, "others of the connection go on");
    }
    // Of more than a few each is reset at once.
    let parting = Parting { quiet: LONG, time: LONG };
    let running = Running::start(Limits { max_body: 100, max_parting: 2, parting, ..Limits::default() });
    let mut stream = raw(&running, NO_TABLE);
    for id in [1, 3, 5] {
        stream.write_all(&post(id, END_HEADERS, "/echo", &[("content-length", "101")])).unwrap();
        assert_eq!(next_of(&mut stream, id).0, HEADERS);
    }
    assert_eq!((next_of(&mut stream, 5).0, next_of(&mut stream, 5).0), (DATA, RESET));
}

#[test]
fn a_client_that_was_told_to_send_its_body_and_leaves_is_forgotten() {
    let running = Running::start(Limits::default());
    let mut stream = raw(&running, NO_TABLE);
    stream.write_all(&post(1, END_HEADERS, "/echo", &[EXPECTING])).unwrap();
    assert_eq!(status_of(&next_of(&mut stream, 1).1), 100);
    stream.write_all(&frame(RESET, 0, 1, &8_u32.to_be_bytes())).unwrap();
    stream.write_all(&headers(3, END_STREAM | END_HEADERS, "/")).unwrap();
    assert_eq!(status_of(&next_of(&mut stream, 3).1), 200);
    let counters = running.run(|server| server.counters());
    assert_eq!((counters.requests, counters.rejects), (1, vec![]), "nobody waits for an answer");
}

/// RFC 9113, 6.5.2.
#[test]
fn a_window_that_no_window_can_have_is_an_error_of_flow_control() {
    const FLOW_CONTROL_ERROR: u32 = 3;
    let running = Running::start(Limits::default());
    let ended = |mut stream: TcpStream| {
        let (kind, payload) = next_of(&mut stream, u32::MAX);
        assert_eq!((kind, error_of(kind, &payload)), (GO_AWAY, FLOW_CONTROL_ERROR));
        read_to_end(&mut stream);
    };
    ended(raw(&running, &window(1 << 31)));
    let mut later = raw(&running, &[NO_TABLE, &window((1 << 31) - 1)].concat());
    later.write_all(&headers(1, END_STREAM | END_HEADERS, "/")).unwrap();
    assert_eq!(status_of(&next_of(&mut later, 1).1), 200);
    later.write_all(&frame(4, 0, 0, &[window(65535), window(u32::MAX)].concat())).unwrap();
    ended(later);
    running.until(|server| server.counters().open == 0);
}

#[test]
fn a_client_is_told_how_much_it_may_send_ahead() {
    const SETTINGS: u8 = 4;
    const WINDOW_UPDATE: u8 = 8;
    let running = Running::start(Limits::default());
    let mut stream = raw(&running, &[]);
    let number = |bytes: &[u8]| bytes.iter().fold(0, |number, byte| number << 8 | u32::from(*byte));
    let mut next = |wanted| loop {
        let (kind, id, payload) = read_frame(&mut stream).expect("the connection goes on");
        if kind == wanted {
            assert_eq!(id, 0);
            return payload;
        }
    };
    let settings = next(SETTINGS);
    let of_streams =
        settings.chunks(6).find(|setting| number(&setting[..2]) == 4).map(|setting| number(&setting[2..]));
    assert_eq!(of_streams, Some(64 << 10));
    // A connection begins with so much (RFC 9113, 6.9.2).
    assert_eq!(number(&next(WINDOW_UPDATE)) + 65_535, 1 << 20);
}

#[test]
fn a_client_whose_errors_end_many_streams_loses_its_connection() {
    const ENHANCE_YOUR_CALM: u32 = 11;
    let running = Running::start(Limits::default());
    let mut stream = raw(&running, &[]);
    let mut resets = 0;
    for id in (1..).step_by(2) {
        // A header of the connection alone (RFC 9113, 8.2.2).
        stream.write_all(&post(id, END_STREAM | END_HEADERS, "/", &[("connection", "close")])).unwrap();
        match next_of(&mut stream, id) {
            (RESET, _) => resets += 1,
            (kind, payload) => {
                assert_eq!((kind, error_of(kind, &payload)), (GO_AWAY, ENHANCE_YOUR_CALM));
                break;
            }
        }
    }
    assert_eq!(resets, 128);
    assert_eq!(running.connect().get("/").status, 200);
}

#[test]
fn a_peer_that_answers_no_ping_loses_its_connection() {
    const PING: u8 = 6;
    const ACK: u8 = 1;
    let (idle, write) = (Duration::from_millis(600), Duration::from_millis(200));
    let running = Running::start(Limits { idle_timeout: idle, write_timeout: write, ..Limits::default() });
    let mut deaf = raw(&running, &[]);
    let mut fine = raw(&running, NO_TABLE);
    for stream in [&mut deaf, &mut fine] {
        // What runs keeps the connection from being idle.
        stream.write_all(&headers(1, END_STREAM | END_HEADERS, "/hold")).unwrap();
        running.held();
    }
    let mut pings = 0;
    while pings < 4 {
        let (kind, _, payload) = crate::frames::read_frame(&mut fine).expect("it goes on");
        if kind == PING {
            pings += 1;
            fine.write_all(&frame(PING, ACK, 0, &payload)).unwrap();
        }
    }
    read_to_end(&mut deaf);
    fine.write_all(&headers(3, END_STREAM | END_HEADERS, "/")).unwrap();
    assert_eq!(status_of(&next_of(&mut fine, 3).1), 200);
}
