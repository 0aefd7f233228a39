//! A row type that is altered while rows are on their way: nothing is stored or read under another type than it has.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use cluster::postgres::Client;
use howdah_tests::queues::Queues;
use howdah_tests::wait_for;

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
    let started = queues.number("select extract(epoch from pg_postmaster_start_time())::bigint");
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
                        error.as_db_error().is_some_and(|error| error.code().code().starts_with("42")),
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
    assert_eq!(queues.number("select extract(epoch from pg_postmaster_start_time())::bigint"), started);
}
