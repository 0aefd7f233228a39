//! With too few worker slots there are fewer executors, never none.

use std::thread::JoinHandle;

use cluster::postgres::{CancelToken, NoTls};
use howdah_tests::{Platform, wait_for};

const ROUTES: &str = "
    create function add(a integer, b integer) returns integer language sql volatile return a + b;
    select http.route('GET', '/add', 'add')";

#[test]
fn too_few_worker_slots_cost_executors_and_the_log_says_what_to_raise() {
    for slots in ["4", "7"] {
        let platform = Platform::with(&[
            ("max_worker_processes", slots),
            ("howdah.min_executors", "8"),
            ("howdah.max_executors", "8"),
        ]);
        platform.sql(ROUTES);
        let reply = platform.get("/add?a=1&b=2");
        assert_eq!((reply.status, reply.text()), (200, "3".into()), "with {slots} slots");
        let query = "select wanted, have, hint from http.sizes where setting = 'max_worker_processes'";
        wait_for("the views say what is missing", || {
            platform.session().query_one(query, &[]).unwrap().get::<_, Option<String>>(2).is_some()
        });
        let row = platform.session().query_one(query, &[]).unwrap();
        let (wanted, have): (i64, i64) = (row.get(0), row.get(1));
        assert_eq!(have.to_string(), slots);
        // A gateway, eight executors, the supervisor, two for parallel query, PostgreSQL's own launcher.
        assert_eq!(wanted, 13);
        assert_eq!(
            row.get::<_, String>(2),
            format!("Set max_worker_processes to {wanted} or more and restart the server.")
        );
        let advice =
            format!("max_worker_processes is {slots}, too few for all workers; set it to {wanted} or more");
        assert!(platform.log().contains(&advice), "the log does not say: {advice}\n{}", platform.log());
        let executors = platform.workers("executor").len();
        assert!((1..8).contains(&executors), "{executors} executors");
    }
}

#[test]
fn two_worker_slots_are_left_for_parallel_query() {
    let platform = Platform::with(&[("max_worker_processes", "10"), ("howdah.min_executors", "12")]);
    platform.sql(ROUTES);
    assert_eq!(platform.get("/add?a=1&b=2").text(), "3");
    // Ten, less the supervisor, PostgreSQL's launcher, two for parallel query, and the gateway.
    wait_for("five executors", || platform.workers("executor").len() == 5);
    let mut session = platform.session();
    session
        .batch_execute(
            "create table rows (number integer) with (parallel_workers = 2);
             insert into rows select generate_series(1, 10000);
             set parallel_setup_cost = 0;
             set parallel_tuple_cost = 0",
        )
        .unwrap();
    let launched = "explain (analyze, costs off, timing off, summary off) select count(*) from rows";
    wait_for("two workers are launched", || {
        let rows = session.simple_query(launched).unwrap();
        let lines = rows.iter().filter_map(|row| match row {
            cluster::postgres::SimpleQueryMessage::Row(row) => row.get(0),
            _ => None,
        });
        lines.into_iter().any(|line| line.trim() == "Workers Launched: 2")
    });
}

/// A table of which as many processes read as there are.
const PAGES: &str = "
    create table pages (filling text) with (parallel_workers = 50);
    alter table pages alter filling set storage plain;
    insert into pages select repeat('x', 6000) from generate_series(1, 100)";

/// Has a parallel query take all processes that are free, until it is cancelled.
fn take_all(platform: &Platform) -> (CancelToken, JoinHandle<()>) {
    let mut greedy = platform.session();
    let cancel = greedy.cancel_token();
    let query = std::thread::spawn(move || {
        let settings = "set max_parallel_workers = 50; set max_parallel_workers_per_gather = 50;
             set parallel_setup_cost = 0; set parallel_tuple_cost = 0; set min_parallel_table_scan_size = 0;
             set parallel_leader_participation = off";
        greedy.batch_execute(settings).unwrap();
        greedy.batch_execute("select count(pg_sleep(5)) from pages").unwrap_err();
    });
    (cancel, query)
}

#[test]
fn the_views_say_that_others_have_taken_all_slots() {
    let platform = Platform::with(&[
        ("max_worker_processes", "12"),
        ("howdah.min_executors", "3"),
        ("howdah.max_executors", "3"),
    ]);
    platform.sql(PAGES);
    let executors = "http.workers where kind = 'executor' and state = 'running'";
    wait_for("three executors", || platform.count(executors) == 3);
    let hint = "select hint from http.sizes where setting = 'max_worker_processes'";
    assert_eq!(platform.value(hint), None);
    let (cancel, query) = take_all(&platform);
    wait_for("a parallel query has all slots", || {
        platform.count("pg_stat_activity where backend_type = 'parallel worker'") >= 6
    });
    // All that is wanted would fit.
    platform.set("howdah.max_executors", "7");
    platform.set("howdah.min_executors", "7");
    let expected =
        "All 12 are in use, by others as well: set max_worker_processes higher and restart the server.";
    wait_for("the view says so", || platform.value(hint).as_deref() == Some(expected));
    assert_eq!(platform.count("http.sizes where setting = 'max_worker_processes' and wanted <= have"), 1);
    cancel.cancel_query(NoTls).unwrap();
    query.join().unwrap();
}

#[test]
fn parallel_queries_that_take_all_slots_leave_the_fewest_executors() {
    let platform = Platform::with(&[
        ("max_worker_processes", "12"),
        ("howdah.min_executors", "3"),
        ("howdah.max_executors", "8"),
        ("howdah.route_share", "100"),
        ("howdah.queue_timeout", "60s"),
    ]);
    platform.sql(
        "create function slow() returns text language plpgsql as $$ begin perform pg_sleep(1); return 'slept'; end $$;
         select http.route('POST', '/slow', 'slow')",
    );
    platform.sql(PAGES);
    let executors = "select count(*) from http.workers where kind = 'executor'";
    let mut session = platform.session();
    let mut count = || session.query_one(executors, &[]).unwrap().get::<_, i64>(0);
    wait_for("the fewest are there", || count() == 3);
    let (cancel, query) = take_all(&platform);
    wait_for("a parallel query has all slots", || {
        platform.count("pg_stat_activity where backend_type = 'parallel worker'") >= 6
    });
    let clients = platform.post_at_once("/slow", 6);
    let begun = std::time::Instant::now();
    while begun.elapsed() < std::time::Duration::from_secs(5) {
        assert!(count() >= 3, "{} executors", count());
    }
    for mut client in clients {
        assert_eq!(client.read_reply(false).expect("an answer").status, 200);
    }
    cancel.cancel_query(NoTls).unwrap();
    query.join().unwrap();
}
