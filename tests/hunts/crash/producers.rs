//! Who sends: transactions of every form, producers that number their rows, lines and requests.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::ops::RangeInclusive;
use std::sync::atomic::Ordering::SeqCst;
use std::thread;
use std::time::Duration;

use cluster::postgres::Client;
use howdah_tests::Connection;
use howdah_tests::shippers::Shipper;
use hunt::Rng;
use serde_json::json;

use super::prepared::{Pending, settle};
use super::truth::{Fate, Log, Sent};
use super::world::{Outcome, Queue, World, ask, now, run};

/// Every so many lines of those that number them one is bad.
pub(super) const BAD: i64 = 50;

/// How many rows of which size come next.
fn size(random: &mut Rng) -> (i64, usize) {
    match random.u8(..10) {
        0 => (random.i64(200..1500), random.usize(..300)),
        1 => (random.i64(1..4), random.usize(5000..30_000)),
        _ => (random.i64(1..100), random.usize(..800)),
    }
}

/// Producers rest now and then, so that consumers reach them: segments are drained and truncated while others are written to.
fn rest(random: &mut Rng) {
    thread::park_timeout(Duration::from_millis(random.u64(..40)));
}

/// An array of rows or messages.
fn rows(queue: &Queue, origin: i32, numbers: &RangeInclusive<i64>, due: i64, pad: usize) -> String {
    let (first, last) = (numbers.start(), numbers.end());
    let row = match queue.typed {
        true => format!("row({origin}, n, {due}, repeat('x', {pad}))::item"),
        false => format!(
            "jsonb_build_object('origin', {origin}, 'number', n, 'due', {due}, 'pad', repeat('x', {pad}))"
        ),
    };
    format!("array(select {row} from generate_series({first}::bigint, {last}) n)")
}

/// Sends by SQL: at once, in transactions that commit, roll back or are prepared, with savepoints.
pub(super) fn send(world: &World, origin: i32, mut random: Rng) -> Log {
    let mut log = Log::default();
    let mut next = 1;
    world.work(&mut log, |session, log| {
        rest(&mut random);
        let mut part = |log: &mut Log, random: &mut Rng| {
            let queue = world.any(random, |_| true);
            let (count, pad) = size(random);
            let numbers = next..=next + count - 1;
            next += count;
            let statement = statement(&world.queues[queue], origin, &numbers, pad, random);
            log.sent.push(Sent { queue, origin, numbers, fate: Fate::Never, eras: (world.era(), u32::MAX) });
            (statement, log.sent.len() - 1)
        };
        let first = log.sent.len();
        if random.u8(..10) < 4 {
            let (statement, _) = part(log, &mut random);
            let outcome = run(session, &statement);
            log.decide(first.., outcome, world.era());
            return;
        }
        let mut statements = vec!["begin".to_owned(), part(log, &mut random).0];
        let mut rolled_back = None;
        if random.bool() {
            let (statement, index) = part(log, &mut random);
            let end = if random.bool() { "release s" } else { "rollback to s" };
            rolled_back = (end == "rollback to s").then_some(index);
            statements.extend(["savepoint s".into(), statement, end.into(), part(log, &mut random).0]);
        }
        if let Some(index) = rolled_back {
            log.sent[index].fate = Fate::RolledBack;
        }
        if !statements.iter().all(|statement| run(session, statement) == Outcome::Done) {
            run(session, "rollback");
            return;
        }
        match random.u8(..10) {
            0 => {
                run(session, "rollback");
            }
            1..=3 => {
                let mut pending = Pending::new(origin, &mut random);
                let outcome = settle(world, session, &mut pending);
                log.decide(first.., outcome, world.era());
            }
            // Who dies with its transaction open.
            4 if random.bool() => *session = world.session(),
            _ => {
                let outcome = run(session, "commit");
                log.decide(first.., outcome, world.era());
            }
        }
    });
    log
}

fn statement(
    queue: &Queue,
    origin: i32,
    numbers: &RangeInclusive<i64>,
    pad: usize,
    random: &mut Rng,
) -> String {
    let name = &queue.name;
    if !queue.typed && random.u8(..4) == 0 {
        let delay = random.i64(1..=2);
        let rows = rows(queue, origin, numbers, now() + delay * 1_000_000, pad);
        return format!("select count(*) from queue.send_batch('{name}', {rows}, {delay})");
    }
    let rows = rows(queue, origin, numbers, 0, pad);
    match queue.typed {
        true => format!("select queue.put('{name}', {rows})"),
        false => format!("select count(*) from queue.send_batch('{name}', {rows})"),
    }
}

/// A line, which is bad now and then.
fn line(origin: i32, number: i64, pad: usize) -> String {
    if number % BAD == 0 {
        return format!("{{\"origin\":{origin},\"number\":{number},\"bad\"}}\n");
    }
    format!("{{\"origin\":{origin},\"number\":{number},\"due\":0,\"pad\":\"{}\"}}\n", "x".repeat(pad))
}

fn lines(origin: i32, numbers: RangeInclusive<i64>, pad: usize) -> String {
    numbers.map(|number| line(origin, number, pad)).collect()
}

/// A producer that numbers its rows, and sends again what it does not know to be there.
pub(super) fn number(world: &World, origin: i32, mut random: Rng) -> Log {
    let mut log = Log::default();
    let queue = world.any(&mut random, |queue| !queue.unlogged);
    let (mut known, mut tried, mut epoch, mut begun) = (0, 0, 1, 0);
    let mut session = world.session();
    while world.goes_on() || known < tried {
        rest(&mut random);
        if session.is_closed() {
            session = world.session();
        }
        let (count, pad) = size(&mut random);
        let last = known + count;
        let is_new = tried <= known;
        let one = Numbered { queue: &world.queues[queue], origin, epoch, first: known + 1, last, pad };
        let statement = one.statement(epoch);
        match random.u8(..20) {
            0 | 1 => {
                if run(&mut session, "begin") == Outcome::Done && ask(&mut session, &statement).is_ok() {
                    run(&mut session, "rollback");
                }
                run(&mut session, "rollback");
                continue;
            }
            // Who is not known yet may begin with any number.
            2 if is_new && known > 0 => {
                one.expect_refusal(&mut session, begun == epoch && random.bool());
                continue;
            }
            3 if is_new && known > 0 => epoch += 1,
            _ => {}
        }
        let statement = one.statement(epoch);
        tried = tried.max(last);
        match ask(&mut session, &statement) {
            Ok(answer) => {
                let (new, all): (i64, i64) = (answer[0].get(0), answer[0].get(1));
                assert!(
                    all == count && (!is_new || new == count),
                    "{new} of {all} of {count} lines: {known} {tried}"
                );
                (known, begun) = (last, epoch);
                tried = tried.max(known);
            }
            // Nothing of it is there.
            Err(Outcome::Undone) if is_new => tried = known,
            Err(_) => {}
        }
    }
    log.sent.push(Sent::stored(queue, origin, 1..=known));
    log
}

struct Numbered<'a> {
    queue: &'a Queue,
    origin: i32,
    epoch: i32,
    first: i64,
    last: i64,
    pad: usize,
}

impl Numbered<'_> {
    /// Sends, and says how many rows were new and how many there were.
    fn statement(&self, epoch: i32) -> String {
        let (name, origin, first, last) = (&self.queue.name, self.origin, self.first, self.last);
        // Bad lines are dead letters; rows cannot be bad.
        if self.queue.typed && origin % 2 == 1 {
            let rows = rows(self.queue, origin, &(first..=last), 0, self.pad);
            return format!(
                "select queue.put('{name}', {rows}, 'p{origin}', {epoch}, {last}), {}::bigint",
                last - first + 1
            );
        }
        let lines = lines(origin, first..=last, self.pad);
        format!(
            "select stored + rejected, stored + rejected + repeated from queue.put_lines(
               '{name}', '{lines}'::text, producer => 'p{origin}', epoch => {epoch}, sequence => {first})"
        )
    }

    /// Leaves a number out, or comes with an epoch that is over.
    fn expect_refusal(&self, session: &mut Client, is_late: bool) {
        let (name, origin, epoch, first) = (&self.queue.name, self.origin, self.epoch, self.first);
        let (epoch, sequence) = if is_late { (epoch - 1, first) } else { (epoch, first + 1) };
        let refused = format!(
            "select * from queue.put_lines('{name}', '{{}}'::text, producer => 'p{origin}', epoch => {epoch}, sequence => {sequence})"
        );
        let result = session.batch_execute(&refused);
        let raised = result.expect_err("a gap or an old epoch is refused");
        let code = raised.as_db_error().map(|raised| raised.code().code().to_owned());
        let is_fault = code.as_deref().is_none_or(|code| code.starts_with("57") || code.starts_with('4'));
        assert!(is_fault || code.as_deref() == Some("55000"), "{raised:?}\n{refused}");
    }
}

/// A producer that speaks the acknowledged protocol, and whose connections break.
pub(super) fn ship(world: &World, origin: i32, mut random: Rng) -> Log {
    let mut log = Log::default();
    let queue = world.any(&mut random, |queue| !queue.unlogged);
    let port = world.queues[queue].port;
    let (mut acknowledged, mut epoch) = (0, 1);
    let mut old: Option<Shipper> = None;
    // Who waits for the server has done nothing yet.
    while !world.over.load(SeqCst) {
        let Some(shipper) = greet(origin, epoch, port) else {
            world.wait();
            continue;
        };
        let sequence = shipper.sequence();
        assert!(sequence >= acknowledged, "{sequence} is told, and {acknowledged} was acknowledged");
        if let Some(mut old) = old.take() {
            // What it sends now would be other rows of the same numbers: of none both are there.
            old.send(lines(origin, sequence + 1..=sequence + 100, 10).as_bytes());
        }
        acknowledged = sequence;
        let open = pour_numbered(world, shipper, origin, &mut acknowledged, &mut random);
        if random.u8(..3) == 0 {
            epoch += 1;
            old = open;
        }
    }
    let last = loop {
        match greet(origin, epoch + 1, port) {
            Some(shipper) => break shipper.sequence(),
            None => world.wait(),
        }
    };
    assert!(last >= acknowledged, "{last} is told, and {acknowledged} was acknowledged");
    log.sent.push(Sent::stored(queue, origin, 1..=last));
    log
}

fn greet(origin: i32, epoch: i32, port: u16) -> Option<Shipper> {
    let stream = TcpStream::connect(("127.0.0.1", port)).ok()?;
    stream.set_read_timeout(Some(Duration::from_secs(20))).ok()?;
    Shipper::greet(stream, json!({"producer": format!("w{origin}"), "epoch": epoch, "v": 1})).ok()
}

/// Sends until the connection breaks, or is cut at a random moment; it may be left open.
fn pour_numbered(
    world: &World,
    mut shipper: Shipper,
    origin: i32,
    acknowledged: &mut i64,
    random: &mut Rng,
) -> Option<Shipper> {
    let mut next = *acknowledged + 1;
    let cut = random.u32(..60);
    for round in 0.. {
        let (count, pad) = size(random);
        let mut bytes = lines(origin, next..=next + count - 1, pad).into_bytes();
        if round == cut {
            // In the middle of a line, as often as not.
            bytes.truncate(random.usize(..bytes.len()));
            shipper.send(&bytes);
            if random.bool() {
                return Some(shipper);
            }
            let _ = shipper.socket().shutdown(Shutdown::Both);
            return None;
        }
        rest(random);
        if !world.goes_on() || !shipper.send(&bytes) {
            return None;
        }
        next += count;
        // Some wait for each acknowledgement, others have many lines under way.
        let under_way = if random.bool() { 1 } else { 2000 };
        while *acknowledged + under_way < next {
            let line = shipper.read()?;
            if let Some(ack) = line["$ack"].as_i64() {
                assert!(ack < next, "{ack} is acknowledged of {next} lines");
                *acknowledged = ack.max(*acknowledged);
            } else if line["$reject"].is_null() {
                return None;
            } else {
                assert_eq!(line["$reject"]["sequence"].as_i64().expect("a number") % BAD, 0, "{line}");
            }
        }
    }
    None
}

/// Sends plain lines, which nobody acknowledges: those are there that came while nothing happened.
pub(super) fn pour(world: &World, origin: i32, mut random: Rng) -> Log {
    let mut log = Log::default();
    let mut next = 1;
    while world.goes_on() {
        let queue = world.any(&mut random, |_| true);
        let (count, pad) = size(&mut random);
        let numbers = next..=next + count - 1;
        next += count;
        let (era, faults) = (world.era(), world.faults.load(SeqCst));
        let mut bytes = lines(origin, numbers.clone(), pad).into_bytes();
        let is_cut = random.u8(..5) == 0;
        if is_cut {
            bytes.truncate(random.usize(..bytes.len()));
        }
        let is_through = pour_once(world.queues[queue].port, &bytes).is_some();
        let is_calm = faults % 2 == 0 && world.faults.load(SeqCst) == faults;
        let fate = if is_through && !is_cut && is_calm { Fate::Stored } else { Fate::Any };
        log.sent.push(Sent { queue, origin, numbers, fate, eras: (era, world.era()) });
        rest(&mut random);
    }
    log
}

/// Sends bytes and waits until the server has closed the connection.
fn pour_once(port: u16, bytes: &[u8]) -> Option<()> {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).ok()?;
    stream.set_read_timeout(Some(Duration::from_secs(20))).ok()?;
    stream.write_all(bytes).ok()?;
    stream.shutdown(Shutdown::Write).ok()?;
    let read = stream.read(&mut [0]).ok()?;
    (read == 0).then_some(())
}

/// Posts lines, and posts again what was not answered.
pub(super) fn post(world: &World, origin: i32, mut random: Rng) -> Log {
    let mut log = Log::default();
    let queue = world.any(&mut random, |queue| !queue.unlogged);
    let name = &world.queues[queue].name;
    let mut next = 1;
    let mut connection = None;
    while world.goes_on() {
        let (count, pad) = size(&mut random);
        let body = lines(origin, next..=next + count - 1, pad);
        let path = format!("/queues/{name}?producer=h{origin}&sequence={next}");
        // What has been sent is to be answered in the end.
        while !post_once(world.web, &mut connection, &path, &body, count) {
            connection = None;
            world.wait();
        }
        next += count;
        rest(&mut random);
    }
    log.sent.push(Sent::stored(queue, origin, 1..=next - 1));
    log
}

/// Whether lines are there now, by the server's word.
fn post_once(port: u16, connection: &mut Option<Connection>, path: &str, lines: &str, count: i64) -> bool {
    if connection.is_none() {
        *connection = Connection::try_open(port);
    }
    let reply = connection.as_mut().and_then(|open| open.try_request("POST", path, lines.as_bytes()));
    let Some(reply) = reply.filter(|reply| reply.status < 500) else { return false };
    assert_eq!(reply.status, 200, "{path}: {}", reply.text());
    let answer = reply.json();
    let known = ["stored", "rejected", "repeated"].map(|key| answer[key].as_i64().expect("a number"));
    assert_eq!(known.iter().sum::<i64>(), count, "{answer}");
    true
}
