//! Messages and leases.

use std::thread;
use std::time::Instant;

use cluster::postgres::Client;
use howdah_tests::bounds;
use howdah_tests::queues::{Queues, number, put};

/// Numbers of the messages that a query returns.
fn ids(session: &mut Client, query: &str) -> Vec<i64> {
    let rows = session.query(query, &[]).unwrap_or_else(|error| panic!("{error:?}\n{query}"));
    rows.iter().map(|row| row.get(0)).collect()
}

fn messages() -> (Queues, Client) {
    let queues = Queues::start();
    queues.sql("select queue.create('m'); select queue.create('few', max_reads => 2)");
    let session = queues.session();
    (queues, session)
}

#[test]
fn a_lease_hides_a_message_until_its_time_is_over() {
    let (_queues, mut session) = messages();
    ids(&mut session, "select * from queue.send_batch('m', array['{\"n\": 1}', '{\"n\": 2}']::jsonb[])");
    let read = "select msg_id from queue.read('m', 1, 10) where read_ct = ";
    assert_eq!(ids(&mut session, &format!("{read} 1")), [1, 2]);
    assert_eq!(ids(&mut session, &format!("{read} 2")), [0i64; 0]);
    session.batch_execute("select pg_sleep(1.1)").unwrap();
    assert_eq!(ids(&mut session, &format!("{read} 2")), [1, 2]);
    assert_eq!(ids(&mut session, "select msg_id from queue.set_vt('m', array[1, 2, 9], 0)"), [1, 2]);
    assert_eq!(ids(&mut session, "select msg_id from queue.set_vt('m', 2, 30)"), [2]);
    assert_eq!(ids(&mut session, "select msg_id from queue.read('m', 30, 10)"), [1]);
    assert!(session.query_one("select queue.delete('m', 1)", &[]).unwrap().get::<_, bool>(0));
    assert!(!session.query_one("select queue.delete('m', 1)", &[]).unwrap().get::<_, bool>(0));
    assert_eq!(ids(&mut session, "select * from queue.archive('m', array[1, 2])"), [2]);
    assert_eq!(number(&mut session, "select count(*) from queue.a_m where message = '{\"n\": 2}'"), 1);
    assert_eq!(number(&mut session, "select queue_length from queue.metrics('m')"), 0);
}

#[test]
fn thousands_of_leases_expire_and_every_message_is_read_again() {
    let (_queues, mut session) = messages();
    for statement in [
        "select queue.send_batch('m', array(select to_jsonb(n) from generate_series(1, 3000) n))",
        "do $$ begin for i in 1..3000 loop perform queue.read('m', 1, 1); commit; end loop; end $$",
        "select pg_sleep(1.1)",
    ] {
        session.batch_execute(statement).unwrap();
    }
    assert_eq!(ids(&mut session, "select msg_id from queue.read('m', 60, 5000)").len(), 3000);
    assert!(ids(&mut session, "select msg_id from queue.read('m', 60, 5000)").is_empty());
}

#[test]
fn a_delayed_message_waits_and_others_overtake_it() {
    let (_queues, mut session) = messages();
    session
        .batch_execute(
            "select queue.send('m', '1', 1), queue.send('m', '2'), queue.send('m', '3', '{\"h\": 1}'::jsonb, 1),
                    queue.send('m', '4', clock_timestamp() + interval '1 hour'),
                    queue.send('m', '5', '{\"h\": 2}'::jsonb)",
        )
        .unwrap();
    assert_eq!(ids(&mut session, "select msg_id from queue.pop('m', 10)"), [2, 5]);
    assert_eq!(number(&mut session, "select queue_visible_length from queue.metrics('m')"), 0);
    session.batch_execute("select pg_sleep(1.1)").unwrap();
    assert_eq!(
        ids(&mut session, "select msg_id from queue.pop('m', 10) where msg_id = 1 or headers = '{\"h\": 1}'"),
        [1, 3]
    );
    assert_eq!(number(&mut session, "select queue_length from queue.metrics('m')"), 1);
}

#[test]
fn a_message_that_is_read_too_often_becomes_a_dead_letter_and_can_be_sent_again() {
    let (queues, mut session) = messages();
    session.batch_execute("select queue.send('few', '{\"n\": 7}', '{\"h\": 1}'::jsonb)").unwrap();
    for count in 1..=2 {
        assert_eq!(ids(&mut session, "select read_ct::bigint from queue.read('few', 0, 1)"), [count]);
    }
    assert!(ids(&mut session, "select msg_id from queue.read('few', 0, 1)").is_empty());
    let dead = "select count(*) from queue.dead_letters where queue_name = 'few' and read_ct = 2
        and message = '{\"n\": 7}' and headers = '{\"h\": 1}' and error = 'read 2 times'";
    assert_eq!(number(&mut session, dead), 1);
    assert_eq!(number(&mut session, "select queue.redrive('few')"), 1);
    assert_eq!(number(&mut session, "select count(*) from queue.pop('few') where headers = '{\"h\": 1}'"), 1);
    // Of typed rows alike.
    queues.sql("select queue.create('typed', 't_bip', max_reads => 1); select queue.put('typed', row(null, 5, 1, 1, 'é', null)::t_bip)");
    let read = "select (r).userid from (select \"row\" r from queue.read('typed', 5, '0 s', null::t_bip)) x";
    assert_eq!(ids(&mut session, read), [5]);
    assert!(ids(&mut session, read).is_empty());
    assert_eq!(number(&mut session, "select queue.redrive('typed')"), 1);
    assert_eq!(
        ids(
            &mut session,
            "select userid from queue.take('typed', 5, null::t_bip) where bip = 'é' and \"user\" is null"
        ),
        [5]
    );
}

#[test]
fn typed_rows_are_leased_acknowledged_and_given_back() {
    let (_queues, mut session) = messages();
    put(&mut session, 1, 5);
    let read =
        "select msg_id from queue.read('bips', 3, '1 hour', null::t_bip) where (\"row\").userid = msg_id";
    assert_eq!(ids(&mut session, read), [1, 2, 3]);
    assert_eq!(ids(&mut session, "select * from queue.ack('bips', array[1, 3, 77])"), [1, 3]);
    assert!(session.query_one("select queue.nack('bips', 2)", &[]).unwrap().get::<_, bool>(0));
    assert_eq!(ids(&mut session, read), [2, 4, 5]);
    session.batch_execute("begin; select queue.ack('bips', 4); rollback").unwrap();
    assert_eq!(ids(&mut session, "select * from queue.ack('bips', array[2, 4, 5])"), [2, 4, 5]);
}

#[test]
fn removing_waits_for_whoever_is_removing_and_sees_what_came_of_it() {
    let (queues, mut session) = messages();
    session.batch_execute("select queue.send('m', '1'), queue.send('m', '2')").unwrap();
    for (end, gone) in [("rollback", true), ("commit", false)] {
        let message = if gone { 1 } else { 2 };
        session.batch_execute(&format!("begin; select queue.delete('m', {message})")).unwrap();
        thread::scope(|scope| {
            let other = scope.spawn(|| {
                let statement = format!("select queue.delete('m', {message})");
                queues.session().query_one(&statement, &[]).unwrap().get::<_, bool>(0)
            });
            howdah_tests::wait_for("the other waits", || {
                queues.number("select count(*) from pg_locks where not granted") == 1
            });
            session.batch_execute(end).unwrap();
            assert_eq!(other.join().unwrap(), gone, "{end}");
        });
    }
}

#[test]
fn a_commit_wakes_who_waits_for_messages() {
    let (queues, mut session) = messages();
    thread::scope(|scope| {
        let waiting = scope.spawn(|| {
            let begin = Instant::now();
            let read = "select msg_id from queue.read_with_poll('m', 30, 1, 60, 60000)";
            (ids(&mut queues.session(), read), begin.elapsed())
        });
        howdah_tests::wait_for("it waits", || {
            queues.number("select count(*) from pg_stat_activity where wait_event_type = 'Extension' and query like '%with_poll%'") == 1
        });
        session.batch_execute("select queue.send('m', '1')").unwrap();
        let sent = Instant::now();
        let (found, _) = waiting.join().unwrap();
        assert_eq!(found, [1]);
        bounds::POLL_IS_WOKEN.check(sent.elapsed());
    });
    // A lease that ends wakes it too, and without messages the time is over at last.
    session.batch_execute("select queue.set_vt('m', 1, 1)").unwrap();
    let begin = Instant::now();
    assert_eq!(ids(&mut session, "select msg_id from queue.read_with_poll('m', 30, 1, 60)"), [1]);
    bounds::POLL_SEES_A_LEASE_END.check(begin.elapsed());
    assert!(ids(&mut session, "select msg_id from queue.read_with_poll('m', 30, 1, 1)").is_empty());
}

#[test]
fn a_lease_that_ends_wakes_who_waits_for_a_condition_whatever_became_of_messages_before_it() {
    let (_queues, mut session) = messages();
    for (end, last) in [("rollback", 3), ("commit", 6)] {
        session
            .batch_execute(
                "select queue.purge_queue('m');
                 select queue.send_batch('m', array['{\"k\": 0}', '{\"k\": 0}', '{\"k\": 1}']::jsonb[])",
            )
            .unwrap();
        session.batch_execute("select queue.read('m', 4, 1, '{\"k\": 1}')").unwrap();
        session.batch_execute(&format!("begin; select queue.pop('m', 2); {end}")).unwrap();
        let begin = Instant::now();
        let poll = "select msg_id from queue.read_with_poll('m', 30, 1, 25, 100, '{\"k\": 1}')";
        assert_eq!(ids(&mut session, poll), [last], "{end}");
        bounds::POLL_AFTER_POP.check(begin.elapsed());
    }
}

#[test]
fn a_condition_chooses_messages() {
    let (_queues, mut session) = messages();
    session
        .batch_execute("select queue.send_batch('m', array(select jsonb_build_object('n', n % 3) from generate_series(1, 600) n))")
        .unwrap();
    let read = "select msg_id from queue.read('m', 30, 5, '{\"n\": 2}')";
    assert_eq!(ids(&mut session, read), [2, 5, 8, 11, 14]);
    assert_eq!(ids(&mut session, read), [17, 20, 23, 26, 29]);
    assert_eq!(ids(&mut session, "select msg_id from queue.pop('m', 4)"), [1, 3, 4, 6]);
}

#[test]
fn purging_empties_a_queue() {
    let (_queues, mut session) = messages();
    session
        .batch_execute("select queue.send('m', '1'), queue.send('m', '2', 60); select queue.pop('m')")
        .unwrap();
    assert_eq!(number(&mut session, "select queue.purge_queue('m')"), 1);
    assert_eq!(number(&mut session, "select queue_length from queue.metrics('m')"), 0);
    assert_eq!(number(&mut session, "select queue.send('m', '3')"), 3);
    assert_eq!(ids(&mut session, "select msg_id from queue.pop('m', 5)"), [3]);
    session.batch_execute("begin").unwrap();
    session.batch_execute("select queue.send('m', '4'); select queue.purge_queue('m'); rollback").unwrap();
    assert_eq!(number(&mut session, "select queue.send('m', '5')"), 5);
    assert_eq!(ids(&mut session, "select msg_id from queue.pop('m', 5)"), [5]);
}

#[test]
fn whatever_consumers_do_every_message_is_removed_once_and_none_is_forgotten() {
    let (queues, mut session) = messages();
    let removed = std::sync::Mutex::new(Vec::new());
    thread::scope(|scope| {
        for consumer in 0..6u64 {
            let (queues, removed) = (&queues, &removed);
            scope.spawn(move || {
                let mut session = queues.session();
                // A small generator: the same choices in each run.
                let mut state = consumer + 1;
                let mut choose = |choices: u64| {
                    state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                    (state >> 33) % choices
                };
                for _ in 0..400 {
                    session.batch_execute("begin").unwrap();
                    if choose(2) == 0 {
                        let many = 1 + choose(30);
                        let send = format!("select queue.send_batch('m', array(select to_jsonb(n) from generate_series(1, {many}) n))");
                        session.batch_execute(&send).unwrap();
                    }
                    let leased = ids(&mut session, &format!("select msg_id from queue.read('m', 1, {})", 1 + choose(20)));
                    let list = format!("array{leased:?}::bigint[]");
                    session.batch_execute("savepoint settled").unwrap();
                    let mut done = match choose(5) {
                        0 => ids(&mut session, &format!("select * from queue.delete('m', {list})")),
                        1 => ids(&mut session, &format!("select * from queue.archive('m', {list})")),
                        2 => ids(&mut session, &format!("select msg_id from queue.set_vt('m', {list}, 0)")).into_iter().take(0).collect(),
                        3 => ids(&mut session, "select msg_id from queue.pop('m', 7)"),
                        _ => Vec::new(),
                    };
                    if choose(4) == 0 {
                        session.batch_execute("rollback to settled").unwrap();
                        done.clear();
                    }
                    if choose(5) == 0 {
                        session.batch_execute("rollback").unwrap();
                    } else {
                        session.batch_execute("commit").unwrap();
                        removed.lock().unwrap().extend(done);
                    }
                }
            });
        }
    });
    let mut removed = removed.into_inner().unwrap();
    let length = number(&mut session, "select queue_length from queue.metrics('m')");
    session.batch_execute("select pg_sleep(1.1)").unwrap();
    let rest = ids(&mut session, "select msg_id from queue.pop('m', 100000)");
    assert_eq!(rest.len() as i64, length, "what is counted can be popped once no lease holds it");
    removed.extend(rest);
    let count = removed.len();
    removed.sort_unstable();
    removed.dedup();
    assert_eq!(removed.len(), count, "a message was removed twice");
    let stored = "select count(*) from (select \"@position\" from queue.rows_2_1 union all select \"@position\" from queue.rows_2_2
                  union all select \"@position\" from queue.rows_2_3) x";
    assert_eq!(number(&mut session, stored), count as i64, "a message was forgotten");
}
