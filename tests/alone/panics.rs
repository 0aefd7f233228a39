//! A panic of our own code, at the places that the build with `faults` has: `make test-long` makes it, and names its folder
//! in HOWDAH_FAULTY_STAGE.

use howdah_tests::{Connection, Platform, Reply, wait_for};

const ROUTES: &str = "
    create table entry (id integer generated always as identity, note text);
    grant select, insert on entry to howdah_web;
    create function note(note text) returns bigint language sql as
      'insert into entry (note) values (note) returning id';
    create function pid() returns integer language sql stable return pg_backend_pid();
    select http.route('POST', '/notes', 'note'), http.route('GET', '/pid', 'pid')";

fn platform() -> Platform {
    let stage =
        std::env::var_os("HOWDAH_FAULTY_STAGE").expect("HOWDAH_FAULTY_STAGE, as make test-long sets it");
    let platform = Platform::of_stage(Some(stage.into()), &[("howdah.inline", "off")]);
    platform.sql(ROUTES);
    platform
}

fn ask(platform: &Platform, method: &str, path: &str, place: &str) -> Reply {
    platform.connect().request(method, path, &[("X-Panic", place), ("X-Request-Id", "asked-to-panic")], b"")
}

#[test]
fn a_panic_in_a_request_is_a_500_and_no_worker_ends() {
    let platform = platform();
    for inline in ["off", "on", "transaction"] {
        platform.set("howdah.inline", inline);
        let served = || {
            platform
                .get("/pid")
                .text()
                .parse::<i32>()
                .is_ok_and(|pid| (inline == "off") != platform.workers("gateway").contains(&pid))
        };
        wait_for("requests run where they shall", served);
        let pids = platform.pids();
        for (method, path) in [("GET", "/pid"), ("POST", "/notes?note=lost")] {
            let reply = ask(&platform, method, path, "in the request");
            assert_eq!(reply.status, 500, "{method}, inline {inline}: {}", reply.text());
            assert_eq!(reply.json()["request_id"], "asked-to-panic");
            assert_eq!(platform.get("/pid").status, 200);
        }
        assert!(platform.still_run(&pids), "inline {inline}");
    }
    assert_eq!(platform.post("/notes?note=kept", "text/plain", b"").status, 200);
    assert_eq!(platform.count("entry"), 1, "what the panic interrupted was rolled back");
    assert_eq!(
        platform.value(
            "select count(*) from pg_locks where locktype = 'relation' and relation = 'entry'::regclass"
        ),
        Some("0".into())
    );
    let log = platform.log();
    assert!(log.contains("panic: asked to, in the request"), "{log}");
    assert!(log.contains("http request asked-to-panic from 127.0.0.1: GET /pid"), "{log}");
    assert!(!log.contains("terminating any other active server processes"), "{log}");
}

#[test]
fn a_panic_outside_of_a_request_ends_that_worker_alone() {
    let platform = platform();
    let postmaster = platform.began();
    let reply = ask(&platform, "GET", "/pid", "in the executor");
    assert_eq!(reply.status, 502, "{}", reply.text());
    wait_for("an executor serves", || platform.get("/pid").status == 200);

    platform.set("howdah.inline", "on");
    wait_for("the gateway answers by itself", || {
        platform.get("/pid").text().parse().is_ok_and(|pid: i32| platform.workers("gateway").contains(&pid))
    });
    let gateways = platform.workers("gateway");
    let mut connection = platform.connect();
    connection.send("GET", "/pid", &[("X-Panic", "in the gateway")], b"");
    assert!(connection.read_reply(false).is_none(), "its connections drop");
    wait_for("another gateway comes", || {
        let now = platform.workers("gateway");
        !now.is_empty() && now.iter().all(|pid| !gateways.contains(pid))
    });
    wait_for("it serves", || {
        Connection::try_open(platform.port)
            .and_then(|mut connection| connection.try_request("GET", "/pid", b""))
            .is_some_and(|reply| reply.status == 200)
    });
    let log = platform.log();
    assert!(!log.contains("terminating any other active server processes"), "{log}");
    assert_eq!(platform.began(), postmaster);
}

#[test]
fn a_worker_that_is_not_as_it_was_after_a_request_aborts_or_ends_in_order() {
    let platform = platform();
    let postmaster = platform.began();
    for inline in ["off", "on", "transaction"] {
        platform.set("howdah.inline", inline);
        let kind = if inline == "off" { "executor" } else { "gateway" };
        let runs_there = || {
            Connection::try_open(platform.port)
                .and_then(|mut connection| connection.try_request("GET", "/pid", b""))
                .and_then(|reply| reply.text().parse().ok())
                .is_some_and(|pid: i32| platform.workers(kind).contains(&pid))
        };
        // What the process comes back from, and what it ends of.
        for (left, goes_on) in [
            ("a transaction", true),
            ("a subtransaction", true),
            ("a lock", true),
            ("interrupts held off", true),
            ("an open portal", true),
            ("another memory context", true),
            ("another role", inline == "on"),
            ("exit_on_error", false),
        ] {
            // Where requests share a transaction, these are its own; outside of one there is no subtransaction.
            let is_its_own = ["a transaction", "a lock", "another memory context"].contains(&left);
            if inline == "on" && is_its_own || inline != "on" && left == "a subtransaction" {
                continue;
            }
            wait_for("requests run where they shall", runs_there);
            let pids = platform.workers(kind);
            let lines = platform.log().matches("has left").count();
            let mut connection = platform.connect();
            connection.send("GET", "/pid", &[("X-Leave", left)], b"");
            let _ = connection.read_reply(false);
            wait_for("the worker has noticed", || platform.log().matches("has left").count() > lines);
            wait_for("requests are served", runs_there);
            let stays = pids.iter().all(|pid| platform.workers(kind).contains(pid));
            assert_eq!(stays, goes_on, "inline {inline}: {left}: {}", platform.log());
        }
    }
    let log = platform.log();
    assert!(log.contains("FATAL:  a howdah worker ends, because a request has left exit_on_error"), "{log}");
    assert!(!log.contains("terminating any other active server processes"), "{log}");
    assert_eq!(platform.began(), postmaster);
}
