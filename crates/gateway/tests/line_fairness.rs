//! A producer that sends little is not kept waiting by those that send all they can.

use std::io::{ErrorKind, Write};
use std::net::TcpStream;

use crate::taking::{Taking, greeted_as, lines, stored, terms};
use gateway::{Limits, Terms};
use wire::Full;

/// A producer whose socket is never empty.
struct Flood {
    stream: TcpStream,
    lines: Vec<u8>,
    sent: usize,
}

impl Flood {
    fn by(stream: TcpStream) -> Flood {
        stream.set_nonblocking(true).unwrap();
        Flood { stream, lines: lines(0..20_000).into_bytes(), sent: 0 }
    }

    /// Sends what the socket takes.
    fn pour(&mut self) {
        loop {
            match self.stream.write(&self.lines[self.sent..]) {
                Ok(sent) => self.sent = (self.sent + sent) % self.lines.len(),
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                Err(error) => panic!("{error}"),
            }
        }
    }
}

/// Turns until nothing more is read.
fn until_all_wait(taking: &mut Taking, floods: &mut [Flood]) {
    let mut received = 0;
    let mut unchanged = 0;
    while unchanged < 20 {
        floods.iter_mut().for_each(Flood::pour);
        taking.turn();
        let now = taking.report().received;
        unchanged = if now == received { unchanged + 1 } else { 0 };
        received = now;
    }
}

const QUIET: &str = "{\"quiet\":1}\n";

#[test]
fn a_quiet_connection_has_its_place_in_the_buckets_that_it_shares() {
    let mut taking = Taking::on(terms(), Limits::default());
    let mut floods = [(); 3].map(|()| Flood::by(taking.connect()));
    until_all_wait(&mut taking, &mut floods);
    let mut quiet = taking.connect();
    quiet.write_all(QUIET.as_bytes()).unwrap();
    until_all_wait(&mut taking, &mut floods);
    // Each flood has a bucket, and each had filled a part of one before.
    let found = (0..20).find(|_| {
        floods.iter_mut().for_each(Flood::pour);
        let (ticket, _, text) = taking.bucket();
        taking.server.reply(ticket, stored(text.lines().count() as u64));
        text.contains(QUIET)
    });
    assert!(found.is_some_and(|bucket| bucket <= 5), "in bucket {found:?}");
}

#[test]
fn a_quiet_producer_has_room_when_floods_have_filled_the_memory() {
    let full = Full { rows: u64::MAX, bytes: 1 << 20 };
    let limits = Limits { max_lines: 16 << 20, ..Limits::default() };
    let mut taking = Taking::on(Terms { full, ..terms() }, limits);
    let mut floods: Vec<Flood> =
        (0..10).map(|number| Flood::by(greeted_as(&mut taking, &format!("flood {number}")))).collect();
    until_all_wait(&mut taking, &mut floods);
    let held = taking.server.counters().bytes_in;
    assert!((7 << 20..8 << 20).contains(&held), "{held}");
    taking.poured.clear();
    // None of theirs is written.
    let mut quiet = greeted_as(&mut taking, "quiet");
    for _ in 0..3 {
        quiet.write_all(QUIET.as_bytes()).unwrap();
        let (ticket, work, text) = taking.bucket();
        assert_eq!((work.origin.unwrap().producer.as_str(), text.as_str()), ("quiet", QUIET));
        taking.server.reply(ticket, stored(1));
    }
}

#[test]
fn what_has_been_read_and_found_no_room_counts() {
    let limits = Limits { max_lines: 2 << 20, ..Limits::default() };
    let mut taking = Taking::on(terms(), limits);
    // Each connection's first read fills a bucket, and most of it waits.
    let mut floods: Vec<Flood> = (0..100).map(|_| Flood::by(taking.connect())).collect();
    until_all_wait(&mut taking, &mut floods);
    let before = taking.report().received;
    assert!(before < 1000, "{before}");
    let (ticket, ..) = taking.bucket();
    taking.server.reply(ticket, stored(100));
    until_all_wait(&mut taking, &mut floods);
    let bytes = taking.server.counters().bytes_in;
    assert!(
        bytes < (1 << 20) + 100 * (16 << 10) + (64 << 10),
        "{bytes} bytes are read, of 1 MB that there may be"
    );
}
