//! Routes that are slow share the executors, and leave some to the others.

use howdah_tests::{DATABASE, Platform, wait_for};

#[test]
fn what_runs_counts_although_the_share_of_its_route_has_fallen() {
    let platform = Platform::with(&[
        ("howdah.min_executors", "16"),
        ("howdah.max_executors", "16"),
        ("howdah.route_share", "50"),
        ("howdah.inline", "off"),
        ("howdah.lock_timeout", "10min"),
        ("howdah.queue_timeout", "10min"),
        ("howdah.request_timeout", "10min"),
    ]);
    platform.sql(
        "create table locked (number integer);
         grant select, update on locked to howdah_web;
         create function touch() returns void language sql as 'update locked set number = number + 1';
         create function answer() returns text language sql stable return 'here';
         select http.route('POST', '/' || name, 'touch') from unnest('{first,second,third}'::text[]) name;
         select http.route('GET', '/answer', 'answer')",
    );
    wait_for("the executors are there", || platform.workers("executor").len() == 16);
    wait_for("the routes are there", || platform.get("/answer").text() == "here");
    let mut locker = platform.session();
    locker.batch_execute("begin; lock table locked in access exclusive mode").unwrap();
    let running = || ["first", "second", "third"].map(|name| platform.running(&format!("POST /{name}")));
    let in_flight =
        || platform.count(&format!("http.databases where name = '{DATABASE}' and in_flight = 45"));

    let mut waiting = platform.post_at_once("/first", 20);
    wait_for("half of the executors are the first route's", || running() == [8, 0, 0]);
    waiting.extend(platform.post_at_once("/second", 20));
    wait_for("half of the others are the second's", || running() == [8, 4, 0]);
    // With another request its share is measured anew, and less than what runs.
    waiting.extend(platform.post_at_once("/first", 1));
    waiting.extend(platform.post_at_once("/third", 4));
    wait_for("all have come", || in_flight() == 1);
    // It comes behind them.
    assert_eq!(platform.get("/answer").text(), "here");
    assert_eq!(
        running(),
        [8, 4, 2],
        "the third route has half of what is left, and two executors are for the others"
    );
    locker.batch_execute("rollback").unwrap();
    for mut connection in waiting {
        assert_eq!(connection.read_reply(false).expect("an answer").status, 204);
    }
}
