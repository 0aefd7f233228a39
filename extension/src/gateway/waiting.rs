//! Requests for which the exchange has no room yet.
//!
//! Those of each gate stand in a queue of their own: a route that has its share of the exchange keeps no other waiting.

use std::collections::{BTreeMap, VecDeque};
use std::time::{Duration, Instant};

use ::gateway::{Arrived, Ticket};

use super::parked::Waited;

/// A request that waits.
pub struct Request {
    /// To be submitted.
    pub arrived: Arrived,
    /// Its gate in the exchange.
    pub gate: u32,
    /// Since when it waits for an executor.
    pub since: Instant,
    /// If its answer has waited for rows before.
    pub waited: Option<Waited>,
}

/// All that wait.
#[derive(Default)]
pub struct Waiting {
    /// By gate, each in the order of arrival; none is empty.
    queues: BTreeMap<u32, VecDeque<Request>>,
}

impl Waiting {
    /// Whether none waits.
    pub fn is_empty(&self) -> bool {
        self.queues.is_empty()
    }

    /// Takes a request in, behind those of its gate.
    pub fn push(&mut self, request: Request) {
        self.queues.entry(request.gate).or_default().push_back(request);
    }

    /// Takes the request in again that was given out last.
    pub fn put_back(&mut self, request: Request) {
        self.queues.entry(request.gate).or_default().push_front(request);
    }

    /// Whose turn it is: the gate whose first request has waited longest, of those that may be chosen.
    pub fn first(&self, may_be: impl Fn(u32) -> bool) -> Option<u32> {
        let fronts = self.queues.iter().filter(|(gate, _)| may_be(**gate));
        let first = fronts.min_by_key(|(_, queue)| queue.front().map(|request| request.since));
        first.map(|(&gate, _)| gate)
    }

    /// The first request of a gate.
    pub fn pop(&mut self, gate: u32) -> Option<Request> {
        self.take(gate, VecDeque::pop_front)
    }

    /// One that has waited for longer than this.
    pub fn late(&mut self, patience: Duration) -> Option<Request> {
        let is_late = |request: &Request| request.since.elapsed() > patience;
        let (&gate, _) = self.queues.iter().find(|(_, queue)| queue.front().is_some_and(is_late))?;
        self.pop(gate)
    }

    /// Takes out the request of a client that has gone. None if it is not here.
    pub fn forget(&mut self, ticket: Ticket) -> Option<Request> {
        let place =
            |queue: &VecDeque<Request>| queue.iter().position(|request| request.arrived.ticket == ticket);
        let found = self.queues.iter().find_map(|(&gate, queue)| Some((gate, place(queue)?)));
        let (gate, place) = found?;
        self.take(gate, |queue| queue.remove(place))
    }

    fn take(
        &mut self,
        gate: u32,
        which: impl FnOnce(&mut VecDeque<Request>) -> Option<Request>,
    ) -> Option<Request> {
        let queue = self.queues.get_mut(&gate)?;
        let taken = which(queue);
        if queue.is_empty() {
            self.queues.remove(&gate);
        }
        taken
    }
}
