//! The row type of a queue changes in every way, and its listener comes and goes, while lines arrive and rows are taken: what was
//! acknowledged is taken once, with the values that it was sent with.

use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use cluster::postgres::{Client, SimpleQueryMessage};
use howdah_tests::shippers::Shipper;
use howdah_tests::{Platform, free_port};
use hunt::{Hunt, Rng};
use serde_json::json;

const SHORT: Duration = Duration::from_secs(if cfg!(feature = "long") { 12 } else { 6 });
/// Changes of a round.
const CHANGES: u32 = 40;
const SHIPPERS: i64 = 3;
/// Longest silence of a server that takes lines.
const SILENCE: Duration = Duration::from_secs(30);

/// A row: its id, and its name where the type had one all the time.
type Event = (String, Option<String>);

#[test]
fn what_is_acknowledged_is_taken_once_while_row_types_and_listeners_change() {
    let mut hunt = Hunt::begin("row types", SHORT);
    let platform = Platform::start();
    let workers = platform.workers("gateway");
    let mut count = 0;
    while let Some(mut random) = hunt.next_round() {
        let port = free_port();
        platform.sql(&format!(
            "select queue.drop_queue('hunted'); drop type if exists event;
             create type event as (id bigint, name text);
             select queue.create('hunted', row_type => 'event'); {}",
            listen(port)
        ));
        count += attack(&platform, port, &mut random);
        platform.sql(&format!("select queue.unlisten({port})"));
    }
    assert!(count > 0, "no line was sent");
    assert!(platform.still_run(&workers), "{}", platform.log());
}

fn listen(port: u16) -> String {
    format!("select queue.listen({port}, queue => 'hunted', address => '127.0.0.1')")
}

/// How many lines were sent.
fn attack(platform: &Platform, port: u16, random: &mut Rng) -> usize {
    let (over, shipped) = (&AtomicBool::new(false), &AtomicBool::new(false));
    let (sent, mut taken) = thread::scope(|scope| {
        let shippers: Vec<_> = (0..SHIPPERS)
            .map(|producer| {
                let random = random.fork();
                scope.spawn(move || ship(over, port, producer, random))
            })
            .collect();
        let taker = scope.spawn(move || take_until(shipped, &mut platform.session()));
        let mut session = platform.session();
        let mut state = State { has_name: true, extra: Vec::new() };
        for number in 0..CHANGES {
            let statement = change(random, number, port, &mut state);
            if let Err(error) = session.batch_execute(&statement) {
                // A change of a column's type is refused while there are rows.
                let code = error.code().map_or("", |code| code.code()).to_owned();
                assert!(!code.starts_with("XX"), "{error:?}\n{statement}");
                let _ = session.batch_execute("rollback");
            }
        }
        session.batch_execute(&listen(port)).expect("a listener");
        over.store(true, Ordering::Relaxed);
        let sent: Vec<i64> = shippers.into_iter().map(|shipper| shipper.join().expect("no panic")).collect();
        shipped.store(true, Ordering::Relaxed);
        (sent, taker.join().expect("no panic"))
    });
    taken.sort();
    let expected: Vec<Event> = {
        let of = |(producer, sent): (i64, &i64)| (1..=*sent).map(move |number| event(producer, number));
        let mut all: Vec<Event> = (0..).zip(&sent).flat_map(of).collect();
        all.sort();
        all
    };
    assert_eq!(taken.len(), expected.len(), "rows that were taken, of {sent:?}");
    for (taken, expected) in taken.iter().zip(&expected) {
        assert_eq!(taken.0, expected.0);
        assert!(taken.1.is_none() || taken.1 == expected.1, "{taken:?} was sent as {expected:?}");
    }
    expected.len()
}

/// What the row type has.
struct State {
    /// Whether the attribute `name` has its name.
    has_name: bool,
    extra: Vec<u32>,
}

fn change(random: &mut Rng, number: u32, port: u16, state: &mut State) -> String {
    match random.u8(..10) {
        0 | 1 => {
            let wanted = ["bigint", "numeric", "text"][random.usize(..3)];
            format!("alter type event alter attribute id type {wanted}")
        }
        2 | 3 => {
            state.extra.push(number);
            format!("alter type event add attribute extra_{number} int")
        }
        4 if !state.extra.is_empty() => {
            let extra = state.extra.swap_remove(random.usize(..state.extra.len()));
            format!("alter type event drop attribute extra_{extra}")
        }
        5 => {
            let (from, to) = if state.has_name { ("name", "other") } else { ("other", "name") };
            state.has_name = !state.has_name;
            format!("alter type event rename attribute {from} to {to}")
        }
        6 => "begin; alter type event add attribute gone int; rollback".to_owned(),
        7 => format!("select queue.unlisten({port})"),
        8 => "select queue.maintain('hunted')".to_owned(),
        _ => listen(port),
    }
}

fn event(producer: i64, number: i64) -> Event {
    let id = 1_000_000_000_000 * (producer + 1) + number;
    (id.to_string(), Some(format!("name of {id}")))
}

/// Sends lines until it is over, on as many connections as it takes; how many, all of them acknowledged.
fn ship(over: &AtomicBool, port: u16, producer: i64, mut random: Rng) -> i64 {
    // What was sent, acknowledged or not: it is sent again as it was.
    let mut sent = 0;
    loop {
        let Some(mut shipper) = greet(port, producer) else {
            thread::park_timeout(Duration::from_millis(5));
            continue;
        };
        let mut acknowledged = shipper.sequence();
        assert!(acknowledged <= sent, "{acknowledged} lines of {sent}");
        loop {
            let is_last = over.load(Ordering::Relaxed);
            if is_last && acknowledged == sent {
                return sent;
            }
            let upto = sent.max(acknowledged + if is_last { 0 } else { random.i64(1..20) });
            let lines: String = (acknowledged + 1..=upto).map(|number| line(producer, number)).collect();
            sent = upto;
            if !shipper.send(lines.as_bytes()) || !is_acknowledged(&mut shipper, upto) {
                break;
            }
            acknowledged = upto;
        }
    }
}

fn line(producer: i64, number: i64) -> String {
    let (id, name) = event(producer, number);
    format!("{{\"id\": {id}, \"name\": \"{}\"}}\n", name.unwrap_or_default())
}

fn greet(port: u16, producer: i64) -> Option<Shipper> {
    let stream = TcpStream::connect(("127.0.0.1", port)).ok()?;
    stream.set_read_timeout(Some(SILENCE)).expect("a timeout");
    Shipper::greet(stream, json!({"v": 1, "producer": format!("p{producer}"), "epoch": 1})).ok()
}

/// Whether the lines up to this one are stored; false if the connection has ended before.
fn is_acknowledged(shipper: &mut Shipper, sequence: i64) -> bool {
    while let Some(said) = shipper.read() {
        assert!(said["$reject"].is_null(), "{said}");
        if said["$ack"].as_i64().is_some_and(|ack| ack >= sequence) {
            return true;
        }
    }
    false
}

fn take_until(shipped: &AtomicBool, session: &mut Client) -> Vec<Event> {
    let mut taken = Vec::new();
    loop {
        let is_last = shipped.load(Ordering::Relaxed);
        let name = "case when r ? 'name' then r ->> 'name' else r ->> 'other' end";
        let query = format!(
            "select r ->> 'id', {name} from (select to_jsonb(t) r from queue.take('hunted', 500, null::event) t) rows"
        );
        match session.simple_query(&query) {
            Ok(messages) => {
                let before = taken.len();
                taken.extend(messages.iter().filter_map(|message| match message {
                    SimpleQueryMessage::Row(row) => {
                        Some((row.get(0).expect("an id").to_owned(), row.get(1).map(str::to_owned)))
                    }
                    _ => None,
                }));
                if is_last && taken.len() == before {
                    return taken;
                }
            }
            // The statement was planned for the type of before.
            Err(error) => {
                let code = error.code().map_or("", |code| code.code()).to_owned();
                let is_known = code.starts_with("42") || code == "40001" || code == "40P01";
                assert!(is_known, "{error:?}");
            }
        }
    }
}
