//! Work: a request that an executor runs.

use std::time::Duration;

use crate::executor::Executor;
use crate::layout::{BLOCK, INLINE};
use crate::slot::{Slot, Ticket};
use crate::stack::NONE;

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

impl Executor {
    /// A request's bytes: where they lie if they lie together (within [`BLOCK`] bytes), or copied to
    /// `scratch`. Empty once the response has begun.
    pub fn request<'a>(&'a self, work: &Work, scratch: &'a mut Vec<u8>) -> &'a [u8] {
        if self.current != Some(work.ticket) || work.handed_over.is_some() {
            return &[];
        }
        let exchange = &self.peer.exchange;
        let slot = exchange.slot(work.ticket.slot);
        let (length, chain) = (slot.request_length.get() as usize, slot.request_chain.get());
        if chain == NONE {
            debug_assert!(length <= INLINE);
            // SAFETY: this executor runs the slot and begins no response while the slice lives.
            return unsafe { exchange.inline[work.ticket.slot as usize].bytes(length) };
        }
        if length <= BLOCK {
            // SAFETY: as above; the block is the request's.
            return unsafe { exchange.blocks[chain as usize].bytes(length) };
        }
        scratch.clear();
        exchange.read_chain(chain, length, scratch);
        scratch
    }
}
