//! Where commits wait for standbys, nobody is told of a commit that none has, whatever has ended the wait.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown as Half, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::time::Duration;

use cluster::{Life, Shutdown};
use howdah_tests::queues::BIP;
use howdah_tests::shippers::bips;
use howdah_tests::standbys::standby_of;
use howdah_tests::{Connection, DATABASE, Platform, Reply, free_port, wait_for};

const ROUTES: &str = "
    create table note (id integer primary key); grant select, insert on note to howdah_web;
    create function add(id integer) returns integer language sql begin atomic insert into note values (id) returning id; end;
    create function count_notes() returns bigint language sql stable begin atomic select count(*) from note; end;
    create function enqueue(id integer) returns bigint language sql as $$ select job.enqueue('add', jsonb_build_object('id', id)) $$;
    select http.route('POST', '/notes/{id}', 'add'), http.route('GET', '/notes', 'count_notes'), http.route('POST', '/jobs/{id}', 'enqueue');
    create unlogged table passing (id integer); grant select, insert on passing to howdah_web;
    create function pass(id integer) returns integer language sql begin atomic insert into passing values (id) returning id; end;
    create function number() returns text language sql stable return pg_current_xact_id();
    select http.route('POST', '/passing/{id}', 'pass'), http.route('GET', '/number', 'number');
    select job.define('add', 'add', timeout => '1 s'), job.pause('add');
    select job.grant('add', 'enqueue', 'howdah_web');
    select queue.create('bips', row_type => 't_bip'), queue.serve();
    select queue.grant('bips', 'send', 'howdah_web'), queue.grant('bips', 'take', 'howdah_web');";

/// Processes of ours that wait for a standby.
const WAITING: &str = "pg_stat_activity where wait_event = 'SyncRep' and backend_type like 'howdah%'";

fn platform(timeout: &str) -> Platform {
    let platform = Platform::with(&[("howdah.request_timeout", timeout), ("howdah.min_executors", "6")]);
    platform.sql(&format!("{BIP}; {ROUTES}"));
    wait_for("the routes", || platform.get("/notes").status == 200);
    platform
}

/// Has commits wait for a standby that there is not.
fn ask_for_nobody(platform: &Platform) {
    platform.sql("create table probe (number integer)");
    platform.set("synchronous_standby_names", "nobody");
    // One that waits shows that the setting is in force.
    let mut session = platform.session();
    let pid: i32 = session.query_one("select pg_backend_pid()", &[]).unwrap().get(0);
    let (has_waited, is_over) = (AtomicBool::new(false), AtomicBool::new(false));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let waiting = format!("pg_stat_activity where pid = {pid} and wait_event = 'SyncRep'");
            while !is_over.load(SeqCst) {
                if platform.count(&waiting) == 1 {
                    has_waited.store(true, SeqCst);
                    platform.value(&format!("select pg_cancel_backend({pid})"));
                }
            }
        });
        while !has_waited.load(SeqCst) {
            // A cancel that comes late meets the next.
            let _ = session.batch_execute("insert into probe values (1)");
        }
        is_over.store(true, SeqCst);
    });
}

fn expect_unconfirmed(reply: &Reply, context: &str) {
    assert_eq!(reply.status, 504, "{context}: {}", reply.text());
    let problem = reply.json();
    assert_eq!(problem["type"], "urn:howdah:unconfirmed", "{context}");
    assert_eq!(problem["sqlstate"], "08007", "{context}");
}

/// Requests that write something, and a way in which they find something to do.
const WRITES: [(&str, &str); 5] = [
    ("/notes/1", ""),
    ("/jobs/2", ""),
    ("/queues/bips", "{\"userid\": 1}\n{\"userid\": 2}\n"),
    ("/queues/bips/read", "qty=1"),
    ("/queues/bips/take", "qty=1"),
];

fn send(platform: &Platform, path: &str, body: &str) -> Connection {
    let mut connection = platform.connect();
    let kind =
        if body.starts_with('{') { "application/x-ndjson" } else { "application/x-www-form-urlencoded" };
    connection.send("POST", path, &[("content-type", kind)], body.as_bytes());
    connection
}

#[test]
fn a_write_whose_wait_for_a_standby_has_ended_is_not_answered_as_if_one_had_it() {
    let platform = platform("1s");
    platform.sql(
        "select queue.put('bips', array(select row(null, 9, null, null, null, null)::t_bip from generate_series(1, 50)))",
    );
    ask_for_nobody(&platform);
    let mut sent: Vec<_> = WRITES.iter().map(|(path, body)| send(&platform, path, body)).collect();
    for ((path, _), connection) in WRITES.iter().zip(&mut sent) {
        expect_unconfirmed(&connection.read_reply(false).expect("an answer"), path);
    }
    // What only reads waits for nobody, and sees what is there; nor does what no standby would get.
    assert_eq!(platform.get("/notes").text(), "1");
    assert_eq!(platform.get("/number").status, 200);
    assert_eq!(platform.post("/passing/1", "text/plain", b"").text(), "1");
    // A cancel, the end of the process.
    platform.set("howdah.request_timeout", "60s");
    for (number, end) in ["pg_cancel_backend", "pg_terminate_backend"].into_iter().enumerate() {
        for (path, body) in WRITES {
            let path = path.replace("/1", &format!("/1{number}"));
            let mut connection = send(&platform, &path, body);
            wait_for("the commit waits", || platform.count(WAITING) > 0);
            platform.value(&format!("select {end}(pid) from {WAITING}"));
            let reply = connection.read_reply(false).expect("an answer");
            expect_unconfirmed(&reply, &format!("{path} after {end}"));
        }
    }
    // Who has left is told nothing, and the process goes on.
    let leaving = send(&platform, "/notes/20", "");
    wait_for("the commit waits", || platform.count(WAITING) > 0);
    drop(leaving);
    wait_for("it is cancelled", || platform.count("note where id = 20") == 1);
    // Once no standby is asked for, the commits that wait are as safe as they are to be.
    let mut waiting = send(&platform, "/notes/21", "");
    wait_for("the commit waits", || platform.count(WAITING) > 0);
    platform.set("synchronous_standby_names", "");
    assert_eq!(waiting.read_reply(false).expect("an answer").text(), "21");
    assert_eq!(platform.post("/notes/22", "text/plain", b"").text(), "22");
}

#[test]
fn a_job_is_not_done_before_a_standby_has_it() {
    let platform = platform("30s");
    ask_for_nobody(&platform);
    let id = platform.value(
        "set synchronous_commit = local; select job.resume('add'); select job.enqueue('add', '{\"id\": 1}')",
    );
    let id = id.expect("an id");
    wait_for("its commit waits", || platform.count(WAITING) > 0);
    // Neither a cancel of the process, nor of the job, nor its timeout ends that.
    platform.value(&format!("select pg_cancel_backend(pid) from {WAITING}"));
    let begun = platform.value(&format!("select state_change::text from {WAITING}"));
    wait_for("its timeout is over", || {
        platform.count(&format!(
            "{WAITING} and clock_timestamp() > '{}'::timestamptz + '1500 ms'",
            begun.as_deref().unwrap()
        )) == 1
    });
    assert_eq!((platform.count(WAITING), platform.count("note")), (1, 0), "job {id}");
    platform.set("synchronous_standby_names", "");
    wait_for("it is done", || platform.count("note where id = 1") == 1);
    assert_eq!(platform.count("job.dead_jobs") + platform.count("job.failures"), 0);
}

/// Whether a connection ends as one does whose lines are safe.
fn ends_well(mut stream: TcpStream) -> bool {
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    match stream.read(&mut [0; 64]) {
        Ok(0) => true,
        Err(error) if error.kind() == ErrorKind::ConnectionReset => false,
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_end_of_a_plain_connection_says_whether_a_standby_has_its_lines() {
    let platform = platform("30s");
    let port = free_port();
    platform.sql(&format!("select queue.listen({port}, queue => 'bips', address => '127.0.0.1')"));
    let pour = |first: i64| {
        let mut stream = TcpStream::connect(("127.0.0.1", port)).expect("a connection");
        stream.write_all(&bips(first, first + 9)).unwrap();
        stream.shutdown(Half::Write).unwrap();
        stream
    };
    wait_for("the port takes lines", || TcpStream::connect(("127.0.0.1", port)).is_ok());
    assert!(ends_well(pour(1)));
    ask_for_nobody(&platform);
    for end in ["pg_cancel_backend", "pg_terminate_backend"] {
        let stream = pour(100);
        wait_for("the commit waits", || platform.count(WAITING) > 0);
        platform.value(&format!("select {end}(pid) from {WAITING}"));
        assert!(!ends_well(stream), "after {end}");
    }
    let stream = pour(200);
    wait_for("the commit waits", || platform.count(WAITING) > 0);
    platform.set("synchronous_standby_names", "");
    assert!(ends_well(stream));
}

#[test]
fn what_was_answered_with_success_is_there_after_a_failover() {
    let mut platform = platform("1s");
    let mut standby = standby_of(&platform);
    platform.set("synchronous_standby_names", "*");
    wait_for("it is synchronous", || platform.count("pg_stat_replication where sync_state = 'sync'") == 1);
    let mut answered = Vec::new();
    let mut add = |platform: &Platform, id: i32| -> u16 {
        let reply = platform.post(&format!("/notes/{id}"), "text/plain", b"");
        if reply.status < 300 {
            answered.push(id);
        }
        reply.status
    };
    assert_eq!(add(&platform, 1), 200);
    standby.stop(Shutdown::Immediate).unwrap();
    wait_for("it is gone", || platform.count("pg_stat_replication") == 0);
    for id in 2..5 {
        assert_eq!(add(&platform, id), 504, "{id}");
    }
    // It comes back while a commit waits.
    platform.set("howdah.request_timeout", "60s");
    let mut waiting = send(&platform, "/notes/5", "");
    wait_for("the commit waits", || platform.count(WAITING) > 0);
    standby.start(Life::WithParent).unwrap();
    assert_eq!(waiting.read_reply(false).expect("an answer").status, 200);
    assert_eq!(add(&platform, 6), 200);
    answered.push(5);
    // It is gone again, and so is the primary, by a fast shutdown.
    standby.stop(Shutdown::Immediate).unwrap();
    wait_for("it is gone", || platform.count("pg_stat_replication") == 0);
    let mut last: Vec<_> = (7..12).map(|id| (id, send(&platform, &format!("/notes/{id}"), ""))).collect();
    wait_for("the commits wait", || platform.count(WAITING) > 1);
    platform.cluster.stop(Shutdown::Fast).unwrap();
    for (id, connection) in &mut last {
        if connection.read_reply(false).is_some_and(|reply| reply.status < 300) {
            answered.push(*id);
        }
    }
    standby.start(Life::WithParent).unwrap();
    standby.execute("postgres", "select pg_promote()").unwrap();
    let mut session = standby.connect(DATABASE).unwrap();
    for id in answered {
        let row = session.query_opt("select 1 from note where id = $1", &[&id]).unwrap();
        assert!(row.is_some(), "{id} was answered with success");
    }
}
