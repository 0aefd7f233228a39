//! Cancelling and abandoning requests.

use crate::gate::NO_GATE;
use crate::gateway::Gateway;
use crate::region::Exchange;
use crate::slot::{Phase, Ticket};
use crate::sync::Ordering;

/// What became of an attempt to cancel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cancel {
    /// It was still queued. It never runs, and no completion comes.
    NeverRan,
    /// It runs: signal the target. Its completion comes as always, with whatever code the executor gives.
    Running(Target),
    /// It has answered already, or ended.
    TooLate,
}

/// The executor that runs a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Target {
    /// Its number.
    pub executor: u32,
    /// Its process.
    pub pid: u32,
}

impl Target {
    /// Sends SIGUSR2, whose handler asks [`Interrupt::requested`]. It does nothing if the request has ended.
    pub fn signal(&self) {
        if cfg!(loom) {
            return; // A model's threads are one process.
        }
        // Process 0 would be this process's whole group.
        if let Ok(pid @ 1..) = libc::pid_t::try_from(self.pid) {
            // SAFETY: no memory is involved.
            unsafe { libc::kill(pid, libc::SIGUSR2) };
        }
    }
}

/// Tells an executor's signal handler whether the request that runs is to be cancelled.
#[derive(Clone, Copy, Debug)]
pub struct Interrupt {
    pub(crate) exchange: Exchange,
    pub(crate) executor: u32,
}

impl Interrupt {
    /// True if its gateway wants the very request cancelled that this executor runs now. Async-signal-safe:
    /// it reads three words of shared memory.
    pub fn requested(&self) -> bool {
        let Some((slot, generation)) = self.exchange.seats[self.executor as usize].running() else {
            return false;
        };
        self.exchange.slot(slot).cancel.load(Ordering::Acquire) == generation
    }
}

impl Gateway {
    /// Cancels a request of this gateway. If it runs, the target remains to be signalled.
    pub fn cancel(&mut self, ticket: Ticket) -> Cancel {
        let slot = self.peer.exchange.slot(ticket.slot);
        let (lane, gate) = (slot.lane.get(), slot.gate.get());
        loop {
            match slot.state() {
                (generation, _) if generation != ticket.generation => return Cancel::TooLate,
                (generation, Phase::Queued) => {
                    if slot.turn(generation, Phase::Queued, Phase::AbandonedQueued).is_ok() {
                        self.sweep(lane, gate);
                        return Cancel::NeverRan;
                    }
                }
                (generation, Phase::Running) => {
                    let target = Target { executor: slot.executor.get(), pid: slot.pid.get() };
                    slot.cancel.store(generation, Ordering::Release);
                    return Cancel::Running(target);
                }
                _ => return Cancel::TooLate,
            }
        }
    }

    /// Nobody wants the answer to a request of this gateway any longer: no completion comes. What runs goes on;
    /// cancel first if it should not.
    pub fn abandon(&mut self, ticket: Ticket) {
        let slot = self.peer.exchange.slot(ticket.slot);
        let (lane, gate) = (slot.lane.get(), slot.gate.get());
        if let Some((Phase::Queued, _)) = self.disown(ticket) {
            self.sweep(lane, gate);
        }
    }

    /// Abandons and interrupts, as the gateway leaves.
    pub(crate) fn give_up(&mut self, ticket: Ticket) {
        let slot = self.peer.exchange.slot(ticket.slot);
        // In these phases the slot is surely this gateway's, and stays so until it turns below.
        let (generation, phase) = slot.state();
        if generation == ticket.generation && matches!(phase, Phase::Queued | Phase::Running) {
            slot.cancel.store(generation, Ordering::Release);
        }
        if let Some((Phase::Running, target)) = self.disown(ticket) {
            target.signal();
        }
    }

    /// Turns a slot so that whoever holds it next frees it. Returns what it was, and who ran it if it ran.
    fn disown(&mut self, ticket: Ticket) -> Option<(Phase, Target)> {
        let slot = self.peer.exchange.slot(ticket.slot);
        loop {
            let (generation, phase) = slot.state();
            let abandoned = match phase {
                _ if generation != ticket.generation => return None,
                Phase::Queued => Phase::AbandonedQueued,
                Phase::Running => Phase::AbandonedRunning,
                Phase::Part => Phase::DiscardedPart,
                Phase::Ready | Phase::Died => Phase::Discarded,
                _ => return None,
            };
            let target = Target { executor: slot.executor.get(), pid: slot.pid.get() };
            if slot.turn(generation, phase, abandoned).is_ok() {
                return Some((phase, target));
            }
        }
    }

    fn sweep(&self, lane: u32, gate: u32) {
        self.peer.sweep_lane(lane);
        if gate != NO_GATE {
            self.peer.sweep_gate(gate);
        }
    }
}
