//! A server on a thread of its own with a small application, and raw clients to speak to it.
#![allow(dead_code, reason = "each test file uses a part of it")]

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::ops::Range;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::rc::Rc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use bytes::Bytes;
use gateway::{Address, Limits, Listener, Rest, SMALL_REPLY, Server, Ticket};
use message::{Request, ResponseBuilder};

/// Nothing in these tests takes as long, unless it hangs.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// What the application has seen.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// A request for `/hold…` has come, and waits until it is released.
    Held(Ticket),
    /// The client of a request has gone.
    Gone(Ticket),
}

type Command = Box<dyn FnOnce(&mut Server) + Send>;

/// A running server. Dropped, it ends.
pub(crate) struct Running {
    pub address: SocketAddr,
    pub events: Receiver<Event>,
    commands: Option<Sender<Command>>,
    bell: UnixStream,
    thread: Option<JoinHandle<()>>,
}

impl Running {
    pub(crate) fn start(limits: Limits) -> Self {
        Self::listening(limits, "127.0.0.1:0".parse().unwrap())
    }

    pub(crate) fn listening(limits: Limits, address: SocketAddr) -> Self {
        Self::with(limits, Listener::new(1, Address::Tcp(address)))
    }

    pub(crate) fn with(limits: Limits, listener: Listener) -> Self {
        let (bell, ear) = UnixStream::pair().unwrap();
        ear.set_nonblocking(true).unwrap();
        let (commands, orders) = channel();
        let (report, events) = channel();
        let (ready, bound) = channel();
        let thread = std::thread::spawn(move || {
            let mut server = Server::new(limits).unwrap();
            server.watch(ear.as_fd()).unwrap();
            ready.send(server.listen(&listener).unwrap()).unwrap();
            serve(server, ear, &orders, &report);
        });
        let Address::Tcp(address) = bound.recv_timeout(PATIENCE).unwrap() else { unreachable!() };
        Self { address, events, commands: Some(commands), bell, thread: Some(thread) }
    }

    /// Runs a function on the server's thread, between two turns, and gives its result.
    pub(crate) fn run<T: Send + 'static>(
        &self,
        function: impl FnOnce(&mut Server) -> T + Send + 'static,
    ) -> T {
        let (sender, result) = channel();
        let command: Command = Box::new(move |server| drop(sender.send(function(server))));
        self.commands.as_ref().unwrap().send(command).unwrap();
        (&self.bell).write_all(b"!").unwrap();
        result.recv_timeout(PATIENCE).unwrap()
    }

    pub(crate) fn event(&self) -> Event {
        self.events.recv_timeout(PATIENCE).unwrap()
    }

    pub(crate) fn held(&self) -> Ticket {
        match self.event() {
            Event::Held(ticket) => ticket,
            other => panic!("{other:?} instead of a held request"),
        }
    }

    pub(crate) fn release(&self, ticket: Ticket) -> bool {
        self.run(move |server| server.reply(ticket, text(200, b"released")))
    }

    /// Waits until something holds that is known to come without an event of its own.
    pub(crate) fn until(&self, holds: impl Fn(&mut Server) -> bool + Send + Clone + 'static) {
        let deadline = std::time::Instant::now() + PATIENCE;
        while !self.run(holds.clone()) {
            assert!(std::time::Instant::now() < deadline, "it does not come to hold");
            std::thread::yield_now();
        }
    }

    pub(crate) fn connect(&self) -> Client<TcpStream> {
        let stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.set_nodelay(true).unwrap();
        Client::new(stream)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.commands.take();
        let _ = (&self.bell).write_all(b"!");
        let ended = self.thread.take().unwrap().join();
        assert!(ended.is_ok() || std::thread::panicking(), "the server panicked");
    }
}

fn serve(mut server: Server, mut ear: UnixStream, orders: &Receiver<Command>, report: &Sender<Event>) {
    loop {
        let _ = server.turn(Some(Duration::from_secs(5)), &mut || true);
        for arrived in server.arrived().collect::<Vec<_>>() {
            let request = Request::parse(&arrived.request).unwrap();
            match answer(&request) {
                Answer::Parts(source) => {
                    let part = Bytes::from(pattern(0..PART.min(source.length)));
                    let rest = Rest { from: part.len() as u64, end: source.length, source: Rc::new(source) };
                    let is_head = request.method() == "HEAD";
                    let part = if is_head { Bytes::new() } else { part };
                    let rest = Rest { from: part.len() as u64, ..rest };
                    assert!(server.reply_in_parts(arrived.ticket, text(200, b""), part, rest, is_head));
                }
                Answer::Reply(reply) if reply.len() > SMALL_REPLY.max(server.room_for_replies()) => {
                    assert!(server.reply(arrived.ticket, text(503, b"no room")));
                }
                Answer::Reply(reply) => assert!(server.reply(arrived.ticket, reply)),
                Answer::Hold => drop(report.send(Event::Held(arrived.ticket))),
            }
        }
        for wanted in server.wanted_parts().collect::<Vec<_>>() {
            let source: &PartSource = wanted.rest.source.downcast_ref().unwrap();
            let from = wanted.rest.from;
            let to = if from >= source.until { from } else { wanted.rest.end.min(from + PART) };
            server.reply_part(wanted.ticket, Bytes::from(pattern(from..to)));
        }
        server.gone().for_each(|ticket| drop(report.send(Event::Gone(ticket))));
        if server.readable().count() > 0 {
            while ear.read(&mut [0; 64]).is_ok_and(|read| read == 64) {}
        }
        loop {
            match orders.recv_timeout(Duration::ZERO) {
                Ok(command) => command(&mut server),
                Err(RecvTimeoutError::Timeout) => break,
                Err(RecvTimeoutError::Disconnected) => return,
            }
        }
    }
}

enum Answer {
    Reply(Vec<u8>),
    Hold,
    Parts(PartSource),
}

/// A body that comes in parts.
struct PartSource {
    length: u64,
    /// No part begins behind this.
    until: u64,
}

/// Bytes of a part.
pub(crate) const PART: u64 = 100_000;

/// The bytes of such a body at these places.
pub(crate) fn pattern(places: Range<u64>) -> Vec<u8> {
    places.map(|place| (place % 251) as u8).collect()
}

/// The application.
fn answer(request: &Request<'_>) -> Answer {
    let path = request.path();
    let number = |prefix| path.strip_prefix(prefix).and_then(|number: &str| number.parse::<usize>().ok());
    if path.starts_with("/hold") {
        return Answer::Hold;
    }
    if let Some(length) = number("/parts/") {
        return Answer::Parts(PartSource { length: length as u64, until: u64::MAX });
    }
    if let Some(until) = number("/cut/") {
        return Answer::Parts(PartSource { length: 1 << 20, until: until as u64 });
    }
    if let Some(status) = number("/status/").filter(|status| (200..600).contains(status)) {
        return Answer::Reply(text(status as u16, b"status"));
    }
    if let Some(size) = number("/big/").filter(|&size| size <= 50_000_000) {
        return Answer::Reply(text(200, &vec![b'x'; size]));
    }
    if let Some(count) = number("/headers/").filter(|&count| count <= 100_000) {
        let mut builder = ResponseBuilder::new(200).unwrap();
        (0..count).for_each(|number| builder.header(format!("x-{number}"), "").unwrap());
        return Answer::Reply(builder.finish(b"many"));
    }
    Answer::Reply(match path {
        "/echo" => text(200, request.body()),
        "/scheme" => text(200, format!("{:?}", request.scheme()).as_bytes()),
        "/host" => text(200, request.header("host").unwrap_or("-").as_bytes()),
        "/id" => text(200, request.id().as_bytes()),
        "/own-id" => {
            let mut builder = ResponseBuilder::new(200).unwrap();
            builder.header("X-Request-Id", "the application's").unwrap();
            builder.finish(request.id().as_bytes())
        }
        "/facts" => text(200, facts(request).as_bytes()),
        "/malformed" => vec![1, 2, 3],
        "/close" => {
            let mut builder = ResponseBuilder::new(200).unwrap();
            builder.header("connection", "close").unwrap();
            builder.finish(b"bye")
        }
        _ => text(200, b"hello"),
    })
}

fn facts(request: &Request<'_>) -> String {
    format!(
        "{} {} {} {:?} {} {}",
        request.method(),
        request.path(),
        request.query_string(),
        request.version(),
        request.authority(),
        request.header("cookie").unwrap_or("-"),
    )
}

pub(crate) fn text(status: u16, body: &[u8]) -> Vec<u8> {
    let mut builder = ResponseBuilder::new(status).unwrap();
    builder.header("content-type", "text/plain").unwrap();
    builder.finish(body)
}

/// A response as a client has read it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Reply {
    pub status: u16,
    pub head: String,
    pub body: Vec<u8>,
}

impl Reply {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().skip(1).find_map(|line| {
            let (found, value) = line.split_once(':')?;
            found.eq_ignore_ascii_case(name).then_some(value.trim())
        })
    }

    /// The X-Request-Id, of which there is one.
    pub(crate) fn id(&self) -> &str {
        let lines = self.head.lines().filter_map(|line| line.strip_prefix("x-request-id: "));
        let ids: Vec<_> = lines.collect();
        assert_eq!(ids.len(), 1, "{}", self.head);
        ids[0]
    }

    pub(crate) fn closes(&self) -> bool {
        self.header("connection") == Some("close")
    }
}

/// A client that writes raw bytes.
pub(crate) struct Client<S> {
    pub stream: S,
    read: Vec<u8>,
}

impl<S: Read + Write> Client<S> {
    pub(crate) fn new(stream: S) -> Self {
        Self { stream, read: Vec::new() }
    }

    pub(crate) fn send(&mut self, bytes: impl AsRef<[u8]>) -> &mut Self {
        self.stream.write_all(bytes.as_ref()).unwrap();
        self
    }

    pub(crate) fn get(&mut self, path: &str) -> Reply {
        self.send(format!("GET {path} HTTP/1.1\r\nHost: a\r\n\r\n")).reply()
    }

    pub(crate) fn reply(&mut self) -> Reply {
        self.try_reply(true).expect("a reply")
    }

    pub(crate) fn reply_to_head(&mut self) -> Reply {
        self.try_reply(false).expect("a reply")
    }

    /// The next reply, or none at the end of the connection.
    pub(crate) fn try_reply(&mut self, has_body: bool) -> Option<Reply> {
        let end = loop {
            if let Some(at) = self.read.windows(4).position(|four| four == b"\r\n\r\n") {
                break at + 4;
            }
            if !self.fill() {
                assert_eq!(self.read, b"", "a head is cut short");
                return None;
            }
        };
        let head = String::from_utf8(self.read.drain(..end).collect()).unwrap();
        let status = head[9..12].parse().unwrap();
        let mut reply = Reply { status, head, body: Vec::new() };
        let length = reply.header("content-length").map_or(0, |length| length.parse().unwrap());
        if has_body {
            while self.read.len() < length {
                assert!(self.fill(), "a body is cut short");
            }
            reply.body = self.read.drain(..length).collect();
        }
        Some(reply)
    }

    fn fill(&mut self) -> bool {
        let mut buffer = [0; 16384];
        match self.stream.read(&mut buffer) {
            Ok(read) => {
                self.read.extend_from_slice(&buffer[..read]);
                read > 0
            }
            Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => false,
            Err(error) => panic!("{error}"),
        }
    }

    /// Whether the connection has ended, without another byte.
    pub(crate) fn is_closed(&mut self) -> bool {
        self.read.is_empty() && !self.fill()
    }
}
