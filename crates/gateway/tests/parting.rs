//! Clients that still send when they have been answered: they get the answer, they are cut off in the end, and they are few.

use std::io::{ErrorKind, Write};
use std::net::TcpStream;
use std::thread;
use std::time::Duration;

use crate::harness::{Client, Running};
use gateway::{Limits, Parting};

const LONG: Duration = Duration::from_secs(600);

fn limits(quiet: Duration, time: Duration) -> Limits {
    Limits { max_body: 1000, parting: Parting { quiet, time }, ..Limits::default() }
}

fn head(length: usize) -> String {
    format!("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: {length}\r\n\r\n")
}

/// How many connections are open; the tests' own that ask for nothing are among them.
fn opens(running: &Running, count: usize) {
    running.until(move |server| server.counters().open == count);
}

#[test]
fn who_sends_all_before_it_reads_finds_its_answer_however_much_it_was() {
    let running = Running::start(limits(LONG, LONG));
    for length in [1001, 100_000, 64 << 20] {
        let mut client = running.connect();
        client.send(head(length)).send(vec![b'x'; length]);
        assert_eq!(client.reply().status, 413, "{length}");
        assert!(client.is_closed());
    }
    // In chunks, it is known in the middle alone.
    let mut client = running.connect();
    client.send("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n");
    let chunk = format!("2000\r\n{}\r\n", "x".repeat(0x2000));
    for _ in 0..2000 {
        client.send(&chunk);
    }
    assert_eq!(client.send("0\r\n\r\n").reply().status, 413);
    drop(client);
    // A head without end, and what is no HTTP.
    let mut client = running.connect();
    client.send("GET / HTTP/1.1\r\nHost: a\r\n");
    let line = format!("X: {}\r\n", "y".repeat(1000));
    for _ in 0..16_000 {
        client.send(&line);
    }
    assert_eq!(client.reply().status, 431);
    drop(client);
    opens(&running, 0);
}

/// Sends until the server has closed the connection.
fn send_without_end(mut client: Client<TcpStream>, bytes: &[u8], pause: Duration) {
    client.stream.write_all(head(usize::MAX >> 1).as_bytes()).unwrap();
    let error = loop {
        match client.stream.write_all(bytes) {
            Ok(()) => thread::sleep(pause),
            Err(error) => break error.kind(),
        }
    };
    assert!(matches!(error, ErrorKind::ConnectionReset | ErrorKind::BrokenPipe), "{error}");
}

#[test]
fn who_never_ends_is_cut_off_and_so_is_who_sends_nothing() {
    let short = Duration::from_millis(200);
    let running = Running::start(limits(LONG, short));
    send_without_end(running.connect(), &[b'x'; 100_000], Duration::ZERO);
    send_without_end(running.connect(), b"x", Duration::from_millis(1));
    opens(&running, 0);
    let running = Running::start(limits(short, LONG));
    let mut silent = running.connect();
    assert_eq!(silent.send(head(1001)).reply().status, 413);
    opens(&running, 0);
    drop(silent);
}

#[test]
fn those_that_part_are_few_and_give_way_to_those_that_come() {
    let limits = Limits { max_parting: 3, max_connections: 4, ..limits(LONG, LONG) };
    let running = Running::start(limits);
    let part = || {
        let mut client = running.connect();
        assert_eq!(client.send(head(1001)).send("x").reply().status, 413);
        client
    };
    let mut parting: Vec<_> = (0..6).map(|_| part()).collect();
    opens(&running, 3);
    // The last ones are there still: what they send is read.
    let last = parting.last_mut().unwrap();
    for _ in 0..200 {
        last.send([b'x'; 10_000]);
    }
    // They go before who has said nothing, or waits to ask again.
    let mut waiting: Vec<_> = (0..4).map(|_| running.connect()).collect();
    for client in &mut waiting {
        assert_eq!(client.get("/").status, 200);
    }
    opens(&running, 4);
    assert!(waiting.iter_mut().all(|client| client.get("/").status == 200));
}

#[test]
fn a_listener_that_drains_does_not_wait_long_for_them() {
    let running = Running::start(limits(LONG, LONG));
    let mut client = running.connect();
    assert_eq!(client.send(head(1001)).reply().status, 413);
    opens(&running, 1);
    running.run(|server| server.drain());
    opens(&running, 0);
}
