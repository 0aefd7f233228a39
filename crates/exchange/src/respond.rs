//! Responding: handing over a response, in parts if it is large.

use crate::clock;
use crate::executor::Executor;
use crate::gather::{self, Gather};
use crate::slot::{Phase, Ticket};
use crate::stack::NONE;
use crate::work::Work;

/// How far a response has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Progress {
    /// All is handed over, or nobody wants it any longer.
    Done,
    /// The gateway copies a part out first. Wait on [`Executor::event_fd`], drain it, then
    /// [`resume`](Executor::resume).
    Wait,
}

impl Executor {
    /// Hands over a response that lies complete in this process's memory, given in parts; `code` is the user's.
    pub fn respond(&mut self, work: &mut Work, parts: &[&[u8]], code: u32) -> Progress {
        if self.current != Some(work.ticket) || work.handed_over.is_some() {
            return Progress::Done;
        }
        let slot = self.peer.exchange.slot(work.ticket.slot);
        // The request is not needed any longer; its blocks may serve the response.
        self.peer.exchange.free_chain(slot.request_chain.get());
        slot.request_chain.set(NONE);
        slot.code.set(code);
        work.handed_over = Some(0);
        self.resume(work, parts)
    }

    /// Continues a response, with the same parts.
    pub fn resume(&mut self, work: &mut Work, parts: &[&[u8]]) -> Progress {
        let Some(done) = work.handed_over.filter(|_| self.current == Some(work.ticket)) else {
            return Progress::Done;
        };
        match self.peer.exchange.slot(work.ticket.slot).state().1 {
            Phase::Part | Phase::DiscardedPart => Progress::Wait,
            Phase::AbandonedRunning => {
                self.end(work.ticket);
                Progress::Done
            }
            _ => self.hand_over(work, parts, done),
        }
    }

    /// Hands over as much as there is room for: the inline area always, and a share of the arena.
    fn hand_over(&mut self, work: &mut Work, parts: &[&[u8]], done: usize) -> Progress {
        let exchange = &self.peer.exchange;
        let (index, slot) = (work.ticket.slot, exchange.slot(work.ticket.slot));
        let mut message = Gather::new(parts, done);
        let inline = exchange.fill_inline(index, &mut message);
        let chain = exchange.fill_chain(&mut message, exchange.response_share());
        slot.response_chain.set(chain.first);
        slot.response_length.set((inline + chain.length) as u32);
        slot.finished.set(clock::now());
        let more = gather::length(parts) - done > inline + chain.length;
        let (phase, progress) =
            if more { (Phase::Part, Progress::Wait) } else { (Phase::Ready, Progress::Done) };
        work.handed_over = Some(done + inline + chain.length);
        self.publish(work.ticket, phase);
        if self.current.is_none() { Progress::Done } else { progress }
    }

    /// Turns a running slot over to its gateway, or frees it if nobody wants it.
    fn publish(&mut self, ticket: Ticket, phase: Phase) {
        let slot = self.peer.exchange.slot(ticket.slot);
        // Read now: once the phase has turned, the slot is the gateway's.
        let gateway = slot.gateway.get();
        if phase != Phase::Part {
            self.forget();
        }
        if slot.turn(ticket.generation, Phase::Running, phase).is_ok() {
            self.peer.complete(gateway, ticket.slot);
        } else {
            self.end(ticket);
        }
    }

    /// This executor runs nothing any longer.
    fn forget(&mut self) {
        self.seat().clear();
        self.current = None;
    }

    /// Frees an abandoned slot that this executor runs.
    fn end(&mut self, ticket: Ticket) {
        self.forget();
        self.peer.exchange.free(ticket.slot, ticket.generation);
    }

    /// Ends a request without a response, or without the rest of one.
    pub(crate) fn die(&mut self, ticket: Ticket) {
        let slot = self.peer.exchange.slot(ticket.slot);
        loop {
            let turned = match slot.state().1 {
                Phase::Running | Phase::AbandonedRunning => {
                    slot.finished.set(clock::now());
                    self.publish(ticket, Phase::Died);
                    return;
                }
                // The slot lies in the completion queue already, or the gateway is copying it.
                Phase::Part => slot.turn(ticket.generation, Phase::Part, Phase::Died),
                Phase::DiscardedPart => slot.turn(ticket.generation, Phase::DiscardedPart, Phase::Discarded),
                _ => Ok(()),
            };
            if turned.is_ok() {
                self.forget();
                return;
            }
        }
    }
}
