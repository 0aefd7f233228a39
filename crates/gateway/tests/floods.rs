//! A client that never stops sending keeps neither the others nor the owner waiting.

use std::io::{ErrorKind, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::frames::{frame, headers, raw, read_frame, read_to_end};
use crate::harness::Running;
use gateway::{Address, Limits, Listener, Server, Terms};
use wire::{Destination, Full};

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
/// Others are served within some milliseconds. Here the machine is shared with the flood, and with other tests.
const SOON: Duration = Duration::from_secs(1);
/// One flood at a time: each takes a processor and more.
static ALONE: Mutex<()> = Mutex::new(());
/// How long a flood lasts that nothing stops.
const FLOOD: Duration = Duration::from_secs(4);

/// Clients that send the same again and again, and connect again when they are cut off.
struct Floods {
    threads: Vec<JoinHandle<()>>,
    over: Arc<AtomicBool>,
    _alone: MutexGuard<'static, ()>,
}

impl Floods {
    fn begin(address: SocketAddr, count: usize, first: &[u8], again: &[u8]) -> Floods {
        let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        let over = Arc::new(AtomicBool::new(false));
        let again = again.repeat((256 << 10) / again.len());
        let flood = || {
            let (over, first, again) = (Arc::clone(&over), first.to_vec(), again.clone());
            std::thread::spawn(move || {
                let end = Instant::now() + FLOOD;
                while !over.load(Relaxed) && Instant::now() < end {
                    // Whoever is cut off begins again.
                    let _ = pour(address, &first, &again, &over, end);
                }
            })
        };
        Floods { threads: (0..count).map(|_| flood()).collect(), over: Arc::clone(&over), _alone: alone }
    }
}

impl Drop for Floods {
    fn drop(&mut self) {
        self.over.store(true, Relaxed);
        self.threads.drain(..).for_each(|thread| drop(thread.join()));
    }
}

fn pour(
    address: SocketAddr,
    first: &[u8],
    again: &[u8],
    over: &AtomicBool,
    end: Instant,
) -> std::io::Result<()> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_write_timeout(Some(Duration::from_millis(50)))?;
    stream.write_all(first)?;
    let mut sent = 0;
    while !over.load(Relaxed) && Instant::now() < end {
        match stream.write(&again[sent..]) {
            Ok(more) => sent = (sent + more) % again.len(),
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Asks while so many clients flood; each answer comes soon, on a new connection and on an old one.
fn others_are_served(clients: usize, first: &[u8], again: &[u8]) {
    let running = Running::start(Limits::default());
    let mut old = running.connect();
    assert_eq!(old.get("/").status, 200);
    let _floods = Floods::begin(running.address, clients, first, again);
    std::thread::sleep(Duration::from_millis(100));
    for _ in 0..10 {
        let begun = Instant::now();
        assert_eq!(old.get("/").status, 200);
        assert_eq!(running.connect().get("/").status, 200);
        assert!(begun.elapsed() < SOON, "{:?}", begun.elapsed());
    }
}

fn http2(again: &[u8]) {
    let first = [PREFACE, &frame(4, 0, 0, &[])].concat();
    others_are_served(2, &first, again);
    others_are_served(20, &first, again);
}

#[test]
fn pings_do_not_starve_others() {
    http2(&frame(6, 0, 0, b"12345678"));
}

#[test]
fn pings_that_answer_none_do_not_starve_others() {
    http2(&frame(6, 1, 0, b"12345678"));
}

#[test]
fn frames_of_an_unknown_type_do_not_starve_others() {
    http2(&frame(0x77, 0, 0, b""));
}

#[test]
fn settings_do_not_starve_others() {
    http2(&frame(4, 0, 0, &[0, 4, 0, 0, 0xff, 0xff]));
}

#[test]
fn priorities_do_not_starve_others() {
    http2(&frame(2, 0, 3, &[0, 0, 0, 0, 1]));
}

#[test]
fn small_frames_of_a_body_do_not_starve_others() {
    let post = frame(1, 4, 1, &[0x83, 0x86, 0x84, 0x41, 1, b'a']);
    let first = [PREFACE, &frame(4, 0, 0, &[]), &post].concat();
    others_are_served(20, &first, &frame(0, 0, 1, b"x"));
}

#[test]
fn a_client_of_http2_whose_frames_carry_nothing_is_cut_off() {
    let running = Running::start(Limits::default());
    let ping = frame(6, 0, 0, b"12345678");
    let mut stream = raw(&running, &[]);
    stream.write_all(&ping.repeat(9_000)).unwrap();
    stream.write_all(&headers(1, 5, "/")).unwrap();
    while read_frame(&mut stream).expect("an answer").0 != 1 {}
    // An error means that it is cut off already.
    let _ = stream.write_all(&ping.repeat(30_000));
    read_to_end(&mut stream);
    assert_eq!(running.connect().get("/").status, 200);
}

#[test]
fn small_chunks_do_not_starve_others() {
    let first = b"POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
    others_are_served(3, first, b"1\r\nx\r\n");
    others_are_served(20, first, b"1\r\nx\r\n");
}

#[test]
fn a_body_does_not_starve_others() {
    let first = b"POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 16000000\r\n\r\n";
    others_are_served(20, first, &[b'x'; 1024]);
}

#[test]
fn empty_lines_before_a_head_do_not_starve_others() {
    others_are_served(20, b"", b"\r\n");
}

#[test]
fn heads_that_are_sent_without_waiting_do_not_starve_others() {
    others_are_served(20, b"", b"GET / HTTP/1.1\r\nHost: a\r\n\r\n");
}

#[test]
fn clients_that_come_and_go_do_not_starve_others() {
    others_are_served(20, b"?\r\n\r\n", b"?");
}

#[test]
fn streams_that_are_opened_and_left_do_not_starve_others() {
    let running = Running::start(Limits::default());
    let streams: Vec<u8> = (0..128).flat_map(|number| headers(2 * number + 1, 4, "/hold")).collect();
    let opening = [PREFACE, &frame(4, 0, 0, &[]), &streams].concat();
    let mut old = running.connect();
    assert_eq!(old.get("/").status, 200);
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let over = AtomicBool::new(false);
    let slowest = std::thread::scope(|threads| {
        for _ in 0..8 {
            threads.spawn(|| {
                let end = Instant::now() + FLOOD;
                while !over.load(Relaxed) && Instant::now() < end {
                    let left =
                        TcpStream::connect(running.address).and_then(|mut client| client.write_all(&opening));
                    drop(left);
                }
            });
        }
        std::thread::sleep(Duration::from_millis(500));
        let slowest = (0..10).map(|_| {
            let begun = Instant::now();
            assert_eq!(old.get("/").status, 200);
            begun.elapsed()
        });
        let slowest = slowest.max();
        over.store(true, Relaxed);
        slowest
    });
    assert!(slowest.is_some_and(|slowest| slowest < SOON), "{slowest:?}");
}

/// Turns while clients flood, each of which ends soon though nothing in it is for the owner.
fn turns_end(server: &mut Server, address: SocketAddr, first: &[u8], again: &[u8]) {
    let floods = Floods::begin(address, 2, first, again);
    let mut longest = Duration::ZERO;
    while floods.threads.iter().any(|flood| !flood.is_finished()) {
        let begun = Instant::now();
        server.turn(Some(Duration::from_millis(5)), &mut || true);
        longest = longest.max(begun.elapsed());
        server.arrived().for_each(drop);
        server.poured().for_each(drop);
        server.gone().for_each(drop);
    }
    assert!(longest < SOON, "{longest:?}");
}

#[test]
fn turns_end_in_a_flood_of_pings() {
    let mut server = Server::new(Limits::default()).unwrap();
    let address = Address::Tcp("127.0.0.1:0".parse().unwrap());
    let Address::Tcp(address) = server.listen(&Listener::new(1, address)).unwrap() else { unreachable!() };
    turns_end(&mut server, address, PREFACE, &frame(6, 0, 0, b"12345678"));
}

#[test]
fn turns_end_in_a_flood_of_empty_lines_of_json() {
    let mut server = Server::new(Limits::default()).unwrap();
    let terms = Terms {
        number: 1,
        destination: Destination { name: "bips".into(), ..Destination::default() },
        token: None,
        allow: None,
        full: Full { rows: 100, bytes: 1 << 20 },
        patience: Duration::from_millis(5),
        longest_line: 1000,
        streams: 1,
    };
    let address = Address::Tcp("127.0.0.1:0".parse().unwrap());
    let listener = Listener { lines: Some(terms), ..Listener::new(1, address) };
    let Address::Tcp(address) = server.listen(&listener).unwrap() else { unreachable!() };
    turns_end(&mut server, address, b"", b"\n");
}
