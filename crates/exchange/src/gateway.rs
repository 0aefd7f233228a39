//! Gateways: they submit requests and take completions.

use std::time::Duration;

use crate::clock;
use crate::completion::Completion;
use crate::gate::NO_GATE;
use crate::gather::{self, Gather};
use crate::layout::{BLOCK, INLINE};
use crate::peer::Peer;
use crate::region::Exchange;
use crate::seat::Presence;
use crate::slot::{Phase, Ticket};
use crate::stack::NONE;
use crate::wake::{EventFd, Wakers};

/// Why a request was not submitted. Nothing of it is left in the exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Full {
    /// No slot is free: wait until a request ends.
    Slots,
    /// Not enough blocks are free: wait until a request or a large response ends.
    Blocks,
    /// The request is larger than the whole arena: waiting will not help.
    TooLarge,
}

impl std::fmt::Display for Full {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str(match self {
            Full::Slots => "no slot of the exchange is free",
            Full::Blocks => "not enough blocks of the exchange are free",
            Full::TooLarge => "the request is larger than the arena of the exchange",
        })
    }
}

impl std::error::Error for Full {}

/// A process's end of the exchange that submits requests. One process has a number at a time.
#[derive(Debug)]
pub struct Gateway {
    pub(crate) peer: Peer,
    pub(crate) number: u32,
    /// Lanes with requests for which nobody has been woken yet.
    unannounced: Vec<u32>,
}

impl Gateway {
    /// Takes the place of a gateway. Nobody else has it, or who had it has left.
    ///
    /// # Panics
    /// If there is no such place.
    pub fn join(exchange: Exchange, wakers: Wakers, number: u32) -> Gateway {
        exchange.desks[number as usize].set(Presence::Awake);
        Gateway { peer: Peer { exchange, wakers }, number, unannounced: Vec::new() }
    }

    /// The exchange.
    pub fn exchange(&self) -> &Exchange {
        &self.peer.exchange
    }

    /// What to wait on while asleep.
    pub fn event_fd(&self) -> &EventFd {
        self.peer.wakers.gateway(self.number)
    }

    /// Queues a request, given in parts. Call [`flush`](Gateway::flush) once per turn of the loop: until then
    /// nobody is woken for it.
    ///
    /// A gate may serve several lanes; [`NO_GATE`] sets no limit.
    ///
    /// # Errors
    /// If the exchange is full.
    ///
    /// # Panics
    /// If there is no such lane or gate.
    pub fn submit(&mut self, lane: u32, gate: u32, parts: &[&[u8]]) -> Result<Ticket, Full> {
        self.submit_after(Duration::ZERO, lane, gate, parts)
    }

    /// [`Gateway::submit`] for a request that has waited elsewhere already: that counts among what it waits.
    pub fn submit_after(
        &mut self,
        waited: Duration,
        lane: u32,
        gate: u32,
        parts: &[&[u8]],
    ) -> Result<Ticket, Full> {
        let exchange = &self.peer.exchange;
        let queue = exchange.run_queue(lane);
        assert!(gate == NO_GATE || gate < exchange.sizes().gates, "gate {gate}");
        let length = self.checked_length(parts)?;
        let index = exchange.free_slots_stack().pop().ok_or(Full::Slots)?;
        if let Err(full) = self.store_request(index, length, parts) {
            exchange.free_slots_stack().push(index);
            return Err(full);
        }
        let slot = exchange.slot(index);
        slot.lane.set(lane);
        slot.gate.set(gate);
        slot.admitted.set(0);
        slot.gateway.set(self.number);
        slot.response_chain.set(NONE);
        slot.submitted.set(clock::now().saturating_sub(waited.as_nanos() as u64));
        let generation = slot.state().0;
        slot.set(generation, Phase::Queued);
        queue.push(index);
        if !self.unannounced.contains(&lane) {
            self.unannounced.push(lane);
        }
        Ok(Ticket { slot: index, generation })
    }

    fn checked_length(&self, parts: &[&[u8]]) -> Result<u32, Full> {
        let length = gather::length(parts);
        let arena = (self.peer.exchange.sizes().blocks as usize).saturating_mul(BLOCK);
        if length > arena.max(INLINE) {
            return Err(Full::TooLarge);
        }
        length.try_into().map_err(|_| Full::TooLarge)
    }

    /// Copies a request into a slot that this gateway has just taken. It lies in one place if it can.
    fn store_request(&self, index: u32, length: u32, parts: &[&[u8]]) -> Result<(), Full> {
        let exchange = &self.peer.exchange;
        let slot = exchange.slot(index);
        let mut message = Gather::new(parts, 0);
        slot.request_length.set(length);
        slot.request_chain.set(NONE);
        if length as usize <= INLINE {
            exchange.fill_inline(index, &mut message);
            return Ok(());
        }
        let chain = exchange.fill_chain(&mut message, length.div_ceil(BLOCK as u32));
        if !message.is_empty() {
            exchange.free_chain(chain.first);
            return Err(Full::Blocks);
        }
        slot.request_chain.set(chain.first);
        Ok(())
    }

    /// Wakes an executor of each lane that got requests since the last call, unless one is searching there.
    pub fn flush(&mut self) {
        for lane in self.unannounced.drain(..) {
            self.peer.wake(lane);
        }
    }

    /// Whether a request of this gateway still waits for an executor.
    pub fn is_queued(&self, ticket: Ticket) -> bool {
        self.peer.exchange.slot(ticket.slot).state() == (ticket.generation, Phase::Queued)
    }

    /// Wakes one more executor if the oldest request of a lane has waited for `patience`. True while any waits.
    ///
    /// An executor that leaves the queue to itself ([`Share::Keep`](crate::Share::Keep)) may turn out to be
    /// slow. A gateway that has requests outstanding in such a lane calls this once per turn, and once per tick
    /// while it sleeps: then none waits longer than `patience` and a tick while an executor is idle.
    pub fn nudge(&mut self, lane: u32, patience: Duration) -> bool {
        let exchange = &self.peer.exchange;
        let queue = exchange.run_queue(lane);
        let Some(oldest) = queue.peek() else { return false };
        let waited = clock::now().saturating_sub(exchange.slot(oldest).submitted.get());
        if u128::from(waited) >= patience.as_nanos()
            && let Some(executor) = exchange.lanes[lane as usize].choose_another(&queue)
        {
            self.peer.wakers.executor(executor).notify();
        }
        true
    }

    /// Says that this gateway will sleep, so that the next completion wakes it. False, and no change, if a
    /// completion is there already. Flushes first.
    pub fn about_to_sleep(&mut self) -> bool {
        self.flush();
        let desk = &self.peer.exchange.desks[self.number as usize];
        desk.set(Presence::Sleeping);
        if self.peer.exchange.completions(self.number).is_empty() {
            return true;
        }
        desk.set(Presence::Awake);
        false
    }

    /// Says that this gateway is awake again, for whatever reason, and forgets wake-ups so far. Look for
    /// completions afterwards.
    pub fn awake(&mut self) {
        self.peer.exchange.desks[self.number as usize].set(Presence::Awake);
        self.event_fd().drain();
    }

    /// The next completion of this gateway.
    pub fn take(&mut self) -> Option<Completion<'_>> {
        loop {
            let index = self.peer.exchange.completions(self.number).pop()?;
            let (generation, phase) = self.peer.exchange.slot(index).state();
            match phase {
                Phase::Part | Phase::Ready | Phase::Died => {
                    return Some(Completion::new(
                        &self.peer,
                        self.number,
                        Ticket { slot: index, generation },
                        phase,
                    ));
                }
                _ => self.peer.discard(index),
            }
        }
    }

    /// Limits how many requests of a gate run at the same time; below 1 counts as 1. Those that run already
    /// go on; those that are parked start if the limit is raised.
    ///
    /// # Panics
    /// If there is no such gate.
    pub fn set_gate_limit(&mut self, gate: u32, limit: u32) {
        let parked = self.peer.exchange.parked(gate);
        let gate = &self.peer.exchange.gates[gate as usize];
        gate.set_limit(limit);
        while let Some(slot) = gate.admit(&parked) {
            self.peer.requeue(slot);
        }
    }

    /// Leaves in an orderly way, from wherever the process is: what this gateway has queued is abandoned, what
    /// runs for it is abandoned and interrupted, completions are dropped. Afterwards only
    /// [`join`](Gateway::join) makes sense.
    pub fn leave(&mut self) {
        let exchange = self.peer.exchange;
        for (index, slot) in exchange.slots.iter().enumerate() {
            // A slot that is in use becomes another gateway's only through Free, and then its generation differs. In
            // a free one the number is an old one, and another gateway may be filling it now.
            let (generation, phase) = slot.state();
            if phase != Phase::Free && slot.gateway.get() == self.number {
                self.give_up(Ticket { slot: index as u32, generation });
            }
        }
        exchange.desks[self.number as usize].set(Presence::Absent);
        while let Some(index) = exchange.completions(self.number).pop() {
            self.peer.discard(index);
        }
        (0..exchange.sizes().lanes).for_each(|lane| self.peer.sweep_lane(lane));
        (0..exchange.sizes().gates).for_each(|gate| self.peer.sweep_gate(gate));
        self.unannounced.clear();
    }
}
