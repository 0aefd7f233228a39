//! The server: an event loop that its owner drives, turn by turn.

use std::collections::HashMap;
use std::future::poll_fn;
use std::io;
use std::net::IpAddr;
use std::os::fd::{AsRawFd, BorrowedFd, RawFd};
use std::rc::Rc;
use std::time::Duration;

use addresses::Address;
use bytes::Bytes;
use dispatch::Arrival;
use error_pages::ErrorPages;
use tls::Configuration;
use tokio::runtime::{Builder, Runtime};
use tokio::task::JoinHandle;

use crate::accept::{self, Acceptor};
use crate::clock::NEVER;
use crate::counters::{Counters, ListenerCounters};
use crate::deadlines;
use crate::failures::FailedHandshake;
use crate::limits::Limits;
use crate::lines::report::LinesReport;
use crate::lines::terms::Terms;
use crate::listener::{self, Listener, ListenerState};
use crate::parts::{Rest, WantedPart};
use crate::reads;
use crate::replies::Reply;
use crate::shared::Shared;
use crate::this_thread::{OnThisThread, spawn};
use crate::tickets::Ticket;
use crate::turn::{Turn, Turning};
use crate::watch;

/// Tasks that run before the sockets are looked at again, so that what one look brought is one batch.
const TASKS_PER_LOOK: u32 = 4096;
/// Sockets that one look can report.
const EVENTS_PER_LOOK: usize = 1024;

/// A request that has arrived, whole.
#[derive(Debug)]
pub struct Arrived {
    /// To be given back with the reply.
    pub ticket: Ticket,
    /// A message that [`message::Request::parse`] reads.
    pub request: Vec<u8>,
    /// The listener that it came by.
    pub listener: u32,
}

impl Arrival for Arrived {
    fn ticket(&self) -> Ticket {
        self.ticket
    }

    fn bytes(&self) -> usize {
        self.request.len()
    }
}

/// A bucket of lines, or a hello, to be written by whoever the owner chooses.
#[derive(Debug)]
pub struct Poured {
    /// To be given back with the reply: a [`wire::Answer`].
    pub ticket: Ticket,
    /// Where it comes from.
    pub source: Source,
    /// A head that [`wire::Work::parse`] reads, together with the lines behind it.
    pub head: Vec<u8>,
    /// The lines. They stay here until the reply.
    pub lines: Rc<Vec<u8>>,
}

impl Poured {
    /// Bytes that it has.
    pub fn bytes(&self) -> usize {
        self.head.len() + self.lines.len()
    }
}

/// Where a bucket comes from. Who has no room for all keeps them in a [`crate::FairQueue`], so that nobody waits for the
/// flood of another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Source {
    /// The listener that it came by.
    pub listener: u32,
    /// The stream that it is of, by a number that no other stream of the server gets.
    pub stream: u64,
    /// How many connections share the stream.
    pub connections: usize,
}

/// The server. It cannot leave its thread, and starts no other.
///
/// The process has to ignore SIGPIPE, as Rust's runtime and PostgreSQL's processes do: large responses leave by
/// writev, which raises it where the client has gone. No signal is handled here.
pub struct Server {
    /// Dropped first: its tasks use what the fields below hold.
    runtime: Runtime,
    shared: Rc<Shared>,
    turning: Rc<Turning>,
    watched: HashMap<RawFd, JoinHandle<()>>,
    arrived: Vec<Arrived>,
    poured: Vec<Poured>,
    wanted: Vec<WantedPart>,
    gone: Vec<Ticket>,
    readable: Vec<RawFd>,
}

impl Server {
    /// A server that listens on nothing yet.
    ///
    /// # Errors
    ///
    /// When the kernel gives no epoll instance or eventfd.
    pub fn new(limits: Limits) -> io::Result<Self> {
        let shared = Rc::new(Shared::new(limits));
        let turning = Rc::new(Turning::new(Rc::clone(&shared)));
        let runtime = runtime(&turning)?;
        let server = Self {
            runtime,
            shared,
            turning,
            watched: HashMap::new(),
            arrived: Vec::new(),
            poured: Vec::new(),
            wanted: Vec::new(),
            gone: Vec::new(),
            readable: Vec::new(),
        };
        let _entered = server.runtime.enter();
        spawn(deadlines::run(Rc::clone(&server.shared)));
        spawn(reads::marker(Rc::clone(&server.shared)));
        drop(_entered);
        Ok(server)
    }

    /// The limits in force.
    pub fn limits(&self) -> Limits {
        self.shared.limits()
    }

    /// Changes the limits for what begins from now on.
    pub fn set_limits(&mut self, limits: Limits) {
        self.shared.set_limits(limits);
    }

    /// Changes what browsers get in the place of an error's document.
    pub fn set_error_pages(&mut self, pages: ErrorPages) {
        self.shared.error_pages.replace(pages);
    }

    /// Says whether errors without a page get the one that is built in.
    pub fn set_built_in_error_pages(&mut self, has_built_in: bool) {
        self.shared.error_pages.borrow_mut().set_built_in(has_built_in);
    }

    /// Listens, and gives the address that was bound: the port chosen if port 0 was asked for.
    ///
    /// # Errors
    ///
    /// The kernel's; AddrInUse if the address is taken, AlreadyExists if the id is.
    pub fn listen(&mut self, listener: &Listener) -> io::Result<Address> {
        let taken = |state: &Rc<ListenerState>| state.id == listener.id && !state.is_draining();
        if self.shared.listeners.borrow().iter().any(taken) {
            let text = format!("listener {} is there already", listener.id);
            return Err(io::Error::new(io::ErrorKind::AlreadyExists, text));
        }
        let _entered = self.runtime.enter();
        let bound = listener::bind(listener)?;
        let acceptor = Acceptor::new(bound.socket, &bound.address)?;
        let state = Rc::new(bound.state);
        self.shared.listeners.borrow_mut().push(Rc::clone(&state));
        self.shared.accepting.set(self.shared.accepting.get() + 1);
        spawn(accept::run(Rc::clone(&self.shared), state, acceptor));
        Ok(bound.address)
    }

    /// Announces that the server is about to stop, or that it is not: it goes on as before, but each response says
    /// `Connection: close`, so that few connections idle when it stops. A client may send a request on one that idles
    /// just as it is closed, and does not know then what became of it.
    pub fn announce_end(&mut self, ends: bool) {
        self.shared.closing.set(ends);
    }

    /// Requests and buckets that wait for their reply, or whose reply is on its way to its task.
    pub fn in_flight(&self) -> usize {
        self.shared.tickets.borrow().open_count()
    }

    /// Whether the file of this listener, for a UNIX socket, is still the one that its path leads to.
    pub fn has_path(&self, id: u32) -> bool {
        self.shared.listeners.borrow().iter().any(|listener| listener.id == id && listener.has_its_path())
    }

    /// Stops accepting by this listener, once what has connected to it is accepted; closes its idle connections and lets running requests finish, with
    /// `Connection: close` or GOAWAY. The socket is closed within the next turn. False if there is none.
    pub fn unlisten(&mut self, id: u32) -> bool {
        self.drain_those(false, |listener| listener.id == id)
    }

    /// [`Server::unlisten`] for all listeners; who is just connecting is waited for: some milliseconds, or as
    /// long as a handshake with a client that is far away takes.
    pub fn drain(&mut self) {
        self.drain_those(true, |_| true);
    }

    fn drain_those(&mut self, latecomers: bool, chosen: impl Fn(&ListenerState) -> bool) -> bool {
        let mut any = false;
        for listener in self.shared.listeners.borrow().iter() {
            if chosen(listener) && !listener.is_draining() {
                any = true;
                listener.drain(latecomers);
            }
        }
        for (_, link) in self.shared.connections.borrow().iter() {
            if link.is_draining() {
                link.wake();
            }
        }
        any
    }

    /// Whether nothing listens and no connection is open.
    pub fn is_drained(&self) -> bool {
        self.shared.accepting.get() == 0 && self.shared.connections.borrow().is_empty()
    }

    /// Ends all connections without more ado, within the next turn. Their requests are reported as gone.
    pub fn abort(&mut self) {
        self.abort_those(|_| true);
    }

    /// [`Server::abort`] for the connections that a listener has left behind after [`Server::unlisten`].
    pub fn abort_unlistened(&mut self, id: u32) {
        self.abort_those(|listener| listener.id == id && listener.is_draining());
    }

    fn abort_those(&mut self, chosen: impl Fn(&ListenerState) -> bool) {
        for (_, link) in self.shared.connections.borrow().iter() {
            if chosen(&link.listener) {
                link.abort();
            }
        }
        for listener in self.shared.listeners.borrow().iter().filter(|listener| chosen(listener)) {
            listener.lines.iter().for_each(|lines| lines.abort());
        }
    }

    /// Ends turns when this descriptor becomes readable. The caller has to read it until it is empty before the
    /// next turn: another report comes only with another write. The server watches a duplicate of it, and names
    /// it in its reports by the caller's number. The end of a pipe is reported once.
    ///
    /// # Errors
    ///
    /// When the descriptor cannot be duplicated or polled.
    pub fn watch(&mut self, descriptor: BorrowedFd<'_>) -> io::Result<()> {
        let _entered = self.runtime.enter();
        let task = watch::task(Rc::clone(&self.shared), descriptor)?;
        if let Some(earlier) = self.watched.insert(descriptor.as_raw_fd(), spawn(task)) {
            earlier.abort();
        }
        Ok(())
    }

    /// Stops watching, within the next turn.
    pub fn unwatch(&mut self, descriptor: RawFd) {
        if let Some(task) = self.watched.remove(&descriptor) {
            task.abort();
        }
    }

    /// Hands in the reply to a request: a message of [`message::ResponseBuilder`]. It leaves at the beginning
    /// of the next turn. False if the client has gone, or the request has a reply already.
    pub fn reply(&mut self, ticket: Ticket, response: Vec<u8>) -> bool {
        let reply = Reply::new(&self.shared, response);
        self.shared.tickets.borrow_mut().reply(ticket, reply)
    }

    /// The same with a body that others get, too, which is not copied. `head` is a response without a body; `is_head` says that the request is one
    /// of HEAD, whose client gets the body's length alone.
    pub fn reply_sharing(&mut self, ticket: Ticket, head: Vec<u8>, body: Bytes, is_head: bool) -> bool {
        let reply = Reply::sharing(&self.shared, head, body, is_head);
        self.shared.tickets.borrow_mut().reply(ticket, reply)
    }

    /// The same with the first part of a body, whose rest is asked for by [`Server::wanted_parts`]. A client of HEAD gets the whole length.
    pub fn reply_in_parts(
        &mut self,
        ticket: Ticket,
        head: Vec<u8>,
        part: Bytes,
        rest: Rest,
        is_head: bool,
    ) -> bool {
        let reply = Reply { rest: Some(rest), ..Reply::sharing(&self.shared, head, part, is_head) };
        self.shared.tickets.borrow_mut().reply(ticket, reply)
    }

    /// Parts of bodies that connections ask for: their clients have taken all that came before. Each is to be given one by [`Server::reply_part`].
    pub fn wanted_parts(&mut self) -> impl Iterator<Item = WantedPart> {
        self.wanted.drain(..)
    }

    /// Hands in a part, no longer than what is still to come. An empty one ends the connection, or its stream. False if the client has gone.
    pub fn reply_part(&mut self, ticket: Ticket, part: Bytes) -> bool {
        let reply = Reply::sharing(&self.shared, Vec::new(), part, false);
        self.shared.tickets.borrow_mut().reply(ticket, reply)
    }

    /// Bytes of [`Server::room_for_replies`] that a reply needs which shares a body, with a head of so many bytes: little more than the head while
    /// others are on their way with the same body.
    pub fn needs_to_share(&self, head: usize, body: &Bytes) -> usize {
        self.shared.replies.needs(head, body)
    }

    /// Whether a request still waits for its reply: it has none, and its client has not gone.
    pub fn waits(&self, ticket: Ticket) -> bool {
        self.shared.tickets.borrow().waits(ticket)
    }

    /// Bytes that replies may hold beside those that are on their way to their clients. Replies up to
    /// [`crate::SMALL_REPLY`] may be handed in at any time: one that its client does not take at once, and for which there is
    /// no room, loses its stream or its connection. Larger ones without room are not refused here, as their owner knows
    /// better what to answer instead.
    pub fn room_for_replies(&self) -> usize {
        self.shared.limits().max_replies.saturating_sub(self.shared.replies.held())
    }

    /// The requests that have arrived, in order.
    pub fn arrived(&mut self) -> impl Iterator<Item = Arrived> {
        self.arrived.drain(..)
    }

    /// The buckets that are to be written, in order.
    pub fn poured(&mut self) -> impl Iterator<Item = Poured> {
        self.poured.drain(..)
    }

    /// Changes the terms of a listener for lines, for connections to come. False if there is none.
    pub fn set_terms(&mut self, id: u32, terms: &Terms) -> bool {
        let listeners = self.shared.listeners.borrow();
        let found = listeners.iter().find(|listener| listener.id == id && !listener.is_draining());
        let Some(lines) = found.and_then(|listener| listener.lines.as_ref()) else { return false };
        lines.terms.replace(Rc::new(terms.clone()));
        // Some may have to end.
        let connections = self.shared.connections.borrow();
        connections.iter().filter(|(_, link)| link.listener.id == id).for_each(|(_, link)| link.wake());
        true
    }

    /// Changes how clients of a listener shake hands that connect from now on. False if there is none, or it speaks clear text.
    pub fn set_tls(&mut self, id: u32, configuration: &Configuration) -> bool {
        let listeners = self.shared.listeners.borrow();
        let found = listeners.iter().find(|listener| listener.id == id && !listener.is_draining());
        let Some(mut known) = found.map(|listener| listener.tls.borrow_mut()) else { return false };
        if known.is_some() {
            *known = Some(configuration.clone());
        }
        known.is_some()
    }

    /// What the listeners for lines and their connections have done.
    pub fn lines(&self) -> Vec<LinesReport> {
        let listeners = self.shared.listeners.borrow();
        let of = |listener: &Rc<ListenerState>| {
            Some(listener.lines.as_ref()?.report(listener.id, listener.is_draining()))
        };
        listeners.iter().filter_map(of).collect()
    }

    /// The requests whose clients have left before the reply. No reply is needed any more.
    pub fn gone(&mut self) -> impl Iterator<Item = Ticket> {
        self.gone.drain(..)
    }

    /// The watched descriptors that have become readable.
    pub fn readable(&mut self) -> impl Iterator<Item = RawFd> {
        self.readable.drain(..)
    }

    /// Sends what has been replied, then polls the sockets until there is something for the owner: requests
    /// that arrived, clients that left, a readable descriptor; or until time is up. With no time at all it
    /// looks once and does not wait.
    ///
    /// Everything that one look at the sockets brought is in one turn. `before_sleep` is called right before
    /// the loop would wait, possibly several times; if it says false, the loop looks once more without waiting
    /// and the turn ends. A panic of it ends the turn and goes on to the caller.
    ///
    /// What the sockets bring in the very last look of a turn is served at the beginning of the next one.
    pub fn turn(&mut self, timeout: Option<Duration>, before_sleep: &mut dyn FnMut() -> bool) -> Turn {
        let (shared, turning) = (&self.shared, &self.turning);
        shared.clock.refresh();
        let impatient = timeout.is_some_and(|timeout| timeout.is_zero());
        let deadline = timeout.filter(|_| !impatient).map_or(NEVER, |timeout| shared.clock.after(timeout));
        let mut begun = false;
        let future = poll_fn(|context| turning.poll(context, deadline, &mut begun));
        turning.run(impatient, before_sleep, || self.runtime.block_on(future));
        self.collect()
    }

    /// Moves what has come to where the owner takes it.
    fn collect(&mut self) -> Turn {
        self.shared.look_at_memory();
        self.arrived.append(&mut self.shared.arrived.borrow_mut());
        self.poured.append(&mut self.shared.poured.borrow_mut());
        self.wanted.append(&mut self.shared.wanted.borrow_mut());
        self.gone.append(&mut self.shared.gone.borrow_mut());
        self.readable.append(&mut self.shared.readable.borrow_mut());
        let (arrived, gone, readable) = (self.arrived.len(), self.gone.len(), self.readable.len());
        let poured = self.poured.len();
        Turn { arrived, poured, gone, readable, ..self.turning.outcome() }
    }

    /// What the owner should write down since the last call: what the kernel has refused, each once.
    pub fn notes(&mut self) -> Vec<String> {
        self.shared.notes.take()
    }

    /// Handshakes that have failed since the last call, and requests for hosts that a connection's certificate is not for. Of many, the
    /// first.
    pub fn failed_handshakes(&mut self) -> Vec<FailedHandshake> {
        self.shared.failures.take()
    }

    /// Takes the word of proxies for their clients from now on (the PROXY protocol): of those, `None` being a UNIX socket, for which
    /// the function is true.
    pub fn trust_proxies(&mut self, is_proxy: fn(Option<IpAddr>) -> bool) {
        self.shared.is_proxy.set(is_proxy);
    }

    /// What the server has done so far.
    pub fn counters(&self) -> Counters {
        let tally = &self.shared.tally;
        let mut listeners = self.shared.listeners.borrow_mut();
        listeners.retain(|listener| !listener.is_draining() || listener.open.get() > 0);
        Counters {
            open: self.shared.connections.borrow().len(),
            accepted: tally.accepted.get(),
            refused: tally.refused.get(),
            accept_errors: tally.accept_errors.get(),
            requests: tally.requests.get(),
            gone: tally.gone.get(),
            bytes_in: tally.bytes_in.get(),
            bytes_out: tally.bytes_out.get(),
            rejects: tally.rejects(),
            listeners: listeners.iter().map(|listener| listener_counters(listener)).collect(),
        }
    }
}

/// The runtime, whose hooks know the turn weakly: tasks' wakers hold the runtime's inside, and the turn holds
/// wakers, so that a strong reference would keep all of it for ever.
fn runtime(turning: &Rc<Turning>) -> io::Result<Runtime> {
    // SAFETY: the hooks belong to the runtime, which this thread's `Server` drives and drops.
    let before = unsafe { OnThisThread::new(Rc::downgrade(turning)) };
    // SAFETY: as above.
    let after = unsafe { OnThisThread::new(Rc::downgrade(turning)) };
    Builder::new_current_thread()
        .enable_io()
        .enable_time()
        .event_interval(TASKS_PER_LOOK)
        .max_io_events_per_tick(EVENTS_PER_LOOK)
        .on_thread_park(move || before.get().upgrade().into_iter().for_each(|turning| turning.before_park()))
        .on_thread_unpark(move || {
            after.get().upgrade().into_iter().for_each(|turning| turning.after_unpark())
        })
        .build()
}

fn listener_counters(listener: &ListenerState) -> ListenerCounters {
    ListenerCounters {
        id: listener.id,
        accepted: listener.accepted.get(),
        open: listener.open.get(),
        draining: listener.is_draining(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_is_dropped_leaves_nothing() {
        let mut server = Server::new(Limits::default()).unwrap();
        let address = Address::Tcp("127.0.0.1:0".parse().unwrap());
        let Address::Tcp(bound) = server.listen(&Listener::new(1, address)).unwrap() else { unreachable!() };
        let client = std::net::TcpStream::connect(bound).unwrap();
        while server.counters().open == 0 {
            server.turn(Some(Duration::from_millis(10)), &mut || true);
        }
        let shared = Rc::downgrade(&server.shared);
        drop(server);
        assert!(shared.upgrade().is_none());
        drop(client);
    }
}
