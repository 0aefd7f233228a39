//! Taking rows out: who gets them, and when they come back.

use std::collections::HashSet;
use std::sync::{Barrier, Mutex};
use std::thread;
use std::time::Instant;

use cluster::Shutdown;
use cluster::postgres::SimpleQueryMessage;
use howdah_tests::bounds;
use howdah_tests::queues::{Queues, all, error, number, put, sorted, take, try_take};

#[test]
fn rows_come_out_as_they_went_in() {
    let queues = Queues::start();
    let long = "€".repeat(40_000);
    queues.sql(&format!(
        "select queue.put('bips', row('00000000-0000-0000-0000-000000000001', 1, 2, 3, 'é', null)::t_bip);
         select queue.put('bips', row(null, null, null, null, null, null)::t_bip);
         select queue.put('bips', row(null, 7, null, null, '{long}', 'x')::t_bip);
         select queue.put('bips', array[row(null, 8, 1, 1, '', 'a')::t_bip, row(null, 9, 1, 1, 'b', '')::t_bip]);
         create table out as select * from queue.take('bips', 10, null::t_bip)"
    ));
    let rows = [
        "('00000000-0000-0000-0000-000000000001', 1, 2, 3, 'é', null)".to_owned(),
        "(null, null, null, null, null, null)".to_owned(),
        format!("(null, 7, null, null, '{long}', 'x')"),
    ];
    for row in rows {
        assert_eq!(
            queues.number(&format!(
                "select count(*) from out where row(out.*)::t_bip::text = (row{row}::t_bip)::text"
            )),
            1
        );
    }
    assert_eq!(
        queues
            .number("select count(*) from out where (userid, bip, \"user\") in ((8, '', 'a'), (9, 'b', ''))"),
        2
    );
    assert_eq!(queues.number("select count(*) from out"), 5);
}

#[test]
fn a_row_is_seen_when_its_transaction_commits_and_a_late_commit_is_not_skipped() {
    let queues = Queues::start();
    let (mut late, mut taker) = (queues.session(), queues.session());
    late.batch_execute("begin").unwrap();
    put(&mut late, 1, 10);
    queues.put(11, 2000);
    assert_eq!(sorted(take(&mut taker, 5000)), all(11, 2000));
    assert!(take(&mut taker, 10).is_empty());
    late.batch_execute("commit").unwrap();
    assert_eq!(sorted(take(&mut taker, 10)), all(1, 10));
    assert!(take(&mut taker, 10).is_empty());
}

#[test]
fn rows_of_a_transaction_that_is_rolled_back_are_never_there() {
    let queues = Queues::start();
    let mut session = queues.session();
    session.batch_execute("begin").unwrap();
    put(&mut session, 1, 10);
    session.batch_execute("savepoint inner_one").unwrap();
    put(&mut session, 11, 20);
    session.batch_execute("rollback to inner_one").unwrap();
    put(&mut session, 21, 30);
    session.batch_execute("commit; begin").unwrap();
    put(&mut session, 31, 40);
    session.batch_execute("rollback").unwrap();
    assert_eq!(sorted(take(&mut session, 100)), [all(1, 10), all(21, 30)].concat());
}

#[test]
fn a_rollback_gives_rows_back_and_so_does_one_to_a_savepoint() {
    let queues = Queues::start();
    queues.put(1, 30);
    let (mut session, mut other) = (queues.session(), queues.session());
    session.batch_execute("begin").unwrap();
    assert_eq!(take(&mut session, 10), all(1, 10));
    session.batch_execute("savepoint before").unwrap();
    assert_eq!(take(&mut session, 10), all(11, 20));
    assert_eq!(take(&mut other, 5), all(21, 25));
    session.batch_execute("rollback to before").unwrap();
    assert_eq!(sorted(take(&mut other, 100)), [all(11, 20), all(26, 30)].concat());
    session.batch_execute("rollback").unwrap();
    assert_eq!(take(&mut other, 100), all(1, 10));
}

#[test]
fn a_block_with_an_exception_handler_gives_rows_back() {
    let queues = Queues::start();
    queues.put(1, 10);
    queues.sql(
        "do $$ begin
           for i in 1..300 loop
             begin
               perform queue.take('bips', 10, null::t_bip);
               raise exception 'no';
             exception when raise_exception then null;
             end;
           end loop;
         end $$",
    );
    assert_eq!(take(&mut queues.session(), 100), all(1, 10));
}

#[test]
fn a_prepared_transaction_keeps_what_it_took_and_sent_across_a_restart() {
    let mut queues = Queues::start();
    queues.put(1, 30);
    let mut session = queues.session();
    session.batch_execute("begin").unwrap();
    assert_eq!(take(&mut session, 10), all(1, 10));
    session.batch_execute("prepare transaction 'taken'; begin").unwrap();
    put(&mut session, 31, 40);
    session.batch_execute("prepare transaction 'sent'").unwrap();
    drop(session);
    queues.cluster.restart(Shutdown::Immediate, cluster::Life::WithParent).unwrap();
    let mut session = queues.session();
    assert_eq!(take(&mut session, 100), all(11, 30));
    assert!(take(&mut session, 100).is_empty());
    session.batch_execute("commit prepared 'sent'").unwrap();
    assert_eq!(take(&mut session, 100), all(31, 40));
    session.batch_execute("rollback prepared 'taken'").unwrap();
    assert_eq!(take(&mut session, 100), all(1, 10));
    assert!(take(&mut session, 100).is_empty());
}

#[test]
fn taking_works_under_every_isolation_level() {
    let queues = Queues::start();
    for level in ["read committed", "repeatable read", "serializable"] {
        queues.put(1, 40);
        let (mut one, mut other) = (queues.session(), queues.session());
        for session in [&mut one, &mut other] {
            session.batch_execute(&format!("begin isolation level {level}; select 1")).unwrap();
        }
        // Its snapshot is older than these.
        queues.put(41, 50);
        assert_eq!(take(&mut one, 20), all(1, 20), "{level}");
        assert_eq!(take(&mut other, 100), all(21, 50), "{level}");
        other.batch_execute("commit").unwrap();
        assert!(take(&mut one, 100).is_empty(), "{level}");
        one.batch_execute("commit").unwrap_or_else(|error| panic!("{level}: {error:?}"));
    }
}

#[test]
fn a_transaction_that_may_only_read_takes_nothing() {
    let queues = Queues::start();
    queues.put(1, 3);
    let mut session = queues.session();
    session.batch_execute("begin read only").unwrap();
    assert_eq!(number(&mut session, "select count(*) from queue.peek('bips', 10, null::t_bip)"), 3);
    assert!(error(&mut session, "select queue.take('bips', 1, null::t_bip)").starts_with("25006"));
}

/// How many of the queue's segments are empty.
const TRUNCATED: &str =
    "select count(*) from generate_series(1, 3) n where pg_relation_size('queue.rows_1_' || n) = 0";

#[test]
fn sixteen_consumers_get_each_row_once_and_never_wait_for_each_other() {
    // Small segments, which are truncated meanwhile where nobody is just reading them, and afterwards at the latest.
    let queues = Queues::with(&[("howdah.queue_segment_size", "1MB")]);
    let mut session = queues.session();
    (0..60).for_each(|batch| put(&mut session, batch * 1000 + 1, batch * 1000 + 1000));
    (0..500).for_each(|number| put(&mut session, 60_001 + number, 60_001 + number));
    let taken = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for consumer in 0..16 {
            let (queues, taken) = (&queues, &taken);
            scope.spawn(move || {
                let mut session = queues.session();
                for round in 0.. {
                    session.batch_execute("begin").unwrap();
                    let begin = Instant::now();
                    let rows = take(&mut session, [1, 7, 100, 1000][(round + consumer) % 4]);
                    bounds::TAKE_AMONG_CONSUMERS.check(begin.elapsed());
                    let end = if round % 5 == 4 && !rows.is_empty() { "rollback" } else { "commit" };
                    session.batch_execute(end).unwrap();
                    if end == "commit" {
                        taken.lock().unwrap().extend_from_slice(&rows);
                        if rows.is_empty() {
                            break;
                        }
                    }
                }
            });
        }
    });
    let mut rest = take(&mut session, 100_000);
    rest.extend(taken.into_inner().unwrap());
    assert_eq!(sorted(rest), all(1, 60_500));
    session.batch_execute("select queue.maintain('bips')").unwrap();
    assert!(queues.number(TRUNCATED) > 0, "no segment was truncated");
}

#[test]
fn sixteen_that_lease_get_each_row_once_and_never_wait_for_each_other() {
    let queues = Queues::with(&[("howdah.queue_segment_size", "1MB")]);
    let mut session = queues.session();
    (0..40).for_each(|batch| put(&mut session, batch * 1000 + 1, batch * 1000 + 1000));
    (0..500).for_each(|number| put(&mut session, 40_001 + number, 40_001 + number));
    let done = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for consumer in 0..16 {
            let (queues, done) = (&queues, &done);
            scope.spawn(move || {
                let mut session = queues.session();
                for round in 0.. {
                    let count = [1, 7, 100, 1000][(round + consumer) % 4];
                    let read = format!(
                        "select msg_id, (\"row\").userid from queue.read('bips', {count}, '1 hour', null::t_bip)"
                    );
                    let begin = Instant::now();
                    let rows = session.query(&read, &[]).unwrap();
                    bounds::TAKE_AMONG_CONSUMERS.check(begin.elapsed());
                    if rows.is_empty() {
                        break;
                    }
                    let numbers: Vec<i64> = rows.iter().map(|row| row.get(0)).collect();
                    if round % 5 == 4 {
                        session.query("select queue.nack('bips', $1::bigint[])", &[&numbers]).unwrap();
                        continue;
                    }
                    let acknowledged = session.query("select queue.ack('bips', $1::bigint[])", &[&numbers]);
                    assert_eq!(acknowledged.unwrap().len(), numbers.len());
                    done.lock().unwrap().extend(rows.iter().map(|row| row.get::<_, i64>(1)));
                }
            });
        }
    });
    let mut rest = take(&mut session, 100_000);
    rest.extend(done.into_inner().unwrap());
    assert_eq!(sorted(rest), all(1, 40_500));
}

#[test]
fn a_consumer_that_holds_rows_hides_no_others() {
    let queues = Queues::start();
    queues.put(1, 1000);
    let mut sessions: Vec<_> = (0..16).map(|_| queues.session()).collect();
    let mut seen = HashSet::new();
    for round in 0..3 {
        for session in &mut sessions {
            session.batch_execute("begin").unwrap();
            let rows = take(session, 20);
            assert_eq!(rows.len(), 20, "a consumer sees nothing in round {round} while rows are free");
            assert!(rows.iter().all(|row| seen.insert(*row)), "a row was handed out twice");
        }
        sessions.iter_mut().for_each(|session| session.batch_execute("commit").unwrap());
    }
    assert_eq!(take(&mut sessions[0], 1000).len(), 1000 - 16 * 20 * 3);
}

#[test]
fn sixteen_at_once_find_all_that_is_free_under_every_isolation_level() {
    const CONSUMERS: i32 = 16;
    let queues = Queues::start();
    let short = Mutex::new(Vec::new());
    for level in ["read committed", "repeatable read", "serializable"] {
        let (turn, mut sender) = (Barrier::new(CONSUMERS as usize + 1), queues.session());
        let batch_of = |round: i32| [1, 7, 40][round as usize % 3];
        let consume = |consumer: i32| {
            let mut session = queues.session();
            let begin = format!("begin isolation level {level}; select 1");
            session.batch_execute(&begin).unwrap();
            let mut take_all = |round: i32, end: &str| {
                let wanted = batch_of(round);
                let found = try_take(&mut session, wanted).map(|rows| rows.len() as i32);
                // No panic: the others would wait for ever.
                if !matches!(found, Ok(found) if found == wanted) {
                    short.lock().unwrap().push(format!("{level}, round {round}: {found:?} of {wanted}"));
                }
                session.batch_execute(end).unwrap();
            };
            for round in 0..12 {
                // Each has its snapshot before there are rows, and begins when there are.
                for _ in 0..2 {
                    turn.wait();
                }
                // What comes back is free as well.
                if (round + consumer) % 3 == 0 {
                    take_all(round, &format!("rollback; {begin}"));
                }
                take_all(round, &format!("commit; {begin}"));
            }
        };
        thread::scope(|scope| {
            let consumers: Vec<_> = (0..CONSUMERS)
                .map(|consumer| {
                    scope.spawn({
                        let consume = &consume;
                        move || consume(consumer)
                    })
                })
                .collect();
            for round in 0..12 {
                turn.wait();
                let rows = i64::from(CONSUMERS * batch_of(round));
                put(&mut sender, 1, rows - 10);
                (0..10).for_each(|row| put(&mut sender, row, row));
                turn.wait();
            }
            consumers.into_iter().for_each(|consumer| consumer.join().unwrap());
        });
    }
    assert_eq!(short.into_inner().unwrap(), [""; 0]);
}

#[test]
fn a_plan_that_was_made_while_the_queue_was_empty_takes_no_more_than_asked() {
    let queues = Queues::start();
    let mut session = queues.session();
    session
        .batch_execute(
            "set plan_cache_mode = force_generic_plan;
             prepare taking(int) as select userid from queue.take('bips', $1, null::t_bip)",
        )
        .unwrap();
    let mut taking = || {
        let messages = session.simple_query("execute taking(10)").unwrap();
        messages.iter().filter(|message| matches!(message, SimpleQueryMessage::Row(_))).count()
    };
    (0..8).for_each(|_| assert_eq!(taking(), 0));
    queues.put(1, 300);
    assert_eq!(taking(), 10);
    assert_eq!(queues.number("select queue_length from queue.metrics('bips')"), 290);
}

#[test]
fn two_consumers_of_one_snapshot_both_succeed() {
    let queues = Queues::start();
    queues.put(1, 4000);
    let (mut one, mut other) = (queues.session(), queues.session());
    for session in [&mut one, &mut other] {
        session.batch_execute("begin isolation level repeatable read; select 1").unwrap();
    }
    assert_eq!(take(&mut one, 1000).len(), 1000);
    one.batch_execute("commit").unwrap();
    assert_eq!(try_take(&mut other, 1000).expect("no serialization failure").len(), 1000);
    other.batch_execute("commit").unwrap();
    assert_eq!(queues.number("select queue_length from queue.metrics('bips')"), 2000);
}

#[test]
fn a_producer_that_sends_again_doubles_nothing_and_an_old_epoch_is_refused() {
    let mut queues = Queues::with(&[("howdah.queue_segment_size", "1MB")]);
    let statement = |first: i64, last: i64, epoch: i32| {
        format!(
            "select queue.put('bips', array(select row(null, n, 1, 2, 'b', 'u')::t_bip from generate_series({first}, {last}) n),
             'p', {epoch}, {last})"
        )
    };
    let mut session = queues.session();
    let mut put_from = |first, last, epoch| number(&mut session, &statement(first, last, epoch));
    assert_eq!(put_from(1, 1000, 1), 1000);
    assert_eq!(put_from(1, 1000, 1), 0);
    assert_eq!(put_from(901, 1200, 1), 200);
    // The segment that knows it is truncated, and the server dies: what was committed is known still.
    put_from(1201, 20_000, 1);
    put(&mut queues.session(), 20_001, 20_001);
    assert_eq!(take(&mut queues.session(), 100_000), all(1, 20_001));
    assert_eq!(number(&mut queues.session(), "select queue.maintain('bips')::bigint"), 1);
    drop(session);
    queues.cluster.restart(Shutdown::Immediate, cluster::Life::WithParent).unwrap();
    let mut session = queues.session();
    assert_eq!(number(&mut session, &statement(19_001, 20_010, 1)), 10);
    assert_eq!(number(&mut session, &statement(20_001, 20_020, 2)), 10);
    assert!(error(&mut session, &statement(20_021, 20_021, 1)).contains("epoch 1 is over"));
    // A transaction that is rolled back counts for nothing; another of the same producer waits for it.
    session.batch_execute("begin").unwrap();
    assert_eq!(number(&mut session, &statement(20_021, 20_030, 2)), 10);
    thread::scope(|scope| {
        let other = scope.spawn(|| number(&mut queues.session(), &statement(20_021, 20_030, 2)));
        howdah_tests::wait_for("the other waits", || {
            queues.number("select count(*) from pg_locks where not granted") == 1
        });
        session.batch_execute("rollback").unwrap();
        assert_eq!(other.join().unwrap(), 10);
    });
    assert_eq!(sorted(take(&mut session, 100_000)), all(20_001, 20_030));
}
