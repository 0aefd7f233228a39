//! What many jobs do to others, and to their server: none that was not named is cancelled, a flood delays nobody, and what waits
//! costs nothing.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use cluster::postgres::Client;
use howdah_tests::bounds;
use howdah_tests::platform::{Platform, wait_for};
use howdah_tests::queues::number;
use howdah_tests::stalls::Stalls;

/// Waits until no job of a kind waits or runs, however long that takes while it goes on.
fn wait_until_done(platform: &Platform, kind: &str) {
    let mut session = platform.session();
    let mut left = i64::MAX;
    while left > 0 {
        let before = left;
        wait_for("jobs go on", || {
            left = number(
                &mut session,
                &format!("select waiting + running from job.kinds where kind = '{kind}'"),
            );
            left == 0 || left < before
        });
    }
}

/// Cancels what runs of the kinds of this name until it is over; the jobs that were named.
fn cancel_what_runs(session: &mut Client, kinds: &str, over: &AtomicBool) -> HashSet<i64> {
    let running = session.prepare("select id from job.running where kind like $1").unwrap();
    let cancel = session.prepare("select job.cancel($1)").unwrap();
    let mut named = HashSet::new();
    while !over.load(Ordering::Relaxed) {
        for row in session.query(&running, &[&kinds]).unwrap() {
            let id: i64 = row.get(0);
            named.insert(id);
            session.query(&cancel, &[&id]).unwrap();
        }
    }
    named
}

/// Jobs of each of the two kinds that are cancelled when they are seen running.
const CANCELLED: usize = if cfg!(feature = "long") { 50_000 } else { 1000 };

const NAPS: &str = "
    create table ran (id bigint);
    create function nap(seconds float) returns void language plpgsql as $$
      begin
        insert into ran select id from job.current();
        perform pg_sleep(seconds);
      end $$;
    grant insert on ran to howdah_web;";

#[test]
fn cancels_meet_those_that_they_name_however_short_jobs_are() {
    let platform = Platform::with(&[("howdah.max_job_executors", "4")]);
    platform.sql(NAPS);
    platform.sql(
        "select job.define('nap', 'nap', attempts => 1), job.define('nap together', 'nap', attempts => 1, batch => 50)",
    );
    let over = AtomicBool::new(false);
    let named: HashSet<i64> = thread::scope(|threads| {
        let cancel = || cancel_what_runs(&mut platform.session(), "nap%", &over);
        let cancelling = [threads.spawn(cancel), threads.spawn(cancel)];
        for kind in ["nap", "nap together"] {
            platform.sql(&format!(
                "select count(*) from job.enqueue_many('{kind}', array(select '{{\"seconds\": 0.001}}'::jsonb from generate_series(1, {CANCELLED})))"
            ));
        }
        ["nap", "nap together"].iter().for_each(|kind| wait_until_done(&platform, kind));
        over.store(true, Ordering::Relaxed);
        cancelling.into_iter().flat_map(|named| named.join().unwrap()).collect()
    });
    let mut session = platform.session();
    let dead = session.query("select id, kind, reason from job.dead_jobs", &[]).unwrap();
    for row in &dead {
        let (id, kind, reason): (i64, String, String) = (row.get(0), row.get(1), row.get(2));
        assert!(named.contains(&id) && reason == "cancelled", "job {id} of kind {kind} is dead: {reason}");
    }
    for kind in ["nap", "nap together"] {
        let dead = dead.iter().filter(|row| row.get::<_, &str>(1) == kind).count();
        println!("{kind}: {dead} of {CANCELLED} are cancelled");
        assert!(dead > 0, "none of kind {kind} was met");
    }
    assert_eq!(platform.count("ran"), 2 * CANCELLED as i64 - dead.len() as i64);
    assert_eq!(platform.count("ran join job.dead_jobs using (id)"), 0);
    assert_eq!(platform.count("(select from ran group by id having count(*) > 1) twice"), 0);
}

/// Jobs of each of the two kinds whose timeout is what they usually take.
const TIMED: usize = if cfg!(feature = "long") { 10_000 } else { 500 };

#[test]
fn timeouts_meet_those_that_take_too_long_and_no_other() {
    let platform = Platform::with(&[("howdah.max_job_executors", "4")]);
    platform.sql(NAPS);
    platform.sql(
        "select job.define('nap', 'nap', attempts => 1, timeout => '5 ms'),
           job.define('nap together', 'nap', attempts => 1, timeout => '5 ms', batch => 50)",
    );
    for kind in ["nap", "nap together"] {
        // One of two takes no time, the other from 3 to 15 ms.
        platform.sql(&format!(
            "select count(*) from job.enqueue_many('{kind}', array(select
               jsonb_build_object('seconds', case n % 2 when 0 then 0 else 0.003 + random() * 0.012 end)
               from generate_series(1, {TIMED}) n))"
        ));
    }
    ["nap", "nap together"].iter().for_each(|kind| wait_until_done(&platform, kind));
    for kind in ["nap", "nap together"] {
        let failed = platform.count(&format!("job.failures where kind = '{kind}' and sqlstate = '57014'"));
        println!("{kind}: {failed} of {TIMED} have taken too long");
        assert!(failed > 0, "none of kind {kind} has taken too long");
    }
    assert_eq!(platform.count("job.failures where ended_at - began_at < '5 ms' or sqlstate <> '57014'"), 0);
    assert_eq!(platform.count("job.failures"), 2 * TIMED as i64 - platform.count("ran"));
    assert_eq!(platform.count("ran join job.dead_jobs using (id)"), 0);
}

/// A flood.
fn flood() -> usize {
    if bounds::counts() { 1_000_000 } else { 20_000 }
}

/// Enqueues a flood of a kind, a part at a time.
fn enqueue_flood(platform: &Platform, kind: &str, count: usize) {
    let part = "array_fill('{}'::jsonb, array[10000])";
    for _ in 0..count / 10_000 {
        platform.sql(&format!("select count(*) from job.enqueue_many('{kind}', {part})"));
    }
}

#[test]
fn a_flood_of_one_kind_keeps_no_other_waiting() {
    let platform = Platform::with(&[]);
    platform.sql(
        "create table begun (kind text, after interval);
         create table work (at timestamptz default now());
         grant insert on begun, work to howdah_web;
         create function work() returns void language sql begin atomic insert into work default values; end;
         create function note(sent timestamptz) returns void language sql begin atomic
           insert into begun select kind, clock_timestamp() - sent from job.current(); end;
         select job.define('flood', 'work'), job.pause('flood');
         select job.define('kind ' || n, 'note') from generate_series(1, 9) n",
    );
    enqueue_flood(&platform, "flood", flood());
    platform.sql("select job.resume('flood')");
    let mut session = platform.session();
    let begun = "select coalesce(begun, 0) from job.kinds where kind = 'flood'";
    wait_for("the flood runs", || number(&mut session, begun) > 100);
    let stalls = Stalls::watch();
    for _ in 0..50 {
        session
            .batch_execute(
                "select job.enqueue('kind ' || n, jsonb_build_object('sent', clock_timestamp())) from generate_series(1, 9) n",
            )
            .unwrap();
        thread::sleep(Duration::from_millis(20));
    }
    wait_for("the others have run", || number(&mut session, "select count(*) from begun") == 450);
    let slowest = number(&mut session, "select (1e6 * extract(epoch from max(after)))::bigint from begun");
    let waiting = number(&mut session, "select waiting from job.kinds where kind = 'flood'");
    assert!(waiting > 0 || !bounds::counts(), "the flood is over");
    bounds::JOBS_BESIDE_FLOOD.check_beside(Duration::from_micros(slowest as u64), stalls.longest());
}

/// Processor time that each of the server's processes has taken.
fn processor_times(platform: &Platform) -> HashMap<u32, Duration> {
    let time = |pid: u32| {
        let schedule = fs::read_to_string(format!("/proc/{pid}/schedstat")).unwrap_or_default();
        let on_processor = schedule.split(' ').next().and_then(|nanoseconds| nanoseconds.parse().ok());
        Duration::from_nanos(on_processor.unwrap_or(0))
    };
    platform.cluster.processes().iter().map(|process| (process.pid, time(process.pid))).collect()
}

#[test]
fn a_kind_at_its_limit_costs_nothing_however_many_wait() {
    const WATCHED: Duration = Duration::from_secs(10);
    let platform = Platform::with(&[]);
    platform.sql(
        "create function sleep() returns void language sql as 'select pg_sleep(100)';
         create function nothing() returns void language sql as '';
         select job.define('at once', 'sleep', at_once => 1), job.define('per second', 'nothing', per_second => 0.01)",
    );
    enqueue_flood(&platform, "at once", flood());
    enqueue_flood(&platform, "per second", flood());
    wait_for("one runs", || platform.count("job.running where kind = 'at once'") == 1);
    let watched = if bounds::counts() { WATCHED } else { Duration::ZERO };
    // What the flood has left to do, such as a checkpoint, is over.
    thread::sleep(watched / 2);
    let before = processor_times(&platform);
    thread::sleep(watched);
    let took = processor_times(&platform)
        .into_iter()
        .map(|(pid, time)| time.saturating_sub(before.get(&pid).copied().unwrap_or_default()))
        .sum();
    bounds::JOBS_AT_THEIR_LIMIT.check_against(took, watched / 100);
    assert_eq!(platform.count("job.kinds where begun > 1 or waiting < 100"), 0);
}

/// Makes schedules, all due at the same times.
fn make_schedules(platform: &Platform, count: usize, more: &str) {
    platform.sql(&format!(
        "create function nothing() returns void language sql as '';
         select job.define('nothing', 'nothing'), job.pause('nothing');
         select job.schedule('schedule ' || n, kind => 'nothing', {more}) from generate_series(1, {count}) n"
    ));
}

#[test]
fn a_thousand_schedules_that_are_due_each_second_cost_little() {
    const WATCHED: Duration = Duration::from_secs(10);
    let platform = Platform::with(&[]);
    let count = if bounds::counts() { 1000 } else { 100 };
    make_schedules(&platform, count, "cron => '* * * * * *', may_overlap => true, missed => 'each'");
    let waiting = "select coalesce(waiting, 0) from job.kinds where kind = 'nothing'";
    let mut session = platform.session();
    wait_for("they are due", || number(&mut session, waiting) >= 2 * count as i64);
    let watched = if bounds::counts() { WATCHED } else { Duration::from_secs(1) };
    let (before, sent) = (processor_times(&platform), number(&mut session, waiting));
    thread::sleep(watched);
    let took = processor_times(&platform)
        .into_iter()
        .map(|(pid, time)| time.saturating_sub(before.get(&pid).copied().unwrap_or_default()))
        .sum();
    bounds::SCHEDULES_EACH_SECOND.check_against(took, watched / 20);
    wait_for("they go on", || number(&mut session, waiting) >= sent + count as i64);
    let due = "job.timetable where last_at < clock_timestamp() - interval '3 s' or missed_for_good > 0";
    assert_eq!(number(&mut session, &format!("select count(*) from {due}")), 0);
}

#[test]
fn schedules_for_tomorrow_wake_nobody_more_than_once_a_second() {
    let platform = Platform::with(&[]);
    make_schedules(&platform, 1000, "every => '1 day'");
    let executor =
        || platform.value("select pid::text from http.workers where lane = 'job' and state = 'running'");
    wait_for("an executor", || executor().is_some());
    let wakes = || -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", executor().unwrap())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"));
        line.and_then(|count| count.trim().parse().ok()).unwrap()
    };
    let mut before = wakes();
    wait_for("it rests", || {
        thread::sleep(Duration::from_secs(3));
        let now = wakes();
        let few = now <= before + 4;
        before = now;
        few
    });
}

/// Plain jobs of which dead rows are counted.
const PLAIN: usize = if cfg!(feature = "long") { 1_000_000 } else { 20_000 };

#[test]
fn plain_jobs_leave_no_dead_rows_also_beside_an_open_transaction() {
    let platform = Platform::with(&[("autovacuum", "off")]);
    platform.sql(
        "create table ran (at timestamptz default now());
         grant insert on ran to howdah_web;
         create function run() returns void language sql begin atomic insert into ran default values; end;
         select job.define('run', 'run', batch => 50), job.define('one by one', 'run')",
    );
    let dead = "select sum(n_dead_tup)::bigint from pg_stat_all_tables";
    let mut session = platform.session();
    let mut other = platform.session();
    other.batch_execute("begin isolation level repeatable read; select txid_current()").unwrap();
    let before = number(&mut session, dead);
    for kind in ["run", "one by one"] {
        enqueue_flood(&platform, kind, PLAIN / 2);
        wait_until_done(&platform, kind);
    }
    wait_for("all statistics are there", || {
        number(&mut session, "select n_tup_ins from pg_stat_all_tables where relname = 'ran'") == PLAIN as i64
    });
    let left = number(&mut session, dead) - before;
    println!("{left} dead rows after {PLAIN} jobs");
    assert!(left < 1000.max(PLAIN as i64 / 1000), "{left} dead rows after {PLAIN} jobs");
}
