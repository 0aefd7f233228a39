//! Requests whose answer waits for rows of a queue: [`crate::queue::later`]. They occupy no executor.

use std::time::{Duration, Instant};

use ::gateway::{Arrived, Ticket};

use crate::queue::later::Later;
use crate::shared::shared;

/// What waits for rows.
#[derive(Default)]
pub struct Parked {
    requests: Vec<Request>,
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
    later: Later,
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
        // First the call, then the look at the arrivals in `next`: no arrival between is missed.
        shared().queues.entry(later.queue as usize).call_gateway(gateway);
        self.requests.push(Request { arrived, gate, answer, until, later, since });
    }

    /// How long the first of them waits yet.
    pub fn patience(&self) -> Option<Duration> {
        let first = self.requests.iter().map(|request| request.until.min(request.since + AGAIN)).min()?;
        Some(first.saturating_duration_since(Instant::now()))
    }

    /// The next that waits no longer. With `hurry` nobody does.
    pub fn next(&mut self, hurry: bool) -> Option<Ended> {
        if self.requests.is_empty() {
            return None;
        }
        let now = Instant::now();
        let is_over = |request: &Request| hurry || now >= request.until;
        let may_find = |request: &Request| {
            let arrivals = shared().queues.entry(request.later.queue as usize).arrivals();
            arrivals != request.later.arrivals || now >= request.since + AGAIN
        };
        let place = self.requests.iter().position(|request| is_over(request) || may_find(request))?;
        let request = self.requests.remove(place);
        Some(if is_over(&request) { Ended::Answered(request) } else { Ended::Again(request) })
    }

    /// Drops the request of a client that has gone. False if it is not here.
    pub fn forget(&mut self, ticket: Ticket) -> bool {
        let place = self.requests.iter().position(|request| request.arrived.ticket == ticket);
        place.map(|place| self.requests.remove(place)).is_some()
    }
}
