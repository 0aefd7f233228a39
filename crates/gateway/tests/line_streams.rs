//! Streams of buckets whose connections have gone, or rest.

mod taking;

use std::io::Write;
use std::net::TcpStream;
use std::time::{Duration, Instant};

use gateway::{Limits, Terms};
use taking::{Taking, greeted, lines, stored, terms};
use wire::{Answer, Failure, Full};

#[test]
fn a_connection_may_join_a_stream_whose_last_bucket_is_under_way() {
    let limits = Limits { max_lines: 2 << 20, ..Limits::default() };
    let mut taking = Taking::on(Terms { longest_line: 4 << 20, ..terms() }, limits);
    let mut first = taking.connect();
    first.write_all(lines(0..1).as_bytes()).unwrap();
    let (under_way, ..) = taking.bucket();
    // A line that is too much for the memory costs the connection, and the stream its only one.
    first.set_nonblocking(true).unwrap();
    taking.until("the connection is closed", |taking| {
        let _ = first.write(&[b'x'; 1 << 16]);
        taking.report().connections.is_empty()
    });
    taking.connect().write_all(lines(1..3).as_bytes()).unwrap();
    taking.until("the lines are read", |taking| taking.report().received == 3);
    taking.server.reply(under_way, stored(1));
    let (ticket, _, text) = taking.bucket();
    assert_eq!(text, lines(1..3));
    taking.server.reply(ticket, stored(2));
    taking.until("they are written", |taking| taking.report().stored == 3);
}

#[test]
fn producers_that_stay_after_a_burst_hold_no_memory() {
    const PRODUCERS: usize = 24;
    let full = Full { rows: u64::MAX, bytes: 4 << 20 };
    let mut taking = Taking::on(Terms { full, ..terms() }, Limits::default());
    let burst = format!("{{\"x\":\"{}\"}}\n", "x".repeat(900)).repeat(6000);
    let before = anonymous_memory();
    let producers: Vec<TcpStream> = (0..PRODUCERS).map(|_| send_burst(&mut taking, &burst)).collect();
    assert_eq!(taking.report().connections.len(), producers.len());
    let growth = anonymous_memory().saturating_sub(before);
    assert!(growth < 48 << 10, "{PRODUCERS} connections that rest hold {growth} kB");
}

/// Sends buckets that are large because none is written before all have come.
fn send_burst(taking: &mut Taking, burst: &str) -> TcpStream {
    let mut producer = greeted(taking);
    producer.set_nonblocking(true).unwrap();
    let mut left = burst.as_bytes();
    taking.until("the burst is sent", |_| {
        let sent = producer.write(left).unwrap_or(0);
        left = &left[sent..];
        left.is_empty()
    });
    let received = taking.report().received;
    taking.until("the burst is written", |taking| {
        for poured in std::mem::take(&mut taking.poured) {
            let count = poured.lines.iter().filter(|&&byte| byte == b'\n').count();
            taking.server.reply(poured.ticket, stored(count as u64));
        }
        let report = taking.report();
        report.received >= received && report.stored == report.received && report.received % 6000 == 0
    });
    producer
}

/// In kilobytes.
fn anonymous_memory() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

#[test]
fn what_a_producer_that_has_gone_did_not_get_acknowledged_is_not_tried_for_ever() {
    let mut taking = Taking::on(terms(), Limits::default());
    let mut producer = greeted(&mut taking);
    producer.write_all(lines(0..2).as_bytes()).unwrap();
    let (ticket, ..) = taking.bucket();
    // The answer to the hello has not been read, so the connection is reset.
    drop(producer);
    taking.until("the connection is seen to be gone", |taking| taking.report().connections.is_empty());
    let failure = Failure { code: "53100".into(), error: "no space".into(), is_final: false, is_harm: false };
    taking.server.reply(ticket, Answer::Failed(failure).write());
    // Two pauses would be over.
    let begin = Instant::now();
    while begin.elapsed() < Duration::from_millis(500) {
        taking.turn();
    }
    assert!(taking.poured.is_empty(), "{:?}", taking.poured);
}

#[test]
fn a_producer_that_leaves_while_its_bucket_rests_ends_the_trials() {
    let mut taking = Taking::on(terms(), Limits::default());
    let mut producer = greeted(&mut taking);
    producer.write_all(lines(0..2).as_bytes()).unwrap();
    let failure = Failure { code: "53100".into(), error: "no space".into(), is_final: false, is_harm: false };
    for _ in 0..2 {
        let (ticket, _, text) = taking.bucket();
        assert_eq!(text, lines(0..2), "tried again while its producer waits");
        taking.server.reply(ticket, Answer::Failed(failure.clone()).write());
    }
    taking.turn();
    drop(producer);
    taking.until("the connection is seen to be gone", |taking| taking.report().connections.is_empty());
    let begin = Instant::now();
    while begin.elapsed() < Duration::from_millis(500) {
        taking.turn();
    }
    assert!(taking.poured.is_empty(), "{:?}", taking.poured);
}
