//! Databases that are served come, go and change, and others beside them.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

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
