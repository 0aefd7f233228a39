//! Who may connect to a listener for lines, and who has to go when there are too many.
//!
//! A connection costs its client nothing and takes a place here, of which there are only so many. So those of one origin have a
//! share, and a connection whose first line has not come whole gives its place up to another: who says nothing keeps nobody out
//! who has something to say. Those that have said something stay, however long they are silent then.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::collections::hash_map::{Entry, HashMap};
use std::rc::Rc;

use super::account::Lines;
use crate::connection::{Link, Peer};
use crate::origin::Origin;
use crate::shared::Shared;

/// All connections for lines of a gateway.
#[derive(Default)]
pub(crate) struct Admission {
    open: RefCell<HashMap<Origin, usize>>,
    /// Those whose first line has not come, from the one that has been here for longest.
    silent: RefCell<VecDeque<Rc<Newcomer>>>,
}

/// A connection, from its first moment on.
struct Newcomer {
    origin: Origin,
    lines: Rc<Lines>,
    link: Rc<Link>,
    /// Its first line has come whole.
    has_spoken: Cell<bool>,
    /// It has given its place up.
    has_left: Cell<bool>,
}

/// A connection's place; leaves it when dropped.
pub(crate) struct Place {
    shared: Rc<Shared>,
    newcomer: Rc<Newcomer>,
}

/// Whether one more may connect; the reason why not stands in the listener's report.
pub(crate) fn admits(shared: &Shared, lines: &Lines, peer: &Peer) -> bool {
    if !lines.terms().admits(peer.remote.map(|remote| remote.ip())) {
        lines.refuse("28000", &format!("{} is not in the list of those that may connect", name(peer)));
        return false;
    }
    let (admission, limits) = (&shared.line_admission, shared.limits());
    let origin = Origin::of(peer);
    let of_origin = admission.open.borrow().get(&origin).copied().unwrap_or_default();
    if of_origin >= limits.max_line_connections_of_one && !admission.close_silent(|other| other == origin) {
        let name = name(peer);
        lines.refuse(
            "53300",
            &format!("as many connections of {name} as howdah.max_ingest_per_address allows"),
        );
        return false;
    }
    let open: usize = admission.open.borrow().values().sum();
    if open >= limits.max_line_connections && !admission.close_silent(|_| true) {
        lines.refuse("53300", "as many connections as there may be: howdah.max_ingest_connections");
        return false;
    }
    true
}

fn name(peer: &Peer) -> String {
    peer.remote.map_or_else(|| "a UNIX socket".to_owned(), |remote| remote.ip().to_string())
}

impl Admission {
    /// Closes the connection that has been silent for longest, of those that may be chosen. False if there is none.
    fn close_silent(&self, may_be: impl Fn(Origin) -> bool) -> bool {
        let mut silent = self.silent.borrow_mut();
        let place = silent.iter().position(|newcomer| may_be(newcomer.origin));
        let Some(newcomer) = place.and_then(|place| silent.remove(place)) else { return false };
        newcomer.lines.refuse("53300", "a connection that had said nothing gave way to another");
        newcomer.link.abort();
        self.leave(&newcomer);
        true
    }

    fn leave(&self, newcomer: &Newcomer) {
        if newcomer.has_left.replace(true) {
            return;
        }
        let mut open = self.open.borrow_mut();
        if let Entry::Occupied(mut count) = open.entry(newcomer.origin) {
            *count.get_mut() -= 1;
            if *count.get() == 0 {
                count.remove();
            }
        }
    }
}

impl Place {
    /// Takes a place for a connection that has said nothing yet.
    pub(super) fn take(shared: &Rc<Shared>, lines: &Rc<Lines>, link: &Rc<Link>, peer: &Peer) -> Place {
        let (origin, admission) = (Origin::of(peer), &shared.line_admission);
        *admission.open.borrow_mut().entry(origin).or_default() += 1;
        let (lines, link) = (Rc::clone(lines), Rc::clone(link));
        let newcomer = Rc::new(Newcomer {
            origin,
            lines,
            link,
            has_spoken: Cell::new(false),
            has_left: Cell::new(false),
        });
        admission.silent.borrow_mut().push_back(Rc::clone(&newcomer));
        Place { shared: Rc::clone(shared), newcomer }
    }

    /// Whether the connection need not give way any more.
    pub(super) fn is_kept(&self) -> bool {
        self.newcomer.has_spoken.get()
    }

    /// The first line has come whole: the connection need not give way any more. False if that was so already.
    pub(super) fn keep(&self) -> bool {
        if self.newcomer.has_spoken.replace(true) {
            return false;
        }
        let mut silent = self.shared.line_admission.silent.borrow_mut();
        if let Some(place) = silent.iter().position(|newcomer| Rc::ptr_eq(newcomer, &self.newcomer)) {
            silent.remove(place);
        }
        true
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.keep();
        self.shared.line_admission.leave(&self.newcomer);
    }
}
