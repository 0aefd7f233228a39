//! Jobs through crashes: each runs exactly once, and what crashes is charged alone.

use std::thread;
use std::time::Duration;

use cluster::postgres::SimpleQueryMessage;
use cluster::{Life, Shutdown};
use howdah_tests::platform::{Platform, wait_for};

const KINDS: &str = "
    create table ran (number integer primary key);
    create function work(number integer) returns void language plpgsql as $$
      begin
        insert into ran values (work.number);
        perform pg_sleep(0.02);
      end $$;
    -- It ends its own process as a bug in a library would.
    create function crash() returns void language plpgsql as $$
      begin
        execute format('copy (select 1) to program %L', 'kill -9 ' || pg_backend_pid());
        perform pg_sleep(60);
      end $$;
    grant insert on ran to howdah_web;
    select job.define('work', 'work'), job.define('once', 'work', attempts => 1),
      job.define('crash', 'crash', role => 'postgres', attempts => 2, backoff => '100 ms')";

/// Jobs that run through the kills.
const JOBS: i64 = 500;

/// The first column of the first row; none while the server is down.
fn asked(platform: &Platform, query: &str) -> Option<String> {
    let mut session = platform.cluster.connect("app").ok()?;
    let messages = session.simple_query(query).ok()?;
    messages.iter().find_map(|message| match message {
        SimpleQueryMessage::Row(row) => Some(row.get(0).map(str::to_owned)),
        _ => None,
    })?
}

/// Whether so many rows are there, once the server is up.
fn are_there(platform: &Platform, rows: &str, count: i64) -> bool {
    asked(platform, &format!("select count(*) from {rows}")) == Some(count.to_string())
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

/// Kills so often while jobs run.
pub(crate) fn survive(rounds: usize) {
    let mut platform = Platform::with(&[("howdah.max_job_executors", "4")]);
    platform.sql(KINDS);
    platform.sql(&format!(
        "select job.enqueue('work', jsonb_build_object('number', i)) from generate_series(9, {JOBS}) i;
         select job.enqueue('once', jsonb_build_object('number', i)) from generate_series(1, 8) i;
         select job.enqueue('crash')"
    ));
    for round in 0..rounds {
        thread::sleep(Duration::from_millis(300 + 37 * (round as u64 % 7)));
        end(&mut platform, round);
    }
    wait_for("all have run", || are_there(&platform, "ran", JOBS));
    let crashed = "job.dead_jobs where kind = 'crash' and reason = 'crashed' and sqlstate = '57P02'";
    wait_for("what crashes is dead", || are_there(&platform, crashed, 1));
    assert_eq!(platform.count("job.dead_jobs"), 1);
    assert_eq!(platform.count("job.failures where kind <> 'crash'"), 0);
    assert_eq!(platform.count("job.failures where message like '%crashed%'"), 2);
}

#[test]
fn each_job_runs_once_through_kills_and_what_crashes_is_charged_alone() {
    survive(10);
}
