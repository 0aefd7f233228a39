//! Consumers that wait: who is woken, by what, and what it costs.

use std::thread;
use std::time::{Duration, Instant};

use howdah_tests::bounds;
use howdah_tests::client::allow_as_many_files_as_possible;
use howdah_tests::queues::{Queues, error, number};
use howdah_tests::{Connection, Platform, wait_for};
use serde_json::json;

const SCHEMA: &str = "
    create type bip as (userid bigint, bip text);
    select queue.create('bips', row_type => 'bip'), queue.create('mail');
    select queue.grant(name, 'take', 'howdah_web') from unnest(array['bips', 'mail']) name;
    select queue.serve()";

fn platform() -> Platform {
    allow_as_many_files_as_possible();
    let platform = Platform::with(&[
        ("howdah.min_executors", "2"),
        ("howdah.max_executors", "2"),
        ("max_prepared_transactions", "5"),
    ]);
    platform.sql(SCHEMA);
    platform
}

/// How often the routes have run.
fn looks(platform: &Platform) -> i64 {
    platform
        .value("select sum(requests) from http.stats")
        .and_then(|sum| sum.parse().ok())
        .unwrap_or_default()
}

/// So many requests to a path, which all wait.
fn waiting(platform: &Platform, path: &str, count: usize) -> Vec<Connection> {
    let before = looks(platform);
    let ask = |_| {
        let mut connection = platform.connect();
        connection.send("POST", path, &[], b"");
        connection
    };
    let waiting = (0..count).map(ask).collect();
    wait_for("all have looked", || {
        looks(platform) >= before + count as i64 && platform.running("/read") == 0
    });
    waiting
}

/// Those that have been answered, and are no longer among those that wait.
fn answered(waiting: &mut Vec<Connection>) -> Vec<serde_json::Value> {
    let arrived = waiting.extract_if(.., |connection| connection.has_arrived());
    arrived.map(|mut connection| connection.read_reply(false).expect("an answer").json()).collect()
}

#[test]
fn a_thousand_reads_that_wait_in_vain_cost_nothing_and_a_row_costs_as_much_as_its_reader() {
    let platform = platform();
    let mut waiting = waiting(&platform, "/queues/bips/read?qty=1&wait=60+s", 1000);
    // They may have looked twice while others arrived.
    thread::sleep(Duration::from_millis(500));
    let before = looks(&platform);
    thread::sleep(Duration::from_secs(3));
    let spent = looks(&platform) - before;
    assert!(spent <= 1, "{spent} transactions in three seconds in which nothing happened");
    for row in 0..10 {
        let before = looks(&platform);
        platform.sql(&format!("select queue.put('bips', row({row}, 'x')::bip)"));
        let mut rows = Vec::new();
        wait_for("somebody has it", || {
            rows.extend(answered(&mut waiting));
            !rows.is_empty()
        });
        assert_eq!(rows[0]["rows"][0]["row"]["userid"], json!(row));
        thread::sleep(Duration::from_millis(30));
        let spent = looks(&platform) - before;
        assert!(spent <= 3, "{spent} transactions for a row");
    }
    assert_eq!(waiting.len(), 990);
}

#[test]
fn rows_that_come_at_once_are_read_at_once() {
    const ROWS: usize = 300;
    let platform = platform();
    let mut waiting = waiting(&platform, "/queues/bips/read?qty=1&wait=60+s", ROWS + 20);
    let begin = Instant::now();
    platform.sql(&format!(
        "select queue.put('bips', array(select row(n, 'x')::bip from generate_series(1, {ROWS}) n))"
    ));
    let mut answers = Vec::new();
    wait_for("all rows are read", || {
        answers.extend(answered(&mut waiting));
        answers.len() == ROWS
    });
    bounds::ALL_WHO_WAIT_READ.check(begin.elapsed());
    assert!(answers.iter().all(|answer| answer["rows"].as_array().unwrap().len() == 1));
    assert_eq!(waiting.len(), 20);
}

/// What makes a row free: its name, what is done before somebody waits, and after. `{id}` is a row that is leased for an hour.
const CAUSES: &[(&str, &[&str], &[&str])] = &[
    ("a commit", &[], &["select queue.put('bips', row(1, 'x')::bip)"]),
    ("giving back", &[], &["select queue.nack('bips', {id})"]),
    ("giving back a batch", &[], &["select queue.nack('bips', array[{id}])"]),
    ("a lease that ends", &["select queue.nack('bips', {id}, 1)"], &[]),
    ("a lease that is made meanwhile, and ends", &[], &["select queue.nack('bips', {id}, 1)"]),
    (
        "a lease that is over before its transaction",
        &[],
        &["begin", "select queue.nack('bips', {id}, 1)", "select pg_sleep(1.5)", "commit"],
    ),
    (
        "a rollback",
        &["select queue.nack('bips', {id})", "begin", "select queue.take('bips', 1, null::bip)"],
        &["rollback"],
    ),
    (
        "a rollback to a savepoint",
        &[
            "select queue.nack('bips', {id})",
            "begin",
            "savepoint s",
            "select queue.take('bips', 1, null::bip)",
        ],
        &["rollback to s"],
    ),
    (
        "a commit of what was prepared",
        &["begin", "select queue.put('bips', row(1, 'x')::bip)", "prepare transaction 'p'"],
        &["commit prepared 'p'"],
    ),
    (
        "a rollback of what was prepared",
        &[
            "select queue.nack('bips', {id})",
            "begin",
            "select queue.take('bips', 1, null::bip)",
            "prepare transaction 'p'",
        ],
        &["rollback prepared 'p'"],
    ),
];

/// For each cause: `wait` begins to wait after its first part, and returns once it has a row after the second.
fn for_each_cause(platform: &Platform, wait: impl Fn(&str, &mut dyn FnMut())) {
    for (cause, before, after) in CAUSES {
        let mut session = platform.session();
        session.batch_execute("select queue.put('bips', row(1, 'x')::bip)").unwrap();
        let read = "select msg_id from queue.read('bips', 1, '1 hour', null::bip)";
        let id = number(&mut session, read).to_string();
        let mut run = |steps: &[&str]| {
            for step in steps {
                let done = session.batch_execute(&step.replace("{id}", &id));
                done.unwrap_or_else(|error| panic!("{cause}: {error:?}"));
            }
        };
        run(before);
        let mut freed = Instant::now();
        wait(cause, &mut || {
            run(after);
            freed = Instant::now();
        });
        println!("{cause}");
        bounds::WAITING_IS_TOLD.check(freed.elapsed());
        run(&["rollback", "select queue.purge_queue('bips')"]);
    }
}

#[test]
fn whatever_makes_a_row_free_wakes_a_request_that_waits_for_it() {
    let platform = platform();
    for_each_cause(&platform, |cause, free| {
        let mut readers = waiting(&platform, "/queues/bips/read?qty=1&vt=1+hour&wait=60+s", 3);
        free();
        wait_for(cause, || !answered(&mut readers).is_empty());
        // The others would have what the next cause makes free.
        platform.sql("select queue.put('bips', array[row(2, 'x')::bip, row(3, 'x')::bip])");
        wait_for("the others are answered", || {
            answered(&mut readers);
            readers.is_empty()
        });
    });
}

#[test]
fn whatever_makes_a_row_free_wakes_a_session_that_waits_for_it() {
    let platform = platform();
    for statement in [
        "select count(*) from queue.take_with_poll('bips', 5, '60 s', null::bip)",
        "select count(*) from queue.read_with_poll('bips', 5, '1 hour', '60 s', null::bip)",
    ] {
        for_each_cause(&platform, |cause, free| {
            thread::scope(|scope| {
                let waiter = scope.spawn(|| number(&mut platform.session(), statement));
                wait_for("it waits", || platform.value(WAITERS).as_deref() == Some("1"));
                free();
                assert_eq!(waiter.join().unwrap(), 1, "{cause}");
            });
        });
    }
}

/// Sessions that sleep until there are rows.
const WAITERS: &str = "select count(*) from pg_stat_activity
    where wait_event_type = 'Extension' and query like '%with_poll%' and pid <> pg_backend_pid()";

#[test]
fn a_session_waits_no_longer_than_it_was_told() {
    let queues = Queues::start();
    let mut session = queues.session();
    let begin = Instant::now();
    let none = "select count(*) from queue.take_with_poll('bips', 5, '300 ms', null::t_bip)";
    assert_eq!(number(&mut session, none), 0);
    assert!(begin.elapsed().as_millis() >= 300, "{:?}", begin.elapsed());
    bounds::SESSION_WAITS_AS_TOLD.check(begin.elapsed());
    let long = "select queue.take_with_poll('bips', 5, '60 s', null::t_bip)";
    let cancelled = error(&mut session, &format!("set statement_timeout = '200ms'; {long}"));
    assert!(cancelled.starts_with("57014"), "{cancelled}");
}

#[test]
fn no_row_stays_free_while_somebody_waits_whoever_dies() {
    let platform = platform();
    let mut session = platform.session();
    let read = "/queues/bips/read?qty=1&vt=1+day&wait=60+s";
    // 325 rows are sent; clients go and executors end, each with the reader whose turn it is.
    let mut readers = waiting(&platform, read, 500);
    for round in 0..if cfg!(feature = "long") { 25 } else { 9 } {
        platform.sql(&format!(
            "select queue.put('bips', array(select row(n, 'x')::bip from generate_series(0, {round}) n))"
        ));
        match round % 3 {
            0 => platform.sql("select pg_terminate_backend(pid) from http.workers where kind = 'executor'"),
            // Those whose turn it is next.
            1 => drop(readers.drain(..5)),
            _ => {}
        }
        answered_or_failed(&mut readers);
        let free = "select queue_visible_length from queue.metrics('bips')";
        let since = Instant::now();
        while number(&mut session, free) > 0 {
            bounds::FREE_ROWS_ARE_READ.check(since.elapsed());
            answered_or_failed(&mut readers);
        }
    }
    assert!(!readers.is_empty());
}

/// Drops those that have got an answer; an executor that ends is one, too.
fn answered_or_failed(readers: &mut Vec<Connection>) {
    readers.retain_mut(|connection| !connection.has_arrived());
}

#[test]
fn those_who_look_for_something_of_their_own_look_each_time() {
    let platform = platform();
    platform.sql(
        "create function await(color text) returns json language plpgsql as $$
         declare
           arrivals bigint := queue.arrivals('mail');
           found jsonb;
         begin
           select message into found from queue.read('mail', 3600, 1, jsonb_build_object('color', color));
           if found is null then
             perform queue.answer_later('mail', arrivals, 60000);
           end if;
           return found;
         end $$;
         select http.route('POST', '/read/{color}', 'await')",
    );
    let colors = ["red", "green", "blue"];
    let mut readers: Vec<_> =
        colors.iter().map(|color| waiting(&platform, &format!("/read/{color}"), 1).remove(0)).collect();
    for color in ["blue", "green", "red"] {
        platform.sql(&format!("select queue.send('mail', '{{\"color\": \"{color}\"}}')"));
        let sent = Instant::now();
        let mut answers = Vec::new();
        wait_for("the message is read", || {
            answers.extend(answered(&mut readers));
            !answers.is_empty()
        });
        assert_eq!(answers, [json!({ "color": color })]);
        bounds::WAITING_IS_TOLD.check(sent.elapsed());
    }
    // A message that nobody wants is no reason to look again and again.
    let _reader = waiting(&platform, "/read/red", 1);
    platform.sql("select queue.send('mail', '{\"color\": \"grey\"}', 1)");
    thread::sleep(Duration::from_millis(1100));
    let before = looks(&platform);
    thread::sleep(Duration::from_secs(2));
    let spent = looks(&platform) - before;
    assert!(spent <= 3, "{spent} transactions in two seconds");
}

#[test]
fn a_lease_is_prolonged_by_giving_the_row_back_later() {
    let queues = Queues::start();
    queues.put(1, 1);
    let mut session = queues.session();
    let read = "select count(*) from queue.read('bips', 1, '1 s', null::t_bip)";
    assert_eq!(number(&mut session, read), 1);
    assert_eq!(number(&mut session, "select queue.nack('bips', 1, 600)::int::bigint"), 1);
    session.batch_execute("select pg_sleep(1.1)").unwrap();
    assert_eq!(number(&mut session, read), 0);
    assert_eq!(number(&mut session, "select count(*) from queue.ack('bips', array[1])"), 1);
}
