//! Connections by proxies that pass bytes on and say before the first one for whom (the PROXY protocol of HAProxy, versions 1 and 2).
//!
//! What they say is looked at in the socket, and only a header is taken out of it: whatever follows is as if the client itself had
//! connected. A proxy that says nothing of the kind, as one that speaks HTTP, is served as before.

use std::future::poll_fn;
use std::io::{self, ErrorKind};
use std::mem::{self, MaybeUninit};
use std::net::SocketAddr;
use std::rc::Rc;
use std::task::{Context, Poll, ready};

use ppp::{PartialResult, v1, v2};
use socket2::SockRef;

use crate::accept::admit;
use crate::connection::{Peer, Registered};
use crate::counters::add;
use crate::failures::FailedHandshake;
use crate::http1::FIRST_WORD;
use crate::listener::ListenerState;
use crate::places::WaitsFor;
use crate::shared::Shared;
use crate::stream::Stream;
use crate::this_thread::spawn;

/// Bytes of a header at most. Those that are sent have some hundred, with what clouds add to them.
const LONGEST: usize = 4 << 10;
/// Bytes of a header of version 1 at most, as its specification has it.
const LONGEST_V1: usize = 107;
/// How a header of version 1 begins.
const V1: &[u8] = b"PROXY ";

/// What the first bytes of a connection are.
#[derive(Debug, PartialEq, Eq)]
enum Beginning {
    /// More of them are needed.
    Undecided,
    /// No header.
    Bare,
    /// A header of so many bytes, and the client that it names; none for the proxy itself, as when it looks whether all is well.
    Header(usize, Option<SocketAddr>),
    /// A header that cannot be read.
    Malformed,
}

impl Beginning {
    fn of(bytes: &[u8]) -> Beginning {
        if bytes.starts_with(V1) {
            return Self::of_v1(bytes);
        }
        let begins = |prefix: &[u8]| bytes.starts_with(prefix) || prefix.starts_with(bytes);
        if !begins(V1) && !begins(v2::PROTOCOL_PREFIX) {
            return Beginning::Bare;
        }
        match v2::Header::try_from(bytes) {
            Ok(header) => Beginning::Header(header.len(), client_of_v2(&header)),
            Err(error) if error.is_incomplete() && bytes.len() < LONGEST => Beginning::Undecided,
            Err(_) if V1.starts_with(bytes) => Beginning::Undecided,
            Err(_) => Beginning::Malformed,
        }
    }

    /// The library takes some beginnings of a line for all of it, and some whole ones for a beginning.
    fn of_v1(bytes: &[u8]) -> Beginning {
        let end = bytes[..bytes.len().min(LONGEST_V1)].windows(2).position(|end| end == b"\r\n");
        match end.map(|end| v1::Header::try_from(&bytes[..end + 2])) {
            Some(Ok(header)) => Beginning::Header(header.header.len(), client_of_v1(&header)),
            None if bytes.len() < LONGEST_V1 => Beginning::Undecided,
            Some(Err(_)) | None => Beginning::Malformed,
        }
    }
}

fn client_of_v1(header: &v1::Header<'_>) -> Option<SocketAddr> {
    match header.addresses {
        v1::Addresses::Tcp4(pair) => Some((pair.source_address, pair.source_port).into()),
        v1::Addresses::Tcp6(pair) => Some((pair.source_address, pair.source_port).into()),
        v1::Addresses::Unknown => None,
    }
}

fn client_of_v2(header: &v2::Header<'_>) -> Option<SocketAddr> {
    match header.addresses {
        _ if header.command == v2::Command::Local => None,
        v2::Addresses::IPv4(pair) => Some((pair.source_address, pair.source_port).into()),
        v2::Addresses::IPv6(pair) => Some((pair.source_address, pair.source_port).into()),
        v2::Addresses::Unspecified | v2::Addresses::Unix(_) => None,
    }
}

/// Takes in a connection of a trusted proxy, once it has said for whom, or it is seen that it does not.
pub(crate) fn admit_announced(shared: &Rc<Shared>, listener: &Rc<ListenerState>, stream: Stream, peer: Peer) {
    if !shared.places.have_room(shared.limits().max_connections) {
        return add(&shared.tally.refused, 1);
    }
    let place = Registered::new(shared, listener);
    place.take_place();
    place.wait(WaitsFor::FirstWord);
    let limits = shared.limits();
    let patience = if listener.lines.is_some() { limits.first_line_timeout } else { limits.head_timeout };
    place.set_deadline(shared.clock.after(patience));
    let (shared, listener) = (Rc::clone(shared), Rc::clone(listener));
    spawn(async move {
        place.name_task().await;
        let mut is_hurried = false;
        let announced = poll_fn(|context| poll_beginning(&place, &stream, &mut is_hurried, context)).await;
        drop(place);
        match announced {
            Ok(client) => {
                let peer = Peer { remote: client.or(peer.remote), ..peer };
                admit(&shared, &listener, stream, peer);
            }
            Err(error) if error.kind() == ErrorKind::InvalidData => shared.failures.note(FailedHandshake {
                remote: peer.remote,
                port: peer.local_port,
                named: None,
                certificate: None,
                reason: "a proxy has sent a header of the PROXY protocol that cannot be read".into(),
            }),
            Err(_) => {}
        }
    });
}

/// The client that a proxy names; none if it names nobody.
fn poll_beginning(
    place: &Registered,
    stream: &Stream,
    is_hurried: &mut bool,
    context: &mut Context<'_>,
) -> Poll<io::Result<Option<SocketAddr>>> {
    loop {
        if place.link.is_aborted() || place.link.take_expired() {
            return Poll::Ready(Err(ErrorKind::TimedOut.into()));
        }
        let readable = stream.poll_read_ready(context);
        if readable.is_pending() && place.link.is_draining() && !mem::replace(is_hurried, true) {
            place.set_deadline(place.shared.clock.after(FIRST_WORD));
        }
        ready!(readable)?;
        match stream.try_reading(look) {
            Ok(found) => return Poll::Ready(Ok(found)),
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            Err(error) => return Poll::Ready(Err(error)),
        }
    }
}

/// Looks at what has come, and takes a header out of it. As long as more is needed it would block.
fn look(socket: SockRef<'_>) -> io::Result<Option<SocketAddr>> {
    let mut buffer = [MaybeUninit::uninit(); LONGEST];
    let count = socket.peek(&mut buffer)?;
    // SAFETY: so many have been written.
    let bytes = unsafe { &*(&raw const buffer[..count] as *const [u8]) };
    match Beginning::of(bytes) {
        // Nobody sends anything any more.
        _ if bytes.is_empty() => Ok(None),
        Beginning::Undecided => Err(ErrorKind::WouldBlock.into()),
        Beginning::Bare => Ok(None),
        Beginning::Malformed => Err(ErrorKind::InvalidData.into()),
        Beginning::Header(length, client) => {
            // It is there whole.
            socket.recv(&mut buffer[..length])?;
            Ok(client)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(text: &str) -> Option<SocketAddr> {
        Some(text.parse().unwrap())
    }

    #[test]
    fn headers_of_both_versions_name_the_client() {
        let v1 = b"PROXY TCP4 203.0.113.7 10.0.0.1 56324 443\r\n";
        assert_eq!(Beginning::of(v1), Beginning::Header(v1.len(), client("203.0.113.7:56324")));
        let with_more = [&v1[..], b"GET / HTTP/1.1\r\n"].concat();
        assert_eq!(Beginning::of(&with_more), Beginning::Header(v1.len(), client("203.0.113.7:56324")));
        let v1 = b"PROXY TCP6 2001:db8::7 ::1 56324 443\r\n";
        assert_eq!(Beginning::of(v1), Beginning::Header(v1.len(), client("[2001:db8::7]:56324")));
        let mut v2 = v2_header(0x21, 0x11, &[203, 0, 113, 7, 10, 0, 0, 1, 0xdc, 4, 1, 0xbb]);
        assert_eq!(Beginning::of(&v2), Beginning::Header(28, client("203.0.113.7:56324")));
        v2.extend_from_slice(&[22, 3, 1]);
        assert_eq!(Beginning::of(&v2), Beginning::Header(28, client("203.0.113.7:56324")));
        // What clouds add.
        let long = [&[203, 0, 113, 7, 10, 0, 0, 1, 0xdc, 4, 1, 0xbb, 0xea, 0, 200][..], &[1; 200]].concat();
        assert_eq!(
            Beginning::of(&v2_header(0x21, 0x11, &long)),
            Beginning::Header(231, client("203.0.113.7:56324"))
        );
    }

    #[test]
    fn a_proxy_that_speaks_for_itself_names_nobody() {
        assert_eq!(Beginning::of(b"PROXY UNKNOWN\r\n"), Beginning::Header(15, None));
        assert_eq!(Beginning::of(&v2_header(0x20, 0, &[])), Beginning::Header(16, None));
        let local = [203, 0, 113, 7, 10, 0, 0, 1, 0xdc, 4, 1, 0xbb];
        assert_eq!(Beginning::of(&v2_header(0x20, 0x11, &local)), Beginning::Header(28, None));
        assert_eq!(Beginning::of(&v2_header(0x21, 0x31, &[b'/'; 216])), Beginning::Header(232, None));
    }

    #[test]
    fn whatever_else_comes_is_left_alone() {
        for bare in [
            &b"GET / HTTP/1.1\r\n"[..],
            b"P",
            b"PROXIES / HTTP/1.1",
            b"{\"a\": 1}\n",
            b"\x16\x03\x01",
            b"PRI * HTTP/2.0",
        ] {
            let expected = if bare == b"P" { Beginning::Undecided } else { Beginning::Bare };
            assert_eq!(Beginning::of(bare), expected, "{bare:?}");
        }
    }

    #[test]
    fn a_header_that_is_cut_anywhere_is_waited_for() {
        for whole in [
            b"PROXY TCP4 203.0.113.7 10.0.0.1 56324 443\r\n".to_vec(),
            v2_header(0x21, 0x11, &[203, 0, 113, 7, 10, 0, 0, 1, 0xdc, 4, 1, 0xbb]),
        ] {
            for cut in 1..whole.len() {
                assert_eq!(Beginning::of(&whole[..cut]), Beginning::Undecided, "{cut} bytes");
            }
        }
    }

    #[test]
    fn what_cannot_be_a_header_is_malformed() {
        let long = v2_header(0x21, 0x11, &[0; 5000]);
        for bad in [
            b"PROXY TCP4 1.2.3 10.0.0.1 56324 443\r\n".to_vec(),
            b"PROXY TCP4 203.0.113.7 10.0.0.1 99999 443\r\n".to_vec(),
            b"PROXY TCP4 203.0.113.7\r\n".to_vec(),
            b"PROXY TCP9 203.0.113.7 10.0.0.1 1 443\r\n".to_vec(),
            [&b"PROXY TCP4 "[..], &[b'1'; 200]].concat(),
            v2_header(0x31, 0x11, &[0; 12]),
            v2_header(0x21, 0x11, &[0; 4]),
            long[..LONGEST].to_vec(),
        ] {
            assert_eq!(Beginning::of(&bad), Beginning::Malformed, "{}", String::from_utf8_lossy(&bad));
        }
    }

    fn v2_header(command: u8, family: u8, rest: &[u8]) -> Vec<u8> {
        let length = (rest.len() as u16).to_be_bytes();
        [v2::PROTOCOL_PREFIX, &[command, family], &length, rest].concat()
    }
}
