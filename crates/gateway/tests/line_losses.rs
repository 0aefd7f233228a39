//! Clients for lines that vanish, are killed, or do not read what they are told, do not stay.

mod taking;

use std::io::Write;
use std::net::{Shutdown, TcpStream};
use std::os::fd::{BorrowedFd, RawFd};
use std::time::{Duration, Instant};

use gateway::Limits;
use socket2::{SockFilter, SockRef};
use taking::{Taking, greeted, lines, stored, terms};
use wire::{Answer, Failure, Rejected, Written};

/// How long a client may be out of reach, in these tests.
const PATIENCE: Duration = Duration::from_secs(4);

fn impatient() -> Taking {
    Taking::on(terms(), Limits { vanish_timeout: PATIENCE, ..Limits::default() })
}

/// Looks at the server's end of a client's connection, which is in this process too.
fn at_other_end<T>(client: &TcpStream, look: impl Fn(SockRef<'_>) -> T) -> T {
    let wanted = (client.peer_addr().ok(), client.local_addr().ok());
    for entry in std::fs::read_dir("/proc/self/fd").unwrap() {
        let descriptor: RawFd = entry.unwrap().file_name().to_str().unwrap().parse().unwrap();
        // SAFETY: it is only asked; one that is closed meanwhile, or no socket, answers with an error.
        let borrowed = unsafe { BorrowedFd::borrow_raw(descriptor) };
        let socket = SockRef::from(&borrowed);
        let address = |address: std::io::Result<socket2::SockAddr>| address.ok()?.as_socket();
        if (address(socket.local_addr()), address(socket.peer_addr())) == wanted {
            return look(socket);
        }
    }
    panic!("the server has no socket for {wanted:?}");
}

/// The client's machine is not there any more: nothing that is sent to it arrives.
fn vanish(client: &TcpStream) {
    let drop_all = SockFilter::new((libc::BPF_RET | libc::BPF_K) as u16, 0, 0, 0);
    SockRef::from(client).attach_filter(&[drop_all]).unwrap();
}

/// The client's process was killed some minutes ago: its kernel resets the connection.
fn reset(client: TcpStream) {
    SockRef::from(&client).set_linger(Some(Duration::ZERO)).unwrap();
}

fn until_gone(taking: &mut Taking) -> Duration {
    let begin = Instant::now();
    taking.until("the connection is closed", |taking| taking.report().connections.is_empty());
    begin.elapsed()
}

#[test]
fn a_client_is_given_two_minutes() {
    let mut taking = Taking::on(terms(), Limits::default());
    let client = greeted(&mut taking);
    let minutes = Duration::from_secs(120);
    at_other_end(&client, |socket| {
        assert_eq!(socket.tcp_user_timeout().unwrap(), Some(minutes), "while anything is sent");
        let probes = socket.tcp_keepalive_interval().unwrap() * socket.tcp_keepalive_retries().unwrap();
        assert!(socket.keepalive().unwrap());
        assert_eq!(socket.tcp_keepalive_time().unwrap() + probes, minutes, "while nothing is");
    });
}

#[test]
fn a_producer_that_vanishes_before_its_acknowledgement_arrives_is_noticed() {
    let mut taking = impatient();
    let mut producer = greeted(&mut taking);
    producer.write_all(lines(0..3).as_bytes()).unwrap();
    let (ticket, ..) = taking.bucket();
    vanish(&producer);
    taking.server.reply(ticket, stored(3));
    let took = until_gone(&mut taking);
    assert!(took >= PATIENCE / 2, "{took:?}");
    assert_eq!(taking.report().stored, 3);
}

#[test]
fn a_client_that_vanishes_in_silence_is_noticed() {
    let mut taking = impatient();
    let producer = greeted(&mut taking);
    let mut plain = taking.connect();
    plain.write_all(lines(0..1).as_bytes()).unwrap();
    let (ticket, ..) = taking.bucket();
    taking.server.reply(ticket, stored(1));
    taking.until("it is stored", |taking| taking.report().stored == 1);
    vanish(&producer);
    vanish(&plain);
    let took = until_gone(&mut taking);
    assert!(took >= PATIENCE / 2, "{took:?}");
}

#[test]
fn a_producer_that_is_killed_while_nothing_can_be_written_does_not_stay() {
    let mut taking = impatient();
    let mut producer = greeted(&mut taking);
    producer.write_all(lines(0..3).as_bytes()).unwrap();
    let (ticket, ..) = taking.bucket();
    // At first it looks like one that only sends no more, and is to hear of its lines.
    producer.shutdown(Shutdown::Write).unwrap();
    taking.rests();
    assert_eq!(taking.report().connections.len(), 1);
    reset(producer);
    until_gone(&mut taking);
    let failure = Failure { code: "53100".into(), error: "no space".into(), is_final: false, is_harm: false };
    taking.server.reply(ticket, Answer::Failed(failure).write());
    let begin = Instant::now();
    while begin.elapsed() < Duration::from_millis(500) {
        taking.turn();
    }
    assert!(taking.poured.is_empty(), "its lines are tried no more: {:?}", taking.poured);
}

#[test]
fn a_producer_that_is_killed_while_it_is_not_read_from_does_not_stay() {
    let mut taking = impatient();
    let mut producer = greeted(&mut taking);
    producer.set_nonblocking(true).unwrap();
    let flood = lines(0..50_000);
    taking.until("no more is read", |taking| {
        let _ = producer.write(flood.as_bytes());
        taking.report().received >= 300
    });
    taking.turn();
    reset(producer);
    until_gone(&mut taking);
}

#[test]
fn a_producer_that_does_not_read_what_it_is_told_is_read_no_more_and_closed() {
    let limits = Limits { write_timeout: Duration::from_millis(500), ..Limits::default() };
    let mut taking = Taking::on(terms(), limits);
    let mut producer = greeted(&mut taking);
    producer.set_nonblocking(true).unwrap();
    let flood = lines(0..1000);
    let error = "x".repeat(1000);
    let rejected = (0..100).map(|line| Rejected { line, code: "22P02".into(), error: error.clone() });
    let rejected = Written { rejected_count: 100, rejected: rejected.collect(), ..Written::default() };
    let mut answered = 0;
    taking.until("the connection is closed", |taking| {
        let _ = producer.write(flood.as_bytes());
        for poured in std::mem::take(&mut taking.poured) {
            taking.server.reply(poured.ticket, Answer::Written(rejected.clone()).write());
            answered += 1;
        }
        taking.report().connections.is_empty()
    });
    // What the kernel takes, what waits here, and what was under way when that became too much.
    let told = taking.server.counters().bytes_out;
    assert!(answered * 100_000 < told as usize + (64 << 10) + 4 * 110_000, "{answered} for {told} bytes");
}
