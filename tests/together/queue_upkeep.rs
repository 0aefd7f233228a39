//! Truncating: by takers, and in queues that nobody uses any more.

use howdah_tests::queues::{BIP, Queues, number, put, take};
use howdah_tests::{Platform, wait_for};

/// Bytes of the queue's tables of rows.
const SIZE: &str = "select sum(pg_relation_size(oid))::text from pg_class where relname like 'rows\\_1\\__'";

fn platform(maintenance: &str) -> Platform {
    let settings = [("howdah.queue_maintenance", maintenance), ("howdah.queue_segment_size", "1MB")];
    let platform = Platform::with(&settings);
    platform.sql(&format!("{BIP}; select queue.create('bips', row_type => 't_bip')"));
    let mut session = platform.session();
    (0..60).for_each(|part| put(&mut session, part * 1000 + 1, (part + 1) * 1000));
    assert_eq!(take(&mut session, 60_000).len(), 60_000);
    platform
}

#[test]
fn the_last_taker_leaves_no_rows_on_disk() {
    let platform = platform("200ms");
    wait_for("its segments are truncated", || platform.value(SIZE).as_deref() == Some("0"));
    let mut session = platform.session();
    put(&mut session, 1, 3);
    assert_eq!(take(&mut session, 10), [1, 2, 3]);
    assert!(!platform.log().contains("ERROR"), "{}", platform.log());
}

#[test]
fn maintaining_a_queue_frees_all_of_it() {
    let platform = platform("0");
    // The taker's commit has truncated two. They are seen to be empty by the first call: then the last is left for one of them.
    let freed: Vec<_> = (0..3).filter_map(|_| platform.value("select queue.maintain('bips')")).collect();
    assert_eq!(freed, ["0", "1", "0"]);
    assert_eq!(platform.value(SIZE).as_deref(), Some("0"));
}

/// Puts a row as a producer's.
const PUT: &str = "select queue.put('bips', array[row(null, 1, 1, 1, 'bip', 'user')::t_bip],
    producer => 'p', epoch => 1, sequence => ";

#[test]
fn a_taker_that_works_with_its_rows_keeps_no_producer_waiting() {
    let queues = Queues::with(&[("howdah.queue_segment_size", "1MB")]);
    let (mut taker, mut producer) = (queues.session(), queues.session());
    (0..60).for_each(|part| put(&mut taker, part * 1000 + 1, (part + 1) * 1000));
    let full = queues.number(SEGMENT);

    producer.batch_execute("set lock_timeout = '1s'").unwrap();
    taker.batch_execute("begin").unwrap();
    assert_eq!(take(&mut taker, 50_000).len(), 50_000);
    producer.batch_execute(&format!("{PUT} 1)")).unwrap();
    assert_eq!(queues.number(SEGMENT), full, "it is truncated by the commit");
    taker.batch_execute("commit").unwrap();
    assert_eq!(queues.number(SEGMENT), 0);
}

/// Bytes of the first segment's rows.
const SEGMENT: &str = "select pg_relation_size('queue.rows_1_1')";

#[test]
fn a_producer_keeps_no_segment_from_being_truncated() {
    let queues = Queues::start();
    let mut producer = queues.session();
    producer.batch_execute(&format!("{PUT} 1)")).unwrap();
    producer.batch_execute(&format!("begin; {PUT} 2)")).unwrap();
    let shared = "select count(*) from pg_locks join pg_class on pg_class.oid = relation
        where pid = pg_backend_pid() and mode = 'AccessShareLock' and relname ~ '^(rows|ledger)_'";
    assert_eq!(number(&mut producer, shared), 0);
    // Nor has it lost count.
    assert_eq!(number(&mut producer, &format!("{PUT} 2)::bigint")), 0);
}
