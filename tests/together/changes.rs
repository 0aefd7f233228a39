//! A change of the routes is seen by every process from its commit on.

use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::sync::atomic::{AtomicBool, AtomicU32};
use std::time::{Duration, Instant};

use howdah_tests::bounds;
use howdah_tests::{Platform, wait_for};

#[test]
fn no_executor_answers_by_a_route_that_has_been_replaced() {
    let platform = Platform::with(&[("howdah.inline", "off"), ("howdah.min_executors", "3")]);
    platform.sql(
        "create function answer(number integer) returns integer language sql stable return number;
         create function slow() returns void language sql volatile begin atomic select pg_sleep(0.05); end;
         select http.route('POST', '/slow', 'slow');
         select http.handle('select ''none''', name => 'none')",
    );
    // Each executor has read the routes and sleeps again.
    for mut connection in platform.post_at_once("/slow", 6) {
        assert_eq!(connection.read_reply(false).expect("an answer").status, 204);
    }
    for round in 0..20 {
        let target = if round % 2 == 0 { "unroute('GET', '/it')" } else { "route('GET', '/it', 'answer')" };
        platform.sql(&format!("select http.{target}"));
        let expected = if round % 2 == 0 { "none".to_owned() } else { round.to_string() };
        for _ in 0..5 {
            assert_eq!(platform.get(&format!("/it?number={round}")).text(), expected, "round {round}");
        }
    }
}

#[test]
fn a_route_that_comes_while_a_process_reads_the_routes_for_the_first_time_is_served() {
    let platform = Platform::start();
    platform.sql("create function answer() returns text language sql as $$select 'here'$$");
    for kind in ["gateway", "executor"] {
        // The handlers are read after the routes: whoever waits for them has read the routes as they were.
        let mut session = platform.session();
        session
            .batch_execute(&format!(
                "begin;
                 lock table http.handler in access exclusive mode;
                 select http.route('POST', '/{kind}', 'answer');
                 select pg_terminate_backend(pid) from http.workers where kind = '{kind}'"
            ))
            .unwrap();
        // An executor reads the routes when it gets its first request.
        let mut connection = (kind == "executor").then(|| platform.connect());
        connection.iter_mut().for_each(|connection| connection.send("POST", "/gateway", &[], b""));
        let waits = format!(
            "pg_locks join pg_stat_activity using (pid) where not granted and backend_type = 'howdah {kind}'"
        );
        wait_for(&format!("a new {kind} waits for the table"), || platform.count(&waits) > 0);
        session.batch_execute("commit").unwrap();
        platform.wait_until_served();
        assert_eq!(platform.post(&format!("/{kind}"), "text/plain", b"").text(), "here");
    }
}

/// The answers to a GET, asked for often enough to reach the gateway and executors; what repeats itself is left out.
fn answers(platform: &Platform, path: &str) -> Vec<String> {
    let mut answers: Vec<_> = (0..20).map(|_| platform.get(path).text()).collect();
    answers.dedup();
    answers
}

#[test]
fn a_change_is_seen_from_its_commit_on_and_never_without_one() {
    let platform = Platform::start();
    platform.sql(
        "create function old() returns text language sql stable return 'old';
         create function new() returns text language sql stable return 'new';
         select http.handle('select ''none''', name => 'none');
         select http.route('GET', '/changed', 'old'), http.route('GET', '/removed', 'old')",
    );
    let changes = "select http.route('GET', '/added', 'new'), http.route('GET', '/changed', 'new'),
                          http.unroute('GET', '/removed'), http.handle('select ''nobody''', name => 'none')";
    let before = [("/added", "none"), ("/changed", "old"), ("/removed", "old"), ("/other", "none")];
    let after = [("/added", "new"), ("/changed", "new"), ("/removed", "nobody"), ("/other", "nobody")];
    let check = |expected: [(&str, &str); 4], when: &str| {
        for (path, answer) in expected {
            assert_eq!(answers(&platform, path), [answer], "{path} {when}");
        }
    };
    check(before, "at first");
    let mut session = platform.session();
    session.batch_execute(&format!("begin; {changes}")).unwrap();
    check(before, "while the transaction is open");
    // Whoever reads the routes anew reads them as they are.
    platform.sql("select http.route('GET', '/yet-another', 'old')");
    check(before, "after another's commit");
    session.batch_execute("rollback").unwrap();
    check(before, "after the rollback");
    session.batch_execute(&format!("begin; savepoint one; {changes}; rollback to one; commit")).unwrap();
    check(before, "after the rollback to a savepoint");
    session.batch_execute(&format!("begin; {changes}; commit")).unwrap();
    check(after, "after the commit");
}

/// No answer is older than the last transaction that was committed before the request, nor newer than the last that had
/// begun when it came: where these are one, all routes are as it has left them.
#[test]
fn routes_that_change_in_one_transaction_change_together() {
    const VERSIONS: u32 = 100;
    let platform = Platform::start();
    platform.sql(&format!(
        "do $$ begin for version in 0..{VERSIONS} loop
           execute format('create function version_%s() returns text language sql stable return %L', version, version);
         end loop; end $$"
    ));
    let change = |version: u32| {
        format!(
            "begin;
             select http.route('GET', '/first', 'version_{version}');
             select http.handle('select ''{version}''', name => 'rest');
             select http.unroute('GET', '/second');
             select http.route('GET', '/second', 'version_{version}');
             commit"
        )
    };
    platform.sql(&change(0));
    let (begun, committed, over) = (AtomicU32::new(0), AtomicU32::new(0), AtomicBool::new(false));
    std::thread::scope(|threads| {
        let clients: Vec<_> = (0..3)
            .map(|_| {
                threads.spawn(|| {
                    let mut connection = platform.connect();
                    let mut certain = 0;
                    while !over.load(SeqCst) {
                        for path in ["/first", "/second", "/rest"] {
                            let oldest = committed.load(SeqCst);
                            let version = connection.request("GET", path, &[], b"").text();
                            let newest = begun.load(SeqCst);
                            let version: u32 = version.parse().expect("a version");
                            assert!(
                                (oldest..=newest).contains(&version),
                                "{path}: {version}, {oldest} to {newest}"
                            );
                            certain += u32::from(oldest == newest);
                        }
                    }
                    certain
                })
            })
            .collect();
        let mut session = platform.session();
        for version in 1..=VERSIONS {
            begun.store(version, SeqCst);
            session.batch_execute(&change(version)).unwrap();
            committed.store(version, SeqCst);
            // Time to look at what stands.
            std::thread::park_timeout(Duration::from_millis(5));
        }
        over.store(true, SeqCst);
        for client in clients {
            assert!(client.join().unwrap() > 10, "too few looks between two changes");
        }
    });
}

#[test]
fn requests_that_wait_in_the_gateway_survive_a_change_of_the_routes() {
    let platform =
        Platform::with(&[("howdah.inline_deadline", "200ms"), ("howdah.inline_threshold", "50000")]);
    platform.sql(
        "create function busy(number integer) returns integer language sql stable
           return (select number + 0 * count(*) from generate_series(1, 1000));
         select http.route('GET', '/m', 'busy'), http.route('GET', '/a', 'busy'), http.route('GET', '/z', 'busy')",
    );
    for _ in 0..20 {
        assert_eq!(platform.get("/m?number=1").text(), "1");
    }
    let gateway = platform.workers("gateway");
    let over = AtomicBool::new(false);
    std::thread::scope(|threads| {
        for client in 0..32 {
            let (platform, over) = (&platform, &over);
            threads.spawn(move || {
                // More than a turn's time: what is left over waits for the next.
                let mut connection = platform.connect();
                let request =
                    format!("GET /m?number={client} HTTP/1.1\r\nHost: localhost\r\n\r\n").repeat(20);
                while !over.load(Relaxed) {
                    connection.send_bytes(request.as_bytes());
                    for _ in 0..20 {
                        let reply = connection.read_reply(false).expect("an answer");
                        assert_eq!((reply.status, reply.text()), (200, client.to_string()));
                    }
                }
            });
        }
        let mut session = platform.session();
        for round in 0..200 {
            // Places move down and up, and the last is gone.
            let change = if round % 2 == 0 {
                "select http.unroute('GET', '/a'), http.unroute('GET', '/z')"
            } else {
                "select http.route('GET', '/a', 'busy'), http.route('GET', '/z', 'busy')"
            };
            session.batch_execute(change).unwrap();
        }
        over.store(true, Relaxed);
    });
    assert_eq!(platform.workers("gateway"), gateway, "the gateway has ended");
    let inline = platform.value("select inline from http.stats where pattern = '/m'").expect("a number");
    assert!(inline.parse::<i64>().unwrap() > 200, "only {inline} requests ran in the gateway");
}

#[test]
fn a_gateway_goes_on_while_somebody_holds_the_table_of_routes() {
    let platform = Platform::start();
    platform.sql(
        "create function fast() returns text language sql stable return 'fast';
         select http.route('GET', '/fast', 'fast')",
    );
    let mut connection = platform.connect();
    wait_for("it runs in the gateway", || {
        assert_eq!(connection.request("GET", "/fast", &[], b"").text(), "fast");
        platform.value("select inline > 0 from http.stats where pattern = '/fast'").as_deref() == Some("t")
    });
    let mut holder = platform.session();
    holder.batch_execute("begin; lock table http.route in access exclusive mode").unwrap();
    platform.sql("select http.handle('select ''none''', name => 'none')");
    for _ in 0..200 {
        let begin = Instant::now();
        assert_eq!(connection.request("GET", "/fast", &[], b"").text(), "fast");
        bounds::ROUTES_LOCKED.check(begin.elapsed());
        std::thread::sleep(Duration::from_millis(3));
    }
    holder.batch_execute("rollback").unwrap();
    wait_for("the change is seen", || platform.get("/elsewhere").text() == "none");
}
