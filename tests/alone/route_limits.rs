//! One route never holds all executors.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use howdah_tests::bounds;
use howdah_tests::{Connection, Platform, Reply, Stalls, wait_for};

const ROUTES: &str = "
    create table locked (number integer);
    insert into locked values (1);
    grant select, update on locked to howdah_web;
    create function fast() returns text language sql stable return 'fast';
    create function touch() returns void language sql as 'update locked set number = number + 1';
    select http.route('GET', '/fast', 'fast'), http.route('POST', '/locked', 'touch')";

const CLIENTS: usize = 100;

#[test]
fn a_route_whose_table_is_locked_leaves_executors_to_others() {
    let platform = Platform::with(&[
        ("howdah.min_executors", "4"),
        ("howdah.max_executors", "4"),
        ("howdah.inline", "off"),
        ("howdah.lock_timeout", "1s"),
        ("howdah.queue_timeout", "2500ms"),
    ]);
    platform.sql(ROUTES);
    let mut locker = platform.session();
    locker.batch_execute("begin; lock table locked in access exclusive mode").unwrap();
    let port = platform.port;
    let over = AtomicBool::new(false);
    let stalls = Stalls::watch();
    let (answers, slowest, most) = thread::scope(|threads| {
        let clients: Vec<_> = (0..CLIENTS).map(|_| threads.spawn(move || touch(port))).collect();
        wait_for("the route waits for the lock", || platform.running("POST /locked") > 0);
        let fast = threads.spawn(|| slowest_until(port, &over));
        let most = threads.spawn(|| most_running_until(&platform, &over));
        let answers: Vec<_> = clients.into_iter().map(|client| client.join().unwrap()).collect();
        over.store(true, Ordering::Relaxed);
        (answers, fast.join().unwrap(), most.join().unwrap())
    });
    bounds::FAST_BESIDE_LOCKED_ROUTE.check_beside(slowest, stalls.longest());
    assert!((1..=2).contains(&most), "the route held {most} of 4 executors");
    check_refusals(&answers);
    locker.batch_execute("rollback").unwrap();
    assert_eq!(touch(port).0.status, 204);
    assert_eq!(platform.value("select number from locked").as_deref(), Some("2"));
}

#[test]
fn a_route_that_fills_the_exchange_is_limited_as_well() {
    let platform = Platform::with(&[
        ("howdah.min_executors", "4"),
        ("howdah.max_executors", "4"),
        ("howdah.max_requests", "16"),
        ("howdah.lock_timeout", "500ms"),
        ("howdah.queue_timeout", "2s"),
    ]);
    platform.sql(ROUTES);
    let mut locker = platform.session();
    locker.batch_execute("begin; lock table locked in access exclusive mode").unwrap();
    let port = platform.port;
    let over = AtomicBool::new(false);
    let (answers, most) = thread::scope(|threads| {
        let clients: Vec<_> = (0..CLIENTS).map(|_| threads.spawn(move || touch(port))).collect();
        let most = threads.spawn(|| most_running_until(&platform, &over));
        let answers: Vec<_> = clients.into_iter().map(|client| client.join().unwrap().0).collect();
        over.store(true, Ordering::Relaxed);
        (answers, most.join().unwrap())
    });
    for answer in answers {
        assert_eq!(answer.status, 503, "{}", answer.text());
    }
    assert!((1..=2).contains(&most), "the route held {most} of 4 executors");
    locker.batch_execute("rollback").unwrap();
    assert_eq!(touch(port).0.status, 204);
}

#[test]
fn a_route_that_fills_the_exchange_leaves_room_to_others() {
    let platform = Platform::with(&[
        ("howdah.min_executors", "4"),
        ("howdah.max_executors", "4"),
        ("howdah.max_requests", "16"),
        ("howdah.inline", "off"),
        ("howdah.lock_timeout", "1s"),
        ("howdah.queue_timeout", "2500ms"),
    ]);
    platform.sql(ROUTES);
    let mut locker = platform.session();
    locker.batch_execute("begin; lock table locked in access exclusive mode").unwrap();
    let port = platform.port;
    let over = AtomicBool::new(false);
    let stalls = Stalls::watch();
    let (answers, slowest) = thread::scope(|threads| {
        let clients: Vec<_> = (0..CLIENTS).map(|_| threads.spawn(move || touch(port))).collect();
        wait_for("the route waits for the lock", || platform.running("POST /locked") > 0);
        let fast = threads.spawn(|| slowest_until(port, &over));
        let answers: Vec<_> = clients.into_iter().map(|client| client.join().unwrap()).collect();
        over.store(true, Ordering::Relaxed);
        (answers, fast.join().unwrap())
    });
    bounds::FAST_BESIDE_LOCKED_ROUTE.check_beside(slowest, stalls.longest());
    check_refusals(&answers);
    let longest = answers.iter().map(|(_, took)| *took).max().unwrap();
    bounds::REFUSAL_WAITS_ONCE.check(longest);
}

#[test]
fn a_route_whose_bodies_fill_the_exchange_leaves_room_to_others() {
    let platform = Platform::with(&[
        ("howdah.min_executors", "4"),
        ("howdah.max_executors", "4"),
        ("howdah.request_memory", "8MB"),
        ("howdah.lock_timeout", "1s"),
        ("howdah.queue_timeout", "2500ms"),
    ]);
    platform.sql(ROUTES);
    platform.sql("create function size(bytea) returns integer language sql as 'select length($1)'");
    platform.sql("select http.route('POST', '/size', 'size')");
    let mut locker = platform.session();
    locker.batch_execute("begin; lock table locked in access exclusive mode").unwrap();
    let (body, port) = (vec![b'x'; 1_000_000], platform.port);
    let large = || Connection::open(port).request("POST", "/locked", &[], &body);
    thread::scope(|threads| {
        let clients: Vec<_> = (0..30).map(|_| threads.spawn(large)).collect();
        wait_for("the route waits for the lock", || platform.running("POST /locked") > 0);
        let mut other = platform.connect();
        for _ in 0..200 {
            let (stalls, begin) = (Stalls::watch(), Instant::now());
            assert_eq!(other.request("POST", "/size", &[], &body[..5000]).text(), "5000");
            let took = begin.elapsed();
            bounds::FAST_BESIDE_LOCKED_ROUTE.check_beside(took, stalls.longest());
        }
        assert!(clients.into_iter().all(|client| client.join().unwrap().status == 503));
    });
}

fn touch(port: u16) -> (Reply, Duration) {
    let begin = Instant::now();
    let reply = Connection::open(port).request("POST", "/locked", &[], b"");
    (reply, begin.elapsed())
}

/// Those that ran waited for the lock, the others for an executor, and nobody for longer than that.
fn check_refusals(answers: &[(Reply, Duration)]) {
    let (mut locked, mut queued) = (0, 0);
    for (reply, took) in answers {
        assert_eq!((reply.status, reply.header("retry-after")), (503, Some("1")), "{}", reply.text());
        bounds::REFUSAL_COMES.check(*took);
        match reply.json()["sqlstate"].as_str() {
            Some(code) => {
                assert_eq!(code, "55P03");
                assert!(*took >= Duration::from_secs(1));
                locked += 1;
            }
            None => {
                assert!(*took >= Duration::from_millis(2500), "an early refusal: {}", reply.text());
                queued += 1;
            }
        }
    }
    assert!(locked >= 2 && queued > 0, "{locked} waited for the lock, {queued} in the queue");
}

fn slowest_until(port: u16, over: &AtomicBool) -> Duration {
    let mut connection = Connection::open(port);
    let mut slowest = Duration::ZERO;
    while !over.load(Ordering::Relaxed) {
        let begin = Instant::now();
        assert_eq!(connection.request("GET", "/fast", &[], b"").text(), "fast");
        slowest = slowest.max(begin.elapsed());
    }
    slowest
}

fn most_running_until(platform: &Platform, over: &AtomicBool) -> i64 {
    let mut session = platform.session();
    let mut most = 0;
    while !over.load(Ordering::Relaxed) {
        let query = "select count(*) from pg_stat_activity
                     where backend_type = 'howdah executor' and state = 'active' and query like '%POST /locked%'";
        most = most.max(session.query_one(query, &[]).unwrap().get(0));
    }
    most
}
