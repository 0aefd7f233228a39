//! Streams of buckets whose connections have gone, or rest.

mod taking;

use std::io::Write;

use gateway::{Limits, Terms};
use taking::{Taking, lines, stored, terms};

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
