//! TLS between a socket and its protocol.
//!
//! What the socket brings is decrypted in a buffer that all connections of the thread share; what is to be sent is encrypted and
//! kept until the socket has taken it, and only then its writer is told that it is written: so the times and the memory of a reply
//! are those of clear text.

use std::cell::Cell;
use std::future::poll_fn;
use std::io::{self, ErrorKind};
use std::net::Shutdown;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};

use socket2::SockRef;
use tls::session::LONGEST_HANDSHAKE;
use tls::{Ending, Established, Session, complaint};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

use crate::bodies::Charge;
use crate::connection::{Peer, Registered};
use crate::failures::FailedHandshake;
use crate::handshake_time::Place;
use crate::origin::Origin;
use crate::parting::read_on;
use crate::places::WaitsFor;
use crate::shared::Shared;
use crate::stream::Stream;

/// Bytes that one read of a socket takes at most.
const RECEIVED: usize = 64 << 10;
/// Reads in a row that bring nothing for the reader, as records without content do, before others go on.
const UNEVENTFUL: usize = 4;

thread_local! {
    /// What a socket has brought, while it is decrypted.
    static BUFFER: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

/// A socket that speaks TLS.
pub(crate) struct Secured {
    pub socket: TcpStream,
    session: Session,
    /// What it holds of records that have not come whole, or that the client does not take: it counts as a body that does not come.
    charge: Charge,
    counted: usize,
}

impl Secured {
    /// The socket beneath.
    pub(crate) fn socket(&self) -> SockRef<'_> {
        SockRef::from(&self.socket)
    }

    pub(crate) fn new(shared: &Rc<Shared>, socket: TcpStream, session: Session) -> Self {
        Self { socket, session, charge: Charge::new(shared), counted: 0 }
    }

    /// Takes account of what it holds. An error if others need the room.
    fn account(&mut self, context: &Context<'_>) -> io::Result<()> {
        let held = self.session.held();
        if held < self.counted {
            self.charge.begin_anew();
            self.counted = 0;
        }
        if held == 0 {
            return Ok(());
        }
        if held > self.counted {
            self.charge.grow_to(held, false).map_err(|_| ErrorKind::OutOfMemory)?;
            self.counted = held;
        }
        Ok(self.charge.poll(context).map_err(|_| ErrorKind::OutOfMemory)?)
    }

    /// Whether ALPN has chosen HTTP/2.
    pub(crate) fn speaks_http2(&self) -> bool {
        self.session.alpn() == Some(b"h2")
    }

    /// Goes on with the handshake; ready when it has ended.
    pub(crate) fn poll_handshake(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        while self.session.is_handshaking() {
            ready!(self.poll_progress(context, &mut []))?;
        }
        // What is left to be sent goes with what is read or written next, or now.
        let _ = self.poll_flush(context)?;
        Poll::Ready(Ok(()))
    }

    /// Reads decrypted bytes; none at the client's end. A socket that ends without the client having said so is an error, as somebody
    /// may have cut off what was sent.
    fn poll_read(&mut self, context: &mut Context<'_>, buffer: &mut [u8]) -> Poll<io::Result<usize>> {
        for _ in 0..UNEVENTFUL {
            let read = self.session.read(buffer);
            if read > 0 || self.session.ending() == Ending::Whole {
                return Poll::Ready(Ok(read));
            }
            let read = ready!(self.poll_progress(context, buffer))?;
            if read > 0 {
                return Poll::Ready(Ok(read));
            }
        }
        // Others go first.
        context.waker().wake_by_ref();
        Poll::Pending
    }

    /// As [`Secured::poll_read`]. Never inlined: connections in clear text would carry it with them.
    #[inline(never)]
    pub(crate) fn poll_read_buf(
        &mut self,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let read = ready!(self.poll_read(context, buffer.initialize_unfilled()))?;
        buffer.advance(read);
        Poll::Ready(Ok(()))
    }

    /// Has the session take in what the socket brings, and sends what comes of it. How many bytes came out.
    fn poll_progress(&mut self, context: &mut Context<'_>, buffer: &mut [u8]) -> Poll<io::Result<usize>> {
        // A client that does not read may still send.
        let flushed = self.poll_flush(context)?;
        if self.session.failure().is_some() {
            // Its alert goes first.
            return flushed.map(|()| Err(ErrorKind::InvalidData.into()));
        }
        if self.session.ending() == Ending::Cut {
            return Poll::Ready(Err(ErrorKind::UnexpectedEof.into()));
        }
        let mut received = BUFFER.take();
        received.resize(RECEIVED, 0);
        // No more than what the reader has room for, beside what a record adds, so that little has to wait.
        let most = if buffer.is_empty() { LONGEST_HANDSHAKE } else { (buffer.len() + 512).min(RECEIVED) };
        let read = self.poll_receive(context, &mut received[..most]);
        let done = read.map_ok(|count| match count {
            0 => {
                self.session.receive_end();
                0
            }
            _ => self.session.receive(&mut received[..count], buffer),
        });
        BUFFER.set(received);
        self.account(context)?;
        if done.is_ready() {
            // What the socket does not take now waits, and the next call goes on with it.
            let _ = self.poll_flush(context)?;
        }
        done
    }

    fn poll_receive(&mut self, context: &mut Context<'_>, buffer: &mut [u8]) -> Poll<io::Result<usize>> {
        let mut buffer = ReadBuf::new(buffer);
        ready!(Pin::new(&mut self.socket).poll_read(context, &mut buffer))?;
        Poll::Ready(Ok(buffer.filled().len()))
    }

    /// Sends what is encrypted.
    fn poll_flush(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        while !self.session.outgoing().is_empty() {
            match ready!(Pin::new(&mut self.socket).poll_write(context, self.session.outgoing()))? {
                0 => return Poll::Ready(Err(ErrorKind::WriteZero.into())),
                sent => self.session.has_sent(sent),
            }
        }
        Poll::Ready(Ok(()))
    }

    /// Writes the beginning of some bytes, which are the same until it is ready: how many have been sent. Never inlined, as
    /// [`Secured::poll_read_buf`].
    #[inline(never)]
    pub(crate) fn poll_write<'a>(
        &mut self,
        context: &mut Context<'_>,
        parts: impl IntoIterator<Item = &'a [u8]>,
    ) -> Poll<io::Result<usize>> {
        if !self.session.has_sealed() {
            ready!(self.poll_flush(context))?;
            self.session.seal(parts).map_err(|_| ErrorKind::BrokenPipe)?;
        }
        let flushed = self.poll_flush(context);
        self.account(context)?;
        ready!(flushed)?;
        Poll::Ready(Ok(self.session.take_sealed()))
    }

    /// Reads what nobody looks at any more, as it comes.
    pub(crate) fn poll_drain(
        &mut self,
        context: &mut Context<'_>,
        buffer: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        // A client that does not take its alert may still send.
        let _ = self.poll_flush(context)?;
        self.poll_receive(context, buffer)
    }

    /// Tells the client that nothing more comes.
    pub(crate) fn shut_down_writing(&mut self) -> io::Result<()> {
        self.say_goodbye();
        SockRef::from(&self.socket).shutdown(Shutdown::Write)
    }

    /// Sends close_notify, if the socket takes it at once.
    fn say_goodbye(&mut self) {
        self.session.say_goodbye();
        while !self.session.outgoing().is_empty() {
            match self.socket.try_write(self.session.outgoing()) {
                Ok(sent @ 1..) => self.session.has_sent(sent),
                // A client that takes nothing, or has gone, is not told.
                _ => return,
            }
        }
    }
}

impl Drop for Secured {
    fn drop(&mut self) {
        self.say_goodbye();
    }
}

impl Stream {
    /// Shakes hands, if it speaks TLS, and tells of the peer what was agreed on. False if the connection is over.
    pub(crate) async fn shake_hands(&mut self, place: &Registered, peer: &mut Peer) -> bool {
        let Self::Tls(secured) = self else { return true };
        let shared = &place.shared;
        place.wait(WaitsFor::FirstWord);
        place.set_deadline(shared.clock.after(shared.limits().tls_handshake_timeout));
        let (origin, mut among_those_that_wait) = (Origin::of(peer).flow(), Place::default());
        let shaken = poll_fn(|context| {
            if place.link.is_aborted() || place.link.take_expired() {
                return Poll::Ready(Err(ErrorKind::TimedOut.into()));
            }
            let step = |context: &mut Context<'_>| secured.poll_handshake(context);
            shared.handshake_time.poll_step(origin, &mut among_those_that_wait, context, step)
        })
        .await;
        shared.reads.count_handshake();
        match secured.outcome(shaken) {
            Ok(established) => {
                peer.tls = Some(Rc::new(established));
                true
            }
            Err(reason) => {
                if let Some(reason) = reason {
                    shared.failures.note(FailedHandshake {
                        remote: peer.remote,
                        port: peer.local_port,
                        named: secured.session.server_name().map(str::to_owned),
                        certificate: secured.session.shown().map(str::to_owned),
                        reason,
                    });
                }
                if secured.session.failure().is_some() {
                    secured.linger(place).await;
                }
                false
            }
        }
    }
}

impl Secured {
    /// What a handshake has agreed on, or why it has failed. Who says nothing, as those that look whether a port is open, or leaves, is
    /// no failure to tell of.
    fn outcome(&self, shaken: io::Result<()>) -> Result<Established, Option<String>> {
        match (shaken, self.session.failure()) {
            (Ok(()), _) => self
                .session
                .established()
                .map_err(|reason| Some(format!("the client's certificate {reason}"))),
            (Err(_), Some(failure)) => Err(Some(complaint::explained(failure))),
            (Err(error), None) if error.kind() == ErrorKind::TimedOut && self.session.has_begun() => {
                Err(Some("it has not ended in time".to_owned()))
            }
            (Err(_), None) => Err(None),
        }
    }
}

impl Secured {
    /// Reads on for a little while after an alert: a socket that is closed while bytes wait in it sends a reset, which can overtake the
    /// alert in the client.
    async fn linger(&mut self, place: &Registered) {
        if SockRef::from(&self.socket).shutdown(Shutdown::Write).is_err() {
            return;
        }
        read_on(place, place.shared.limits().parting, |context, buffer| self.poll_drain(context, buffer))
            .await;
    }
}
