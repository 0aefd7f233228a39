//! Leases, acknowledgements and the archive, while the server is killed: nothing is lost, and what was acknowledged does
//! not come again.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Instant;

use cluster::postgres::error::SqlState;
use cluster::postgres::{Client, Error};
use howdah_tests::crashes::{Life, survive};
use howdah_tests::queues::{Queues, number};

const CRASHES: usize = if cfg!(feature = "long") { 200 } else { 10 };

/// What a producer and a consumer have been told of messages, by the numbers in them.
#[derive(Default)]
struct Told {
    sent: Vec<i64>,
    /// When a read began, and what it returned.
    read: Vec<(Instant, Vec<i64>)>,
    /// What was removed, and when it was known.
    removed: Vec<(Instant, i64)>,
    archived: Vec<i64>,
    /// What somebody asked to remove when the server died: it may be gone or not.
    unsure: Vec<i64>,
}

#[test]
fn what_is_leased_is_read_again_and_what_is_acknowledged_is_not() {
    let mut queues = Queues::with(&[("howdah.queue_segment_size", "1MB")]);
    queues.sql("select queue.create('m')");
    let next = AtomicI64::new(1);
    let results = survive(&mut queues, CRASHES, 6, |worker, queues, life| {
        let mut told = Told::default();
        if let Ok(session) = queues.cluster.connect("postgres") {
            let ended = match worker {
                0 | 1 => produce(session, life, &next, &mut told),
                _ => consume(session, life, worker, &mut told),
            };
            let error = ended.err().and_then(|error| error.as_db_error().cloned());
            let is_death = error.as_ref().is_none_or(|error| *error.code() == SqlState::ADMIN_SHUTDOWN);
            assert!(is_death, "not the death of the server: {error:?}");
        }
        told
    });
    let mut told = Told::default();
    for result in results {
        told.sent.extend(result.sent);
        told.read.extend(result.read);
        told.removed.extend(result.removed);
        told.archived.extend(result.archived);
        told.unsure.extend(result.unsure);
    }
    check(&queues, &told);
}

fn produce(mut session: Client, life: &Life, next: &AtomicI64, told: &mut Told) -> Result<(), Error> {
    while life.goes_on() {
        let first = next.fetch_add(40, Ordering::SeqCst);
        let last = first + 39;
        session.batch_execute(&format!(
            "select queue.send_batch('m', array(select to_jsonb(n) from generate_series({first}, {last}) n))"
        ))?;
        told.sent.extend(first..=last);
    }
    Ok(())
}

fn consume(mut session: Client, life: &Life, worker: usize, told: &mut Told) -> Result<(), Error> {
    for round in worker.. {
        if !life.goes_on() {
            break;
        }
        let begin = Instant::now();
        // Some leases are over before anybody has given the messages back.
        let time = round % 2;
        let read = format!("select msg_id, message::text::bigint from queue.read('m', {time}, 20)");
        let rows = session.query(&read, &[])?;
        let (ids, messages): (Vec<i64>, Vec<i64>) =
            rows.iter().map(|row| (row.get::<_, i64>(0), row.get::<_, i64>(1))).unzip();
        let message_of: HashMap<i64, i64> = ids.iter().copied().zip(messages.iter().copied()).collect();
        told.read.push((begin, messages.clone()));
        let (settle, removes) = match round % 4 {
            0 | 1 => ("select * from queue.delete('m', $1::bigint[])", true),
            2 => ("select * from queue.archive('m', $1::bigint[])", true),
            _ => ("select msg_id from queue.set_vt('m', $1::bigint[], 0)", false),
        };
        match session.query(settle, &[&ids]) {
            Ok(settled) if removes => {
                let settled = settled.iter().map(|row| message_of[&row.get::<_, i64>(0)]);
                let known = Instant::now();
                let settled: Vec<i64> = settled.collect();
                told.removed.extend(settled.iter().map(|message| (known, *message)));
                if settle.contains("archive") {
                    told.archived.extend(settled);
                }
            }
            Ok(_) => {}
            Err(error) => {
                if removes {
                    told.unsure.extend(messages);
                }
                return Err(error);
            }
        }
    }
    Ok(())
}

fn check(queues: &Queues, told: &Told) {
    let mut session = queues.session();
    let numbers = |session: &mut Client, query: &str| -> Vec<i64> {
        session.query(query, &[]).unwrap().iter().map(|row| row.get(0)).collect()
    };
    session.batch_execute("select pg_sleep(1.1)").unwrap();
    let length = number(&mut session, "select queue_length from queue.metrics('m')");
    let left = numbers(&mut session, "select message::text::bigint from queue.pop('m', 10000000)");
    assert_eq!(left.len() as i64, length, "every lease is over");
    let archived = numbers(&mut session, "select message::text::bigint from queue.a_m");

    let set = |list: &[i64]| -> HashSet<i64> { list.iter().copied().collect() };
    let (left_set, archived_set, unsure) = (set(&left), set(&archived), set(&told.unsure));
    assert_eq!(left_set.len(), left.len(), "a message is there twice");
    assert_eq!(archived_set.len(), archived.len(), "a message was archived twice");
    assert!(left_set.is_disjoint(&archived_set), "an archived message is there still");
    assert!(
        told.archived.iter().all(|message| archived_set.contains(message)),
        "an archived message is lost"
    );

    let mut removed = HashMap::new();
    for (known, message) in &told.removed {
        assert!(removed.insert(*message, *known).is_none(), "message {message} was removed twice");
        assert!(!left_set.contains(message), "message {message} was removed and is there");
    }
    for (begin, messages) in &told.read {
        let again = messages.iter().find(|message| removed.get(message).is_some_and(|known| known < begin));
        assert_eq!(again, None, "a message came again that was acknowledged");
    }
    let is_lost = |message: &&i64| {
        !(removed.contains_key(message)
            || left_set.contains(message)
            || archived_set.contains(message)
            || unsure.contains(message))
    };
    let lost = told.sent.iter().filter(is_lost).count();
    assert_eq!(lost, 0, "of {} messages", told.sent.len());
    let reads: usize = told.read.iter().map(|(_, messages)| messages.len()).sum();
    assert!(reads > 0 && !removed.is_empty() && !archived.is_empty(), "nothing happened");
}
