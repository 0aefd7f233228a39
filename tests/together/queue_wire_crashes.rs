//! Nothing that was acknowledged is lost, and nothing is there twice, whatever dies.
//!
//! Producers send numbered rows, over TCP and over HTTP, into a queue and into a table, and note each acknowledgement;
//! consumers note each row whose take has been committed. Meanwhile connections are cut and the postmaster is killed. In
//! the end every acknowledged row has come out, or is still there, and none twice. Some lines are bad: each is one dead letter.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use cluster::Life;
use cluster::postgres::{Client, NoTls};
use howdah_tests::shippers::{Intake, Shipper, bip};
use howdah_tests::{Connection, free_port};
use serde_json::json;

/// How often the postmaster is killed.
const KILLS: u64 = if cfg!(feature = "long") { 200 } else { 10 };
const PRODUCERS: i64 = 3;
/// Of a busy producer two buckets are under way at a time, once they are full.
const FEW_ROWS: &str = ", bucket_rows => 50";
/// Rows of a producer have userids from its number times this on.
const RANGE: i64 = 1_000_000_000;
/// Every so many lines one is bad.
const BAD: i64 = 50;
/// Keeps all of them.
const ALL_LETTERS: (&str, &str) = ("howdah.queue_dead_letters", "10000000");

/// A line of a producer.
fn line(producer: i64, sequence: i64) -> String {
    let userid = producer * RANGE + sequence;
    if sequence % BAD == 0 { format!("{{\"userid\":\"bad {userid}\"}}\n") } else { bip(userid) }
}

/// What the dead letters would have been as rows.
fn letters(intake: &Intake) -> Vec<i64> {
    let query =
        "select substring(convert_from(line, 'UTF8') from 'bad (\\d+)')::bigint from queue.dead_letter";
    let rows = intake.platform.session().query(query, &[]).unwrap();
    rows.iter().map(|row| row.get(0)).collect()
}

#[test]
fn nothing_acknowledged_is_lost_or_doubled() {
    let mut intake = Intake::with(&[ALL_LETTERS], FEW_ROWS);
    intake.platform.sql("create table taken (userid bigint, session int)");
    let over = Arc::new(AtomicBool::new(false));
    let connection = intake.platform.cluster.connection_string("app").unwrap();
    let producers: Vec<_> =
        (1..=PRODUCERS).map(|number| Producer::start(number, intake.lines, &over)).collect();
    let consumers: Vec<_> = (0..2).map(|_| consume(connection.clone(), Arc::clone(&over))).collect();

    kill_again_and_again(&mut intake, &producers);
    over.store(true, SeqCst);
    let acknowledged: Vec<i64> = producers.into_iter().map(Producer::end).collect();
    let noted: Vec<i64> = consumers.into_iter().flat_map(|consumer| consumer.join().unwrap()).collect();
    intake.wait_until_bound();

    // What a consumer has put into the table with its take has left the queue exactly then.
    let mut session = intake.platform.session();
    let taken = session.query("select userid from taken", &[]).unwrap();
    let counts = expect_all_once(&intake, taken.iter().map(|row| row.get(0)).collect(), &acknowledged);
    let lost = noted.iter().filter(|row| !counts.contains_key(row)).count();
    assert_eq!(lost, 0, "rows of committed takes");
}

#[test]
fn a_table_has_every_acknowledged_line_once() {
    let mut intake = Intake::with(&[ALL_LETTERS], "");
    let port = free_port();
    intake.platform.sql(&format!(
        "create table bip (userid bigint, bip text);
         grant insert on bip to howdah_web;
         select queue.listen({port}, into_table => 'bip', address => '127.0.0.1', bucket_rows => 50)"
    ));
    let over = Arc::new(AtomicBool::new(false));
    let producers: Vec<_> = (1..=PRODUCERS).map(|number| Producer::start(number, port, &over)).collect();
    kill_again_and_again(&mut intake, &producers);
    over.store(true, SeqCst);
    let acknowledged: Vec<i64> = producers.into_iter().map(Producer::end).collect();
    wait_until("all is written", || {
        intake.platform.count("queue.connections") == 0 && intake.view("bound").is_some()
    });
    let mut session = intake.platform.session();
    let rows = session.query("select userid from bip", &[]).unwrap();
    let rows: Vec<i64> = rows.iter().map(|row| row.get(0)).chain(letters(&intake)).collect();
    expect_each_once(rows.iter().copied(), &acknowledged);
    let progress = session.query("select sequence from queue.progress order by producer", &[]).unwrap();
    let counts = rows.len() as i64;
    assert_eq!(progress.iter().map(|row| row.get::<_, i64>(0)).sum::<i64>(), counts, "rows and marks");
}

#[test]
fn what_is_posted_again_with_its_numbers_is_there_once() {
    let mut intake = Intake::with(&[ALL_LETTERS], "");
    intake.platform.sql("select queue.serve(), queue.grant('bips', 'send', 'howdah_web')");
    let over = Arc::new(AtomicBool::new(false));
    let producers: Vec<_> =
        (1..=PRODUCERS).map(|number| Producer::post(number, intake.platform.port, &over)).collect();
    kill_again_and_again(&mut intake, &producers);
    over.store(true, SeqCst);
    let acknowledged: Vec<i64> = producers.into_iter().map(Producer::end).collect();
    expect_all_once(&intake, Vec::new(), &acknowledged);
}

#[test]
fn executors_and_gateways_may_end_at_any_moment() {
    let intake = Intake::with(&[ALL_LETTERS], FEW_ROWS);
    let over = Arc::new(AtomicBool::new(false));
    let producers: Vec<_> =
        (1..=PRODUCERS).map(|number| Producer::start(number, intake.lines, &over)).collect();
    let mut random = Random(7);
    for _ in 0..KILLS {
        wait_for_progress(&producers);
        std::thread::sleep(Duration::from_millis(random.below(100)));
        let who = ["lane = 'ingest'", "kind = 'gateway'"][random.below(2) as usize];
        intake.platform.sql(&format!("select pg_terminate_backend(pid) from http.workers where {who}"));
    }
    over.store(true, SeqCst);
    let acknowledged: Vec<i64> = producers.into_iter().map(Producer::end).collect();
    // Buckets of connections that are gone may still be on their way.
    wait_until("all is written", || {
        intake.platform.count("queue.connections") == 0 && intake.view("bound").is_some()
    });
    expect_all_once(&intake, Vec::new(), &acknowledged);
}

#[test]
fn what_a_hello_promises_outlives_a_crash() {
    let mut intake = Intake::with(&[("wal_writer_delay", "10s")], ", durability => 'memory'");
    let firm = howdah_tests::free_port();
    intake.platform.sql(&format!("select queue.listen({firm}, queue => 'bips', address => '127.0.0.1')"));
    let hello = |port: u16| {
        let fields = json!({"producer": "p", "v": 1});
        Shipper::greet(std::net::TcpStream::connect(("127.0.0.1", port)).unwrap(), fields).unwrap()
    };
    wait_until("the port takes lines", || std::net::TcpStream::connect(("127.0.0.1", firm)).is_ok());
    let mut light = hello(intake.lines);
    light.send(bip(1).as_bytes());
    light.wait_for_ack(1);
    assert_eq!(hello(firm).sequence(), 1);
    intake.platform.cluster.kill().unwrap();
    wait_until("no process is left", || intake.platform.cluster.processes().is_empty());
    intake.platform.cluster.start(Life::WithParent).unwrap();
    assert_eq!(intake.rows(), 1, "the line that a listener with durability commit has said to be there");
}

/// Kills the server at random moments, each time when all producers have come further.
fn kill_again_and_again(intake: &mut Intake, producers: &[Producer]) {
    let mut random = Random(42);
    for _ in 0..KILLS {
        wait_for_progress(producers);
        std::thread::sleep(Duration::from_millis(random.below(150)));
        intake.platform.cluster.kill().unwrap();
        wait_until("no process is left", || intake.platform.cluster.processes().is_empty());
        intake.platform.cluster.start(Life::WithParent).unwrap();
    }
}

fn wait_for_progress(producers: &[Producer]) {
    let acknowledged = |producer: &Producer| producer.acknowledged.load(SeqCst);
    let before: Vec<i64> = producers.iter().map(acknowledged).collect();
    wait_until("acknowledgements", || {
        producers.iter().map(acknowledged).zip(&before).all(|(now, before)| now > *before)
    });
}

/// Every acknowledged row has been taken, is left in the queue or is a dead letter, none twice; how often each is there.
fn expect_all_once(intake: &Intake, taken: Vec<i64>, acknowledged: &[i64]) -> HashMap<i64, u32> {
    let (left, bad) = (intake.take_all(), letters(intake));
    assert!(!bad.is_empty() && bad.iter().all(|userid| userid % BAD == 0));
    expect_each_once(taken.into_iter().chain(left).chain(bad), acknowledged)
}

/// Every acknowledged row is among these, none twice; how often each is there.
fn expect_each_once(rows: impl Iterator<Item = i64>, acknowledged: &[i64]) -> HashMap<i64, u32> {
    let mut counts: HashMap<i64, u32> = HashMap::new();
    rows.for_each(|row| *counts.entry(row).or_default() += 1);
    let doubled: Vec<_> = counts.iter().filter(|(_, count)| **count > 1).take(5).collect();
    assert!(doubled.is_empty(), "there twice: {doubled:?}");
    for (producer, last) in (1..).zip(acknowledged) {
        assert!(*last > 0);
        let lost = (1..=*last).filter(|number| !counts.contains_key(&(producer * RANGE + number))).count();
        assert_eq!(lost, 0, "producer {producer}: acknowledged up to {last}, lost {lost}");
    }
    counts
}

/// A producer that says which lines were acknowledged.
struct Producer {
    acknowledged: Arc<AtomicI64>,
    thread: JoinHandle<()>,
}

impl Producer {
    /// One that speaks the acknowledged protocol.
    fn start(number: i64, port: u16, over: &Arc<AtomicBool>) -> Producer {
        Producer::run(over, move |noted, over| {
            let mut random = Random(number as u64);
            while !over.load(SeqCst) {
                if let Some(shipper) = greet(number, port) {
                    let sequence = shipper.sequence();
                    assert!(sequence >= noted.load(SeqCst), "the server forgot what it had acknowledged");
                    produce(shipper, number, noted, over, &mut random);
                } else {
                    std::thread::sleep(Duration::from_millis(20));
                }
            }
        })
    }

    /// One that posts to the HTTP door, and posts again what was not answered.
    fn post(number: i64, port: u16, over: &Arc<AtomicBool>) -> Producer {
        Producer::run(over, move |noted, over| {
            let mut random = Random(number as u64);
            let mut next = 1;
            while !over.load(SeqCst) {
                let count = 1 + random.below(100) as i64;
                let last = next + count - 1;
                let lines: String = (next..=last).map(|sequence| line(number, sequence)).collect();
                let path = format!("/queues/bips?producer=web-{number}&sequence={next}");
                while !post(port, &path, &lines, count) {
                    if over.load(SeqCst) {
                        return;
                    }
                    std::thread::sleep(Duration::from_millis(20));
                }
                noted.store(last, SeqCst);
                next = last + 1;
            }
        })
    }

    fn run(
        over: &Arc<AtomicBool>,
        produce: impl FnOnce(&AtomicI64, &AtomicBool) + Send + 'static,
    ) -> Producer {
        let acknowledged = Arc::new(AtomicI64::new(0));
        let (noted, over) = (Arc::clone(&acknowledged), Arc::clone(over));
        Producer { acknowledged, thread: std::thread::spawn(move || produce(&noted, &over)) }
    }

    fn end(self) -> i64 {
        self.thread.join().unwrap();
        self.acknowledged.load(SeqCst)
    }
}

/// Whether lines are there now, by the server's word.
fn post(port: u16, path: &str, lines: &str, count: i64) -> bool {
    let mut connection = Connection::try_open(port);
    let reply = connection.as_mut().and_then(|open| open.try_request("POST", path, lines.as_bytes()));
    let Some(reply) = reply.filter(|reply| reply.status < 500) else { return false };
    assert_eq!(reply.status, 200, "{}", reply.text());
    let answer = reply.json();
    let known = ["stored", "rejected", "repeated"].map(|key| answer[key].as_i64().unwrap());
    assert_eq!(known.iter().sum::<i64>(), count, "{answer}");
    true
}

fn greet(number: i64, port: u16) -> Option<Shipper> {
    let stream = std::net::TcpStream::connect(("127.0.0.1", port)).ok()?;
    stream.set_read_timeout(Some(Duration::from_secs(20))).ok()?;
    Shipper::greet(stream, json!({"producer": format!("producer {number}"), "v": 1})).ok()
}

/// Sends until the connection breaks, or is cut at some random moment.
fn produce(mut shipper: Shipper, number: i64, noted: &AtomicI64, over: &AtomicBool, random: &mut Random) {
    let mut next = shipper.sequence() + 1;
    let cut = random.below(200);
    for round in 0.. {
        let count = 1 + random.below(200) as i64;
        let mut lines: Vec<u8> =
            (next..next + count).flat_map(|sequence| line(number, sequence).into_bytes()).collect();
        if round == cut {
            // In the middle of a line, as often as not.
            lines.truncate(random.below(lines.len() as u64) as usize);
            shipper.send(&lines);
            let _ = shipper.socket().shutdown(std::net::Shutdown::Both);
            return;
        }
        if over.load(SeqCst) || !shipper.send(&lines) {
            return;
        }
        next += count;
        while noted.load(SeqCst) + 2000 < next {
            let Some(line) = shipper.read() else { return };
            match line["$ack"].as_i64() {
                Some(ack) => drop(noted.fetch_max(ack, SeqCst)),
                None if line["$reject"].is_null() => return,
                None => assert_eq!(line["$reject"]["sequence"].as_i64().unwrap() % BAD, 0, "{line}"),
            }
        }
    }
}

/// Takes rows into a table, and notes those whose commit was answered.
fn consume(connection: String, over: Arc<AtomicBool>) -> JoinHandle<Vec<i64>> {
    std::thread::spawn(move || {
        let noted = Mutex::new(Vec::new());
        while !over.load(SeqCst) {
            if let Ok(mut session) = Client::connect(&connection, NoTls) {
                while !over.load(SeqCst) && take(&mut session, &noted).is_ok() {}
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        noted.into_inner().unwrap()
    })
}

fn take(session: &mut Client, noted: &Mutex<Vec<i64>>) -> Result<(), cluster::postgres::Error> {
    let rows = session.query(
        "with taken_now as (select userid from queue.take('bips', 500, null::t_bip))
         insert into taken select userid, pg_backend_pid() from taken_now returning userid",
        &[],
    )?;
    if rows.is_empty() {
        std::thread::sleep(Duration::from_millis(5));
    }
    noted.lock().unwrap().extend(rows.iter().map(|row| row.get::<_, i64>(0)));
    Ok(())
}

fn wait_until(what: &str, mut condition: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !condition() {
        assert!(begin.elapsed() < Duration::from_secs(60), "waited in vain: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Numbers that are the same in each run.
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end.max(1)
    }
}
