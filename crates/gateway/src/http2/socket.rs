//! The bytes of a connection, those included that were read to find out the protocol.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};

use bytes::{Buf, Bytes};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::counters::add;
use crate::shared::Shared;
use crate::stream::Stream;

pub(super) struct Socket {
    stream: Stream,
    /// Read before, given out first.
    first: Bytes,
    shared: Rc<Shared>,
}

impl Socket {
    pub(super) fn new(stream: Stream, first: Bytes, shared: Rc<Shared>) -> Self {
        Self { stream, first, shared }
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
        let written = match &mut self.stream {
            Stream::Tcp(stream) => Pin::new(stream).poll_write_vectored(context, parts),
            Stream::Unix(stream) => Pin::new(stream).poll_write_vectored(context, parts),
        };
        let written = ready!(written)?;
        self.shared.have_written(written);
        Poll::Ready(Ok(written))
    }
}

impl AsyncRead for Socket {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.first.has_remaining() {
            let taken = self.first.len().min(buffer.remaining());
            buffer.put_slice(&self.first.split_to(taken));
            return Poll::Ready(Ok(()));
        }
        let before = buffer.filled().len();
        let read = match &mut self.stream {
            Stream::Tcp(stream) => Pin::new(stream).poll_read(context, buffer),
            Stream::Unix(stream) => Pin::new(stream).poll_read(context, buffer),
        };
        add(&self.shared.tally.bytes_in, buffer.filled().len() - before);
        read
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

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(self.stream.shut_down_writing())
    }
}
