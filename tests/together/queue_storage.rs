//! What becomes of a queue's tables: truncation, dumps, other row types, crashes, and what a take costs.

use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Instant;

use cluster::postgres::Client;
use cluster::{Life, Shutdown};
use howdah_tests::bounds;
use howdah_tests::crashes::{self, survive};
use howdah_tests::platform::wait_for;
use howdah_tests::queues::{Queues, all, buffers, error, number, put, sorted, take, try_take};

const TAKE: &str = "select count(*) from queue.take('bips', 1000, null::t_bip)";
/// Thousands of rows that wait, and the size of segments with which some are truncated on the way.
const BACKLOG: (i64, &str) = if cfg!(feature = "long") { (5000, "16MB") } else { (300, "1MB") };

#[test]
fn a_take_touches_as_many_pages_whatever_the_backlog_and_what_has_been_taken() {
    let (backlog, segment) = BACKLOG;
    let queues = Queues::with(&[("shared_buffers", "256MB"), ("howdah.queue_segment_size", segment)]);
    let mut session = queues.session();
    let fill = |session: &mut Client, batches: i64| {
        (0..batches).for_each(|batch| put(session, batch * 1000 + 1, batch * 1000 + 1000));
    };
    let takes = |session: &mut Client, count: i64| (0..count).for_each(|_| drop(take(session, 1000)));
    // The first takes touch fewer, until each segment has been filled once.
    fill(&mut session, 50);
    takes(&mut session, 30);
    // One take in twelve goes on in the next segment, and one after a truncation reads the catalog again: half of them do not.
    let pages_of_a_take = |session: &mut Client| {
        let mut pages: Vec<_> = (0..13).map(|_| buffers(session, TAKE)).collect();
        pages.sort_unstable();
        pages[6]
    };
    let few = pages_of_a_take(&mut session);
    fill(&mut session, backlog);
    let many = pages_of_a_take(&mut session);
    takes(&mut session, backlog - 20);
    let later = pages_of_a_take(&mut session);
    for (case, pages) in [("with a backlog", many), ("after many takes", later)] {
        assert!(pages <= few + few / 5 + 4, "{case} a take touches {pages} pages, before {few}");
    }
}

#[test]
fn counting_reads_the_ledger_and_no_rows() {
    let queues = Queues::start();
    let mut session = queues.session();
    for (first, last) in [(0, 10), (10, 300)] {
        (first..last).for_each(|batch| put(&mut session, batch * 1000 + 1, batch * 1000 + 1000));
        let before = pages_of_rows_read(&mut session);
        let pages = buffers(&mut session, "select queue_length from queue.metrics('bips')");
        assert_eq!(pages_of_rows_read(&mut session), before);
        let all = number(&mut session, SIZE);
        assert!(pages < 50 + all / 20, "counting {last} batches touches {pages} pages of {all}");
    }
}

/// How many pages of rows have been read so far, as the statistics say.
fn pages_of_rows_read(session: &mut Client) -> i64 {
    session.batch_execute("select pg_stat_force_next_flush()").unwrap();
    let read = "select sum(heap_blks_read + heap_blks_hit)::bigint from pg_statio_all_tables where relname ~ '^rows_1_'";
    number(session, read)
}

/// Pages of all tables and indexes of the queue.
const SIZE: &str = "select coalesce(sum(pg_relation_size(oid)), 0)::bigint / 8192 from pg_class
    where relnamespace = 'queue'::regnamespace and relname ~ '^(rows|ledger)_'";

#[test]
fn what_has_been_taken_is_truncated_while_rows_come_and_go() {
    let queues = Queues::with(&[("howdah.queue_segment_size", "1MB")]);
    let mut session = queues.session();
    // What is kept of answers outlives it: no names change.
    let names = number(&mut session, "select http.last_change(null)");
    let mut largest = 0;
    for batch in 0..150 {
        put(&mut session, batch * 1000 + 1, batch * 1000 + 1000);
        assert_eq!(take(&mut session, 1000), all(batch * 1000 + 1, batch * 1000 + 1000));
        if batch % 10 == 9 {
            number(&mut session, "select queue.maintain('bips')::bigint");
        }
        largest = largest.max(number(&mut session, SIZE));
    }
    assert_eq!(number(&mut session, "select http.last_change(null)"), names);
    // All rows together are 150,000 of 80 bytes: 12 MB.
    assert!(largest < 700, "the tables had {largest} pages");
    // Numbers go on after a restart, though the segment that had the highest is empty.
    let before = number(&mut session, "select total_messages from queue.metrics('bips')");
    let mut queues = queues;
    drop(session);
    queues.cluster.restart(Shutdown::Immediate, Life::WithParent).unwrap();
    let after = queues.number("select queue.put('bips', row(null, 1, 1, 1, '', '')::t_bip)");
    assert!(after > before, "number {after} comes after {before}");
    assert_eq!(take(&mut queues.session(), 10), [1]);
}

#[test]
fn what_was_leased_for_long_and_removed_is_truncated_before_its_lease_is_over() {
    let queues = Queues::with(&[("howdah.queue_segment_size", "1MB")]);
    let mut session = queues.session();
    session.batch_execute("select queue.create('m')").unwrap();
    let send = "select queue.send_batch('m', array(select jsonb_build_object('n', n) from generate_series(1, 1000) n))";
    (0..40).for_each(|_| session.batch_execute(send).unwrap());
    let pages = "select sum(pg_relation_size(oid))::bigint / 8192 from pg_class where relname ~ '^rows_'";
    let full = number(&mut session, pages);
    let mut kept = None;
    for batch in 0..40 {
        let lease = "select array_agg(msg_id) from queue.read('m', 3600, 1000)";
        let mut leased: Vec<i64> = session.query_one(lease, &[]).unwrap().get(0);
        assert_eq!(leased.len(), 1000);
        if batch == 5 {
            kept = leased.pop();
        }
        session.execute("select queue.delete('m', $1::bigint[])", &[&leased]).unwrap();
    }
    // The first segment has one that is still leased, the second none, the third is written to.
    wait_for("a segment is truncated", || {
        session.batch_execute("select queue.maintain('m')").unwrap();
        number(&mut session, pages) < full - 100
    });
    assert_eq!(number(&mut session, "select queue_length from queue.metrics('m')"), 1);
    session.batch_execute(&format!("select queue.set_vt('m', {}, 0)", kept.unwrap())).unwrap();
    assert_eq!(number(&mut session, "select msg_id from queue.read('m', 3600, 1)"), kept.unwrap());
}

#[test]
fn what_was_leased_for_long_and_removed_is_truncated_also_where_nobody_sends_any_more() {
    let queues = Queues::with(&[("howdah.queue_segment_size", "1MB")]);
    let mut session = queues.session();
    let send = "select queue.create('m');
        select queue.send_batch('m', array(select jsonb_build_object('pad', repeat('x', 200)) from generate_series(1, 10000) n))";
    session.batch_execute(send).unwrap();
    let remove =
        "select count(*) from queue.delete('m', array(select msg_id from queue.read('m', 3600, 100000)))";
    assert_eq!(number(&mut session, remove), 10_000);
    wait_for("the segment that was written to is truncated", || {
        session.batch_execute("select queue.maintain('m')").unwrap();
        number(&mut session, SIZE) < 128
    });
}

#[test]
fn who_waits_for_a_queue_that_is_dropped_meanwhile_is_told_so() {
    let queues = Queues::start();
    put(&mut queues.session(), 1, 10);
    let mut dropping = queues.session();
    dropping.batch_execute("begin; select queue.drop_queue('bips')").unwrap();
    std::thread::scope(|scope| {
        let taker = scope.spawn(|| try_take(&mut queues.session(), 1));
        let waiting = "select count(*) from pg_stat_activity where wait_event_type = 'Lock'";
        wait_for("the taker waits", || queues.number(waiting) == 1);
        dropping.batch_execute("commit").unwrap();
        let error = taker.join().unwrap().expect_err("the queue is gone");
        let raised = error.as_db_error().expect("the server is there");
        assert_eq!((raised.code().code(), raised.message()), ("42704", "queue bips was dropped"));
    });
}

#[test]
fn who_waits_for_rows_of_a_queue_that_is_dropped_and_made_again_is_told_so_at_once() {
    let queues = Queues::start();
    queues.put(1, 1);
    // The second finds out that nothing is left: then who waits has no lock.
    assert_eq!([1, 1].map(|count| take(&mut queues.session(), count).len()), [1, 0]);
    std::thread::scope(|scope| {
        let poll = "select count(*) from queue.take_with_poll('bips', 1, '25 s', null::t_bip)";
        let waiter = scope.spawn(|| queues.session().batch_execute(poll));
        let waiting = "select count(*) from pg_stat_activity where wait_event_type = 'Extension' and query like '%with_poll%'";
        wait_for("it waits", || queues.number(waiting) == 1);
        queues.sql(
            "begin; select queue.drop_queue('bips'); select queue.create('bips', row_type => 't_bip'); commit",
        );
        let dropped = Instant::now();
        let error = waiter.join().unwrap().expect_err("the queue is gone");
        let raised = error.as_db_error().expect("the server is there");
        assert_eq!((raised.code().code(), raised.message()), ("42704", "queue bips was dropped"));
        bounds::DROP_WAKES.check(dropped.elapsed());
    });
}

#[test]
fn what_was_sent_is_counted_after_a_restart_as_before() {
    let mut queues = Queues::start();
    queues.sql("select queue.create('m')");
    queues.sql("select queue.send_batch('m', array['1', '2', '3']::jsonb[])");
    queues.put(1, 300);
    assert_eq!(take(&mut queues.session(), 10), all(1, 10));
    queues.cluster.restart(Shutdown::Immediate, Life::WithParent).unwrap();
    let sent = |queue: &str| queues.number(&format!("select total_messages from queue.metrics('{queue}')"));
    assert_eq!([sent("m"), sent("bips")], [3, 300]);
    assert_eq!(queues.number("select queue.send('m', '4')"), 4);
}

#[test]
fn a_truncation_that_is_rolled_back_loses_nothing() {
    let queues = Queues::with(&[("howdah.queue_segment_size", "1MB")]);
    let mut session = queues.session();
    put(&mut session, 1, 20_000);
    put(&mut session, 20_001, 20_010);
    assert_eq!(take(&mut session, 20_000).len(), 20_000);
    session.batch_execute("begin").unwrap();
    assert_eq!(number(&mut session, "select queue.maintain('bips')::bigint"), 1);
    put(&mut session, 20_011, 20_020);
    session.batch_execute("rollback").unwrap();
    put(&mut session, 20_021, 20_030);
    assert_eq!(sorted(take(&mut session, 100)), [all(20_001, 20_010), all(20_021, 20_030)].concat());
}

#[test]
fn a_purge_that_is_rolled_back_loses_nothing_whatever_its_transaction_has_looked_at() {
    let queues = Queues::with(&[("howdah.queue_segment_size", "1MB")]);
    let mut session = queues.session();
    let purge = "select queue.purge_queue('bips')";
    let take_one = "select count(*) from queue.take('bips', 1, null::t_bip)";
    let maintain = "select queue.maintain('bips')";
    let ways = [
        format!("begin; {purge}; {take_one}; rollback"),
        format!("begin; {purge}; {maintain}; {maintain}; rollback"),
        format!("begin; {take_one}; {purge}; savepoint purged; {take_one}; rollback"),
        format!("begin; savepoint before; {purge}; {take_one}; rollback to before; {take_one}; rollback"),
        format!("begin; savepoint before; {purge}; {take_one}; release before; rollback"),
        format!("begin; {purge}; {take_one}; prepare transaction 'purge'"),
        "do $$ begin
           perform queue.purge_queue('bips');
           perform queue.take('bips', 1, null::t_bip);
           raise exception 'in vain';
         exception when raise_exception then null; end $$"
            .to_owned(),
    ];
    for way in ways {
        (0..30).for_each(|batch| put(&mut session, batch * 1000 + 1, batch * 1000 + 1000));
        session.batch_execute(&way).unwrap_or_else(|error| panic!("{way}: {error:?}"));
        if way.contains("prepare transaction") {
            session.batch_execute("rollback prepared 'purge'").unwrap();
        }
        assert_eq!(number(&mut session, "select queue_length from queue.metrics('bips')"), 30_000, "{way}");
        assert_eq!(take(&mut session, 100_000), all(1, 30_000), "{way}");
        wait_for("what was there again and is taken is truncated", || {
            session.batch_execute(maintain).unwrap();
            number(&mut session, SIZE) < 150
        });
    }
}

#[test]
fn who_waits_for_rows_is_woken_when_a_purge_is_rolled_back() {
    let queues = Queues::start();
    queues.put(1, 10);
    let mut session = queues.session();
    session.batch_execute("begin; select queue.purge_queue('bips')").unwrap();
    assert!(take(&mut session, 1).is_empty());
    std::thread::scope(|scope| {
        let poll = "select count(*) from queue.take_with_poll('bips', 10, '20 s', null::t_bip)";
        let waiter = scope.spawn(|| queues.number(poll));
        let waiting = "select count(*) from pg_stat_activity where query like '%with_poll%'
            and wait_event_type in ('Extension', 'Lock') and pid <> pg_backend_pid()";
        wait_for("it waits", || queues.number(waiting) == 1);
        session.batch_execute("rollback").unwrap();
        let back = Instant::now();
        assert_eq!(waiter.join().unwrap(), 10);
        bounds::DROP_WAKES.check(back.elapsed());
    });
}

#[test]
fn vacuum_full_and_a_rewrite_of_the_tables_lose_nothing() {
    let queues = Queues::start();
    let mut session = queues.session();
    session.batch_execute("begin").unwrap();
    put(&mut session, 1, 5000);
    session.batch_execute("rollback").unwrap();
    (0..30).for_each(|batch| put(&mut session, batch * 1000 + 1, batch * 1000 + 1000));
    assert_eq!(take(&mut session, 5000).len(), 5000);
    session.batch_execute("vacuum full queue.rows_1_1").unwrap();
    assert_eq!(sorted(take(&mut session, 5000)), all(5001, 10_000));
    session.batch_execute("vacuum full queue.ledger_1_1").unwrap();
    let pages = buffers(&mut session, TAKE);
    assert!(pages < 300, "a take touches {pages} pages after VACUUM FULL");
    assert!(error(&mut session, "cluster queue.rows_1_1").contains("index"));
    // An index makes CLUSTER possible, and sending an error until it is gone.
    session.batch_execute("create index descending on queue.rows_1_1 (\"@position\" desc)").unwrap();
    session.batch_execute("cluster queue.rows_1_1 using descending").unwrap();
    assert!(
        error(&mut session, "select queue.put('bips', row(null,1,1,1,'','')::t_bip)")
            .contains("Drop the index")
    );
    session.batch_execute("drop index queue.descending").unwrap();
    assert_eq!(sorted(take(&mut session, 50_000)), all(11_001, 30_000));
}

#[test]
fn the_tables_follow_the_row_type() {
    let queues = Queues::start();
    queues.put(1, 5);
    queues.sql("alter type t_bip add attribute language text");
    queues.sql("select queue.put('bips', row(null, 6, 1, 1, 'b', 'u', 'de')::t_bip)");
    for change in [
        "alter type t_bip drop attribute bip",
        "alter type t_bip alter attribute version type bigint",
        "alter type t_bip rename attribute bip to beep",
    ] {
        let error = queues.error(change);
        assert!(error.starts_with("2BP01"), "{change}: {error}");
    }
    assert!(queues.error("drop type t_bip").starts_with("2BP01"));
    let rows =
        queues.session().query("select userid, language, bip from queue.take('bips', 10, null::t_bip)", &[]);
    let rows: Vec<(i64, Option<String>, String)> =
        rows.unwrap().iter().map(|row| (row.get(0), row.get(1), row.get(2))).collect();
    assert_eq!(rows.len(), 6);
    assert_eq!(rows[0], (1, None, "bip 1".into()));
    assert_eq!(rows[5], (6, Some("de".into()), "b".into()));
    queues.sql(
        "alter type t_bip drop attribute bip;
         alter type t_bip alter attribute version type bigint;
         alter type t_bip rename attribute \"user\" to person",
    );
    queues.sql("select queue.put('bips', row(null, 7, 5000000000, 1, 'me', 'en')::t_bip)");
    let row = queues
        .session()
        .query_one("select version, person, language from queue.take('bips', 1, null::t_bip)", &[]);
    let row = row.unwrap();
    assert_eq!(
        (row.get::<_, i64>(0), row.get::<_, &str>(1), row.get::<_, &str>(2)),
        (5_000_000_000, "me", "en")
    );
}

#[test]
fn a_queue_whose_tables_lack_a_column_says_who_gives_it() {
    let queues = Queues::start();
    queues.sql("alter event trigger howdah_queue_types disable");
    queues.sql("alter type t_bip add attribute language text");
    queues.sql("alter event trigger howdah_queue_types enable");
    let put = "select queue.put('bips', row(null, 1, 1, 1, 'b', 'u', 'de')::t_bip)";
    let error = queues.error(put);
    let (refusal, remedy) = error.split_once("A superuser gives them one: ").expect(&error);
    assert!(refusal.contains("no column for language"), "{error}");
    queues.sql(remedy.trim_end_matches('.'));
    queues.sql(put);
}

#[test]
fn an_unlogged_queue_is_empty_after_a_crash_and_its_archive_is_not() {
    let mut queues = Queues::start();
    queues.sql("select queue.create('fast', unlogged => true)");
    queues.sql("select queue.create('rows', row_type => 't_bip', unlogged => true)");
    queues.sql("select queue.put('rows', row(null, 1, 1, 1, '', '')::t_bip)");
    queues.sql("select queue.send('fast', '1'), queue.send('fast', '2')");
    queues.sql("select queue.archive('fast', 1)");
    queues.cluster.restart(Shutdown::Immediate, Life::WithParent).unwrap();
    for queue in ["fast", "rows"] {
        let length = format!("select queue_length from queue.metrics('{queue}')");
        assert_eq!(queues.number(&length), 0, "{queue}");
    }
    assert_eq!(queues.number("select count(*) from queue.read('fast', 30, 10)"), 0);
    // Its numbers are not given out again.
    let number = queues.number("select queue.send('fast', '3')");
    assert!(number > 1, "{number}");
    queues.sql(&format!("select queue.archive('fast', {number})"));
    assert_eq!(queues.number("select count(*) from queue.a_fast"), 2);
    queues.sql("select queue.put('rows', row(null, 1, 1, 1, '', '')::t_bip)");
    assert_eq!(queues.number("select count(*) from queue.take('rows', 10, null::t_bip)"), 1);
}

/// What a producer and a consumer have been told.
#[derive(Default)]
struct Told {
    sent: Vec<i64>,
    taken: Vec<i64>,
    /// What a consumer asked to commit when the server died: it may have been committed or not.
    unsure: Vec<i64>,
}

#[test]
fn nothing_that_was_committed_is_lost_or_doubled_by_crashes() {
    crashes(if cfg!(feature = "long") { 200 } else { 10 });
}

fn crashes(count: usize) {
    let mut queues = Queues::with(&[("howdah.queue_segment_size", "1MB")]);
    let next = AtomicI64::new(1);
    let results = survive(&mut queues, count, 6, |worker, queues, life| {
        if worker < 3 { produce(queues, life, &next) } else { consume(queues, life) }
    });
    let mut told = Told::default();
    for result in results {
        told.sent.extend(result.sent);
        told.taken.extend(result.taken);
        told.unsure.extend(result.unsure);
    }
    let left = take(&mut queues.session(), 10_000_000);
    let known = |list: &[i64]| list.iter().copied().collect::<std::collections::HashSet<_>>();
    let (taken, left_set, unsure) = (known(&told.taken), known(&left), known(&told.unsure));
    assert_eq!(taken.len(), told.taken.len(), "a row was taken twice");
    assert_eq!(left_set.len(), left.len(), "a row is there twice");
    assert!(taken.is_disjoint(&left_set), "a row that was taken is there again");
    let lost: Vec<_> = told
        .sent
        .iter()
        .filter(|row| !taken.contains(row) && !left_set.contains(row) && !unsure.contains(row))
        .collect();
    assert!(lost.is_empty(), "{} rows of {} are lost", lost.len(), told.sent.len());
    assert!(told.sent.len() > 100 && told.taken.len() > 100, "hardly anything happened");
}

fn produce(queues: &Queues, life: &crashes::Life, next: &AtomicI64) -> Told {
    let mut told = Told::default();
    let Ok(mut session) = queues.cluster.connect("postgres") else { return told };
    for round in 0.. {
        let count = if round % 3 == 0 { 200 } else { 1 };
        let first = next.fetch_add(count, Ordering::SeqCst);
        let last = first + count - 1;
        let statement = format!(
            "select queue.put('bips', array(select row(null, n, 1, 2, 'b', 'u')::t_bip
             from generate_series({first}, {last}) n))"
        );
        if session.batch_execute(&statement).is_err() || !life.goes_on() {
            break;
        }
        told.sent.extend(first..=last);
    }
    told
}

fn consume(queues: &Queues, life: &crashes::Life) -> Told {
    let mut told = Told::default();
    let Ok(mut session) = queues.cluster.connect("postgres") else { return told };
    for round in 0.. {
        if !life.goes_on() || session.batch_execute("begin").is_err() {
            break;
        }
        let Ok(rows) = try_take(&mut session, [1, 50, 300][round % 3]) else { break };
        let end = if round % 7 == 6 { "rollback" } else { "commit" };
        match session.batch_execute(end) {
            Ok(()) if end == "commit" => told.taken.extend(rows),
            Ok(()) => {}
            Err(_) => {
                told.unsure.extend(rows);
                break;
            }
        }
    }
    told
}

#[test]
fn what_is_known_of_a_queue_is_given_to_another_once_nobody_can_use_it_any_more() {
    let queues = Queues::with(&[("howdah.max_queues", "2")]);
    queues.put(1, 1);
    let send = |queue: &str| format!("select queue.send('{queue}', '1')");
    let create = "select queue.create('late')";
    let (mut maker, mut dropper) = (queues.session(), queues.session());

    // A queue that is not committed yet keeps its place.
    maker.batch_execute("begin; select queue.create('new')").unwrap();
    maker.batch_execute(&send("new")).unwrap();
    assert!(queues.error(create).starts_with("53400"));
    maker.batch_execute(&format!("{}; commit", send("new"))).unwrap();
    assert_eq!(queues.number("select count(distinct msg_id) from queue.peek('new', 10)"), 2);

    // So does one whose drop may be rolled back, also from the transaction that drops it.
    dropper.batch_execute("begin; select queue.drop_queue('new'); savepoint dropped").unwrap();
    assert!(error(&mut dropper, create).starts_with("53400"));
    dropper.batch_execute("rollback to dropped").unwrap();
    assert!(queues.error(create).starts_with("53400"));
    dropper.batch_execute("commit").unwrap();
    queues.sql(create);
    queues.sql(&send("late"));
}
