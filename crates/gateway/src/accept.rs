//! Takes connections in.

use std::cell::Cell;
use std::collections::HashSet;
use std::future::{Future, poll_fn};
use std::io;
use std::net::Shutdown;
use std::pin::pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use ::http1::Reject;
use addresses::Address;
use socket2::{SockRef, Socket};
use tls::Session;
use tokio::net::{TcpListener, TcpStream, UnixListener, UnixStream};
use tokio::task::yield_now;
use tokio::time::{Instant, sleep};

use crate::announced::admit_announced;
use crate::connection::{Peer, Registered};
use crate::counters::add;
use crate::handshakes::{self, Handshake};
use crate::http1;
use crate::lines::{self, Lines};
use crate::listener::ListenerState;
use crate::notes::Notes;
use crate::places::WaitsFor;
use crate::refusal::Refusal;
use crate::secured::Secured;
use crate::shared::Shared;
use crate::stream::Stream;
use crate::this_thread::spawn;
use crate::turning_away;

/// How long to wait when no connection can be accepted, for want of descriptors above all. The connection stays
/// in the kernel's queue, so trying again at once would not end.
const PAUSE: Duration = Duration::from_millis(100);
/// How long a server that drains goes on accepting who is on the way already: at a path that has just been given to another,
/// or in a handshake that ends at once.
const LATECOMERS: Duration = Duration::from_millis(50);
/// How long at most it waits for handshakes with clients that are far away. Who comes new meanwhile tries again a second
/// after the first time, and is not to meet this listener again.
const HANDSHAKES: Duration = Duration::from_millis(800);
/// How often it looks whether they have ended.
const LOOK: Duration = Duration::from_millis(10);
/// Clients that are told at the same time that there are too many; more are closed without a word.
const MAX_REFUSING: usize = 64;

pub(crate) enum Acceptor {
    Tcp {
        listener: TcpListener,
        port: u16,
        /// What is accepted inherits that it hears nobody.
        is_deaf: Cell<bool>,
    },
    Unix(UnixListener),
}

impl Acceptor {
    /// To be called within the runtime, with a socket that listens and does not block.
    pub(crate) fn new(socket: Socket, address: &Address) -> io::Result<Self> {
        Ok(match address {
            Address::Tcp(address) => Self::Tcp {
                listener: TcpListener::from_std(socket.into())?,
                port: address.port(),
                is_deaf: Cell::new(false),
            },
            Address::Unix(_) => Self::Unix(UnixListener::from_std(socket.into())?),
        })
    }

    fn poll_accept(&self, context: &mut Context<'_>) -> Poll<io::Result<(Stream, Peer)>> {
        match self {
            Self::Tcp { listener, port, is_deaf } => {
                let (stream, remote) = ready!(listener.poll_accept(context))?;
                if is_deaf.get() {
                    turning_away::hear(&stream)?;
                }
                let peer = Peer { remote: Some(remote), local_port: *port, tls: None };
                Poll::Ready(Ok((Stream::Tcp(stream), peer)))
            }
            Self::Unix(listener) => {
                let (stream, _) = ready!(listener.poll_accept(context))?;
                Poll::Ready(Ok((Stream::Unix(stream), Peer::LOCAL)))
            }
        }
    }
}

impl Acceptor {
    /// Takes what the kernel has for a listener that takes no more. A connection that is in the kernel's queue when its
    /// socket is closed is reset, although its client has been told that it is connected, and may have sent a request.
    fn finish(self, mut admit: impl FnMut(Stream, Peer)) -> io::Result<()> {
        match self {
            Self::Tcp { listener, port, is_deaf } => {
                let listener = listener.into_std()?;
                while let Ok((stream, remote)) = listener.accept() {
                    stream.set_nonblocking(true)?;
                    if is_deaf.get() {
                        turning_away::hear(&stream)?;
                    }
                    let peer = Peer { remote: Some(remote), local_port: port, tls: None };
                    admit(Stream::Tcp(TcpStream::from_std(stream)?), peer);
                }
            }
            Self::Unix(listener) => {
                let listener = listener.into_std()?;
                // From here on whoever connects is refused; what has been let in can be accepted.
                SockRef::from(&listener).shutdown(Shutdown::Read)?;
                while let Ok((stream, _)) = listener.accept() {
                    stream.set_nonblocking(true)?;
                    admit(Stream::Unix(UnixStream::from_std(stream)?), Peer::LOCAL);
                }
            }
        }
        Ok(())
    }
}

impl Acceptor {
    /// Lets no handshake begin: who tries hears nothing, tries again in a second, and finds another process that listens on
    /// the port, or that nobody does. Handshakes that have begun end. The path of a UNIX socket is gone already.
    fn turn_away(&self, notes: &Notes) {
        let Self::Tcp { listener, is_deaf, .. } = self else { return };
        match turning_away::turn_away(listener) {
            Ok(deaf) => is_deaf.set(deaf),
            Err(error) => {
                notes.refused("a listener that drains resets who connects in its last microseconds", &error);
            }
        }
    }

    /// Returns when who was on the way has arrived.
    async fn all_arrived(&self, notes: &Notes) {
        sleep(LATECOMERS).await;
        under_way_is_done().await;
        let until = Instant::now() + HANDSHAKES;
        let mut left = self.handshakes(notes);
        while !left.is_empty() && Instant::now() < until {
            sleep(LOOK).await;
            let now = self.handshakes(notes);
            left.retain(|handshake| now.contains(handshake));
        }
        // The last one may be between two of the kernel's lists.
        under_way_is_done().await;
    }

    /// The handshakes that are under way; none where the kernel does not tell.
    fn handshakes(&self, notes: &Notes) -> HashSet<Handshake> {
        let Self::Tcp { listener, port, .. } = self else { return HashSet::new() };
        let is_ipv6 = listener.local_addr().is_ok_and(|address| address.is_ipv6());
        handshakes::under_way(*port, is_ipv6).unwrap_or_else(|error| {
            notes.refused(
                "a listener that drains resets clients whose handshake takes longer than 50 ms",
                &error,
            );
            HashSet::new()
        })
    }
}

/// Returns when the kernel has done with each packet that it was at work on: one that passed before the filter came may still
/// be on its way into the lists, however long its processor has been stopped meanwhile. It blocks for some milliseconds.
async fn under_way_is_done() {
    // SAFETY: the call has numbers alone and changes nothing. It waits for a grace period of RCU, and packets are taken in
    // within read-side sections of RCU.
    let waited = unsafe { libc::syscall(libc::SYS_membarrier, libc::MEMBARRIER_CMD_GLOBAL, 0, 0) };
    if waited != 0 {
        // Not every kernel does; a packet takes microseconds as long as its processor runs.
        sleep(LOOK).await;
    }
}

/// Accepts until the listener drains.
pub(crate) async fn run(shared: Rc<Shared>, listener: Rc<ListenerState>, acceptor: Acceptor) {
    let next = async || {
        poll_fn(|context| {
            listener.waker.replace(Some(context.waker().clone()));
            if listener.is_draining() {
                return Poll::Ready(None);
            }
            if shared.reads.accepts_too_many() {
                shared.postpone(context.waker());
                return Poll::Pending;
            }
            acceptor.poll_accept(context).map(Some)
        })
        .await
    };
    while let Some(accepted) = next().await {
        shared.reads.count_accepted();
        take(&shared, &listener, accepted).await;
    }
    acceptor.turn_away(&shared.notes);
    if listener.waits_for_latecomers() {
        let mut over = pin!(acceptor.all_arrived(&shared.notes));
        let mut late = async || {
            poll_fn(|context| match over.as_mut().poll(context) {
                Poll::Ready(()) => Poll::Ready(None),
                Poll::Pending => acceptor.poll_accept(context).map(Some),
            })
            .await
        };
        while let Some(accepted) = late().await {
            take(&shared, &listener, accepted).await;
        }
    }
    if acceptor.finish(|stream, peer| welcome(&shared, &listener, stream, peer)).is_err() {
        add(&shared.tally.accept_errors, 1);
    }
    shared.accepting.set(shared.accepting.get() - 1);
}

async fn take(shared: &Rc<Shared>, listener: &Rc<ListenerState>, accepted: io::Result<(Stream, Peer)>) {
    match accepted {
        Ok((stream, peer)) => welcome(shared, listener, stream, peer),
        // The client left while it waited: that says nothing about the next one.
        Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => {}
        // Its task closes it before this one goes on.
        Err(error) if is_out_of_descriptors(&error) && shared.places.make_room() => yield_now().await,
        Err(_) => {
            add(&shared.tally.accept_errors, 1);
            sleep(PAUSE).await;
        }
    }
}

fn is_out_of_descriptors(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EMFILE | libc::ENFILE))
}

fn welcome(shared: &Rc<Shared>, listener: &Rc<ListenerState>, stream: Stream, peer: Peer) {
    add(&shared.tally.accepted, 1);
    add(&listener.accepted, 1);
    if (shared.is_proxy.get())(peer.remote.map(|remote| remote.ip())) {
        return admit_announced(shared, listener, stream, peer);
    }
    admit(shared, listener, stream, peer);
}

/// Takes in a connection whose client is known.
pub(crate) fn admit(shared: &Rc<Shared>, listener: &Rc<ListenerState>, stream: Stream, peer: Peer) {
    let Some(stream) = secure(shared, listener, stream) else { return };
    if let Some(lines) = &listener.lines {
        return take_lines(shared, listener, lines, stream, peer);
    }
    if shared.places.have_room(shared.limits().max_connections) {
        let place = Registered::new(shared, listener);
        place.take_place();
        place.wait(WaitsFor::FirstWord);
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

/// Has it speak TLS, if its listener does. None if it cannot.
fn secure(shared: &Rc<Shared>, listener: &Rc<ListenerState>, stream: Stream) -> Option<Stream> {
    let tls = listener.tls.borrow();
    let Some(configuration) = &*tls else { return Some(stream) };
    let Stream::Tcp(socket) = stream else { return Some(stream) };
    match Session::new(configuration) {
        Ok(session) => Some(Stream::Tls(Box::new(Secured::new(shared, socket, session)))),
        Err(_) => {
            add(&shared.tally.refused, 1);
            None
        }
    }
}

fn take_lines(
    shared: &Rc<Shared>,
    listener: &Rc<ListenerState>,
    lines: &Rc<Lines>,
    stream: Stream,
    peer: Peer,
) {
    if !lines::admits(shared, lines, &peer) {
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
