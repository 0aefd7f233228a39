//! Jobs: enqueued in a transaction, run exactly once.

use howdah_tests::platform::{Platform, wait_for};

/// A platform with a table that jobs write to, and a kind of jobs that do.
fn platform() -> Platform {
    let platform = Platform::with(&[]);
    platform.sql(
        "create table ran (number integer, attempt integer, by text default current_user);
         create function run(number integer, fails integer default 0) returns void language plpgsql as $$
         begin
           insert into ran select run.number, c.attempt from job.current() c;
           if (select c.attempt from job.current() c) <= fails then
             raise exception 'attempt % of % fails', (select c.attempt from job.current() c), number;
           end if;
         end $$;
         grant insert, select on ran to howdah_web;
         select job.define('run', 'run', attempts => 3, backoff => '10 ms');",
    );
    platform
}

#[test]
fn a_job_runs_once_after_the_commit_that_enqueues_it() {
    let platform = platform();
    let mut session = platform.session();
    session.batch_execute("begin; select job.enqueue('run', '{\"number\": 1}')").unwrap();
    platform.sql("select job.enqueue('run', '{\"number\": 2}')");
    wait_for("the other job", || platform.count("ran where number = 2 and by = 'howdah_web'") == 1);
    assert_eq!(platform.count("ran where number = 1"), 0);
    session.batch_execute("commit").unwrap();
    wait_for("the job", || platform.count("ran where number = 1 and attempt = 1") == 1);
    session.batch_execute("begin; select job.enqueue('run', '{\"number\": 3}'); rollback").unwrap();
    platform.sql("select job.enqueue('run', '{\"number\": 4}', at => now() + interval '200 ms')");
    wait_for("the delayed job", || platform.count("ran where number = 4") == 1);
    assert_eq!(platform.count("ran"), 3);
}

#[test]
fn a_job_that_fails_is_undone_and_comes_again_until_its_last_attempt() {
    let platform = platform();
    platform.sql("select job.enqueue('run', '{\"number\": 1, \"fails\": 2}')");
    wait_for("the third attempt", || platform.count("ran where number = 1 and attempt = 3") == 1);
    assert_eq!(platform.count("ran"), 1);
    assert_eq!(platform.count("job.failures where sqlstate = 'P0001' and message like 'attempt % of 1 fails'"), 2);
    platform.sql("select job.enqueue('run', '{\"number\": 2, \"fails\": 9}')");
    wait_for("it is dead", || platform.count("job.dead_jobs where attempts = 3 and reason = 'failed'") == 1);
    assert_eq!(platform.count("ran"), 1);
    assert_eq!(platform.count("job.failures"), 5);
    assert_eq!(
        platform.value("select arguments->>'number' || ' ' || message from job.dead_jobs").unwrap(),
        "2 attempt 3 of 2 fails"
    );
}
