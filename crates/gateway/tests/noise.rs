//! Random and changed bytes against a live server: it answers or closes, never hangs, never panics.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};

use crate::harness::{PATIENCE, Running};
use gateway::Limits;

const SAMPLES: [&[u8]; 5] = [
    b"GET /facts?x=%41 HTTP/1.1\r\nHost: a\r\nCookie: a=1\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n",
    b"POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhelloGET / HTTP/1.0\r\n\r\n",
    b"POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
    b"PUT /status/500 HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\n1",
    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0\0\0\x08\x01\x05\0\0\0\x01\x82\x86\x41\x01a\x44\x01/",
];

#[test]
fn noise_is_answered_or_closed() {
    let running = Running::start(Limits { max_body: 1000, ..Limits::default() });
    let mut random = fastrand::Rng::with_seed(6);
    for round in 0..1500 {
        let bytes = noise(&mut random);
        let mut stream = TcpStream::connect(running.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let (first, second) = bytes.split_at(random.usize(..=bytes.len()));
        // The server may have closed already: that is an answer too.
        let _ = stream.write_all(first);
        let _ = stream.write_all(second);
        let _ = stream.shutdown(Shutdown::Write);
        let mut answer = Vec::new();
        match stream.read_to_end(&mut answer) {
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {
                panic!("round {round} hangs: {bytes:?}")
            }
            _ => {}
        }
    }
    assert_eq!(running.connect().get("/").status, 200);
    running.until(|server| server.counters().open <= 1);
}

fn noise(random: &mut fastrand::Rng) -> Vec<u8> {
    if random.u8(..4) == 0 {
        return (0..random.usize(..400)).map(|_| random.u8(..)).collect();
    }
    let mut bytes = SAMPLES[random.usize(..SAMPLES.len())].to_vec();
    for _ in 0..random.usize(..6) {
        let at = random.usize(..bytes.len());
        match random.u8(..3) {
            0 => bytes[at] = random.u8(..),
            1 => bytes.insert(at, b"\r\n :%0\0,"[random.usize(..8)]),
            _ => bytes.truncate(at.max(8)),
        }
    }
    bytes
}
