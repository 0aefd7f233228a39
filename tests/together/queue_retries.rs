//! Messages that are prolonged, given back and read again, very often: what is asked of one afterwards costs what it cost before.

use std::time::{Duration, Instant};

use cluster::postgres::Client;
use cluster::{Life, Shutdown};
use howdah_tests::bounds;
use howdah_tests::queues::{Queues, buffers, number};

/// Calls of a queue of a hundred messages, all of which are in one block, and what each changes is undone.
const CALLS: [&str; 7] = [
    "select count(*) from queue.set_vt('notes', 7, 3600)",
    "select count(*) from queue.set_vt('notes', array[3, 4, 5, 6, 20], 3600)",
    "select count(*) from queue.set_vt('notes', 8, now())",
    "select queue.delete('notes', 9)",
    "select count(*) from queue.archive('notes', array[10, 12])",
    "select count(*) from queue.read('notes', 3600, 10)",
    "select queue_visible_length from queue.metrics('notes')",
];

/// A queue whose messages 1 to 20 and 31 to 40 are leased.
fn queues() -> Queues {
    let queues = Queues::start();
    queues.sql(
        "select queue.create('notes');
         select queue.send_batch('notes', array(select to_jsonb(n) from generate_series(1, 100) n));
         select count(*) from queue.read('notes', 7200, 40);
         select count(*) from queue.set_vt('notes', array(select generate_series(21, 30)), 0)",
    );
    queues
}

/// Pages that a call touches, the least of three.
fn cost(session: &mut Client, call: &str) -> i64 {
    let mut once = |_| {
        session.batch_execute("begin").unwrap();
        let pages = buffers(session, call);
        session.batch_execute("rollback").unwrap();
        pages
    };
    (0..3).map(&mut once).min().unwrap()
}

fn costs(session: &mut Client) -> Vec<i64> {
    CALLS.iter().map(|call| cost(session, call)).collect()
}

/// Settles the leased messages so many times, each time in a transaction of its own.
fn retry(session: &mut Client, times: i64) {
    let text = format!(
        "do $$ begin for n in 1..{times} loop
           case n % 4
             when 0 then perform queue.set_vt('notes', 1 + n % 20, 3600);
             when 1 then perform queue.set_vt('notes', 1 + n % 20, now() + interval '1 hour');
             when 2 then perform queue.set_vt('notes', array(select generate_series(1 + n % 20, least(20, 1 + n % 20 + n % 7))), 3600);
             else perform queue.set_vt('notes', 35, 0); perform queue.read('notes', 3600, 1, '35');
           end case;
           commit;
         end loop; end $$"
    );
    session.batch_execute(&text).unwrap();
}

#[test]
fn a_message_that_was_retried_very_often_costs_no_more_than_before() {
    let queues = queues();
    let mut session = queues.session();
    retry(&mut session, 200);
    let first = costs(&mut session);
    retry(&mut session, 5000);
    let last = costs(&mut session);
    for (call, (first, last)) in CALLS.iter().zip(first.iter().zip(&last)) {
        assert!(*last <= 2 * first + 20, "{call}: {first} pages, then {last}");
    }
    // All that was said of them holds.
    let visible = "select queue_visible_length from queue.metrics('notes')";
    assert_eq!(number(&mut session, visible), 70);
    assert_eq!(number(&mut session, "select count(*) from queue.read('notes', 3600, 200)"), 70);
    assert_eq!(
        number(
            &mut session,
            "select count(*) from queue.delete('notes', array(select generate_series(1, 100)::bigint))"
        ),
        100
    );
    assert_eq!(number(&mut session, "select queue_length from queue.metrics('notes')"), 0);
}

/// How long each of [`CALLS`] takes, a hundred times.
fn times(session: &mut Client) -> Vec<Duration> {
    let mut time = |call: &&str| {
        let mut once = |_| {
            let begin = Instant::now();
            session.batch_execute("begin").unwrap();
            for _ in 0..100 {
                session.batch_execute(&format!("savepoint s; {call}; rollback to s")).unwrap();
            }
            session.batch_execute("rollback").unwrap();
            begin.elapsed()
        };
        (0..5).map(&mut once).min().unwrap()
    };
    CALLS.iter().map(&mut time).collect()
}

#[test]
#[cfg_attr(not(feature = "long"), ignore = "it takes long: make test-long")]
fn a_message_that_was_settled_a_million_times_is_settled_as_soon_as_before() {
    let queues = queues();
    let mut session = queues.session();
    retry(&mut session, 1000);
    let first = times(&mut session);
    retry(&mut session, 1_000_000);
    let last = times(&mut session);
    for (call, (first, last)) in CALLS.iter().zip(first.into_iter().zip(last)) {
        println!("{call}: {first:?}, then {last:?}");
        bounds::SETTLED_OFTEN.check_against(last, first * 2);
    }
}

#[test]
fn a_transaction_that_settles_the_same_again_and_again_makes_others_read_no_more() {
    let queues = queues();
    let (mut session, mut other) = (queues.session(), queues.session());
    let mut read = || cost(&mut session, "select count(*) from queue.read('notes', 3600, 10)");
    let first = read();
    // Each call has a subtransaction of its own, and some are rolled back.
    let often = "do $$ begin for n in 1..10000 loop begin
           perform queue.set_vt('notes', 1 + n % 20, 3600 + n);
           if n % 5 = 0 then raise 'not this one'; end if;
         exception when raise_exception then null; end; end loop; end $$";
    other.batch_execute("begin").unwrap();
    other.batch_execute(often).unwrap();
    let beside = read();
    assert!(beside <= 2 * first + 20 * 20, "{first} pages, then {beside}");
    other.batch_execute("rollback").unwrap();
    let behind = read();
    assert!(behind <= 2 * first + 20 * 20, "{first} pages, then {behind}");
    assert_eq!(number(&mut session, "select queue_visible_length from queue.metrics('notes')"), 70);
}

#[test]
fn a_claim_counts_after_those_that_a_clock_ahead_has_made() {
    let mut queues = queues();
    // The clock was put right before a restart.
    queues.sql(
        "insert into queue.ledger_2_1 select first, now() + interval '1 hour', now(), read_at, count, reads, low, high
         from queue.ledger_2_1 where reads = 1",
    );
    let mut told = |statements: &[(i64, &str)]| {
        queues.cluster.restart(Shutdown::Immediate, Life::WithParent).unwrap();
        let mut session = queues.session();
        for (expected, statement) in statements {
            let count = number(&mut session, &format!("select count(*) from queue.{statement}"));
            assert_eq!(count, *expected, "{statement}");
        }
    };
    for _ in 0..2 {
        told(&[(100, "read('notes', 7200, 100)")]);
        told(&[
            (0, "read('notes', 7200, 100)"),
            (100, "set_vt('notes', array(select generate_series(1, 100)), 0)"),
        ]);
    }
    told(&[(50, "pop('notes', 50)"), (50, "read('notes', 7200, 100)")]);
    told(&[
        (0, "read('notes', 7200, 100)"),
        (50, "delete('notes', array(select generate_series(1, 100)::bigint))"),
    ]);
    told(&[(0, "pop('notes', 100)")]);
}
