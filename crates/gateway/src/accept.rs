//! Takes connections in.

use std::future::poll_fn;
use std::io;
use std::rc::Rc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use ::http1::Reject;
use socket2::Socket;
use tokio::net::{TcpListener, UnixListener};

use crate::connection::{Peer, Registered};
use crate::counters::add;
use crate::http1;
use crate::lines::{self, Lines};
use crate::listener::{Address, ListenerState};
use crate::problem::Refusal;
use crate::shared::Shared;
use crate::stream::Stream;
use crate::this_thread::spawn;

/// How long to wait when no connection can be accepted, for want of descriptors above all. The connection stays
/// in the kernel's queue, so trying again at once would not end.
const PAUSE: Duration = Duration::from_millis(100);
/// Clients that are told at the same time that there are too many; more are closed without a word.
const MAX_REFUSING: usize = 64;

pub(crate) enum Acceptor {
    Tcp(TcpListener, u16),
    Unix(UnixListener),
}

impl Acceptor {
    /// To be called within the runtime, with a socket that listens and does not block.
    pub(crate) fn new(socket: Socket, address: &Address) -> io::Result<Self> {
        Ok(match address {
            Address::Tcp(address) => Self::Tcp(TcpListener::from_std(socket.into())?, address.port()),
            Address::Unix(_) => Self::Unix(UnixListener::from_std(socket.into())?),
        })
    }

    fn poll_accept(&self, context: &mut Context<'_>) -> Poll<io::Result<(Stream, Peer)>> {
        match self {
            Self::Tcp(listener, local_port) => {
                let (stream, remote) = ready!(listener.poll_accept(context))?;
                let peer = Peer { remote: Some(remote), local_port: *local_port };
                Poll::Ready(Ok((Stream::Tcp(stream), peer)))
            }
            Self::Unix(listener) => {
                let (stream, _) = ready!(listener.poll_accept(context))?;
                Poll::Ready(Ok((Stream::Unix(stream), Peer { remote: None, local_port: 0 })))
            }
        }
    }
}

/// Accepts until the listener drains.
pub(crate) async fn run(shared: Rc<Shared>, listener: Rc<ListenerState>, acceptor: Acceptor) {
    let next = async || {
        poll_fn(|context| {
            listener.waker.replace(Some(context.waker().clone()));
            if listener.is_draining() { Poll::Ready(None) } else { acceptor.poll_accept(context).map(Some) }
        })
        .await
    };
    while let Some(accepted) = next().await {
        match accepted {
            Ok((stream, peer)) => admit(&shared, &listener, stream, peer),
            // The client left while it waited: that says nothing about the next one.
            Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => {}
            Err(_) => {
                add(&shared.tally.accept_errors, 1);
                tokio::time::sleep(PAUSE).await;
            }
        }
    }
}

fn admit(shared: &Rc<Shared>, listener: &Rc<ListenerState>, stream: Stream, peer: Peer) {
    add(&shared.tally.accepted, 1);
    add(&listener.accepted, 1);
    if let Some(lines) = &listener.lines {
        return take_lines(shared, listener, lines, stream, peer);
    }
    let open = shared.connections.borrow().len() - shared.refusing.get();
    if open < shared.limits().max_connections {
        let place = Registered::new(shared, listener);
        spawn(http1::Connection::new(place, stream, peer).serve());
        return;
    }
    add(&shared.tally.refused, 1);
    if shared.refusing.get() < MAX_REFUSING {
        let refusing = Refusing::new(shared);
        let connection = http1::Connection::new(Registered::new(shared, listener), stream, peer);
        spawn(async move {
            let reject = Reject::new(503, "the server has as many connections as it may");
            connection.refuse(Refusal::new(reject)).await;
            drop(refusing);
        });
    }
}

fn take_lines(
    shared: &Rc<Shared>,
    listener: &Rc<ListenerState>,
    lines: &Rc<Lines>,
    stream: Stream,
    peer: Peer,
) {
    if lines::turn_away(shared, lines, &peer) {
        return add(&shared.tally.refused, 1);
    }
    stream.keep_alive(shared.limits().vanish_timeout);
    spawn(lines::Connection::new(shared, listener, lines, stream, peer).serve());
}

/// Counts a client that is being refused.
struct Refusing(Rc<Shared>);

impl Refusing {
    fn new(shared: &Rc<Shared>) -> Self {
        shared.refusing.set(shared.refusing.get() + 1);
        Self(Rc::clone(shared))
    }
}

impl Drop for Refusing {
    fn drop(&mut self) {
        self.0.refusing.set(self.0.refusing.get() - 1);
    }
}
