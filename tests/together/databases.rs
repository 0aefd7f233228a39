//! Databases that are served come, go and change, and others beside them.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Instant;

use howdah_tests::bounds;
use howdah_tests::{Connection, Platform, wait_for};

const ROUTES: &str = "
    create table notes (note text);
    grant select, insert on notes to howdah_web;
    create function count_notes() returns bigint language sql stable return (select count(*) from notes);
    create function add_note() returns void language sql as $$insert into notes values ('note')$$;
    select http.route('GET', '/notes', 'count_notes'), http.route('POST', '/notes', 'add_note')";

/// Requests of both kinds from two connections until told to stop: those that are answered are answered
/// well. Returns how many were.
fn load(port: u16, over: &AtomicBool, answered: &AtomicU64) {
    let mut connection = None;
    let mut method = "GET";
    while !over.load(Ordering::Relaxed) {
        method = if method == "GET" { "POST" } else { "GET" };
        let Some(open) = connection.as_mut() else {
            connection = Connection::try_open(port);
            thread::yield_now();
            continue;
        };
        match open.try_request(method, "/notes", b"") {
            Some(reply) => {
                assert!(matches!(reply.status, 200 | 204 | 502 | 503), "{} {}", reply.status, reply.text());
                answered.fetch_add(u64::from(reply.status < 300), Ordering::Relaxed);
            }
            None => connection = None,
        }
    }
}

#[test]
fn commands_that_need_a_served_database_empty_succeed_under_load() {
    let platform = Platform::start();
    platform.sql(ROUTES);
    let (over, answered) = (AtomicBool::new(false), AtomicU64::new(0));
    let port = platform.port;
    thread::scope(|threads| {
        let _stop = StopAtEnd(&over);
        for _ in 0..2 {
            threads.spawn(|| load(port, &over, &answered));
        }
        let expect_served = |when: &str| {
            let before = answered.load(Ordering::Relaxed);
            wait_for(when, || answered.load(Ordering::Relaxed) > before + 20);
        };
        let run = |command: &str| {
            let mut postgres = platform.cluster.connect("postgres").unwrap();
            for command in command.split("; ") {
                postgres.batch_execute(command).unwrap_or_else(|error| panic!("{command}: {error:?}"));
            }
        };
        expect_served("requests are answered");
        run("create database copy template app");
        expect_served("served after CREATE DATABASE");
        run("alter database app rename to other");
        run("alter database other rename to app");
        expect_served("served after RENAME");
        run("set allow_in_place_tablespaces = on; create tablespace elsewhere location ''");
        run("alter database app set tablespace elsewhere");
        expect_served("served after SET TABLESPACE");
        run("drop database app");
        run("alter database copy rename to app");
        expect_served("the copy is served under the old name");
    });
}

/// Stops the load, also when a check has failed.
struct StopAtEnd<'a>(&'a AtomicBool);

impl Drop for StopAtEnd<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn a_command_that_cannot_run_in_a_transaction_block_takes_no_worker_away() {
    let platform = Platform::start();
    wait_for("the workers run", || platform.pids().len() == 3);
    let pids = platform.pids();
    let mut postgres = platform.cluster.connect("postgres").unwrap();
    for command in ["drop database app", "create database copy template app"] {
        let error = postgres.batch_execute(&format!("begin; {command}")).unwrap_err();
        assert_eq!(error.code().map(|code| code.code()), Some("25001"), "{error}");
        postgres.batch_execute("rollback").unwrap();
        assert!(postgres.batch_execute(&format!("select 1; {command}")).is_err());
        assert!(platform.still_run(&pids), "{command}");
    }
}

#[test]
fn a_listed_database_is_served_once_it_exists_and_has_the_extension() {
    let platform = Platform::with(&[("howdah.databases", "app, later")]);
    platform.sql(ROUTES);
    let state = |expected: &str| {
        wait_for(expected, || {
            let query = "select state from http.databases where name = 'later'";
            platform.value(query).as_deref() == Some(expected)
        });
    };
    state("missing");
    let log = platform.log();
    assert!(log.contains("\"later\""), "the log does not name the missing database:\n{log}");
    platform.sql("create database later");
    state("no extension");
    let mut later = platform.cluster.connect("later").unwrap();
    later.batch_execute("create extension howdah").unwrap();
    state("serving");
    let port = howdah_tests::free_port();
    later.batch_execute(&format!("select http.listen({port}, '127.0.0.1')")).unwrap();
    wait_for("the port answers", || Connection::try_open(port).is_some());

    later.batch_execute("drop extension howdah").unwrap();
    wait_for("the port is free", || Connection::try_open(port).is_none());
    state("no extension");
    later.batch_execute("begin; create extension howdah; rollback").unwrap();
    later.batch_execute("create extension howdah").unwrap();
    state("serving");
    later.batch_execute(&format!("select http.listen({port}, '127.0.0.1')")).unwrap();
    wait_for("the port answers again", || Connection::try_open(port).is_some());
    assert_eq!(platform.get("/notes").text(), "0", "the other database");

    platform.set("howdah.databases", "app");
    wait_for("it is served no more", || {
        Connection::try_open(port).is_none() && platform.count("http.databases where name = 'later'") == 0
    });
    assert_eq!(platform.get("/notes").text(), "0", "the other database");
}

#[test]
fn a_prepared_rename_keeps_no_worker_away_once_it_has_ended() {
    let platform = Platform::with(&[("max_prepared_transactions", "5")]);
    platform.sql(ROUTES);
    let prepare = || {
        let mut session = platform.cluster.connect("postgres").unwrap();
        let rename = "begin; alter database app rename to other; prepare transaction 'rename'";
        session.batch_execute(rename).unwrap();
    };
    let end = |statement: &str| {
        platform.cluster.connect("postgres").unwrap().batch_execute(statement).unwrap();
    };
    let is_served = || {
        let reply = Connection::try_open(platform.port)
            .and_then(|mut connection| connection.try_request("POST", "/notes", b""));
        reply.is_some_and(|reply| reply.status == 204)
    };
    prepare();
    end("rollback prepared 'rename'");
    wait_for("served after the rollback", is_served);
    prepare();
    end("commit prepared 'rename'");
    end("alter database other rename to app");
    wait_for("served under its old name", is_served);
    // Whoever waits for the lock of a prepared command can be sent away.
    prepare();
    // They are in no view of sessions yet.
    let waiting = || {
        let locks = "select count(*) from pg_locks where classid = 'pg_database'::regclass and not granted";
        let mut postgres = platform.cluster.connect("postgres").unwrap();
        postgres.query_one(locks, &[]).unwrap().get::<_, i64>(0)
    };
    wait_for("workers wait for the database", || waiting() > 0);
    platform.cluster.reconfigure("howdah.databases", "").unwrap();
    end("select pg_reload_conf()");
    wait_for("no worker waits", || waiting() == 0);
    end("rollback prepared 'rename'");
}

/// The supervisor looks every five seconds by itself.
#[test]
fn what_a_prepared_transaction_has_made_is_looked_at_once_it_is_committed() {
    let settings = [("howdah.databases", "app, later"), ("max_prepared_transactions", "5")];
    let platform = Platform::with(&settings);
    platform.sql("create database later");
    let state = || platform.value("select state from http.databases where name = 'later'");
    wait_for("it has no extension", || state().as_deref() == Some("no extension"));
    let mut later = platform.cluster.connect("later").unwrap();
    thread::scope(|scope| {
        // A look takes less than a client's question does.
        let mut watcher = platform.session();
        let backend: i32 = watcher.query_one("select pg_backend_pid()", &[]).unwrap().get(0);
        let looks = "set statement_timeout = '60s'; do $$ begin
            while (select state from http.databases where name = 'later') <> 'probing' loop null; end loop; end $$";
        let looking = scope.spawn(move || watcher.batch_execute(looks));
        wait_for("somebody watches", || {
            platform.count(&format!("pg_stat_activity where pid = {backend} and state = 'active'")) == 1
        });
        later.batch_execute("begin; create extension howdah; prepare transaction 'extension'").unwrap();
        looking.join().unwrap().expect("it is looked at");
    });
    wait_for("it has been looked at", || state().as_deref() == Some("no extension"));
    let begin = Instant::now();
    platform.cluster.connect("later").unwrap().batch_execute("commit prepared 'extension'").unwrap();
    wait_for("it is served", || state().as_deref() == Some("serving"));
    bounds::PREPARED_EXTENSION.check(begin.elapsed());
}

#[test]
fn a_database_that_gets_the_name_of_another_entry_can_be_drained_and_renamed() {
    let platform = Platform::with(&[("howdah.databases", "app, app2")]);
    platform.sql(ROUTES);
    let run = |database: &str, command: &str| {
        let mut session = platform.cluster.connect(database).unwrap();
        for command in command.split("; ") {
            session.batch_execute(command).unwrap_or_else(|error| panic!("{command}: {error:?}"));
        }
    };
    let is_served = || {
        let connection = Connection::try_open(platform.port);
        let reply = connection.and_then(|mut open| open.try_request("POST", "/notes", b""));
        reply.is_some_and(|reply| reply.status == 204)
    };
    run("postgres", "alter database app rename to app2");
    wait_for("served under the other name", is_served);
    run("app2", "select http.drain('0 s')");
    assert!(!is_served(), "it is served although it is drained");
    let mut app2 = platform.cluster.connect("app2").unwrap();
    let oids = "select string_agg(name || ' ' || (oid is null), ', ' order by name) from http.databases";
    let oids: String = app2.query_one(oids, &[]).unwrap().get(0);
    assert_eq!(oids, "app true, app2 false");
    drop(app2);
    run("app2", "select http.undrain()");
    wait_for("served again", is_served);
    run("postgres", "alter database app2 rename to app3; alter database app3 rename to app");
    wait_for("served under its old name", is_served);

    // Two change their names in one transaction.
    run("postgres", "create database app2 template app");
    wait_for("both are served", || {
        platform.count("http.databases where state = 'serving' and gateways > 0") == 2
    });
    run(
        "postgres",
        "begin; alter database app rename to swap; alter database app2 rename to app; \
         alter database swap rename to app2; commit",
    );
    wait_for("both are served with their new names", || {
        let same = "http.databases h join pg_database d on d.oid = h.oid and d.datname = h.name
                    where state = 'serving' and gateways > 0 and executors > 0";
        platform.count(same) == 2
    });
}

#[test]
fn no_more_databases_are_served_than_there_is_room_for() {
    let platform = Platform::with(&[("howdah.databases", "app, other"), ("howdah.max_databases", "1")]);
    platform.sql(ROUTES);
    let told = "no room for the databases other: howdah.max_databases is 1; set it to 2 or more";
    wait_for(told, || platform.log().contains(told));
    assert_eq!(platform.post("/notes", "text/plain", b"").status, 204);
    assert_eq!(platform.value("select string_agg(name, ' ') from http.databases").as_deref(), Some("app"));
}

#[test]
fn each_database_gets_an_executor_before_another_gateway() {
    let settings =
        [("howdah.databases", "app, app2, app3"), ("howdah.max_workers", "5"), ("howdah.gateways", "8")];
    let platform = Platform::with(&settings);
    platform.sql(ROUTES);
    let run = |command: &str| platform.cluster.connect("postgres").unwrap().batch_execute(command).unwrap();
    assert_eq!(platform.post("/notes", "text/plain", b"").status, 204, "alone");
    run("create database app2 template app");
    run("create database app3 template app");
    // Two have room for a gateway and an executor; the third has none.
    let staff = |platform: &Platform| {
        let staffed = "select string_agg((gateways > 0) || ' ' || (executors > 0), ', ' order by name)
                       from http.databases";
        platform.value(staffed).unwrap()
    };
    let expected = "true true, true true, false false";
    wait_for(expected, || staff(&platform) == expected);
    let log = platform.log();
    assert_eq!(log.matches("set howdah.max_workers to").count(), 1, "{log}");
    assert_eq!(platform.post("/notes", "text/plain", b"").status, 204, "beside another");
    // The gateway that replaces another needs an entry, too.
    platform.sql("select http.replace_gateways()");
    run("drop database app2");
    wait_for("the third is served instead", || staff(&platform) == "true true, false false, true true");
}
