//! Rows that stay do not keep the space of those that went.

use cluster::{Life, Shutdown};
use howdah_tests::queues::{Queues, number};

const SIZE: &str = "select sum(pg_total_relation_size(c.oid))::bigint from pg_class c
    where c.relkind = 'r' and c.relname ~ '^(rows|ledger)_' and c.relnamespace = 'queue'::regnamespace";

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

#[test]
fn rows_that_stay_end_no_truncation() {
    let mut queues = Queues::with(&[("howdah.queue_segment_size", "2MB")]);
    queues.sql("select queue.create('notes')");
    let long = "x".repeat(300_000);
    queues.sql(&format!("select queue.send('notes', to_jsonb('{long}'::text), 86400)"));
    pass(&queues, 25, 10_000);
    queues.sql("select queue.maintain('notes')");
    let mut session = queues.session();
    let before = number(&mut session, SIZE);
    // Some are given back and acknowledged, by the numbers that they have had all the time.
    let leased = "select msg_id from queue.read('notes', 3600, 100)";
    assert!(session.query(leased, &[]).unwrap().is_empty());
    pass(&queues, 25, 10_000);
    queues.sql("select queue.maintain('notes')");
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
    pass(&queues, 12, 10_000);
    queues.sql("select queue.maintain('notes')");
    // A dump that has its snapshot from before, and its locks from afterwards, has what stays.
    let stored = "select count(*) from (select message from queue.rows_2_1 union all select message from queue.rows_2_2
        union all select message from queue.rows_2_3) stored where message = '\"stays\"'";
    assert_eq!(number(&mut snapshot, stored), 1);
    let size = number(&mut snapshot, SIZE);
    assert!(size < 12 << 20, "{size}");
}
