//! Rows that stay do not keep the space of those that went.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use cluster::postgres::Client;
use cluster::{Life, Shutdown};
use howdah_tests::queues::{Queues, number};

const SIZE: &str = "select sum(pg_total_relation_size(c.oid))::bigint from pg_class c
    where c.relkind = 'r' and c.relname ~ '^(rows|ledger)_' and c.relnamespace = 'queue'::regnamespace";

/// Copies of the rows that stay, in all segments.
const STORED: &str =
    "select count(*) from (select message from queue.rows_2_1 union all select message from queue.rows_2_2
    union all select message from queue.rows_2_3) stored where message = '\"stays\"'";

/// Messages go through a queue, of which a few are delayed now and then, others leased, given back and acknowledged.
fn pass(queues: &Queues, rounds: i64, rows: i64) {
    let mut session = queues.session();
    for round in 0..rounds {
        session
            .batch_execute(&format!(
                "select count(*) from queue.send_batch('notes',
                   array(select to_jsonb(repeat('x', 100)) from generate_series(1, {rows}) n));
                 select count(*) from queue.pop('notes', {rows})"
            ))
            .unwrap();
        if round % 10 == 1 {
            session
                .batch_execute(&format!("select queue.send('notes', '{{\"delayed\": {round}}}', 86400)"))
                .unwrap();
            session.batch_execute("select queue.send('notes', '{\"leased\": true}')").unwrap();
            session.batch_execute("select msg_id from queue.read('notes', 3600, 1)").unwrap();
        }
    }
}

/// Truncates what can be truncated: also the segment that is written to, once there is another to go to.
fn maintain(queues: &Queues) {
    (0..2).for_each(|_| queues.sql("select queue.maintain('notes')"));
}

#[test]
fn rows_that_stay_end_no_truncation() {
    let mut queues = Queues::with(&[("howdah.queue_segment_size", "2MB")]);
    queues.sql("select queue.create('notes')");
    let long = "x".repeat(300_000);
    queues.sql(&format!("select queue.send('notes', to_jsonb('{long}'::text), 86400)"));
    pass(&queues, 25, 10_000);
    maintain(&queues);
    let mut session = queues.session();
    let before = number(&mut session, SIZE);
    // Some are given back and acknowledged, by the numbers that they have had all the time.
    let leased = "select msg_id from queue.read('notes', 3600, 100)";
    assert!(session.query(leased, &[]).unwrap().is_empty());
    pass(&queues, 25, 10_000);
    maintain(&queues);
    let after = number(&mut session, SIZE);
    assert!(after < 32 << 20, "{before}, then {after} bytes, of 60 MB that have passed each time");
    assert_eq!(number(&mut session, "select queue_length from queue.metrics('notes')"), 13);
    drop(session);
    queues.cluster.restart(Shutdown::Immediate, Life::WithParent).unwrap();
    let mut session = queues.session();
    let all = "select array_agg(msg_id) from queue.set_vt('notes', array(select generate_series(1, 600000)::bigint), 0)";
    let stayed: Vec<i64> = session.query_one(all, &[]).unwrap().get(0);
    assert_eq!(stayed.len(), 13);
    let acknowledged = format!("select queue.delete('notes', {})", stayed[5]);
    session.batch_execute(&acknowledged).unwrap();
    let rest = session
        .query("select msg_id, read_ct, length(message::text) from queue.pop('notes', 100)", &[])
        .unwrap();
    let numbers: Vec<i64> = rest.iter().map(|row| row.get(0)).collect();
    assert_eq!(numbers, [&stayed[..5], &stayed[6..]].concat());
    // One is delayed first of all, then one is delayed and one leased in turn: the sixth is delayed.
    let reads: Vec<i32> = rest.iter().map(|row| row.get(1)).collect();
    assert_eq!(reads, [0, 0, 1, 0, 1, 1, 0, 1, 0, 1, 0, 1]);
    assert_eq!(rest[0].get::<_, i32>(2), 300_002);
}

#[test]
fn who_has_a_snapshot_sees_rows_that_are_moved_where_they_were() {
    let queues = Queues::with(&[("howdah.queue_segment_size", "1MB")]);
    queues.sql("select queue.create('notes')");
    let send = |rows: i64, what: &str, delay: i64| {
        queues.sql(&format!(
            "select count(*) from queue.send_batch('notes', array(select '\"{what}\"'::jsonb from generate_series(1, {rows})), {delay})"
        ));
    };
    send(20_000, "goes", 0);
    send(3_000, "stays", 86400);
    send(20_000, "goes", 0);
    let mut snapshot = queues.session();
    snapshot.batch_execute("begin isolation level repeatable read; select 1").unwrap();
    pass(&queues, 12, 10_000);
    assert_eq!(queues.number("select count(*) from queue.pop('notes', 1000000)"), 40_000);
    let maintain = || (0..5).for_each(|_| queues.sql("select queue.maintain('notes')"));
    maintain();
    assert_eq!(number(&mut snapshot, STORED), 3_000);
    snapshot.batch_execute("rollback").unwrap();
    maintain();
    assert_eq!(queues.number(STORED), 3_000, "they are in one place again");
    let size = queues.number(SIZE);
    assert!(size < 8 << 20, "{size}");
    assert_eq!(queues.number("select queue_length from queue.metrics('notes')"), 3_004);
}

#[test]
fn who_holds_a_transaction_or_a_snapshot_loses_no_row_that_stays() {
    let queues = Queues::with(&[("howdah.queue_segment_size", "1MB")]);
    queues.sql("select queue.create('notes')");
    let (mut prepared, mut snapshot) = (queues.session(), queues.session());
    prepared
        .batch_execute("begin; select queue.send('notes', '\"prepared\"'); prepare transaction 'sent'")
        .unwrap();
    snapshot.batch_execute("begin isolation level repeatable read; select 1").unwrap();
    queues.sql("select queue.send('notes', '\"stays\"', 86400)");
    pass(&queues, 12, 10_000);
    queues.sql("select queue.maintain('notes')");
    snapshot.batch_execute("rollback; begin isolation level repeatable read; select 1").unwrap();
    queues.sql("commit prepared 'sent'");
    assert_eq!(queues.number("select count(*) from queue.pop('notes', 10)"), 1);
    queues.sql("select queue.maintain('notes')");
    pass(&queues, 48, 10_000);
    maintain(&queues);
    // A dump that has its snapshot from before, and its locks from afterwards, has what stays.
    assert_eq!(number(&mut snapshot, STORED), 1);
    let size = number(&mut snapshot, SIZE);
    assert!(size < 32 << 20, "{size} bytes, after 90 MB have passed");
}

#[test]
fn who_has_a_snapshot_sees_rows_once_that_are_moved_to_a_segment_which_is_then_truncated() {
    let queues = with_some_that_stay();
    let mut session = queues.session();
    // A dump has its snapshot, and not yet its locks.
    let mut snapshot = queues.session();
    snapshot.batch_execute("begin isolation level repeatable read; select 1").unwrap();
    // Somebody uses the first segment: what stays is moved to the second.
    let mut user = queues.session();
    user.batch_execute("begin; lock table queue.rows_2_1 in access share mode").unwrap();
    session
        .batch_execute("select count(*) from queue.pop('notes', 100000); select queue.maintain('notes')")
        .unwrap();
    user.batch_execute("rollback").unwrap();
    // Of the second, too, little else is left.
    for _ in 0..8 {
        pass_by(&mut session);
    }
    (0..3).for_each(|_| session.batch_execute("select queue.maintain('notes')").unwrap());
    assert_eq!(number(&mut session, STORED), 80, "they were moved, and where they were is not truncated yet");
    assert_eq!(number(&mut snapshot, STORED), 40);
    snapshot.batch_execute("rollback").unwrap();
    (0..2).for_each(|_| session.batch_execute("select queue.maintain('notes')").unwrap());
    assert_eq!(number(&mut session, STORED), 40, "they are in one place again");
}

#[test]
fn who_has_a_snapshot_sees_rows_that_a_prepared_transaction_has_moved_before_a_restart() {
    let mut queues = with_some_that_stay();
    let (mut user, mut mover) = (queues.session(), queues.session());
    user.batch_execute("begin; lock table queue.rows_2_1 in access share mode").unwrap();
    mover.batch_execute("begin; select count(*) from queue.pop('notes', 100000)").unwrap();
    mover.batch_execute("select queue.maintain('notes'); prepare transaction 'moved'").unwrap();
    drop((user, mover));
    queues.cluster.restart(Shutdown::Immediate, Life::WithParent).unwrap();
    let mut session = queues.session();
    let mut snapshot = queues.session();
    snapshot.batch_execute("begin isolation level repeatable read; select 1").unwrap();
    session.batch_execute("commit prepared 'moved'").unwrap();
    let maintain = |session: &mut Client| {
        (0..3).for_each(|_| session.batch_execute("select queue.maintain('notes')").unwrap());
    };
    maintain(&mut session);
    assert_eq!(number(&mut session, STORED), 80, "they were moved, and where they were is not truncated yet");
    assert_eq!(number(&mut snapshot, STORED), 40);
    snapshot.batch_execute("rollback").unwrap();
    maintain(&mut session);
    assert_eq!(number(&mut session, STORED), 40, "they are in one place again");
}

/// A queue whose first segment is full, and has 40 messages that stay.
fn with_some_that_stay() -> Queues {
    let queues = Queues::with(&[("howdah.queue_segment_size", "1MB")]);
    queues.sql("select queue.create('notes')");
    let stay = "select count(*) from queue.send_batch('notes', array(select '\"stays\"'::jsonb from generate_series(1, 40)), 86400)";
    queues.sql(stay);
    let send = "select count(*) from queue.send_batch('notes', array(select to_jsonb(repeat('x', 900)) from generate_series(1, 130)))";
    (0..12).for_each(|_| queues.sql(send));
    queues
}

/// Messages pass through a queue, 130 kB of them.
fn pass_by(session: &mut Client) {
    session
        .batch_execute(
            "select count(*) from queue.send_batch('notes', array(select to_jsonb(repeat('x', 900)) from generate_series(1, 130)));
             select count(*) from queue.pop('notes', 130)",
        )
        .unwrap();
}

#[test]
fn rows_that_stay_are_not_lost_in_a_segment_that_they_were_in_before() {
    move_round("false");
}

#[test]
fn rows_that_stay_are_not_lost_where_an_earlier_version_has_moved_them() {
    // It did not note in the ledger that they were moved.
    move_round("reads = -2");
}

/// Rows that stay are moved while nothing can be truncated. These rows of the ledgers are forgotten again and again.
fn move_round(forgotten: &str) {
    const STAY: i64 = 21;
    let queues = Queues::with(&[("howdah.queue_segment_size", "1MB")]);
    queues.sql("select queue.create('notes')");
    let mut session = queues.session();
    let long = "(select string_agg(md5(random()::text), '') from generate_series(1, 58) where n > 0)";
    let stay = format!(
        "select count(*) from queue.send_batch('notes', array(select to_jsonb({long}) from generate_series(1, 6 * {STAY}) n), 86400)"
    );
    session.batch_execute(&stay).unwrap();
    pass(&queues, 1, 10_000);
    // Of the first segment little is left, and then still less: there is room in it.
    maintain(&queues);
    let most = format!(
        "select count(*) from queue.delete('notes', array(select generate_series({STAY} + 1, 6 * {STAY})::bigint))"
    );
    assert_eq!(number(&mut session, &most), 5 * STAY);
    let mut dump = queues.session();
    dump.batch_execute("begin isolation level repeatable read; select 1").unwrap();
    for segment in 1..=3 {
        let lock =
            format!("lock table queue.rows_2_{segment}, queue.ledger_2_{segment} in access share mode");
        dump.batch_execute(&lock).unwrap();
    }
    let length = "select queue_length from queue.metrics('notes')";
    for round in 0..14 {
        let messages = "select count(*) from queue.send_batch('notes', array(select to_jsonb(repeat('x', 900)) from generate_series(1, 400) n));
             select count(*) from queue.pop('notes', 400); select queue.maintain('notes')";
        session.batch_execute(messages).unwrap();
        assert_eq!(number(&mut session, length), STAY, "in round {round}");
        for segment in 1..=3 {
            session
                .batch_execute(&format!("delete from queue.ledger_2_{segment} where {forgotten}"))
                .unwrap();
        }
    }
    dump.batch_execute("rollback").unwrap();
    maintain(&queues);
    let all = format!(
        "select count(*) from queue.set_vt('notes', array(select generate_series(1, {STAY})::bigint), 0)"
    );
    assert_eq!(number(&mut session, &all), STAY);
    assert_eq!(number(&mut session, "select count(*) from queue.pop('notes', 100)"), STAY);
}

#[test]
fn rows_are_counted_once_while_they_are_moved() {
    const STAY: i64 = 12_000;
    let queues = Queues::with(&[("howdah.queue_segment_size", "2MB")]);
    queues.sql("select queue.create('notes')");
    // Each has a row of the ledger, so that counting takes as long as it can.
    for _ in 0..10 {
        queues.sql(&format!(
            "select queue.send('notes', '1') from generate_series(1, {}); select queue.send('notes', '1', 86400) from generate_series(1, {})",
            STAY / 2,
            STAY / 10
        ));
    }
    assert_eq!(queues.number("select count(*) from queue.pop('notes', 1000000)"), STAY * 5);
    // Copies are stored before what they were made from is truncated.
    let stored = "select 1000000 * (select count(*) from queue.rows_2_1) + 1000 * (select count(*) from queue.rows_2_2)
        + (select count(*) from queue.rows_2_3)";
    let (is_over, before) = (AtomicBool::new(false), queues.number(stored));
    thread::scope(|scope| {
        let counts = scope.spawn(|| {
            let (mut session, mut counts) = (queues.session(), Vec::new());
            while !is_over.load(Ordering::Relaxed) {
                counts.push(number(&mut session, "select queue_length from queue.metrics('notes')"));
            }
            counts
        });
        let mut session = queues.session();
        (0..10).for_each(|_| session.batch_execute("select queue.maintain('notes')").unwrap());
        is_over.store(true, Ordering::Relaxed);
        let counts = counts.join().unwrap();
        assert!(counts.iter().all(|count| *count == STAY), "of {STAY}: {counts:?}");
    });
    assert_ne!(queues.number(stored), before, "nothing was moved");
}

/// A message of 200 kB that no compression makes smaller.
const LARGE: &str = "create table large as
    select to_jsonb(string_agg(md5(random()::text), '')) as message from generate_series(1, 6250)";

/// Sends large messages.
fn send_large(count: i64) -> String {
    format!(
        "select count(*) from queue.send_batch('notes',
           array(select message from large, generate_series(1, {count})))"
    )
}

#[test]
fn large_messages_that_come_and_go_leave_no_space_behind() {
    let queues = Queues::with(&[("howdah.queue_segment_size", "1MB")]);
    queues.sql(&format!("select queue.create('notes'); {LARGE}"));
    let mut session = queues.session();
    for _ in 0..20 {
        assert_eq!(number(&mut session, &send_large(15)), 15);
        assert_eq!(number(&mut session, "select count(*) from queue.pop('notes', 100)"), 15);
    }
    maintain(&queues);
    let size = number(&mut session, SIZE);
    assert!(size < 16 << 20, "{size} bytes, after 60 MB have passed");
}

#[test]
fn no_commit_writes_many_large_messages_anew_that_stay() {
    const STAY: i64 = 50;
    let queues = Queues::with(&[("howdah.queue_segment_size", "1MB")]);
    queues.sql(&format!("select queue.create('notes'); {LARGE}"));
    let mut session = queues.session();
    assert_eq!(number(&mut session, &send_large(5 * STAY)), 5 * STAY);
    let lease = format!("select count(*) from queue.read('notes', 86400, {STAY})");
    assert_eq!(number(&mut session, &lease), STAY);
    assert_eq!(number(&mut session, "select count(*) from queue.pop('notes', 1000)"), 4 * STAY);
    // Small ones come and go until nothing is left where the large ones were.
    let file = "select pg_relation_filenode('queue.rows_2_1')::bigint";
    let (before, begun, mut most) = (number(&mut session, file), Instant::now(), 0);
    while number(&mut session, file) == before {
        assert!(begun.elapsed() < Duration::from_secs(60), "the first segment is not truncated");
        session.batch_execute("select queue.send('notes', '1') from generate_series(1, 1000)").unwrap();
        let written = "select (pg_current_wal_insert_lsn() - '0/0')::bigint";
        let start = number(&mut session, written);
        session.batch_execute("select count(*) from queue.pop('notes', 1000)").unwrap();
        most = most.max(number(&mut session, written) - start);
    }
    assert!(most < 4 << 20, "the commit of one pop has written {most} bytes");
    session
        .batch_execute(&format!(
            "select count(*) from queue.set_vt('notes', array(select generate_series(1, {STAY})::bigint), 0)"
        ))
        .unwrap();
    let left =
        "select count(*) from queue.pop('notes', 1000) popped, large where popped.message = large.message";
    assert_eq!(number(&mut session, left), STAY);
}
