//! A client of HTTP/2 that writes and reads frame by frame.
#![allow(dead_code, reason = "each test file uses a part of it")]

use std::io::{Read, Write};
use std::net::TcpStream;

use crate::harness::{PATIENCE, Running};

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

pub fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = (payload.len() as u32).to_be_bytes();
    [&length[1..], &[kind, flags], &stream.to_be_bytes(), payload].concat()
}

/// A client that has said hello and nothing else; `settings` is the payload of its SETTINGS.
pub fn raw(running: &Running, settings: &[u8]) -> TcpStream {
    let mut stream = TcpStream::connect(running.address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    // Byte by byte, so that the protocol has to be found out from pieces.
    PREFACE.iter().for_each(|byte| stream.write_all(&[*byte]).unwrap());
    stream.write_all(&frame(4, 0, 0, settings)).unwrap();
    stream
}

/// `GET http://a/` (static table of HPACK), without an end of headers if `flags` has none.
pub fn headers(stream: u32, flags: u8, path: &str) -> Vec<u8> {
    let path = [&[0x44, path.len() as u8], path.as_bytes()].concat();
    frame(1, flags, stream, &[&[0x82, 0x86, 0x41, 1, b'a'], &path[..]].concat())
}

pub fn read_to_end(stream: &mut TcpStream) {
    let mut buffer = [0; 4096];
    loop {
        match stream.read(&mut buffer) {
            Ok(0) => return,
            Ok(_) => {}
            Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => return,
            Err(error) => panic!("the connection is still open: {error}"),
        }
    }
}

/// SETTINGS_INITIAL_WINDOW_SIZE, the payload of a SETTINGS frame.
pub fn window(bytes: u32) -> Vec<u8> {
    [&[0, 4][..], &bytes.to_be_bytes()].concat()
}

/// Opens the window of a stream by so much.
pub fn window_update(stream: u32, bytes: u32) -> Vec<u8> {
    frame(8, 0, stream, &bytes.to_be_bytes())
}

/// The type of RST_STREAM.
pub const RESET: u8 = 3;

/// The next frame: its type, its stream and its payload; none at the end of the connection.
pub fn read_frame(stream: &mut TcpStream) -> Option<(u8, u32, Vec<u8>)> {
    let mut head = [0; 9];
    stream.read_exact(&mut head).ok()?;
    let length = u32::from_be_bytes([0, head[0], head[1], head[2]]);
    let mut payload = vec![0; length as usize];
    stream.read_exact(&mut payload).ok()?;
    Some((head[3], u32::from_be_bytes([head[5], head[6], head[7], head[8]]), payload))
}
