//! What is known of connections for lines and of their listener: counts, memory, errors.

use std::cell::{Cell, RefCell};
use std::net::SocketAddr;
use std::rc::{Rc, Weak};
use std::task::Waker;

use super::stream::Stream;
use super::terms::Terms;
use crate::clock::Millis;
use crate::connection::Link;
use crate::shared::Shared;

/// Memory of a bucket that is kept for another.
const KEPT: usize = 8 << 20;
/// Buckets whose memory is kept: one of a stream fills while others are under way.
const SPARES: usize = 4;
/// This part of the memory for buckets is for connections that have nothing under way.
const RESERVE: usize = 8;

/// What one connection has sent and what became of it, in lines.
#[derive(Debug, Default)]
pub(crate) struct Account {
    pub id: u64,
    pub remote: Option<SocketAddr>,
    /// Producer and epoch, once a hello has come.
    pub producer: RefCell<Option<(String, i32)>>,
    pub received: Cell<u64>,
    pub stored: Cell<u64>,
    pub repeated: Cell<u64>,
    pub rejected: Cell<u64>,
    /// Lines whose bucket is committed.
    pub settled: Cell<u64>,
    /// The last sequence number that is acknowledged.
    pub sequence: Cell<i64>,
    /// Whether some of what is committed is on this server alone, though standbys are asked for.
    pub unconfirmed: Cell<bool>,
}

impl Account {
    /// Whether everything that was received is committed, and as safe as is asked for.
    pub(crate) fn is_safe(&self) -> bool {
        self.is_settled() && !self.unconfirmed.get()
    }

    /// Whether everything that was received is committed.
    pub(crate) fn is_settled(&self) -> bool {
        self.settled.get() == self.received.get()
    }
}

/// An error that is not a line's fault: nothing is written until it is gone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trouble {
    /// Its SQLSTATE.
    pub code: String,
    /// What went wrong.
    pub error: String,
}

/// A listener for lines, as its connections and streams see it.
pub(crate) struct Lines {
    pub terms: RefCell<Rc<Terms>>,
    pub accounts: RefCell<Vec<Rc<Account>>>,
    /// Weak: a stream lives as long as its task, and knows its listener.
    pub streams: RefCell<Vec<Weak<Stream>>>,
    /// Bytes in buckets, and of what has been read and waits for one.
    pub in_buckets: Cell<usize>,
    /// Memory of buckets that are committed, for others.
    spare: RefCell<Vec<Vec<u8>>>,
    /// Lines whose end has not come, with what may be done about them.
    pub unfinished: RefCell<Vec<Rc<Unfinished>>>,
    /// Connections that wait for room.
    waiting: RefCell<Vec<Waker>>,
    pub received: Cell<u64>,
    pub stored: Cell<u64>,
    pub repeated: Cell<u64>,
    pub rejected: Cell<u64>,
    pub dropped: Cell<u64>,
    pub refused: Cell<u64>,
    /// The last error, and whether it lasts.
    pub trouble: RefCell<Option<Trouble>>,
    pub is_failing: Cell<bool>,
    pub aborted: Cell<bool>,
}

/// Memory of a line that is coming in.
pub(crate) struct Unfinished {
    pub link: Rc<Link>,
    pub bytes: Cell<usize>,
    pub touched: Cell<Millis>,
}

impl Unfinished {
    pub(crate) fn of(link: &Rc<Link>) -> Unfinished {
        Unfinished { link: Rc::clone(link), bytes: Cell::new(0), touched: Cell::new(0) }
    }
}

impl Lines {
    pub(crate) fn new(terms: Terms) -> Lines {
        Lines {
            terms: RefCell::new(Rc::new(terms)),
            accounts: RefCell::default(),
            streams: RefCell::default(),
            in_buckets: Cell::new(0),
            spare: RefCell::default(),
            unfinished: RefCell::default(),
            waiting: RefCell::default(),
            received: Cell::new(0),
            stored: Cell::new(0),
            repeated: Cell::new(0),
            rejected: Cell::new(0),
            dropped: Cell::new(0),
            refused: Cell::new(0),
            trouble: RefCell::default(),
            is_failing: Cell::new(false),
            aborted: Cell::new(false),
        }
    }

    pub(crate) fn terms(&self) -> Rc<Terms> {
        Rc::clone(&self.terms.borrow())
    }

    /// Something came in that was not let in.
    pub(crate) fn refuse(&self, code: &str, error: &str) {
        self.refused.set(self.refused.get() + 1);
        self.trouble.replace(Some(Trouble { code: code.into(), error: error.into() }));
    }

    /// Nothing could be written.
    pub(crate) fn fail(&self, code: &str, error: &str) {
        self.trouble.replace(Some(Trouble { code: code.into(), error: error.into() }));
        self.is_failing.set(true);
    }

    /// Tells the task when there may be room again.
    pub(crate) fn wait(&self, waker: &Waker) {
        let mut waiting = self.waiting.borrow_mut();
        if !waiting.iter().any(|known| known.will_wake(waker)) {
            waiting.push(waker.clone());
        }
    }

    /// There may be room.
    pub(crate) fn wake_waiting(&self) {
        self.waiting.borrow_mut().drain(..).for_each(Waker::wake);
    }

    /// Ends streams and connections without more ado.
    pub(crate) fn abort(&self) {
        self.aborted.set(true);
        self.streams.borrow().iter().filter_map(Weak::upgrade).for_each(|stream| stream.wake());
        self.wake_waiting();
    }

    /// Half of the listener's memory is for buckets, half for lines whose end has not come: neither can
    /// starve the other.
    pub(crate) fn half(&self, shared: &Shared) -> usize {
        let listeners = shared.listeners.borrow().iter().filter(|listener| listener.lines.is_some()).count();
        shared.limits().max_lines / listeners.max(1) / 2
    }

    /// Whether another read of a connection may go into buckets.
    pub(crate) fn has_room(&self, shared: &Shared, account: &Account) -> bool {
        let half = self.half(shared);
        let reserve = if account.is_settled() { 0 } else { half / RESERVE };
        self.in_buckets.get() < half - reserve
    }

    /// Memory for a bucket.
    pub(crate) fn take_memory(&self) -> Vec<u8> {
        self.spare.borrow_mut().pop().unwrap_or_default()
    }

    /// A bucket needs its memory no more. Some is kept for others, and together with what they have no more than there
    /// may be.
    pub(crate) fn give_memory(&self, shared: &Shared, memory: Vec<u8>) {
        let mut spare = self.spare.borrow_mut();
        let held = self.in_buckets.get() + spare.iter().map(Vec::capacity).sum::<usize>();
        if memory.capacity() <= KEPT && spare.len() < SPARES && held + memory.capacity() <= self.half(shared)
        {
            spare.push(memory);
        }
    }

    /// A stream has nothing to do. When none has, no memory is kept.
    pub(crate) fn rest(&self) {
        if self.in_buckets.get() == 0 {
            self.spare.borrow_mut().clear();
        }
    }

    /// Takes note of how long a connection's unfinished line is now. When all together are too much, the one that
    /// has waited longest loses its connection.
    pub(crate) fn note_unfinished(&self, shared: &Shared, own: &Rc<Unfinished>, bytes: usize) {
        own.bytes.set(bytes);
        own.touched.set(shared.clock.now());
        if bytes == 0 {
            return;
        }
        let held = self.unfinished.borrow();
        let total: usize = held.iter().map(|line| line.bytes.get()).sum();
        if total <= self.half(shared) {
            return;
        }
        let stalest = held.iter().filter(|line| line.bytes.get() > 0).min_by_key(|line| line.touched.get());
        if let Some(stalest) = stalest {
            stalest.bytes.set(0);
            self.refuse("53200", "lines that are coming in hold too much memory: howdah.ingest_memory");
            stalest.link.abort();
        }
    }
}
