//! Jobs while what they stand on changes: functions and roles under new names, processes that end, the platform that leaves.

use std::thread;
use std::time::Duration;

use cluster::{Life, Shutdown};
use howdah_tests::platform::{Platform, wait_for};

const KINDS: &str = "
    create table ran (number integer, attempt integer);
    grant insert, select on ran to public;
    create function run(number integer) returns void language sql as
      'insert into ran select $1, c.attempt from job.current() c';
    select job.define('run', 'run', attempts => 1);";

fn enqueue(platform: &Platform, kind: &str, number: usize) {
    platform.sql(&format!("select job.enqueue('{kind}', '{{\"number\": {number}}}')"));
}

fn has_run(platform: &Platform, number: usize) -> bool {
    platform.count(&format!("ran where number = {number}")) == 1
}

#[test]
fn functions_and_roles_are_followed_under_their_new_names() {
    let platform = Platform::with(&[]);
    platform.sql(KINDS);
    platform.sql(
        "create role author; create role runner; grant howdah_admin to author; grant runner to author;
         create schema elsewhere; grant create, usage on schema public, elsewhere to author, runner;
         create type amount as (value integer);
         alter function run(integer) owner to author;
         create function typed(number integer, amount amount default null) returns void language sql as
           'insert into ran values ($1, 0)';
         alter function typed(integer, amount) owner to author;
         set role author;
         select job.define('run', 'run', attempts => 1, role => 'runner'), job.define('typed', 'typed', attempts => 1)",
    );
    let changes = [
        "alter function run(integer) rename to walk",
        "alter function walk(integer) set schema elsewhere",
        "alter role author rename to writer",
        "alter role runner rename to worker",
        "alter schema elsewhere rename to there",
        "alter type amount rename to sum_of_money",
        "begin; alter function there.walk(integer) rename to hop; alter role writer rename to poet; commit",
    ];
    let mut number = 0;
    let mut run_both = |platform: &Platform, change: &str| {
        for kind in ["run", "typed"] {
            number += 1;
            enqueue(platform, kind, number);
            wait_for(&format!("{kind} after {change}"), || has_run(platform, number));
        }
    };
    run_both(&platform, "nothing");
    for change in changes {
        platform.sql(change);
        run_both(&platform, change);
        assert_eq!(platform.count("job.failures"), 0, "{change}");
    }
    assert_eq!(platform.count("job.kinds where kind = 'run' and function = 'there.hop(integer)'"), 1);
    // Nobody was there who knew the old name.
    platform.set("howdah.databases", "");
    wait_for("none is left", || platform.workers("executor").is_empty());
    // Another's function has the old name meanwhile.
    platform.sql(
        "alter function there.hop(integer) rename to skip;
         create role mallory;
         create function there.hop(number integer) returns void language sql as 'select 1';
         alter function there.hop(integer) owner to mallory",
    );
    platform.set("howdah.databases", "app");
    run_both(&platform, "a pause");
    platform.sql("drop function there.skip(integer)");
    enqueue(&platform, "run", 100);
    wait_for("it has stopped", || {
        platform.count("job.kinds where kind = 'run' and stopped like '%there.skip(integer)%'") == 1
    });
    enqueue(&platform, "typed", 101);
    wait_for("the other goes on", || has_run(&platform, 101));
    assert_eq!(platform.count("job.failures"), 0);
}

#[test]
fn a_job_whose_process_is_terminated_is_not_charged_and_comes_again_later() {
    let platform = Platform::with(&[]);
    platform.sql(KINDS);
    platform.sql(
        "create sequence tries; grant usage on sequence tries to howdah_web;
         create function leave(number integer) returns void language plpgsql as $$
         begin
           if nextval('tries') < 3 then perform pg_terminate_backend(pg_backend_pid()); end if;
           insert into ran select leave.number, c.attempt from job.current() c;
         end $$;
         select job.define('leave', 'leave', attempts => 1, role => 'postgres')",
    );
    enqueue(&platform, "leave", 1);
    enqueue(&platform, "run", 2);
    wait_for("the other", || has_run(&platform, 2));
    wait_for("it runs at last", || platform.count("ran where number = 1 and attempt = 1") == 1);
    assert_eq!(platform.count("job.failures"), 0);
    assert_eq!(platform.value("select last_value::text from tries").as_deref(), Some("3"));
}

/// A function that no cancel ends, for so many seconds: it catches each.
const STUBBORN: &str = "
    create function stubborn(number integer, seconds float) returns void language plpgsql as $$
    declare
      upto constant timestamptz := clock_timestamp() + make_interval(secs => seconds);
    begin
      insert into ran values (stubborn.number, 0);
      while clock_timestamp() < upto loop
        begin
          perform pg_sleep(60);
        exception when query_canceled then null;
        end;
      end loop;
    end $$;";

#[test]
fn a_function_that_goes_on_after_its_timeout_loses_its_process_and_nothing_else() {
    let platform = Platform::with(&[]);
    platform.sql(KINDS);
    platform.sql(STUBBORN);
    platform.sql("select job.define('stubborn', 'stubborn', attempts => 1, timeout => '100 ms')");
    platform.sql("select job.enqueue('stubborn', '{\"number\": 1, \"seconds\": 600}')");
    wait_for("it runs", || platform.count("job.running where kind = 'stubborn'") == 1);
    let began = platform.began();
    enqueue(&platform, "run", 2);
    wait_for("the other", || has_run(&platform, 2));
    wait_for("it is dead", || {
        platform.count("job.dead_jobs where kind = 'stubborn' and sqlstate = '57014'") == 1
    });
    assert_eq!(platform.count("ran where number = 1"), 0);
    assert_eq!(platform.began(), began, "the server has gone on");
    enqueue(&platform, "run", 3);
    wait_for("another", || has_run(&platform, 3));
}

#[test]
fn a_shutdown_waits_for_a_job_then_gives_it_back_uncharged() {
    let mut platform = Platform::with(&[("howdah.drain_timeout", "2s")]);
    platform.sql(KINDS);
    platform.sql(
        "create function slow(number integer, seconds float) returns void language plpgsql as $$
         begin perform pg_sleep(seconds); insert into ran select slow.number, c.attempt from job.current() c; end $$;
         select job.define('slow', 'slow', attempts => 1, timeout => null)",
    );
    let slow = |number: i32, seconds: f64| {
        format!("select job.enqueue('slow', '{{\"number\": {number}, \"seconds\": {seconds}}}')")
    };
    let count = |platform: &Platform, number: i32| {
        platform.count(&format!("ran where number = {number} and attempt = 1"))
    };
    for (number, seconds, is_waited_for) in [(1, 0.7, true), (2, 4.0, false)] {
        platform.sql(&slow(number, seconds));
        wait_for("it runs", || platform.count("job.running") == 1);
        // Executors are asked to leave, as when the database is not served any more.
        platform.set("howdah.databases", "");
        wait_for("they have left", || platform.workers("executor").is_empty());
        assert_eq!(count(&platform, number) == 1, is_waited_for, "{number}");
        platform.set("howdah.databases", "app");
        wait_for("it has run once", || count(&platform, number) == 1);
    }
    platform.sql(&slow(3, 1.0));
    wait_for("it runs", || platform.count("job.running") == 1);
    platform.cluster.restart(Shutdown::Fast, Life::WithParent).expect("a restart");
    wait_for("it has run once", || count(&platform, 3) == 1);
    assert_eq!(platform.count("job.failures"), 0);
}

#[test]
fn a_job_whose_commit_is_delayed_is_not_missed() {
    let platform = Platform::with(&[("max_prepared_transactions", "10"), ("howdah.max_job_executors", "2")]);
    platform.sql(KINDS);
    let mut open: Vec<_> = (0..8).map(|_| platform.session()).collect();
    for (number, session) in open.iter_mut().enumerate() {
        session
            .batch_execute(&format!("begin; select job.enqueue('run', '{{\"number\": {number}}}')"))
            .unwrap();
        // Others come and go meanwhile, and executors with them.
        enqueue(&platform, "run", 100 + number);
        wait_for("the other", || has_run(&platform, 100 + number));
    }
    assert_eq!(platform.count("ran where number < 100"), 0, "none begins before its commit");
    for (number, session) in open.iter_mut().enumerate().rev() {
        let name = format!("late {number}");
        match number % 2 {
            0 => session.batch_execute("commit").unwrap(),
            _ => {
                session.batch_execute(&format!("prepare transaction '{name}'")).unwrap();
                std::thread::sleep(Duration::from_millis(50));
                assert!(!has_run(&platform, number), "it begins before its commit");
                platform.sql(&format!("commit prepared '{name}'"));
            }
        }
        wait_for(&format!("the late one {number}"), || has_run(&platform, number));
    }
    assert_eq!(platform.count("job.failures"), 0);
}

#[test]
fn attempts_and_backoff_are_as_told_however_jobs_fail() {
    let platform = Platform::with(&[]);
    platform.sql(
        "create table tries (number integer, attempt integer, began timestamptz);
         grant insert on tries to howdah_web;
         create function chance(number integer) returns void language plpgsql as $$
         begin
           -- Attempts are counted where a rollback does not reach: by the log of failures, and by those that succeed.
           if random() < 0.6 then
             case (random() * 4)::integer
               when 0 then raise exception 'no';
               when 1 then perform 1 / 0;
               when 2 then perform job.retry('20 ms');
               when 3 then
                 perform pg_sleep(10);
                 raise exception 'it had no timeout';
               else perform set_config('role', 'nobody', false);
             end case;
           end if;
           insert into tries select chance.number, c.attempt, clock_timestamp() from job.current() c;
         end $$;
         select job.define('chance', 'chance', attempts => 4, backoff => '20 ms', longest_backoff => '50 ms', timeout => '30 ms');
         select job.define('several', 'chance', attempts => 4, backoff => '20 ms', longest_backoff => '50 ms', timeout => '30 ms', batch => 8);
         select job.enqueue(kind, jsonb_build_object('number', i)) from unnest('{chance,several}'::text[]) kind, generate_series(1, 150) i",
    );
    wait_for("all have ended", || platform.count("tries") + platform.count("job.dead_jobs") == 300);
    assert_eq!(platform.count("job.dead_jobs where attempts <> 4"), 0);
    assert_eq!(platform.count("job.failures where attempt > 4 or message like '%it had no timeout%'"), 0);
    assert_eq!(platform.count("job.kinds where mean_wait_ms > 0"), 2);
    // Each attempt of a dead job is there, one after the other, with the pause that was told, up to a quarter less by chance. It
    // counts from some moment after the attempt's begin.
    let pauses =
        "(select job, attempt, began_at - lag(began_at) over (partition by job order by attempt) as pause,
        row_number() over (partition by job order by attempt) as place, sqlstate from job.failures) f";
    assert_eq!(platform.count(&format!("{pauses} where attempt <> place")), 0);
    let least = "interval '15 ms'";
    assert_eq!(platform.count(&format!("{pauses} where attempt > 1 and pause < {least}")), 0);
    assert_eq!(
        platform.count("job.dead_jobs d where (select count(*) from job.failures f where f.job = d.id) <> 4"),
        0
    );
    // Who has succeeded has failed so often before.
    assert_eq!(
        platform.count("(select sum(attempt - 1) as failed from tries) t where failed <> (select count(*) from job.failures where job not in (select id from job.dead_jobs))"),
        0
    );
}

/// Has an executor look for a job, which it cannot take yet; its kind changes meanwhile.
fn change_while_a_job_is_taken(batch: usize, change: &str) -> Platform {
    let platform = Platform::start();
    platform.sql(KINDS);
    platform.sql(&format!("select job.define('run', 'run', batch => {batch}), job.pause('run')"));
    platform.sql(
        "create function other(number integer) returns void language sql as 'insert into ran values ($1 + 100, 0)'",
    );
    enqueue(&platform, "run", 1);
    let queue = platform.value("select queue from job.kind_queue").unwrap();
    let mut holder = platform.session();
    let tables: Vec<_> = (1..=3).map(|segment| format!("queue.rows_{queue}_{segment}")).collect();
    holder
        .batch_execute(&format!("begin; lock table {} in access exclusive mode", tables.join(", ")))
        .unwrap();
    platform.sql("select job.resume('run')");
    wait_for("an executor is about to take it", || {
        platform.count(&format!("pg_locks where not granted and relation = '{}'::regclass", tables[0])) > 0
    });
    platform.sql(change);
    holder.batch_execute("rollback").unwrap();
    platform
}

#[test]
fn a_job_that_is_taken_while_its_kind_changes_runs_by_what_the_kind_is_then() {
    for batch in [1, 10] {
        let change = format!("select job.define('run', 'other', batch => {batch})");
        let platform = change_while_a_job_is_taken(batch, &change);
        wait_for("it has run", || platform.count("ran") == 1);
        assert_eq!(platform.value("select number from ran").unwrap(), "101", "batches of {batch}");
        let platform = change_while_a_job_is_taken(batch, "select job.pause('run')");
        enqueue(&platform, "run", 2);
        platform.sql("select job.define('next', 'other')");
        enqueue(&platform, "next", 3);
        wait_for("a later job has run", || platform.count("ran") > 0);
        assert_eq!(platform.value("select string_agg(number::text, ' ') from ran").unwrap(), "103");
    }
}

#[test]
fn the_first_job_of_a_priority_keeps_nobody_from_changing_the_kind() {
    let platform = Platform::start();
    platform.sql(
        "create function work() returns void language sql as '';
         select job.define('work', 'work'), job.grant('work', 'enqueue', 'howdah_web');
         create role sender; grant howdah_web to sender",
    );
    let mut sender = platform.session();
    sender.batch_execute("set role sender; begin; select job.enqueue('work', priority => 'high')").unwrap();
    platform.sql(
        "set lock_timeout = '5s';
         select job.pause('work');
         select job.define('work', 'work', attempts => 3);
         select job.grant('work', 'cancel', 'howdah_web');
         select job.resume('work')",
    );
    // Who needs that queue as well waits for it, and both use one; nor is anything left of who is rolled back.
    for end in ["rollback", "commit"] {
        let mut other = platform.session();
        let enqueues = thread::spawn(move || {
            other.batch_execute(
                "select job.enqueue('work', priority => 'high'), job.enqueue('work', priority => 'low')",
            )
        });
        wait_for("the other waits", || {
            platform
                .count("pg_stat_activity where wait_event_type = 'Lock' and query like 'select job.enqueue%'")
                == 1
        });
        sender.batch_execute(end).unwrap();
        enqueues.join().unwrap().unwrap();
        assert_eq!(platform.count("job.kind_queue where queue > 0"), 3);
        wait_for("all have run", || platform.count("job.kinds where waiting + running > 0") == 0);
        platform.sql("select job.undefine('work'); select job.define('work', 'work')");
        sender.batch_execute("reset role; begin; select job.enqueue('work', priority => 'high')").unwrap();
    }
    sender.batch_execute("rollback").unwrap();
    assert_eq!(platform.count("job.kind_queue"), 1);
}

#[test]
fn a_kind_is_not_removed_beside_the_first_job_of_a_priority_and_no_job_is_enqueued_beside_its_removal() {
    let platform = Platform::start();
    platform.sql("create function work() returns void language sql as ''");
    for isolation in ["read committed", "repeatable read"] {
        platform.sql("select job.define('work', 'work')");
        platform.sql("select job.pause('work')");
        let mut sender = platform.session();
        sender.batch_execute("begin; select job.enqueue('work', priority => 'high')").unwrap();
        let mut remover = platform.session();
        let begin = format!("begin isolation level {isolation}; select 1; select job.undefine('work')");
        let removes = thread::spawn(move || {
            remover.batch_execute(&begin).map_err(|error| error.code().unwrap().code().to_owned())
        });
        wait_for("it waits", || platform.count("pg_locks where not granted") == 1);
        sender.batch_execute("commit").unwrap();
        assert_eq!(removes.join().unwrap(), Err("2BP01".into()), "{isolation}");
        assert_eq!(platform.count("job.kinds where kind = 'work' and waiting = 1"), 1);
        platform.sql("select job.undefine('work', true); select job.define('work', 'work')");
        // The other way around.
        let mut remover = platform.session();
        remover.batch_execute("begin; select job.undefine('work', true)").unwrap();
        let mut sender = platform.session();
        let begin = format!(
            "begin isolation level {isolation}; select 1; select job.enqueue('work', priority => 'low')"
        );
        let sends = thread::spawn(move || {
            sender.batch_execute(&begin).map_err(|error| error.code().unwrap().code().to_owned())
        });
        wait_for("it waits", || platform.count("pg_locks where not granted") == 1);
        remover.batch_execute("commit").unwrap();
        let refused = sends.join().unwrap().unwrap_err();
        assert!(["42704", "40001"].contains(&&*refused), "{isolation}: {refused}");
        assert_eq!(
            (platform.count("job.kind_queue"), platform.count("queue.queue where name like 'job%'")),
            (0, 0)
        );
    }
}
