//! Completions: a response, or a part of one, on its way out of the exchange.

use std::time::Duration;

use crate::layout::INLINE;
use crate::peer::Peer;
use crate::slot::{Phase, Slot, Ticket};
use crate::stack::NONE;

/// How a request ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The executor responded, with this code of the user's own.
    Answered(u32),
    /// The executor left without a (complete) response.
    Died,
}

/// A response or a part of it. When it is dropped its place is free again: if more comes, the executor
/// continues; if not, the ticket ends.
#[derive(Debug)]
pub struct Completion<'g> {
    /// Those of the gateway, which takes no other completion meanwhile.
    peer: &'g Peer,
    gateway: u32,
    ticket: Ticket,
    phase: Phase,
}

impl<'g> Completion<'g> {
    pub(crate) fn new(peer: &'g Peer, gateway: u32, ticket: Ticket, phase: Phase) -> Self {
        Completion { peer, gateway, ticket, phase }
    }

    fn slot(&self) -> &'static Slot {
        self.peer.exchange.slot(self.ticket.slot)
    }

    /// Whose response it is.
    pub fn ticket(&self) -> Ticket {
        self.ticket
    }

    /// How it ended. Known with the first part, but a later one may say [`Outcome::Died`].
    pub fn outcome(&self) -> Outcome {
        match self.phase {
            Phase::Died => Outcome::Died,
            _ => Outcome::Answered(self.slot().code.get()),
        }
    }

    /// True if this is not all: another completion of the same ticket comes.
    pub fn more(&self) -> bool {
        self.phase == Phase::Part
    }

    /// Bytes that [`append_to`](Completion::append_to) would append now.
    pub fn length(&self) -> usize {
        match self.phase {
            Phase::Died => 0,
            _ => self.slot().response_length.get() as usize,
        }
    }

    /// Appends the bytes, and frees their blocks. A second call appends nothing.
    pub fn append_to(&mut self, out: &mut Vec<u8>) {
        let length = self.length();
        let exchange = &self.peer.exchange;
        let inline = length.min(INLINE);
        out.reserve(length);
        // SAFETY: the slot was popped from the completion queue: this gateway holds its areas.
        out.extend_from_slice(unsafe { exchange.inline[self.ticket.slot as usize].bytes(inline) });
        exchange.read_chain(self.slot().response_chain.get(), length - inline, out);
        self.empty();
    }

    /// How long the request waited for an executor.
    pub fn waited(&self) -> Duration {
        let slot = self.slot();
        Duration::from_nanos(slot.started.get().saturating_sub(slot.submitted.get()))
    }

    /// How long it ran, until it handed over these bytes.
    pub fn ran(&self) -> Duration {
        let slot = self.slot();
        Duration::from_nanos(slot.finished.get().saturating_sub(slot.started.get()))
    }

    fn empty(&mut self) {
        let slot = self.slot();
        self.peer.exchange.free_chain(slot.response_chain.get());
        slot.response_chain.set(NONE);
        slot.response_length.set(0);
    }

    /// Lets the executor hand over more.
    fn resume(&mut self) {
        self.empty();
        let slot = self.slot();
        // Read now: once the phase has turned, the slot may go on to another request.
        let executor = slot.executor.get();
        let peer = self.peer;
        match slot.turn(self.ticket.generation, Phase::Part, Phase::Running) {
            Ok(()) => peer.wakers.executor(executor).notify(),
            // The executor left while this part was being copied: that is the request's last completion.
            Err(_) => peer.exchange.completions(self.gateway).push(self.ticket.slot),
        }
    }
}

impl Drop for Completion<'_> {
    fn drop(&mut self) {
        match self.phase {
            Phase::Part => self.resume(),
            _ => self.peer.exchange.free(self.ticket.slot, self.ticket.generation),
        }
    }
}
