//! What gateways and executors alike do to slots that they hold.

use crate::gate::NO_GATE;
use crate::region::Exchange;
use crate::seat::Presence;
use crate::slot::Phase;
use crate::stack::NONE;
use crate::wake::Wakers;

/// One side of the exchange: the region and the means to wake the others.
#[derive(Clone, Debug)]
pub(crate) struct Peer {
    pub(crate) exchange: Exchange,
    pub(crate) wakers: Wakers,
}

impl Peer {
    /// Wakes an executor for what is in a lane's run queue, unless one is searching.
    pub(crate) fn wake(&self, lane: u32) {
        if let Some(executor) = self.exchange.lanes[lane as usize].choose(&self.exchange.run_queue(lane)) {
            self.wakers.executor(executor).notify();
        }
    }

    /// Puts a parked slot, for which a share of its gate has been taken, into the run queue.
    pub(crate) fn requeue(&self, index: u32) {
        let slot = self.exchange.slot(index);
        let lane = slot.lane.get();
        slot.admitted.set(1);
        self.exchange.run_queue(lane).push(index);
        self.wake(lane);
    }

    /// Gives back a share of a gate and lets the next parked slot go on.
    pub(crate) fn leave_gate(&self, gate: u32) {
        if let Some(next) = self.exchange.gates[gate as usize].leave(&self.exchange.parked(gate)) {
            self.requeue(next);
        }
    }

    pub(crate) fn is_abandoned(&self, index: u32) -> bool {
        self.exchange.slot(index).state().1 == Phase::AbandonedQueued
    }

    /// Frees a slot that was abandoned in a queue and has been popped from it, and its share of a gate.
    pub(crate) fn drop_queued(&self, index: u32) {
        let slot = self.exchange.slot(index);
        let share = if slot.admitted.get() != 0 { slot.gate.get() } else { NO_GATE };
        self.exchange.free(index, slot.state().0);
        if share != NO_GATE {
            self.leave_gate(share);
        }
    }

    /// Frees what was abandoned at the front of a lane's run queue. Timeouts abandon the oldest first, so this
    /// finds nearly all of them without waiting for an executor.
    pub(crate) fn sweep_lane(&self, lane: u32) {
        let queue = self.exchange.run_queue(lane);
        while let Some(index) = queue.pop_if(|index| self.is_abandoned(index)) {
            self.drop_queued(index);
        }
    }

    /// As `sweep_lane`, for what waits at a gate.
    pub(crate) fn sweep_gate(&self, gate: u32) {
        let queue = self.exchange.parked(gate);
        while let Some(index) = queue.pop_if(|index| self.is_abandoned(index)) {
            self.drop_queued(index);
        }
    }

    /// Tells a gateway that a slot is in its completion queue.
    pub(crate) fn complete(&self, gateway: u32, index: u32) {
        let queue = self.exchange.completions(gateway);
        queue.push(index);
        match self.exchange.desks[gateway as usize].call() {
            Presence::Awake => {}
            Presence::Sleeping => self.wakers.gateway(gateway).notify(),
            Presence::Absent => self.sweep_completions(gateway),
        }
    }

    /// Frees what a gateway that has left did not find in its queue, because it came later. Only what it
    /// discarded: another may have joined in its place meanwhile.
    fn sweep_completions(&self, gateway: u32) {
        let discarded =
            |index| matches!(self.exchange.slot(index).state().1, Phase::DiscardedPart | Phase::Discarded);
        while let Some(index) = self.exchange.completions(gateway).pop_if(discarded) {
            self.discard(index);
        }
    }

    /// Frees a slot that was popped from a completion queue and that nobody wants, or leaves that to its
    /// executor if that has more to hand over.
    pub(crate) fn discard(&self, index: u32) {
        let slot = self.exchange.slot(index);
        let (generation, phase) = slot.state();
        if phase == Phase::DiscardedPart {
            let executor = slot.executor.get();
            self.exchange.free_chain(slot.response_chain.get());
            slot.response_chain.set(NONE);
            if slot.turn(generation, Phase::DiscardedPart, Phase::AbandonedRunning).is_ok() {
                self.wakers.executor(executor).notify();
                return;
            }
            // The executor has left meanwhile: it is Discarded.
        }
        self.exchange.free(index, generation);
    }
}
