//! The tables of a queue stay within a bound while it is used, whatever stays in it, and though nobody calls `queue.maintain`
//! and no executor looks after it.

use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::thread;
use std::time::Duration;

use cluster::postgres::Client;
use howdah_tests::queues::{Queues, number};
use howdah_tests::wait_for;

const SIZE: &str = "select sum(pg_total_relation_size(c.oid))::bigint from pg_class c
    where c.relkind = 'r' and c.relname ~ '^(rows|ledger)_2_' and c.relnamespace = 'queue'::regnamespace";

/// A queue of messages whose segments have one megabyte.
fn queues() -> Queues {
    let queues = Queues::with(&[("howdah.queue_segment_size", "1MB")]);
    queues.sql("select queue.create('notes')");
    queues
}

/// Sends so many messages of a kind, with a delay in seconds.
fn send(session: &mut Client, kind: &str, count: i64, delay: i64) {
    let send = format!(
        "select count(*) from queue.send_batch('notes',
           array(select jsonb_build_object('kind', '{kind}', 'text', repeat('x', 80)) from generate_series(1, {count})), {delay})"
    );
    session.batch_execute(&send).unwrap();
}

#[test]
fn free_rows_that_no_condition_wants_do_not_end_truncation() {
    let queues = queues();
    let mut session = queues.session();
    for round in 0..400 {
        if round % 50 == 10 {
            send(&mut session, "rare", 1, 0);
        }
        send(&mut session, "common", 1000, 0);
        let handled = "select count(*) from queue.delete('notes',
            array(select msg_id from queue.read('notes', 60, 1000, '{\"kind\": \"common\"}')))";
        assert_eq!(number(&mut session, handled), 1000);
    }
    let size = number(&mut session, SIZE);
    // It waits for whoever has a snapshot: on a busy machine for longer.
    assert!(size < 16 << 20, "{size} bytes for eight rows, after 100 MB have passed");
    let left = "select array_agg(msg_id) from queue.pop('notes', 10)";
    let left: Vec<i64> = session.query_one(left, &[]).unwrap().get(0);
    assert_eq!(left, (0..8).map(|n| 10_001 + n * 50_001).collect::<Vec<_>>());
}

/// Messages that are free at most: the producer waits for the consumers.
const FREE: i64 = 20_000;
/// A pause after 500 rows. What comes between two looks for little that stays, which are a quarter of a second apart, stays until
/// then: on a machine that is fast enough that would be all that the test sends.
const PAUSE: Duration = Duration::from_millis(5);
/// Rows that are sent and taken: 160 bytes each.
const PASSES: i64 = if cfg!(feature = "long") { 1_000_000 } else { 300_000 };

#[test]
fn a_queue_that_is_never_idle_is_truncated_beside_rows_that_wait_for_hours() {
    let queues = queues();
    let mut session = queues.session();
    for _ in 0..18 {
        send(&mut session, "passes", 1000, 0);
        send(&mut session, "waits", 1000, 7200);
    }
    let waiting = number(&mut session, SIZE);
    let (sent, taken, over) = (&AtomicI64::new(18_000), &AtomicI64::new(0), &AtomicBool::new(false));
    let largest = thread::scope(|scope| {
        let mut threads = vec![scope.spawn(|| {
            let mut session = queues.session();
            while !over.load(Ordering::Relaxed) {
                if sent.load(Ordering::Relaxed) - taken.load(Ordering::Relaxed) < FREE {
                    send(&mut session, "passes", 500, 0);
                    sent.fetch_add(500, Ordering::Relaxed);
                    thread::sleep(PAUSE);
                }
            }
        })];
        for take in [
            "select count(*) from queue.pop('notes', 500)",
            "select count(*) from queue.delete('notes', array(select msg_id from queue.read('notes', 60, 500)))",
        ] {
            let queues = &queues;
            threads.push(scope.spawn(move || {
                let mut session = queues.session();
                while !over.load(Ordering::Relaxed) {
                    taken.fetch_add(number(&mut session, take), Ordering::Relaxed);
                }
            }));
        }
        let mut largest = 0;
        while taken.load(Ordering::Relaxed) < PASSES && !threads.iter().any(|thread| thread.is_finished()) {
            largest = largest.max(number(&mut session, SIZE));
        }
        over.store(true, Ordering::Relaxed);
        largest
    });
    assert!(largest < 6 * waiting, "{largest} bytes, of {PASSES} rows that have passed beside {waiting}");
    let left = "select queue_length - queue_visible_length from queue.metrics('notes')";
    assert_eq!(number(&mut session, left), 18_000);
}

/// Does something again and again until the queue's tables have given space back.
fn until_given_back(session: &mut Client, again: &str) {
    let mut last = 0;
    wait_for("the ledger is given back", || {
        session
            .batch_execute(&format!(
                "do $$ begin for n in 1..500 loop perform {again}; commit; end loop; end $$"
            ))
            .unwrap();
        let size = number(session, SIZE);
        let is_given_back = size < last - (128 << 10);
        last = size;
        is_given_back
    });
}

#[test]
#[cfg_attr(not(feature = "long"), ignore = "it takes long: make test-long")]
fn a_row_that_is_read_again_and_again_does_not_fill_its_ledger() {
    let queues = queues();
    let mut session = queues.session();
    send(&mut session, "poison", 1, 0);
    until_given_back(&mut session, "queue.read('notes', 0, 1)");
    let read = "select read_ct::bigint from queue.read('notes', 0, 1)";
    let count = number(&mut session, read);
    assert!(count > 2000, "it has been read {count} times");
    until_given_back(&mut session, "queue.read('notes', 0, 1)");
    assert!(number(&mut session, read) > count);
    assert_eq!(number(&mut session, "select count(*) from queue.pop('notes', 10)"), 1);
}

#[test]
#[cfg_attr(not(feature = "long"), ignore = "it takes long: make test-long")]
fn a_lease_that_is_prolonged_again_and_again_beside_rows_that_wait_does_not_fill_its_ledger() {
    let queues = queues();
    let mut session = queues.session();
    send(&mut session, "waits", 300, 7200);
    until_given_back(&mut session, "queue.set_vt('notes', 7, 7200)");
    assert_eq!(number(&mut session, "select queue_length from queue.metrics('notes')"), 300);
    assert_eq!(number(&mut session, "select count(*) from queue.read('notes', 60, 10)"), 0);
    session.batch_execute("select queue.set_vt('notes', 7, 0)").unwrap();
    assert_eq!(number(&mut session, "select msg_id from queue.pop('notes', 10)"), 7);
}
