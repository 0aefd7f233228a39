//! HTTP/2 with prior knowledge over real sockets.

mod frames;
mod harness;

use std::io::Write;
use std::net::TcpStream;
use std::time::{Duration, Instant};

use bytes::Bytes;
use frames::{frame, headers, raw, read_to_end};
use gateway::Limits;
use harness::{Event, PATIENCE, Running};
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http2::{SendRequest, handshake};
use hyper::{Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo};

/// Runs a client on a runtime of its own.
fn with_client<F: Future<Output = ()>>(running: &Running, talk: impl FnOnce(SendRequest<Full<Bytes>>) -> F) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let stream = tokio::net::TcpStream::connect(running.address).await.unwrap();
        let (sender, connection) = handshake(TokioExecutor::new(), TokioIo::new(stream)).await.unwrap();
        tokio::spawn(connection);
        tokio::time::timeout(PATIENCE, talk(sender)).await.expect("it hangs");
    });
}

fn request(method: &str, path: &str, body: impl Into<Bytes>) -> Request<Full<Bytes>> {
    let uri = format!("http://example.org{path}");
    Request::builder().method(method).uri(uri).body(Full::new(body.into())).unwrap()
}

async fn body(response: Response<hyper::body::Incoming>) -> Bytes {
    response.into_body().collect().await.unwrap().to_bytes()
}

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
    const END_STREAM: u8 = 1;
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

/// `X: x…`, 4,000 bytes, to be remembered in HPACK's dynamic table, where it is [`REMEMBERED`].
fn remembered() -> Vec<u8> {
    let length = [0x7f, (4000 - 127) as u8 & 0x7f | 0x80, ((4000 - 127) >> 7) as u8];
    [&[0x40, 1, b'x'][..], &length, &[b'x'; 4000]].concat()
}

const REMEMBERED: u8 = 0x80 | 62;

/// [`headers`] that four long ones are added to.
fn long_headers(stream: u32, first: &[u8]) -> Vec<u8> {
    let block = [&[0x82, 0x86, 0x84, 0x01, 1, b'a'], first, &[REMEMBERED; 3]].concat();
    frame(1, 4, stream, &block)
}

#[test]
fn heads_count_among_bodies_until_their_requests_end() {
    let running = Running::start(Limits { max_bodies: 100_000, ..Limits::default() });
    let mut stream = raw(&running, &[]);
    stream.write_all(&long_headers(1, &remembered())).unwrap();
    for id in (3..40).step_by(2) {
        stream.write_all(&long_headers(id, &[REMEMBERED])).unwrap();
    }
    running.until(|server| server.counters().rejects == [(503, 14)]);
    drop(stream);
    running.until(|server| server.counters().open == 0);
    with_client(&running, async |mut client| {
        let response = client.send_request(request("POST", "/echo", vec![b'y'; 90_000])).await.unwrap();
        assert_eq!(response.status(), 200, "the memory is given back");
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
        let (kind, id, _) = frames::read_frame(stream).expect("the connection goes on");
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
