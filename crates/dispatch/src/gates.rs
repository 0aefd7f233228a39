//! What each route has of the exchange and of the executors.
//!
//! A route may occupy a share of the executors that the other routes leave: with a half, the first that is slow gets half
//! of them, the next a quarter, and there is one left for the route after them. Each ends up with as much as is left.

use std::collections::HashSet;

/// Those who run requests, as far as limits concern them.
pub trait Executors {
    /// Lets so many requests of a gate run at a time.
    fn set_limit(&mut self, gate: u32, limit: u32);
    /// Requests of a gate that run now, those of other gateways included.
    fn running(&self, gate: u32) -> u32;
}

/// The gates as this gateway sees them. A number that is none of theirs has neither a limit nor a share.
#[derive(Debug)]
pub struct Gates {
    gates: Vec<Gate>,
    executors: u32,
    /// Executors that the gates claim, all together.
    claimed: u32,
}

#[derive(Default, Clone, Copy, Debug)]
struct Gate {
    /// The limit that this gateway has given it last; 0 if it has given none, or its route is gone.
    limit: u32,
    /// Requests that ran when the limit fell below them, as far as they still ran at the last look.
    over: u32,
    /// Requests of this gateway that hold a slot.
    flights: usize,
    /// Bytes of those that hold blocks too.
    bytes: usize,
    /// Requests that ran at the last look, those of other gateways included.
    running: u32,
}

impl Gate {
    /// Executors that its requests occupy, or will: the exchange gives out what is queued without asking again. What runs goes
    /// on when a limit falls.
    fn claim(&self) -> u32 {
        let flights = u32::try_from(self.flights).unwrap_or(u32::MAX);
        flights.min(self.limit.max(self.over)).max(self.running)
    }
}

impl Gates {
    /// So many, none of which has anything.
    pub fn new(count: usize) -> Self {
        Self { gates: vec![Gate::default(); count], executors: 0, claimed: 0 }
    }

    /// How many executors share the work.
    pub fn executors(&self) -> u32 {
        self.executors
    }

    /// Whether a gate has less of the exchange than these slots and bytes, or nothing.
    pub fn has_less(&self, gate: u32, slots: usize, bytes: usize) -> bool {
        let has = |gate: &Gate| gate.flights == 0 || gate.flights < slots && gate.bytes < bytes;
        self.gates.get(gate as usize).is_none_or(has)
    }

    /// A request has got a slot, and blocks of so many bytes.
    pub fn gain(&mut self, gate: u32, bytes: usize) {
        self.change(gate, |gate| {
            gate.flights += 1;
            gate.bytes += bytes;
        });
    }

    /// A request has its slot and its blocks no longer.
    pub fn lose(&mut self, gate: u32, bytes: usize) {
        self.change(gate, |gate| {
            gate.flights -= 1;
            gate.bytes -= bytes;
        });
    }

    fn change(&mut self, gate: u32, change: impl FnOnce(&mut Gate)) {
        if let Some(gate) = self.gates.get_mut(gate as usize) {
            let before = gate.claim();
            change(gate);
            self.claimed = self.claimed - before + gate.claim();
        }
    }

    /// There are the routes of these gates and no others. What has come for another keeps its gate, which may be that of a
    /// route of another database by now: its limit is not for this gateway to set.
    pub fn keep(&mut self, numbers: &HashSet<u32>) {
        for number in (0..self.gates.len() as u32).filter(|number| !numbers.contains(number)) {
            self.change(number, |gate| (gate.limit, gate.over, gate.running) = (0, 0, 0));
        }
    }

    /// Gives a gate its share, in percent, of the executors that the others leave, never all of them.
    pub fn limit(&mut self, number: u32, percent: u32, end: &mut impl Executors) {
        let Some(gate) = self.gates.get(number as usize).copied() else { return };
        let left = self.executors.saturating_sub(self.claimed - gate.claim());
        let share = left * percent / 100;
        let share = share.clamp(1, self.executors.saturating_sub(1).max(1));
        if gate.limit != share {
            end.set_limit(number, share);
            // First the limit, then the look: what has begun meanwhile has been counted.
            let runs = if share < gate.limit { end.running(number) } else { gate.over };
            let over = if share < runs { runs } else { 0 };
            self.change(number, |gate| (gate.limit, gate.over) = (share, over));
        }
    }

    /// Looks anew what each gate may have, now that there are so many executors. What is parked may get more. `asks_others`: there
    /// are other gateways, whose requests run as well.
    pub fn follow(&mut self, executors: u32, percent: u32, asks_others: bool, end: &mut impl Executors) {
        self.executors = executors;
        for number in 0..self.gates.len() as u32 {
            let gate = self.gates[number as usize];
            if gate.limit != 0 {
                if asks_others || gate.over != 0 || gate.running != 0 {
                    let running = end.running(number);
                    let over = if running > gate.limit { gate.over.min(running) } else { 0 };
                    self.change(number, |gate| {
                        gate.over = over;
                        gate.running = if asks_others { running } else { 0 };
                    });
                }
                self.limit(number, percent, end);
            }
        }
    }
}
