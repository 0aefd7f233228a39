//! Those who wait for rows of one queue, and who of them looks again, and when.
//!
//! Most are content with any row. Of those one is sent to look when rows may be free, and for each that finds something
//! another follows, two as long as so many rows may be there; one that finds nothing ends it, as nothing was free when
//! it began to look. So an idle queue costs nothing however many wait, and a commit costs as many looks as it answers, and one
//! more. Whatever else becomes of a look, its [`Look`] is dropped and another follows: no wake-up is lost with a client that
//! goes or an executor that ends.
//!
//! The others look for something of their own, and all of them look again each time.

use std::collections::BTreeSet;
use std::rc::Rc;
use std::time::{Duration, Instant};

use crate::look::{Look, Looks};
use crate::reader::{Arrivals, Ended, PAUSE, Reader, Waited};
use crate::{Arrival, Later, Ticket, TicketQueues};

/// Those who wait for rows of one queue.
#[derive(Debug)]
pub(crate) struct Line<A> {
    /// Those who wait, with the arrivals before they looked. The turn is first at the front.
    standing: TicketQueues<Wish, (u64, Reader<A>)>,
    /// When each is answered at last.
    times: BTreeSet<(Instant, Ticket)>,
    /// Arrivals after which one of those that are alike has looked, or will.
    seen: u64,
    /// Arrivals after which all of the others have looked.
    own_seen: Option<u64>,
    looks: Rc<Looks>,
    /// When a row may become free by itself.
    free_at: Option<Instant>,
    /// Whether that is to be found out.
    is_stale: bool,
    /// When one of those that are alike looked last.
    looked: Instant,
    /// When all of the others were sent to look last.
    own_looked: Instant,
    /// Those that wait since before are yet to be sent for that.
    own_before: Option<Instant>,
}

/// What somebody waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Wish {
    /// Content with any row.
    Alike,
    /// Something of their own.
    Own,
}

/// After this time somebody looks in any case: who has told nobody would be a fault.
const REST: Duration = Duration::from_secs(30);
/// Time between two looks for something of one's own that no commit gives reason for: rows may be free that nobody wants.
const OWN_PAUSE: Duration = Duration::from_secs(1);
/// How much later than a row is free somebody looks for it: clocks differ.
const MARGIN: Duration = Duration::from_millis(1);

impl<A: Arrival> Line<A> {
    /// Nobody yet: one that waits like this will come.
    pub(crate) fn new(later: &Later, now: Instant) -> Line<A> {
        Line {
            standing: TicketQueues::default(),
            times: BTreeSet::new(),
            seen: later.arrivals,
            own_seen: None,
            looks: Rc::default(),
            free_at: None,
            is_stale: true,
            looked: now,
            own_looked: now,
            own_before: None,
        }
    }

    /// Whether nobody waits.
    pub(crate) fn is_empty(&self) -> bool {
        self.standing.is_empty()
    }

    /// Takes in a request that has looked and found nothing.
    pub(crate) fn push(&mut self, request: Reader<A>, later: &Later, look: Option<Look>) {
        let ticket = request.arrived.ticket();
        self.times.insert((request.until, ticket));
        self.is_stale = true;
        if !later.any_row {
            self.standing.push_back(Wish::Own, ticket, (later.arrivals, request));
            self.own_seen = None;
            return;
        }
        self.looked = request.since;
        if later.arrivals < self.seen {
            // What came after it has begun to look may have found nobody here.
            self.looks.following.update(|count| count + 1);
        }
        self.seen = self.seen.max(later.arrivals);
        match look {
            Some(look) => {
                look.find_nothing();
                self.standing.push_front(Wish::Alike, ticket, (later.arrivals, request));
            }
            None => self.standing.push_back(Wish::Alike, ticket, (later.arrivals, request)),
        }
    }

    /// Sends to look whose turn it is, and answers those whose time is over: so many at most, the others later.
    pub(crate) fn follow(
        &mut self,
        queue: u32,
        queues: &impl Arrivals,
        now: Instant,
        at_most: usize,
        ended: &mut Vec<Ended<A>>,
    ) {
        let full = ended.len() + at_most;
        // First the call, then the look at arrivals and times: no change between is missed.
        self.is_stale |= queues.call(queue);
        self.learn_time(queue, queues, now);
        self.end_the_late(now, full, ended);
        let arrivals = queues.arrivals(queue);
        self.send_alike(arrivals, now, full, ended);
        self.send_own(arrivals, now, full, ended);
    }

    /// Finds out when a row may become free by itself. While that cannot be told, it is tried again.
    fn learn_time(&mut self, queue: u32, queues: &impl Arrivals, now: Instant) {
        if self.is_stale
            && let Some(next) = queues.next_free(queue)
        {
            self.free_at = next.map(|time| now + time + MARGIN);
            self.is_stale = false;
        }
    }

    fn end_the_late(&mut self, now: Instant, full: usize, ended: &mut Vec<Ended<A>>) {
        while ended.len() < full
            && let Some(&(until, ticket)) = self.times.first()
            && until <= now
        {
            self.times.pop_first();
            ended.extend(self.forget(ticket).map(Ended::Answered));
        }
    }

    fn send_alike(&mut self, arrivals: u64, now: Instant, full: usize, ended: &mut Vec<Ended<A>>) {
        let shared = Rc::clone(&self.looks);
        let mut looks = shared.following.take();
        if self.standing.has_none(Wish::Alike) {
            // Whoever comes has looked already.
            return;
        }
        if arrivals != self.seen {
            shared.rows.update(|rows| rows + arrivals.saturating_sub(self.seen));
            self.seen = arrivals;
            looks += 1;
        }
        if looks == 0 && self.alike_due().is_some_and(|due| now >= due) {
            looks = 1;
        }
        let room = full.saturating_sub(ended.len());
        // They follow in the next turn.
        shared.following.set(looks.saturating_sub(room));
        looks = looks.min(room);
        if looks == 0 {
            return;
        }
        let rows = shared.rows.get().saturating_sub(looks as u64);
        let more = looks.min(usize::try_from(rows).unwrap_or(usize::MAX));
        shared.rows.set(rows - more as u64);
        self.looked = now;
        for _ in 0..looks + more {
            let Some((_, request)) = self.standing.pop(Wish::Alike) else { return };
            self.times.remove(&(request.until, request.arrived.ticket()));
            let waited = Waited { until: request.until, look: Some(Look::new(&shared)), arrivals };
            ended.push(Ended::Again(request, waited));
        }
    }

    fn send_own(&mut self, arrivals: u64, now: Instant, full: usize, ended: &mut Vec<Ended<A>>) {
        let all = self.own_due().is_some_and(|due| now >= due);
        if !all && self.own_seen == Some(arrivals) {
            return;
        }
        if all {
            self.own_looked = now;
            self.own_before = Some(now);
        }
        let room = full.saturating_sub(ended.len());
        let looks = |seen: u64, request: &Reader<A>| {
            seen != arrivals || self.own_before.is_some_and(|all| request.since < all)
        };
        let own = self.standing.iter(Wish::Own);
        let chosen = own.filter(|(_, (seen, request))| looks(*seen, request)).map(|(ticket, _)| ticket);
        let chosen: Vec<Ticket> = chosen.take(room).collect();
        self.own_seen = (chosen.len() < room).then_some(arrivals);
        for ticket in chosen {
            let Some(request) = self.forget(ticket) else { continue };
            let waited = Waited { until: request.until, look: None, arrivals };
            ended.push(Ended::Again(request, waited));
        }
    }

    /// Answers so many whatever their time.
    pub(crate) fn answer(&mut self, at_most: usize, ended: &mut Vec<Ended<A>>) {
        for _ in 0..at_most {
            let Some(&(_, ticket)) = self.times.first() else { return };
            ended.extend(self.forget(ticket).map(Ended::Answered));
        }
    }

    /// When one of those that are alike looks again though nobody has said anything.
    fn alike_due(&self) -> Option<Instant> {
        let waits = !self.standing.has_none(Wish::Alike) && self.looks.under_way.get() == 0;
        let rested = self.looked + REST;
        let due = self.free_at.map_or(rested, |free_at| free_at.max(self.looked + PAUSE).min(rested));
        waits.then_some(due)
    }

    /// The same for the others, all of them.
    fn own_due(&self) -> Option<Instant> {
        let rested = self.own_looked + REST;
        let due = self.free_at.map_or(rested, |free_at| free_at.max(self.own_looked + OWN_PAUSE).min(rested));
        (!self.standing.has_none(Wish::Own)).then_some(due)
    }

    /// When somebody looks again or is answered, whatever is said.
    pub(crate) fn due(&self, now: Instant) -> Instant {
        let stale = self.is_stale.then_some(now);
        let first_until = self.times.first().map(|(until, _)| *until);
        let times = [first_until, stale, self.alike_due(), self.own_due()];
        times.into_iter().flatten().min().unwrap_or(now)
    }

    /// Takes out the request of a client that has gone, or whose wait is over. None if it is not here.
    pub(crate) fn forget(&mut self, ticket: Ticket) -> Option<Reader<A>> {
        let (_, (_, request)) = self.standing.remove(ticket)?;
        self.times.remove(&(request.until, ticket));
        Some(request)
    }
}
