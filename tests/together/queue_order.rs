//! Rows come out in the order in which they came in.

use std::thread;

use cluster::postgres::Client;
use howdah_tests::queues::{Queues, all, number, put, take};
use howdah_tests::shippers::{Intake, bip};

/// Puts rows of sizes that change all the time, so that pages fill up out of order.
const OF_ALL_SIZES: &str = "do $$ begin
    for number in 1..500 loop
      perform queue.put('bips', row(null, number, 1, 2, repeat('x', (number * 7919) % 3900), 'u')::t_bip);
    end loop;
  end $$";

#[test]
fn typed_rows_of_all_sizes_are_peeked_read_and_taken_in_the_order_of_arrival() {
    let queues = Queues::start();
    queues.sql(OF_ALL_SIZES);
    let mut session = queues.session();
    let userids = |session: &mut Client, call: &str| -> Vec<i64> {
        session.query(call, &[]).unwrap().iter().map(|row| row.get(0)).collect()
    };
    let peek = "select userid from queue.peek('bips', 500, null::t_bip)";
    assert_eq!(userids(&mut session, peek), all(1, 500));
    let read = "select (\"row\").userid from queue.read('bips', 200, '0 s', null::t_bip)";
    assert_eq!(userids(&mut session, read), all(1, 200));
    assert_eq!(take(&mut session, 300), all(1, 300));
    assert_eq!(take(&mut session, 300), all(301, 500));
}

#[test]
fn rows_of_many_producers_come_in_the_order_of_their_numbers() {
    let queues = Queues::with(&[("howdah.queue_segment_size", "1MB")]);
    thread::scope(|scope| {
        for producer in 0..4 {
            let queues = &queues;
            scope.spawn(move || {
                let mut session = queues.session();
                for bucket in 0..60 {
                    let first = producer * 100_000 + bucket * 500;
                    put(&mut session, first, first + (bucket * 37 + producer) % 499);
                }
            });
        }
    });
    let mut session = queues.session();
    let count = number(&mut session, "select queue_length from queue.metrics('bips')");
    assert!(count > 10_000);
    let ordered = "select count(*), count(*) filter (where msg_id < before)
        from (select msg_id, lag(msg_id) over (order by place) before
              from queue.read('bips', $1, '1 hour', null::t_bip)
                   with ordinality as r(msg_id, read_ct, \"row\", place)) rows";
    let mut read = 0;
    while read < count {
        let row = session.query_one(ordered, &[&7_000]).unwrap();
        let (rows, out_of_order): (i64, i64) = (row.get(0), row.get(1));
        assert_eq!(out_of_order, 0);
        assert!(rows > 0, "{read} of {count}");
        read += rows;
    }
    assert_eq!(read, count);
}

/// Where writers go over to a segment of a lower number in the middle of a block, its rows are the younger ones.
#[test]
fn rows_that_are_taken_one_by_one_come_in_order_where_writers_change_segments() {
    let queues = Queues::with(&[("howdah.queue_segment_size", "1MB")]);
    queues.sql("select queue.create('notes')");
    let mut session = queues.session();
    // Each in a transaction of its own, so that segments are truncated on the way.
    let send = "select queue.send('notes', jsonb_build_object('n', $1::bigint, 'b', repeat('x', 900)))";
    let mut taken = Vec::new();
    for place in 1..=6000_i64 {
        session.execute(send, &[&place]).unwrap();
        if place > 200 {
            taken.push(number(&mut session, "select msg_id from queue.pop('notes', 1)"));
        }
    }
    assert_eq!(taken, all(1, 5800));
}

#[test]
fn a_queue_goes_on_in_order_when_it_begins_a_segment_anew() {
    let queues = Queues::with(&[("howdah.queue_segment_size", "1MB")]);
    let mut session = queues.session();
    let (mut sent, mut taken) = (0, Vec::new());
    for _ in 0..60 {
        put(&mut session, sent + 1, sent + 1000);
        sent += 1000;
        // Less goes out than comes in: there is a backlog in two segments most of the time.
        taken.extend(take(&mut session, 900));
    }
    taken.extend(take(&mut session, 100_000));
    assert_eq!(taken, all(1, sent));
}

#[test]
fn rows_of_four_connections_come_in_the_order_of_their_numbers_and_of_each_producer() {
    const LINES: i64 = 6_000;
    let intake = Intake::with(&[("howdah.queue_segment_size", "1MB")], "");
    thread::scope(|scope| {
        for producer in 0..4 {
            let intake = &intake;
            scope.spawn(move || {
                let mut shipper = intake.hello(&format!("p{producer}"), 1);
                let mut sent = 0;
                while sent < LINES {
                    let upto = LINES.min(sent + 1 + (sent * 37 + producer) % 400);
                    let of_all_sizes = |number: i64| {
                        let text = "x".repeat((number * 7919 % 900) as usize);
                        bip(producer * LINES + number).replacen("bip ", &format!("{text} "), 1)
                    };
                    let lines: String = (sent + 1..=upto).map(of_all_sizes).collect();
                    assert!(shipper.send(lines.as_bytes()));
                    sent = upto;
                }
                shipper.wait_for_ack(LINES);
            });
        }
    });
    let mut session = intake.platform.session();
    let read = "select msg_id, (\"row\").userid from queue.read('bips', 5000, '1 hour', null::t_bip)";
    let mut last = [0; 4];
    let (mut before, mut count) = (0, 0);
    loop {
        let rows = session.query(read, &[]).unwrap();
        if rows.is_empty() {
            break;
        }
        for row in rows {
            let (position, userid): (i64, i64) = (row.get(0), row.get(1));
            let (producer, number) = ((userid - 1) / LINES, (userid - 1) % LINES + 1);
            assert!(before < position, "row {position} comes after {before}");
            let last = &mut last[producer as usize];
            assert_eq!(*last + 1, number, "of producer {producer}");
            (before, *last, count) = (position, number, count + 1);
        }
    }
    assert_eq!(count, 4 * LINES);
}
