//! A clock that is set back while the server runs: nothing waits for what it showed before.

use std::thread;

use cluster::postgres::Client;
use howdah_tests::moved_clock::MovedClock;
use howdah_tests::platform::{Platform, wait_for};

/// How far the clock is set back, in seconds: an hour, and a year.
const BACK: [i64; 2] = [3600, 366 * 86_400];

/// Rows that fill a segment.
const MANY: usize = 20_000;

fn platform(clock: &MovedClock) -> Platform {
    let settings = [("howdah.queue_segment_size", "1MB"), ("howdah.queue_maintenance", "1s")];
    let platform = Platform::of(clock.options(), &settings);
    platform.sql(
        "create type row_of_ten as (one bigint, two bigint, text text);
         select queue.create('rows', 'row_of_ten'), queue.create('messages'), queue.create('poll');
         create table ran (number integer, attempt integer);
         create function run(number integer) returns void language plpgsql as $$
         begin
           if (select c.attempt from job.current() c) = 1 then
             raise exception 'once more';
           end if;
           insert into ran select run.number, c.attempt from job.current() c;
         end $$;
         grant insert on ran to howdah_web;
         select job.define('run', 'run', backoff => '1 s')",
    );
    platform
}

/// Sends rows and takes them, so that segments fill and are drained.
fn pass(session: &mut Client, rows: usize) {
    session
        .batch_execute(&format!(
            "select queue.put('rows', array(select row(n, n, 'text')::row_of_ten from generate_series(1, {rows}) n));
             select count(*) from queue.take('rows', {rows}, null::row_of_ten)"
        ))
        .unwrap();
}

/// Bytes of the tables of the queue of rows.
fn size(platform: &Platform) -> i64 {
    let size = platform.value(
        "select sum(pg_total_relation_size(c.oid)) from pg_class c, queue.queue q
         where q.name = 'rows' and c.relkind = 'r' and c.relname ~ format('^(rows|ledger)_%s_', q.id)",
    );
    size.and_then(|size| size.parse().ok()).expect("a size")
}

#[test]
fn a_clock_that_is_set_back_by_an_hour_or_a_year_stops_nothing() {
    let clock = MovedClock::start();
    let platform = platform(&clock);
    let mut session = platform.session();
    let mut shown = 0;
    for (round, back) in BACK.into_iter().enumerate() {
        // All times are kept before.
        (0..4).for_each(|_| pass(&mut session, MANY));
        session.batch_execute("select queue.send('messages', '1'), queue.send('messages', '2', 1)").unwrap();
        session.batch_execute("select from queue.read('messages', 1, 1)").unwrap();
        platform.sql(&format!("select job.enqueue('run', jsonb_build_object('number', {round}))"));
        wait_for("the job has failed", || platform.count("job.failures") == 1);
        let mut poller = platform.session();
        let pid: i32 = poller.query_one("select pg_backend_pid()", &[]).unwrap().get(0);
        let polls =
            thread::spawn(move || poller.batch_execute("select from queue.read_with_poll('poll', 1, 1, 2)"));
        wait_for("somebody polls", || {
            platform.count(&format!("pg_stat_activity where pid = {pid} and wait_event_type = 'Extension'"))
                == 1
        });
        shown -= back;
        clock.set(shown);
        let now = platform.value("select extract(year from clock_timestamp())::text").unwrap();
        assert!(
            round == 0
                || now
                    < platform.value("select extract(year from pg_postmaster_start_time())::text").unwrap()
        );

        (0..6).for_each(|_| pass(&mut session, MANY));
        wait_for("the space is given back", || {
            pass(&mut session, 100);
            size(&platform) < 6 << 20
        });
        wait_for("the lease and the delay are over", || {
            platform.count("queue.peek('messages', 10) where read_ct <= 1") == 2
        });
        platform.sql("select queue.pop('messages', 10)");
        wait_for("the job has run", || {
            platform.count(&format!("ran where number = {round} and attempt = 2")) == 1
        });
        polls.join().unwrap().unwrap();
        // What is told from here on is by the clock as it is.
        platform
            .sql("select queue.send('messages', '3'), job.enqueue('run', jsonb_build_object('number', 70))");
        assert_eq!(platform.count("queue.pop('messages', 10)"), 1);
        wait_for("another job", || platform.count("ran where number = 70") == round as i64 + 1);
        platform.sql("truncate job.failure");
    }
}
