//! Writing replies.

use std::future::poll_fn;
use std::io;
use std::task::{Context, Poll};

use ::http1::{Persistence, Reject, ResponseHead, response::is_bodiless};
use bytes::Bytes;
use message::Response;
use message::id::Kept;

use super::Connection;
use crate::clock::{Millis, NEVER};
use crate::parts::Rest;
use crate::places::WaitsFor;
use crate::refusal::Refusal;
use crate::replies::{Held, Reply};
use crate::shared::WRITTEN_AT_ONCE;

/// The name in the header Server.
pub(crate) const SERVER: &str = "howdah";
/// Bodies up to this length are copied behind their head: cheaper than a second part to write.
const COPIED: usize = 16 << 10;

/// What of the request decides about its response.
#[derive(Clone, Copy)]
pub(super) struct Shape<'a> {
    pub is_head: bool,
    pub minor_version: u8,
    /// It says who asks.
    pub is_personal: bool,
    /// None if the response is known to have it.
    pub id: Option<&'a Kept>,
}

/// Bytes to be written: `head`, then `body`.
struct Outgoing<'a> {
    head: &'a [u8],
    body: &'a [u8],
    written: usize,
    /// When writing has begun.
    begun: Millis,
    /// The client has been given a time to take more.
    is_timed: bool,
}

impl Outgoing<'_> {
    fn len(&self) -> usize {
        self.head.len() + self.body.len()
    }

    fn is_done(&self) -> bool {
        self.written == self.len()
    }

    fn rest(&self) -> [&[u8]; 2] {
        match self.head.get(self.written..) {
            Some(head) => [head, self.body],
            None => [&self.body[self.written - self.head.len()..], &[]],
        }
    }
}

impl Connection {
    /// Writes a reply, which holds its memory until it is written. Gives whether the connection goes on.
    pub(super) async fn write_reply(
        &mut self,
        reply: Reply,
        shape: Shape<'_>,
        keep: bool,
    ) -> io::Result<bool> {
        let mut buffer = self.place.shared.take_write_buffer();
        let (body_start, keep) = self.compose(&reply, shape, keep, &mut buffer);
        let body = body_start.map_or(&[][..], |start| &reply.long_body()[start..]);
        let (head_length, length) = (buffer.len(), buffer.len() + body.len());
        let written = self.write_at_once(&buffer, body).await;
        let head_left = match written {
            Ok(written) if written < length => Some(buffer[written.min(head_length)..].to_vec()),
            _ => None,
        };
        // The buffer is for whoever writes next, however long this client takes.
        self.place.shared.give_write_buffer(buffer);
        let written = written?;
        if let Some(head) = head_left {
            let body_left = body_start.map(|start| start + written.saturating_sub(head_length));
            self.write_what_stays(reply, &head, body_left).await?;
        }
        Ok(keep)
    }

    /// Writes the rest of a body, part by part. An error where there is none, or more than was said: the client has been told a length.
    pub(super) async fn write_rest(&mut self, mut rest: Rest) -> io::Result<()> {
        while !rest.is_empty() {
            let Some(part) = self.part_of(rest.clone()).await else {
                return Err(io::ErrorKind::ConnectionAborted.into());
            };
            let bytes = part.long_body();
            if bytes.is_empty() || bytes.len() as u64 > rest.len() {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            rest.from += bytes.len() as u64;
            self.write_all(bytes).await?;
        }
        Ok(())
    }

    /// Writes what the client has not taken at once: the rest of a head, and of a body that stands in the reply from here
    /// on. A small reply is counted now; where there is no room for it the connection ends.
    async fn write_what_stays(
        &mut self,
        mut reply: Reply,
        head: &[u8],
        body: Option<usize>,
    ) -> io::Result<()> {
        if body.is_none() {
            (reply.bytes, reply.shared) = (Vec::new(), None);
        }
        let size = reply.bytes.capacity() + reply.shared.as_ref().map_or(0, Bytes::len);
        let staying = || Held::staying(&self.place.shared, size + head.len());
        let Some(_held) = reply.held.take().or_else(staying) else {
            return Err(io::ErrorKind::OutOfMemory.into());
        };
        self.write(head, body.map_or(&[], |start| &reply.long_body()[start..])).await
    }

    /// Writes the head and a small body into the buffer. Gives where in the reply a large body begins, and
    /// whether the connection goes on.
    fn compose(
        &self,
        reply: &Reply,
        shape: Shape<'_>,
        keep: bool,
        buffer: &mut Vec<u8>,
    ) -> (Option<usize>, bool) {
        let Ok(response) = Response::parse(&reply.bytes) else {
            let broken = Refusal::of_id(Reject::new(500, "the response was malformed"), shape.id).response();
            return (None, self.compose(&broken.into(), shape, false, buffer).1);
        };
        let body = reply.body(response.body());
        let keep =
            keep && !response.closes() && !self.place.link.is_draining() && !self.place.shared.closing.get();
        let persistence = match (keep, shape.minor_version) {
            (true, 0) => Persistence::KeepOld,
            (true, _) => Persistence::Keep,
            (false, _) => Persistence::Close,
        };
        self.place.shared.clock.with_date(|date| {
            let head = ResponseHead {
                status: response.status(),
                header_block: response.header_block(),
                content_length: usize::try_from(reply.length(body.len())).unwrap_or(usize::MAX),
                persistence,
                date: (!response.has_date()).then_some(date),
                server: (!response.has_server()).then_some(SERVER),
                strict_transport: self.peer.hsts(),
                content_type_options: response.content_type_options(),
                cache_control: response.cache_control(shape.is_personal),
                request_id: shape.id.filter(|_| !response.has_request_id()).map(Kept::as_bytes),
            };
            head.write(buffer);
        });
        if shape.is_head || is_bodiless(response.status()) {
            return (None, keep);
        }
        if body.len() > COPIED {
            return (Some(if reply.shared.is_some() { 0 } else { response.body_start() }), keep);
        }
        buffer.extend_from_slice(body);
        (None, keep)
    }

    /// Writes all of these bytes.
    pub(super) async fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.write(bytes, &[]).await
    }

    /// Writes what the socket takes at once, and gives how much that was.
    async fn write_at_once(&mut self, head: &[u8], body: &[u8]) -> io::Result<usize> {
        let begun = self.place.shared.clock.now();
        let mut outgoing = Outgoing { head, body, written: 0, begun, is_timed: false };
        poll_fn(|context| match self.poll_write(context, &mut outgoing) {
            Poll::Ready(Err(error)) => Poll::Ready(Err(error)),
            Poll::Ready(Ok(())) | Poll::Pending => Poll::Ready(Ok(outgoing.written)),
        })
        .await
    }

    async fn write(&mut self, head: &[u8], body: &[u8]) -> io::Result<()> {
        let begun = self.place.shared.clock.now();
        let mut outgoing = Outgoing { head, body, written: 0, begun, is_timed: false };
        poll_fn(|context| self.poll_write(context, &mut outgoing)).await
    }

    /// When the client is late: it takes nothing for a time, or takes more slowly than it may.
    fn write_deadline(&self, outgoing: &Outgoing<'_>) -> Millis {
        let shared = &self.place.shared;
        let (clock, limits) = (&shared.clock, shared.limits());
        let time = limits.response_time(outgoing.written, outgoing.len(), shared.replies.held()).as_millis();
        let at_least_rate = outgoing.begun.saturating_add(Millis::try_from(time).unwrap_or(NEVER));
        clock.after(limits.write_timeout).min(at_least_rate)
    }

    fn poll_write(&mut self, context: &mut Context<'_>, outgoing: &mut Outgoing<'_>) -> Poll<io::Result<()>> {
        loop {
            if self.place.link.is_aborted() {
                return Poll::Ready(Err(io::ErrorKind::ConnectionAborted.into()));
            }
            let shared = &self.place.shared;
            let [head, body] = outgoing.rest();
            if !shared.may_write(body.len()) {
                shared.postpone(context.waker());
                return Poll::Pending;
            }
            match self.stream.poll_write(context, [head, &body[..body.len().min(WRITTEN_AT_ONCE)]]) {
                Poll::Ready(Ok(written)) => {
                    shared.have_written(written);
                    outgoing.written += written;
                    if outgoing.is_done() {
                        return Poll::Ready(Ok(()));
                    }
                    // The socket took what it could; the client's time begins anew.
                    outgoing.is_timed = false;
                }
                Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
                Poll::Pending if !outgoing.is_timed => {
                    outgoing.is_timed = true;
                    self.place.wait(WaitsFor::Reader);
                    self.place.set_deadline(self.write_deadline(outgoing));
                    return Poll::Pending;
                }
                Poll::Pending if self.place.link.take_expired() => {
                    return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
                }
                Poll::Pending => return Poll::Pending,
            }
        }
    }
}
