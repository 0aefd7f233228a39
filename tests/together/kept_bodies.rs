//! Kept answers that are large, that are asked for by long requests, or at one moment and seldom again, and those of functions that are called often.

use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::thread;
use std::time::Instant;

use howdah_tests::platform::{Platform, wait_for};
use howdah_tests::{Connection, Http2, Reply, bounds};

const ROUTES: &str = "
    create table other (id integer); grant select on other to howdah_web;
    create function sized(bytes integer) returns text language sql stable begin atomic select repeat('x', bytes) || count(*) from other; end;
    create function aged(bytes integer) returns text language sql stable begin atomic select repeat('x', bytes) || count(*) || (now() > '2026-01-01') from other; end;
    create function plain(bytes integer) returns text language sql stable return repeat('x', bytes);
    create function turn(number bigint) returns void language internal immutable strict as 'pg_advisory_xact_lock_int8';
    create function slow(name text default '') returns text language plpgsql stable as 'begin perform turn(1 + length(name)); return (select count(*) from other); end';
    select http.route('GET', '/sized/{bytes}', 'sized'), http.route('GET', '/aged/{bytes}', 'aged'), http.route('GET', '/slow', 'slow'),
      http.route('GET', '/plain/{bytes}', 'plain');
    select http.cache('GET', '/sized/{bytes}'), http.cache('GET', '/aged/{bytes}', max_age => '1 hour'), http.cache('GET', '/slow')";

fn platform(settings: &[(&str, &str)]) -> Platform {
    let platform = Platform::with(settings);
    platform.sql(ROUTES);
    wait_for("the routes", || platform.get("/sized/1").status == 200);
    platform
}

fn stat(platform: &Platform, column: &str, pattern: &str) -> i64 {
    let value = platform.value(&format!("select {column} from http.stats where pattern = '{pattern}'"));
    value.and_then(|text| text.parse().ok()).unwrap_or(0)
}

/// Asks until the answer is one that was kept.
fn keep(platform: &Platform, pattern: &str, path: &str) -> Reply {
    let mut reply = platform.get(path);
    wait_for(&format!("{path} is kept"), || {
        let before = stat(platform, "cached", pattern);
        reply = platform.get(path);
        assert_eq!(reply.status, 200, "{path}: {}", reply.text());
        stat(platform, "cached", pattern) > before
    });
    reply
}

const LARGE: &str = "/sized/20000000";

#[test]
fn who_asks_for_the_head_of_a_large_answer_needs_no_room_for_its_body() {
    let platform = platform(&[("howdah.max_responses", "50MB"), ("howdah.max_cached", "64MB")]);
    let kept = keep(&platform, "/sized/{bytes}", LARGE);
    assert_eq!(kept.body.len(), 20_000_001);
    let tag = kept.header("etag").expect("a tag").to_owned();
    // Those who do not read hold what there may be.
    let mut holders: Vec<Connection> = Vec::new();
    wait_for("there is no room", || {
        let mut holder = platform.connect();
        holder.send("GET", "/plain/15000000", &[], b"");
        holders.push(holder);
        platform.get(LARGE).status == 503
    });
    let mut heads: Vec<Connection> = (0..32).map(|_| platform.connect()).collect();
    for client in &mut heads {
        (0..4).for_each(|_| client.send("HEAD", LARGE, &[], b""));
    }
    for client in &mut heads {
        for _ in 0..4 {
            let head = client.read_reply(true).expect("a head");
            assert_eq!((head.status, head.header("content-length")), (200, Some("20000001")));
            assert_eq!(head.header("etag"), Some(&*tag));
        }
    }
    let mut client = Http2::open(platform.port);
    let head = client.send("HEAD", LARGE);
    let head = client.wait(head);
    assert_eq!((head.status, head.header("content-length")), (200, Some("20000001")));
    let unmodified = platform.connect().request("GET", LARGE, &[("If-None-Match", &tag)], b"");
    assert_eq!(unmodified.status, 304);
    drop(holders);
    wait_for("there is room again", || platform.get(LARGE).body == kept.body);
}

#[test]
fn those_who_do_not_read_one_kept_answer_hold_it_together() {
    let platform = platform(&[("howdah.max_responses", "50MB"), ("howdah.max_cached", "64MB")]);
    let kept = keep(&platform, "/sized/{bytes}", LARGE);
    let mut clients: Vec<Connection> = (0..12).map(|_| platform.connect()).collect();
    clients.iter_mut().for_each(|client| client.send("GET", LARGE, &[], b""));
    wait_for("all are answered", || stat(&platform, "cached", "/sized/{bytes}") >= 13);
    assert!(platform.get(LARGE).body == kept.body, "there is room for another");
    assert_eq!(platform.get("/plain/20000000").status, 200, "and for one of its own");
    for client in &mut clients {
        assert!(client.read_reply(false).expect("an answer").body == kept.body);
    }
    // Where the body still counted, there would be no room for it.
    wait_for("all is given back", || platform.get("/plain/31000000").status == 200);
}

#[test]
fn a_large_answer_that_is_kept_keeps_nobody_waiting() {
    let platform = platform(&[("howdah.max_cached", "64MB")]);
    keep(&platform, "/sized/{bytes}", LARGE);
    let is_over = AtomicBool::new(false);
    let heads = thread::scope(|scope| {
        let askers: Vec<_> = (0..8)
            .map(|_| {
                scope.spawn(|| {
                    let (mut client, mut count) = (platform.connect(), 0);
                    while !is_over.load(SeqCst) {
                        client.send("HEAD", LARGE, &[], b"");
                        assert_eq!(client.read_reply(true).expect("a head").status, 200);
                        count += 1;
                    }
                    count
                })
            })
            .collect();
        let mut client = platform.connect();
        let mut times: Vec<_> = (0..200)
            .map(|_| {
                let begun = Instant::now();
                assert_eq!(client.request("GET", "/sized/1", &[], b"").status, 200);
                begun.elapsed()
            })
            .collect();
        is_over.store(true, SeqCst);
        times.sort_unstable();
        bounds::BESIDE_KEPT_HEADS.check(times[times.len() / 2]);
        askers.into_iter().map(|asker| asker.join().expect("an asker")).sum::<u32>()
    });
    assert!(heads > 8, "{heads}");
}

#[test]
fn a_shared_body_is_the_same_by_every_protocol_and_says_its_age() {
    let platform = platform(&[]);
    for pattern in ["/sized/{bytes}", "/aged/{bytes}"] {
        for bytes in [0, 1, 1000, 16_383, 16_384, 16_385, 100_000, 3_000_000] {
            let path = pattern.replace("{bytes}", &bytes.to_string());
            let first = platform.get(&path);
            let kept = keep(&platform, pattern, &path);
            assert_eq!(kept.body, first.body, "{path}");
            let says_age = pattern.starts_with("/aged");
            assert_eq!(kept.header("age").is_some(), says_age, "{path}");
            let mut client = Http2::open(platform.port);
            let stream = client.get(&path);
            let reply = client.wait(stream);
            assert_eq!((&reply.body, reply.header("age").is_some()), (&first.body, says_age), "{path}");
            let length = first.body.len().to_string();
            assert_eq!(reply.header("content-length"), Some(&*length), "{path}");
            // Several in one connection, of which each ends where the next begins.
            let mut client = platform.connect();
            (0..3).for_each(|_| client.send("GET", &path, &[], b""));
            (0..3).for_each(|_| assert_eq!(client.read_reply(false).expect("a reply").body, first.body));
        }
    }
}

#[test]
fn a_long_request_gets_304_as_a_short_one_does() {
    let platform = platform(&[]);
    let cookie = "x".repeat(6000);
    let cookies = ("Cookie", cookie.as_str());
    let mut client = platform.connect();
    let first = client.request("GET", "/sized/10", &[cookies], b"");
    let tag = first.header("etag").expect("a tag").to_owned();
    for _ in 0..3 {
        let again = client.request("GET", "/sized/10", &[cookies, ("If-None-Match", &tag)], b"");
        assert_eq!(again.status, 304);
    }
    // What others have had kept is given to it, too.
    keep(&platform, "/sized/{bytes}", "/sized/10");
    let before = stat(&platform, "cached", "/sized/{bytes}");
    assert_eq!(client.request("GET", "/sized/10", &[cookies], b"").body, first.body);
    assert_eq!(stat(&platform, "cached", "/sized/{bytes}"), before + 1);
    let condition = [cookies, ("If-None-Match", &*tag)];
    assert_eq!(client.request("GET", "/sized/10", &condition, b"").status, 304);
}

#[test]
fn one_run_answers_those_who_ask_at_one_moment_however_seldom_that_is() {
    const ROUNDS: i64 = 24;
    let platform = platform(&[]);
    platform.get("/slow");
    let mut session = platform.session();
    for round in 1..=ROUNDS {
        session.batch_execute("insert into other values (1); select pg_advisory_lock(1)").unwrap();
        let mut clients: Vec<_> = (0..5).map(|_| platform.connect()).collect();
        clients.iter_mut().for_each(|client| client.send("GET", "/slow", &[], b""));
        wait_for("they have come", || {
            platform.value("select sum(in_flight) from http.databases").as_deref() == Some("5")
        });
        session.batch_execute("select pg_advisory_unlock(1)").unwrap();
        for client in &mut clients {
            assert_eq!(client.read_reply(false).expect("an answer").text(), round.to_string());
        }
    }
    assert_eq!(stat(&platform, "shared", "/slow"), ROUNDS * 4);
}

#[test]
fn a_function_that_is_called_for_many_rows_reads_its_table_once() {
    let platform = platform(&[]);
    platform.sql(
        "create table row_of (id integer, owner text); insert into row_of select number, 'all' from generate_series(1, 3000) number;
         create table member (name text); insert into member values ('all');
         create function is_member(owner text) returns boolean language sql stable security definer as
           'select exists (select from member where name = owner)';
         alter table row_of enable row level security; create policy members on row_of using (is_member(owner));
         grant select on row_of to howdah_web;
         create function rows_of() returns bigint language sql stable begin atomic select count(*) from row_of; end;
         select http.route('GET', '/rows', 'rows_of'), http.cache('GET', '/rows')",
    );
    wait_for("the route", || platform.get("/rows").status == 200);
    assert_eq!(keep(&platform, "/rows", "/rows").text(), "3000");
    platform.sql("delete from member");
    assert_eq!(platform.get("/rows").text(), "0");
}
