//! One timer for all connections.
//!
//! A timer of tokio for each connection would be taken out and put in again at every request. Here a connection
//! writes its deadline into a cell, and one task sleeps until the earliest deadline there may be; then it looks
//! at all of them. Deadlines mostly move forward, so the task is rarely woken by a change.

use std::cell::{Cell, RefCell};
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::rc::Rc;
use std::task::{Poll, Waker};

use tokio::time::sleep_until;

use crate::clock::{Millis, NEVER};
use crate::shared::Shared;

pub(crate) struct Deadlines {
    /// When the timer goes off: at the earliest deadline, or before.
    next: Cell<Millis>,
    /// The deadline of the turn.
    turn: Cell<Millis>,
    /// The timer's task.
    waker: RefCell<Option<Waker>>,
}

impl Deadlines {
    pub(crate) fn new() -> Self {
        Self { next: Cell::new(NEVER), turn: Cell::new(NEVER), waker: RefCell::new(None) }
    }

    /// Sees to it that the timer goes off at `at` or before. To be called within the runtime, where waking a
    /// task costs no system call.
    pub(crate) fn cover(&self, at: Millis) {
        if at < self.next.get() {
            self.next.set(at);
            if let Some(waker) = &*self.waker.borrow() {
                waker.wake_by_ref();
            }
        }
    }

    pub(crate) fn set_turn(&self, at: Millis) {
        self.turn.set(at);
        self.cover(at);
    }

    pub(crate) fn turn(&self) -> Millis {
        self.turn.get()
    }
}

/// The timer's task. It ends with the runtime.
pub(crate) async fn run(shared: Rc<Shared>) {
    let deadlines = &shared.deadlines;
    let mut armed = NEVER;
    let mut sleep = pin!(sleep_until(shared.clock.instant(NEVER).into()));
    poll_fn(|context| {
        deadlines.waker.replace(Some(context.waker().clone()));
        loop {
            if armed != deadlines.next.get() {
                armed = deadlines.next.get();
                sleep.as_mut().reset(shared.clock.instant(armed).into());
            }
            if sleep.as_mut().poll(context).is_pending() {
                return Poll::<()>::Pending;
            }
            shared.clock.refresh();
            deadlines.next.set(expire(&shared));
            // The sleep is over: it must be set again even for the same point in time.
            armed = NEVER;
            sleep.as_mut().reset(shared.clock.instant(NEVER).into());
        }
    })
    .await;
}

/// Tells the connections whose deadline has come, and gives the earliest that is left.
fn expire(shared: &Shared) -> Millis {
    let now = shared.clock.now();
    let turn = shared.deadlines.turn();
    let mut next = if turn > now { turn } else { NEVER };
    for (_, link) in shared.connections.borrow().iter() {
        if link.deadline() <= now {
            link.expire();
        } else {
            next = next.min(link.deadline());
        }
    }
    next
}
