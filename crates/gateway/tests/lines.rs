//! Lines of JSON through the event loop, with a test in the place of those who write them.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::Duration;

use crate::taking::{Taking, greeted, lines, stored, terms};
use gateway::{Limits, Terms};
use wire::{Answer, Destination, Failure, Full, Rejected, Written};

#[test]
fn one_bucket_is_under_way_and_the_next_fills() {
    let mut taking = Taking::on(terms(), Limits::default());
    let mut client = taking.connect();
    client.write_all(lines(0..3).as_bytes()).unwrap();
    let (first, work, text) = taking.bucket();
    assert_eq!((work.listener, work.origin, text), (4000, None, lines(0..3)));
    client.write_all(lines(3..250).as_bytes()).unwrap();
    taking.rests();
    assert!(taking.server.reply(first, stored(3)));
    let (second, _, text) = taking.bucket();
    assert_eq!(text, lines(3..103), "a full bucket, in order");
    client.shutdown(Shutdown::Write).unwrap();
    taking.server.reply(second, stored(100));
    let (third, _, text) = taking.bucket();
    assert_eq!(text, lines(103..203));
    taking.server.reply(third, stored(100));
    let (last, _, text) = taking.bucket();
    assert_eq!(text, lines(203..250));
    assert_eq!(taking.report().connections[0].lag, 47);
    assert_eq!(taking.report().connections.len(), 1, "open until all is committed");
    taking.server.reply(last, stored(47));
    taking.until("the connection is closed", |taking| taking.report().connections.is_empty());
    assert_eq!(client.read(&mut [0]).unwrap(), 0);
    assert_eq!((taking.report().received, taking.report().stored), (250, 250));
}

#[test]
fn a_bucket_that_was_not_written_comes_again() {
    let mut taking = Taking::on(terms(), Limits::default());
    let mut client = taking.connect();
    client.write_all(lines(0..2).as_bytes()).unwrap();
    let failure = Failure { code: "42501".into(), error: "no".into(), is_final: true, is_harm: false };
    for _ in 0..2 {
        let (ticket, _, text) = taking.bucket();
        assert_eq!(text, lines(0..2));
        taking.server.reply(ticket, Answer::Failed(failure.clone()).write());
        taking.turn();
        assert!(taking.report().is_failing);
    }
    let (ticket, ..) = taking.bucket();
    taking.server.reply(ticket, stored(2));
    taking.until("it is written", |taking| taking.report().stored == 2);
    assert!(!taking.report().is_failing);
    assert_eq!(taking.report().trouble.unwrap().code, "42501", "the last error stays to be seen");
}

#[test]
fn what_finds_no_room_is_not_read() {
    let full = Full { rows: u64::MAX, bytes: 100_000 };
    let mut taking = Taking::on(Terms { full, ..terms() }, Limits::default());
    let mut client = taking.connect();
    client.set_nonblocking(true).unwrap();
    let text = lines(0..10_000).into_bytes();
    let mut refused = 0;
    while refused < 50 {
        match client.write(&text) {
            Ok(_) => refused = 0,
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::WouldBlock);
                refused += 1;
            }
        }
        taking.turn();
    }
    assert_eq!(taking.poured.len(), 1);
    let held: usize = taking.poured.iter().map(|poured| poured.lines.len()).sum();
    assert!(held < 200_000, "{held}");
    let received = taking.report().received;
    assert!(received < 50_000, "{received} lines: two buckets");
}

#[test]
fn acknowledged_lines_are_numbered_and_named() {
    let mut taking = Taking::on(terms(), Limits::default());
    let mut client = taking.connect();
    let hello = "{\"$hello\":{\"v\":1,\"producer\":\"p\",\"epoch\":3}}\n";
    client.write_all(format!("{hello}{}", lines(0..2)).as_bytes()).unwrap();
    let (ticket, work, text) = taking.bucket();
    let origin = work.origin.unwrap();
    assert!(work.hello && text.is_empty());
    assert_eq!((origin.producer.as_str(), origin.epoch), ("p", 3));
    taking.server.reply(ticket, Answer::Written(Written { sequence: 41, ..Written::default() }).write());
    let (ticket, work, text) = taking.bucket();
    assert_eq!((work.origin.unwrap().first, text), (42, lines(0..2)));
    let rejected = vec![Rejected { line: 1, code: "22P02".into(), error: "bad".into() }];
    let written = Written { stored: 1, rejected_count: 1, rejected, sequence: 43, ..Written::default() };
    taking.server.reply(ticket, Answer::Written(written).write());
    // The end of a connection in the middle of a line: the line will be sent again.
    client.write_all(b"{\"n\":2}\n{\"n\":").unwrap();
    client.shutdown(Shutdown::Write).unwrap();
    let (ticket, work, text) = taking.bucket();
    assert_eq!((work.origin.unwrap().first, text), (44, lines(2..3)));
    taking.server.reply(ticket, stored(1));
    taking.until("the connection is closed", |taking| taking.report().connections.is_empty());
    let mut answer = String::new();
    client.read_to_string(&mut answer).unwrap();
    let said: Vec<&str> = answer.lines().collect();
    assert!(said[0].contains("\"sequence\":41"), "{answer}");
    assert_eq!(said[1], "{\"$reject\":{\"code\":\"22P02\",\"error\":\"bad\",\"sequence\":43}}");
    assert_eq!(said[2..], ["{\"$ack\":43}", "{\"$ack\":44}"]);
}

#[test]
fn an_error_that_will_not_pass_ends_an_acknowledged_connection() {
    let mut taking = Taking::on(terms(), Limits::default());
    let mut client = taking.connect();
    client.write_all(b"{\"$hello\":{\"v\":1,\"producer\":\"p\"}}\n{}\n").unwrap();
    let (ticket, ..) = taking.bucket();
    taking.server.reply(ticket, stored(0));
    let (ticket, ..) = taking.bucket();
    let failure = Failure { code: "55000".into(), error: "over".into(), is_final: true, is_harm: false };
    taking.server.reply(ticket, Answer::Failed(failure).write());
    taking.until("the connection is closed", |taking| {
        let _ = client.shutdown(Shutdown::Write);
        taking.report().connections.is_empty()
    });
    let mut answer = String::new();
    client.read_to_string(&mut answer).unwrap();
    assert!(answer.ends_with("{\"$error\":{\"code\":\"55000\",\"error\":\"over\"}}\n"), "{answer}");
    taking.rests();
}

#[test]
fn two_full_buckets_of_a_producer_are_under_way_and_acknowledged_in_order() {
    let mut taking = Taking::on(terms(), Limits::default());
    let mut client = greeted(&mut taking);
    client.write_all(lines(0..250).as_bytes()).unwrap();
    let (first, work, text) = taking.bucket();
    assert_eq!((work.origin.unwrap().first, text), (1, lines(0..100)));
    let (second, work, text) = taking.bucket();
    assert_eq!((work.origin.unwrap().first, text), (101, lines(100..200)));
    taking.rests();
    taking.server.reply(second, stored(100));
    taking.rests();
    assert_eq!(taking.report().stored, 0, "the second waits for the first");
    taking.server.reply(first, stored(100));
    let (third, work, text) = taking.bucket();
    assert_eq!((work.origin.unwrap().first, text), (201, lines(200..250)));
    taking.server.reply(third, stored(50));
    client.shutdown(Shutdown::Write).unwrap();
    taking.until("the connection is closed", |taking| taking.report().connections.is_empty());
    let mut answer = String::new();
    client.read_to_string(&mut answer).unwrap();
    let said: Vec<&str> = answer.lines().skip(1).collect();
    assert_eq!(said, ["{\"$ack\":100}", "{\"$ack\":200}", "{\"$ack\":250}"]);
}

#[test]
fn a_bucket_that_comes_before_the_one_before_it_is_sent_again() {
    let mut taking = Taking::on(terms(), Limits::default());
    let mut client = greeted(&mut taking);
    client.write_all(lines(0..200).as_bytes()).unwrap();
    let (first, ..) = taking.bucket();
    let (second, ..) = taking.bucket();
    let gap = Failure {
        code: "55000".into(),
        error: "line 101 comes after line 0".into(),
        is_final: true,
        is_harm: false,
    };
    taking.server.reply(second, Answer::Failed(gap.clone()).write());
    taking.rests();
    taking.server.reply(first, stored(100));
    let (second, work, text) = taking.bucket();
    assert_eq!((work.origin.unwrap().first, text), (101, lines(100..200)));
    assert_eq!(taking.report().trouble, None);
    // Now it is the first of those under way, and the error its own.
    taking.server.reply(second, Answer::Failed(gap).write());
    taking.until("the connection is closed", |taking| {
        let _ = client.shutdown(Shutdown::Write);
        taking.report().connections.is_empty()
    });
    let mut answer = String::new();
    client.read_to_string(&mut answer).unwrap();
    assert!(answer.contains("{\"$ack\":100}\n{\"$error\":{\"code\":\"55000\""), "{answer}");
}

#[test]
fn buckets_behind_one_that_fails_are_given_up_with_their_memory() {
    // The buckets of a dozen failures fill the memory, if it is not given back.
    let limits = Limits { max_lines: 4 << 20, ..Limits::default() };
    let mut taking = Taking::on(terms(), limits);
    let line = format!("{{\"x\":\"{}\"}}\n", "x".repeat(900));
    for round in 0..30 {
        let mut client = greeted(&mut taking);
        client.write_all(line.repeat(200).as_bytes()).unwrap();
        let (first, ..) = taking.bucket();
        taking.until("the second of the round", |taking| !taking.poured.is_empty());
        let failure =
            Failure { code: "42501".into(), error: format!("no {round}"), is_final: true, is_harm: false };
        taking.server.reply(first, Answer::Failed(failure).write());
        taking.until("the connection is closed", |taking| {
            let _ = client.shutdown(Shutdown::Write);
            taking.report().connections.is_empty()
        });
        let behind = taking.poured.remove(0);
        assert_eq!(taking.server.gone().collect::<Vec<_>>(), [behind.ticket]);
    }
    assert_eq!(taking.report().stored, 0);
}

#[test]
fn the_line_that_has_waited_longest_goes_when_memory_is_short() {
    let limits = Limits { max_lines: 2 << 20, ..Limits::default() };
    let mut taking = Taking::on(Terms { longest_line: 400_000, ..terms() }, limits);
    let line = [b"{\"x\":\"".as_slice(), &vec![b'x'; 300_000]].concat();
    let mut clients: Vec<TcpStream> = Vec::new();
    for number in 1..=6 {
        let mut client = taking.connect();
        client.set_nonblocking(true).unwrap();
        let mut sent = 0;
        taking.until("the line is read", |_| {
            sent += client.write(&line[sent..]).unwrap_or(0);
            sent == line.len()
        });
        (0..20).for_each(|_| taking.turn());
        clients.push(client);
        assert_eq!(taking.report().connections.len(), number.min(3), "after {number}");
    }
    assert_eq!(taking.report().trouble.unwrap().code, "53200");
    assert_eq!(
        clients[0].read(&mut [0]).map_err(|error| error.kind()).unwrap_or(0),
        0,
        "the first is closed"
    );
    clients[5].set_nonblocking(false).unwrap();
    clients[5].write_all(b"\"}\n").unwrap();
    let (_, _, text) = taking.bucket();
    assert_eq!(text.len(), line.len() + 3, "the last is not");
}

#[test]
fn what_was_read_is_written_before_a_listener_closes() {
    let mut taking = Taking::on(terms(), Limits::default());
    let mut client = taking.connect();
    client.write_all(lines(0..250).as_bytes()).unwrap();
    let (first, ..) = taking.bucket();
    taking.rests();
    taking.server.unlisten(1);
    taking.rests();
    taking.server.reply(first, stored(100));
    for range in [100..200, 200..250] {
        let (ticket, _, text) = taking.bucket();
        assert_eq!(text, lines(range));
        taking.server.reply(ticket, stored(u64::try_from(text.lines().count()).unwrap()));
    }
    taking.until("the connection is closed", |taking| taking.server.is_drained());
    assert_eq!(client.read(&mut [0]).unwrap(), 0);
}

#[test]
fn other_terms_end_connections_that_began_with_a_place_of_their_own() {
    let mut taking = Taking::on(terms(), Limits::default());
    let mut client = taking.connect();
    client.write_all(lines(0..1).as_bytes()).unwrap();
    let (ticket, ..) = taking.bucket();
    taking.server.reply(ticket, stored(1));
    taking.until("it is written", |taking| taking.report().stored == 1);
    taking.server.set_terms(1, &Terms { streams: 3, ..terms() });
    client.write_all(lines(1..2).as_bytes()).unwrap();
    let (ticket, work, _) = taking.bucket();
    let others = Terms { destination: Destination { name: "others".into(), ..work.destination }, ..terms() };
    taking.server.set_terms(1, &others);
    taking.rests();
    assert_eq!(taking.report().connections.len(), 1, "open until all is committed");
    taking.server.reply(ticket, stored(1));
    taking.until("the connection is closed", |taking| taking.report().connections.is_empty());
    assert_eq!(client.read(&mut [0]).unwrap(), 0);
    taking.connect().write_all(lines(2..3).as_bytes()).unwrap();
    assert_eq!(taking.bucket().1.destination.name, "others");
}

#[test]
fn a_first_line_that_begins_and_does_not_end_is_not_waited_for() {
    let limits = Limits { head_timeout: Duration::from_millis(100), ..Limits::default() };
    let mut taking = Taking::on(terms(), limits);
    let mut whole = taking.connect();
    whole.write_all(b"{\"n\":1}\n{\"n\"").unwrap();
    let (ticket, _, text) = taking.bucket();
    assert_eq!(text, lines(1..2));
    taking.server.reply(ticket, stored(1));
    for (number, begun) in ["{\"n\"", "{\"$hello\"", " \n{"].into_iter().enumerate() {
        let mut late = taking.connect();
        late.write_all(begun.as_bytes()).unwrap();
        taking.until("it is refused", |taking| taking.report().refused == number as u64 + 1);
        let trouble = taking.report().trouble.expect("it is said why");
        assert!(trouble.error.contains("first line did not come in time"), "{begun}: {trouble:?}");
        taking.until("it is closed", |taking| taking.report().connections.len() == 1);
        assert!(!matches!(late.read(&mut [0; 1]), Ok(1..)), "{begun}");
    }
    // After its first line a connection may take its time.
    whole.write_all(b":2}\n").unwrap();
    let (ticket, _, text) = taking.bucket();
    assert_eq!(text, lines(2..3));
    taking.server.reply(ticket, stored(1));
}

#[test]
fn a_list_without_networks_admits_nobody() {
    let mut taking = Taking::on(Terms { allow: Some(Vec::new()), ..terms() }, Limits::default());
    let mut client = taking.connect();
    taking.until("it is turned away", |taking| taking.report().refused == 1);
    assert_eq!(client.read(&mut [0]).unwrap(), 0);
}

#[test]
fn lines_that_came_in_one_go_are_written_before_a_listener_closes() {
    let mut taking =
        Taking::on(Terms { full: Full { rows: 1, bytes: 1 << 20 }, ..terms() }, Limits::default());
    let line = format!("{{\"x\":\"{}\"}}\n", "x".repeat(150));
    let mut client = taking.connect();
    client.write_all(line.repeat(50).as_bytes()).unwrap();
    taking.until("lines are read", |taking| taking.report().received == 2);
    taking.server.unlisten(1);
    for _ in 0..50 {
        let (ticket, _, text) = taking.bucket();
        assert_eq!(text, line);
        taking.server.reply(ticket, stored(1));
    }
    taking.until("the connection is closed", |taking| taking.server.is_drained());
}
