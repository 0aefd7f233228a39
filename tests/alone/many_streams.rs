//! Streams of HTTP/2 by the hundred thousand, which ask for nothing: the gateway's memory is bounded, and others are served meanwhile.

use std::io::{ErrorKind, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use howdah_tests::bounds;
use howdah_tests::client::allow_as_many_files_as_possible;
use howdah_tests::{Connection, Platform, Stalls};

const ROUTES: &str = "
    create function fast() returns text language sql stable return 'fast';
    create function take(body bytea) returns text language sql stable return 'taken';
    select http.route('GET', '/fast', 'fast'), http.route('POST', '/take', 'take')";

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";
/// As many as `howdah.max_streams` allows.
const STREAMS: u32 = 128;

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = (payload.len() as u32).to_be_bytes();
    [&length[1..], &[kind, flags], &stream.to_be_bytes(), payload].concat()
}

/// The preface and a head on each stream, to be followed by a body; with a header of so many bytes.
fn opening(header: usize) -> Vec<u8> {
    // POST, http, `:authority: a`, `:path: /take`, and `x` without index.
    let mut head = [&[0x83, 0x86, 0x41, 1, b'a', 0x44, 5][..], b"/take", &[0, 1, b'x']].concat();
    match header.checked_sub(127) {
        None => head.push(header as u8),
        Some(rest) => head.extend([127, (rest % 128) as u8 | 128, (rest / 128) as u8]),
    }
    head.resize(head.len() + header, b'v');
    let streams = (0..STREAMS).flat_map(|number| frame(1, 4, 2 * number + 1, &head));
    PREFACE.iter().copied().chain(streams).collect()
}

/// Bytes of a process that nobody shares.
fn memory(pid: i32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:"));
    line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok()).unwrap_or(0) << 10
}

/// The longest that a quick request takes, over a connection from before and over a new one, and the most memory that the gateway
/// has, until it is over. The machine's stalls do not count.
fn watch(platform: &Platform, over: &AtomicBool) -> (Duration, u64) {
    let gateway = platform.worker("gateway");
    let stalls = Stalls::watch();
    let mut old = Connection::open(platform.port);
    let (mut slowest, mut most) = (Duration::ZERO, 0);
    while !over.load(Ordering::Relaxed) {
        let begun = Instant::now();
        assert_eq!(old.request("GET", "/fast", &[], b"").text(), "fast");
        slowest = slowest.max(begun.elapsed());
        most = most.max(memory(gateway));
        thread::sleep(Duration::from_millis(2));
    }
    (slowest.saturating_sub(stalls.longest()), most)
}

/// Does something to a platform with 10,000 connections while it is watched.
fn beside(settings: &[(&str, &str)], work: impl FnOnce(&Platform) + Send) -> (Duration, u64) {
    let platform = Platform::with(settings);
    platform.sql(ROUTES);
    allow_as_many_files_as_possible();
    (0..50).for_each(|_| assert_eq!(platform.get("/fast").text(), "fast"));
    let over = AtomicBool::new(false);
    thread::scope(|threads| {
        let watched = threads.spawn(|| watch(&platform, &over));
        work(&platform);
        over.store(true, Ordering::Relaxed);
        watched.join().unwrap()
    })
}

/// The default of `howdah.max_bodies` and of `howdah.max_responses`, and what is free for all else.
const MOST: u64 = 3 * (256 << 20);

#[test]
#[cfg_attr(not(feature = "long"), ignore = "it takes long: make test-long")]
fn streams_that_wait_for_their_bodies_hold_bounded_memory_and_keep_nobody_waiting() {
    let (slowest, most) = beside(&[("howdah.body_timeout", "15s")], |platform| {
        let opening = opening(1700);
        let mut clients: Vec<(TcpStream, usize)> = (0..9900)
            .map(|_| {
                let client = TcpStream::connect(("127.0.0.1", platform.port)).unwrap();
                client.set_nonblocking(true).unwrap();
                (client, 0)
            })
            .collect();
        // Each sends as much as it gets rid of, until it is cut off: they give way, and time out.
        let begun = Instant::now();
        while !clients.is_empty() && begun.elapsed() < Duration::from_secs(40) {
            clients.retain_mut(|(client, sent)| match client.write(&opening[*sent..]) {
                Ok(0) => client
                    .peek(&mut [0])
                    .map_or_else(|error| error.kind() == ErrorKind::WouldBlock, |count| count > 0),
                Ok(count) => {
                    *sent += count;
                    true
                }
                Err(error) => error.kind() == ErrorKind::WouldBlock,
            });
            thread::sleep(Duration::from_millis(10));
        }
    });
    println!("the gateway had {} MB, the slowest request took {slowest:?}", most >> 20);
    assert!(most < MOST, "the gateway had {} MB", most >> 20);
    bounds::FAST_BESIDE_STREAMS.check(slowest);
}

#[test]
#[cfg_attr(not(feature = "long"), ignore = "it takes long: make test-long")]
fn streams_that_are_opened_and_closed_without_end_keep_nobody_waiting() {
    let opened = AtomicU64::new(0);
    let (slowest, most) = beside(&[], |platform| {
        let (opening, begun) = (opening(0), Instant::now());
        let mut idle: Vec<_> =
            (0..9500).map(|_| TcpStream::connect(("127.0.0.1", platform.port)).unwrap()).collect();
        while begun.elapsed() < Duration::from_secs(15) {
            let round = Instant::now();
            let mut clients: Vec<_> =
                (0..100).map(|_| TcpStream::connect(("127.0.0.1", platform.port)).unwrap()).collect();
            clients.iter_mut().for_each(|client| drop(client.write_all(&opening)));
            opened.fetch_add(u64::from(STREAMS) * 100, Ordering::Relaxed);
            thread::sleep(Duration::from_millis(50).saturating_sub(round.elapsed()));
        }
        idle.clear();
    });
    println!("{opened:?} streams: the gateway had {} MB, the slowest request took {slowest:?}", most >> 20);
    assert!(most < MOST, "the gateway had {} MB", most >> 20);
    bounds::FAST_BESIDE_STREAMS.check(slowest);
}
