//! A client of HTTP/2 that writes and reads frame by frame.
#![allow(dead_code, reason = "each test file uses a part of it")]

use std::io::{Read, Write};
use std::net::TcpStream;

use crate::harness::{PATIENCE, Running};

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

pub(crate) fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = (payload.len() as u32).to_be_bytes();
    [&length[1..], &[kind, flags], &stream.to_be_bytes(), payload].concat()
}

/// A client that has said hello and nothing else; `settings` is the payload of its SETTINGS.
pub(crate) fn raw(running: &Running, settings: &[u8]) -> TcpStream {
    let mut stream = TcpStream::connect(running.address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    // Byte by byte, so that the protocol has to be found out from pieces.
    PREFACE.iter().for_each(|byte| stream.write_all(&[*byte]).unwrap());
    stream.write_all(&frame(4, 0, 0, settings)).unwrap();
    stream
}

/// `GET http://a/` (static table of HPACK), without an end of headers if `flags` has none.
pub(crate) fn headers(stream: u32, flags: u8, path: &str) -> Vec<u8> {
    let path = [&[0x44, path.len() as u8], path.as_bytes()].concat();
    frame(1, flags, stream, &[&[0x82, 0x86, 0x41, 1, b'a'], &path[..]].concat())
}

pub(crate) fn read_to_end(stream: &mut TcpStream) {
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
pub(crate) fn window(bytes: u32) -> Vec<u8> {
    [&[0, 4][..], &bytes.to_be_bytes()].concat()
}

/// Opens the window of a stream by so much.
pub(crate) fn window_update(stream: u32, bytes: u32) -> Vec<u8> {
    frame(8, 0, stream, &bytes.to_be_bytes())
}

/// The type of RST_STREAM.
pub(crate) const RESET: u8 = 3;

/// The next frame: its type, its stream and its payload; none at the end of the connection.
pub(crate) fn read_frame(stream: &mut TcpStream) -> Option<(u8, u32, Vec<u8>)> {
    let mut head = [0; 9];
    stream.read_exact(&mut head).ok()?;
    let length = u32::from_be_bytes([0, head[0], head[1], head[2]]);
    let mut payload = vec![0; length as usize];
    stream.read_exact(&mut payload).ok()?;
    Some((head[3], u32::from_be_bytes([head[5], head[6], head[7], head[8]]), payload))
}

/// `POST http://a/…`, to which these literal headers are added.
pub(crate) fn post(stream: u32, flags: u8, path: &str, more: &[(&str, &str)]) -> Vec<u8> {
    let text = |text: &str| [&[text.len() as u8], text.as_bytes()].concat();
    let path = [vec![0x44], text(path)].concat();
    let more = more.iter().flat_map(|(name, value)| [vec![0], text(name), text(value)].concat()).collect();
    frame(1, flags, stream, &[vec![0x83, 0x86, 0x41, 1, b'a'], path, more].concat())
}

/// The types of DATA, HEADERS and GOAWAY.
pub(crate) const DATA: u8 = 0;
pub(crate) const HEADERS: u8 = 1;
pub(crate) const GO_AWAY: u8 = 7;

/// The next frame of a stream, or GOAWAY: its type and its payload.
pub(crate) fn next_of(stream: &mut TcpStream, wanted: u32) -> (u8, Vec<u8>) {
    loop {
        let (kind, id, payload) = read_frame(stream).expect("the connection goes on");
        if id == wanted && kind != 8 || kind == GO_AWAY {
            return (kind, payload);
        }
    }
}

/// The error of RST_STREAM or GOAWAY.
pub(crate) fn error_of(kind: u8, payload: &[u8]) -> u32 {
    let at = if kind == GO_AWAY { 4 } else { 0 };
    u32::from_be_bytes(payload[at..at + 4].try_into().unwrap())
}

/// SETTINGS_HEADER_TABLE_SIZE of 0, the payload of a SETTINGS frame: no block of headers refers to one before.
pub(crate) const NO_TABLE: &[u8] = &[0, 1, 0, 0, 0, 0];

/// The status at the beginning of a block of headers, for a client of [`NO_TABLE`]: an entry of HPACK's static table, or a
/// literal value of it, encoded by Huffman's code or not.
pub(crate) fn status_of(block: &[u8]) -> u16 {
    // The size of the table is told first.
    let block = block.strip_prefix(&[0x20]).unwrap_or(block);
    match block {
        [index @ 0x88..=0x8e, ..] => [200, 204, 206, 304, 400, 404, 500][usize::from(index - 0x88)],
        [0x48 | 0x08, 3, digits @ ..] => {
            digits[..3].iter().fold(0, |status, digit| status * 10 + u16::from(digit - b'0'))
        }
        [0x48 | 0x08, length @ (0x82 | 0x83), code @ ..] => {
            // Five bits for 0, 1 and 2, six for 3 to 9 (RFC 7541, B).
            let code = &code[..usize::from(length & 0x7f)];
            let mut bits = code.iter().zip([24, 16, 8]).map(|(byte, at)| u32::from(*byte) << at).sum::<u32>();
            (0..3).fold(0, |status, _| {
                let (digit, length) =
                    if bits >> 27 < 3 { (bits >> 27, 5) } else { ((bits >> 26) - 0x19 + 3, 6) };
                bits <<= length;
                status * 10 + digit as u16
            })
        }
        _ => panic!("no status at the beginning of {block:x?}"),
    }
}
