//! Whatever a client sends or does not read, it gets an error or is cut off, and holds nothing.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::{Duration, Instant};

use howdah_tests::bounds;
use howdah_tests::{Connection, Platform, Reply, wait_for};

const ROUTES: &str = "
    create function size(bytea) returns integer language sql as 'select length($1)';
    create function large(bytes integer) returns bytea language sql as
      $$select convert_to(repeat('x', bytes), 'UTF8')$$;
    create function rest(rest text) returns text language sql as 'select rest';
    select http.route('POST', '/size', 'size'), http.route('GET', '/large/{bytes}', 'large'),
           http.route('GET', '/path/{*rest}', 'rest')";

/// Also of a body that comes more slowly than any network.
const HEAD_LIMIT: Duration = Duration::from_millis(700);
const WRITE_LIMIT: Duration = Duration::from_secs(1);

/// One executor: whoever held it would be noticed.
fn platform() -> Platform {
    let platform = Platform::with(&[
        ("howdah.min_executors", "1"),
        ("howdah.max_executors", "1"),
        ("howdah.head_timeout", "700ms"),
        ("howdah.body_timeout", "900ms"),
        ("howdah.write_timeout", "1s"),
        ("howdah.max_body", "1MB"),
        ("howdah.max_response", "8MB"),
        ("howdah.inline", "off"),
    ]);
    platform.sql(ROUTES);
    platform
}

#[test]
fn bad_input_is_refused_and_holds_nothing() {
    let platform = platform();
    malformed_requests_get_400(&platform);
    what_is_too_large_is_refused(&platform);
    undecodable_paths_get_400(&platform);
    contradicting_lengths_close_the_connection(&platform);
    slow_heads_and_bodies_are_cut_off(&platform);
    bodies_cut_short_run_nothing(&platform);
    assert_served(&platform, "at the end");
}

fn assert_served(platform: &Platform, when: &str) {
    let reply = platform.post("/size", "application/octet-stream", b"12345");
    assert_eq!((reply.status, reply.text()), (200, "5".into()), "{when}");
}

/// The answer to bytes that no request can be made of, and that the connection has been closed after it.
fn refused(platform: &Platform, bytes: &[u8]) -> Reply {
    let mut connection = platform.connect();
    connection.send_bytes(bytes);
    let shown = String::from_utf8_lossy(&bytes[..bytes.len().min(120)]).into_owned();
    let reply = connection.read_reply(false).unwrap_or_else(|| panic!("no answer to {shown:?}"));
    assert!(connection.is_closed(), "the connection goes on after {shown:?}");
    reply
}

fn transactions(platform: &Platform) -> i64 {
    // Statistics of transactions are as old as a second; what counts is what executors have run.
    let query = "select sum(requests)::bigint from http.workers where kind = 'executor'";
    platform.session().query_one(query, &[]).unwrap().get(0)
}

fn malformed_requests_get_400(platform: &Platform) {
    let before = transactions(platform);
    for bytes in [
        &b"NONSENSE\r\n\r\n"[..],
        b"GET /\r\n\r\n",
        b"GET / HTTP/1.1 more\r\nHost: a\r\n\r\n",
        b"GET / HTTP/9.9\r\nHost: a\r\n\r\n",
        b"G\x01T / HTTP/1.1\r\nHost: a\r\n\r\n",
        b"GET /\x00 HTTP/1.1\r\nHost: a\r\n\r\n",
        b"GET / HTTP/1.1\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a\r\nno colon\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a\r\nname : value\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a\r\n folded: value\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a\r\nname: a\x00b\r\n\r\n",
        b"POST /size HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n",
        b"POST /size HTTP/1.1\r\nHost: a\r\nContent-Length: 1, 2\r\n\r\n",
        b"POST /size HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999999999999999999\r\n\r\n",
        b"POST /size HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nnot a size\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03 a hello of TLS \r\n\r\n",
    ] {
        let reply = refused(platform, bytes);
        let expected: &[u16] = if bytes.starts_with(b"GET / HTTP/9") { &[400, 505] } else { &[400, 413] };
        assert!(expected.contains(&reply.status), "{} to {:?}", reply.status, String::from_utf8_lossy(bytes));
        assert_eq!(reply.header("content-type"), Some("application/problem+json"));
    }
    assert_eq!(transactions(platform), before, "an executor has seen one of them");
}

fn what_is_too_large_is_refused(platform: &Platform) {
    let before = transactions(platform);
    let long = "x".repeat(20_000);
    assert_eq!(refused(platform, format!("GET /{long} HTTP/1.1\r\nHost: a\r\n\r\n").as_bytes()).status, 414);
    assert_eq!(
        refused(platform, format!("GET / HTTP/1.1\r\nHost: a\r\nlong: {long}\r\n\r\n").as_bytes()).status,
        431
    );
    let many = (0..10_000).map(|number| format!("n{number}: v\r\n")).collect::<String>();
    assert_eq!(refused(platform, format!("GET / HTTP/1.1\r\nHost: a\r\n{many}\r\n").as_bytes()).status, 431);
    let many = (0..101).map(|number| format!("n{number}: v\r\n")).collect::<String>();
    assert_eq!(refused(platform, format!("GET / HTTP/1.1\r\nHost: a\r\n{many}\r\n").as_bytes()).status, 431);

    let announced = b"POST /size HTTP/1.1\r\nHost: a\r\nContent-Length: 1048577\r\n\r\n";
    assert_eq!(refused(platform, announced).status, 413);
    let expects =
        b"POST /size HTTP/1.1\r\nHost: a\r\nContent-Length: 1048577\r\nExpect: 100-continue\r\n\r\n";
    assert_eq!(refused(platform, expects).status, 413);
    let mut chunked = b"POST /size HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n".to_vec();
    for _ in 0..17 {
        chunked.extend_from_slice(b"10000\r\n");
        chunked.resize(chunked.len() + 65536, b'x');
        chunked.extend_from_slice(b"\r\n");
    }
    assert_eq!(refused(platform, &chunked).status, 413);
    assert_eq!(transactions(platform), before, "an executor has seen one of them");
    let fits = platform.post("/size", "application/octet-stream", &vec![b'x'; 1 << 20]);
    assert_eq!((fits.status, fits.text()), (200, "1048576".into()));
}

fn undecodable_paths_get_400(platform: &Platform) {
    for target in ["/path/%00", "/path/a%00b", "/path/%ff", "/path/%c3%28", "/path/%", "/path/%zz"] {
        let reply = platform.get(target);
        assert_eq!(reply.status, 400, "{target}: {}", reply.text());
    }
    platform.sql(
        "create function search(q text) returns text language sql as 'select q';
         select http.route('GET', '/search', 'search')",
    );
    for query in ["q=%00", "q=a%00b", "q=%ff", "q=%ed%a0%80"] {
        let reply = platform.get(&format!("/search?{query}"));
        assert_eq!(reply.status, 400, "{query}: {}", reply.text());
    }
    let raw = b"GET /path/\xff\xfe HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
    assert_eq!(refused(platform, raw).status, 400);
    assert_eq!(platform.get("/path/gr%C3%BC%C3%9Fe").text(), "grüße");
}

fn contradicting_lengths_close_the_connection(platform: &Platform) {
    let smuggled = "GET /path/smuggled HTTP/1.1\r\nHost: a\r\n\r\n";
    for first in
        ["Content-Length: 6\r\nTransfer-Encoding: chunked", "Transfer-Encoding: chunked\r\nContent-Length: 6"]
    {
        let bytes = format!("POST /size HTTP/1.1\r\nHost: a\r\n{first}\r\n\r\n0\r\n\r\n{smuggled}");
        let reply = refused(platform, bytes.as_bytes());
        assert!(reply.status == 400 || reply.text() == "0", "{} {}", reply.status, reply.text());
    }
    let twice = "POST /size HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nxy";
    assert_eq!(refused(platform, twice.as_bytes()).status, 400);
}

fn slow_heads_and_bodies_are_cut_off(platform: &Platform) {
    let before = transactions(platform);
    let begin = Instant::now();
    let mut clients: Vec<(Connection, Duration)> = Vec::new();
    for (bytes, limit) in [
        (&b"GET / HT"[..], HEAD_LIMIT),
        (b"GET / HTTP/1.1\r\nHost: a\r\nname: val", HEAD_LIMIT),
        (b"POST /size HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\n12345", HEAD_LIMIT),
        (b"POST /size HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n12", HEAD_LIMIT),
    ] {
        for _ in 0..5 {
            let mut connection = platform.connect();
            connection.send_bytes(bytes);
            clients.push((connection, limit));
        }
    }
    assert_served(platform, "beside slow clients");
    for (mut connection, limit) in clients {
        let reply = connection.read_reply(false).expect("an answer before the connection is closed");
        assert_eq!(reply.status, 408, "{}", reply.text());
        let took = begin.elapsed();
        assert!(took >= limit, "after {took:?}");
        bounds::SLOW_HEAD_IS_LATE.check(took - limit);
        assert!(connection.is_closed());
    }
    let mut silent = platform.connect();
    assert!(silent.is_closed(), "a connection that says nothing is closed");
    assert_eq!(transactions(platform), before + 1, "an executor has seen one of them");
}

fn bodies_cut_short_run_nothing(platform: &Platform) {
    let before = transactions(platform);
    for bytes in [
        &b"POST /size HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\n12345"[..],
        b"POST /size HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n12345\r\n",
        b"POST /size HTTP/1.1\r\nHo",
    ] {
        let mut connection = platform.connect();
        connection.send_bytes(bytes);
        connection.socket().shutdown(Shutdown::Write).unwrap();
        let answer = connection.read_reply(false).map(|reply| reply.status);
        assert!(matches!(answer, None | Some(400 | 408)), "{answer:?}");
    }
    assert_eq!(transactions(platform), before, "an executor has seen one of them");
}

#[test]
fn who_reads_slowly_holds_no_executor_and_is_cut_off() {
    let platform = platform();
    let mut readers: Vec<TcpStream> = (0..8)
        .map(|_| {
            let mut stream = TcpStream::connect(("127.0.0.1", platform.port)).unwrap();
            stream.write_all(b"GET /large/8000000 HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
            stream
        })
        .collect();
    wait_for("all have been run", || transactions(&platform) == 8);
    assert_served(&platform, "beside clients that read nothing");
    for reader in &mut readers {
        reader.set_read_timeout(Some(WRITE_LIMIT * 20)).unwrap();
    }
    // Nobody has read for longer than the limit, so nobody gets the whole.
    wait_for("all are cut off", || {
        let query = "select connections from http.workers where kind = 'gateway'";
        platform.value(query).as_deref() == Some("0")
    });
    for mut reader in readers {
        let mut received = Vec::new();
        let read = reader.read_to_end(&mut received);
        assert!(read.is_err() || received.len() < 8_000_000, "it got {} bytes", received.len());
    }
    let whole = platform.get("/large/8000000");
    assert_eq!((whole.status, whole.body.len()), (200, 8_000_000));

    let reply = platform.get("/large/9000000");
    assert_eq!(reply.status, 500);
    assert!(reply.text().contains("howdah.max_response"), "{}", reply.text());
    let log = platform.log();
    assert!(
        log.contains("howdah.max_response") && log.contains("/large/"),
        "the log names route and setting"
    );
    assert_served(&platform, "after a response that was too large");
}

#[test]
fn limits_are_as_their_settings_say() {
    let platform = Platform::with(&[
        ("howdah.max_head", "2kB"),
        ("howdah.max_uri", "300B"),
        ("howdah.max_headers", "20"),
        ("howdah.max_body", "800kB"),
        ("howdah.max_bodies", "1MB"),
        ("howdah.idle_timeout", "500ms"),
        ("howdah.max_streams", "3"),
    ]);
    platform.sql(ROUTES);
    let status = |target: &str, more: &str| {
        let mut connection = platform.connect();
        connection.send_bytes(format!("GET {target} HTTP/1.1\r\nHost: a\r\n{more}\r\n").as_bytes());
        connection.read_reply(false).expect("an answer").status
    };
    let target = |length: usize| format!("/path/{}", "x".repeat(length - "/path/".len()));
    assert_eq!((status(&target(300), ""), status(&target(301), "")), (200, 414));
    let headers = |count: usize| (1..count).map(|number| format!("n{number}: v\r\n")).collect::<String>();
    assert_eq!((status("/path/a", &headers(20)), status("/path/a", &headers(21))), (200, 431));
    let long = |length: usize| format!("long: {}\r\n", "x".repeat(length));
    assert_eq!((status("/path/a", &long(1900)), status("/path/a", &long(2048))), (200, 431));
    bodies_share_their_memory(&platform);

    let mut idle = platform.connect();
    assert_eq!(idle.request("GET", "/path/a", &[], b"").status, 200);
    let begin = Instant::now();
    assert!(idle.is_closed());
    let took = begin.elapsed();
    assert!(took > Duration::from_millis(450), "closed after {took:?}");
    bounds::IDLE_IS_CLOSED.check(took);
    assert_eq!(streams_at_a_time(&platform), 3);
}

fn bodies_share_their_memory(platform: &Platform) {
    let body = vec![b'x'; 700_000];
    let ask = || platform.post("/size", "application/octet-stream", &body).status;
    assert_eq!(ask(), 200);
    let mut slow = platform.connect();
    slow.send_bytes(b"POST /size HTTP/1.1\r\nHost: a\r\nContent-Length: 700001\r\n\r\n");
    slow.send_bytes(&body);
    wait_for("the first gives way to another", || ask() == 200 && slow.has_arrived());
    // As long as it still comes it may be refused as one for which there is no room.
    assert!(matches!(slow.read_reply(false).expect("an answer").status, 408 | 503));
}

/// How many streams the settings of an HTTP/2 connection allow.
fn streams_at_a_time(platform: &Platform) -> u32 {
    const MAX_CONCURRENT_STREAMS: u16 = 3;
    let mut stream = TcpStream::connect(("127.0.0.1", platform.port)).expect("a connection");
    stream
        .write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0")
        .expect("a preface and settings");
    let mut head = [0; 9];
    stream.read_exact(&mut head).expect("a frame");
    assert_eq!(head[3], 4, "settings come first");
    let mut settings = vec![0; usize::from(u16::from_be_bytes([head[1], head[2]]))];
    stream.read_exact(&mut settings).expect("the settings");
    let number = |pair: &[u8]| {
        (u16::from_be_bytes([pair[0], pair[1]]), u32::from_be_bytes(pair[2..6].try_into().unwrap()))
    };
    let limit = settings.chunks_exact(6).map(number).find(|&(name, _)| name == MAX_CONCURRENT_STREAMS);
    limit.expect("a limit").1
}
