//! Query handlers are asked in their order, and answer the same in the gateway as in executors.

use howdah_tests::Platform;

const HANDLER: &str = "
    create table users (handle text primary key, name text not null);
    insert into users select 'user' || n, 'Name ' || n from generate_series(1, 1000) n;
    grant select on users to howdah_web;
    select http.handle('select http.response(name) from request join users on path = ''/'' || handle', 'users')";

#[test]
fn a_handler_that_joins_answers_each_request_by_its_own_path() {
    let platform = Platform::with(&[("howdah.inline_threshold", "100000"), ("howdah.inline_deadline", "1s")]);
    platform.sql(HANDLER);
    let mut connection = platform.connect();
    for number in 0..200 {
        let found = connection.request("GET", &format!("/user{}", number % 1000 + 1), &[], b"");
        assert_eq!(
            (found.status, found.text()),
            (200, format!("Name {}", number % 1000 + 1)),
            "round {number}"
        );
        let missing = connection.request("GET", "/nobody", &[], b"");
        assert_eq!(missing.status, 404, "round {number}: {}", missing.text());
        let other = connection.request("DELETE", "/nobody", &[], b"");
        assert_eq!(other.status, 404, "round {number}: {}", other.text());
    }
    assert!(platform.count("http.stats where inline > 100") == 1, "it has not run in the gateway");
}

#[test]
fn handlers_are_asked_by_priority_and_then_by_name() {
    let platform = Platform::with(&[("howdah.inline", "off")]);
    // Each answers all paths but its own.
    for (name, priority) in [("b", 1), ("c", 2), ("a", 1), ("d", 0)] {
        platform.sql(&format!(
            "select http.handle($$ select '{name}' from request where path <> '/not/{name}' $$, name => '{name}',
                                priority => {priority})"
        ));
    }
    let mut connection = platform.connect();
    let mut first = |path: &str| connection.request("GET", path, &[], b"").text();
    assert_eq!(first("/not/c"), "a");
    for name in ["c", "a", "b", "d"] {
        assert_eq!(first("/"), name);
        platform.sql(&format!("select http.unhandle('{name}')"));
    }
}
