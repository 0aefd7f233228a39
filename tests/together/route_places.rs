//! Places for routes are given back, so that the limit for each route lasts as long as the server.

use howdah_tests::{DATABASE, Platform, wait_for};

/// The smallest table that there can be.
const PLACES: i64 = 64;

fn platform() -> Platform {
    let platform = Platform::with(&[
        ("howdah.max_routes", &PLACES.to_string()),
        ("howdah.min_executors", "4"),
        ("howdah.max_executors", "4"),
        ("howdah.inline", "off"),
        ("howdah.lock_timeout", "1min"),
        ("howdah.queue_timeout", "1min"),
    ]);
    platform.sql(
        "create function answer() returns text language sql stable return 'here';
         create table locked (number integer);
         insert into locked values (1);
         grant select, update on locked to howdah_web;
         create function touch() returns void language sql as 'update locked set number = number + 1'",
    );
    platform
}

/// Registers so many routes, or removes them.
fn register(platform: &Platform, name: &str, count: i64) {
    platform.sql(&format!(
        "select http.route('GET', '/{name}/' || number, 'answer') from generate_series(1, {count}) number"
    ));
}

fn unregister(platform: &Platform, name: &str) {
    platform.sql(&format!("delete from http.route where pattern like '/{name}/%'"));
}

/// How many places there should be.
fn wanted(platform: &Platform) -> i64 {
    let wanted = platform.value("select wanted from http.sizes where setting = 'howdah.max_routes'");
    wanted.and_then(|wanted| wanted.parse().ok()).expect("a number")
}

fn requests(platform: &Platform, pattern: &str) -> Option<String> {
    platform.value(&format!("select requests from http.stats where pattern = '{pattern}'"))
}

/// Whether a route that waits for a lock leaves executors to others, of 4.
fn has_a_share(platform: &Platform) -> bool {
    let mut locker = platform.session();
    locker.batch_execute("begin; lock table locked in access exclusive mode").unwrap();
    let waiting = platform.post_at_once("/locked", 8);
    wait_for("the route waits for the lock", || platform.running("POST /locked") >= 2);
    let leaves = (0..20).all(|_| platform.running("POST /locked") == 2);
    locker.batch_execute("rollback").unwrap();
    for mut connection in waiting {
        assert_eq!(connection.read_reply(false).expect("an answer").status, 204);
    }
    leaves
}

#[test]
fn a_new_route_has_statistics_and_a_limit_however_many_there_were_before() {
    let platform = platform();
    wait_for("four executors", || platform.workers("executor").len() == 4);
    for round in ["first", "second", "third"].into_iter().take(if cfg!(feature = "long") { 3 } else { 2 }) {
        register(&platform, round, PLACES - 4);
        wait_for("the routes have their places", || wanted(&platform) >= PLACES - 4);
        assert_eq!(platform.get(&format!("/{round}/1")).text(), "here");
        assert_eq!(requests(&platform, &format!("/{round}/1")).as_deref(), Some("1"));
        unregister(&platform, round);
        wait_for("the places are given back", || wanted(&platform) == 0);
        assert_eq!(requests(&platform, &format!("/{round}/1")), None, "it shows what is gone");
    }
    platform.sql("select http.route('POST', '/locked', 'touch')");
    assert!(has_a_share(&platform));
    assert_eq!(requests(&platform, "/locked").as_deref(), Some("8"));
    assert!(!platform.log().contains("howdah.max_routes"), "the places have run out");
}

#[test]
fn routes_for_which_there_is_no_place_get_one_once_others_are_gone() {
    let platform = platform();
    wait_for("four executors", || platform.workers("executor").len() == 4);
    register(&platform, "many", PLACES);
    wait_for("all places are taken", || wanted(&platform) == PLACES);
    platform.sql("select http.route('POST', '/locked', 'touch'), http.route('GET', '/late', 'answer')");
    wait_for("a place is wanted", || wanted(&platform) == PLACES + 1);
    // They answer, and nothing is known of them.
    assert_eq!(platform.get("/late").text(), "here");
    assert_eq!(requests(&platform, "/late"), None);
    let advice = format!("howdah.max_routes is {PLACES}; raise it and restart the server");
    assert_eq!(platform.log().matches(&advice).count(), 1, "{}", platform.log());
    let hint = platform.value("select hint from http.sizes where setting = 'howdah.max_routes'");
    assert_eq!(hint.as_deref(), Some("Set howdah.max_routes to 65 or more and restart the server."));

    platform.sql("delete from http.route where pattern in ('/many/1', '/many/2', '/many/3')");
    // Asked for again and again, they take what there is without another change of the routes.
    wait_for("the late one is counted", || {
        assert_eq!(platform.get("/late").text(), "here");
        requests(&platform, "/late").is_some()
    });
    assert!(has_a_share(&platform));
    assert_eq!(requests(&platform, "/locked").as_deref(), Some("8"));
}

#[test]
fn a_route_that_is_registered_anew_keeps_its_figures() {
    let platform = platform();
    platform
        .sql("select http.route('GET', '/kept', 'answer'), http.handle('select ''other''', name => 'kept')");
    assert_eq!((platform.get("/kept").text(), platform.get("/x").text()), ("here".into(), "other".into()));
    platform.sql("select http.unroute('GET', '/kept'), http.unhandle('kept')");
    wait_for("the route is gone", || platform.get("/kept").status == 404);
    platform
        .sql("select http.route('GET', '/kept', 'answer'), http.handle('select ''other''', name => 'kept')");
    wait_for("the route is back", || platform.get("/kept").status == 200);
    // The supervisor has looked for what is gone meanwhile.
    platform.sql("select http.route('GET', '/gone', 'answer')");
    wait_for("the other one has a place", || requests(&platform, "/gone").is_some());
    platform.sql("select http.unroute('GET', '/gone')");
    wait_for("the other one is gone", || requests(&platform, "/gone").is_none());
    assert_eq!(requests(&platform, "/kept").as_deref(), Some("2"));
    assert!(requests(&platform, "kept").is_some_and(|requests| requests.parse::<i64>().unwrap() >= 1));
}

#[test]
fn a_database_that_is_served_no_more_gives_its_places_back() {
    let platform = platform();
    register(&platform, "app", 10);
    wait_for("the routes have their places", || wanted(&platform) == 10);
    assert_eq!(platform.get("/app/1").text(), "here");
    platform.sql("drop extension howdah");
    let outside = || platform.cluster.connect("postgres").expect("a session");
    outside().batch_execute("create extension howdah").unwrap();
    let used = || -> i64 {
        let query = "select wanted from http.sizes where setting = 'howdah.max_routes'";
        outside().query_one(query, &[]).unwrap().get(0)
    };
    wait_for("a database without the extension has none", || used() == 0);

    platform.sql("create extension howdah");
    register(&platform, "app", 10);
    wait_for("they are there again", || used() == 10);
    assert_eq!(requests(&platform, "/app/1").as_deref(), Some("0"));
    platform.set("howdah.databases", "");
    wait_for("a database that is listed no more has none", || used() == 0);
    platform.set("howdah.databases", DATABASE);
    wait_for("it is listed again", || used() == 10);
}
