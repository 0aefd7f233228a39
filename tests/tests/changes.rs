//! A change of the routes is seen by every process from its commit on.

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
    let waiting: Vec<_> = (0..6)
        .map(|_| {
            let mut connection = platform.connect();
            connection.send("POST", "/slow", &[], b"");
            connection
        })
        .collect();
    for mut connection in waiting {
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
        // The listeners are read last: whoever waits for them has read the routes as they were.
        let mut session = platform.session();
        session
            .batch_execute(&format!(
                "begin;
                 lock table http.listener in access exclusive mode;
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
