//! What is told of jobs that are dead, and for how long what has failed is kept.

use howdah_tests::platform::{Platform, wait_for};
use howdah_tests::queues::error;

/// A kind whose jobs fail, one that does so in batches, and one that alerts.
const KINDS: &str = "
    create table told (job bigint, kind text, reason text, attempts integer, sqlstate text, message text, arguments jsonb);
    grant insert on told to howdah_web;
    create function tell(job bigint, kind text, reason text, attempts integer, sqlstate text, message text, arguments jsonb)
    returns void language sql begin atomic
      insert into told values (job, kind, reason, attempts, sqlstate, message, arguments);
    end;
    create function fail(how text, number numeric default 0) returns void language plpgsql as $$
    begin
      if how = 'give up' then perform job.give_up('no'); end if;
      if how = 'sleep' then perform pg_sleep(60); end if;
      raise exception '% \"fails\" }', how using errcode = 'XX123';
    end $$;
    select job.define('tell', 'tell');
    select job.define('fail', 'fail', attempts => 2, backoff => '10 ms', alert => 'tell'),
      job.define('batch', 'fail', attempts => 2, backoff => '10 ms', alert => 'tell', batch => 10);";

#[test]
fn each_job_that_dies_by_itself_alerts_once_with_what_has_happened() {
    let platform = Platform::with(&[]);
    platform.sql(KINDS);
    // More digits than a double has.
    platform.sql(
        r#"select job.enqueue(kind, '{"how": "raise", "number": 12345678901234567890.12345}'), job.enqueue(kind, '{"how": "give up"}')
           from unnest('{fail,batch}'::text[]) kind"#,
    );
    wait_for("they are dead", || platform.count("job.dead_jobs") == 4);
    wait_for("all is told", || platform.count("told") == 4);
    for kind in ["fail", "batch"] {
        let raised =
            "reason = 'failed' and attempts = 2 and sqlstate = 'XX123' and message = 'raise \"fails\" }'
            and arguments->>'number' = '12345678901234567890.12345'";
        let dead = format!("told join job.dead_jobs d on d.id = told.job where told.kind = '{kind}'");
        assert_eq!(platform.count(&format!("{dead} and told.{}", raised.replace("and ", "and told."))), 1);
        assert_eq!(platform.count(&format!("{dead} and told.reason = 'given up' and told.attempts = 1")), 1);
    }
    // Sent again it has all its digits still, and dies and alerts again.
    platform.sql("select job.redrive('fail')");
    wait_for("it is told again", || platform.count("told where kind = 'fail'") == 4);
    assert_eq!(platform.count("told where arguments->>'number' = '12345678901234567890.12345'"), 3);
    // Whoever cancels knows.
    platform.sql(r#"select job.enqueue('fail', '{"how": "sleep"}')"#);
    wait_for("it runs", || platform.count("job.running where kind = 'fail'") == 1);
    platform.sql("select job.cancel(id) from job.running where kind = 'fail'");
    wait_for("it is dead", || platform.count("job.dead_jobs where reason = 'cancelled'") == 1);
    wait_for("nothing waits", || platform.count("job.kinds where waiting > 0") == 0);
    assert_eq!(platform.count("told where message not like 'raise%' and message <> 'no'"), 0);
    assert_eq!(platform.count("told"), 6);
}

#[test]
fn what_becomes_of_an_alert_changes_nothing_for_the_job_that_is_dead() {
    let platform = Platform::with(&[]);
    platform.sql(KINDS);
    platform.sql(
        "create function shout() returns void language plpgsql as $$ begin raise exception 'the pager is broken'; end $$;
         select job.define('shout', 'shout', attempts => 1);
         create role author; grant howdah_admin to author;
         select job.grant('shout', 'enqueue', 'author')",
    );
    platform.sql("select job.define('fail', 'fail', attempts => 1, alert => 'shout'), job.enqueue('fail', '{\"how\": \"x\"}')");
    wait_for("the alert is dead", || {
        platform.count("job.dead_jobs where kind = 'shout' and message = 'the pager is broken'") == 1
    });
    assert_eq!(platform.count("job.dead_jobs where kind = 'fail' and message like 'x %'"), 1);
    // One whose owner may enqueue it no more, and one that is gone.
    for kind in ["single", "several"] {
        let batch = if kind == "single" { 1 } else { 10 };
        platform.sql(&format!(
            "alter function fail(text, numeric) owner to author; set role author;
             select job.define('{kind}', 'fail', attempts => 1, alert => 'shout', batch => {batch})"
        ));
        platform.sql("reset role");
        platform.sql("select job.revoke('shout', 'enqueue', 'author')");
        platform.sql(&format!("select job.enqueue('{kind}', '{{\"how\": \"y\"}}')"));
        let dead = format!("job.dead_jobs where kind = '{kind}' and message like 'y %'");
        wait_for("it is dead all the same", || platform.count(&dead) == 1);
        wait_for("the log says why", || {
            let why = format!("of kind {kind}: the owner of kind {kind} may not enqueue jobs of kind shout");
            platform.log().contains(&why)
        });
        platform.sql("select job.grant('shout', 'enqueue', 'author')");
    }
    assert_eq!(platform.count("job.dead_jobs where kind = 'shout'"), 1);
    platform.sql("select job.undefine('shout', with_jobs => true)");
    platform.sql("select job.enqueue('fail', '{\"how\": \"z\"}')");
    wait_for("it is dead without an alert", || platform.count("job.dead_jobs where message like 'z %'") == 1);
    assert_eq!(platform.count("job.kinds where alert is not null and kind = 'fail'"), 0);
}

#[test]
fn alerts_end() {
    let platform = Platform::with(&[]);
    platform.sql(KINDS);
    let mut session = platform.session();
    for (arguments, why) in [
        ("'fail', 'fail', alert => 'fail'", "kind fail cannot alert when it fails itself"),
        ("'other', 'fail', alert => 'fail'", "kind fail cannot alert, as it has an alert itself"),
        ("'tell', 'tell', alert => 'shout'", "kind tell cannot have an alert, as it is one itself"),
        ("'other', 'fail', alert => 'nothing'", "there is no kind of jobs \"nothing\""),
        ("'other', 'fail', keep_dead => '-1 s'", "keep_dead must be between 0 and 1000 years"),
        ("'other', 'fail', keep_failures => '1100 years'", "keep_failures must be between 0 and 1000 years"),
    ] {
        session.batch_execute("select job.define('shout', 'fail')").unwrap();
        let refused = error(&mut session, &format!("select job.define({arguments})"));
        assert!(refused.contains(why), "{arguments}: {refused}");
    }
    platform.sql("create role author; grant howdah_admin to author; alter function fail(text, numeric) owner to author");
    session.batch_execute("set role author").unwrap();
    let refused = error(&mut session, "select job.define('other', 'fail', alert => 'tell')");
    assert!(refused.contains("permission denied for jobs of kind tell"), "{refused}");
    // By hand, past all checks: a ring does not turn.
    platform.sql("update job.kind set alert = (select id from job.kind where name = 'fail'), attempts = 1 where name = 'tell'");
    platform.sql("select job.enqueue('fail', '{\"how\": \"x\"}'), job.enqueue('tell', '{\"job\": {}}')");
    wait_for("they are dead", || platform.count("job.dead_jobs") == 2);
    assert_eq!(platform.count("job.kinds where waiting > 0"), 0);
}

#[test]
fn what_is_old_goes_in_steps_that_no_timeout_and_no_lock_stops() {
    let platform =
        Platform::with(&[("howdah.queue_maintenance", "100ms"), ("howdah.min_job_executors", "1")]);
    platform.sql(KINDS);
    platform.sql(
        "alter database app set statement_timeout = '1ms';
         alter database app set lock_timeout = '1ms'",
    );
    let mut session = platform.session();
    let mut looking = platform.session();
    looking.batch_execute("set statement_timeout = 0").unwrap();
    let mut count = |rows: &str| {
        looking.query_one(&format!("select count(*) from {rows}"), &[]).unwrap().get::<_, i64>(0)
    };
    session
        .batch_execute(
            "set statement_timeout = 0;
             select job.define('kept', 'fail', keep_failures => null), job.define('gone', 'fail', keep_dead => '1 hour');
             -- Some thousand pages, so that there are several steps.
             insert into job.failure (job, place, kind, attempt, began_at, ended_at, sqlstate, message, context)
             select i + k.id * 10000, 0, k.id, 1, now(), now() - i * interval '1 minute', 'XX000', repeat('x', 900), repeat('y', 900)
             from job.kind k, generate_series(1, 2880) i where k.name in ('fail', 'kept', 'gone');
             insert into job.dead (id, kind, priority, arguments, attempts, enqueued_at, died_at, reason)
             select i + k.id * 10000, k.id, 'normal', '{}', 1, now(), now() - i * interval '1 minute', 'failed'
             from job.kind k, generate_series(1, 120) i where k.name in ('fail', 'gone')",
        )
        .unwrap();
    assert_eq!(count("job.failures where kind = 'fail'"), 2880);
    // Somebody has one of them, for long.
    let mut other = platform.session();
    other
        .batch_execute("set statement_timeout = 0; begin; select from job.failure where job % 10000 = 2870 and kind = (select id from job.kind where name = 'fail') for update")
        .unwrap();
    session
        .batch_execute(
            "select job.define('fail', 'fail', attempts => 2, alert => 'tell', keep_failures => '1 day')",
        )
        .unwrap();
    wait_for("the old ones are gone", || {
        count("job.failures where kind = 'fail' and job % 10000 > 1450") == 1
    });
    wait_for("dead ones are gone", || {
        count("job.dead_jobs where kind = 'gone' and died_at < now() - interval '65 min'") == 0
    });
    assert_eq!(count("job.failures where kind = 'fail' and job % 10000 < 1430"), 1429);
    assert_eq!(count("job.failures where kind = 'kept'"), 2880);
    assert_eq!(count("job.dead_jobs where kind = 'fail'"), 120);
    assert!(count("job.dead_jobs where kind = 'gone'") >= 50);
    other.batch_execute("rollback").unwrap();
    wait_for("the one that was locked", || {
        count("job.failures where kind = 'fail' and job % 10000 > 1450") == 0
    });
    // A kind that goes takes no time; what it leaves is nobody's, and goes as well.
    session.batch_execute("select job.undefine('kept'), job.undefine('gone')").unwrap();
    wait_for("nothing is left of them", || {
        count("job.failure where kind not in (select id from job.kind)") == 0
            && count("job.dead where kind not in (select id from job.kind)") == 0
    });
    // A look for jobs has the role's settings, and may end so on a machine that is busy.
    let log = platform.log();
    let ended = log
        .lines()
        .find(|line| line.contains("canceling statement") && !line.contains("runs no jobs of kind"));
    assert_eq!(ended, None, "{log}");
}
