//! The bytes of a connection, those included that were read to find out the protocol.

use std::cell::Cell;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};

use bytes::{Buf, Bytes};
use h2::Reason;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::credit::Credit;
use super::frames::{Frames, Part};
use super::settings::Settings;
use crate::clock::Millis;
use crate::connection::Link;
use crate::counters::add;
use crate::shared::Shared;
use crate::stream::Stream;

/// What the connection's own task is to know of what has been read.
pub(super) struct Heard {
    last: Cell<Millis>,
    error: Cell<Option<Reason>>,
}

impl Heard {
    pub(super) fn new(now: Millis) -> Self {
        Self { last: Cell::new(now), error: Cell::new(None) }
    }

    /// When something has come last.
    pub(super) fn last(&self) -> Millis {
        self.last.get()
    }

    /// Why the connection has to end, if the client has broken the protocol where h2 would give another reason.
    pub(super) fn error(&self) -> Option<Reason> {
        self.error.get()
    }
}

pub(super) struct Socket {
    stream: Stream,
    /// Read before, given out first.
    first: Bytes,
    shared: Rc<Shared>,
    link: Rc<Link>,
    frames: Frames,
    settings: Settings,
    credit: Credit,
    heard: Rc<Heard>,
}

impl Socket {
    pub(super) fn new(
        stream: Stream,
        first: Bytes,
        shared: Rc<Shared>,
        link: Rc<Link>,
        heard: Rc<Heard>,
    ) -> Self {
        let credit = Credit::new(shared.clock.now());
        let (frames, settings) = (Frames::default(), Settings::default());
        Self { stream, first, shared, link, frames, settings, credit, heard }
    }

    /// Takes note of what has been read. False if it must not be read by anybody.
    fn hear(&mut self, bytes: &[u8], room: usize) -> bool {
        let now = self.shared.clock.now();
        self.shared.have_read(&self.link.last_read, bytes.len(), room);
        self.heard.last.set(now);
        let error = self.judge(bytes, now).err();
        self.heard.error.set(error);
        error.is_none()
    }

    /// Why the client has to be cut off for what it has sent, if it has.
    fn judge(&mut self, mut bytes: &[u8], now: Millis) -> Result<(), Reason> {
        self.credit.renew(now);
        while let Some(part) = self.frames.next(&mut bytes) {
            match part {
                Part::Head(head) => {
                    self.credit.weigh(head);
                    self.settings.begin(head);
                }
                Part::Payload(payload) => {
                    self.settings.look_at(payload).map_err(|_| Reason::FLOW_CONTROL_ERROR)?;
                }
            }
        }
        if self.credit.is_used_up() { Err(Reason::ENHANCE_YOUR_CALM) } else { Ok(()) }
    }

    fn poll_write_parts(
        &mut self,
        context: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let length: usize = parts.iter().map(|part| part.len()).sum();
        if !self.shared.may_write(length) {
            self.shared.postpone(context.waker());
            return Poll::Pending;
        }
        let written = ready!(self.stream.poll_write_parts(context, parts))?;
        self.shared.have_written(written);
        self.credit.earn(written);
        Poll::Ready(Ok(written))
    }
}

impl AsyncRead for Socket {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.heard.error().is_some() {
            // The connection's task ends it.
            return Poll::Pending;
        }
        ready!(self.shared.poll_may_read(&self.link.last_read, context));
        let (before, room) = (buffer.filled().len(), buffer.remaining());
        if self.first.has_remaining() {
            let taken = self.first.len().min(buffer.remaining());
            buffer.put_slice(&self.first.split_to(taken));
        } else {
            ready!(self.stream.poll_read_buf(context, buffer))?;
            add(&self.shared.tally.bytes_in, buffer.filled().len() - before);
        }
        if self.hear(&buffer.filled()[before..], room) {
            return Poll::Ready(Ok(()));
        }
        buffer.set_filled(before);
        Poll::Pending
    }
}

impl AsyncWrite for Socket {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.poll_write_parts(context, &[IoSlice::new(bytes)])
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.poll_write_parts(context, parts)
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(self.stream.shut_down_writing())
    }
}
