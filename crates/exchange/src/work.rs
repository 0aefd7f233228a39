//! Work: a request that an executor runs.

use std::time::Duration;

use crate::slot::{Slot, Ticket};

/// A request that an executor has taken, until it has responded or asks for the next one.
#[derive(Debug)]
pub struct Work {
    pub(crate) ticket: Ticket,
    /// Bytes of the response that are handed over, once it has begun.
    pub(crate) handed_over: Option<usize>,
    waited: Duration,
    gate: u32,
    gateway: u32,
}

impl Work {
    pub(crate) fn new(ticket: Ticket, slot: &Slot) -> Work {
        let waited = slot.started.get().saturating_sub(slot.submitted.get());
        Work {
            ticket,
            handed_over: None,
            waited: Duration::from_nanos(waited),
            gate: slot.gate.get(),
            gateway: slot.gateway.get(),
        }
    }

    /// How long it waited in queues.
    pub fn waited(&self) -> Duration {
        self.waited
    }

    /// Its gate, or [`NO_GATE`](crate::NO_GATE).
    pub fn gate(&self) -> u32 {
        self.gate
    }

    /// The gateway that submitted it.
    pub fn gateway(&self) -> u32 {
        self.gateway
    }
}
