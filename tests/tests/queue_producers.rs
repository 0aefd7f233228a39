//! Producers that wait for each other.

use std::time::{Duration, Instant};

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
