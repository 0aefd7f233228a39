//! What all tasks of the server's thread share.

use std::cell::{Cell, RefCell};
use std::net::IpAddr;
use std::os::fd::RawFd;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use error_pages::ErrorPages;
use slab::Slab;

use crate::bodies::Bodies;
use crate::clock::{Clock, NEVER};
use crate::connection::Link;
use crate::counters::{Tally, add};
use crate::deadlines::Deadlines;
use crate::failures::Failures;
use crate::handshake_time::HandshakeTime;
use crate::limits::Limits;
use crate::lines::Admission;
use crate::listener::ListenerState;
use crate::memory::Memory;
use crate::notes::Notes;
use crate::parting::Partings;
use crate::parts::{Rest, WantedPart};
use crate::places::Places;
use crate::reads::{LastRead, Reads};
use crate::replies::{Replies, Reply, SMALL_REPLY};
use crate::server::{Arrived, Poured, Source};
use crate::tickets::{Ticket, Tickets};

/// Bytes that one read takes at most. One buffer serves all connections, so an idle one has none.
const READ_BUFFER: usize = 64 << 10;
/// Bytes of lines that a turn reads: requests wait for no more.
const LINES_PER_TURN: usize = 1 << 20;
/// Bytes of large replies that a turn writes: others' requests wait for no more. The kernel takes a millisecond or two.
const WRITTEN_PER_TURN: usize = 1 << 20;
/// Bytes of a large reply that one write takes at most, so that the first of a turn is not all of it.
pub(crate) const WRITTEN_AT_ONCE: usize = 256 << 10;
/// What an idle connection of HTTP/2 holds, by measurement: buffers and tables of h2's.
const HTTP2_CONNECTION: usize = 22 << 10;
/// What an open stream holds beside its reply, by measurement: its task, its request, its head in the buffers of h2.
pub(crate) const HTTP2_STREAM: usize = 4 << 10;
/// A write buffer that has grown beyond this is not kept.
const MAX_WRITE_BUFFER: usize = 256 << 10;

pub(crate) struct Shared {
    limits: Cell<Limits>,
    pub clock: Clock,
    pub deadlines: Deadlines,
    pub tally: Tally,
    pub bodies: Bodies,
    pub replies: Replies,
    pub reads: Reads,
    pub handshake_time: HandshakeTime,
    pub memory: Memory,
    pub notes: Notes,
    /// Whether who connects is a proxy whose word for its clients is taken.
    pub is_proxy: Cell<fn(Option<IpAddr>) -> bool>,
    pub failures: Failures,
    /// Pages that browsers get in the place of an error's document.
    pub error_pages: RefCell<ErrorPages>,
    pub places: Places,
    /// Connections that are read on after their last answer.
    pub partings: Partings,
    /// Connections of HTTP/2 that are open.
    pub http2_connections: Cell<usize>,
    /// Their streams that are open.
    pub http2_streams: Cell<usize>,
    /// Bodies of streams that are read on although their requests were refused.
    pub refused_bodies: Cell<usize>,
    pub connections: RefCell<Slab<Rc<Link>>>,
    pub listeners: RefCell<Vec<Rc<ListenerState>>>,
    pub tickets: RefCell<Tickets>,
    /// Requests that the owner has not taken yet.
    pub arrived: RefCell<Vec<Arrived>>,
    /// Buckets that the owner has not taken yet.
    pub poured: RefCell<Vec<Poured>>,
    /// Parts of bodies that the owner has not been asked for yet.
    pub wanted: RefCell<Vec<WantedPart>>,
    /// Tickets whose clients have gone.
    pub gone: RefCell<Vec<Ticket>>,
    /// Watched descriptors that have become readable.
    pub readable: RefCell<Vec<RawFd>>,
    read_buffer: Cell<Vec<u8>>,
    write_buffer: Cell<Vec<u8>>,
    /// Listeners that accept, or take in who is on the way.
    pub accepting: Cell<usize>,
    /// Connections are told to close with their next response, as the server is about to stop.
    pub closing: Cell<bool>,
    /// Clients that are told that there are too many, now.
    pub refusing: Cell<usize>,
    /// Connections for lines that are open.
    pub line_admission: Admission,
    /// The number of the next connection for lines.
    pub next_connection: Cell<u64>,
    /// The number of the next stream of buckets.
    next_stream: Cell<u64>,
    /// Bytes of lines that this turn may still read.
    lines_left: Cell<usize>,
    /// Bytes of large replies that this turn may still write.
    writes_left: Cell<usize>,
    /// Tasks that go on in the next turn, where lines may be read and large replies be written again.
    postponed: RefCell<Vec<Waker>>,
}

impl Shared {
    pub(crate) fn new(limits: Limits) -> Self {
        Self {
            limits: Cell::new(limits),
            clock: Clock::new(),
            deadlines: Deadlines::new(),
            tally: Tally::new(),
            bodies: Bodies::default(),
            replies: Replies::default(),
            reads: Reads::new(),
            handshake_time: HandshakeTime::default(),
            memory: Memory::default(),
            notes: Notes::default(),
            is_proxy: Cell::new(|_| false),
            failures: Failures::default(),
            error_pages: RefCell::default(),
            places: Places::default(),
            partings: Partings::default(),
            http2_connections: Cell::new(0),
            http2_streams: Cell::new(0),
            refused_bodies: Cell::new(0),
            connections: RefCell::default(),
            listeners: RefCell::default(),
            tickets: RefCell::default(),
            arrived: RefCell::default(),
            poured: RefCell::default(),
            wanted: RefCell::default(),
            gone: RefCell::default(),
            readable: RefCell::default(),
            read_buffer: Cell::default(),
            write_buffer: Cell::default(),
            accepting: Cell::new(0),
            closing: Cell::new(false),
            refusing: Cell::new(0),
            line_admission: Admission::default(),
            next_connection: Cell::new(1),
            next_stream: Cell::new(1),
            lines_left: Cell::new(LINES_PER_TURN),
            writes_left: Cell::new(WRITTEN_PER_TURN),
            postponed: RefCell::default(),
        }
    }

    pub(crate) fn limits(&self) -> Limits {
        self.limits.get()
    }

    pub(crate) fn set_limits(&self, limits: Limits) {
        self.limits.set(limits);
    }

    /// Lends the thread's read buffer. A use within a use gets a buffer of its own.
    pub(crate) fn with_read_buffer<T>(&self, read: impl FnOnce(&mut [u8]) -> T) -> T {
        let mut buffer = self.read_buffer.take();
        buffer.resize(READ_BUFFER, 0);
        let result = read(&mut buffer);
        self.read_buffer.set(buffer);
        result
    }

    /// An empty buffer to write into; to be given back.
    pub(crate) fn take_write_buffer(&self) -> Vec<u8> {
        self.write_buffer.take()
    }

    pub(crate) fn give_write_buffer(&self, mut buffer: Vec<u8>) {
        if buffer.capacity() <= MAX_WRITE_BUFFER {
            buffer.clear();
            self.write_buffer.set(buffer);
        }
    }

    /// Hands a request to the owner.
    pub(crate) fn arrive(self: &Rc<Self>, listener: u32, request: Vec<u8>, waker: &Waker) -> InFlight {
        let ticket = self.tickets.borrow_mut().open(waker.clone());
        self.arrived.borrow_mut().push(Arrived { ticket, request, listener });
        add(&self.tally.requests, 1);
        InFlight { shared: Rc::clone(self), ticket, answered: false }
    }

    /// Asks the owner for the next part of a body.
    pub(crate) fn want(self: &Rc<Self>, rest: Rest, waker: &Waker) -> InFlight {
        let ticket = self.tickets.borrow_mut().open(waker.clone());
        self.wanted.borrow_mut().push(WantedPart { ticket, rest });
        InFlight { shared: Rc::clone(self), ticket, answered: false }
    }

    /// A number for a stream of buckets that no other has.
    pub(crate) fn number_stream(&self) -> u64 {
        self.next_stream.replace(self.next_stream.get() + 1)
    }

    /// Hands a bucket to the owner.
    pub(crate) fn pour(
        self: &Rc<Self>,
        source: Source,
        head: Vec<u8>,
        lines: Rc<Vec<u8>>,
        waker: &Waker,
    ) -> InFlight {
        let ticket = self.tickets.borrow_mut().open(waker.clone());
        self.poured.borrow_mut().push(Poured { ticket, source, head, lines });
        InFlight { shared: Rc::clone(self), ticket, answered: false }
    }

    /// Whether this turn may read more lines.
    pub(crate) fn may_read_lines(&self) -> bool {
        self.lines_left.get() > 0 && !self.reads.are_over()
    }

    /// Whether so many bytes of a reply may be written in this turn: few may at any time.
    pub(crate) fn may_write(&self, bytes: usize) -> bool {
        bytes <= SMALL_REPLY || self.writes_left.get() > 0
    }

    /// Counts what has been written.
    pub(crate) fn have_written(&self, bytes: usize) {
        add(&self.tally.bytes_out, bytes);
        if bytes > SMALL_REPLY {
            self.writes_left.set(self.writes_left.get().saturating_sub(bytes));
        }
    }

    /// Ready if a connection may read in this turn. If not, its task is woken in the next one: before those that have read
    /// in this one, unless it has. Whoever has only just come reads at once.
    pub(crate) fn poll_may_read(&self, last: &LastRead, context: &Context<'_>) -> Poll<()> {
        if self.reads.may_read(last, context.waker()) { Poll::Ready(()) } else { Poll::Pending }
    }

    /// Counts what a connection has read, for which it had so much room.
    pub(crate) fn have_read(&self, last: &LastRead, bytes: usize, room: usize) {
        last.is_now(&self.reads, bytes == room);
        self.reads.count(bytes);
    }

    /// The task is woken in the next turn.
    pub(crate) fn postpone(&self, waker: &Waker) {
        self.postponed.borrow_mut().push(waker.clone());
    }

    pub(crate) fn have_read_lines(&self, count: usize) {
        self.lines_left.set(self.lines_left.get().saturating_sub(count));
    }

    /// A turn begins. Tasks run in the order in which they are woken: those that have waited for this turn, those whose replies have
    /// come, and a handshake that has waited for long.
    pub(crate) fn go_on(&self, turn: &Waker) {
        self.lines_left.set(LINES_PER_TURN);
        self.writes_left.set(WRITTEN_PER_TURN);
        self.postponed.borrow_mut().drain(..).for_each(Waker::wake);
        let all_have_run = self.reads.begin_turn(turn, self.clock.refreshed());
        self.tickets.borrow_mut().wake_replied();
        if all_have_run {
            self.handshake_time.begin_turn();
        }
    }

    /// Whether the owner has something to do.
    pub(crate) fn has_news(&self) -> bool {
        !self.arrived.borrow().is_empty()
            || !self.poured.borrow().is_empty()
            || !self.wanted.borrow().is_empty()
            || !self.postponed.borrow().is_empty()
            || self.reads.are_over()
            || self.reads.are_wanted()
            || !self.gone.borrow().is_empty()
            || !self.readable.borrow().is_empty()
    }

    /// Gives memory back to the system if much has been let go.
    pub(crate) fn look_at_memory(&self) {
        let http2 = self.http2_connections.get() * HTTP2_CONNECTION + self.http2_streams.get() * HTTP2_STREAM;
        self.memory.look(self.replies.held() + self.bodies.held() + http2, &self.clock);
    }

    pub(crate) fn turn_is_over(&self) -> bool {
        let deadline = self.deadlines.turn();
        deadline != NEVER && deadline <= self.clock.now()
    }
}

/// A request that waits for its reply. Dropped before that, it has lost its client.
pub(crate) struct InFlight {
    shared: Rc<Shared>,
    ticket: Ticket,
    answered: bool,
}

impl InFlight {
    pub(crate) fn poll_reply(&mut self) -> Poll<Reply> {
        match self.shared.tickets.borrow_mut().take_reply(self.ticket) {
            Some(reply) => {
                self.answered = true;
                Poll::Ready(reply)
            }
            None => Poll::Pending,
        }
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        let unsent = self.poll_reply().is_ready();
        self.shared.tickets.borrow_mut().close(self.ticket);
        if self.answered && !unsent {
            return;
        }
        let mut poured = self.shared.poured.borrow_mut();
        if let Some(at) = poured.iter().rposition(|poured| poured.ticket == self.ticket) {
            poured.remove(at);
            return;
        }
        let mut wanted = self.shared.wanted.borrow_mut();
        if let Some(at) = wanted.iter().rposition(|wanted| wanted.ticket == self.ticket) {
            wanted.remove(at);
            return;
        }
        add(&self.shared.tally.gone, 1);
        // What the owner has replied to, or not seen yet, it need not be told of.
        let mut arrived = self.shared.arrived.borrow_mut();
        if let Some(at) = arrived.iter().rposition(|arrived| arrived.ticket == self.ticket) {
            arrived.remove(at);
        } else if !unsent {
            self.shared.gone.borrow_mut().push(self.ticket);
        }
    }
}
