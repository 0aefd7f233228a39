//! A slow handler delays nobody else.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use howdah_tests::bounds;
use howdah_tests::{Connection, Http2, Platform, Stalls, wait_for};

const ROUTES: &str = "
    create function fast() returns text language sql stable return 'fast';
    create function slow() returns text language plpgsql as
      $$ begin perform pg_sleep(1); return 'slow'; end $$;
    create function meet() returns integer language plpgsql as
      $$ begin perform pg_advisory_xact_lock_shared(42); return pg_backend_pid(); end $$;
    select http.route('GET', '/fast', 'fast'), http.route('GET', '/slow', 'slow'),
           http.route('GET', '/meet', 'meet')";

#[test]
fn handlers_that_sleep_delay_nobody_while_an_executor_is_left() {
    let platform = Platform::with(&[
        ("howdah.min_executors", "5"),
        ("howdah.max_executors", "5"),
        ("howdah.route_share", "100"),
        ("howdah.inline", "off"),
    ]);
    platform.sql(ROUTES);
    let over = AtomicBool::new(false);
    let port = platform.port;
    let stalls = Stalls::watch();
    let slowest = thread::scope(|threads| {
        let sleepers: Vec<_> = (0..4).map(|_| threads.spawn(|| sleep_until(port, &over))).collect();
        wait_for("four handlers sleep", || platform.running("GET /slow") == 4);
        let fast: Vec<_> = (0..19).map(|_| threads.spawn(|| slowest_of(port, 264))).collect();
        let slowest = fast.into_iter().map(|thread| thread.join().unwrap()).max().unwrap();
        over.store(true, Ordering::Relaxed);
        sleepers.into_iter().for_each(|thread| thread.join().unwrap());
        slowest
    });
    bounds::FAST_BESIDE_SLOW.check_beside(slowest, stalls.longest());
    two_streams_of_a_connection_run_in_two_backends(&platform);
}

fn sleep_until(port: u16, over: &AtomicBool) {
    let mut connection = Connection::open(port);
    while !over.load(Ordering::Relaxed) {
        assert_eq!(connection.request("GET", "/slow", &[], b"").text(), "slow");
    }
}

/// The longest that one of so many requests took.
fn slowest_of(port: u16, requests: usize) -> Duration {
    let mut connection = Connection::open(port);
    let timed = |_| {
        let begin = Instant::now();
        assert_eq!(connection.request("GET", "/fast", &[], b"").text(), "fast");
        begin.elapsed()
    };
    (0..requests).map(timed).max().unwrap()
}

fn two_streams_of_a_connection_run_in_two_backends(platform: &Platform) {
    let mut gatekeeper = platform.session();
    gatekeeper.batch_execute("select pg_advisory_lock(42)").unwrap();
    let mut client = Http2::open(platform.port);
    let (one, other) = (client.get("/meet"), client.get("/meet"));
    wait_for("both wait at the same time", || platform.running("GET /meet") == 2);
    gatekeeper.batch_execute("select pg_advisory_unlock(42)").unwrap();
    let (one, other) = (client.wait(one), client.wait(other));
    assert_eq!((one.status, other.status), (200, 200), "{} {}", one.text(), other.text());
    assert_ne!(one.text(), other.text(), "both ran in the same backend");
}

/// A platform whose route /rows has been short often enough to run in the gateway, and answers with what ran
/// it, and with the rows that it has read. Each try leaves a line in the log.
fn platform_with_a_short_route() -> Platform {
    let platform = Platform::with(&[("howdah.min_executors", "3"), ("howdah.route_share", "100")]);
    platform.sql(
        "create table rows (number integer);
         insert into rows values (10);
         grant select on rows to howdah_web;
         create function rows_and_place() returns json language plpgsql stable as $$
           declare counted bigint;
           begin
             raise log 'tried in %', pg_backend_pid();
             select count(*) into counted from rows, generate_series(1, number);
             return json_build_object('pid', pg_backend_pid(), 'rows', counted);
           end $$;
         create function fast() returns text language sql stable return 'fast';
         select http.route('GET', '/rows', 'rows_and_place'), http.route('GET', '/fast', 'fast')",
    );
    let mut connection = platform.connect();
    let gateway = gateway(&platform);
    wait_for("the routes run in the gateway", || {
        connection.request("GET", "/fast", &[], b"");
        connection.request("GET", "/rows", &[], b"").json()["pid"] == gateway
            && platform.inline_count("/fast") > 0
    });
    platform
}

fn gateway(platform: &Platform) -> i64 {
    let pid = platform.value("select pid from http.workers where kind = 'gateway'");
    pid.unwrap().parse().unwrap()
}

/// How often the route /rows was begun in the gateway. It is not begun where its plan has become doubtful, as by a lock.
fn tries(platform: &Platform, gateway: i64) -> usize {
    platform.log().matches(&format!("tried in {gateway}\n")).count()
}

#[test]
fn a_short_route_that_turns_slow_stops_its_gateway_once_and_is_answered_by_executors() {
    let platform = platform_with_a_short_route();
    let gateway = gateway(&platform);
    platform.sql("update rows set number = 2000000");
    let before = tries(&platform, gateway);
    let port = platform.port;
    let over = AtomicBool::new(false);
    let stalls = Stalls::watch();
    let slowest = thread::scope(|threads| {
        let fast = threads.spawn(|| {
            let mut slowest = Duration::ZERO;
            while !over.load(Ordering::Relaxed) {
                slowest = slowest.max(slowest_of(port, 1));
            }
            slowest
        });
        let mut connection = Connection::open(port);
        for _ in 0..5 {
            let reply = connection.request("GET", "/rows", &[], b"");
            assert_eq!(reply.status, 200, "{}", reply.text());
            assert_eq!(reply.json()["rows"], 2_000_000);
            assert_ne!(reply.json()["pid"], gateway, "a slow request ran in the gateway");
        }
        over.store(true, Ordering::Relaxed);
        fast.join().unwrap()
    });
    bounds::FAST_BESIDE_SLOW.check_beside(slowest, stalls.longest());
    assert!(tries(&platform, gateway) <= before + 1, "it was tried in the gateway again");
}

#[test]
fn a_short_route_that_waits_for_a_lock_stops_its_gateway_once_and_is_answered_by_an_executor() {
    let platform = platform_with_a_short_route();
    let gateway = gateway(&platform);
    let mut locker = platform.session();
    locker.batch_execute("begin; lock table rows in access exclusive mode").unwrap();
    let before = tries(&platform, gateway);
    let mut waiting: Vec<_> = (0..2).map(|_| platform.connect()).collect();
    let waits = "select count(*) from pg_locks join pg_stat_activity using (pid)
                 where not granted and backend_type = 'howdah executor'";
    let (port, over) = (platform.port, AtomicBool::new(false));
    let stalls = Stalls::watch();
    let slowest = thread::scope(|threads| {
        // From before on: the gateway itself stops when it tries.
        let fast = threads.spawn(|| {
            let mut slowest = Duration::ZERO;
            while !over.load(Ordering::Relaxed) {
                slowest = slowest.max(slowest_of(port, 1));
            }
            slowest
        });
        for (number, connection) in (1..).zip(&mut waiting) {
            connection.send("GET", "/rows", &[], b"");
            wait_for("executors wait for the lock", || platform.value(waits) == Some(number.to_string()));
        }
        over.store(true, Ordering::Relaxed);
        fast.join().unwrap()
    });
    bounds::FAST_BESIDE_SLOW.check_beside(slowest, stalls.longest());
    locker.batch_execute("commit").unwrap();
    for connection in &mut waiting {
        let reply = connection.read_reply(false).unwrap();
        assert_eq!((reply.status, &reply.json()["rows"]), (200, &serde_json::json!(10)));
        assert_ne!(reply.json()["pid"], gateway);
    }
    assert!(tries(&platform, gateway) <= before + 1, "it was tried in the gateway again");
}

#[test]
fn a_gateway_that_gets_no_processor_blames_no_route() {
    let platform = Platform::with(&[("howdah.inline_threshold", "100000")]);
    // Half a millisecond, of the five that it may take.
    platform.sql(
        "create function counted(n integer) returns text language sql stable return
           (select count(*)::text from generate_series(1, n));
         select http.route('GET', '/counted/{n}', 'counted')",
    );
    let mut connection = platform.connect();
    wait_for("the route runs in the gateway", || {
        connection.request("GET", "/counted/1", &[], b"");
        platform.inline_count("/counted/{n}") > 0
    });
    let before = platform.inline_count("/counted/{n}");
    let pid = gateway(&platform) as u32;
    let cores = thread::available_parallelism().unwrap().get();
    let over = AtomicBool::new(false);
    thread::scope(|threads| {
        for _ in 0..2 * cores {
            threads.spawn(|| {
                while !over.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            });
        }
        // SAFETY: a plain call. It gets a processor a seventh of the time.
        assert_eq!(unsafe { libc::setpriority(libc::PRIO_PROCESS, pid, 5) }, 0);
        for _ in 0..200 {
            assert_eq!(connection.request("GET", "/counted/5000", &[], b"").text(), "5000");
        }
        over.store(true, Ordering::Relaxed);
    });
    assert_eq!(platform.inline_count("/counted/{n}") - before, 200);
}

#[test]
fn a_route_that_does_not_stop_when_told_runs_in_executors_until_its_function_changes() {
    let platform = Platform::with(&[("howdah.inline_threshold", "100000")]);
    platform.sql(&format!("{DIGEST}; select http.route('GET', '/digest/{{n}}', 'digest')"));
    let mut connection = platform.connect();
    let mut digest_of = |n| connection.request("GET", &format!("/digest/{n}"), &[], b"").text();
    wait_for("the route runs in the gateway", || {
        digest_of(1);
        platform.inline_count("/digest/{n}") > 0
    });
    assert_eq!(digest_of(2).len(), 32);
    let before = platform.inline_count("/digest/{n}");
    // Longer than the first ban of a route that merely was too slow.
    thread::sleep(Duration::from_millis(2500));
    for _ in 0..20 {
        digest_of(1);
    }
    assert_eq!(platform.inline_count("/digest/{n}"), before);
    platform.sql(DIGEST);
    wait_for("the changed function runs in the gateway", || {
        digest_of(1);
        platform.inline_count("/digest/{n}") > before
    });
}

/// PostgreSQL computes a digest without looking whether it is cancelled.
const DIGEST: &str = "create or replace function digest(n integer) returns text language sql stable return
    md5(case when n > 1 then n::bit(80000000)::text else 'a' end)";

#[test]
fn a_cancel_that_is_met_late_is_met_by_nobody_else() {
    // The line in the log is the first thing after the request that looks whether there is a cancel.
    let platform = Platform::with(&[("howdah.inline_threshold", "100000"), ("howdah.log_min_duration", "0")]);
    platform.sql(&format!("{DIGEST}; select http.route('GET', '/digest/{{n}}', 'digest')"));
    let (mut connection, mut neighbour) = (platform.connect(), platform.connect());
    let mut digest_of = |n| connection.request("GET", &format!("/digest/{n}"), &[], b"").text();
    let gateways = platform.workers("gateway");
    let mut before = 0;
    for _ in 0..2 {
        wait_for("the route runs in the gateway", || {
            digest_of(1);
            platform.inline_count("/digest/{n}") > before
        });
        assert_eq!(digest_of(2).len(), 32);
        assert_eq!(neighbour.request("GET", "/digest/1", &[], b"").status, 200, "on its old connection");
        // A changed function may run there again.
        platform.sql(DIGEST);
        before = platform.inline_count("/digest/{n}");
    }
    assert_eq!(platform.workers("gateway"), gateways);
    let log = platform.log();
    let mut lines = log.lines();
    while lines.any(|line| line.contains("canceling statement")) {
        assert!(lines.next().is_some_and(|line| line.contains("CONTEXT:  http request")), "{log}");
    }
}

#[test]
fn planning_for_the_gateway_waits_for_no_lock() {
    // All that has answered eight times counts as short, however slow the machine.
    let platform = Platform::with(&[("howdah.inline_threshold", "100000")]);
    platform.sql(
        "create table rows (number integer);
         insert into rows values (10);
         grant select on rows to howdah_web;
         create function fast() returns text language sql stable return 'fast';
         select http.route('GET', '/fast', 'fast');
         select http.handle('select http.response(''row '' || number) from request, rows')",
    );
    // Not often enough to run in the gateway yet; the next request is.
    let mut connection = platform.connect();
    for _ in 0..8 {
        assert_eq!(connection.request("GET", "/rows", &[], b"").text(), "row 10");
    }
    let mut locker = platform.session();
    locker.batch_execute("begin; lock table rows in access exclusive mode").unwrap();
    connection.send("GET", "/rows", &[], b"");
    let waits = "select string_agg(backend_type, ', ') from pg_locks join pg_stat_activity using (pid)
                 where not granted and backend_type like 'howdah%'";
    let stalls = Stalls::watch();
    let slowest = slowest_of(platform.port, 50);
    wait_for("an executor waits for the lock", || {
        platform.value(waits).as_deref() == Some("howdah executor")
    });
    locker.batch_execute("commit").unwrap();
    bounds::FAST_BESIDE_SLOW.check_beside(slowest, stalls.longest());
    assert_eq!(connection.read_reply(false).unwrap().text(), "row 10");
}

#[test]
fn a_role_whose_transactions_wait_for_a_safe_snapshot_stops_nobody_else() {
    let platform = platform_with_a_short_route();
    platform.sql(
        "create role careful; grant select, insert on rows to careful;
         alter role careful set default_transaction_isolation = 'serializable';
         alter role careful set default_transaction_deferrable = on;
         select http.route('GET', '/careful', 'rows_and_place', role => 'careful')",
    );
    let mut careful = platform.connect();
    wait_for("the route runs in the gateway", || {
        careful.request("GET", "/careful", &[], b"").status == 200 && platform.inline_count("/careful") > 0
    });
    let mut writer = platform.session();
    writer
        .batch_execute("begin isolation level serializable; insert into rows values (20)")
        .expect("a transaction that others are not safe from");
    careful.send("GET", "/careful", &[], b"");
    let waits = "pg_stat_activity where backend_type = 'howdah executor' and wait_event = 'SafeSnapshot'";
    let stalls = Stalls::watch();
    let slowest = slowest_of(platform.port, 50);
    wait_for("an executor waits for a safe snapshot", || platform.count(waits) == 1);
    bounds::FAST_BESIDE_SLOW.check_beside(slowest, stalls.longest());
    writer.batch_execute("rollback").expect("an end");
    let reply = careful.read_reply(false).expect("an answer");
    assert_eq!((reply.status, &reply.json()["rows"]), (200, &serde_json::json!(10)), "{}", reply.text());
}
