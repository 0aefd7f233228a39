//! Producers: waiting for each other, and being forgotten.

use std::time::{Duration, Instant};

use cluster::{Life, Shutdown};
use howdah_tests::queues::{Queues, error, number};
use howdah_tests::shippers::{Intake, bips};
use howdah_tests::{Connection, wait_for};
use serde_json::json;

/// A session that keeps the producer `p` busy until it ends its transaction.
fn occupy(intake: &Intake) -> cluster::postgres::Client {
    let mut session = intake.platform.session();
    session
        .batch_execute(
            "begin; select queue.put('bips', array[]::t_bip[], producer => 'p', epoch => 1, sequence => 0)",
        )
        .unwrap();
    session
}

#[test]
fn connections_of_one_producer_hold_one_executor() {
    let settings = [("howdah.max_ingest_executors", "2"), ("howdah.lock_timeout", "10min")];
    let intake = Intake::with(&settings, "");
    let mut others: Vec<_> = (0..6).map(|_| intake.hello("p", 1)).collect();
    let mut quick = intake.hello("quick", 1);
    let mut session = occupy(&intake);
    others.iter_mut().for_each(|shipper| assert!(shipper.send(&bips(1, 2))));
    wait_for("lines are read", || intake.view("received").as_deref() == Some("12"));
    let begin = Instant::now();
    for number in 1..=20 {
        quick.send(&bips(100 + number, 100 + number));
        quick.wait_for_ack(number);
    }
    assert!(begin.elapsed() < Duration::from_secs(10), "{:?}", begin.elapsed());
    // A hello is told to come again, and one may wait.
    let refused = intake.try_hello(json!({"producer": "p", "v": 1})).err().unwrap();
    assert_eq!(refused["$error"]["code"], "55P03", "{refused}");
    assert!(refused["$error"]["error"].as_str().unwrap().contains("producer p"), "{refused}");
    session.batch_execute("commit").unwrap();
    others.iter_mut().for_each(|shipper| assert!(shipper.wait_for_ack(2).is_empty()));
    assert_eq!(intake.take_all(), [(1..=2).collect::<Vec<i64>>(), (101..=120).collect()].concat());
}

#[test]
fn requests_of_one_producer_hold_one_executor() {
    let settings =
        [("howdah.min_executors", "4"), ("howdah.max_executors", "4"), ("howdah.lock_timeout", "10min")];
    let intake = Intake::with(&settings, "");
    intake.platform.sql("select queue.serve()");
    let mut session = occupy(&intake);
    let path = "/queues/bips?producer=p&epoch=1&sequence=1";
    let mut waiting: Vec<_> = (0..2).map(|_| intake.platform.connect()).collect();
    waiting.iter_mut().for_each(|connection| connection.send("POST", path, &[], &bips(1, 1)));
    wait_for("one is answered", || waiting.iter_mut().any(Connection::has_arrived));
    let (mut refused, mut other): (Vec<_>, Vec<_>) =
        waiting.into_iter().partition_map(|connection| connection.has_arrived());
    let reply = refused[0].read_reply(false).unwrap();
    assert_eq!((reply.status, reply.json()["sqlstate"].as_str()), (503, Some("55P03")), "{}", reply.text());
    assert!(reply.header("retry-after").is_some());
    session.batch_execute("commit").unwrap();
    assert_eq!(other[0].read_reply(false).unwrap().status, 200);
    assert_eq!(intake.rows(), 1);
}

/// `partition` whose test may change what it looks at.
trait PartitionMap<T> {
    fn partition_map(self, is_first: impl FnMut(&mut T) -> bool) -> (Vec<T>, Vec<T>);
}

impl<T, I: Iterator<Item = T>> PartitionMap<T> for I {
    fn partition_map(self, mut is_first: impl FnMut(&mut T) -> bool) -> (Vec<T>, Vec<T>) {
        let (mut first, mut second) = (Vec::new(), Vec::new());
        for mut value in self {
            if is_first(&mut value) { first.push(value) } else { second.push(value) }
        }
        (first, second)
    }
}

/// Puts one row as a producer; how many were new.
fn put(queues: &Queues, producer: &str, sequence: i64) -> i64 {
    queues.number(&format!(
        "select queue.put('bips', array[row(null, {sequence}, 1, 2, 'bip', 'user')::t_bip],
                          producer => '{producer}', epoch => 1, sequence => {sequence})"
    ))
}

/// Forgets a producer; whether it was known.
fn forget(queues: &Queues, producer: &str) -> i64 {
    queues.number(&format!("select queue.forget_producer('bips', '{producer}')::int::bigint"))
}

#[test]
fn a_producer_that_is_forgotten_begins_anew_and_its_rows_stay() {
    let mut queues = Queues::start();
    assert_eq!(forget(&queues, "p"), 0, "it is not known");
    assert_eq!((put(&queues, "p", 7), put(&queues, "p", 7), put(&queues, "q", 7)), (1, 0, 1));
    queues.sql("begin; select queue.forget_producer('bips', 'p'); rollback");
    assert_eq!(put(&queues, "p", 7), 0);
    assert_eq!((forget(&queues, "p"), forget(&queues, "p")), (1, 0));
    assert_eq!(queues.number("select count(*) from queue.peek('bips', 100, null::t_bip)"), 2);
    assert_eq!((put(&queues, "p", 7), put(&queues, "p", 7), put(&queues, "q", 7)), (1, 0, 0));
    // Neither a restart nor a segment that is truncated brings it back.
    forget(&queues, "p");
    assert_eq!(queues.number("select count(*) from queue.take('bips', 2, null::t_bip)"), 2);
    queues.cluster.restart(Shutdown::Fast, Life::WithParent).unwrap();
    queues.sql("select queue.purge_queue('bips')");
    assert_eq!((put(&queues, "p", 7), put(&queues, "q", 7)), (1, 0));
    assert_eq!(queues.number("select queue_length from queue.metrics('bips')"), 1);
}

#[test]
fn forgetting_waits_for_the_producer_and_loses_nothing_for_takers() {
    let queues = Queues::start();
    let mut sender = queues.session();
    sender
        .batch_execute(
            "begin; select queue.put('bips', array[row(null, 1, 1, 2, 'bip', 'user')::t_bip],
                                     producer => 'p', epoch => 1, sequence => 1)",
        )
        .unwrap();
    let mut forgetter = queues.session();
    let forgotten = std::thread::spawn(move || {
        number(&mut forgetter, "select queue.forget_producer('bips', 'p')::int::bigint")
    });
    wait_for("it waits", || queues.number("select count(*) from pg_locks where not granted") > 0);
    sender.batch_execute("commit").unwrap();
    assert_eq!(forgotten.join().unwrap(), 1);
    assert_eq!(put(&queues, "p", 1), 1);
    assert_eq!(queues.number("select count(*) from queue.take('bips', 100, null::t_bip)"), 2);
    // A snapshot from before does not see all of it: then nothing is forgotten.
    let mut old = queues.session();
    old.batch_execute("begin isolation level repeatable read; select 1").unwrap();
    put(&queues, "p", 2);
    let refused = error(&mut old, "select queue.forget_producer('bips', 'p')");
    assert!(refused.starts_with("40001") && refused.contains("READ COMMITTED"), "{refused}");
    old.batch_execute("rollback").unwrap();
    assert_eq!(put(&queues, "p", 2), 0);
}

#[test]
fn who_manages_may_forget() {
    let queues = Queues::start();
    queues.sql(
        "create role keeper; create role sender; create table mine (userid bigint);
         select queue.grant('bips', 'manage', 'keeper'), queue.grant('bips', 'send', 'sender');
         create table theirs (userid bigint); alter table theirs owner to keeper;
         select queue.put_lines(into_table => 'theirs', lines => '{}', producer => 'p', sequence => 1)",
    );
    let as_role = |role: &str, statement: &str| {
        let mut session = queues.session();
        session.batch_execute(&format!("set role {role}")).unwrap();
        session.query_one(statement, &[]).map(|row| row.get::<_, bool>(0))
    };
    let (queue, table) = (
        "select queue.forget_producer('bips', 'p')",
        "select queue.forget_producer('theirs'::regclass, 'p')",
    );
    for statement in [queue, table] {
        let refused = as_role("sender", statement).unwrap_err();
        assert_eq!(refused.code().map(|code| code.code()), Some("42501"), "{refused}");
    }
    assert!(!as_role("keeper", queue).unwrap());
    assert!(as_role("keeper", table).unwrap());
    assert!(!as_role("keeper", table).unwrap());
    let again = "select stored from queue.put_lines(into_table => 'theirs', lines => '{}', producer => 'p', sequence => 1)";
    assert_eq!((queues.number(again), queues.number(again)), (1, 0));
    let refused = as_role("keeper", "select queue.forget(1, 'p') is null").unwrap_err();
    assert_eq!(refused.code().map(|code| code.code()), Some("42501"), "{refused}");
}

#[test]
fn a_producer_that_is_forgotten_while_it_sends_must_say_hello_again() {
    let intake = Intake::with(&[], "");
    let mut shipper = intake.hello("p", 1);
    shipper.send(&bips(1, 2));
    assert!(shipper.wait_for_ack(2).is_empty());
    intake.platform.sql("select queue.forget_producer('bips', 'p')");
    shipper.send(&bips(3, 4));
    let refused = shipper.read().expect("an error");
    assert_eq!(refused["$error"]["code"], "55000", "{refused}");
    assert!(refused["$error"]["error"].as_str().unwrap().contains("not known any more"), "{refused}");
    assert_eq!(intake.rows(), 2);
    let mut again = intake.hello("p", 1);
    again.send(&bips(3, 4));
    assert!(again.wait_for_ack(2).is_empty());
    assert_eq!(intake.take_all(), [1, 2, 3, 4]);
}

#[test]
fn an_epoch_counts_from_its_first_put_even_if_all_rows_are_repeats() {
    let queues = Queues::start();
    let put = |rows: &str, epoch: i32, sequence: i64| {
        format!(
            "select queue.put('bips', array(select row(null, n, 1, 1, 'epoch {epoch}', 'u')::t_bip \
             from unnest(array[{rows}]::bigint[]) n), 'p', {epoch}, {sequence})"
        )
    };
    assert_eq!(queues.number(&put("1", 1, 1)), 1);
    assert_eq!(queues.number(&put("1", 2, 1)), 0, "a repeat");
    let late = queues.error(&put("2", 1, 2));
    assert!(late.starts_with("55000") && late.contains("epoch 1 is over"), "{late}");
    assert_eq!(queues.number(&put("2", 2, 2)), 1, "the new epoch's own row");
    // An array of no rows takes over as well.
    assert_eq!(queues.number(&put("", 3, 2)), 0);
    assert!(queues.error(&put("3", 2, 3)).contains("epoch 2 is over"));
    let taken = "select string_agg(userid || ' of ' || bip, ', ' order by userid) from queue.take('bips', 10, null::t_bip)";
    assert_eq!(
        queues.session().query_one(taken, &[]).unwrap().get::<_, String>(0),
        "1 of epoch 1, 2 of epoch 2"
    );
}

#[test]
fn rows_that_leave_a_gap_are_refused() {
    let queues = Queues::start();
    let put = |count: i64, sequence: i64| {
        format!(
            "select queue.put('bips', array(select row(null, n, 1, 1, 'b', 'u')::t_bip \
             from generate_series(1, {count}) n), 'p', 1, {sequence})"
        )
    };
    assert_eq!(queues.number(&put(2, 2)), 2);
    for (count, sequence) in [(1, 4), (2, 5), (0, 3), (1, i64::MAX)] {
        let refused = queues.error(&put(count, sequence));
        assert!(refused.starts_with("55000") && refused.contains("go on at row 3"), "{refused}");
    }
    assert_eq!(queues.number(&put(3, 4)), 2, "number 2 is there");
    assert_eq!(queues.number(&put(4, 4)), 0, "all of them are");
    assert_eq!(queues.number("select count(*) from queue.take('bips', 10, null::t_bip)"), 4);
}
