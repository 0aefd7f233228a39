//! What a gateway answers by itself is counted, told to the log, and names the request.

use std::thread;
use std::time::Duration;

use howdah_tests::{Connection, Http2, Platform, Reply, wait_for};

const ROUTES: &str = "
    create function gate() returns text language plpgsql as
      $$ begin perform pg_advisory_xact_lock_shared(1); return 'passed'; end $$;
    create function sized(n integer) returns text language sql stable
      begin atomic select coalesce(string_agg(
        'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx', ''),
        'x') from generate_series(1, n / 100); end;
    create function fast() returns text language sql stable return 'fast';
    select http.route('GET', '/gate', 'gate'), http.route('POST', '/gate', 'gate'),
           http.route('GET', '/sized/{n}', 'sized'), http.route('GET', '/fast', 'fast')";

/// One column of a route's row in `http.stats`.
fn stat(platform: &Platform, column: &str, route: &str) -> f64 {
    let (method, pattern) = route.split_once(' ').unwrap();
    let query =
        format!("select {column} from http.stats where method = '{method}' and pattern = '{pattern}'");
    platform.value(&query).map_or(0.0, |value| value.parse().unwrap())
}

fn refusals(platform: &Platform, status: u16) -> i64 {
    let query = format!("select coalesce(sum(requests), 0) from http.refusals where status = {status}");
    platform.value(&query).unwrap().parse().unwrap()
}

fn gateway(platform: &Platform, column: &str) -> i64 {
    let query = format!("select {column} from http.workers where kind = 'gateway'");
    platform.value(&query).unwrap().parse().unwrap()
}

/// A subquery: the process that answers a route now.
fn runner(pattern: &str) -> String {
    format!(
        "(select pid from pg_stat_activity where backend_type like 'howdah%' and state = 'active' and query like '%GET {pattern}%')"
    )
}

fn send_signal(process: i32, signal: i32) {
    // SAFETY: no memory is involved; a process of the test's own server.
    assert_eq!(unsafe { libc::kill(process, signal) }, 0);
}

fn expect_problem(reply: &Reply, status: u16, id: &str, detail: &str) {
    assert_eq!(reply.status, status, "{}", reply.text());
    let problem = reply.json();
    assert_eq!(problem["request_id"], id);
    assert_eq!(reply.header("x-request-id"), Some(id));
    assert!(problem["detail"].as_str().is_some_and(|text| text.contains(detail)), "{problem}");
}

#[test]
fn what_waits_in_vain_for_an_executor_is_counted_at_its_route() {
    let platform = Platform::with(&[
        ("howdah.min_executors", "2"),
        ("howdah.max_executors", "2"),
        ("howdah.queue_timeout", "300ms"),
        ("howdah.lock_timeout", "60s"),
        ("howdah.inline", "off"),
        ("howdah.log_min_duration", "200ms"),
    ]);
    platform.sql(ROUTES);
    let mut gatekeeper = platform.session();
    gatekeeper.batch_execute("select pg_advisory_lock(1)").unwrap();
    let mut runs = platform.connect();
    runs.send("GET", "/gate", &[], b"");
    wait_for("it runs", || platform.running("GET /gate") == 1);
    // A route has one of the two executors.
    for number in 0..3 {
        let id = format!("late-{number}");
        let reply = platform.connect().request("GET", "/gate", &[("X-Request-Id", &id)], b"");
        expect_problem(&reply, 503, &id, "no executor was free");
        assert_eq!(reply.header("retry-after"), Some("1"));
    }
    let column = |column| stat(&platform, column, "GET /gate");
    assert_eq!((column("server_errors"), column("unrun"), column("cancelled")), (3.0, 3.0, 3.0));
    assert!(column("queue_max_ms") >= 300.0 && column("mean_ms") >= 300.0);
    wait_for("the gateway shows them", || refusals(&platform, 503) == 3 && gateway(&platform, "errors") == 3);
    // Clients that do not wait so long are no reason to think that all is well.
    let mut leaves = platform.connect();
    leaves.send("GET", "/gate", &[], b"");
    thread::sleep(Duration::from_millis(100));
    drop(leaves);
    wait_for("the one that left is counted", || column("unrun") == 4.0 && column("cancelled") == 4.0);

    let mut waits = platform.connect();
    waits.send("GET", "/gate", &[("X-Request-Id", "waited")], b"");
    thread::sleep(Duration::from_millis(220));
    gatekeeper.batch_execute("select pg_advisory_unlock(1)").unwrap();
    assert_eq!(waits.read_reply(false).unwrap().text(), "passed");
    assert_eq!(runs.read_reply(false).unwrap().text(), "passed");
    assert_eq!((column("requests"), column("succeeded")), (6.0, 2.0));
    let log = platform.log();
    assert!(
        log.contains("http request waited from 127.0.0.1: GET /gate answered 200 in"),
        "all of its time counts: {log}"
    );
    let told = log.matches("answered 503 by the gateway: no executor was free in time").count();
    assert!((1..3).contains(&told) && log.contains("http request late-0 to GET /gate answered 503"), "{log}");
}

#[test]
fn what_has_no_answer_of_its_own_is_counted_by_what_its_client_got() {
    let platform = Platform::with(&[("howdah.inline", "off")]);
    platform.sql(ROUTES);
    platform.sql("select http.route('GET', '/deaf', 'gate')");
    let mut gatekeeper = platform.session();
    gatekeeper.batch_execute("select pg_advisory_lock(1)").unwrap();
    let mut deaf = platform.connect();
    deaf.send("GET", "/deaf", &[("X-Request-Id", "deaf-1")], b"");
    wait_for("it runs", || platform.running("GET /deaf") == 1);
    let executor = platform.value(&format!("select {}", runner("/deaf"))).unwrap().parse().unwrap();
    // A process that stands still does not look whether it is cancelled.
    send_signal(executor, libc::SIGSTOP);
    platform.set("howdah.request_timeout", "300ms");
    expect_problem(&deaf.read_reply(false).unwrap(), 504, "deaf-1", "howdah.request_timeout");
    platform.set("howdah.request_timeout", "30s");
    send_signal(executor, libc::SIGCONT);
    wait_for("it has ended", || stat(&platform, "requests", "GET /deaf") > 0.0);
    wait_for("it counts as an error", || stat(&platform, "server_errors", "GET /deaf") == 1.0);
    assert_eq!(stat(&platform, "requests", "GET /deaf"), 1.0);
    wait_for("the gateway shows it", || refusals(&platform, 504) == 1);

    let mut dies = platform.connect();
    dies.send("GET", "/gate", &[("X-Request-Id", "dies-1")], b"");
    wait_for("it runs", || platform.running("GET /gate") == 1);
    platform.sql(&format!("select pg_terminate_backend({})", runner("/gate")));
    expect_problem(&dies.read_reply(false).unwrap(), 502, "dies-1", "has ended");
    let column = |column| stat(&platform, column, "GET /gate");
    assert_eq!((column("requests"), column("server_errors"), column("unrun")), (1.0, 1.0, 1.0));
}

#[test]
fn what_the_event_loop_refuses_is_shown() {
    let platform = Platform::with(&[
        ("howdah.max_connections", "3"),
        ("howdah.max_body", "20MB"),
        ("howdah.request_memory", "8MB"),
    ]);
    platform.sql(ROUTES);
    wait_for("the connections of the start are closed", || gateway(&platform, "connections") == 0);
    let mut connection = platform.connect();
    let ask = |request: &str| {
        let mut connection = platform.connect();
        connection.send_bytes(request.as_bytes());
        connection.read_reply(false).unwrap()
    };
    let malformed = ask("GET /%ff HTTP/1.1\r\nHost: a\r\nX-Request-Id: bad-1\r\n\r\n");
    expect_problem(&malformed, 400, "bad-1", "");
    let body = vec![b'x'; 10_000_000];
    let id = [("X-Request-Id", "big-1")];
    let large = connection.request("POST", "/gate", &id, &body);
    expect_problem(&large, 413, "big-1", "howdah.request_memory");
    let column = |column| stat(&platform, column, "POST /gate");
    assert_eq!((column("requests"), column("client_errors"), column("unrun")), (1.0, 1.0, 1.0));
    let nothing = connection.request("GET", "/nothing", &[("X-Request-Id", "none-1")], b"");
    expect_problem(&nothing, 404, "none-1", "nothing answers");

    let before = gateway(&platform, "refused");
    let mut gatekeeper = platform.session();
    gatekeeper.batch_execute("select pg_advisory_lock(1)").unwrap();
    let mut others = [platform.connect(), platform.connect()];
    for client in others.iter_mut().chain([&mut connection]) {
        client.send("GET", "/gate", &[], b"");
    }
    wait_for("all are busy", || platform.count("http.databases where in_flight = 3") == 1);
    let mut fourth = platform.connect();
    let refused = fourth.read_reply(false).unwrap();
    assert_eq!((refused.status, refused.header("x-request-id").map(str::len)), (503, Some(16)));
    wait_for("all are shown", || {
        [(400, 1), (404, 1), (413, 1), (503, 1)]
            .iter()
            .all(|(status, count)| refusals(&platform, *status) == *count)
    });
    assert_eq!((gateway(&platform, "refused") - before, gateway(&platform, "errors")), (1, 1));
    wait_for("the log has it", || platform.log().contains("answered with 5xx by the gateway"));
}

/// Whether a connection to a port has something that the server has not read yet.
fn has_unread(port: u16) -> bool {
    let local = format!(":{port:04X}");
    let table = std::fs::read_to_string("/proc/net/tcp").expect("the kernel's table of connections");
    table.lines().skip(1).any(|line| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let is_established = fields[3] == "01";
        fields[1].ends_with(&local) && is_established && !fields[4].ends_with(":00000000")
    })
}

#[test]
fn connections_that_wait_for_their_clients_give_way_to_others() {
    let platform = Platform::with(&[("howdah.max_connections", "40")]);
    platform.sql(ROUTES);
    let served = || {
        let reply = platform.connect().request("GET", "/fast", &[], b"");
        assert_eq!(reply.text(), "fast");
        let mut http2 = Http2::open(platform.port);
        let stream = http2.get("/fast");
        assert_eq!(http2.wait(stream).text(), "fast");
    };
    let hold = |bytes: &[u8]| {
        let mut clients: Vec<_> = (0..60).map(|_| platform.connect()).collect();
        clients.iter_mut().for_each(|client| client.send_bytes(bytes));
        // Where requests run on all at this very moment, one that comes is refused.
        wait_for("all is read", || !has_unread(platform.port));
        wait_for("no request runs", || platform.count("http.databases where in_flight = 0") == 1);
        clients
    };
    let _silent = hold(b"");
    served();
    let _idle = hold(b"GET /nothing HTTP/1.1\r\nHost: a\r\n\r\n");
    served();
    let _heads = hold(b"GET /fast HTTP/1.1\r\nHost: ");
    served();
    let _bodies = hold(b"POST /gate HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\n123456789");
    served();
    let preface = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
    // SETTINGS of a window of 0, and a request for /fast whose answer finds no window.
    let settings = [0, 0, 6, 4, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 0];
    let request = [&[0, 0, 12, 1, 5, 0, 0, 0, 1, 0x82, 0x86, 0x41, 1, b'a', 0x44, 5][..], b"/fast"].concat();
    let _readers = hold(&[&preface[..], &settings, &request].concat());
    served();
    assert_eq!(gateway(&platform, "refused"), 0);
}

#[test]
fn bodies_that_do_not_come_give_way_to_the_requests_of_others() {
    let platform = Platform::with(&[("howdah.max_bodies", "1MB")]);
    platform.sql(ROUTES);
    let mut stalled: Vec<_> = (0..10).map(|_| platform.connect()).collect();
    for client in &mut stalled {
        let head = "POST /gate HTTP/1.1\r\nHost: a\r\nContent-Length: 200000\r\n\r\n";
        client.send_bytes(&[head.as_bytes(), &[b'x'; 199_999]].concat());
    }
    wait_for("there is no room for all", || stalled.iter_mut().any(|client| client.has_arrived()));
    let mut http2 = Http2::open(platform.port);
    let mut others = platform.connect();
    for _ in 0..10 {
        assert_eq!(others.request("POST", "/gate", &[], &[b'x'; 16_000]).text(), "passed");
        assert_eq!(others.request("POST", "/gate", &[], &[b'x'; 150_000]).text(), "passed");
        let stream = http2.get("/fast");
        assert_eq!(http2.wait(stream).text(), "fast");
    }
    let mut gave_way: Vec<_> = stalled.extract_if(.., |client| client.has_arrived()).collect();
    let statuses: Vec<_> =
        gave_way.iter_mut().map(|client| client.read_reply(false).unwrap().status).collect();
    // While all come, one that comes may be the one that has not grown for longest: it gets 503.
    assert_eq!(statuses.len(), 6);
    assert!(statuses.iter().all(|status| matches!(status, 408 | 503)), "{statuses:?}");
    for client in &mut stalled {
        client.send_bytes(b"x");
        assert_eq!(client.read_reply(false).unwrap().text(), "passed");
    }
    wait_for("all are shown", || refusals(&platform, 408) + refusals(&platform, 503) == 6);
}

/// More than the sockets' buffers on both sides can take.
const LARGE: &str = "/sized/20000000";

/// Sends requests for the large response until one is refused, without reading any. The connections that hold one.
fn hold_large_ones(platform: &Platform) -> (Vec<Connection>, Reply) {
    let mut holders = Vec::new();
    loop {
        assert!(holders.len() < 10, "nothing is refused");
        let mut connection = platform.connect();
        connection.send("GET", LARGE, &[("X-Request-Id", "large-1")], b"");
        wait_for("it is answered", || connection.has_arrived());
        let mut start = [0; 12];
        connection.socket().peek(&mut start).unwrap();
        if &start == b"HTTP/1.1 503" {
            return (holders, connection.read_reply(false).unwrap());
        }
        holders.push(connection);
    }
}

/// Bytes of its own that the gateway has in memory.
fn memory(platform: &Platform) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", gateway(platform, "pid"))).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() << 10
}

#[test]
fn responses_that_nobody_reads_hold_bounded_memory_and_others_are_served() {
    let platform = Platform::with(&[
        ("howdah.max_responses", "50MB"),
        ("howdah.inline_threshold", "100000"),
        ("howdah.inline_deadline", "1000ms"),
    ]);
    platform.sql(ROUTES);
    let column = |column| stat(&platform, column, "GET /sized/{n}");
    for lane in ["off", "on"] {
        platform.set("howdah.inline", lane);
        let mut reader = platform.connect();
        if lane == "on" {
            wait_for("it runs in the gateway", || {
                assert_eq!(reader.request("GET", "/sized/1", &[], b"").text(), "x");
                column("inline") > 0.0
            });
        }
        let (errors, inline) = (column("server_errors"), column("inline"));
        let before = memory(&platform);
        let (holders, refused) = hold_large_ones(&platform);
        assert!(!holders.is_empty() && holders.len() <= 2, "{} are held", holders.len());
        expect_problem(&refused, 503, "large-1", "howdah.max_responses");
        wait_for("it is counted", || column("server_errors") == errors + 1.0);
        assert_eq!(column("inline") > inline, lane == "on", "the other lane is tested");
        let more: Vec<_> = (0..8).map(|_| hold_large_ones(&platform)).collect();
        assert!(more.iter().all(|(holders, _)| holders.is_empty()), "more are held");
        let grown = memory(&platform).saturating_sub(before) >> 20;
        assert!(grown < 100, "the gateway has grown by {grown} MB");
        assert_eq!(reader.request("GET", "/fast", &[], b"").text(), "fast");
        let mut client = Http2::open(platform.port);
        let (fast, large) = (client.get("/fast"), client.get(LARGE));
        assert_eq!(client.wait(fast).text(), "fast");
        assert_eq!(client.wait(large).status, 503);
        drop(holders);
        wait_for("the memory is given back", || {
            reader.request("GET", LARGE, &[], b"").body.len() == 20_000_000
        });
        let large = client.get(LARGE);
        assert_eq!(client.wait(large).body.len(), 20_000_000);
    }
}
