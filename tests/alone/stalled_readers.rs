//! Clients that ask and do not read: what they hold is bounded and given back, and others are served meanwhile.

use std::fs;
use std::io::Write;
use std::net::TcpStream;
use std::time::{Duration, Instant};

use howdah_tests::application::Application;
use howdah_tests::bounds;
use howdah_tests::client::allow_as_many_files_as_possible;
use howdah_tests::{Platform, Stalls, wait_for};

const ROUTES: &str = "
    create function fast() returns text language sql stable return 'fast';
    create function sized(n integer) returns text language sql stable return repeat('x', n);
    create function slow() returns text language plpgsql as $$begin perform pg_sleep(5); return 'slow'; end$$;
    select http.route('GET', '/fast', 'fast'), http.route('GET', '/sized/{n}', 'sized'),
        http.route('GET', '/slow/1', 'slow'), http.route('GET', '/slow/2', 'slow'), http.route('GET', '/slow/3', 'slow')";

/// Megabytes of its own that the gateway has in memory.
fn memory(gateway: i32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{gateway}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() >> 10
}

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = (payload.len() as u32).to_be_bytes();
    [&length[1..], &[kind, flags], &stream.to_be_bytes(), payload].concat()
}

/// A connection of HTTP/2 whose windows are of so many bytes.
fn connect(port: u16, window: u32) -> TcpStream {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    let settings = frame(4, 0, 0, &[&[0, 4][..], &window.to_be_bytes()].concat());
    stream.write_all(&[b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", &settings[..]].concat()).unwrap();
    stream
}

/// Asks for a path so many times.
fn ask(stream: &mut TcpStream, path: &str, times: u32) {
    let head = [&[0x82, 0x86, 0x41, 1, b'a', 0x44, path.len() as u8], path.as_bytes()].concat();
    let streams: Vec<u8> = (0..times).flat_map(|number| frame(1, 5, 2 * number + 1, &head)).collect();
    stream.write_all(&streams).unwrap();
}

#[test]
fn small_responses_that_nobody_reads_hold_bounded_memory_which_is_given_back() {
    let platform = Platform::with(&[("howdah.max_responses", "32MB")]);
    platform.sql(ROUTES);
    let gateway = platform.worker("gateway");
    let mut others = platform.connect();
    for _ in 0..50 {
        assert_eq!(others.request("GET", "/sized/16000", &[], b"").body.len(), 16_000);
    }
    let before = memory(gateway);
    let mut stalled: Vec<_> = (0..100).map(|_| connect(platform.port, 0)).collect();
    stalled.iter_mut().for_each(|stream| ask(stream, "/sized/16000", 128));
    let mut most = 0;
    wait_for("all are answered", || {
        assert_eq!(others.request("GET", "/sized/16000", &[], b"").body.len(), 16_000);
        most = most.max(memory(gateway));
        platform.value("select sum(requests)::bigint from http.stats").unwrap().parse::<u64>().unwrap()
            > 12_850
    });
    // 32 MB, and half of one for the open streams of each connection.
    let grown = most.saturating_sub(before);
    assert!(grown < 32 + 50 + 20, "the gateway has grown by {grown} MB");
    drop(stalled);
    wait_for("the memory is given back", || memory(gateway) < before + 8);
}

#[test]
fn memory_of_idle_connections_and_of_large_responses_is_given_back() {
    let platform = Platform::start();
    platform.sql(ROUTES);
    allow_as_many_files_as_possible();
    let gateway = platform.worker("gateway");
    for _ in 0..50 {
        assert_eq!(platform.get("/sized/1000000").body.len(), 1_000_000);
    }
    let before = memory(gateway);
    let idle: Vec<_> = (0..2000).map(|_| connect(platform.port, 0)).collect();
    let large: Vec<_> = (0..20).map(|_| connect(platform.port, 0)).collect();
    large.iter().for_each(|stream| ask(&mut stream.try_clone().unwrap(), "/sized/1000000", 10));
    wait_for("they are there", || memory(gateway) > before + 150);
    assert!(memory(gateway) < before + 200 + 60, "{} MB, {before} before", memory(gateway));
    drop((idle, large));
    wait_for("the memory is given back", || memory(gateway) < before + 16);
}

/// For how long a process, of one thread, has been ready to run and had no processor.
fn waited_for_a_processor(process: &str) -> Duration {
    let schedule = fs::read_to_string(format!("/proc/{process}/schedstat")).unwrap_or_default();
    let nanoseconds = schedule.split(' ').nth(1).and_then(|waited| waited.parse().ok());
    Duration::from_nanos(nanoseconds.unwrap_or_default())
}

/// How long something took without the time in which others had the processors of the gateway and of this thread.
fn own_time(gateway: &str, work: impl FnOnce()) -> Duration {
    let waited = || waited_for_a_processor(gateway) + waited_for_a_processor("thread-self");
    let (before, begin) = (waited(), Instant::now());
    work();
    let took = begin.elapsed();
    took.saturating_sub(waited() - before)
}

#[test]
fn clients_that_do_not_read_leave_the_requests_of_others_quick() {
    let platform = Platform::start();
    platform.sql(ROUTES);
    allow_as_many_files_as_possible();
    let mut others = platform.connect();
    for _ in 0..50 {
        assert_eq!(others.request("GET", "/sized/1000000", &[], b"").body.len(), 1_000_000);
        assert_eq!(others.request("GET", "/fast", &[], b"").text(), "fast");
    }
    let mut stalled: Vec<_> = (0..1000).map(|_| platform.connect()).collect();
    let stalls = Stalls::watch();
    stalled.iter_mut().for_each(|client| client.send("GET", "/sized/1000000", &[], b""));
    let gateway = platform.worker("gateway").to_string();
    let mut slowest = Duration::ZERO;
    let begin = Instant::now();
    while begin.elapsed() < Duration::from_secs(4) {
        let took = own_time(&gateway, || {
            assert_eq!(others.request("GET", "/fast", &[], b"").text(), "fast");
        });
        slowest = slowest.max(took);
    }
    let stall = stalls.longest();
    bounds::FAST_BESIDE_STALLED_READERS.check_beside(slowest, stall);
}

#[test]
fn slow_routes_leave_an_executor_to_another() {
    let platform = Platform::with(&[
        ("howdah.min_executors", "16"),
        ("howdah.max_executors", "16"),
        ("howdah.inline", "off"),
    ]);
    platform.sql(ROUTES);
    let mut others = platform.connect();
    assert_eq!(others.request("GET", "/fast", &[], b"").text(), "fast");
    wait_for("the executors are there", || platform.workers("executor").len() == 16);
    let stalls = Stalls::watch();
    let mut slow = [1, 2, 3, 4].map(|_| connect(platform.port, 65_535));
    for (number, stream) in slow.iter_mut().enumerate() {
        ask(stream, &format!("/slow/{}", number % 3 + 1), 100);
    }
    wait_for("each of them runs", || {
        (1..=3).all(|number| platform.running(&format!("GET /slow/{number}")) > 0)
    });
    let asked = Instant::now();
    for _ in 0..20 {
        assert_eq!(others.request("GET", "/fast", &[], b"").text(), "fast");
    }
    let took = asked.elapsed();
    bounds::OTHERS_BESIDE_FULL_EXECUTORS.check_beside(took, stalls.longest());
}

/// Ten thousand clients that ask for a file of 10 MB and read nothing: the gateway holds the parts once, executors hold nothing, and others are served.
#[test]
fn many_readers_of_a_long_file_hold_its_parts_once_and_others_are_served() {
    let shop = Application::of(&[
        ("functions/fast.sql", "create function fast() returns text language sql stable return 'fast';\n"),
        ("routes.sql", "select http.route('GET', '/fast', 'fast');\n"),
    ]);
    fs::create_dir(shop.folder.path().join("static")).unwrap();
    let bytes: Vec<u8> =
        (0..10_000_000_u32).map(|place| (place.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    fs::write(shop.folder.path().join("static/long.bin"), &bytes).unwrap();
    shop.ok("deploy");
    let platform = &shop.platform;
    wait_for("the files", || platform.get("/static/long.bin").status == 200);
    allow_as_many_files_as_possible();
    platform.set("howdah.max_connections", "11000");
    let gateway = platform.worker("gateway");
    let before = memory(gateway);
    let mut stalled = Vec::new();
    for _ in 0..STALLED_READERS {
        let Ok(mut stream) = TcpStream::connect(("127.0.0.1", platform.port)) else { break };
        stream.write_all(b"GET /static/long.bin HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
        stalled.push(stream);
    }
    for _ in 0..20 {
        assert_eq!(platform.get("/fast").text(), "fast");
    }
    // Somebody who reads gets all of it meanwhile.
    assert!(platform.get("/static/long.bin").body == bytes);
    let most = memory(gateway) - before.min(memory(gateway));
    println!("{} readers hold {most} MB", stalled.len());
    assert!(most < 200, "{} readers hold {most} MB", stalled.len());
    assert_eq!(
        platform
            .value("select count(*)::text from http.workers where kind = 'executor' and busy_ms is not null")
            .as_deref(),
        Some("0")
    );
}

/// Clients at a time.
const STALLED_READERS: usize = 10_000;
