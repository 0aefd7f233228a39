//! The next head on a connection.

use std::future::poll_fn;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Buf;

use ::http1::{Framing, Head, HeaderSlots, Reject, Scanner};
use message::{RequestBuilder, RequestLine, Version};

use super::Connection;
use crate::failures::FailedHandshake;
use crate::http2::PREFACE;
use crate::places::WaitsFor;
use crate::refusal::Refusal;

/// How long a client that has connected and said nothing is waited for when its listener drains: on a busy machine a client
/// may be held up between connecting and sending, and what it sends after the end is lost.
pub(crate) const FIRST_WORD: Duration = Duration::from_secs(2);

/// Bytes that are read at once while a head is waited for. What follows it is kept until the request has been answered.
pub(super) const READ: usize = 16 << 10;

/// What comes next on a connection.
pub(super) enum Next {
    /// A request whose head has come.
    Head(Started),
    /// Something that is answered with an error.
    Refused(Refusal),
    /// The client speaks HTTP/2.
    Http2,
    /// Nothing: the connection is over.
    Closed,
}

/// A request whose head has come.
pub(super) struct Started {
    /// The message, to which the body is to be appended.
    pub message: Vec<u8>,
    pub framing: Framing,
    pub expects_continue: bool,
    pub keep_alive: bool,
    pub is_head: bool,
    pub minor_version: u8,
}

/// Whether a client begins with the hello of TLS: a record of a handshake, of whatever version.
fn is_hello(bytes: &[u8]) -> bool {
    matches!(bytes, [22, 3, ..])
}

impl Connection {
    /// Waits for the next head.
    pub(super) async fn next_head(&mut self) -> Next {
        let (shared, limits) = (&self.place.shared, self.place.shared.limits());
        let patience = if self.fresh { limits.head_timeout } else { limits.idle_timeout };
        self.place.set_deadline(shared.clock.after(patience));
        self.place.wait(if self.fresh { WaitsFor::FirstWord } else { WaitsFor::NextRequest });
        if !self.input.is_empty() {
            if let Some(next) = self.parse_input() {
                return next;
            }
            self.start_head_timer();
        }
        poll_fn(|context| self.poll_head(context)).await
    }

    fn poll_head(&mut self, context: &mut Context<'_>) -> Poll<Next> {
        if let Some(next) = self.interrupted() {
            return Poll::Ready(next);
        }
        let shared = self.place.shared.clone();
        shared.with_read_buffer(|buffer| {
            loop {
                ready!(self.poll_turn(context));
                match self.poll_socket(context, &mut buffer[..READ]) {
                    // What was sent before the drain has been read.
                    Poll::Pending if self.place.link.is_draining() && self.is_blank() => {
                        if !self.fresh {
                            return Poll::Ready(Next::Closed);
                        }
                        self.hurry();
                        return Poll::Pending;
                    }
                    Poll::Pending => return Poll::Pending,
                    // An end within a head leaves nobody to answer.
                    Poll::Ready(None) => return Poll::Ready(Next::Closed),
                    Poll::Ready(Some(read)) => {
                        if let Some(next) = self.take_in(&buffer[..read]) {
                            return Poll::Ready(next);
                        }
                    }
                }
            }
        })
    }

    /// Why not to wait for the client any longer.
    fn interrupted(&mut self) -> Option<Next> {
        if self.place.link.is_aborted() {
            return Some(Next::Closed);
        }
        if !self.place.link.take_expired() {
            return None;
        }
        if self.is_blank() {
            return Some(Next::Closed);
        }
        let late = Reject::new(408, "the head of the request took too long");
        Some(Next::Refused(Refusal::of_head(late, &self.input)))
    }

    /// A client that has only just connected is about to send: it is waited for, but not for long.
    fn hurry(&mut self) {
        if !std::mem::replace(&mut self.hurried, true) {
            self.place.set_deadline(self.place.shared.clock.after(FIRST_WORD));
        }
    }

    fn is_blank(&self) -> bool {
        self.input.is_empty() || self.scanner.is_blank() && !self.fresh
    }

    /// Looks at bytes that have just been read, in place if nothing was left over before them.
    fn take_in(&mut self, bytes: &[u8]) -> Option<Next> {
        if !self.input.is_empty() {
            self.input.extend_from_slice(bytes);
            return self.parse_input();
        }
        let (used, next) = self.parse(bytes);
        self.input.extend_from_slice(&bytes[used..]);
        if next.is_none() {
            self.start_head_timer();
        }
        next
    }

    /// The first byte of a head has come: from here on the client has as long as a head may take.
    fn start_head_timer(&self) {
        self.place.wait(WaitsFor::RestOfRequest);
        let timeout = self.place.shared.limits().head_timeout;
        self.place.set_deadline(self.place.shared.clock.after(timeout));
    }

    fn parse_input(&mut self) -> Option<Next> {
        let mut input = std::mem::take(&mut self.input);
        let (used, next) = self.parse(&input);
        input.advance(used);
        if !input.is_empty() {
            self.input = input;
        }
        next
    }

    /// What the bytes say, and how many of them it took.
    fn parse(&mut self, bytes: &[u8]) -> (usize, Option<Next>) {
        if self.fresh {
            if is_hello(bytes) {
                return (0, Some(Next::Refused(self.refuse_hello())));
            }
            if bytes.starts_with(PREFACE) {
                return (0, Some(Next::Http2));
            }
            if PREFACE.starts_with(bytes) {
                return (0, None);
            }
        }
        let limits = self.place.shared.limits().sizes();
        match self.scanner.scan(bytes, &limits) {
            Err(reject) => (0, Some(Next::Refused(Refusal::of_head(reject, bytes)))),
            Ok(None) => (0, None),
            Ok(Some(end)) => {
                self.scanner = Scanner::default();
                self.fresh = false;
                let started = self.start(&bytes[..end], &limits);
                let refused = |reject| Next::Refused(Refusal::of_head(reject, &bytes[..end]));
                (end, Some(started.map_or_else(refused, Next::Head)))
            }
        }
    }

    /// Who speaks TLS here has the wrong port, and hears it in the only language of this one.
    fn refuse_hello(&self) -> Refusal {
        self.place.shared.failures.note(FailedHandshake {
            remote: self.peer.remote,
            port: self.peer.local_port,
            named: None,
            certificate: None,
            reason: "a client began TLS on a port that speaks clear text".into(),
        });
        Refusal::new(Reject::new(400, "this port speaks clear text: begin the address with http://"))
    }

    /// Reads a whole head into a message.
    fn start(&self, bytes: &[u8], limits: &::http1::Limits) -> Result<Started, Reject> {
        let mut slots = HeaderSlots::new();
        let head = Head::parse(bytes, &mut slots, limits)?;
        self.peer.check_host(&self.place.shared, head.authority)?;
        let line = RequestLine {
            method: head.method,
            raw_path: head.target.raw_path,
            path: &head.target.path,
            query_string: head.target.query,
            authority: head.authority,
            client: self.peer.client(),
            scheme: self.peer.scheme(),
            version: if head.minor_version == 0 { Version::Http10 } else { Version::Http11 },
            remote: self.peer.remote,
            local_port: self.peer.local_port,
        };
        let length = head.headers.iter().map(|header| header.name.len() + header.value.len()).sum();
        let mut builder = RequestBuilder::new(&line, head.headers.len(), length);
        for header in head.headers {
            // An absolute target names the host, whatever Host says (RFC 9112, 3.2.2).
            let value = match head.target.authority {
                Some(authority) if header.name.eq_ignore_ascii_case("host") => authority.as_bytes(),
                _ => header.value,
            };
            builder.header(header.name.as_bytes(), value);
        }
        Ok(Started {
            message: builder.finish_head(),
            framing: head.framing,
            expects_continue: head.expects_continue,
            keep_alive: head.keep_alive,
            is_head: head.method == "HEAD",
            minor_version: head.minor_version,
        })
    }
}
