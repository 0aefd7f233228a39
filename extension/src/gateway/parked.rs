//! Requests whose answer waits for rows of a queue: [`crate::queue::later`]. They occupy no executor.
//!
//! There may be thousands, and the loop asks at each of its turns: so those that wait for the same stand together, and
//! times are looked at only when one may be over.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use ::gateway::{Arrived, Ticket};

use crate::queue::later::Later;
use crate::shared::shared;

/// What waits for rows.
#[derive(Default)]
pub struct Parked {
    requests: HashMap<Awaited, Vec<Request>>,
    /// No time is over before this one; none if nothing waits.
    due: Option<Instant>,
}

/// What a request waits for: more arrivals of a queue than these.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Awaited {
    /// The queue's entry in shared memory.
    queue: u32,
    arrivals: u64,
}

/// A request that waits.
pub struct Request {
    /// To be run again.
    pub arrived: Arrived,
    /// Its gate in the exchange.
    pub gate: u32,
    /// The answer if no rows come.
    pub answer: Vec<u8>,
    /// When that is sent.
    pub until: Instant,
    since: Instant,
}

/// What has become of a request that waited.
pub enum Ended {
    /// There may be rows.
    Again(Request),
    /// The time is over.
    Answered(Request),
}

/// After this time a request is run again in any case: a lease or a delay may be over, which no commit tells.
const AGAIN: Duration = Duration::from_secs(1);
/// Between two looks at the times: no request is late by more.
const PAUSE: Duration = Duration::from_millis(5);

impl Awaited {
    fn has_come(&self) -> bool {
        shared().queues.entry(self.queue as usize).arrivals() != self.arrivals
    }
}

impl Request {
    fn due(&self) -> Instant {
        self.until.min(self.since + AGAIN)
    }

    fn end(self, now: Instant, hurry: bool) -> Ended {
        if hurry || now >= self.until { Ended::Answered(self) } else { Ended::Again(self) }
    }
}

impl Parked {
    /// Takes a request in, for the gateway of this number. It may have waited before, `until` some time.
    pub fn park(
        &mut self,
        gateway: usize,
        later: Later,
        until: Option<Instant>,
        (arrived, gate): (Arrived, u32),
        answer: Vec<u8>,
    ) {
        let since = Instant::now();
        let wait = since + Duration::from_millis(later.milliseconds.into());
        let until = until.unwrap_or(wait).min(wait);
        // First the call, then the look at the arrivals in `end`: no arrival between is missed.
        shared().queues.entry(later.queue as usize).call_gateway(gateway);
        let request = Request { arrived, gate, answer, until, since };
        self.due = Some(self.due.map_or(request.due(), |due| due.min(request.due())));
        let awaited = Awaited { queue: later.queue, arrivals: later.arrivals };
        self.requests.entry(awaited).or_default().push(request);
    }

    /// How long the first of them waits yet.
    pub fn patience(&self) -> Option<Duration> {
        Some(self.due?.saturating_duration_since(Instant::now()))
    }

    /// Those that wait no longer. With `hurry` nobody does.
    pub fn end(&mut self, hurry: bool) -> Vec<Ended> {
        let Some(due) = self.due else { return Vec::new() };
        let now = Instant::now();
        let found = self.requests.extract_if(|awaited, _| hurry || awaited.has_come());
        let mut ended: Vec<Request> = found.flat_map(|(_, requests)| requests).collect();
        if now >= due || self.requests.is_empty() {
            self.end_the_late(now, &mut ended);
        }
        ended.into_iter().map(|request| request.end(now, hurry)).collect()
    }

    /// Looks at all times.
    fn end_the_late(&mut self, now: Instant, ended: &mut Vec<Request>) {
        self.requests.retain(|_, requests| {
            ended.extend(requests.extract_if(.., |request| now >= request.due()));
            !requests.is_empty()
        });
        let first = self.requests.values().flatten().map(Request::due).min();
        self.due = first.map(|first| first.max(now + PAUSE));
    }

    /// Drops the request of a client that has gone. False if it is not here.
    pub fn forget(&mut self, ticket: Ticket) -> bool {
        let is_its = |request: &Request| request.arrived.ticket == ticket;
        self.requests.values_mut().any(|requests| {
            let place = requests.iter().position(is_its);
            place.map(|place| requests.remove(place)).is_some()
        })
    }
}
