//! Clients that do not take their responses, or slowly: what they hold is bounded, and ends.

use std::io::Write;
use std::net::TcpStream;
use std::time::{Duration, Instant};

use crate::frames::{RESET, headers, raw, read_frame, read_to_end, window, window_update};
use crate::harness::{PATIENCE, Running};
use gateway::{Limits, SMALL_REPLY};

/// More than the sockets' buffers on both sides can take.
const LARGE: usize = 20_000_000;
/// Room for two of them.
const ROOM: usize = 50_000_000;

fn room(running: &Running) -> usize {
    running.run(|server| server.room_for_replies())
}

/// The room for replies once less than all, and the kernel has taken what it takes of them: it may take more when it has handed on
/// what it has.
fn settled_room(running: &Running, all: usize) -> usize {
    let begin = Instant::now();
    let (mut last, mut looks) = (0, 0);
    while looks < 10 {
        assert!(begin.elapsed() < PATIENCE, "replies stay");
        std::thread::sleep(Duration::from_millis(20));
        let room = room(running);
        looks = if room < all && room == last { looks + 1 } else { 0 };
        last = room;
    }
    last
}

#[test]
fn readers_of_http1_that_do_not_read_hold_bounded_memory() {
    let running = Running::start(Limits { max_replies: ROOM, ..Limits::default() });
    let get = format!("GET /big/{LARGE} HTTP/1.1\r\nHost: a\r\n\r\n");
    let mut holders = Vec::new();
    for number in 1..=2 {
        holders.push(running.connect());
        holders[number - 1].send(&get);
        running.until(move |server| server.room_for_replies() < ROOM - number * LARGE);
    }
    let mut others = running.connect();
    assert_eq!(others.send(&get).reply().status, 503);
    assert_eq!(others.get("/").status, 200);
    assert_eq!(others.get(&format!("/big/{}", SMALL_REPLY - 100)).status, 200);
    assert!(room(&running) > ROOM - 2 * LARGE - 100_000, "what has left counts");
    assert_eq!(holders[0].reply().body.len(), LARGE);
    running.until(|server| server.room_for_replies() > LARGE);
    assert_eq!(others.send(&get).reply().body.len(), LARGE);
    drop(holders);
    running.until(|server| server.room_for_replies() == ROOM);
}

#[test]
fn streams_of_http2_that_are_not_read_hold_bounded_memory() {
    let running = Running::start(Limits { max_replies: ROOM, ..Limits::default() });
    let mut stream = raw(&running, &window(0));
    for id in [1, 3, 5] {
        stream.write_all(&headers(id, 5, &format!("/big/{LARGE}"))).unwrap();
    }
    running.until(|server| server.counters().requests == 3);
    let held = ROOM - room(&running);
    assert!((2 * LARGE..ROOM).contains(&held), "{held} bytes are held");
    assert_eq!(running.connect().get("/").status, 200);
    // The memory is held until the last byte has left, wherever that waits.
    let opened = (LARGE - 1) as u32;
    stream.write_all(&[window_update(0, opened), window_update(1, opened)].concat()).unwrap();
    read_data(&mut stream, 1, LARGE - 1);
    assert!(room(&running) < ROOM - 2 * LARGE);
    stream.write_all(&[window_update(0, 1), window_update(1, 1)].concat()).unwrap();
    read_data(&mut stream, 1, 1);
    running.until(|server| server.room_for_replies() > LARGE);
    drop(stream);
    running.until(|server| server.room_for_replies() == ROOM);
}

const ROOM_FOR_SMALL: usize = 1_000_000;
const SMALL: &str = "/big/16000";

#[test]
fn small_replies_that_stay_count_and_their_streams_give_way_when_there_is_no_room() {
    let running = Running::start(Limits { max_replies: ROOM_FOR_SMALL, ..Limits::default() });
    let mut connections: Vec<_> = (0..4).map(|_| raw(&running, &window(0))).collect();
    for connection in &mut connections {
        let streams: Vec<u8> = (0..100).flat_map(|number| headers(2 * number + 1, 5, SMALL)).collect();
        connection.write_all(&streams).unwrap();
    }
    // Of the 400 some 50 find room: no other does.
    running.until(|server| server.room_for_replies() < 20_500);
    let mut resets = 0;
    for connection in &mut connections {
        connection.set_read_timeout(Some(Duration::from_millis(300))).unwrap();
        resets += std::iter::from_fn(|| read_frame(connection)).filter(|frame| frame.0 == RESET).count();
    }
    assert!(resets >= 400 - ROOM_FOR_SMALL / 16_000, "{resets} streams were reset");
    // Who takes what it asked for is served, and what was held before comes.
    let mut others = running.connect();
    for _ in 0..100 {
        assert_eq!(others.get(SMALL).status, 200);
    }
    drop(connections);
    running.until(|server| server.room_for_replies() == ROOM_FOR_SMALL);
}

#[test]
fn a_connection_gives_way_whose_small_replies_lie_in_it_when_there_is_no_room() {
    let running = Running::start(Limits { max_replies: ROOM_FOR_SMALL, ..Limits::default() });
    // A byte of each goes out, and hyper has the rest.
    let mut stream = raw(&running, &window(1));
    let streams: Vec<u8> = (0..100).flat_map(|number| headers(2 * number + 1, 5, SMALL)).collect();
    stream.write_all(&streams).unwrap();
    read_to_end(&mut stream);
    running.until(|server| server.room_for_replies() == ROOM_FOR_SMALL);
}

#[test]
fn a_small_reply_that_stays_over_http1_counts_and_ends_its_connection_when_there_is_no_room() {
    let running = Running::start(Limits { max_replies: ROOM_FOR_SMALL, ..Limits::default() });
    let ask = format!("GET {SMALL} HTTP/1.1\r\nHost: a\r\n\r\n").repeat(2000);
    let mut holder = running.connect();
    holder.send(&ask);
    let held = ROOM_FOR_SMALL - settled_room(&running, ROOM_FOR_SMALL);
    assert!((4096..21_000).contains(&held), "{held} bytes are held");
    // There is no room for a second one, however much of it stays. The kernel may take more of the first one meanwhile: then there is.
    let mut holders = vec![holder];
    let mut all = ROOM_FOR_SMALL;
    loop {
        assert!(holders.len() < 20, "none is refused");
        all = all - settled_room(&running, all) + 100;
        let limits = Limits { max_replies: all, ..Limits::default() };
        running.run(move |server| server.set_limits(limits));
        let mut client = running.connect();
        client.send(&ask);
        // Nobody has read anything.
        let (begin, count) = (Instant::now(), holders.len());
        let is_refused = || running.run(move |server| server.counters().open <= count);
        while begin.elapsed() < Duration::from_secs(5) && !is_refused() {
            std::thread::sleep(Duration::from_millis(10));
        }
        if is_refused() {
            break;
        }
        holders.push(client);
    }
    drop(holders);
    running.until(move |server| server.room_for_replies() == all);
}

#[test]
fn requests_behind_one_that_runs_are_not_read_beyond_a_bound() {
    const MOST: u64 = 16 << 10;
    let next = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
    let hold = "GET /hold HTTP/1.1\r\nHost: a\r\n\r\n";
    let hold_body = "GET /hold HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\n";
    let hold_chunks = "GET /hold HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
    // All at once, and once the first one runs; behind a body.
    for (hold, body, first, later) in [
        (hold, "", 10_000, 0),
        (hold, "", 0, 10_000),
        (hold_body, "x", 10_000, 0),
        (hold_chunks, "0\r\n\r\n", 10_000, 0),
    ] {
        let running = Running::start(Limits::default());
        let bytes_in = || running.run(|server| server.counters().bytes_in);
        let before = bytes_in();
        let mut client = TcpStream::connect(running.address).unwrap();
        client.write_all(hold.as_bytes()).unwrap();
        let head = before + hold.len() as u64;
        running.until(move |server| body.is_empty() || server.counters().bytes_in == head);
        client.write_all([body, &next.repeat(first)].concat().as_bytes()).unwrap();
        let ticket = running.held();
        client.write_all(next.repeat(later).as_bytes()).unwrap();
        // Others are served meanwhile.
        for _ in 0..100 {
            assert_eq!(running.connect().send(next).reply().status, 200);
        }
        let read = bytes_in() - before - 100 * next.len() as u64;
        assert!(read <= MOST + (hold.len() + body.len()) as u64, "{read} bytes were read");
        assert!(running.release(ticket));
        // All are answered in the end.
        let all = bytes_in();
        running.until(move |server| server.counters().bytes_in > all);
    }
}

/// Reads until so much of a stream's body has come.
fn read_data(stream: &mut TcpStream, wanted: u32, length: usize) {
    let mut taken = 0;
    while taken < length {
        let (kind, id, payload) = read_frame(stream).expect("the connection goes on");
        assert_ne!(kind, RESET, "stream {id} is reset");
        taken += if (kind, id) == (0, wanted) { payload.len() } else { 0 };
    }
    assert_eq!(taken, length);
}

fn read_until_reset(stream: &mut TcpStream, wanted: u32) {
    loop {
        let (kind, id, _) = read_frame(stream).expect("the connection goes on");
        if (kind, id) == (RESET, wanted) {
            return;
        }
    }
}

fn quick() -> Limits {
    Limits { write_timeout: Duration::from_millis(300), max_replies: ROOM, ..Limits::default() }
}

#[test]
fn a_stream_whose_client_takes_nothing_is_reset_and_the_others_go_on() {
    let running = Running::start(quick());
    let mut stream = raw(&running, &window(0));
    stream.write_all(&[headers(1, 5, "/hold"), headers(3, 5, "/big/1000000")].concat()).unwrap();
    let ticket = running.held();
    let begin = Instant::now();
    read_until_reset(&mut stream, 3);
    assert!(begin.elapsed() >= Duration::from_millis(250));
    running.until(|server| server.room_for_replies() == ROOM);
    // The last part of it is no exception, and one that fits into a frame neither.
    stream.write_all(&headers(5, 5, "/big/1000000")).unwrap();
    stream.write_all(&[window_update(0, 999_999), window_update(5, 999_999)].concat()).unwrap();
    read_until_reset(&mut stream, 5);
    stream.write_all(&headers(7, 5, "/")).unwrap();
    read_until_reset(&mut stream, 7);
    assert!(running.release(ticket));
    stream.write_all(&[window_update(0, 100), window_update(1, 100)].concat()).unwrap();
    read_data(&mut stream, 1, b"released".len());
}

#[test]
fn a_stream_that_is_taken_below_the_least_rate_is_reset() {
    let running = Running::start(Limits { min_response_rate: 1_000_000, ..quick() });
    let mut stream = raw(&running, &window(0));
    stream.write_all(&headers(1, 5, "/big/1000000")).unwrap();
    stream.set_read_timeout(Some(Duration::from_millis(20))).unwrap();
    let begin = Instant::now();
    let mut taken = 0;
    loop {
        assert!(begin.elapsed() < PATIENCE, "it goes on");
        match read_frame(&mut stream) {
            Some((RESET, 1, _)) => break,
            Some((0, 1, payload)) => taken += payload.len(),
            Some(_) => {}
            // Never nothing for long, and 50,000 bytes a second at most.
            None => stream.write_all(&window_update(1, 1000)).unwrap(),
        }
    }
    assert!(taken > 0 && begin.elapsed() >= Duration::from_millis(290));
    running.until(|server| server.room_for_replies() == ROOM);
}

#[test]
fn a_connection_ends_where_the_end_of_a_response_lies_in_it() {
    let running = Running::start(quick());
    // The first byte goes out, and hyper has the rest.
    let mut stream = raw(&running, &window(1));
    stream.write_all(&[headers(1, 5, "/hold"), headers(3, 5, "/")].concat()).unwrap();
    let held = running.held();
    read_to_end(&mut stream);
    assert_eq!(running.event(), crate::harness::Event::Gone(held));
}

/// Takes 50,000 bytes a second at most of each of these streams for a time. Gives the stream that is reset meanwhile.
fn take_slowly(stream: &mut TcpStream, streams: &[u32], time: Duration) -> Option<u32> {
    let begin = Instant::now();
    while begin.elapsed() < time {
        match read_frame(stream) {
            Some((RESET, id, _)) => return Some(id),
            Some(_) => {}
            None => streams.iter().for_each(|&id| stream.write_all(&window_update(id, 1000)).unwrap()),
        }
    }
    None
}

#[test]
fn the_slowest_stream_gives_way_while_replies_hold_more_than_half_of_their_memory() {
    let second = Duration::from_secs(1);
    let running = Running::start(Limits { max_replies: 4_000_000, write_timeout: second, ..quick() });
    let mut stream = raw(&running, &window(0));
    stream.set_read_timeout(Some(Duration::from_millis(20))).unwrap();
    let ask = |id: u32, length: usize| headers(id, 5, &format!("/big/{length}"));
    stream.write_all(&[window_update(0, 10_000_000), ask(1, 1_000_000)].concat()).unwrap();
    // That is a pace for twenty seconds, and there is room.
    assert_eq!(take_slowly(&mut stream, &[1], 2 * second), None);
    // With another it is more than half. It has begun later, and there is room again when the first has gone.
    stream.write_all(&ask(3, 1_500_000)).unwrap();
    assert_eq!(take_slowly(&mut stream, &[1, 3], PATIENCE), Some(1));
    assert_eq!(take_slowly(&mut stream, &[3], 2 * second), None);
}
