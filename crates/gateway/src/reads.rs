//! How long a turn reads. Who sends without end keeps neither the others nor the owner waiting.
//!
//! A task reads until its socket is empty, which in a flood it never is. So once the tasks have read for a while, none of
//! them reads any more before the next turn, and this turn ends. In the next one those that have read nothing go
//! first, and before them those that the sockets' last look has woken: who asks seldom waits for a turn or two.
//!
//! What a read costs is seen only afterwards, as h2 reads frame by frame by itself. The time is asked for once in so many
//! bytes, since that costs as much as a tenth of a request; and a turn in which little has come is not cut at all.

use std::cell::{Cell, RefCell};
use std::task::Waker;
use std::time::{Duration, Instant};

/// How long tasks read before the next turn.
const TIME: Duration = Duration::from_millis(1);
/// Bytes after which the time is looked at: half a millisecond of the smallest frames of HTTP/2.
const LOOK: usize = 64 << 10;
/// What a read counts at least.
const READ: usize = 256;
/// What the begin and the end of a stream of HTTP/2, and a new connection, count beside their bytes: a task runs in this turn, too.
const TASK: usize = 1 << 10;

/// Connections that a turn takes in. However many want to read, these are served at once: who has only just come is not to wait
/// for all of them.
const ACCEPTED: usize = 64;

/// The number of a turn, which comes again after 2^32.
pub(crate) type TurnNumber = u32;

/// What the tasks have read in this turn.
pub(crate) struct Reads {
    turn: Cell<TurnNumber>,
    /// When the tasks began to run.
    begun: Cell<Instant>,
    /// Bytes until the time is looked at.
    until_look: Cell<usize>,
    /// Connections that have been taken in.
    accepted: Cell<usize>,
    /// Nobody reads before the next turn.
    are_over: Cell<bool>,
    /// Tasks that have read something before they were stopped.
    served: RefCell<Vec<Waker>>,
    /// The future of the turn.
    waker: RefCell<Option<Waker>>,
}

impl Reads {
    pub(crate) fn new() -> Self {
        Self {
            turn: Cell::new(1),
            begun: Cell::new(Instant::now()),
            until_look: Cell::new(LOOK),
            accepted: Cell::new(0),
            are_over: Cell::new(false),
            served: RefCell::default(),
            waker: RefCell::default(),
        }
    }

    /// A turn begins.
    pub(crate) fn begin_turn(&self, waker: &Waker, now: Instant) {
        self.turn.set(self.turn.get().wrapping_add(1));
        self.accepted.set(0);
        self.begin(now);
        let mut known = self.waker.borrow_mut();
        if !known.as_ref().is_some_and(|known| known.will_wake(waker)) {
            *known = Some(waker.clone());
        }
    }

    /// The loop has waited, and everything that was woken before has run.
    pub(crate) fn begin(&self, now: Instant) {
        self.begun.set(now);
        self.until_look.set(LOOK);
        self.are_over.set(false);
    }

    pub(crate) fn are_over(&self) -> bool {
        self.are_over.get()
    }

    /// Wakes those that have read in the last turn.
    pub(crate) fn wake_served(&self) {
        self.served.borrow_mut().drain(..).for_each(Waker::wake);
    }

    /// A task waits for the next turn, which has read in this one.
    pub(crate) fn stop(&self, task: &Waker) {
        self.served.borrow_mut().push(task.clone());
    }

    /// So many bytes have been read.
    pub(crate) fn count(&self, bytes: usize) {
        self.spend(bytes.max(READ));
    }

    /// A connection has been taken in.
    pub(crate) fn count_accepted(&self) {
        self.accepted.set(self.accepted.get() + 1);
        self.count_task();
    }

    /// Whether no more are taken in before the next turn.
    pub(crate) fn accepts_too_many(&self) -> bool {
        self.accepted.get() >= ACCEPTED
    }

    /// A task has been made, or has ended.
    pub(crate) fn count_task(&self) {
        self.spend(TASK);
    }

    fn spend(&self, bytes: usize) {
        match self.until_look.get().checked_sub(bytes) {
            Some(left) => self.until_look.set(left),
            None => self.look(),
        }
    }

    /// Wakes the future of the turn.
    pub(crate) fn wake_turn(&self) {
        self.waker.borrow().iter().for_each(Waker::wake_by_ref);
    }

    #[cold]
    fn look(&self) {
        self.until_look.set(LOOK);
        if self.begun.get().elapsed() >= TIME && !self.are_over.replace(true) {
            // Tasks that keep each other awake would keep the turn from its end otherwise.
            self.wake_turn();
        }
    }
}

/// When a connection has read last.
#[derive(Default)]
pub(crate) struct LastRead(Cell<TurnNumber>);

impl LastRead {
    /// Whether it has read nothing yet.
    pub(crate) fn is_none(&self) -> bool {
        self.0.get() == 0
    }

    /// Whether it has read in this turn.
    pub(crate) fn is_of(&self, reads: &Reads) -> bool {
        self.0.get() == reads.turn.get()
    }

    pub(crate) fn is_now(&self, reads: &Reads) {
        self.0.set(reads.turn.get());
    }
}
