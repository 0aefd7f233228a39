//! The end of a connection whose client may still be sending.
//!
//! A socket that is closed while bytes wait in it sends a reset, and a reset can overtake the answer in the client. So the server says
//! that it sends no more, and reads on (RFC 9112, 9.6): many clients send a whole body before they read, and what they have been
//! answered they find out only behind it. How much comes says nothing of how long that takes, so time bounds it and not bytes: time
//! without a byte, and time in all. What is read is kept nowhere. It is read beside all else, in the time that a turn has for
//! reading. So many connections part at a time; of more the one that has parted for longest is closed, and all of them give way where
//! there is no room for those that come.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::future::poll_fn;
use std::io;
use std::rc::Rc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use crate::clock::Millis;
use crate::connection::{Link, Registered};
use crate::counters::add;
use crate::http1::FIRST_WORD;
use crate::places::WaitsFor;

/// How long a connection is read on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parting {
    /// Without a byte.
    pub quiet: Duration,
    /// In all.
    pub time: Duration,
}

/// How long those are that were refused at once, as there is no room: they have sent little.
pub(crate) const AT_THE_DOOR: Parting =
    Parting { quiet: Duration::from_secs(2), time: Duration::from_secs(2) };

/// The connections that part.
#[derive(Default)]
pub(crate) struct Partings {
    links: RefCell<BTreeMap<u64, Rc<Link>>>,
    next: Cell<u64>,
}

impl Partings {
    /// One more; if there are too many the first gives way.
    fn begin(&self, link: &Rc<Link>, most: usize) -> Among<'_> {
        let number = self.next.replace(self.next.get() + 1);
        let mut links = self.links.borrow_mut();
        while links.len() >= most.max(1) {
            links.pop_first().into_iter().for_each(|(_, first)| first.give_way());
        }
        links.insert(number, Rc::clone(link));
        Among { all: self, number }
    }
}

/// A connection among those that part; leaves them when dropped.
struct Among<'a> {
    all: &'a Partings,
    number: u64,
}

impl Drop for Among<'_> {
    fn drop(&mut self) {
        self.all.links.borrow_mut().remove(&self.number);
    }
}

/// When a connection is closed that is read on.
struct End {
    parting: Parting,
    latest: Millis,
    /// Its listener drains, and does not wait long.
    is_hurried: bool,
}

impl End {
    /// The deadline from now on.
    fn next(&mut self, place: &Registered) -> Millis {
        let clock = &place.shared.clock;
        if place.link.is_draining() && !self.is_hurried {
            self.is_hurried = true;
            self.latest = self.latest.min(clock.after(FIRST_WORD));
        }
        clock.after(self.parting.quiet).min(self.latest)
    }
}

/// Reads what nobody looks at any more by `drain`, until the client ends or has no more time. The sending side has been shut down.
pub(crate) async fn read_on(
    place: &Registered,
    parting: Parting,
    mut drain: impl FnMut(&mut Context<'_>, &mut [u8]) -> Poll<io::Result<usize>>,
) {
    let shared = &place.shared;
    let _among = shared.partings.begin(&place.link, shared.limits().max_parting);
    place.wait(WaitsFor::Farewell);
    let mut end = End { parting, latest: shared.clock.after(parting.time), is_hurried: false };
    place.set_deadline(end.next(place));
    poll_fn(|context| {
        if place.link.is_aborted() || place.link.take_expired() {
            return Poll::Ready(());
        }
        if place.link.is_draining() && !end.is_hurried {
            place.set_deadline(end.next(place));
        }
        shared.with_read_buffer(|buffer| {
            loop {
                ready!(shared.poll_may_read(&place.link.last_read, context));
                let Ok(read @ 1..) = ready!(drain(context, buffer)) else { return Poll::Ready(()) };
                add(&shared.tally.bytes_in, read);
                shared.have_read(&place.link.last_read, read, buffer.len());
                place.set_deadline(end.next(place));
            }
        })
    })
    .await;
}
