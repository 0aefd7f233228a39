//! When a turn ends.

use std::cell::Cell;
use std::io::Write;
use std::net::TcpStream;
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::net::UnixStream;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use gateway::{Address, Limits, Listener, Server};

const LONG: Option<Duration> = Some(Duration::from_secs(20));

fn server() -> (Server, std::net::SocketAddr) {
    let mut server = Server::new(Limits::default()).unwrap();
    let address = Address::Tcp("127.0.0.1:0".parse().unwrap());
    let Address::Tcp(bound) = server.listen(&Listener::new(7, address)).unwrap() else { unreachable!() };
    (server, bound)
}

#[test]
fn a_turn_ends_when_time_is_up() {
    let (mut server, _) = server();
    let start = Instant::now();
    let turn = server.turn(Some(Duration::from_millis(30)), &mut || true);
    assert!(turn.timed_out && start.elapsed() >= Duration::from_millis(29));
    assert!(server.turn(Some(Duration::ZERO), &mut || panic!("asked before not sleeping")).timed_out);
}

#[test]
fn a_veto_ends_the_turn_and_sockets_are_looked_at_nevertheless() {
    let (mut server, address) = server();
    let mut client = TcpStream::connect(address).unwrap();
    client.write_all(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
    let start = Instant::now();
    let mut turn = server.turn(LONG, &mut || false);
    assert!(turn.vetoed);
    while turn.arrived == 0 {
        turn = server.turn(LONG, &mut || false);
        assert!(start.elapsed() < LONG.unwrap(), "sockets starve");
    }
    let arrived = server.arrived().next().unwrap();
    assert_eq!(arrived.listener, 7);
}

#[test]
fn sleep_is_asked_for_only_with_nothing_to_do() {
    let (mut server, address) = server();
    let mut client = TcpStream::connect(address).unwrap();
    client.write_all(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
    let asked = Cell::new(0);
    let turn = server.turn(LONG, &mut || {
        asked.set(asked.get() + 1);
        true
    });
    assert_eq!((turn.arrived, turn.vetoed, turn.timed_out), (1, false, false));
    assert!(asked.get() >= 1);
}

#[test]
fn a_panic_before_sleep_reaches_the_caller_and_the_server_goes_on() {
    let (mut server, _) = server();
    let panicked = catch_unwind(AssertUnwindSafe(|| server.turn(LONG, &mut || panic!("no"))));
    assert!(panicked.is_err());
    assert!(server.turn(Some(Duration::from_millis(1)), &mut || true).timed_out);
}

#[test]
fn what_arrived_together_is_one_batch() {
    let (mut server, address) = server();
    let mut clients: Vec<_> = (0..50).map(|_| TcpStream::connect(address).unwrap()).collect();
    while server.counters().open < 50 {
        server.turn(Some(Duration::from_millis(1)), &mut || true);
    }
    clients.iter_mut().for_each(|client| client.write_all(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n").unwrap());
    assert_eq!(server.turn(LONG, &mut || true).arrived, 50);
}

#[test]
fn a_watched_descriptor_ends_a_turn_at_every_write_and_at_its_end() {
    let (mut server, _) = server();
    let (mut bell, ear) = UnixStream::pair().unwrap();
    server.watch(ear.as_fd()).unwrap();
    for _ in 0..3 {
        bell.write_all(b"!").unwrap();
        assert_eq!(server.turn(LONG, &mut || true).readable, 1);
        assert_eq!(server.readable().collect::<Vec<_>>(), [ear.as_raw_fd()]);
    }
    drop(bell);
    assert_eq!(server.turn(LONG, &mut || true).readable, 1);
    server.readable().for_each(drop);
    assert!(server.turn(Some(Duration::from_millis(10)), &mut || true).timed_out, "reported for ever");
}

#[test]
fn a_descriptor_that_is_no_longer_watched_is_not_reported() {
    let (mut server, _) = server();
    let (mut bell, ear) = UnixStream::pair().unwrap();
    server.watch(ear.as_fd()).unwrap();
    server.unwatch(ear.as_raw_fd());
    bell.write_all(b"!").unwrap();
    assert_eq!(server.turn(Some(Duration::from_millis(10)), &mut || true).readable, 0);
}

#[test]
fn new_limits_hold_for_what_begins_after_them() {
    let (mut server, address) = server();
    server.set_limits(Limits { max_uri: 3, ..server.limits() });
    let mut client = TcpStream::connect(address).unwrap();
    client.write_all(b"GET /long HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
    while server.counters().rejects != [(414, 1)] {
        assert_eq!(server.turn(Some(Duration::from_millis(10)), &mut || true).arrived, 0);
    }
}
