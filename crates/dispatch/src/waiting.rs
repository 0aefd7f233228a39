//! Requests for which the exchange has no room yet.
//!
//! Those of each gate stand in a queue of their own: a route that has its share of the exchange keeps no other waiting.

use std::time::{Duration, Instant};

use crate::{Arrival, Ticket, TicketQueues, Waited};

/// What a request holds beside its bytes while it waits, wherever that is: its stream and its task in the event loop, and its
/// place here.
pub const REQUEST: usize = 5 << 10;

/// A request that waits for room.
#[derive(Debug)]
pub struct Waiter<A> {
    /// To be submitted.
    pub arrived: A,
    /// Its gate in the exchange.
    pub gate: u32,
    /// Since when it waits for an executor.
    pub since: Instant,
    /// If its answer has waited for rows before.
    pub waited: Option<Waited>,
}

impl<A: Arrival> Waiter<A> {
    fn size(&self) -> usize {
        REQUEST + self.arrived.bytes()
    }
}

/// All that wait.
#[derive(Debug)]
pub struct Waiting<A> {
    /// By gate, each in the order of arrival.
    queues: TicketQueues<u32, Waiter<A>>,
    /// Bytes that they hold.
    held: usize,
}

impl<A> Default for Waiting<A> {
    fn default() -> Self {
        Self { queues: TicketQueues::default(), held: 0 }
    }
}

impl<A: Arrival> Waiting<A> {
    /// Whether none waits.
    pub fn is_empty(&self) -> bool {
        self.queues.is_empty()
    }

    /// Whether none of this gate waits.
    pub fn has_none_of(&self, gate: u32) -> bool {
        self.queues.has_none(gate)
    }

    /// Takes a request in, behind those of its gate, if they hold no more than so many bytes together. Gives it back if
    /// not.
    pub fn push(&mut self, request: Waiter<A>, limit: usize) -> Result<(), Waiter<A>> {
        if self.held + request.size() > limit {
            return Err(request);
        }
        self.held += request.size();
        self.queues.push_back(request.gate, request.arrived.ticket(), request);
        Ok(())
    }

    /// Takes the request in again that was given out last.
    pub fn put_back(&mut self, request: Waiter<A>) {
        self.held += request.size();
        self.queues.push_front(request.gate, request.arrived.ticket(), request);
    }

    /// Whose turn it is: the gate whose first request has waited longest, of those that may be chosen.
    pub fn first(&self, may_be: impl Fn(u32) -> bool) -> Option<u32> {
        let fronts = self.queues.fronts().filter(|(gate, _)| may_be(*gate));
        fronts.min_by_key(|(_, request)| request.since).map(|(gate, _)| gate)
    }

    /// The first request of a gate.
    pub fn pop(&mut self, gate: u32) -> Option<Waiter<A>> {
        let request = self.queues.pop(gate)?;
        self.held -= request.size();
        Some(request)
    }

    /// One that has waited for longer than this.
    pub fn late(&mut self, patience: Duration, now: Instant) -> Option<Waiter<A>> {
        let is_late = |request: &Waiter<A>| now.saturating_duration_since(request.since) > patience;
        let (gate, _) = self.queues.fronts().find(|(_, request)| is_late(request))?;
        self.pop(gate)
    }

    /// Takes out the request of a client that has gone. None if it is not here.
    pub fn forget(&mut self, ticket: Ticket) -> Option<Waiter<A>> {
        let (_, request) = self.queues.remove(ticket)?;
        self.held -= request.size();
        Some(request)
    }
}
