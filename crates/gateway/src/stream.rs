//! A TCP or UNIX socket.

use std::io::{self, IoSlice};
use std::net::Shutdown;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use socket2::{SockRef, TcpKeepalive};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpStream, UnixStream};

pub(crate) enum Stream {
    Tcp(TcpStream),
    Unix(UnixStream),
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
        let read = match self {
            Self::Tcp(stream) => Pin::new(stream).poll_read(context, &mut buffer),
            Self::Unix(stream) => Pin::new(stream).poll_read(context, &mut buffer),
        };
        read.map_ok(|()| buffer.filled().len())
    }

    /// Writes once, right away if the socket takes it.
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
            };
        }
        let parts = [IoSlice::new(head), IoSlice::new(body)];
        match self {
            Self::Tcp(stream) => Pin::new(stream).poll_write_vectored(context, &parts),
            Self::Unix(stream) => Pin::new(stream).poll_write_vectored(context, &parts),
        }
    }

    /// Has the kernel find out in this time that a client has vanished.
    ///
    /// Linux does not probe a connection while something that was sent is not confirmed, and tries that for a quarter of
    /// an hour by default; so both have to be limited. The time is of whole seconds.
    pub(crate) fn keep_alive(&self, patience: Duration) {
        const PROBES: u32 = 6;
        if let Self::Tcp(stream) = self {
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
        };
        !matches!(error, Ok(None))
    }

    /// Tells the client that nothing more comes. An error means that it has gone.
    pub(crate) fn shut_down_writing(&self) -> io::Result<()> {
        match self {
            Self::Tcp(stream) => SockRef::from(stream).shutdown(Shutdown::Write),
            Self::Unix(stream) => SockRef::from(stream).shutdown(Shutdown::Write),
        }
    }
}
