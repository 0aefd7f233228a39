//! A logical subscriber of a queue's tables takes over when the publisher is gone.

use cluster::Shutdown;
use howdah_tests::queues::{Queues, all, number, put, take};
use howdah_tests::wait_for;

const TABLES: &str =
    "queue.rows_1_1, queue.rows_1_2, queue.rows_1_3, queue.ledger_1_1, queue.ledger_1_2, queue.ledger_1_3";

/// A server that publishes the tables of its queue, and one that has them, and whose memory knows the queue already.
fn pair() -> (Queues, Queues) {
    let settings = [("howdah.queue_segment_size", "1MB"), ("wal_level", "logical")];
    let (publisher, subscriber) = (Queues::with(&settings), Queues::with(&settings));
    publisher.sql(&format!("create publication queues for table {TABLES}"));
    assert!(take(&mut subscriber.session(), 1).is_empty());
    let connection = publisher.cluster.connection_string("postgres").expect("a socket").replace('\'', "''");
    subscriber.sql(&format!("create subscription queues connection '{connection}' publication queues"));
    let mut session = subscriber.session();
    wait_for("its tables are in step", || {
        number(&mut session, "select count(*) from pg_subscription_rel where srsubstate <> 'r'") == 0
    });
    (publisher, subscriber)
}

/// Ends the publisher once the subscriber has everything.
fn fail_over(mut publisher: Queues, subscriber: &Queues) {
    let mut session = publisher.session();
    let lsn: String = session.query_one("select pg_current_wal_lsn()::text", &[]).unwrap().get(0);
    wait_for("everything is applied", || {
        let query = format!("select count(*) from pg_stat_replication where replay_lsn >= '{lsn}'");
        number(&mut session, &query) == 1
    });
    drop(session);
    publisher.cluster.stop(Shutdown::Immediate).expect("it ends");
    subscriber.sql("alter subscription queues disable");
    subscriber.sql("alter subscription queues set (slot_name = none); drop subscription queues");
}

/// Numbers that two rows have.
fn doubled(queues: &Queues) -> i64 {
    queues.number(
        "select count(*) - count(distinct \"@position\") from (
           select \"@position\" from queue.rows_1_1 union all select \"@position\" from queue.rows_1_2
           union all select \"@position\" from queue.rows_1_3) stored",
    )
}

#[test]
fn a_subscriber_that_takes_over_has_every_row_and_uses_no_number_again() {
    let (publisher, subscriber) = pair();
    let mut session = publisher.session();
    for batch in 0..20 {
        put(&mut session, 1 + batch * 100, (batch + 1) * 100);
    }
    fail_over(publisher, &subscriber);
    let mut session = subscriber.session();
    put(&mut session, 2001, 2100);
    assert_eq!(doubled(&subscriber), 0);
    assert_eq!(take(&mut session, 10_000), all(1, 2100));
    assert!(take(&mut session, 10_000).is_empty());
}

#[test]
fn a_subscriber_that_takes_over_follows_truncations_survivors_and_leases() {
    let (publisher, subscriber) = pair();
    let mut session = publisher.session();
    // Leased for long: they stay while all around them goes.
    put(&mut session, 1, 10);
    let leased = session
        .query("select msg_id, read_ct from queue.read('bips', 10, '1 day', null::t_bip)", &[])
        .unwrap();
    let leased: Vec<(i64, i32)> = leased.iter().map(|row| (row.get(0), row.get(1))).collect();
    let (mut next, mut expected) = (11, 11);
    for _ in 0..30 {
        put(&mut session, next, next + 3999);
        next += 4000;
        let taken = take(&mut session, 3900);
        assert_eq!(taken, all(expected, expected + 3899));
        expected += 3900;
    }
    session.batch_execute("select queue.maintain('bips')").unwrap();
    drop(session);
    fail_over(publisher, &subscriber);
    let mut session = subscriber.session();
    put(&mut session, next, next + 9);
    assert_eq!(doubled(&subscriber), 0);
    assert_eq!(take(&mut session, 100_000), all(expected, next + 9));
    // Leases go on, and their receipts are good.
    let (ids, receipts): (Vec<i64>, Vec<i32>) = leased[..4].iter().copied().unzip();
    let acknowledged =
        session.query("select queue.ack('bips', $1::bigint[], $2::integer[])", &[&ids, &receipts]).unwrap();
    assert_eq!(acknowledged.len(), 4);
    let (ids, receipts): (Vec<i64>, Vec<i32>) = leased[4..].iter().copied().unzip();
    session.query("select queue.nack('bips', $1::bigint[], 0, $2::integer[])", &[&ids, &receipts]).unwrap();
    assert_eq!(take(&mut session, 100), all(5, 10));
    session.batch_execute("select queue.maintain('bips')").unwrap();
    let size = "select sum(pg_total_relation_size(c.oid))::bigint from pg_class c
        where c.relkind = 'r' and c.relname ~ '^(rows|ledger)_1_' and c.relnamespace = 'queue'::regnamespace";
    let size = number(&mut session, size);
    assert!(size < 2 << 20, "{size} bytes are left of an empty queue");
}
