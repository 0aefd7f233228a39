//! Requests whose answer waits for rows of a queue. They occupy no executor.
//!
//! There may be thousands, and the loop asks at each of its turns: so those of a queue stand together, and their times are
//! looked at only when one may be over. What happens to them is decided in `line.rs`.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use crate::line::Line;
use crate::reader::{Arrivals, Ended, PAUSE, Reader, Waited};
use crate::{Arrival, Later, REQUEST, Ticket, TicketMap};

/// What waits for rows.
#[derive(Debug)]
pub struct Parked<A> {
    /// By the number of the queue.
    lines: HashMap<u32, Line<A>>,
    /// In which of them each stands.
    places: TicketMap<u32>,
    /// Bytes that they hold.
    held: usize,
    /// Nothing is due before; none if nothing waits.
    due: Option<Instant>,
}

impl<A: Arrival> Reader<A> {
    fn size(&self) -> usize {
        size(&self.arrived, &self.answer)
    }
}

fn size(arrived: &impl Arrival, answer: &[u8]) -> usize {
    REQUEST + arrived.bytes() + answer.len()
}

/// Requests that one look ends at most, over all queues, each of which has the same share. A turn takes a millisecond or two for
/// them.
const ENDED: usize = 512;

impl<A> Default for Parked<A> {
    fn default() -> Self {
        Self { lines: HashMap::new(), places: TicketMap::default(), held: 0, due: None }
    }
}

impl<A: Arrival> Parked<A> {
    /// Whether another request finds room, where all may hold so many bytes.
    pub fn has_room(&self, arrived: &A, answer: &[u8], limit: usize) -> bool {
        self.held + size(arrived, answer) <= limit
    }

    /// Takes a request in at this time, which may have waited before.
    pub fn park(
        &mut self,
        mut later: Later,
        waited: Option<Waited>,
        (arrived, gate): (A, u32),
        answer: Vec<u8>,
        queues: &impl Arrivals,
        since: Instant,
    ) {
        let wait = since + Duration::from_millis(later.milliseconds.into());
        // Whoever says that it has looked at a time at which it has not would be sent to look again at once, and for ever.
        let at_least = waited.as_ref().map_or(0, |waited| waited.arrivals);
        later.arrivals = later.arrivals.max(at_least).min(queues.arrivals(later.queue));
        let (until, look) = waited.map_or((wait, None), |waited| (waited.until.min(wait), waited.look));
        let request = Reader { arrived, gate, answer, until, since };
        self.held += request.size();
        self.places.insert(request.arrived.ticket(), later.queue);
        self.lines.entry(later.queue).or_insert_with(|| Line::new(&later, since)).push(request, &later, look);
        self.due = Some(since);
    }

    /// How long the first of them waits yet.
    pub fn patience(&self, now: Instant) -> Option<Duration> {
        Some(self.due?.saturating_duration_since(now))
    }

    /// Those that wait no longer, as many as one turn may end. With `hurry` nobody does.
    pub fn end(&mut self, hurry: bool, queues: &impl Arrivals, now: Instant) -> Vec<Ended<A>> {
        let mut ended = Vec::new();
        if self.lines.is_empty() {
            return ended;
        }
        let share = (ENDED / self.lines.len()).max(1);
        for (queue, line) in &mut self.lines {
            if hurry {
                line.answer(share, &mut ended);
            } else {
                line.follow(*queue, queues, now, share, &mut ended);
            }
        }
        self.lines.retain(|_, line| !line.is_empty());
        for Ended::Again(request, _) | Ended::Answered(request) in &ended {
            self.held -= request.size();
            self.places.remove(&request.arrived.ticket());
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
