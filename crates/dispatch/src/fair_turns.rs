//! Requests that wait for the inline lane, endpoint by endpoint.
//!
//! Each endpoint has a queue, and the endpoints take turns: one that has run for its slice goes behind the others. So many
//! requests for what takes long keep those for what is quick waiting for a slice of each, not for all of them.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// A request that waits for its turn.
#[derive(Debug)]
pub struct Turn<A> {
    /// To be run.
    pub arrived: A,
    /// The first endpoint that is asked.
    pub endpoint: usize,
    /// When it has come.
    pub since: Instant,
}

/// All that wait.
#[derive(Debug)]
pub struct FairTurns<A> {
    /// By endpoint.
    queues: Vec<VecDeque<Turn<A>>>,
    /// Endpoints for which something waits. The first has its turn.
    ring: VecDeque<usize>,
    /// For how long the first has run in its turn.
    spent: Duration,
}

/// How long an endpoint runs before another has its turn.
pub const SLICE: Duration = Duration::from_micros(250);

impl<A> Default for FairTurns<A> {
    fn default() -> Self {
        Self { queues: Vec::new(), ring: VecDeque::new(), spent: Duration::ZERO }
    }
}

impl<A> FairTurns<A> {
    /// Whether nothing waits.
    pub fn is_empty(&self) -> bool {
        self.ring.is_empty()
    }

    /// Takes a request in, behind those of its endpoint.
    pub fn push(&mut self, waiting: Turn<A>) {
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
    pub fn pop(&mut self) -> Option<Turn<A>> {
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
    pub fn take_all(&mut self) -> impl Iterator<Item = Turn<A>> {
        let queues = std::mem::take(self).queues;
        queues.into_iter().flatten()
    }
}
