//! Connections for lines that say nothing keep nobody out who has something to say.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use howdah_tests::bounds;
use howdah_tests::shippers::{Intake, Shipper, bips};
use howdah_tests::wait_for;
use serde_json::json;

/// A connection from this address.
fn connect_from(address: &str, intake: &Intake) -> TcpStream {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build().unwrap();
    runtime.block_on(async {
        let socket = tokio::net::TcpSocket::new_v4().unwrap();
        socket.bind(format!("{address}:0").parse().unwrap()).unwrap();
        let stream = socket.connect(SocketAddr::from(([127, 0, 0, 1], intake.lines))).await.unwrap();
        let stream = stream.into_std().unwrap();
        stream.set_nonblocking(false).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        stream
    })
}

fn is_closed(stream: &mut TcpStream) -> bool {
    !matches!(stream.read(&mut [0; 100]), Ok(1..))
}

fn wait_until_open(count: i64, intake: &Intake) {
    wait_for("all connections are there", || intake.view("connections") == Some(count.to_string()));
}

#[test]
fn a_producer_gets_in_beside_any_number_of_silent_connections() {
    let intake = Intake::with(
        &[("howdah.max_ingest_connections", "50"), ("howdah.max_ingest_per_address", "30")],
        ", allow => '{}'",
    );
    // From one address more than it may have, and from others until there is no room.
    let mut silent: Vec<TcpStream> = Vec::new();
    for number in 0..100 {
        let mut stream = connect_from(&format!("127.0.0.{}", 2 + number % 3), &intake);
        if number % 2 == 0 {
            // Its first line never ends.
            stream.write_all(b"{\"userid\"").unwrap();
        }
        silent.push(stream);
    }
    for number in 1..=20 {
        let address = ["127.0.0.1", "127.0.0.2"][number % 2];
        let begin = Instant::now();
        let fields = json!({"producer": format!("p{number}"), "v": 1});
        let mut shipper = Shipper::greet(connect_from(address, &intake), fields).expect("a hello");
        shipper.send(&bips(1, 1));
        shipper.wait_for_ack(1);
        bounds::HELLO_BESIDE_SILENCE.check(begin.elapsed());
    }
    assert_eq!(intake.rows(), 20);
    wait_for("they are counted", || intake.view("refused").unwrap().parse::<i64>().unwrap() >= 50);
    assert!(is_closed(&mut silent[0]), "the one that has been silent for longest has given way");
}

#[test]
fn who_has_said_something_gives_way_to_nobody() {
    let intake = Intake::with(&[("howdah.max_ingest_connections", "4")], "");
    let mut old = intake.hello("p", 1);
    let mut plain = intake.connect();
    plain.write_all(&bips(7, 7)).unwrap();
    intake.wait_for_rows(1);
    let silent: Vec<TcpStream> = (0..50).map(|_| intake.connect()).collect();
    wait_for("they are counted", || intake.view("refused").unwrap().parse::<i64>().unwrap() >= 48);
    old.send(&bips(1, 1));
    old.wait_for_ack(1);
    plain.write_all(&bips(8, 8)).unwrap();
    intake.wait_for_rows(3);
    drop(silent);
}

#[test]
fn a_line_that_has_begun_is_not_something_said() {
    let intake = Intake::with(&[("howdah.max_ingest_connections", "4")], "");
    let mut begun: Vec<TcpStream> = (0..4).map(|_| intake.connect()).collect();
    // These bytes decide that it is no hello.
    begun.iter_mut().for_each(|stream| stream.write_all(b"{\"userid\"").unwrap());
    wait_until_open(4, &intake);
    std::thread::sleep(Duration::from_millis(300));
    let mut shipper = intake.hello("p", 1);
    shipper.send(&bips(1, 1));
    shipper.wait_for_ack(1);
    assert!(is_closed(&mut begun[0]), "the oldest has given way");
    // Once a line is whole its connection stays, though the next has begun.
    begun[1].write_all(b":7}\n{\"userid\"").unwrap();
    intake.wait_for_rows(2);
    let mut others: Vec<TcpStream> = (0..4).map(|_| intake.connect()).collect();
    wait_for("the two others give way", || is_closed(&mut begun[2]) && is_closed(&mut begun[3]));
    begun[1].write_all(b":8}\n").unwrap();
    intake.wait_for_rows(3);
    assert!(is_closed(&mut others[0]), "these have said nothing");
}

#[test]
fn one_address_has_its_share_and_leaves_the_others_theirs() {
    let intake =
        Intake::with(&[("howdah.max_ingest_connections", "10"), ("howdah.max_ingest_per_address", "5")], "");
    let hello = |address: &str, number: usize| {
        let fields = json!({"producer": format!("p{number}"), "v": 1});
        let stream = connect_from(address, &intake);
        Shipper::greet(stream, fields).ok()
    };
    let held: Vec<_> = (0..5).map(|number| hello("127.0.0.2", number).expect("it may")).collect();
    assert!(hello("127.0.0.2", 5).is_none());
    wait_for("it is said why", || {
        intake.view("error").is_some_and(|error| error.contains("howdah.max_ingest_per_address"))
    });
    assert!(hello("127.0.0.3", 6).is_some());
    drop(held);
    wait_for("there is room again", || hello("127.0.0.2", 7).is_some());
}

#[test]
fn who_says_nothing_for_long_is_closed_and_an_old_producer_is_not() {
    let intake = Intake::with(&[("howdah.ingest_first_line_timeout", "500ms")], "");
    let mut old = intake.hello("p", 1);
    let begin = Instant::now();
    let mut silent = intake.connect();
    assert!(is_closed(&mut silent));
    assert!(begin.elapsed() > Duration::from_millis(450));
    bounds::SILENCE_ENDS.check(begin.elapsed());
    wait_for("it is counted", || intake.view("refused").as_deref() == Some("1"));
    wait_until_open(1, &intake);
    old.send(&bips(1, 1));
    old.wait_for_ack(1);
}
