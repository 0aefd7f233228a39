//! A change of the routes is seen by every process from its commit on.

use howdah_tests::Platform;

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
