//! Keys: of jobs with the same key one is there at a time. Each cell of the table in docs/jobs.md.

use std::thread;
use std::time::Duration;

use cluster::postgres::Client;
use howdah_tests::platform::{Platform, wait_for};

/// A job that waits for a lock that the test may hold, and fails as often as it is told.
const KIND: &str = "
    create table ran (job bigint, what text);
    create function work(what text default '', gate integer default null, fails integer default 0) returns void
    language plpgsql as $$
    begin
      if gate is not null then
        perform pg_advisory_xact_lock(gate);
      end if;
      if (select attempt from job.current()) <= fails then
        raise exception 'as told';
      end if;
      insert into ran select c.id, work.what from job.current() c;
    end $$;
    grant insert on ran to howdah_web;
    select job.define('work', 'work', attempts => 2, backoff => '1 h')";

fn platform() -> Platform {
    let platform = Platform::start();
    platform.sql(KIND);
    platform
}

/// Enqueues with the key `k`; the id, and whether a job was met.
fn enqueue(session: &mut Client, more: &str) -> (i64, bool) {
    let query = format!("select id, has_met from job.enqueue_with_key('work', 'k', {more})");
    let row = session.query_one(&query, &[]).unwrap();
    (row.get(0), row.get(1))
}

/// How a key is held, as arguments of `job.enqueue_with_key`.
const HOLDS: [&str; 3] = ["holds => 'waiting'", "holds => 'running'", "holds_for => '1 h'"];

#[test]
fn a_second_one_waits_for_the_transaction_of_the_first() {
    for holds in HOLDS {
        for ends in ["commit", "rollback"] {
            let platform = platform();
            platform.sql("select job.pause('work')");
            let mut first = platform.session();
            first.batch_execute("begin").unwrap();
            let (id, has_met) = enqueue(&mut first, holds);
            assert!(!has_met);
            // Again in the same transaction.
            assert_eq!(enqueue(&mut first, holds), (id, true));
            let mut second = platform.session();
            let pid: i32 = second.query_one("select pg_backend_pid()", &[]).unwrap().get(0);
            let waiting = thread::spawn(move || enqueue(&mut second, holds));
            wait_for("the second waits", || {
                platform.count(&format!("pg_stat_activity where pid = {pid} and wait_event_type = 'Lock'"))
                    == 1
            });
            first.batch_execute(ends).unwrap();
            let (second, has_met) = waiting.join().unwrap();
            assert_eq!((second == id, has_met), (ends == "commit", ends == "commit"), "{holds} {ends}");
            assert_eq!(platform.count(&format!("job.find({second})")), 1);
            assert_eq!(
                platform.value("select queue_length::text from queue.metrics('job_1_normal')").unwrap(),
                "1"
            );
        }
    }
}

#[test]
fn a_job_that_waits_is_met_however_it_waits() {
    let platform = platform();
    for (number, more) in ["at => now() + interval '1 h'", "arguments => '{\"fails\": 1}'"].iter().enumerate()
    {
        for holds in HOLDS {
            let mut session = platform.session();
            let key = format!("{holds} {number}").replace('\'', "");
            let ask = |session: &mut Client, more: &str| {
                let query =
                    format!("select id, has_met from job.enqueue_with_key('work', '{key}', {holds}, {more})");
                let row = session.query_one(&query, &[]).unwrap();
                (row.get::<_, i64>(0), row.get::<_, bool>(1))
            };
            let (first, _) = ask(&mut session, more);
            let waits = format!("job.find({first}) where state = 'delayed'");
            wait_for("it waits", || platform.count(&waits) == 1);
            assert_eq!(ask(&mut session, "arguments => '{}'"), (first, true));
        }
    }
}

#[test]
fn a_job_that_runs_is_met_by_who_says_so() {
    for (holds, met) in HOLDS.into_iter().zip([false, true, true]) {
        let platform = platform();
        let mut gate = platform.session();
        gate.batch_execute("select pg_advisory_lock(1)").unwrap();
        let mut session = platform.session();
        let (first, _) = enqueue(&mut session, &format!("arguments => '{{\"gate\": 1}}', {holds}"));
        wait_for("it runs", || platform.count("job.running") == 1);
        let (second, has_met) = enqueue(&mut session, holds);
        assert_eq!((second == first, has_met), (met, met), "{holds}");
        if !met {
            wait_for("the second has run", || platform.count("ran") == 1);
        }
        gate.batch_execute("select pg_advisory_unlock(1)").unwrap();
        wait_for("all have run", || platform.count("ran") == 1 + i64::from(!met));
        // It is done: a key that is held for a time is held.
        let (third, has_met) = enqueue(&mut session, holds);
        assert_eq!((third == first, has_met), (holds == HOLDS[2], holds == HOLDS[2]), "{holds}");
        wait_for("no key is left but one for a time", || {
            platform.count("job.key") == i64::from(holds == HOLDS[2])
        });
    }
}

#[test]
fn a_job_that_fails_while_a_newer_one_has_its_key_runs_beside_it() {
    let platform = platform();
    let mut gate = platform.session();
    gate.batch_execute("select pg_advisory_lock(1)").unwrap();
    let mut session = platform.session();
    platform.sql("select job.define('work', 'work', attempts => 2, backoff => '10 ms')");
    let (first, _) = enqueue(&mut session, "arguments => '{\"gate\": 1, \"fails\": 1, \"what\": \"first\"}'");
    wait_for("it runs", || platform.count("job.running") == 1);
    let (second, has_met) =
        enqueue(&mut session, "arguments => '{\"what\": \"second\"}', at => now() + interval '1 h'");
    assert!(!has_met && second != first);
    gate.batch_execute("select pg_advisory_unlock(1)").unwrap();
    wait_for("the first has run", || platform.count("ran where what = 'first'") == 1);
    assert_eq!(platform.count("job.failures"), 1);
    // The key is the second's.
    assert_eq!(enqueue(&mut session, "arguments => '{}'"), (second, true));
}

#[test]
fn a_dead_job_holds_its_key_for_a_time_alone_and_takes_it_again() {
    for holds in HOLDS {
        let platform = platform();
        platform.sql("select job.define('work', 'work', attempts => 1)");
        let mut session = platform.session();
        let (first, _) = enqueue(&mut session, &format!("arguments => '{{\"fails\": 1}}', {holds}"));
        wait_for("it is dead", || platform.count("job.dead_jobs") == 1);
        let (second, has_met) =
            enqueue(&mut session, &format!("arguments => '{{}}', at => now() + interval '1 h', {holds}"));
        let is_for_a_time = holds == HOLDS[2];
        assert_eq!((second == first, has_met), (is_for_a_time, is_for_a_time), "{holds}");
        let redriven = session.query_one(&format!("select job.redrive({first})"), &[]);
        if is_for_a_time {
            // It was asked for now, whatever the time.
            assert!(redriven.unwrap_or_else(|error| panic!("{error:?}")).get::<_, i64>(0) != first);
        } else {
            let error = redriven.unwrap_err();
            let said = format!("{error:?}");
            assert!(said.contains("another job holds the key"), "{said}");
            assert_eq!(platform.value("select job.redrive('work')::text").unwrap(), "0");
            platform.sql(&format!("select job.cancel({second})"));
            platform.sql(&format!("select job.discard({second}), job.pause('work')"));
            let again: i64 = session.query_one(&format!("select job.redrive({first})"), &[]).unwrap().get(0);
            assert_eq!(enqueue(&mut session, &format!("arguments => '{{}}', {holds}")), (again, true));
        }
    }
}

#[test]
fn the_call_chooses_what_becomes_of_its_arguments() {
    let platform = platform();
    let mut session = platform.session();
    let (first, _) = enqueue(&mut session, "arguments => '{\"what\": \"a\"}', at => '2100-01-01'");
    let shown = |id: i64| {
        platform.value(&format!(
            "select arguments->>'what' || ' ' || extract(year from due_at) from job.find({id})"
        ))
    };
    assert_eq!(enqueue(&mut session, "arguments => '{\"what\": \"b\"}', at => '2200-01-01'"), (first, true));
    assert_eq!(shown(first).unwrap(), "a 2100");
    let (second, has_met) =
        enqueue(&mut session, "arguments => '{\"what\": \"c\"}', at => '2200-01-01', meets => 'replace'");
    assert!(has_met && second != first);
    assert_eq!((shown(first), shown(second).unwrap()), (None, "c 2100".into()));
    let (third, has_met) =
        enqueue(&mut session, "arguments => '{\"what\": \"d\"}', at => '2200-01-01', meets => 'restart'");
    assert!(has_met && third != second);
    assert_eq!((shown(second), shown(third).unwrap()), (None, "d 2200".into()));
    // What is rolled back has changed nothing.
    session.batch_execute("begin").unwrap();
    enqueue(&mut session, "arguments => '{\"what\": \"e\"}', meets => 'restart'");
    session.batch_execute("rollback").unwrap();
    assert_eq!(shown(third).unwrap(), "d 2200");
    assert_eq!(enqueue(&mut session, "arguments => '{}'"), (third, true));
    assert_eq!(platform.count("job.key"), 1);
}

#[test]
fn who_meets_a_job_that_waits_is_seen_by_it() {
    let platform = platform();
    platform.sql(
        "create table told (n int); grant select on told to howdah_web;
        create function listen() returns void language sql as
          'insert into ran select c.id, (select count(*) from told)::text from job.current() c';
        select job.define('work', 'listen')",
    );
    let mut session = platform.session();
    platform.sql("select job.pause('work')");
    let (first, _) = enqueue(&mut session, "arguments => '{}'");
    session.batch_execute("begin; insert into told values (1)").unwrap();
    assert_eq!(enqueue(&mut session, "arguments => '{}'"), (first, true));
    platform.sql("select job.resume('work')");
    thread::sleep(Duration::from_millis(300));
    assert_eq!(platform.count("ran"), 0);
    session.batch_execute("commit").unwrap();
    wait_for("it has run", || platform.count("ran where what = '1'") == 1);
}

#[test]
fn keys_in_another_order_cost_one_deadlock_and_nothing_is_stuck() {
    let platform = platform();
    platform.sql("select job.pause('work')");
    let key = |session: &mut Client, key: &str| {
        session
            .query_one(&format!("select id from job.enqueue_with_key('work', '{key}')"), &[])
            .map(|row| row.get::<_, i64>(0))
    };
    let (mut one, mut other) = (platform.session(), platform.session());
    for session in [&mut one, &mut other] {
        session.batch_execute("set deadlock_timeout = '50 ms'; begin").unwrap();
    }
    key(&mut one, "a").unwrap();
    key(&mut other, "b").unwrap();
    let crossing = thread::spawn(move || {
        let result = key(&mut one, "b");
        one.batch_execute(if result.is_ok() { "commit" } else { "rollback" }).unwrap();
        result.is_ok()
    });
    let second = key(&mut other, "a");
    other.batch_execute(if second.is_ok() { "commit" } else { "rollback" }).unwrap();
    let first = crossing.join().unwrap();
    assert_ne!(first, second.is_ok(), "one of them is ended, the other goes on");
    if let Err(error) = second {
        assert_eq!(error.code().map(|code| code.code()), Some("40P01"), "{error}");
    }
    assert_eq!(platform.count("job.key"), 2);
    platform.sql("select job.resume('work')");
    wait_for("both have run", || platform.count("ran") == 2 && platform.count("job.key") == 0);
}

#[test]
fn keys_that_come_and_go_do_not_fill_their_table() {
    let platform = platform();
    platform.sql("create function idle() returns void language sql as ''; select job.define('none', 'idle', batch => 100)");
    for round in 0..3 {
        platform.sql(&format!(
            "select count(job.enqueue('none', key => '{round} ' || i)) from generate_series(1, 1000) i"
        ));
        wait_for("no key is left", || platform.count("job.key") == 0);
    }
    let vacuumed = "pg_stat_user_tables where relid = 'job.key'::regclass and vacuum_count > 0";
    wait_for("it was vacuumed", || platform.count(vacuumed) == 1);
}

/// Keys whose time is over.
const OVER: usize = if cfg!(feature = "long") { 1_000_000 } else { 50_000 };

#[test]
fn keys_whose_time_is_over_leave_no_row() {
    let platform = Platform::with(&[("howdah.queue_maintenance", "200ms")]);
    platform.sql(KIND);
    // By itself: a job that is there when its kind is paused may have begun.
    platform.sql("select job.pause('work')");
    platform.sql(&format!(
        "select job.enqueue('work', key => 'short', holds_for => '1 ms'), job.enqueue('work', key => 'long', holds_for => '1 h'),
           job.enqueue('work', key => 'waits');
         insert into job.key (kind, key, job, holds, until)
         select k.id, 'over ' || n, n, 'time', now() - interval '1 s' from job.kind k, generate_series(1, {OVER}) n"
    ));
    wait_for("they are gone", || platform.count("job.key") == 2);
    assert_eq!(platform.count("job.key where key in ('long', 'waits')"), 2);
    // The job is there, and whoever comes has the key.
    let another = "job.enqueue_with_key('work', 'short', holds_for => '1 h') where not has_met";
    assert_eq!(platform.count(another), 1);
    platform.sql("select job.resume('work')");
    wait_for("all have run", || platform.count("ran") == 4);
}
