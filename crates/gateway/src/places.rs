//! The places of connections for HTTP, and who has to go when all are taken.
//!
//! A connection costs its client nothing and takes a place here, of which there are only so many. So one that waits for its
//! client gives its place up to who comes: first one that has said nothing, then the one that has asked nothing for longest,
//! then one whose request does not come, then one whose response is not taken. Those whose requests run stay. A client that
//! was served may ask again on another connection, as it must know anyway that idle ones end.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;

use crate::connection::Link;

/// What a connection waits for; the order is that in which they give way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum WaitsFor {
    FirstWord,
    NextRequest,
    RestOfRequest,
    /// The client is to take what it has asked for.
    Reader,
}

/// A connection's place among those that may give way: what it waits for, and a number that grows.
type Turn = (WaitsFor, u64);

/// All connections for HTTP, but those that are refused.
#[derive(Default)]
pub(crate) struct Places {
    taken: Cell<usize>,
    /// Those that wait for their clients.
    waiting: RefCell<BTreeMap<Turn, Rc<Link>>>,
    next: Cell<u64>,
}

/// A connection's place.
#[derive(Default)]
pub(crate) struct Place {
    is_taken: Cell<bool>,
    turn: Cell<Option<Turn>>,
    gave_way: Cell<bool>,
}

impl Place {
    /// Whether the connection is to end, as another has its place.
    pub(crate) fn gave_way(&self) -> bool {
        self.gave_way.get()
    }
}

impl Places {
    /// Whether one more may come, as there is room or has been made.
    pub(crate) fn have_room(&self, most: usize) -> bool {
        self.taken.get() < most || self.make_room()
    }

    pub(crate) fn take(&self, link: &Link) {
        self.taken.set(self.taken.get() + 1);
        link.place.is_taken.set(true);
    }

    pub(crate) fn leave(&self, link: &Link) {
        if link.place.is_taken.take() {
            self.taken.set(self.taken.get() - 1);
            self.stay(link);
        }
    }

    /// The connection waits for its client, now or for longer.
    pub(crate) fn wait(&self, link: &Rc<Link>, what: WaitsFor) {
        let waits_already = link.place.turn.get().is_some_and(|(before, _)| before == what);
        if waits_already || !link.place.is_taken.get() {
            return;
        }
        self.stay(link);
        let turn = (what, self.next.replace(self.next.get() + 1));
        link.place.turn.set(Some(turn));
        self.waiting.borrow_mut().insert(turn, Rc::clone(link));
    }

    /// The connection does not wait for its client.
    pub(crate) fn stay(&self, link: &Link) {
        if let Some(turn) = link.place.turn.take() {
            self.waiting.borrow_mut().remove(&turn);
        }
    }

    /// Has a connection give its place up. False if all are busy.
    pub(crate) fn make_room(&self) -> bool {
        let first = self.waiting.borrow().first_key_value().map(|(_, link)| Rc::clone(link));
        let Some(link) = first else { return false };
        self.leave(&link);
        link.place.gave_way.set(true);
        link.wake();
        true
    }
}
