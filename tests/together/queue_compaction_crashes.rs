//! Segments are compacted while the server is killed, and while others send, take, lease and acknowledge: what stays stays
//! once, in order, and truncation goes on.

use std::collections::HashSet;
use std::sync::atomic::{AtomicI64, Ordering};

use cluster::postgres::error::SqlState;
use cluster::postgres::{Client, Error};
use howdah_tests::crashes::{Life, survive};
use howdah_tests::queues::{Queues, number};

const CRASHES: usize = if cfg!(feature = "long") { 200 } else { 10 };

/// Messages of a batch, of which the last ones are delayed for a day.
const BATCH: i64 = 1000;
/// Free messages beyond which nothing is sent: a segment that is full is soon drained but for those that stay.
const FREE: i64 = 3000;

const SIZE: &str = "select sum(pg_total_relation_size(c.oid))::bigint from pg_class c
    where c.relkind = 'r' and c.relname ~ '^(rows|ledger)_2_' and c.relnamespace = 'queue'::regnamespace";

/// What the threads have been told of messages, by the numbers in them.
#[derive(Default)]
struct Told {
    sent: Vec<i64>,
    delayed: Vec<i64>,
    /// Taken, or leased and acknowledged.
    removed: Vec<i64>,
    /// What somebody asked to remove when the server died: it may be gone or not.
    unsure: Vec<i64>,
    truncated: i64,
}

#[test]
fn a_compaction_that_is_killed_or_acknowledged_into_loses_and_doubles_nothing() {
    attack(3);
}

#[test]
fn rows_that_are_moved_to_another_segment_meanwhile_are_neither_lost_nor_doubled() {
    attack(80);
}

/// So many messages of each batch are delayed.
fn attack(delayed: i64) {
    let mut queues = Queues::with(&[("howdah.queue_segment_size", "1MB")]);
    queues.sql("select queue.create('m')");
    let next = AtomicI64::new(1);
    let results = survive(&mut queues, CRASHES, 4, |worker, queues, life| {
        let mut told = Told::default();
        if let Ok(mut session) = queues.cluster.connect("postgres") {
            let ended = match worker {
                0 => produce(&mut session, life, (&next, delayed), &mut told),
                1 => take(&mut session, life, &mut told),
                2 => lease(&mut session, life, &mut told),
                _ => maintain(&mut session, life, &mut told),
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
        told.delayed.extend(result.delayed);
        told.removed.extend(result.removed);
        told.unsure.extend(result.unsure);
        told.truncated += result.truncated;
    }
    check(&queues, &told);
}

/// Sends messages in the order of their numbers.
fn produce(
    session: &mut Client,
    life: &Life,
    (next, delayed): (&AtomicI64, i64),
    told: &mut Told,
) -> Result<(), Error> {
    while life.goes_on() {
        let free = session.query_one("select queue_visible_length from queue.metrics('m')", &[])?;
        if free.get::<_, i64>(0) > FREE {
            continue;
        }
        let first = next.fetch_add(BATCH, Ordering::SeqCst);
        let (stays, last) = (first + BATCH - delayed, first + BATCH - 1);
        // Headers make a segment full sooner.
        let send = |first: i64, last: i64, delay: i64| {
            format!(
                "select queue.send_batch('m', array_agg(to_jsonb(n)), array_agg(to_jsonb(repeat('x', 300))), {delay})
                 from generate_series({first}, {last}) n"
            )
        };
        let (free, late) = (send(first, stays - 1, 0), send(stays, last, 86400));
        session.batch_execute(&format!("begin; {free}; {late}; commit"))?;
        told.sent.extend(first..=last);
        told.delayed.extend(stays..=last);
    }
    Ok(())
}

fn take(session: &mut Client, life: &Life, told: &mut Told) -> Result<(), Error> {
    while life.goes_on() {
        let mut transaction = session.transaction()?;
        let rows = transaction.query("select message::text::bigint from queue.pop('m', 700)", &[])?;
        let messages: Vec<i64> = rows.iter().map(|row| row.get(0)).collect();
        match transaction.commit() {
            Ok(()) => told.removed.extend(messages),
            Err(error) => {
                told.unsure.extend(messages);
                return Err(error);
            }
        }
    }
    Ok(())
}

/// Leases messages for long, and acknowledges some of them: the others stay.
fn lease(session: &mut Client, life: &Life, told: &mut Told) -> Result<(), Error> {
    let mut leased: Vec<(i64, i32, i64)> = Vec::new();
    while life.goes_on() {
        let rows = session
            .query("select msg_id, read_ct, message::text::bigint from queue.read('m', 86400, 10)", &[])?;
        leased.extend(
            rows.iter().map(|row| (row.get::<_, i64>(0), row.get::<_, i32>(1), row.get::<_, i64>(2))),
        );
        let some: Vec<(i64, i32, i64)> = leased.drain(..leased.len() * 9 / 10).collect();
        let ids: Vec<i64> = some.iter().map(|lease| lease.0).collect();
        let receipts: Vec<i32> = some.iter().map(|lease| lease.1).collect();
        match session.query("select queue.delete('m', $1::bigint[], $2::integer[])", &[&ids, &receipts]) {
            Ok(deleted) => {
                assert_eq!(deleted.len(), some.len(), "a lease was lost");
                told.removed.extend(some.iter().map(|lease| lease.2));
            }
            Err(error) => {
                told.unsure.extend(some.iter().map(|lease| lease.2));
                return Err(error);
            }
        }
    }
    Ok(())
}

fn maintain(session: &mut Client, life: &Life, told: &mut Told) -> Result<(), Error> {
    while life.goes_on() {
        let truncated: i32 = session.query_one("select queue.maintain('m')", &[])?.get(0);
        told.truncated += i64::from(truncated);
    }
    Ok(())
}

fn check(queues: &Queues, told: &Told) {
    let mut session = queues.session();
    assert!(told.truncated > 0, "nothing was truncated");
    let mut left = pop_all(&mut session);
    // What is delayed or leased stays, and moves from segment to segment.
    truncation_goes_on(&mut session, told.delayed.len() as i64);
    let free = "select count(*) from queue.metrics('m') m
        cross join queue.set_vt('m', array(select generate_series(1, m.total_messages)), 0)";
    let stayed = number(&mut session, free);
    let late = pop_all(&mut session);
    assert_eq!(late.len() as i64, stayed);
    left.extend(late);
    let unique: HashSet<i64> = left.iter().copied().collect();
    assert_eq!(unique.len(), left.len(), "a message is there twice");
    let set = |list: &[i64]| -> HashSet<i64> { list.iter().copied().collect() };
    let (left, removed, unsure) = (set(&left), set(&told.removed), set(&told.unsure));
    assert_eq!(removed.len(), told.removed.len(), "a message was handed out twice");
    assert!(left.is_disjoint(&removed), "a message was removed and is there");
    let lost = told
        .sent
        .iter()
        .filter(|message| !(left.contains(message) || removed.contains(message) || unsure.contains(message)));
    assert_eq!(lost.count(), 0, "of {} messages", told.sent.len());
    assert!(told.delayed.iter().all(|message| left.contains(message)), "a delayed message is lost");
    assert!(!told.delayed.is_empty() && removed.len() > 10_000, "nothing happened");
}

/// Takes all that is free, in order.
fn pop_all(session: &mut Client) -> Vec<i64> {
    let rows = session.query("select message::text::bigint from queue.pop('m', 10000000)", &[]).unwrap();
    let messages: Vec<i64> = rows.iter().map(|row| row.get(0)).collect();
    assert!(messages.is_sorted_by(|one, other| one < other), "out of order, or twice");
    messages
}

/// Beside the messages that stay little is left.
fn truncation_goes_on(session: &mut Client, stay: i64) {
    for _ in 0..20 {
        session
            .batch_execute(
                "select queue.send_batch('m', array_agg(to_jsonb(repeat('x', 100)))) from generate_series(1, 10000);
                 select count(*) from queue.pop('m', 10000)",
            )
            .unwrap();
        session.batch_execute("select queue.maintain('m')").unwrap();
    }
    let size = number(session, SIZE);
    let most = (8 << 20) + stay * 1500;
    assert!(size < most, "{size} bytes are left of the 30 MB that have passed, of {stay} messages that stay");
}
