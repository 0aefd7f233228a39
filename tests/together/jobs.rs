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

const SLEEP: &str = "
    create function sleep(seconds float, catches boolean default false) returns void language plpgsql as $$
    begin
      perform job.progress(0.4, 'asleep');
      begin
        perform pg_sleep(seconds);
      exception when query_canceled then
        if not catches then raise; end if;
      end;
      insert into ran values (99, 0);
    end $$;
    select job.define('sleep', 'sleep', attempts => 2, backoff => '10 ms', timeout => '300 ms'),
      job.define('long', 'sleep', attempts => 2);";

#[test]
fn what_takes_too_long_is_cancelled_and_undone_also_if_it_catches_that() {
    let platform = platform();
    platform.sql(SLEEP);
    for catches in [false, true] {
        platform.sql(&format!("select job.enqueue('sleep', '{{\"seconds\": 3, \"catches\": {catches}}}')"));
        wait_for("it is dead", || platform.count("job.dead_jobs where sqlstate = '57014'") == 1);
        platform.sql("select job.discard('sleep')");
    }
    assert_eq!(platform.count("ran"), 0);
}

#[test]
fn cancel_meets_the_job_that_it_names_whether_it_waits_or_runs() {
    let platform = platform();
    platform.sql(SLEEP);
    let enqueue = |at: &str| {
        let query = format!("select job.enqueue('long', '{{\"seconds\": 60}}', at => {at})::text");
        platform.value(&query).unwrap()
    };
    let running = enqueue("null");
    wait_for("it runs", || platform.count("job.running where progress = 0.4 and remark = 'asleep'") == 1);
    assert_eq!(platform.value(&format!("select state from job.find({running})")).unwrap(), "running");
    let later = enqueue("now() + interval '1 h'");
    assert_eq!(platform.value(&format!("select state from job.find({later})")).unwrap(), "delayed");
    for id in [&running, &later] {
        assert_eq!(platform.value(&format!("select job.cancel({id})::text")).unwrap(), "true");
    }
    wait_for("both are dead", || platform.count("job.dead_jobs where reason = 'cancelled'") == 2);
    assert_eq!(platform.value(&format!("select job.cancel({later})::text")).unwrap(), "false");
    assert_eq!(platform.count(&format!("job.find({later})")), 0);
    assert_eq!(platform.count("ran"), 0);
    // Again, with all attempts, and with its history.
    let again = platform.value(&format!("select job.redrive({running})::text")).unwrap();
    wait_for("it runs again", || platform.count(&format!("job.running where id = {again} and attempt = 1")) == 1);
    assert_eq!(platform.value(&format!("select first_id::text from job.find({again})")).unwrap(), running);
    platform.sql(&format!("select job.cancel({again})"));
    wait_for("it is dead again", || platform.count(&format!("job.dead_jobs where first_id = {running}")) == 1);
    assert_eq!(platform.value("select job.discard('long')::text").unwrap(), "2");
    assert_eq!(platform.count("job.failures"), 0);
}

#[test]
fn a_kind_pauses_and_goes_on() {
    let platform = platform();
    assert_eq!(platform.value("select job.pause('run')::text").unwrap(), "true");
    platform.sql("select job.enqueue('run', '{\"number\": 1}'), job.enqueue('run', '{\"number\": 2}')");
    platform.sql("select job.define('other', 'run'), job.enqueue('other', '{\"number\": 3}')");
    wait_for("another kind's", || platform.count("ran where number = 3") == 1);
    assert_eq!(platform.count("job.kinds where kind = 'run' and waiting = 2 and begun = 0 and paused_at < now()"), 1);
    assert_eq!(platform.value("select job.resume('run')::text").unwrap(), "true");
    wait_for("both", || platform.count("ran") == 3);
    assert_eq!(platform.count("job.kinds where kind = 'run' and done = 2 and waiting = 0 and running = 0"), 1);
}

#[test]
fn jobs_say_when_they_come_again_and_when_never() {
    let platform = platform();
    platform.sql(
        "create function ask(again boolean) returns void language plpgsql as $$
         begin
           insert into ran values (1, 1);
           if again and (select attempt from job.current()) = 1 then perform job.retry('50 ms', 'not yet'); end if;
           if not again then perform job.give_up('never'); end if;
         end $$;
         select job.define('ask', 'ask', backoff => '1 h'), job.enqueue('ask', '{\"again\": true}'),
           job.enqueue('ask', '{\"again\": false}')",
    );
    wait_for("the second attempt", || platform.count("ran") == 1);
    wait_for("the other is dead", || platform.count("job.dead_jobs where reason = 'given up' and message = 'never'") == 1);
    assert_eq!(platform.count("job.failures where sqlstate = 'JB001' and message = 'not yet'"), 1);
}

#[test]
fn a_kind_whose_function_is_gone_stops_alone_and_keeps_its_jobs() {
    let platform = platform();
    platform.sql("create function gone(number integer) returns void language sql as 'insert into ran values (number, 0)';
        select job.define('gone', 'gone'); drop function gone(integer);
        select job.enqueue('gone', '{\"number\": 1}'), job.enqueue('run', '{\"number\": 2}')");
    wait_for("the other", || platform.count("ran where number = 2") == 1);
    wait_for("the reason", || platform.count("job.kinds where kind = 'gone' and stopped like '%gone(integer)%'") == 1);
    platform.sql("create function gone(number integer) returns void language sql as 'insert into ran values (number, 5)'");
    wait_for("it goes on", || platform.count("ran where number = 1 and attempt = 5") == 1);
    assert_eq!(platform.count("job.failures"), 0);
    wait_for("no reason", || platform.count("job.kinds where stopped is not null") == 0);
}
