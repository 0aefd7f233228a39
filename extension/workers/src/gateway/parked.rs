//! Requests whose answer waits for rows of a queue: [`request::later`]. They occupy no executor.
//!
//! There may be thousands, and the loop asks at each of its turns: so those of a queue stand together, and their times are
//! looked at only when one may be over. What happens to them is decided in [`super::line`].

use std::collections::HashMap;
use std::time::{Duration, Instant};

use ::gateway::{Arrived, Ticket, TicketMap};
use queue::memory::queues;
use request::later::Later;

use super::line::{Line, Turn};
use super::waiting::REQUEST;

/// What waits for rows.
pub struct Parked {
    /// This gateway's number.
    gateway: usize,
    /// By the number of the queue's entry in shared memory.
    lines: HashMap<u32, Line>,
    /// In which of them each stands.
    places: TicketMap<u32>,
    /// Bytes that they hold.
    held: usize,
    /// Nothing is due before; none if nothing waits.
    due: Option<Instant>,
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
    /// Since when it waits, this time.
    pub since: Instant,
}

impl Request {
    fn size(&self) -> usize {
        size(&self.arrived, &self.answer)
    }
}

fn size(arrived: &Arrived, answer: &[u8]) -> usize {
    REQUEST + arrived.request.len() + answer.len()
}

/// What a request that waited takes with it when it runs again.
pub struct Waited {
    /// When it is answered at last.
    pub until: Instant,
    /// If others of its queue stand back for it.
    pub turn: Option<Turn>,
    /// The queue's arrivals before it was sent to look again.
    pub arrivals: u64,
}

/// What has become of a request that waited.
pub enum Ended {
    /// There may be rows.
    Again(Request, Waited),
    /// The time is over.
    Answered(Request),
}

/// Between two looks at the times: no request is late by more.
pub const PAUSE: Duration = Duration::from_millis(5);
/// Requests that one look ends at most, over all queues, each of which has the same share. A turn takes a millisecond or two for
/// them.
const ENDED: usize = 512;

impl Parked {
    /// None yet, in the gateway of this number.
    pub fn new(gateway: usize) -> Parked {
        Parked { gateway, lines: HashMap::new(), places: TicketMap::default(), held: 0, due: None }
    }

    /// Whether another request finds room, where all may hold so many bytes.
    pub fn has_room(&self, arrived: &Arrived, answer: &[u8], limit: usize) -> bool {
        self.held + size(arrived, answer) <= limit
    }

    /// Takes a request in, which may have waited before.
    pub fn park(
        &mut self,
        mut later: Later,
        waited: Option<Waited>,
        (arrived, gate): (Arrived, u32),
        answer: Vec<u8>,
    ) {
        let since = Instant::now();
        let wait = since + Duration::from_millis(later.milliseconds.into());
        // Whoever says that it has looked at a time at which it has not would be sent to look again at once, and for ever.
        let at_least = waited.as_ref().map_or(0, |waited| waited.arrivals);
        later.arrivals = later.arrivals.max(at_least).min(queues().entry(later.queue as usize).arrivals());
        let (until, turn) = waited.map_or((wait, None), |waited| (waited.until.min(wait), waited.turn));
        let request = Request { arrived, gate, answer, until, since };
        self.held += request.size();
        self.places.insert(request.arrived.ticket, later.queue);
        self.lines.entry(later.queue).or_insert_with(|| Line::new(&later)).push(request, &later, turn);
        self.due = Some(since);
    }

    /// How long the first of them waits yet.
    pub fn patience(&self) -> Option<Duration> {
        Some(self.due?.saturating_duration_since(Instant::now()))
    }

    /// Those that wait no longer, as many as one turn may end. With `hurry` nobody does.
    pub fn end(&mut self, hurry: bool) -> Vec<Ended> {
        let mut ended = Vec::new();
        if self.lines.is_empty() {
            return ended;
        }
        let now = Instant::now();
        let share = (ENDED / self.lines.len()).max(1);
        for (queue, line) in &mut self.lines {
            if hurry {
                line.answer(share, &mut ended);
            } else {
                line.follow(*queue, self.gateway, now, share, &mut ended);
            }
        }
        self.lines.retain(|_, line| !line.is_empty());
        for Ended::Again(request, _) | Ended::Answered(request) in &ended {
            self.held -= request.size();
            self.places.remove(&request.arrived.ticket);
        }
        let first = self.lines.values().map(|line| line.due(now)).min();
        self.due = first.map(|first| first.max(now + PAUSE));
        ended
    }

    /// Drops the request of a client that has gone. False if it is not here.
    pub fn forget(&mut self, ticket: Ticket) -> bool {
        let line = self.places.remove(&ticket).and_then(|queue| self.lines.get_mut(&queue));
        let Some(request) = line.and_then(|line| line.forget(ticket)) else { return false };
        self.held -= request.size();
        true
    }
}
