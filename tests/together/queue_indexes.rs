//! Indexes of the queues' tables that others build, replace or drop, as `reindexdb --concurrently` does each night.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use cluster::postgres::Client;
use cluster::{Life, Shutdown};
use howdah_tests::queues::{Queues, all, error, number, put, sorted, take};
use howdah_tests::wait_for;

/// Indexes of the first segment's ledger that are not what they were: built, or left by who was cancelled.
const UNFINISHED: &str = "select count(*) from pg_index where indrelid = 'queue.ledger_1_1'::regclass and not (indisvalid and indisready)";

fn reindex(session: &mut Client) -> Result<(), cluster::postgres::Error> {
    session.batch_execute("reindex table concurrently queue.ledger_1_1")
}

#[test]
fn rows_come_and_go_while_an_index_is_rebuilt() {
    let queues = Queues::start();
    queues.put(1, 1000);
    let mut session = queues.session();
    thread::scope(|scope| {
        let mut worker = queues.session();
        worker.batch_execute("begin").unwrap();
        assert_eq!(take(&mut worker, 1), [1]);
        let rebuilt = scope.spawn(|| reindex(&mut queues.session()));
        wait_for("the new indexes are there", || number(&mut session, UNFINISHED) > 0);
        put(&mut session, 1001, 1010);
        assert_eq!(take(&mut session, 9), all(2, 10));
        worker.batch_execute("commit").unwrap();
        rebuilt.join().unwrap().unwrap();
    });
    put(&mut session, 1011, 1020);
    assert_eq!(take(&mut session, 10_000), all(11, 1020));
}

#[test]
fn rows_come_and_go_after_the_rebuilding_of_an_index_was_cancelled() {
    let mut queues = Queues::start();
    queues.put(1, 1000);
    let mut session = queues.session();
    thread::scope(|scope| {
        let mut report = queues.session();
        report.batch_execute("begin isolation level repeatable read; select 1").unwrap();
        let mut rebuilding = queues.session();
        let cancel = rebuilding.cancel_token();
        let rebuilt = scope.spawn(move || reindex(&mut rebuilding));
        let waits =
            "select count(*) from pg_stat_progress_create_index where phase = 'waiting for old snapshots'";
        wait_for("it waits for the report", || number(&mut session, waits) == 1);
        cancel.cancel_query(cluster::postgres::NoTls).unwrap();
        assert!(rebuilt.join().unwrap().is_err());
    });
    assert!(number(&mut session, UNFINISHED) > 0, "nothing was left");
    put(&mut session, 1001, 1500);
    assert_eq!(take(&mut session, 300), all(1, 300));
    // As the manual of PostgreSQL says.
    let drop_unfinished = "do $$ declare name regclass; begin
        for name in select indexrelid from pg_index where indrelid = 'queue.ledger_1_1'::regclass and not indisvalid loop
          execute 'drop index ' || name;
        end loop; end $$";
    session.batch_execute(drop_unfinished).unwrap();
    drop(session);
    queues.cluster.restart(Shutdown::Immediate, Life::WithParent).unwrap();
    assert_eq!(take(&mut queues.session(), 10_000), all(301, 1500));
}

#[test]
fn indexes_that_are_rebuilt_again_and_again_lose_and_double_nothing() {
    let queues = Queues::start();
    let (is_over, count) = (AtomicBool::new(false), AtomicUsize::new(0));
    let (sent, taken) = thread::scope(|scope| {
        let sent = scope.spawn(|| {
            let (mut session, mut last) = (queues.session(), 0);
            while !is_over.load(Ordering::Relaxed) {
                put(&mut session, last + 1, last + 10);
                last += 10;
            }
            last
        });
        let taken = scope.spawn(|| {
            let (mut session, mut taken) = (queues.session(), Vec::new());
            while !is_over.load(Ordering::Relaxed) {
                taken.extend(take(&mut session, 7));
                count.store(taken.len(), Ordering::Relaxed);
            }
            taken
        });
        let mut session = queues.session();
        let mut rebuilt = (0..10).try_for_each(|_| reindex(&mut session));
        // On a busy machine little may have happened until now.
        while rebuilt.is_ok() && !taken.is_finished() && count.load(Ordering::Relaxed) <= 100 {
            rebuilt = reindex(&mut session);
        }
        is_over.store(true, Ordering::Relaxed);
        rebuilt.unwrap();
        (sent.join().unwrap(), taken.join().unwrap())
    });
    let rest = take(&mut queues.session(), 10_000_000);
    assert_eq!(sorted([taken, rest].concat()), all(1, sent));
}

#[test]
fn an_index_that_is_missing_or_of_another_kind_is_named() {
    let queues = Queues::start();
    let mut session = queues.session();
    put(&mut session, 1, 10);
    // One that others have made is kept like ours, if it can be.
    session
        .batch_execute(
            "create index on queue.ledger_1_1 (at, first); create index on queue.ledger_1_1 (first desc)",
        )
        .unwrap();
    put(&mut session, 11, 20);
    assert_eq!(take(&mut session, 5), all(1, 5));
    let by_time = "set enable_seqscan = off; set enable_bitmapscan = off";
    session.batch_execute(by_time).unwrap();
    let claims = "select count(*) from queue.ledger_1_1 where at > '2020-01-01' and reads >= 0";
    assert!(number(&mut session, claims) > 0);
    let refused = "select queue.put('bips', row(null, 1, 1, 1, '', '')::t_bip)";
    for columns in [
        "(abs(first))",
        "(at) where reads < 0",
        "(producer) where producer is not null and epoch > 0",
        "(at) where epoch is not null",
    ] {
        session.batch_execute(&format!("create index odd on queue.ledger_1_1 {columns}")).unwrap();
        let message = error(&mut session, refused);
        assert!(message.contains("index of another kind: queue.odd Drop the index"), "{message}");
        session.batch_execute("drop index queue.odd").unwrap();
    }
    let missing = |session: &mut Client| {
        let message = error(session, refused);
        let expected = "55000 an index of queue.ledger_1_1 is missing or not valid REINDEX TABLE";
        assert!(message.starts_with(expected), "{message}");
    };
    session.batch_execute("drop index queue.ledger_1_1_first_count_at_idx").unwrap();
    for columns in
        ["(first, count, at)", "(first, count)", "(first, count, at desc) where producer is not null"]
    {
        missing(&mut session);
        session.batch_execute(&format!("create index on queue.ledger_1_1 {columns}")).unwrap();
    }
    missing(&mut session);
    session.batch_execute("create index on queue.ledger_1_1 (first, count, at desc)").unwrap();
    session.batch_execute("drop index queue.ledger_1_1_producer_epoch_sequence_idx").unwrap();
    // Names are told apart by their bytes.
    for columns in [
        "(producer collate \"und-x-icu\", epoch, sequence) where producer is not null",
        "(producer, epoch, sequence)",
    ] {
        missing(&mut session);
        session.batch_execute(&format!("create index on queue.ledger_1_1 {columns}")).unwrap();
    }
    missing(&mut session);
    session
        .batch_execute(
            "create index on queue.ledger_1_1 (producer, epoch, sequence) where producer is not null",
        )
        .unwrap();
    put(&mut session, 21, 30);
    assert_eq!(take(&mut session, 100), all(6, 30));
}

#[test]
fn an_index_on_the_rows_forbids_sending_until_it_is_dropped() {
    let queues = Queues::start();
    queues.put(1, 10);
    queues.sql("create index descending on queue.rows_1_1 (\"@position\" desc)");
    let refused = "select queue.put('bips', row(null, 1, 1, 1, '', '')::t_bip)";
    assert!(queues.error(refused).contains("Drop the index"));
    queues.sql("drop index queue.descending");
    queues.put(11, 20);
    assert_eq!(take(&mut queues.session(), 100), all(1, 20));
}

#[test]
fn the_numbers_of_an_unlogged_queue_go_on_above_its_archive_whatever_indexes_it_has() {
    for indexes in [
        "create index on queue.a_fast (msg_id desc); create index on queue.a_fast (msg_id) where msg_id < 3",
        "alter table queue.a_fast drop constraint a_fast_pkey",
    ] {
        let mut queues = Queues::start();
        // A number that the time has not come to.
        queues.sql("select queue.create('fast', unlogged => true)");
        queues.sql(
            "insert into queue.a_fast (msg_id, read_ct, enqueued_at, vt)
             select n, 1, now(), now() from unnest(array[1, 5000000000000000]) n",
        );
        queues.sql(indexes);
        queues.cluster.restart(Shutdown::Immediate, Life::WithParent).unwrap();
        let number = queues.number("select queue.send('fast', '3')");
        assert!(number > 5_000_000_000_000_000, "{indexes}: {number}");
    }
}
