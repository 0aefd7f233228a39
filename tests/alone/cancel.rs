//! A client that leaves takes its query with it, and nobody else's.

use std::net::Shutdown;
use std::time::{Duration, Instant};

use cluster::postgres::Client;
use howdah_tests::bounds;
use howdah_tests::{Connection, Http2, Platform, Stalls, wait_for};

const ROUTES: &str = "
    create function sleep(seconds double precision) returns text language plpgsql as
      $$ begin perform pg_sleep(seconds); return 'slept'; end $$;
    create function pause() returns text language plpgsql as
      $$ begin perform pg_sleep(0.0005); return 'paused'; end $$;
    select http.route('GET', '/sleep/{seconds}', 'sleep'), http.route('GET', '/pause', 'pause')";

#[test]
fn a_client_that_leaves_takes_its_query_with_it() {
    let platform = Platform::start();
    platform.sql(ROUTES);
    let mut session = platform.session();
    for _ in 0..5 {
        let mut connection = platform.connect();
        connection.send("GET", "/sleep/50", &[], b"");
        wait_for("the query runs", || sleeping(&mut session) == 1);
        drop(connection);
        expect_gone(&mut session, "its client has closed the connection");

        let mut client = Http2::open(platform.port);
        let stream = client.get("/sleep/50");
        wait_for("the query runs", || sleeping(&mut session) == 1);
        stream.reset();
        expect_gone(&mut session, "its stream has been reset");
        let next = client.get("/pause");
        assert_eq!(client.wait(next).text(), "paused");
    }
    those_that_wait_are_forgotten(&platform, &mut session);
    a_half_closed_connection_counts_as_left(&platform, &mut session);
    let cancelled = platform.value("select cancelled from http.stats where pattern = '/sleep/{seconds}'");
    assert!(cancelled.unwrap().parse::<i64>().unwrap() >= 10);
}

fn sleeping(session: &mut Client) -> i64 {
    let query = "select count(*) from pg_stat_activity
                 where backend_type like 'howdah%' and state = 'active' and query like '%GET /sleep%'";
    session.query_one(query, &[]).unwrap().get(0)
}

fn expect_gone(session: &mut Client, why: &str) {
    let (stalls, begin) = (Stalls::watch(), Instant::now());
    wait_for(why, || sleeping(session) == 0);
    let took = begin.elapsed();
    bounds::GONE_IS_CANCELLED.check_beside(took, stalls.longest());
}

/// Requests that no executor has taken yet are not run once their clients have gone.
fn those_that_wait_are_forgotten(platform: &Platform, session: &mut Client) {
    platform.sql(
        "create table visits (name text); grant insert on visits to howdah_web;
                  create function visit() returns void language sql as $$insert into visits values ('me')$$;
                  select http.route('POST', '/visit', 'visit')",
    );
    let mut connections: Vec<_> = (0..16).map(|_| platform.connect()).collect();
    for connection in &mut connections {
        connection.send("GET", "/sleep/50", &[], b"");
    }
    wait_for("executors are busy", || sleeping(session) >= 1);
    drop(connections);
    wait_for("all are idle", || sleeping(session) == 0);
    assert_eq!(platform.post("/visit", "text/plain", b"").status, 204);
    wait_for("nobody waits", || platform.count("http.databases where waiting > 0") == 0);
    assert_eq!(platform.count("visits"), 1);
}

/// Whoever shuts down its sending side is taken to have left: a proxy that gives up does so.
fn a_half_closed_connection_counts_as_left(platform: &Platform, session: &mut Client) {
    let mut connection = platform.connect();
    connection.send("GET", "/sleep/50", &[], b"");
    wait_for("the query runs", || sleeping(session) == 1);
    connection.socket().shutdown(Shutdown::Write).unwrap();
    expect_gone(session, "its client sends no more");
}

#[test]
fn a_late_cancel_never_hits_the_next_request() {
    // One executor: whatever a late signal hits is somebody else's request.
    let platform = Platform::with(&[("howdah.min_executors", "1"), ("howdah.max_executors", "1")]);
    platform.sql(ROUTES);
    let port = platform.port;
    let mut other = platform.connect();
    let mut client = Http2::open(port);
    for round in 0..1000u32 {
        // Leaves at about the time at which its request ends.
        if round % 2 == 0 {
            let mut leaver = Connection::open(port);
            leaver.send("GET", "/pause", &[], b"");
            spin(Duration::from_micros(u64::from(round % 100) * 12));
            drop(leaver);
        } else {
            let stream = client.get("/pause");
            spin(Duration::from_micros(u64::from(round % 100) * 12));
            stream.reset();
        }
        let reply = other.request("GET", "/pause", &[], b"");
        assert_eq!((reply.status, reply.text()), (200, "paused".into()), "in round {round}");
    }
    let cancelled = platform.value("select cancelled from http.stats where pattern = '/pause'");
    assert_ne!(cancelled.as_deref(), Some("0"), "no round has cancelled anything");
}

/// Lets time pass without giving up the processor: what is timed is shorter than a sleep can be.
fn spin(time: Duration) {
    let begin = Instant::now();
    while begin.elapsed() < time {
        std::hint::spin_loop();
    }
}

#[test]
fn a_request_over_its_time_gets_504() {
    let platform = Platform::with(&[("howdah.request_timeout", "500ms"), ("howdah.max_executors", "2")]);
    platform.sql(ROUTES);
    let (mut connection, mut session) = (platform.connect(), platform.session());
    let (stalls, begin) = (Stalls::watch(), Instant::now());
    let reply = connection.request("GET", "/sleep/50", &[], b"");
    let (took, stalled) = (begin.elapsed(), stalls.longest());
    expect_gone(&mut session, "its time is over");
    assert_eq!(reply.status, 504, "{}", reply.text());
    assert_eq!(reply.header("content-type"), Some("application/problem+json"));
    assert!(took >= Duration::from_millis(500), "after {took:?}");
    bounds::LATE_IS_ANSWERED.check_beside(took, stalled);
    assert_eq!(connection.request("GET", "/pause", &[], b"").text(), "paused");
    let stats = "select cancelled, server_errors from http.stats where pattern = '/sleep/{seconds}'";
    let row = platform.session().query_one(stats, &[]).unwrap();
    assert_eq!((row.get::<_, i64>(0), row.get::<_, i64>(1)), (1, 1));
}

/// As monitoring does, and as anybody may with `pg_cancel_backend` who may cancel at all.
#[test]
fn a_cancel_ends_no_worker_be_it_idle_or_busy() {
    let platform = Platform::with(&[("howdah.log_min_duration", "0"), ("howdah.max_executors", "2")]);
    platform.sql(ROUTES);
    wait_for("the executors run", || platform.workers("executor").len() == 2);
    let (pids, mut session) = (platform.pids(), platform.session());
    let supervisor = "select pid from pg_stat_activity where backend_type = 'howdah supervisor'";
    let leader = platform.value(supervisor);
    let cancel = "select count(pg_cancel_backend(pid)) from http.workers, generate_series(1, 100)";
    let cancel_all = format!("{cancel}; select pg_cancel_backend(pid) from ({supervisor}) leader");
    for _ in 0..10 {
        session.batch_execute(&cancel_all).unwrap();
        assert_eq!(platform.get("/pause").text(), "paused");
        let mut connection = platform.connect();
        connection.send("GET", "/sleep/50", &[], b"");
        wait_for("the query runs", || sleeping(&mut session) == 1);
        session.batch_execute(&cancel_all).unwrap();
        let reply = connection.read_reply(false).unwrap();
        assert!(reply.status >= 500 && reply.text().contains("57014"), "{}", reply.text());
    }
    assert!(platform.still_run(&pids), "a worker has ended");
    assert_eq!(platform.value(supervisor), leader, "the supervisor has ended");
}
