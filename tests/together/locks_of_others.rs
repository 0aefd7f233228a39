//! Whoever can log in may have others wait for a table: workers go on with what they know.

use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use cluster::postgres::Client;
use howdah_tests::bounds;
use howdah_tests::{Platform, wait_for};

/// A table that a role without any right to it keeps from all who come: a session of the role asks for the table in a statement,
/// and another waits until nobody else has it. Both are refused what they want, but only once they have the lock.
struct Barred {
    holder: Client,
    waiter: Option<JoinHandle<()>>,
}

impl Barred {
    fn new(platform: &Platform, table: &'static str) -> Barred {
        let session = || {
            let mut session = platform.session();
            session.batch_execute("set session authorization mallory").unwrap();
            session
        };
        let mut holder = session();
        holder.batch_execute(&format!("begin; prepare p as select 1 from {table}")).unwrap();
        let mut waiter = session();
        let waiter = std::thread::spawn(move || {
            let rule = format!("create rule mine as on insert to {table} do instead nothing");
            waiter.batch_execute(&rule).unwrap_err();
        });
        let waits = format!("pg_locks where relation = '{table}'::regclass and not granted");
        // A new session might wait itself.
        wait_for("it waits for the table", || {
            holder.query_one(&format!("select count(*) from {waits}"), &[]).unwrap().get::<_, i64>(0) > 0
        });
        Barred { holder, waiter: Some(waiter) }
    }
}

impl Drop for Barred {
    fn drop(&mut self) {
        let _ = self.holder.batch_execute("rollback");
        let _ = self.waiter.take().map(JoinHandle::join);
    }
}

const ROUTES: &str = "
    create role mallory login; create role other;
    create function fast() returns text language sql stable return current_setting('work_mem');
    create function plain() returns text language sql volatile return current_setting('work_mem');
    select http.route('GET', '/fast', 'fast'), http.route('POST', '/plain', 'plain');
    select http.route('POST', '/other', 'plain', role => 'other'), http.route('GET', '/other', 'fast', role => 'other');
    alter role howdah_web set work_mem = '7MB'; alter role other set work_mem = '8MB'; alter role other set lock_timeout = 0";

/// The platform with the routes above, all of whose processes have answered each of them.
fn platform(inline: &str) -> Platform {
    let platform = Platform::with(&[
        ("howdah.inline", inline),
        ("howdah.min_executors", "1"),
        ("howdah.max_executors", "1"),
        ("howdah.inline_threshold", "100000"),
    ]);
    platform.sql(ROUTES);
    let mut connection = platform.connect();
    for _ in 0..3 {
        for path in ["/plain", "/other"] {
            assert_eq!(connection.request("POST", path, &[], b"").status, 200);
        }
    }
    if inline == "on" {
        wait_for("both run in the gateway", || {
            for path in ["/fast", "/other"] {
                assert_eq!(connection.request("GET", path, &[], b"").status, 200);
            }
            platform.count("http.stats where inline > 0") == 2
        });
    }
    platform
}

/// For a second each request is answered at once, with what its role's settings were.
fn goes_on(platform: &Platform, requests: &[(&str, &str, &str)]) {
    let mut connection = platform.connect();
    let begin = Instant::now();
    while begin.elapsed() < Duration::from_secs(1) {
        for (method, path, text) in requests {
            let sent = Instant::now();
            let reply = connection.request(method, path, &[], b"");
            assert_eq!((reply.status, reply.text().as_str()), (200, *text), "{method} {path}");
            bounds::CATALOG_LOCKED.check(sent.elapsed());
        }
        std::thread::sleep(Duration::from_millis(3));
    }
}

/// Changes the settings of a role while nobody can read them, and looks who still answers.
fn goes_on_without_settings(inline: &str, requests: &[(&str, &str, &str)]) {
    let platform = platform(inline);
    let mut mallory = platform.session();
    mallory.batch_execute("begin; alter role howdah_web set work_mem = '9MB'").unwrap();
    let barred = Barred::new(&platform, "pg_db_role_setting");
    mallory.batch_execute("commit").unwrap();
    goes_on(&platform, requests);
    drop(barred);
    let (method, path, _) = requests[0];
    wait_for("the change is seen", || platform.connect().request(method, path, &[], b"").text() == "9MB");
}

#[test]
fn an_executor_goes_on_with_the_settings_that_it_knows() {
    goes_on_without_settings("off", &[("POST", "/plain", "7MB"), ("POST", "/other", "8MB")]);
}

#[test]
fn a_gateway_goes_on_with_the_settings_that_it_knows() {
    goes_on_without_settings("on", &[("GET", "/fast", "7MB"), ("GET", "/other", "8MB")]);
}

/// Adds a route while nobody can read the routes, and looks who still answers.
fn goes_on_without_routes(inline: &str, requests: &[(&str, &str, &str)]) {
    let platform = platform(inline);
    let mut administrator = platform.session();
    administrator.batch_execute("begin; select http.route('POST', '/new', 'plain')").unwrap();
    let barred = Barred::new(&platform, "http.route");
    administrator.batch_execute("commit").unwrap();
    goes_on(&platform, requests);
    drop(barred);
    wait_for("the change is seen", || platform.post("/new", "text/plain", b"").status == 200);
}

#[test]
fn an_executor_goes_on_with_the_routes_that_it_knows() {
    goes_on_without_routes("off", &[("POST", "/plain", "7MB"), ("POST", "/other", "8MB")]);
}

#[test]
fn a_gateway_goes_on_with_the_routes_that_it_knows() {
    goes_on_without_routes(
        "on",
        &[("GET", "/fast", "7MB"), ("GET", "/other", "8MB"), ("POST", "/plain", "7MB")],
    );
}

#[test]
fn the_supervisor_goes_on_with_the_databases_that_it_knows() {
    let platform = Platform::with(&[("howdah.min_executors", "4"), ("howdah.max_executors", "4")]);
    platform.sql("create role mallory login");
    let executors = "select count(*) from http.workers where kind = 'executor' and state = 'running'";
    let mut session = platform.session();
    let mut count = || session.query_one(executors, &[]).unwrap().get::<_, i64>(0);
    wait_for("all have begun", || count() == 4);
    let mut administrator = platform.session();
    let barred = Barred::new(&platform, "pg_database");
    administrator.batch_execute("alter system set howdah.min_executors = 1").unwrap();
    administrator.batch_execute("alter system set howdah.max_executors = 1").unwrap();
    administrator.batch_execute("select pg_reload_conf()").unwrap();
    wait_for("those that are too many have left", || count() == 1);
    drop(barred);
}
