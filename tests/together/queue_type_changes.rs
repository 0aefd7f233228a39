//! A row type that is altered while rows are on their way: nothing is stored or read under another type than it has.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use cluster::postgres::Client;
use howdah_tests::queues::Queues;
use howdah_tests::shippers::Shipper;
use howdah_tests::{Platform, free_port, wait_for};
use serde_json::json;

/// A queue `q` of rows of type `event`, empty.
fn queues() -> Queues {
    let queues = Queues::with(&[]);
    queues.sql("create type event as (id bigint, name text); select queue.create('q', row_type => 'event')");
    queues
}

/// Runs a statement in a session that knows the type, while another alters it; the answer, or the error's SQLSTATE.
fn behind_an_alter(
    queues: &Queues,
    warm: &str,
    statement: &str,
    alter: &str,
) -> Result<Option<String>, String> {
    let mut session = queues.session();
    session.batch_execute(warm).expect("it runs before");
    let mut altering = queues.session();
    altering.batch_execute(&format!("begin; {alter}")).expect("the type is altered");
    thread::scope(|scope| {
        let waiting = scope.spawn(|| first_value(&mut session, statement));
        wait_for("it waits for the type", || {
            queues.number("select count(*) from pg_locks where not granted") > 0
        });
        altering.batch_execute("commit").expect("a commit");
        waiting.join().expect("no panic")
    })
}

fn first_value(session: &mut Client, statement: &str) -> Result<Option<String>, String> {
    match session.simple_query(statement) {
        Ok(messages) => Ok(messages.iter().find_map(|message| match message {
            cluster::postgres::SimpleQueryMessage::Row(row) => row.get(0).map(str::to_owned),
            _ => None,
        })),
        Err(error) => Err(error.as_db_error().expect("an error of the server").code().code().to_owned()),
    }
}

const FLUSH: &str = "select count(*) from queue.take('q', 100, null::event)";

#[test]
fn lines_that_wait_for_an_alter_become_rows_of_the_new_type() {
    let queues = queues();
    let put = r#"select stored from queue.put_lines('q', lines => '{"id": 1234567, "name": "one"}'::text)"#;
    let warm = format!("{put}; {FLUSH}");
    for (alter, id) in [
        ("alter type event alter attribute id type text", "1234567"),
        ("alter type event alter attribute id type numeric", "1234567"),
        ("alter type event alter attribute id type bigint", "1234567"),
        (
            "alter type event rename attribute id to other; alter type event rename attribute name to id",
            "1234567",
        ),
        ("alter type event drop attribute other; alter type event add attribute added int", "1234567"),
    ] {
        assert_eq!(behind_an_alter(&queues, &warm, put, alter), Ok(Some("1".into())), "{alter}");
        let taken = first_value(&mut queues.session(), "select id from queue.take('q', 10, null::event)");
        assert_eq!(taken, Ok(Some(id.into())), "after {alter}");
    }
}

#[test]
fn values_of_the_old_type_are_refused_after_an_alter() {
    let queues = queues();
    for put in [
        "select queue.put('q', row(1234567, 'one')::event)",
        "select queue.put('q', array[row(1234567, 'one')::event])",
        "select queue.put('q', array[row(1234567, 'one')::event], 'p', 1, 1)",
    ] {
        queues.sql("alter type event alter attribute id type bigint");
        // What the producer has sent before is not sent again.
        let warm = format!("begin; {put}; rollback");
        let result = behind_an_alter(&queues, &warm, put, "alter type event alter attribute id type text");
        assert_eq!(result, Err("40001".into()), "{put}");
        assert_eq!(queues.number("select count(*) from queue.take('q', 10, null::event)"), 0, "{put}");
    }
}

#[test]
fn a_take_that_waits_for_an_alter_hands_out_nothing_of_the_old_type() {
    let queues = queues();
    for take in [
        "select id from queue.take('q', 10, null::event)",
        "select (r.\"row\").id from queue.read('q', 10, '1 hour', null::event) r",
        "select queue.peek('q', 10, null::event)",
    ] {
        queues.sql("alter type event alter attribute id type bigint");
        let result = behind_an_alter(&queues, take, take, "alter type event alter attribute id type text");
        assert!(
            matches!(&result, Ok(None))
                || matches!(&result, Err(state) if state.starts_with("42") || state == "40001"),
            "{take}: {result:?}"
        );
    }
}

#[test]
fn a_type_that_is_altered_again_and_again_under_load_neither_ends_the_server_nor_changes_a_value() {
    let queues = queues();
    let started = queues.began();
    let over = AtomicBool::new(false);
    let (queues, over) = (&queues, &over);
    let taken = thread::scope(|scope| {
        let senders: Vec<_> = (0..2)
            .map(|_| {
                scope.spawn(move || {
                    let mut session = queues.session();
                    let mut sent = 0;
                    while !over.load(Ordering::Relaxed) {
                        let put = r#"select queue.put_lines('q', lines => '{"id": 42, "name": "x"}'::text)"#;
                        session.batch_execute(put).expect("lines are stored");
                        sent += 1;
                    }
                    sent
                })
            })
            .collect();
        let taker = scope.spawn(move || {
            let mut session = queues.session();
            let mut taken = 0;
            let mut is_last = false;
            loop {
                match session.simple_query("select id::text from queue.take('q', 100, null::event)") {
                    Ok(messages) => {
                        for message in messages {
                            if let cluster::postgres::SimpleQueryMessage::Row(row) = message {
                                assert_eq!(row.get(0), Some("42"));
                                taken += 1;
                            }
                        }
                        if is_last {
                            return taken;
                        }
                    }
                    // The statement was planned for the type of before.
                    Err(error) => assert!(
                        error.as_db_error().is_some_and(|error| {
                            let state = error.code().code();
                            state.starts_with("42") || state == "40001"
                        }),
                        "{error:?}"
                    ),
                }
                is_last = over.load(Ordering::Relaxed);
            }
        });
        let mut altering = queues.session();
        let mut altered = 0;
        while altered < 60 {
            for wanted in ["numeric", "text", "bigint"] {
                // It is refused while there are rows.
                if altering
                    .batch_execute(&format!("alter type event alter attribute id type {wanted}"))
                    .is_ok()
                {
                    altered += 1;
                }
            }
        }
        over.store(true, Ordering::Relaxed);
        let sent: i64 = senders.into_iter().map(|sender| sender.join().expect("no panic")).sum();
        let taken: i64 = taker.join().expect("no panic");
        let left = queues.number("select count(*) from queue.take('q', 1000000, null::event)");
        assert_eq!(taken + left, sent);
        taken
    });
    assert!(taken > 0, "nothing was taken");
    assert_eq!(queues.began(), started);
}

#[test]
fn lines_over_tcp_keep_their_values_while_the_type_is_altered_again_and_again() {
    let platform = Platform::start();
    let port = free_port();
    platform.sql(&format!(
        "create type event as (id bigint, name text); select queue.create('q', row_type => 'event');
         select queue.listen({port}, queue => 'q', address => '127.0.0.1')"
    ));
    let bound = "select count(*)::text from queue.listeners where bound is not null";
    wait_for("the port takes lines", || platform.value(bound).as_deref() == Some("1"));
    let workers = platform.pids();
    let over = AtomicBool::new(false);
    let (platform, over) = (&platform, &over);
    let (sent, taken) = thread::scope(|scope| {
        let shippers: Vec<_> =
            (0..3).map(|producer| scope.spawn(move || ship_until(over, port, producer))).collect();
        let taker = scope.spawn(move || take_until(over, platform));
        let mut altering = platform.session();
        let mut altered = 0;
        while altered < 30 {
            for wanted in ["numeric", "text", "bigint"] {
                // It is refused while there are rows.
                let alter = format!("alter type event alter attribute id type {wanted}");
                altered += i32::from(altering.batch_execute(&alter).is_ok());
            }
        }
        over.store(true, Ordering::Relaxed);
        let sent: Vec<i64> = shippers.into_iter().map(|shipper| shipper.join().expect("no panic")).collect();
        (sent, taker.join().expect("no panic"))
    });
    let mut taken = taken;
    taken.extend(take_events(&mut platform.session()).expect("the rest"));
    taken.sort();
    let mut expected: Vec<_> = sent
        .iter()
        .zip(0..)
        .flat_map(|(sent, producer)| (1..=*sent).map(move |n| event(producer, n)))
        .collect();
    expected.sort();
    assert!(expected.len() > 100, "{sent:?} lines were sent");
    assert!(taken == expected, "{} of {} rows, or others", taken.len(), expected.len());
    assert!(platform.still_run(&workers), "{}", platform.log());
}

/// The values of a line, as text.
fn event(producer: i64, number: i64) -> (String, String) {
    let id = 1_000_000_000_000 * (producer + 1) + number;
    (id.to_string(), format!("name of {id}"))
}

/// Sends lines until it is over; how many, all of them acknowledged.
fn ship_until(over: &AtomicBool, port: u16, producer: i64) -> i64 {
    let stream = std::net::TcpStream::connect(("127.0.0.1", port)).expect("a connection");
    let hello = json!({"v": 1, "producer": format!("p{producer}"), "epoch": 1});
    let mut shipper = Shipper::greet(stream, hello).expect("a hello");
    let mut sent = 0;
    while !over.load(Ordering::Relaxed) {
        let line = |number| {
            let (id, name) = event(producer, number);
            format!("{{\"id\": {id}, \"name\": \"{name}\"}}\n")
        };
        let lines: String = (sent + 1..=sent + 3).map(line).collect();
        assert!(shipper.send(lines.as_bytes()));
        sent += 3;
        assert_eq!(shipper.wait_for_ack(sent), Vec::<serde_json::Value>::new());
    }
    sent
}

fn take_until(over: &AtomicBool, platform: &Platform) -> Vec<(String, String)> {
    let mut session = platform.session();
    let mut taken = Vec::new();
    while !over.load(Ordering::Relaxed) {
        match take_events(&mut session) {
            Ok(events) => taken.extend(events),
            // The statement was planned for the type of before.
            Err(state) => assert!(state.starts_with("42") || state == "40001", "{state}"),
        }
    }
    taken
}

fn take_events(session: &mut Client) -> Result<Vec<(String, String)>, String> {
    let messages =
        session
            .simple_query("select id::text, name from queue.take('q', 1000000, null::event)")
            .map_err(|error| error.as_db_error().expect("an error of the server").code().code().to_owned())?;
    let events = messages.iter().filter_map(|message| match message {
        cluster::postgres::SimpleQueryMessage::Row(row) => {
            Some((row.get(0).unwrap().to_owned(), row.get(1).unwrap().to_owned()))
        }
        _ => None,
    });
    Ok(events.collect())
}

/// Statements that return rows of the type, and one that returns them inside of others.
const TAKES: [&str; 5] = [
    "select to_jsonb(t)::text from queue.take('q', 10, null::event) t",
    "select id::text from queue.take_with_poll('q', 10, '0 s', null::event)",
    "select t::text from queue.peek('q', 10, null::event) t",
    "select queue.take('q', 10, null::event)::text",
    "select to_jsonb(r)::text from queue.read('q', 10, '0 s', null::event) r",
];

#[test]
fn a_take_that_waits_for_attributes_to_come_or_go_says_to_try_again_at_most() {
    let queues = queues();
    for take in TAKES {
        queues.sql("alter type event add attribute added int");
        for alter in [
            "alter type event drop attribute added",
            "alter type event add attribute more int",
            "alter type event drop attribute more; alter type event add attribute more int",
            "alter type event drop attribute more",
        ] {
            let result = behind_an_alter(&queues, take, take, alter);
            let is_read = take.contains("queue.read");
            assert!(result == Ok(None) || !is_read && result == Err("40001".into()), "{take}: {result:?}");
        }
    }
}

#[test]
fn a_statement_that_was_planned_before_an_alter_takes_rows_of_the_new_type() {
    let queues = queues();
    for take in TAKES {
        queues.sql("alter type event add attribute added int");
        let mut session = queues.session();
        session
            .batch_execute(&format!(
                "set plan_cache_mode = force_generic_plan; prepare taken as {take};
                 create or replace function taken() returns text language plpgsql as
                 $$ declare one text; begin {}; return one; end $$",
                take.replacen("::text", "::text into strict one", 1)
            ))
            .unwrap();
        let mut call = |before: &str, is_named: bool| {
            let put = "select queue.put('q', json_populate_record(null::event, '{\"id\": 1234567}'))";
            queues.sql(&format!("{before}; {put}"));
            for call in ["execute taken", "select taken()"] {
                let taken =
                    first_value(&mut session, call).unwrap().unwrap_or_else(|| panic!("{take}: {call}"));
                assert!(taken.contains("1234567"), "{take}: {call}: {taken}");
                let has_names = taken.contains('{');
                assert!(!has_names || taken.contains("\"added\"") == is_named, "{take}: {call}: {taken}");
                queues.sql(&format!("{FLUSH}; {put}"));
            }
            queues.sql(FLUSH);
        };
        call("select 1", true);
        call("alter type event add attribute more int", true);
        call("alter type event drop attribute added", false);
        queues.sql("alter type event drop attribute more");
    }
    queues.sql("alter type event add attribute added int");
    let mut session = queues.session();
    session.batch_execute("prepare taken as select added from queue.take('q', 10, null::event)").unwrap();
    queues.sql("alter type event drop attribute added; select queue.put('q', row(1, 'one')::event)");
    assert_eq!(
        first_value(&mut session, "execute taken"),
        Err("42703".into()),
        "the plan names what is gone"
    );
    // An error arrives before its transaction has ended.
    session.batch_execute("select 1").unwrap();
    assert_eq!(queues.number(FLUSH), 1);
}
