//! The places of connections for HTTP, and who has to go when all are taken.
//!
//! A connection costs its client nothing and takes a place here, of which there are only so many. So one that waits for its
//! client gives its place up to who comes: first one that has been told its end and is only read on, then one that has said nothing, then the one that has asked nothing for longest,
//! then one whose request does not come, then one whose response is not taken. Those whose requests run stay. A client that
//! was served may ask again on another connection, as it must know anyway that idle ones end.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use slab::Slab;

use crate::connection::Link;

/// What a connection waits for; the order is that in which they give way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WaitsFor {
    /// It has its last answer, and the client may still be sending.
    Farewell,
    FirstWord,
    NextRequest,
    RestOfRequest,
    /// The client is to take what it has asked for.
    Reader,
}

/// How many things there are to wait for.
const KINDS: usize = WaitsFor::Reader as usize + 1;

/// All connections for HTTP, but those that are refused.
#[derive(Default)]
pub(crate) struct Places {
    rings: RefCell<Rings<Rc<Link>>>,
}

/// A connection's place.
#[derive(Default)]
pub(crate) struct Place {
    entry: Cell<Option<usize>>,
    gave_way: Cell<bool>,
}

impl Place {
    /// Whether the connection is to end, as another has its place.
    pub(crate) fn gave_way(&self) -> bool {
        self.gave_way.get()
    }

    pub(crate) fn give_way(&self) {
        self.gave_way.set(true);
    }

    /// Whether it is one.
    pub(crate) fn is_taken(&self) -> bool {
        self.entry.get().is_some()
    }
}

impl Places {
    /// Whether one more may come, as there is room or has been made.
    pub(crate) fn have_room(&self, most: usize) -> bool {
        self.rings.borrow().len() < most || self.make_room()
    }

    pub(crate) fn take(&self, link: &Rc<Link>) {
        link.place.entry.set(Some(self.rings.borrow_mut().insert(Rc::clone(link))));
    }

    pub(crate) fn leave(&self, link: &Link) {
        if let Some(entry) = link.place.entry.take() {
            self.rings.borrow_mut().remove(entry);
        }
    }

    /// The connection waits for its client, now or for longer.
    pub(crate) fn wait(&self, link: &Link, what: WaitsFor) {
        if let Some(entry) = link.place.entry.get() {
            self.rings.borrow_mut().wait(entry, what);
        }
    }

    /// The connection does not wait for its client.
    pub(crate) fn stay(&self, link: &Link) {
        if let Some(entry) = link.place.entry.get() {
            self.rings.borrow_mut().stay(entry);
        }
    }

    /// Has a connection give its place up. False if all are busy.
    pub(crate) fn make_room(&self) -> bool {
        let first = self.rings.borrow().first().cloned();
        let Some(link) = first else { return false };
        self.leave(&link);
        link.give_way();
        true
    }
}

/// Those that have places, and the order in which they give them up.
///
/// Who waits is in a ring for what it waits for, so that a step costs the same however many there are: each request takes two.
/// An entry that is in no ring is its own neighbour.
struct Rings<T> {
    /// The first entries begin the rings: what comes after such a one has waited for longest.
    entries: Slab<Entry<T>>,
}

struct Entry<T> {
    /// None where a ring begins.
    owner: Option<T>,
    waits_for: Option<WaitsFor>,
    before: usize,
    after: usize,
}

impl<T> Default for Rings<T> {
    fn default() -> Self {
        let mut rings = Self { entries: Slab::new() };
        for _ in 0..KINDS {
            rings.add(None);
        }
        rings
    }
}

impl<T> Rings<T> {
    /// How many have places.
    fn len(&self) -> usize {
        self.entries.len() - KINDS
    }

    fn add(&mut self, owner: Option<T>) -> usize {
        let at = self.entries.vacant_key();
        self.entries.insert(Entry { owner, waits_for: None, before: at, after: at })
    }

    /// A place, for one that waits for nothing.
    fn insert(&mut self, owner: T) -> usize {
        self.add(Some(owner))
    }

    fn remove(&mut self, at: usize) {
        self.stay(at);
        self.entries.remove(at);
    }

    /// Takes its turn among those that wait for the same, unless it has it already.
    fn wait(&mut self, at: usize, what: WaitsFor) {
        if self.entries[at].waits_for == Some(what) {
            return;
        }
        self.stay(at);
        let ring = what as usize;
        let last = std::mem::replace(&mut self.entries[ring].before, at);
        self.entries[last].after = at;
        let entry = &mut self.entries[at];
        (entry.waits_for, entry.before, entry.after) = (Some(what), last, ring);
    }

    /// Takes it out of its ring, if it is in one.
    fn stay(&mut self, at: usize) {
        let entry = &mut self.entries[at];
        entry.waits_for = None;
        let before = std::mem::replace(&mut entry.before, at);
        let after = std::mem::replace(&mut entry.after, at);
        self.entries[before].after = after;
        self.entries[after].before = before;
    }

    /// Who gives way first.
    fn first(&self) -> Option<&T> {
        (0..KINDS).find_map(|ring| self.entries[self.entries[ring].after].owner.as_ref())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    const ALL: [WaitsFor; KINDS] = [
        WaitsFor::Farewell,
        WaitsFor::FirstWord,
        WaitsFor::NextRequest,
        WaitsFor::RestOfRequest,
        WaitsFor::Reader,
    ];

    #[test]
    fn who_waits_for_the_least_and_for_longest_goes_first() {
        let mut rings = Rings::default();
        let [reader, old, young, silent, parting, busy] =
            ["reader", "old", "young", "silent", "parting", "busy"].map(|name| rings.insert(name));
        assert_eq!(rings.first(), None);
        for (entry, what) in [
            (reader, WaitsFor::Reader),
            (young, WaitsFor::NextRequest),
            (old, WaitsFor::NextRequest),
            (silent, WaitsFor::FirstWord),
            (parting, WaitsFor::Farewell),
            (busy, WaitsFor::FirstWord),
        ] {
            rings.wait(entry, what);
        }
        rings.stay(busy);
        // It asks, and waits anew; the other only goes on waiting.
        rings.wait(young, WaitsFor::RestOfRequest);
        rings.wait(young, WaitsFor::NextRequest);
        rings.wait(old, WaitsFor::NextRequest);
        let order =
            [(parting, "parting"), (silent, "silent"), (old, "old"), (young, "young"), (reader, "reader")];
        for (entry, name) in order {
            assert_eq!(rings.first(), Some(&name));
            rings.remove(entry);
        }
        assert_eq!((rings.first(), rings.len()), (None, 1));
    }

    #[test]
    fn the_order_is_that_of_a_sorted_list() {
        let mut random = fastrand::Rng::with_seed(29);
        let (mut rings, mut sorted) = (Rings::default(), BTreeMap::new());
        let mut entries: Vec<(usize, Option<(usize, usize)>)> = Vec::new();
        for number in 0..20_000 {
            let place = random.usize(..entries.len() + 1);
            match random.usize(..6) {
                _ if place == entries.len() => {
                    entries.push((rings.insert(number), None));
                    continue;
                }
                0 if entries.len() > 50 => {
                    let (entry, turn) = entries.swap_remove(place);
                    rings.remove(entry);
                    turn.map(|turn| sorted.remove(&turn));
                }
                1 => {
                    let (entry, turn) = &mut entries[place];
                    rings.stay(*entry);
                    turn.take().map(|turn| sorted.remove(&turn));
                }
                _ => {
                    let (entry, turn) = &mut entries[place];
                    let what = random.usize(..KINDS);
                    rings.wait(*entry, ALL[what]);
                    if turn.is_none_or(|(before, _)| before != what) {
                        turn.map(|turn| sorted.remove(&turn));
                        *turn = Some((what, number));
                        sorted.insert((what, number), *entry);
                    }
                }
            }
            let first = sorted.first_key_value().map(|(_, &entry)| entry);
            assert_eq!(rings.first().copied(), first.and_then(|entry| rings.entries[entry].owner));
            assert_eq!(rings.len(), entries.len());
        }
    }
}
