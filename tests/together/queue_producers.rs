//! Producers: waiting for each other, and being forgotten.

use std::time::Instant;

use cluster::{Life, Shutdown};
use howdah_tests::bounds;
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
    bounds::LINES_BESIDE_BUSY_PRODUCERS.check(begin.elapsed());
    // A hello is told to come again, and one may wait.
    let refused = intake.try_hello(json!({"producer": "p", "v": 1})).err().unwrap();
    assert_eq!(refused["$error"]["code"], "55P03", "{refused}");
    assert!(refused["$error"]["error"].as_str().unwrap().contains("producer p"), "{refused}");
    session.batch_execute("commit").unwrap();
    others.iter_mut().for_each(|shipper| assert!(shipper.wait_for_ack(2).is_empty()));
    assert_eq!(intake.take_all(), [(1..=2).collect::<Vec<i64>>(), (101..=120).collect()].concat());
}

#[test]
fn producers_that_somebody_holds_leave_executors_to_others() {
    let settings = [("howdah.max_ingest_executors", "4"), ("howdah.lock_timeout", "10min")];
    let intake = Intake::with(&settings, "");
    let names: Vec<String> = (0..8).map(|number| format!("p{number}")).collect();
    let mut held: Vec<_> = names.iter().map(|name| intake.hello(name, 1)).collect();
    let mut quick = intake.hello("quick", 1);
    let mut session = intake.platform.session();
    session
        .batch_execute(
            "begin; select queue.put('bips', array[]::t_bip[], producer => 'p' || number, epoch => 1, sequence => 0)
                    from generate_series(0, 7) number",
        )
        .unwrap();
    held.iter_mut().for_each(|shipper| assert!(shipper.send(&bips(1, 2))));
    wait_for("lines are read", || intake.view("received").as_deref() == Some("16"));
    for number in 1..=20 {
        quick.send(&bips(100 + number, 100 + number));
        quick.wait_for_ack(number);
    }
    session.batch_execute("commit").unwrap();
    held.iter_mut().for_each(|shipper| assert!(shipper.wait_for_ack(2).is_empty()));
    assert_eq!(intake.rows(), 36);
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

/// Says with what a producer begins.
fn begin_at(queues: &Queues, producer: &str, sequence: i64) {
    queues.sql(&format!("select queue.put('bips', array[]::t_bip[], '{producer}', 1, {sequence} - 1)"));
}

/// Forgets a producer; whether it was known.
fn forget(queues: &Queues, producer: &str) -> i64 {
    queues.number(&format!("select queue.forget_producer('bips', '{producer}')::int::bigint"))
}

#[test]
fn a_producer_that_is_forgotten_begins_anew_and_its_rows_stay() {
    let mut queues = Queues::start();
    assert_eq!(forget(&queues, "p"), 0, "it is not known");
    assert_eq!((put(&queues, "p", 1), put(&queues, "p", 1), put(&queues, "q", 1)), (1, 0, 1));
    queues.sql("begin; select queue.forget_producer('bips', 'p'); rollback");
    assert_eq!(put(&queues, "p", 1), 0);
    assert_eq!((forget(&queues, "p"), forget(&queues, "p")), (1, 0));
    assert_eq!(queues.number("select count(*) from queue.peek('bips', 100, null::t_bip)"), 2);
    assert_eq!((put(&queues, "p", 1), put(&queues, "p", 1), put(&queues, "q", 1)), (1, 0, 0));
    // Neither a restart nor a segment that is truncated brings it back.
    forget(&queues, "p");
    assert_eq!(queues.number("select count(*) from queue.take('bips', 2, null::t_bip)"), 2);
    queues.cluster.restart(Shutdown::Fast, Life::WithParent).unwrap();
    queues.sql("select queue.purge_queue('bips')");
    assert_eq!((put(&queues, "p", 1), put(&queues, "q", 1)), (1, 0));
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
fn producers_are_listed_over_all_segments_and_for_owners_alone() {
    let queues = Queues::start();
    let listed = |of: &str| {
        let mut session = queues.session();
        let query = format!("select producer, epoch, sequence from queue.producers({of}) order by producer");
        let rows = session.query(&query, &[]).unwrap();
        rows.iter().map(|row| (row.get(0), row.get(1), row.get(2))).collect::<Vec<(String, i32, i64)>>()
    };
    assert_eq!(listed("'bips'"), []);
    begin_at(&queues, "p", 7);
    for (producer, sequence) in [("p", 7), ("ö", 1), ("forgotten", 1)] {
        put(&queues, producer, sequence);
    }
    // The open segment changes: what was there before is in another.
    assert_eq!(queues.number("select count(*) from queue.take('bips', 2, null::t_bip)"), 2);
    queues.sql("select queue.maintain('bips')");
    begin_at(&queues, "q", 3);
    for (producer, sequence) in [("p", 8), ("q", 3)] {
        put(&queues, producer, sequence);
    }
    queues.sql("select queue.put('bips', array[]::t_bip[], 'q', 2147483647, 3)");
    assert_eq!(forget(&queues, "forgotten"), 1);
    let expected = [("p", 1, 8), ("q", i32::MAX, 3), ("ö", 1, 1)];
    assert_eq!(listed("'bips'"), expected.map(|(name, epoch, last)| (name.to_owned(), epoch, last)));
    queues.sql("select queue.purge_queue('bips'); select queue.maintain('bips')");
    assert_eq!(listed("'bips'").len(), 3, "they outlive their rows");
    // Whom the highest epoch has shut out begins anew.
    let refused =
        queues.error("select queue.put('bips', array[row(null, 9, 1, 2, 'bip', 'user')::t_bip], 'q', 1, 4)");
    assert!(refused.starts_with("55000"), "{refused}");
    assert_eq!(forget(&queues, "q"), 1);
    begin_at(&queues, "q", 4);
    assert_eq!(put(&queues, "q", 4), 1);
    queues.sql(
        "create role keeper; create role sender; grant create on schema public to keeper;
         set role keeper; create table theirs (n int);
         select queue.put_lines(into_table => 'theirs', lines => E'{}\\n{}', producer => 'p', sequence => 1);
         reset role; select queue.grant('bips', 'send', 'sender'); select queue.grant('bips', 'take', 'sender')",
    );
    assert_eq!(listed("'theirs'::regclass"), [("p".to_owned(), 1, 2)]);
    for call in ["queue.producers('bips')", "queue.producers('theirs'::regclass)"] {
        let refused = queues.error(&format!("set role sender; select * from {call}"));
        assert!(refused.starts_with("42501"), "{refused}");
    }
    let without_a_name = queues.error("select queue.producers(null::text)");
    assert!(without_a_name.contains("queue_name"), "{without_a_name}");
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

/// Requests of one producer may overtake each other.
#[test]
fn a_producer_begins_with_its_first_number_or_says_with_which() {
    let intake = Intake::start();
    let platform = &intake.platform;
    platform.sql("create table t (userid bigint); select queue.serve()");
    let mut session = platform.session();
    let row = |sequence: i64| {
        format!("select queue.put('bips', array[row(null, 1, 1, 1, 'b', 'u')::t_bip], 'rows', 1, {sequence})")
    };
    let lines = |target: &str, lines: &str, sequence: i64| {
        format!(
            "select stored from queue.put_lines({target}, lines => '{lines}', producer => 'l', sequence => {sequence})"
        )
    };
    let (into_queue, into_table) = ("queue => 'bips'", "into_table => 't'");
    for (late, early, what) in [
        (row(2), row(1), "row"),
        (lines(into_queue, "{}", 2), lines(into_queue, "{}", 1), "line"),
        (lines(into_table, "{}", 2), lines(into_table, "{}", 1), "line"),
    ] {
        let refused = error(&mut session, &late);
        let message = format!("is not known, and begins with {what} 1, not with {what} 2");
        assert!(refused.starts_with("55000") && refused.contains(&message), "{refused}");
        assert_eq!((number(&mut session, &early), number(&mut session, &late)), (1, 1));
    }
    let path = |sequence: i64| format!("/queues/bips?producer=web&sequence={sequence}");
    let post = |sequence: i64, lines: &str| {
        platform.post(&path(sequence), "application/x-ndjson", lines.as_bytes()).status
    };
    assert_eq!((post(2, "{}"), post(1, "{}"), post(2, "{}")), (409, 200, 200));
    assert_eq!(intake.rows(), 6);
    // Whoever goes on elsewhere, as with the offsets of a log, says so: by none of them.
    platform.sql("select queue.put('bips', array[]::t_bip[], 'offsets', 1, 41)");
    assert_eq!(number(&mut session, &row(42).replace("'rows'", "'offsets'")), 1);
    assert_eq!(number(&mut session, &row(41).replace("'rows'", "'offsets'")), 0, "it is said to be there");
    platform.sql(&lines(into_table, "", 7).replace("'l'", "'offsets'"));
    assert_eq!(number(&mut session, &lines(into_table, "{}", 7).replace("'l'", "'offsets'")), 1);
    let refused = error(&mut session, &lines(into_table, "{}", 9).replace("'l'", "'offsets'"));
    assert!(refused.contains("go on at line 8"), "{refused}");
}

#[test]
fn the_last_number_that_there_is_is_stored_once_and_none_behind_it() {
    let queues = Queues::start();
    queues.sql("create table t (userid bigint)");
    let put = |sequence: i64| {
        format!("select queue.put('bips', array[row(null, 1, 1, 1, 'b', 'u')::t_bip], 'p', 1, {sequence})")
    };
    begin_at(&queues, "p", i64::MAX);
    assert_eq!(queues.number(&put(i64::MAX)), 1);
    assert_eq!(queues.number(&put(i64::MAX)), 0, "it is there");
    for target in ["queue => 'bips'", "into_table => 't'"] {
        let lines = |lines: &str, sequence: i64| {
            format!(
                "select stored from queue.put_lines({target}, lines => '{lines}', producer => 'l', sequence => {sequence})"
            )
        };
        let has_no_number = |several: &str, sequence: i64| {
            let refused = queues.error(&lines(several, sequence));
            assert!(refused.starts_with("55000 producer l has no numbers left"), "{refused}");
        };
        queues.sql(&lines("", i64::MAX - 1));
        has_no_number("{}\n{}", i64::MAX - 1);
        assert_eq!(queues.number(&lines("{}", i64::MAX - 1)), 1);
        assert_eq!(queues.number(&lines("{}", i64::MAX - 1)), 0, "it is there");
        assert_eq!(queues.number(&lines("{}\n{}", i64::MAX - 2)), 0, "both are");
        has_no_number("{}", i64::MAX);
        let parts = "{}\n".repeat(30_000);
        let refused = queues.error(&lines(&parts, i64::MAX - 20_000));
        assert!(refused.starts_with("22023 producer l: there are no numbers for 10000 lines"), "{refused}");
    }
    assert_eq!(queues.number("select count(*) from queue.take('bips', 10, null::t_bip)"), 2);
    assert_eq!(queues.number("select count(*) from t"), 1);
}

#[test]
fn names_and_numbers_that_no_producer_can_have_are_refused() {
    let queues = Queues::start();
    queues.sql("create table log (userid bigint)");
    let long = format!("repeat('n', {})", 257);
    for (name, epoch, sequence) in [
        ("''", 1, 1),
        (long.as_str(), 1, 1),
        ("(select string_agg(md5(n::text), '') from generate_series(1, 250) n)", 1, 1),
        ("'p'", -1, 1),
        ("'p'", i64::from(i32::MIN), 1),
        ("'p'", 1, 0),
        ("'p'", 1, -1),
        ("'p'", 1, i64::MIN),
    ] {
        let numbers =
            format!("producer => {name}, epoch => ({epoch})::int, sequence => ({sequence})::bigint");
        let lines = r#"lines => '{"userid": 1}'"#;
        for statement in [
            format!("select queue.put('bips', array[row(null, 1, 1, 1, 'x', 'u')::t_bip], {numbers})"),
            format!("select * from queue.put_lines('bips', {lines}, {numbers})"),
            format!("select * from queue.put_lines(into_table => 'log', {lines}, {numbers})"),
        ] {
            let error = queues.error(&statement);
            assert!(error.contains("22023") && error.contains("producer"), "{statement}: {error}");
        }
    }
    let three = format!(
        "select * from queue.put_lines('bips', lines => E'{{}}\\n{{}}\\n{{}}\\n', producer => 'p', sequence => {})",
        i64::MAX - 1
    );
    let error = queues.error(&three);
    assert!(error.contains("22023"), "{error}");
    let of_nobody = "select count(*) from (select from queue.producers('bips')
                     union all select from queue.producers('log'::regclass)) known";
    assert_eq!(queues.number(of_nobody), 0);
    let longest = "select queue.put('bips', array[row(null, 1, 1, 1, 'x', 'u')::t_bip],
        producer => repeat('n', 256), epoch => 0, sequence => 1)";
    assert_eq!(queues.number(longest), 1);
}

/// Pages of all tables of the queue `m`.
const SIZE: &str = "select sum(pg_relation_size(class.oid))::bigint / 8192 from pg_class class
    join queue.queue on queue.name = 'm' and relname ~ format('^(rows|ledger)_%s_[123]$', queue.id)
    where relnamespace = 'queue'::regnamespace";

/// Has the queue `m` looked after until its tables are small.
fn wait_until_small(queues: &Queues, pages: i64) {
    wait_for("the tables are small", || {
        queues.sql("select queue.maintain('m')");
        queues.number(SIZE) < pages
    });
}

/// So many rows come into the queue `m` and go, a thousand at a time.
fn come_and_go(queues: &Queues, rows: i64) {
    for _ in 0..rows / 1000 {
        queues.sql("select count(queue.send('m', '{}')) from generate_series(1, 1000)");
        assert_eq!(queues.number("select count(*) from queue.pop('m', 10000)"), 1000);
    }
}

#[test]
fn a_producer_that_sends_the_same_again_and_again_leaves_one_mark() {
    let queues = Queues::start();
    let send = |lines: &str| {
        let call =
            format!("queue.put_lines('m', E'{lines}'::text, producer => 'p', epoch => 1, sequence => 1)");
        queues.sql(&format!("do $$ begin for i in 1..100 loop perform {call}; end loop; end $$"));
    };
    queues.sql("select queue.create('m')");
    let id = queues.number("select id::bigint from queue.queue where name = 'm'");
    for (lines, rows) in [("\n", 1), ("\n\nbad\n", 2), ("\n\nbad\n\n{}\n", 3), ("\n\n\n", 3)] {
        send(lines);
        let ledger = format!("select count(*) from queue.ledger_{id}_1");
        assert_eq!(queues.number(&ledger), rows, "after {lines}");
    }
}

#[test]
#[cfg_attr(not(feature = "long"), ignore = "it takes long: make test-long")]
fn what_producers_leave_that_send_nothing_but_empty_lines_is_truncated() {
    let mut queues = Queues::with(&[("howdah.queue_segment_size", "1MB")]);
    queues.sql("select queue.create('m')");
    let empty_lines = |first: i64| {
        queues.number(SIZE);
        format!(
            "do $$ begin for number in {first}..{first} + 59999 loop
               perform queue.put_lines('m', E'\n'::text, producer => 'p', epoch => 1, sequence => number);
               if number % 100 = 0 then commit; end if;
             end loop; end $$"
        )
    };
    let (before, after) = (empty_lines(1), empty_lines(60_001));
    queues.sql(&before);
    wait_until_small(&queues, 100);
    queues.sql(&after);
    queues.cluster.restart(Shutdown::Immediate, Life::WithParent).unwrap();
    come_and_go(&queues, 20_000);
    wait_until_small(&queues, 150);
    let sequence = "select sequence from queue.producers('m') where producer = 'p'";
    assert_eq!(queues.number(sequence), 120_000);
}

#[test]
#[cfg_attr(not(feature = "long"), ignore = "it takes long: make test-long")]
fn a_queue_of_many_producers_is_truncated_also_after_it_was_purged_again_and_again() {
    let queues = Queues::with(&[("howdah.queue_segment_size", "1MB")]);
    queues.sql("select queue.create('m')");
    for sequence in 1..=3 {
        queues.sql(&format!(
            "do $$ begin for number in 1..12000 loop
               perform queue.put_lines('m', E'1\n'::text, producer => 'producer-' || number, epoch => 1, sequence => {sequence});
             end loop; end $$"
        ));
        queues.sql("select count(*) from queue.pop('m', 5000)");
        assert_eq!(queues.number("select queue.purge_queue('m')"), 7000);
        let known = format!("select count(*) from queue.producers('m') where sequence = {sequence}");
        assert_eq!(queues.number(&known), 12_000);
        come_and_go(&queues, 10_000);
    }
    come_and_go(&queues, 60_000);
    // The ledger of each says how far all are, once.
    wait_until_small(&queues, 500);
}
