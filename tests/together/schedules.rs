//! Schedules: each due time has its job once, whatever happens meanwhile.

use std::thread;

use cluster::postgres::Client;
use cluster::{Life, Shutdown};
use howdah_tests::platform::{Platform, wait_for};
use howdah_tests::queues::{error, number};

/// A platform with a kind whose jobs note for when they were due.
fn platform() -> Platform {
    let platform = Platform::with(&[("howdah.max_job_executors", "4")]);
    platform.sql(NOTING);
    platform
}

const NOTING: &str = "
    create table noted (what text, due_at timestamptz, at timestamptz default clock_timestamp());
    create function note(what text, due_at timestamptz, seconds float default 0) returns void language plpgsql as $$
      begin
        insert into noted values (what, due_at);
        perform pg_sleep(seconds);
      end $$;
    grant insert, select on noted to howdah_web;
    select job.define('note', 'note');";

/// Puts a schedule back, or forward, as if the clock had gone the other way while it was paused.
fn shift(platform: &Platform, name: &str, by: &str) {
    platform.sql(&format!(
        "select job.pause_schedule('{name}');
         update job.timetable set next_at = next_at + interval '{by}', looked_at = looked_at + interval '{by}' where name = '{name}';
         select job.resume_schedule('{name}')"
    ));
}

#[test]
fn each_due_time_has_its_job_once_and_the_job_knows_it() {
    let platform = platform();
    platform.sql(
        "select job.schedule('each second', '* * * * * *', 'note', '{\"what\": \"cron\"}', may_overlap => true, missed => 'each'),
           job.schedule('often', every => '1 s', kind => 'note', arguments => '{\"what\": \"every\"}', may_overlap => true, missed => 'each'),
           job.schedule('never mind', '0 0 1 1 *', 'note')",
    );
    for what in ["cron", "every"] {
        let whole = format!(
            "(select count(*), count(distinct due_at) as times, max(due_at) - min(due_at) as upto, min(at - due_at) as late
              from noted where what = '{what}') n"
        );
        wait_for("four seconds", || {
            platform.count(&format!("{whole} where count >= 4 and upto = (count - 1) * interval '1 s'")) == 1
        });
        assert_eq!(
            platform.count(&format!("{whole} where times = count and late >= '0'")),
            1,
            "{what}: a due time is there twice, or before its time"
        );
    }
    assert_eq!(platform.count("noted where what = 'cron' and due_at <> date_trunc('second', due_at)"), 0);
    assert_eq!(
        platform.count("job.schedules where last_job is null and last_state is null and skipped = 0"),
        1
    );
    assert_eq!(
        platform.count("job.schedules where last_state = 'done' or last_state in ('waiting', 'running')"),
        2
    );
}

#[test]
fn what_was_missed_is_made_up_for_as_told_and_never_twice() {
    let mut platform = platform();
    platform.sql(
        "select job.schedule(missed, every => '1 hour', kind => 'note', arguments => jsonb_build_object('what', missed),
             anchor => now() - interval '100 hours 30 min', missed => missed, missed_most => 3)
         from unnest('{none,once,each}'::text[]) missed",
    );
    platform.sql("select job.schedule('old', every => '3 days', kind => 'note', arguments => '{\"what\": \"old\"}', anchor => now() - interval '3 days' + interval '1 h')");
    platform.sql("select job.pause('note')");
    for name in ["none", "once", "each"] {
        shift(&platform, name, "-10 hours");
    }
    shift(&platform, "old", "-3 days");
    let handled = |rest: &str| {
        let query = format!("job.schedules where next_at > now() {rest}");
        wait_for("all have been looked at", || platform.count(&query) == 4);
    };
    handled("");
    // Of the ten that were due the last one is half an hour old.
    for (name, missed) in [("none", 10), ("once", 9), ("each", 7), ("old", 1)] {
        assert_eq!(
            platform
                .value(&format!("select missed_for_good::text from job.schedules where schedule = '{name}'"))
                .unwrap(),
            missed.to_string(),
            "{name}"
        );
    }
    platform.sql("select job.resume('note')");
    wait_for("the jobs have run", || platform.count("noted") == 4);
    // The server is down for a day meanwhile.
    platform
        .sql("update job.timetable set next_at = next_at - interval '1 day' where name in ('none', 'once')");
    platform.cluster.restart(Shutdown::Immediate, Life::WithParent).expect("a restart");
    wait_for("it goes on", || {
        platform.cluster.connect("app").is_ok_and(|mut session| {
            number(&mut session, "select count(*) from job.schedules where next_at > now()") == 4
        })
    });
    wait_for("one more has run", || platform.count("noted") == 5);
    let noted = "select string_agg(what || ' ' || due, ', ' order by what, due) from (
        select what, round(extract(epoch from now() - due_at) / 3600, 1) as due from noted) n";
    let noted = platform.value(noted).unwrap();
    assert!(noted.starts_with("each 0.5, each 1.5, each 2.5, once 0.5, once 0.5"), "{noted}");
}

#[test]
fn a_clock_that_goes_back_runs_nothing_twice_and_one_that_was_wrong_for_long_is_forgotten() {
    let platform = platform();
    platform.sql(
        "select job.schedule(name, every => '1 s', kind => 'note', arguments => jsonb_build_object('what', name))
         from unnest('{hour,year}'::text[]) name",
    );
    let has_run = |name: &str| platform.count(&format!("noted where what = '{name}'"));
    wait_for("both have run", || has_run("hour") > 0 && has_run("year") > 0);
    shift(&platform, "hour", "1 hour");
    shift(&platform, "year", "1 year");
    let before = (has_run("hour"), has_run("year"));
    wait_for("one goes on from now", || has_run("year") > before.1 + 2);
    assert!(has_run("hour") <= before.0 + 1, "it is due in an hour");
    assert_eq!(
        platform.count("job.schedules where schedule = 'hour' and next_at > now() + interval '59 min'"),
        1
    );
}

#[test]
fn a_schedule_whose_last_job_runs_is_skipped() {
    let platform = platform();
    platform.sql(
        "select job.schedule(name, every => '1 s', kind => 'note', may_overlap => name = 'both',
             arguments => jsonb_build_object('what', name, 'seconds', case name when 'one' then 3.5 else 1.2 end))
         from unnest('{one,both}'::text[]) name",
    );
    wait_for("it is skipped", || {
        platform.count("job.schedules where schedule = 'one' and skipped >= 2") == 1
    });
    wait_for("it runs again", || {
        platform.count(
            "job.schedules where schedule = 'one' and last_at > now() - interval '2 s' and skipped >= 2",
        ) == 1
    });
    assert_eq!(platform.count("job.schedules where schedule = 'both' and skipped > 0"), 0);
}

#[test]
fn changing_a_schedule_counts_from_now_and_the_same_again_changes_nothing() {
    let platform = platform();
    let mut session = platform.session();
    let make = |session: &mut Client, more: &str| {
        let query = format!(
            "select extract(epoch from job.schedule('a', kind => 'note', arguments => '{{\"what\": \"a\"}}', {more}))::bigint"
        );
        number(session, &query)
    };
    let first = make(&mut session, "every => '1 hour'");
    let row = "select md5(t::text) from job.timetable t";
    let before = platform.value(row);
    assert_eq!(make(&mut session, "every => '1 hour'"), first);
    assert_eq!(platform.value(row), before, "the same again has changed it");
    // What is due is not made up for by a change, nor is anything due at once.
    platform
        .sql("select job.pause_schedule('a'); update job.timetable set next_at = now() - interval '3 hours'");
    let changed = make(&mut session, "every => '30 min', anchor => now()");
    assert!(changed > number(&mut session, "select extract(epoch from now() + interval '29 min')::bigint"));
    assert_eq!(platform.count("job.schedules where paused_at is not null and next_at is null"), 1);
    platform.sql("select job.resume_schedule('a')");
    make(&mut session, "cron => '0 0 1 1 *', time_zone => 'Asia/Kolkata'");
    assert_eq!(
        platform.count("job.schedules where next_local = date_trunc('year', now()) + interval '1 year'"),
        1
    );
    platform.sql("select job.run_schedule('a')");
    wait_for("it has run now", || platform.count("noted") == 1);
    assert_eq!(
        platform.value("select job.unschedule('a')::text || job.unschedule('a')::text").unwrap(),
        "truefalse"
    );
    for (call, says) in [
        ("job.schedule('b', kind => 'note')", "either a cron expression or every"),
        ("job.schedule('b', '* * * * *', 'note', every => '1 h')", "either a cron expression or every"),
        ("job.schedule('b', '* * * * *', 'nobody')", "no kind of jobs"),
        ("job.schedule('b', '61 * * * *', 'note')", "field minute"),
        ("job.schedule('b', '0 0 30 2 *', 'note')", "there is no such day"),
        ("job.schedule('b', repeat('1,', 500000), 'note')", "250 bytes"),
        ("job.schedule('b', '* * * * *', 'note', time_zone => 'Mars/Olympus')", "time zone"),
        ("job.schedule('b', '* * * * *', 'note', '[]')", "JSON object"),
        ("job.schedule('b', '* * * * *', 'note', missed => 'all')", "'none', 'once' or 'each'"),
        ("job.schedule('b', '* * * * *', 'note', missed_most => 1001)", "between 1 and 1000"),
        ("job.schedule('b', '* * * * *', 'note', missed_within => '-1 s')", "missed_within"),
        ("job.schedule('b', '* * * * *', 'note', anchor => now())", "anchor goes with every"),
        ("job.schedule('', '* * * * *', 'note')", "1 to 63 bytes"),
        ("job.schedule('b', every => '0', kind => 'note')", "between a second"),
        ("job.schedule('b', every => '-1 h', kind => 'note')", "between a second"),
        ("job.schedule('b', every => '1 month', kind => 'note')", "months"),
        ("job.schedule('b', every => '1 h', kind => 'note', anchor => 'infinity')", "anchor"),
        ("job.run_schedule('b')", "there is no schedule"),
        ("job.upcoming(100000)", "between 0 and 10000"),
    ] {
        let refused = error(&mut session, &format!("select {call}"));
        assert!(refused.contains(says), "{call}: {refused}");
    }
}

#[test]
fn upcoming_agrees_with_at_time_zone_in_every_zone() {
    let platform = platform();
    platform.sql(
        "select job.schedule(left(name, 63), '30 2 * * *', 'note', time_zone => name) from pg_timezone_names
         where name !~ '^posix/' limit 5000",
    );
    let zones = platform.count("job.schedules");
    assert!(zones > 300, "{zones} zones");
    let rows = 2 * zones;
    assert_eq!(platform.count(&format!("job.upcoming({rows})")), rows);
    // Once a year a clock may be set forward over that time.
    assert_eq!(
        platform.count(&format!(
            "job.upcoming({rows}) where local_time <> due_at at time zone time_zone or local_time::time <> '02:30' and local_time::time not between '02:30' and '03:30'"
        )),
        0
    );
    assert_eq!(
        platform.count(&format!(
            "(select lag(due_at) over () > due_at as falls from job.upcoming({rows})) u where falls"
        )),
        0
    );
}

/// Times that two sessions make and remove schedules that are due each second.
const CHANGES: usize = if cfg!(feature = "long") { 10_000 } else { 300 };

#[test]
fn schedules_that_come_and_go_while_they_are_due_hold_nobody_up() {
    let platform = platform();
    platform.sql("select job.schedule('lasting', every => '1 s', kind => 'note', arguments => '{\"what\": \"lasting\"}')");
    thread::scope(|threads| {
        for name in ["one", "two"] {
            let mut session = platform.session();
            threads.spawn(move || {
                for _ in 0..CHANGES {
                    session
                        .batch_execute(&format!(
                            "select job.schedule('{name}', '* * * * * *', 'note'), job.schedule('both', '* * * * * *', 'note')"
                        ))
                        .unwrap();
                    session.batch_execute(&format!("select job.unschedule('{name}')")).unwrap();
                    // Another may have removed it.
                    session.batch_execute("select job.unschedule('both')").unwrap();
                }
            });
        }
    });
    let count = "noted where what = 'lasting'";
    let before = platform.count(count);
    wait_for("the other goes on", || platform.count(count) > before + 1);
    assert_eq!(
        platform.count("(select from noted where what = 'lasting' group by due_at having count(*) > 1) n"),
        0
    );
    assert_eq!(platform.count("job.schedules"), 1);
}

#[test]
fn whoever_loses_the_right_has_a_schedule_that_says_so() {
    let platform = platform();
    platform.sql(
        "create role planner; create role other; grant howdah_admin to planner; grant usage on schema public to planner;
         select job.grant('note', 'enqueue', 'planner')",
    );
    let mut session = platform.session();
    session
        .batch_execute(
            "set role planner;
             select job.schedule('planned', every => '1 s', kind => 'note', arguments => '{\"what\": \"planned\"}')",
        )
        .unwrap();
    session.batch_execute("reset role; set role other").unwrap();
    for call in [
        "job.unschedule('planned')",
        "job.pause_schedule('planned')",
        "job.run_schedule('planned')",
        "job.resume()",
    ] {
        let refused = error(&mut session, &format!("select {call}"));
        assert!(refused.contains("must be"), "{call}: {refused}");
    }
    let refused = error(&mut session, "select job.schedule('planned', '* * * * *', 'note')");
    assert!(refused.contains("permission denied"), "{refused}");
    assert_eq!(number(&mut session, "select count(*) from job.schedules"), 0, "it is none of the other's");
    wait_for("it runs", || platform.count("noted where what = 'planned'") > 0);
    platform.sql("revoke howdah_admin from planner; select job.revoke('note', 'enqueue', 'planner')");
    wait_for("it says so", || platform.count("job.schedules where stopped like 'its owner may not%'") == 1);
    assert!(platform.log().contains("howdah enqueues no jobs of schedule planned"));
    let before = platform.count("noted");
    platform.sql("select job.grant('note', 'enqueue', 'planner')");
    wait_for("it goes on", || {
        platform.count("noted") > before && platform.count("job.schedules where stopped is null") == 1
    });
    platform.sql("select job.undefine('note', with_jobs => true)");
    assert_eq!(platform.count("job.timetable"), 0, "without its kind it is gone");
}

#[test]
fn a_copy_is_quiet_until_somebody_says_so_and_each_database_has_its_own() {
    let platform = platform();
    platform.sql(
        "select job.schedule('beat', every => '1 s', kind => 'note', arguments => '{\"what\": \"beat\"}')",
    );
    wait_for("it runs", || platform.count("noted") > 0);
    let mut postgres = platform.cluster.connect("postgres").unwrap();
    postgres.batch_execute("create database copy template app").unwrap();
    platform.set("howdah.databases", "app, copy");
    wait_for("the copy is served", || {
        platform.count("http.databases where name = 'copy' and state = 'serving' and executors > 0") == 1
    });
    let mut copy = platform.cluster.connect("copy").unwrap();
    copy.batch_execute(
        "truncate noted; select job.enqueue('note', '{\"what\": \"copied\", \"due_at\": null}')",
    )
    .unwrap();
    wait_for("the original goes on", || platform.count("noted where due_at > now() - interval '2 s'") > 0);
    let before = platform.count("noted");
    wait_for("it does", || platform.count("noted") > before + 1);
    assert_eq!(number(&mut copy, "select count(*) from noted"), 0, "the copy runs jobs");
    let says = "select count(*) from job.overview where remark like '%job.resume()%'";
    assert_eq!(number(&mut copy, says), 1);
    assert_eq!(number(&mut copy, "select count(*) from job.schedules where job.is_copy()"), 1);
    copy.batch_execute("select job.resume()").unwrap();
    wait_for("the copy goes on", || {
        number(&mut copy, "select count(distinct what) from noted where what in ('beat', 'copied')") == 2
    });
    assert_eq!(
        number(&mut copy, "select count(*) from job.schedules where job.is_copy() or job.resume()"),
        0
    );
    let twice =
        "select count(*) from (select from noted where what = 'beat' group by due_at having count(*) > 1) n";
    for session in [&mut copy, &mut platform.session()] {
        assert_eq!(number(session, twice), 0);
    }
    assert!(platform.log().contains("this database is a copy"));
    drop(copy);
    postgres.batch_execute("alter database copy rename to other").unwrap();
    postgres.batch_execute("drop database other").unwrap();
    // A server can be told to run none.
    platform.set("howdah.jobs", "off");
    wait_for("no executor is left", || platform.count("http.workers where lane = 'job'") == 0);
    assert_eq!(platform.count("job.overview where remark = 'howdah.jobs is off'"), 1);
    let before = platform.count("noted");
    platform.set("howdah.jobs", "on");
    wait_for("it goes on", || platform.count("noted") > before);
}

#[test]
fn what_hinders_one_kind_hinders_no_other() {
    let platform = platform();
    platform.sql(
        "select job.define('other', 'note'), job.define('third', 'note');
         select job.schedule(kind, every => '1 s', kind => kind, arguments => jsonb_build_object('what', kind))
         from unnest('{note,other,third}'::text[]) kind",
    );
    let runs =
        |kind: &str| platform.count(&format!("noted where what = '{kind}' and at > now() - interval '2 s'"));
    wait_for("all run", || ["note", "other", "third"].iter().all(|kind| runs(kind) > 0));
    // Somebody has locked the queue of one kind, and the schedule of another.
    let mut owner = platform.session();
    let queue = "select format('queue.rows_%s_1', q.queue) from job.kind k join job.kind_queue q on q.kind = k.id where k.name = 'other' and q.priority = 'normal'";
    let queue = platform.value(queue).unwrap();
    owner
        .batch_execute(&format!(
            "begin; lock table {queue}; select from job.timetable where name = 'third' for update"
        ))
        .unwrap();
    let hindered = |kind: &str| {
        platform.count(&format!("job.timetable where name = '{kind}' and next_at < now() - interval '2 s'"))
    };
    wait_for("they are late", || hindered("other") == 1 && hindered("third") == 1);
    assert!(runs("note") > 0, "the first is held up, too");
    wait_for("the log says so", || {
        platform.log().contains("howdah cannot enqueue what is due of kind number")
    });
    assert!(platform.log().matches("cannot enqueue what is due").count() < 3);
    owner.batch_execute("rollback").unwrap();
    wait_for("all run again", || ["note", "other", "third"].iter().all(|kind| runs(kind) > 0));
    // A zone that the system does not know any more stops its schedule alone.
    platform.sql("update job.timetable set time_zone = 'Mars/Olympus', cron = '* * * * * *', every = null, anchor = null where name = 'other'");
    wait_for("it says why", || {
        platform.count("job.schedules where stopped like '%time zone%' and next_local is null") == 1
    });
    assert!(platform.count("job.upcoming(10) where schedule <> 'other'") > 0);
    platform.sql(
        "select job.schedule('other', '* * * * * *', 'other', '{\"what\": \"other\"}', time_zone => 'UTC')",
    );
    wait_for("it goes on", || runs("other") > 0);
}
