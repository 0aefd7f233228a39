//! A turn of the event loop: when it ends.
//!
//! tokio polls the future that it blocks on only if that was woken, runs all tasks that are ready, and then,
//! right before it would wait for sockets, calls its hook. So the hook is the place that knows that everything
//! which one look at the sockets brought has been served. It wakes the future when the turn is to end; tokio
//! then looks at the sockets once more without waiting, and polls the future. Under load that look brings the
//! next turn's requests, and a turn costs one epoll_wait; otherwise two.
//!
//! Where the sockets never get empty some task is always ready, and the hook is not called. Then `reads` wakes the future.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::rc::Rc;
use std::task::{Context, Poll};

use crate::clock::Millis;
use crate::shared::Shared;

/// Why a turn ended. Several reasons can hold at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Turn {
    /// Requests to take from [`crate::Server::arrived`].
    pub arrived: usize,
    /// Buckets to take from [`crate::Server::poured`].
    pub poured: usize,
    /// Tickets to take from [`crate::Server::gone`].
    pub gone: usize,
    /// Descriptors to take from [`crate::Server::readable`].
    pub readable: usize,
    /// Time was up.
    pub timed_out: bool,
    /// `before_sleep` said no.
    pub vetoed: bool,
}

type BeforeSleep<'a> = dyn FnMut() -> bool + 'a;

/// The state of the turn that is going on.
pub(crate) struct Turning {
    shared: Rc<Shared>,
    /// The turn may not wait at all.
    impatient: Cell<bool>,
    over: Cell<bool>,
    outcome: Cell<Turn>,
    /// What the caller of the turn has lent, while the turn goes on.
    before_sleep: Cell<Option<*mut BeforeSleep<'static>>>,
    /// The panic of `before_sleep`, which must not unwind through the runtime.
    panic: RefCell<Option<Box<dyn Any + Send>>>,
}

impl Turning {
    pub(crate) fn new(shared: Rc<Shared>) -> Self {
        Self {
            shared,
            impatient: Cell::new(false),
            over: Cell::new(true),
            outcome: Cell::default(),
            before_sleep: Cell::new(None),
            panic: RefCell::default(),
        }
    }

    /// Runs the turn while `before_sleep` is lent to the hook.
    pub(crate) fn run(&self, impatient: bool, before_sleep: &mut BeforeSleep<'_>, run: impl FnOnce()) {
        self.impatient.set(impatient);
        self.over.set(false);
        self.outcome.set(Turn::default());
        let lent: *mut BeforeSleep<'_> = before_sleep;
        // SAFETY: this changes the lifetime alone. `TakeBack` removes the pointer before this function, and
        // with it the borrow of `before_sleep`, ends, by a panic too.
        let lent = unsafe { std::mem::transmute::<*mut BeforeSleep<'_>, *mut BeforeSleep<'static>>(lent) };
        self.before_sleep.set(Some(lent));
        let taken_back = TakeBack(self);
        run();
        drop(taken_back);
        if let Some(panic) = self.panic.take() {
            resume_unwind(panic);
        }
    }

    pub(crate) fn outcome(&self) -> Turn {
        self.outcome.get()
    }

    /// The future that the runtime blocks on. Its first poll is the beginning of the turn, and the first moment
    /// at which waking a task costs no system call.
    pub(crate) fn poll(&self, context: &Context<'_>, deadline: Millis, begun: &mut bool) -> Poll<()> {
        if *begun {
            if self.shared.reads.are_over() {
                self.over.set(true);
            }
            return if self.over.get() { Poll::Ready(()) } else { Poll::Pending };
        }
        *begun = true;
        self.shared.deadlines.set_turn(deadline);
        self.shared.go_on(context.waker());
        Poll::Pending
    }

    /// The runtime's hook: no task is ready, and the loop would wait.
    pub(crate) fn before_park(&self) {
        if self.over.get() {
            return;
        }
        if self.must_end() {
            self.over.set(true);
            self.shared.reads.wake_turn();
        } else {
            // Whatever is woken here, the loop looks without waiting.
            self.shared.handshake_time.go_on(|| self.shared.reads.wake_turn());
        }
    }

    /// The runtime's hook: the loop has waited, or looked without waiting.
    pub(crate) fn after_unpark(&self) {
        self.shared.clock.refresh();
        self.shared.reads.begin(self.shared.clock.refreshed());
        self.shared.handshake_time.has_looked();
    }

    fn must_end(&self) -> bool {
        let timed_out = self.impatient.get() || self.shared.turn_is_over();
        let mut outcome = Turn { timed_out, ..Turn::default() };
        if !outcome.timed_out && !self.shared.has_news() {
            outcome.vetoed = !self.may_sleep();
        }
        self.outcome.set(outcome);
        outcome.timed_out || outcome.vetoed || self.shared.has_news()
    }

    fn may_sleep(&self) -> bool {
        let Some(lent) = self.before_sleep.get() else { return true };
        // SAFETY: `run` has put the pointer here and removes it before the borrow ends. Nothing else uses the
        // closure meanwhile: its owner waits for the turn, and the hook does not call itself.
        let before_sleep = unsafe { &mut *lent };
        catch_unwind(AssertUnwindSafe(before_sleep)).unwrap_or_else(|panic| {
            self.panic.replace(Some(panic));
            false
        })
    }
}

/// Ends the loan of `before_sleep`.
struct TakeBack<'a>(&'a Turning);

impl Drop for TakeBack<'_> {
    fn drop(&mut self) {
        self.0.before_sleep.set(None);
        self.0.over.set(true);
    }
}
