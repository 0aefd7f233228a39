//! What PostgreSQL keeps of requests for as long as a process lives: no client makes a process grow without end by it.

use std::fs;
use std::time::{Duration, Instant};

use howdah_tests::{Connection, Platform, wait_for};

/// What a process may keep.
const LIMIT_MB: i64 = 16;
/// What it may take beyond: what it has at its start, and what it keeps between two looks.
const SLACK_MB: i64 = 64;
/// Requests between two measurements.
const BATCH: usize = 50;

/// Times in time zones that somebody has made up: PostgreSQL keeps each zone, 23 kB, wherever a text becomes a time. Of an enum it
/// keeps each value that somebody has asked for and that it does not have.
const ROUTES: &str = "
    create type color as enum ('red');
    create function since(t timestamptz) returns text language sql stable return 'read';
    create function at_zone(z text) returns text language sql stable
      return case when timestamptz '2020-01-01 00:00Z' at time zone z is null then 'null' else 'read' end;
    create function paint(c color) returns text language sql stable return 'read';
    create function fast() returns text language sql stable return 'fast';
    select http.route('GET', '/since', 'since'), http.route('GET', '/at', 'at_zone'),
      http.route('GET', '/paint', 'paint'), http.route('GET', '/fast', 'fast')";

/// Megabytes that a process has of its own; 0 when it has ended.
fn memory(pid: i32) -> i64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("RssAnon:"));
    line.map_or(0, |line| line.split_whitespace().nth(1).unwrap().parse::<i64>().unwrap() >> 10)
}

/// A POSIX time zone that no other number has.
fn zone(mut number: usize) -> String {
    let mut name = "Q".to_owned();
    for _ in 0..6 {
        name.push((b'a' + (number % 26) as u8) as char);
        number /= 26;
    }
    name + "%2B3"
}

/// An anonymous client that sends what is kept, for as long as it likes.
struct Client<'p> {
    platform: &'p Platform,
    connection: Connection,
    sent: usize,
    /// The largest that any process was.
    largest: i64,
}

impl Client<'_> {
    fn new(platform: &Platform) -> Client<'_> {
        Client { platform, connection: platform.connect(), sent: 0, largest: 0 }
    }

    /// Sends [`BATCH`] requests for a path one after the other: all of them are answered.
    fn send(&mut self, path: impl Fn(usize) -> String, status: u16) {
        for number in self.sent..self.sent + BATCH {
            let reply = self.connection.request("GET", &path(number), &[], b"");
            assert_eq!(reply.status, status, "{}", reply.text());
            if reply.header("connection") == Some("close") {
                self.connection = self.platform.connect();
            }
        }
        self.sent += BATCH;
    }

    /// Sends as many at once, to a gateway that stays.
    fn send_at_once(&mut self, path: impl Fn(usize) -> String, status: u16) {
        for number in self.sent..self.sent + BATCH {
            self.connection.send("GET", &path(number), &[], b"");
        }
        self.sent += BATCH;
        for _ in 0..BATCH {
            let reply = self.connection.read_reply(false).expect("an answer");
            assert_eq!(reply.status, status, "{}", reply.text());
        }
    }

    fn measure(&mut self) -> i64 {
        let largest = self.platform.pids().into_iter().map(memory).max().unwrap_or(0);
        self.largest = self.largest.max(largest);
        self.largest
    }
}

fn platform(inline: &str) -> Platform {
    let limit = format!("{LIMIT_MB}MB");
    let platform = Platform::with(&[
        ("howdah.kept_memory", &limit),
        ("howdah.inline", inline),
        ("howdah.inline_threshold", "100000"),
        ("howdah.min_executors", "1"),
        ("howdah.max_executors", "1"),
    ]);
    platform.sql(ROUTES);
    platform
}

/// Sends what would leave several times as much as may be kept.
fn attack(platform: &Platform, count: usize, send: impl Fn(&mut Client<'_>)) {
    let mut client = Client::new(platform);
    while client.sent < count {
        send(&mut client);
        let largest = client.measure();
        assert!(largest < LIMIT_MB + SLACK_MB, "a process has {largest} MB after {} requests", client.sent);
    }
    println!("{} MB at the most after {} requests", client.largest, client.sent);
    assert!(platform.log().contains("more than howdah.kept_memory allows"), "no process was replaced");
    assert_eq!(platform.get("/fast").text(), "fast");
}

fn since(number: usize) -> String {
    format!("/since?t=2020-01-01%2000:00%20{}", zone(number))
}

#[test]
fn time_zones_that_clients_make_up_do_not_fill_a_gateway() {
    attack(&platform("on"), 5000, |client| client.send(since, 200));
}

#[test]
fn time_zones_that_clients_make_up_do_not_fill_an_executor() {
    attack(&platform("off"), 5000, |client| client.send(since, 200));
}

#[test]
fn time_zones_that_a_handler_is_given_do_not_fill_a_gateway() {
    let at_zone = |number| format!("/at?z={}", zone(number));
    attack(&platform("on"), 5000, |client| client.send(at_zone, 200));
}

#[test]
fn short_requests_with_pauses_between_them_do_not_fill_an_executor() {
    let platform = platform("off");
    let executor = platform.worker("executor");
    let mut client = Client::new(&platform);
    wait_for("the executor is replaced", || {
        client.send(since, 200);
        std::thread::sleep(Duration::from_millis(30));
        client.measure();
        !platform.workers("executor").contains(&executor)
    });
    assert!(client.largest < LIMIT_MB + SLACK_MB, "a process has had {} MB", client.largest);
}

#[test]
#[cfg_attr(not(feature = "long"), ignore = "it takes long: make test-long")]
fn values_that_an_enum_does_not_have_do_not_fill_a_process() {
    let paint = |number| format!("/paint?c={number}{}", "x".repeat(50));
    attack(&platform("off"), 150_000, |client| client.send_at_once(paint, 400));
}

#[test]
fn a_gateway_that_has_kept_too_much_is_replaced_without_a_lost_request() {
    let platform = platform("on");
    let gateway = platform.worker("gateway");
    let mut client = Client::new(&platform);
    let begun = Instant::now();
    wait_for("the gateway is replaced", || {
        client.send(since, 200);
        client.measure();
        !platform.workers("gateway").contains(&gateway)
    });
    println!("{} MB at the most after {:?}", client.largest, begun.elapsed());
    assert!(client.largest < LIMIT_MB + SLACK_MB, "a process has had {} MB", client.largest);
    wait_for("the old one ends", || memory(gateway) == 0);
    // The new one runs short requests itself.
    let inline = || platform.value("select inline from http.stats where pattern = '/fast'").unwrap();
    let before = inline();
    wait_for("requests run in the new one", || {
        assert_eq!(platform.get("/fast").text(), "fast");
        inline() != before
    });
}

#[test]
fn a_gateway_goes_on_until_another_can_take_its_place() {
    let platform = platform("on");
    platform.set("howdah.drain_timeout", "1s");
    let gateway = platform.worker("gateway");
    let mut holder = platform.session();
    let mut connection = platform.connect();
    wait_for("it runs in the gateway", || {
        assert_eq!(connection.request("GET", &since(0), &[], b"").status, 200);
        platform.count("http.stats where pattern = '/since' and inline > 0") == 1
    });
    holder.batch_execute("begin; lock table http.route in access exclusive mode").unwrap();
    let mut sent = 0;
    wait_for("it has kept too much", || {
        for _ in 0..BATCH {
            sent += 1;
            assert_eq!(connection.request("GET", &since(sent), &[], b"").status, 200);
        }
        platform.log().contains("howdah gateway runs no more requests itself")
    });
    wait_for("it announces its end", || {
        connection.request("GET", "/fast", &[], b"").header("connection") == Some("close")
    });
    // Longer than it has to drain, and until the supervisor ends it.
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_secs(6) {
        assert_eq!(platform.get("/fast").text(), "fast");
    }
    holder.batch_execute("rollback").unwrap();
    wait_for("the gateway is replaced", || {
        assert_eq!(platform.get("/fast").text(), "fast");
        memory(gateway) == 0
    });
}
