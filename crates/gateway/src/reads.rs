//! How long a turn reads. Who sends without end keeps neither the others nor the owner waiting.
//!
//! A task reads until its socket is empty, which in a flood it never is. So once the tasks have read for a while, none of
//! them reads any more before the next turn, and this turn ends. In the next one those that have read nothing go
//! first, and before them those that the sockets' last look has woken: who asks seldom waits for a turn or two.
//!
//! What is read makes tasks ready: a read of HTTP/2 may begin a hundred streams, and end as many. Nobody reads again before all of them
//! have run, however many turns that takes; or the tasks that wait to run would be ever more. tokio runs tasks in the order in which
//! they were woken, so a task of its own, the marker, tells: what was ready before it has run.
//!
//! Those that have read nothing stand in two queues, of which a turn wakes a few: ten thousand, woken in each turn, would cost more than
//! what is read. First those whose last read has emptied their socket: who asks and waits for the answer goes before who has sent more
//! than could be read. Some of the few read although the time is over, or one might find it over in each turn. And the fewer connections
//! a turn takes in the more stand there, as what comes reads at once.
//!
//! What a read costs is seen only afterwards, as h2 reads frame by frame by itself. The time is asked for once in so many
//! bytes, since that costs as much as a tenth of a request; and a turn in which little has come is not cut at all.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::future::poll_fn;
use std::rc::Rc;
use std::task::{Poll, Waker};
use std::time::{Duration, Instant};

use crate::shared::Shared;

/// How long tasks read before the next turn.
const TIME: Duration = Duration::from_millis(1);
/// Bytes after which the time is looked at: half a millisecond of the smallest frames of HTTP/2.
const LOOK: usize = 64 << 10;
/// What a read counts at least.
const READ: usize = 256;
/// What the begin and the end of a stream of HTTP/2, and a new connection, count beside their bytes: a task runs in this turn, too.
const TASK: usize = 1 << 10;

/// Connections that a turn takes in. However many want to read, these may read at once: who has only just come is not to wait
/// for all of them.
const ACCEPTED: usize = 16;
/// The same where [`MANY`] wait to read: what comes must not outrun what is there.
const ACCEPTED_BESIDE_MANY: usize = 2;
const MANY: usize = 64;
/// Connections that have waited, are woken, and read in a turn although its time is over: without that one that asks seldom might find
/// it over in each turn. Of those whose sockets were empty, and of the others.
const GRANTS: [usize; 2] = [16, 4];
/// Connections that have read nothing yet and read in a turn although its time is over: as many as a turn takes in. Of thousands that
/// were silent at first, and begin at the same time, the others wait as those do that have read before.
const BEGINNERS: usize = ACCEPTED;
/// Connections that have waited and are woken in a turn: so many, or this part of them, and of the others a few in any case.
const WOKEN: usize = 64;
const WOKEN_PART: usize = 16;
const WOKEN_OFTEN: usize = 8;
/// How often the marker runs until others may read again: what was ready wakes others, as the end of a stream wakes its connection.
const PASSES: u32 = 2;

/// The number of a turn.
pub(crate) type TurnNumber = u64;

/// What the tasks have read in this turn, and in those before it in which there were tasks ready from what had been read.
pub(crate) struct Reads {
    turn: Cell<TurnNumber>,
    /// How often the marker is to run until all have run that are ready from what was read.
    passes: Cell<u32>,
    marker: RefCell<Option<Waker>>,
    /// When the tasks began to run.
    begun: Cell<Instant>,
    /// Bytes until the time is looked at.
    until_look: Cell<usize>,
    /// Connections that have been taken in.
    accepted: Cell<usize>,
    /// Whether many waited to read when the turn began.
    are_many: Cell<bool>,
    /// Connections that may read still although the time is over: those whose sockets were empty, and the others.
    grants: [Cell<usize>; 2],
    /// Connections that have read nothing yet and may read still although the time is over.
    beginners: Cell<usize>,
    /// Nobody reads before the next turn.
    are_over: Cell<bool>,
    /// Tasks that have read something before they were stopped.
    served: RefCell<Vec<Waker>>,
    /// Tasks that have read nothing: those whose sockets were empty, and the others.
    waiting: [RefCell<Queue>; 2],
    /// Those of either that were woken, and stopped again.
    again: [RefCell<Vec<Waker>>; 2],
    /// The future of the turn.
    waker: RefCell<Option<Waker>>,
}

impl Reads {
    pub(crate) fn new() -> Self {
        Self {
            turn: Cell::new(1),
            passes: Cell::new(0),
            marker: RefCell::default(),
            begun: Cell::new(Instant::now()),
            until_look: Cell::new(LOOK),
            accepted: Cell::new(0),
            are_many: Cell::new(false),
            grants: GRANTS.map(Cell::new),
            beginners: Cell::new(BEGINNERS),
            are_over: Cell::new(false),
            served: RefCell::default(),
            waiting: Default::default(),
            again: Default::default(),
            waker: RefCell::default(),
        }
    }

    /// A turn begins. In it tasks read, and those that have waited are woken, if all have run that were ready before: if so, true.
    pub(crate) fn begin_turn(&self, waker: &Waker, now: Instant) -> bool {
        let mut known = self.waker.borrow_mut();
        if !known.as_ref().is_some_and(|known| known.will_wake(waker)) {
            *known = Some(waker.clone());
        }
        drop(known);
        if self.passes.get() > 0 {
            // Nothing but these tasks runs, and the turn ends soon: its owner has other work.
            self.wake_turn();
            return false;
        }
        self.turn.set(self.turn.get() + 1);
        self.accepted.set(0);
        self.are_many.set(self.waiting.iter().map(|queue| queue.borrow().len()).sum::<usize>() > MANY);
        self.grants.iter().zip(GRANTS).for_each(|(grants, most)| grants.set(most));
        self.beginners.set(BEGINNERS);
        self.begin(now);
        self.wake();
        true
    }

    /// The marker runs.
    pub(crate) fn mark(&self, marker: &Waker) {
        let mut known = self.marker.borrow_mut();
        let marker = known.get_or_insert_with(|| marker.clone());
        let left = self.passes.get().saturating_sub(1);
        self.passes.set(left);
        if left > 0 {
            marker.wake_by_ref();
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

    /// Wakes those that were woken in vain and the first of those that have waited, and those that have read in the last turn.
    fn wake(&self) {
        let [seldom, often] = &self.waiting;
        let most = WOKEN.max(seldom.borrow().len() / WOKEN_PART);
        let woken = wake_first(&self.again[0], seldom, most);
        wake_first(&self.again[1], often, most.saturating_sub(woken).max(WOKEN_OFTEN));
        self.served.borrow_mut().drain(..).for_each(Waker::wake);
    }

    /// Whether a task waits for a turn to read in.
    pub(crate) fn are_wanted(&self) -> bool {
        self.waiting.iter().any(|queue| queue.borrow().len() > 0)
            || self.again.iter().any(|tasks| !tasks.borrow().is_empty())
            || !self.served.borrow().is_empty()
    }

    /// Whether a connection may read. If not, its task is woken when it is its turn.
    pub(crate) fn may_read(&self, last: &LastRead, task: &Waker) -> bool {
        let is_over = self.are_over.get() && !(last.is_none() && self.may_begin());
        let Place { queue, number } = last.place.get();
        let waits = number > 0 && self.waiting[queue].borrow().has(number);
        if number > 0 && !waits {
            // It was woken, and reads, or finds that its socket is empty.
            if !is_over || self.grants[queue].get() > 0 {
                last.place.take();
                last.is_granted.set(is_over);
                return true;
            }
            last.stop_in(self, &self.again[queue], task);
            return false;
        }
        if !is_over {
            return true;
        }
        // It waits already: something else has woken it.
        if !waits {
            if last.is_of(self) {
                last.stop_in(self, &self.served, task);
            } else {
                let queue = usize::from(last.has_more.get() || last.is_none());
                let number = self.waiting[queue].borrow_mut().push(task);
                last.place.set(Place { queue, number });
            }
        }
        false
    }

    /// Whether one more that has read nothing yet may read although the time is over.
    fn may_begin(&self) -> bool {
        let left = self.beginners.get();
        self.beginners.set(left.saturating_sub(1));
        left > 0
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
        let most = if self.are_many.get() { ACCEPTED_BESIDE_MANY } else { ACCEPTED };
        self.accepted.get() >= most
    }

    /// A task has been made, or has ended.
    pub(crate) fn count_task(&self) {
        self.count_tasks(1);
    }

    /// So many tasks are about to end.
    pub(crate) fn count_tasks(&self, count: usize) {
        self.spend(count * TASK);
    }

    /// A client has shaken hands, which takes as long as hundreds of requests: the time is looked at.
    pub(crate) fn count_handshake(&self) {
        self.spend(LOOK + 1);
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
            self.passes.set(PASSES);
            self.marker.borrow().iter().for_each(Waker::wake_by_ref);
        }
    }
}

/// The task that tells when those have run that were ready before it.
pub(crate) async fn marker(shared: Rc<Shared>) {
    poll_fn(|context| {
        shared.reads.mark(context.waker());
        Poll::Pending
    })
    .await
}

/// Tasks in the order in which they were stopped. Each has a place, which is a number of its own.
#[derive(Default)]
struct Queue {
    tasks: VecDeque<Waker>,
    /// How many have stood here.
    count: u64,
}

impl Queue {
    fn len(&self) -> usize {
        self.tasks.len()
    }

    fn push(&mut self, task: &Waker) -> u64 {
        self.tasks.push_back(task.clone());
        self.count += 1;
        self.count
    }

    /// Whether the task of a place stands here still.
    fn has(&self, place: u64) -> bool {
        place > self.count - self.tasks.len() as u64
    }

    /// Wakes the first, so many at most; how many.
    fn wake(&mut self, most: usize) -> usize {
        let count = self.tasks.len().min(most);
        self.tasks.drain(..count).for_each(Waker::wake);
        count
    }
}

/// Wakes all of some tasks, and as many of a queue as there are fewer of them than `most`; how many.
fn wake_first(again: &RefCell<Vec<Waker>>, queue: &RefCell<Queue>, most: usize) -> usize {
    let mut again = again.borrow_mut();
    let count = again.len();
    again.drain(..).for_each(Waker::wake);
    count + queue.borrow_mut().wake(most.saturating_sub(count))
}

/// When a connection has read last.
#[derive(Default)]
pub(crate) struct LastRead {
    turn: Cell<TurnNumber>,
    /// Whether as much has come as could be read: there may be more.
    has_more: Cell<bool>,
    /// Where it waits, or has waited until it was woken.
    place: Cell<Place>,
    /// Whether it reads although the time is over.
    is_granted: Cell<bool>,
    /// The turn in which it was stopped last after it had read, or had been woken.
    stopped: Cell<TurnNumber>,
}

/// A place among those that wait.
#[derive(Clone, Copy, Default)]
struct Place {
    /// In which queue.
    queue: usize,
    /// 0 is none.
    number: u64,
}

impl LastRead {
    /// Whether it has read nothing yet.
    pub(crate) fn is_none(&self) -> bool {
        self.turn.get() == 0
    }

    /// Whether it has read in this turn.
    pub(crate) fn is_of(&self, reads: &Reads) -> bool {
        self.turn.get() == reads.turn.get()
    }

    /// It reads now, and as much as it could if `has_more`.
    pub(crate) fn is_now(&self, reads: &Reads, has_more: bool) {
        if self.is_granted.take() {
            let grants = &reads.grants[usize::from(self.has_more.get())];
            grants.set(grants.get().saturating_sub(1));
        }
        self.turn.set(reads.turn.get());
        self.has_more.set(has_more);
    }

    /// Its task is to be woken in the next turn; it is noted once.
    fn stop_in(&self, reads: &Reads, tasks: &RefCell<Vec<Waker>>, task: &Waker) {
        if self.stopped.replace(reads.turn.get()) != reads.turn.get() {
            tasks.borrow_mut().push(task.clone());
        }
    }
}
