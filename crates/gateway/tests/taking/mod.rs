//! A server that takes lines of JSON, with a test in the place of those who write them.
#![allow(dead_code, reason = "each test file uses a part of it")]

use std::io::Write;
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use gateway::{Address, Limits, LinesReport, Listener, Poured, Server, Terms};
use wire::{Answer, Destination, Full, Work, Written};

pub(crate) struct Taking {
    pub server: Server,
    address: SocketAddr,
    pub poured: Vec<Poured>,
}

pub(crate) fn terms() -> Terms {
    Terms {
        number: 4000,
        destination: Destination { name: "bips".into(), ..Destination::default() },
        token: None,
        allow: None,
        full: Full { rows: 100, bytes: 1 << 20 },
        patience: Duration::from_millis(5),
        longest_line: 1000,
        streams: 1,
    }
}

impl Taking {
    pub(crate) fn on(terms: Terms, limits: Limits) -> Taking {
        let mut server = Server::new(limits).unwrap();
        let address = Address::Tcp("127.0.0.1:0".parse().unwrap());
        let listener = Listener { lines: Some(terms), ..Listener::new(1, address) };
        let Address::Tcp(address) = server.listen(&listener).unwrap() else { unreachable!() };
        Taking { server, address, poured: Vec::new() }
    }

    pub(crate) fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        stream
    }

    pub(crate) fn turn(&mut self) {
        let _ = self.server.turn(Some(Duration::from_millis(5)), &mut || true);
        self.poured.extend(self.server.poured());
    }

    pub(crate) fn until(&mut self, what: &str, mut holds: impl FnMut(&mut Taking) -> bool) {
        let begin = Instant::now();
        while !holds(self) {
            assert!(begin.elapsed() < Duration::from_secs(20), "waited in vain: {what}");
            self.turn();
        }
    }

    /// The next bucket: what it is, and its lines.
    pub(crate) fn bucket(&mut self) -> (gateway::Ticket, Work, String) {
        self.until("a bucket", |taking| !taking.poured.is_empty());
        let poured = self.poured.remove(0);
        let bytes = [&poured.head[..], &poured.lines[..]].concat();
        let (work, lines) = Work::parse(&bytes).unwrap();
        (poured.ticket, work, String::from_utf8(lines.to_vec()).unwrap())
    }

    pub(crate) fn report(&self) -> LinesReport {
        self.server.lines().remove(0)
    }

    /// Nothing comes, for some turns.
    pub(crate) fn rests(&mut self) {
        (0..10).for_each(|_| self.turn());
        assert!(self.poured.is_empty(), "{:?}", self.poured);
    }
}

pub(crate) fn stored(count: u64) -> Vec<u8> {
    Answer::Written(Written { stored: count, ..Written::default() }).write()
}

pub(crate) fn lines(range: std::ops::Range<u32>) -> String {
    range.map(|number| format!("{{\"n\":{number}}}\n")).collect()
}

/// A connection of an acknowledged producer whose hello is answered.
pub(crate) fn greeted(taking: &mut Taking) -> TcpStream {
    greeted_as(taking, "p")
}

/// A connection of the producer of this name, whose hello is answered.
pub(crate) fn greeted_as(taking: &mut Taking, producer: &str) -> TcpStream {
    let mut client = taking.connect();
    let hello = format!("{{\"$hello\":{{\"v\":1,\"producer\":\"{producer}\"}}}}\n");
    client.write_all(hello.as_bytes()).unwrap();
    let (ticket, work, _) = taking.bucket();
    assert!(work.hello);
    taking.server.reply(ticket, stored(0));
    client
}
