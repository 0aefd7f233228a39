//! A TCP or UNIX socket, or a TCP socket that speaks TLS.

use std::io::{self, IoSlice};
use std::net::Shutdown;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use socket2::{SockRef, TcpKeepalive};
use tokio::io::{AsyncRead, AsyncWrite, Interest, ReadBuf};
use tokio::net::{TcpStream, UnixStream};

use crate::secured::Secured;

pub(crate) enum Stream {
    Tcp(TcpStream),
    Unix(UnixStream),
    /// In a box, so that the many connections in clear text need not have room for it.
    Tls(Box<Secured>),
}

impl Stream {
    /// Reads once. A read that does not fill the buffer is known to have emptied the socket, so the next one
    /// waits without asking the kernel.
    pub(crate) fn poll_read(
        &mut self,
        context: &mut Context<'_>,
        buffer: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        let mut buffer = ReadBuf::new(buffer);
        self.poll_read_buf(context, &mut buffer).map_ok(|()| buffer.filled().len())
    }

    /// As [`Stream::poll_read`].
    #[inline]
    pub(crate) fn poll_read_buf(
        &mut self,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match self {
            Self::Tcp(stream) => Pin::new(stream).poll_read(context, buffer),
            Self::Unix(stream) => Pin::new(stream).poll_read(context, buffer),
            Self::Tls(stream) => stream.poll_read_buf(context, buffer),
        }
    }

    /// Has the end of the connection be a reset, which no client takes for a regular one. A UNIX socket has none.
    pub(crate) fn reset_when_closed(&self) {
        let at_once = Some(Duration::ZERO);
        // A socket that is gone needs no end.
        let _ = match self {
            Self::Tcp(stream) => SockRef::from(stream).set_linger(at_once),
            Self::Unix(_) => Ok(()),
            Self::Tls(stream) => stream.socket().set_linger(at_once),
        };
    }

    /// Reads what nobody looks at any more.
    pub(crate) fn poll_drain(
        &mut self,
        context: &mut Context<'_>,
        buffer: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        match self {
            Self::Tls(stream) => stream.poll_drain(context, buffer),
            _ => self.poll_read(context, buffer),
        }
    }

    /// Writes once, right away if the socket takes it.
    #[inline(always)]
    pub(crate) fn poll_write(
        &mut self,
        context: &mut Context<'_>,
        parts: [&[u8]; 2],
    ) -> Poll<io::Result<usize>> {
        let [head, body] = parts;
        if body.is_empty() {
            return match self {
                Self::Tcp(stream) => Pin::new(stream).poll_write(context, head),
                Self::Unix(stream) => Pin::new(stream).poll_write(context, head),
                Self::Tls(stream) => stream.poll_write(context, [head]),
            };
        }
        self.poll_write_parts(context, &[IoSlice::new(head), IoSlice::new(body)])
    }

    /// As [`Stream::poll_write`]. What is not written has to be the same in the next call.
    pub(crate) fn poll_write_parts(
        &mut self,
        context: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match self {
            Self::Tcp(stream) => Pin::new(stream).poll_write_vectored(context, parts),
            Self::Unix(stream) => Pin::new(stream).poll_write_vectored(context, parts),
            Self::Tls(stream) => stream.poll_write(context, parts.iter().map(|part| &**part)),
        }
    }

    /// Ready when there may be something to read. Only before anything is.
    pub(crate) fn poll_read_ready(&self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self {
            Self::Tcp(stream) => stream.poll_read_ready(context),
            Self::Unix(stream) => stream.poll_read_ready(context),
            Self::Tls(stream) => stream.socket.poll_read_ready(context),
        }
    }

    /// Has the socket itself read. Where that would block, [`Stream::poll_read_ready`] waits for more than there was.
    pub(crate) fn try_reading<T>(&self, read: impl FnOnce(SockRef<'_>) -> io::Result<T>) -> io::Result<T> {
        match self {
            Self::Tcp(stream) => stream.try_io(Interest::READABLE, || read(SockRef::from(stream))),
            Self::Unix(stream) => stream.try_io(Interest::READABLE, || read(SockRef::from(stream))),
            Self::Tls(stream) => {
                stream.socket.try_io(Interest::READABLE, || read(SockRef::from(&stream.socket)))
            }
        }
    }

    fn tcp(&self) -> Option<&TcpStream> {
        match self {
            Self::Tcp(stream) => Some(stream),
            Self::Unix(_) => None,
            Self::Tls(stream) => Some(&stream.socket),
        }
    }

    /// Whether the client has chosen HTTP/2 while it shook hands.
    pub(crate) fn speaks_http2(&self) -> bool {
        matches!(self, Self::Tls(stream) if stream.speaks_http2())
    }

    /// Has the kernel find out in this time that a client has vanished.
    ///
    /// Linux does not probe a connection while something that was sent is not confirmed, and tries that for a quarter of
    /// an hour by default; so both have to be limited. The time is of whole seconds.
    pub(crate) fn keep_alive(&self, patience: Duration) {
        const PROBES: u32 = 6;
        if let Some(stream) = self.tcp() {
            let keep_alive = TcpKeepalive::new()
                .with_time(patience / 2)
                .with_interval((patience / 2 / PROBES).max(Duration::from_secs(1)))
                .with_retries(PROBES);
            let socket = SockRef::from(stream);
            // A client that has gone already is seen when it is read from.
            let _ = socket.set_tcp_keepalive(&keep_alive);
            let _ = socket.set_tcp_user_timeout(Some(patience));
        }
    }

    /// Whether the connection was reset, or the client has not been heard of for too long. Said once.
    pub(crate) fn is_lost(&self) -> bool {
        let error = match self {
            Self::Tcp(stream) => stream.take_error(),
            Self::Unix(stream) => stream.take_error(),
            Self::Tls(stream) => stream.socket.take_error(),
        };
        !matches!(error, Ok(None))
    }

    /// Tells the client that nothing more comes. An error means that it has gone.
    pub(crate) fn shut_down_writing(&mut self) -> io::Result<()> {
        match self {
            Self::Tcp(stream) => SockRef::from(&*stream).shutdown(Shutdown::Write),
            Self::Unix(stream) => SockRef::from(&*stream).shutdown(Shutdown::Write),
            Self::Tls(stream) => stream.shut_down_writing(),
        }
    }
}
