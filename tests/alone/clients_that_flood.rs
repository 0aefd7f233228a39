//! Clients that send without end, or leave by the thousand: others are served, the gateway does what PostgreSQL asks of it, and
//! its memory is bounded.

use std::io::Write;
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use howdah_tests::bounds;
use howdah_tests::client::allow_as_many_files_as_possible;
use howdah_tests::{Connection, Platform, Stalls, wait_for};

const ROUTES: &str = "
    create function fast() returns text language sql stable return 'fast';
    create function slow() returns text language plpgsql as $$begin perform pg_sleep(4); return 'slow'; end$$;
    select http.route('GET', '/fast', 'fast'), http.route('GET', '/slow', 'slow');
    select queue.create('mail'), queue.grant('mail', 'take', 'howdah_web'), queue.serve()";

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = (payload.len() as u32).to_be_bytes();
    [&length[1..], &[kind, flags], &stream.to_be_bytes(), payload].concat()
}

/// Sends the same again and again, and connects again when it is cut off.
fn flood(port: u16, first: &[u8], again: &[u8], over: &AtomicBool) {
    let again = again.repeat((256 << 10) / again.len());
    while !over.load(Ordering::Relaxed) {
        let Ok(mut stream) = TcpStream::connect(("127.0.0.1", port)) else { continue };
        stream.set_write_timeout(Some(Duration::from_millis(100))).unwrap();
        if stream.write_all(first).is_ok() {
            while !over.load(Ordering::Relaxed) && stream.write_all(&again).is_ok() {}
        }
    }
}

/// The longest that a quick request takes while something goes on; the machine's stalls do not count.
fn slowest_meanwhile(port: u16, goes_on: impl Fn() -> bool) -> Duration {
    let stalls = Stalls::watch();
    let mut old = Connection::open(port);
    let mut slowest = Duration::ZERO;
    while goes_on() {
        let begun = Instant::now();
        assert_eq!(old.request("GET", "/fast", &[], b"").text(), "fast");
        assert_eq!(Connection::open(port).request("GET", "/fast", &[], b"").text(), "fast");
        slowest = slowest.max(begun.elapsed());
    }
    slowest.saturating_sub(stalls.longest())
}

#[test]
fn floods_keep_neither_others_nor_postgresql_waiting() {
    let platform = Platform::start();
    platform.sql(ROUTES);
    let mut session = platform.session();
    let port = platform.port;
    (0..50).for_each(|_| assert_eq!(platform.get("/fast").text(), "fast"));
    let chunked = b"POST /fast HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
    let floods: [(&[u8], &[u8]); 3] = [
        (PREFACE, &frame(6, 0, 0, b"12345678")),
        (PREFACE, &frame(0x77, 0, 0, b"")),
        (chunked, b"1\r\nx\r\n"),
    ];
    for (first, again) in floods {
        for clients in [2, 20] {
            let over = AtomicBool::new(false);
            thread::scope(|threads| {
                (0..clients).for_each(|_| drop(threads.spawn(|| flood(port, first, again, &over))));
                let begun = Instant::now();
                let slowest = slowest_meanwhile(port, || begun.elapsed() < Duration::from_secs(2));
                // Each process has to take note of it.
                let stalls = Stalls::watch();
                let begun = Instant::now();
                session.batch_execute("create database other").unwrap();
                session.batch_execute("drop database other").unwrap();
                let dropped = begun.elapsed().saturating_sub(stalls.longest());
                over.store(true, Ordering::Relaxed);
                bounds::FAST_BESIDE_FLOODS.check(slowest);
                bounds::DATABASE_BESIDE_FLOODS.check(dropped);
            });
        }
    }
}

#[test]
fn clients_that_leave_together_keep_nobody_waiting() {
    let platform = Platform::with(&[("howdah.max_waiting", "1GB"), ("howdah.queue_timeout", "60s")]);
    platform.sql(ROUTES);
    allow_as_many_files_as_possible();
    let port = platform.port;
    (0..50).for_each(|_| assert_eq!(platform.get("/fast").text(), "fast"));
    let head = [&[0x82, 0x86, 0x41, 1, b'a', 0x44, 5][..], b"/slow"].concat();
    let streams: Vec<u8> = (0..128).flat_map(|number| frame(1, 5, 2 * number + 1, &head)).collect();
    let over = AtomicBool::new(false);
    let slowest = thread::scope(|threads| {
        let probe = threads.spawn(|| slowest_meanwhile(port, || !over.load(Ordering::Relaxed)));
        let mut clients: Vec<_> =
            (0..500).map(|_| TcpStream::connect(("127.0.0.1", port)).unwrap()).collect();
        clients.iter_mut().for_each(|client| client.write_all(&[PREFACE, &streams].concat()).unwrap());
        let in_flight = || platform.count("http.databases where in_flight > 60000");
        wait_for("all wait", || in_flight() == 1);
        // The newest first: whoever searches from the beginning searches longest.
        while clients.pop().is_some() {}
        let none = || platform.count("http.databases where in_flight < 100");
        wait_for("all have left", || none() == 1);
        over.store(true, Ordering::Relaxed);
        probe.join().unwrap()
    });
    bounds::FAST_BESIDE_FLOODS.check(slowest);
}

/// Asks so many times at once, and gives those that wait and how many are refused, once all but `waiting` are.
fn ask(
    platform: &Platform,
    method: &str,
    path: &str,
    times: usize,
    waiting: usize,
) -> (Vec<Connection>, usize) {
    let mut clients: Vec<_> = (0..times).map(|_| platform.connect()).collect();
    clients.iter_mut().for_each(|client| client.send(method, path, &[], b""));
    let mut refused = 0;
    wait_for("the others are refused", || {
        for mut client in clients.extract_if(.., |client| client.has_arrived()) {
            let reply = client.read_reply(false).unwrap();
            assert_eq!(reply.status, 503, "{}", reply.text());
            assert!(reply.text().contains("howdah.max_waiting"), "{}", reply.text());
            refused += 1;
        }
        clients.len() <= waiting
    });
    (clients, refused)
}

#[test]
fn requests_that_wait_hold_bounded_memory_and_the_newest_are_refused() {
    let platform = Platform::with(&[
        ("howdah.max_waiting", "1MB"),
        ("howdah.max_requests", "16"),
        ("howdah.min_executors", "2"),
        ("howdah.max_executors", "2"),
        ("howdah.queue_timeout", "60s"),
        ("howdah.request_timeout", "60s"),
    ]);
    platform.sql(ROUTES);
    allow_as_many_files_as_possible();
    (0..50).for_each(|_| assert_eq!(platform.get("/fast").text(), "fast"));
    // A megabyte is some 200 requests, and as many for rows.
    for (method, path) in [("GET", "/slow"), ("POST", "/queues/mail/read?wait=60s")] {
        let (waiting, refused) = ask(&platform, method, path, 400, 215);
        assert!(waiting.len() >= 150 && refused >= 185, "{} wait, {refused} are refused", waiting.len());
        assert_eq!(platform.get("/fast").text(), "fast", "what is quick finds an answer");
        drop(waiting);
        // What they held is free again.
        let none = || platform.count("http.databases where in_flight < 2");
        wait_for("they have left", || none() == 1);
        let (waiting, _) = ask(&platform, method, path, 150, 150);
        thread::sleep(Duration::from_secs(1));
        let mut waiting = waiting;
        assert!(
            waiting.iter_mut().all(|client| !client.has_arrived()),
            "one is refused though there is room"
        );
    }
}
