//! Requests that wait for the inline lane, endpoint by endpoint.
//!
//! Each endpoint has a queue, and the endpoints take turns: one that has run for its slice goes behind the others. So many
//! requests for what takes long keep those for what is quick waiting for a slice of each, not for all of them.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use ::gateway::Arrived;

/// A request that waits.
pub struct Waiting {
    /// To be run.
    pub arrived: Arrived,
    /// The first endpoint that is asked.
    pub endpoint: usize,
    /// When it has come.
    pub since: Instant,
}

/// All that wait.
#[derive(Default)]
pub struct FairTurns {
    /// By endpoint.
    queues: Vec<VecDeque<Waiting>>,
    /// Endpoints for which something waits. The first has its turn.
    ring: VecDeque<usize>,
    /// For how long the first has run in its turn.
    spent: Duration,
}

/// How long an endpoint runs before another has its turn.
const SLICE: Duration = Duration::from_micros(250);

impl FairTurns {
    /// Whether nothing waits.
    pub fn is_empty(&self) -> bool {
        self.ring.is_empty()
    }

    /// Takes a request in, behind those of its endpoint.
    pub fn push(&mut self, waiting: Waiting) {
        let endpoint = waiting.endpoint;
        if self.queues.len() <= endpoint {
            self.queues.resize_with(endpoint + 1, VecDeque::new);
        }
        let queue = &mut self.queues[endpoint];
        if queue.is_empty() {
            self.ring.push_back(endpoint);
        }
        queue.push_back(waiting);
    }

    /// The endpoint whose turn it is.
    pub fn next(&self) -> Option<usize> {
        self.ring.front().copied()
    }

    /// Its first request.
    pub fn pop(&mut self) -> Option<Waiting> {
        let queue = &mut self.queues[*self.ring.front()?];
        let popped = queue.pop_front();
        if queue.is_empty() {
            self.end_turn();
        }
        popped
    }

    /// The request that was taken last, of this endpoint, has run for so long.
    pub fn spent(&mut self, endpoint: usize, time: Duration) {
        if self.next() != Some(endpoint) {
            return;
        }
        self.spent += time;
        if self.spent >= SLICE {
            self.end_turn();
        }
    }

    fn end_turn(&mut self) {
        self.spent = Duration::ZERO;
        if let Some(first) = self.ring.pop_front()
            && !self.queues[first].is_empty()
        {
            self.ring.push_back(first);
        }
    }

    /// Gives up all that waits.
    pub fn take_all(&mut self) -> impl Iterator<Item = Waiting> {
        let queues = std::mem::take(self).queues;
        queues.into_iter().flatten()
    }
}
