//! Jobs through crashes: each runs exactly once, and what crashes is charged alone.

use std::thread;
use std::time::Duration;

use cluster::postgres::SimpleQueryMessage;
use cluster::{Life, Shutdown};
use howdah_tests::platform::{Platform, wait_for};

/// `work` fails where more than three of its kind run at once; `begun` has when those of `paced` have begun.
const KINDS: &str = "
    create table sent (round integer primary key);
    create table ran (number integer primary key);
    create table begun (at timestamptz not null);
    create function work(number integer) returns void language plpgsql as $$
      declare
        kind integer := hashtext((select c.kind from job.current() c));
      begin
        insert into ran values (work.number);
        perform pg_advisory_xact_lock_shared(7, kind);
        if (select count(*) from pg_locks where locktype = 'advisory' and objid = kind::oid) > 3 then
          raise exception 'more than three run at once';
        end if;
        perform pg_sleep(0.02);
      end $$;
    create function note() returns void language sql as 'insert into begun values (clock_timestamp())';
    -- It ends its own process as a bug in a library would.
    create function crash() returns void language plpgsql as $$
      begin
        execute format('copy (select 1) to program %L', 'kill -9 ' || pg_backend_pid());
        perform pg_sleep(60);
      end $$;
    grant insert on ran, begun to howdah_web;
    select job.define('work', 'work', at_once => 3), job.define('once', 'work', attempts => 1),
      job.define('paced', 'note', per_second => 20),
      job.define('crash', 'crash', role => 'postgres', attempts => 2, backoff => '100 ms')";

/// Kills.
const ROUNDS: usize = if cfg!(feature = "long") { 1000 } else { 10 };

/// Jobs that are enqueued before each kill, of which one has one attempt.
const JOBS: usize = 30;

/// Jobs before each kill whose kind has a rate.
const PACED: usize = 3;

/// Kills between two jobs that end their own process.
const BETWEEN_CRASHES: usize = 100;

/// The first column of the first row; none while the server is down.
fn asked(platform: &Platform, query: &str) -> Option<String> {
    let mut session = platform.cluster.connect("app").ok()?;
    let messages = session.simple_query(query).ok()?;
    messages.iter().find_map(|message| match message {
        SimpleQueryMessage::Row(row) => Some(row.get(0).map(str::to_owned)),
        _ => None,
    })?
}

/// Waits until so many rows are there, however long that takes while there come more.
fn wait_until_there(platform: &Platform, rows: &str, count: usize) {
    let query = format!("select count(*) from {rows}");
    let mut there = 0;
    while there < count {
        let before = there;
        wait_for(rows, || {
            there = asked(platform, &query).and_then(|there| there.parse().ok()).unwrap_or(before);
            there > before || there == count
        });
    }
    assert_eq!(there, count, "{rows}");
}

/// Enqueues the jobs of a round once, however often the server ends meanwhile.
fn enqueue(platform: &Platform, round: usize) {
    let (first, last) = (round * JOBS, (round + 1) * JOBS - 1);
    let crashes = usize::from(round.is_multiple_of(BETWEEN_CRASHES));
    let query = format!(
        "with sent as (insert into sent values ({round}) on conflict do nothing returning round)
         select count(case what
           when 'work' then job.enqueue(case number when {first} then 'once' else 'work' end, jsonb_build_object('number', number))
           else job.enqueue(what) end)
         from sent, (select 'work', generate_series({first}, {last}) union all select 'paced', generate_series(1, {PACED})
           union all select 'crash', generate_series(1, {crashes})) job(what, number)"
    );
    wait_for("jobs are enqueued", || asked(platform, &query).is_some());
}

/// The process of an executor that runs jobs, once there is one.
fn executor(platform: &Platform) -> i32 {
    let mut pid = None;
    wait_for("an executor", || {
        pid = asked(
            platform,
            "select pid::text from http.workers where lane = 'job' and state = 'running' order by random() limit 1",
        );
        pid.is_some()
    });
    pid.and_then(|pid| pid.parse().ok()).expect("a process")
}

/// Ends the server, or one of its processes, in the way of this number.
fn end(platform: &mut Platform, round: usize) {
    match round % 3 {
        0 => {
            let pid = executor(platform);
            // SAFETY: a signal to a process of the server that this test has started.
            unsafe { libc::kill(pid, libc::SIGKILL) };
        }
        1 => platform.cluster.restart(Shutdown::Immediate, Life::WithParent).expect("a restart"),
        _ => {
            platform.cluster.kill().expect("it is gone");
            wait_for("the old server's processes end", || platform.cluster.processes().is_empty());
            platform.cluster.start(Life::WithParent).expect("it starts again");
        }
    }
}

#[test]
fn each_job_runs_once_through_kills_within_its_limits_and_what_crashes_is_charged_alone() {
    let mut platform = Platform::with(&[("howdah.max_job_executors", "4")]);
    platform.sql(KINDS);
    for round in 0..ROUNDS {
        enqueue(&platform, round);
        thread::sleep(Duration::from_millis(200 + 37 * (round as u64 % 7)));
        if round % 10 == 3 {
            // Of what has a rate nothing begins within a second after a crash.
            thread::sleep(Duration::from_millis(1200));
        }
        end(&mut platform, round);
    }
    // Whoever looks after a crash sees how many wait.
    let sent = ROUNDS * PACED;
    let counted = format!(
        "select abs({sent} - waiting - (select count(*) from begun)) < 10 from job.kinds where kind = 'paced' and waiting is not null"
    );
    wait_for("those that wait are counted", || asked(&platform, &counted).as_deref() == Some("t"));
    wait_until_there(&platform, "ran", ROUNDS * JOBS);
    wait_until_there(&platform, "begun", ROUNDS * PACED);
    let crashes = ROUNDS.div_ceil(BETWEEN_CRASHES);
    let crashed = "job.dead_jobs where kind = 'crash' and reason = 'crashed' and sqlstate = '57P02'";
    wait_until_there(&platform, crashed, crashes);
    let innocent = "select message from job.failures where kind <> 'crash' limit 1";
    assert_eq!(platform.value(innocent), None);
    assert_eq!(platform.count("job.dead_jobs"), crashes as i64);
    assert_eq!(platform.count("job.failures where message like '%crashed%'"), 2 * crashes as i64);
    let within =
        "select count(*) from begun other where other.at >= one.at and other.at < one.at + interval '990 ms'";
    let most = platform.value(&format!("select max(({within}))::text from begun one")).unwrap();
    assert!(most.parse::<u32>().unwrap() <= 20, "{most} within a second");
}
