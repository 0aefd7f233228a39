//! What requests make the server write to its log is bounded, and says whose they are.

use howdah_tests::platform::wait_for;
use howdah_tests::{Connection, Platform};

const SCHEMA: &str = "
    create function number(n int) returns int language sql stable return n;
    create function fail() returns text language plpgsql as $$ begin raise 'broken' using errcode = 'XX000'; end $$;
    create function warn() returns text language plpgsql as $$ begin raise warning 'be warned'; return 'x'; end $$;
    create function quote(value text) returns text language plpgsql as
      $$ begin raise '%', value using detail = value, hint = value; end $$;
    create table secret (id int);
    create function peek() returns int language sql stable as 'select id from secret';
    select http.route('GET', '/number/{n}', 'number'), http.route('POST', '/number', 'number'),
      http.route('POST', '/fail', 'fail'), http.route('POST', '/warn', 'warn'), http.route('POST', '/quote', 'quote'),
      http.route('GET', '/secret', 'peek')";

/// Sends so many requests on one connection.
fn flood(platform: &Platform, method: &str, path: &str, count: usize) {
    let mut connection = platform.connect();
    for _ in 0..count {
        connection.request(method, path, &[], b"");
    }
}

fn lines(platform: &Platform, text: &str) -> usize {
    platform.log().lines().filter(|line| line.contains(text)).count()
}

fn written(platform: &Platform, kind: &str, column: &str) -> i64 {
    platform.value(&format!("select {column} from http.log where kind = '{kind}'")).unwrap().parse().unwrap()
}

#[test]
fn a_flood_of_bad_input_leaves_a_bounded_log_that_says_how_much_is_missing() {
    let platform = Platform::with(&[("howdah.log_rate", "1")]);
    platform.sql(SCHEMA);
    flood(&platform, "GET", "/number/x", 2000);
    let mut forwarded = platform.connect();
    assert_eq!(forwarded.request("POST", "/fail", &[], b"").status, 500);
    let errors = lines(&platform, "invalid input syntax for type integer");
    // Ten at once, and one for each second that the test has taken.
    assert!((10..100).contains(&errors), "{errors} lines");
    assert_eq!(written(&platform, "client errors", "written"), errors as i64);
    assert_eq!(written(&platform, "client errors", "written + left_out"), 2000);
    assert_eq!(
        platform
            .value("select client_errors from http.stats where method = 'GET' and pattern like '/number%'")
            .as_deref(),
        Some("2000")
    );
    assert_eq!(lines(&platform, "ERROR:  broken"), 1, "errors of the server are told all the same");
    wait_for("the log says what it lacks", || lines(&platform, "client errors were not logged") == 1);
}

#[test]
fn warnings_missing_grants_and_logged_requests_are_bounded_too() {
    let platform = Platform::with(&[
        ("howdah.log_rate", "1"),
        ("howdah.log_min_duration", "0"),
        ("howdah.show_errors", "off"),
    ]);
    platform.sql(SCHEMA);
    for (method, path, text) in [
        ("POST", "/warn", "be warned"),
        ("GET", "/secret", "missing: grant"),
        ("POST", "/fail", "ERROR:  broken"),
    ] {
        flood(&platform, method, path, 500);
        let told = lines(&platform, text);
        assert!((5..100).contains(&told), "{told} lines of {path}");
    }
    let requests = lines(&platform, " answered ");
    assert!((10..200).contains(&requests), "{requests} lines");
}

#[test]
fn a_long_value_makes_no_long_line() {
    let platform = Platform::start();
    platform.sql(SCHEMA);
    let before = platform.log().len();
    let value = "ä".repeat(1 << 20);
    let body = format!("value={value}&n={value}");
    for path in ["/quote", "/number"] {
        assert_eq!(platform.post(path, "application/x-www-form-urlencoded", body.as_bytes()).status, 400);
    }
    let log = platform.log();
    assert!(log.len() - before < 32 << 10, "{} bytes", log.len() - before);
    assert!(log.contains("ää...") && !log.contains('\u{fffd}'));
}

#[test]
fn errors_in_the_log_name_the_client_also_behind_a_proxy() {
    let platform = Platform::with(&[("howdah.trusted_proxies", "127.0.0.1")]);
    platform.sql(SCHEMA);
    let ask = |id: &str, forwarded: Option<&str>| {
        let mut headers = vec![("X-Request-Id", id)];
        headers.extend(forwarded.map(|address| ("X-Forwarded-For", address)));
        assert_eq!(Connection::open(platform.port).request("GET", "/number/x", &headers, b"").status, 400);
    };
    ask("direct", None);
    ask("proxied", Some("203.0.113.7"));
    let log = platform.log();
    assert!(log.contains("http request direct from 127.0.0.1: GET /number/x"), "{log}");
    assert!(log.contains("http request proxied from 203.0.113.7: GET /number/x"), "{log}");
}

#[test]
fn nothing_is_left_out_without_a_limit() {
    let platform = Platform::with(&[("howdah.log_rate", "-1")]);
    platform.sql(SCHEMA);
    flood(&platform, "GET", "/number/x", 500);
    assert_eq!(lines(&platform, "invalid input syntax for type integer"), 500);
    assert_eq!(written(&platform, "client errors", "left_out"), 0);
}

#[test]
fn parallel_workers_of_a_request_write_no_more_than_the_request() {
    let platform = Platform::with(&[("howdah.log_rate", "1")]);
    platform.sql(
        "create table big as select id from generate_series(1, 20000) id; alter table big set (parallel_workers = 2);
         grant select on big to howdah_web; analyze big;
         create function picky(id int, value text) returns boolean language plpgsql stable parallel safe as
           $$ begin
             raise warning 'wary of %', value; raise log 'aware of %', value;
             raise 'picky about %', value;
           end $$;
         create function ask(value text) returns bigint language plpgsql stable set parallel_setup_cost = 0
           set parallel_tuple_cost = 0 set min_parallel_table_scan_size = 0 set parallel_leader_participation = off as
           $$ begin return (select count(*) from big where picky(id, value)); end $$;
         select http.route('POST', '/ask', 'ask')",
    );
    let before = platform.log().len();
    let value = "ä".repeat(50_000);
    const COUNT: usize = 100;
    let mut connection = platform.connect();
    for _ in 0..COUNT {
        let form = ("Content-Type", "application/x-www-form-urlencoded");
        let reply = connection.request("POST", "/ask", &[form], format!("value={value}").as_bytes());
        assert_eq!(reply.status, 400);
    }
    let log = platform.log();
    assert!(
        log.contains("CONTEXT:  parallel worker") || log.contains("parallel worker\n"),
        "no parallel worker has run"
    );
    for text in ["wary of", "picky about", "aware of"] {
        let told = lines(&platform, text);
        assert!((1..COUNT / 2).contains(&told), "{told} lines of {text}");
    }
    assert_eq!(written(&platform, "client errors", "written + left_out"), COUNT as i64);
    assert!(log.len() - before < 512 << 10, "{} bytes", log.len() - before);
}
