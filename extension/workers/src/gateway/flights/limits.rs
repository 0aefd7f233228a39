//! What those who decide who goes next have to know: of executors by the exchange, of queues by their shared memory.

use std::time::Duration;

use dispatch::{Arrivals, Executors};
use queue::memory::queues;

/// The exchange as gates see it.
pub(crate) struct Limits<'e>(pub &'e mut exchange::Gateway);

impl Executors for Limits<'_> {
    fn set_limit(&mut self, gate: u32, limit: u32) {
        self.0.set_gate_limit(gate, limit);
    }

    fn running(&self, gate: u32) -> u32 {
        self.0.exchange().gate(gate).running
    }
}

/// The queues as a gateway sees them whose requests wait for rows.
pub(crate) struct Queues {
    gateway: usize,
}

impl Queues {
    /// As the gateway of this number sees them.
    pub(super) fn of_gateway(gateway: usize) -> Queues {
        Queues { gateway }
    }
}

impl Arrivals for Queues {
    fn arrivals(&self, queue: u32) -> u64 {
        queues().entry(queue as usize).arrivals()
    }

    fn call(&self, queue: u32) -> bool {
        let memory = queues().entry(queue as usize);
        let is_new = !memory.is_called(self.gateway);
        if is_new {
            memory.call_gateway(self.gateway);
        }
        is_new
    }

    fn next_free(&self, queue: u32) -> Option<Option<Duration>> {
        let lock = queues().try_lock(queue as usize)?;
        let clock = lock.clock();
        // What was given back has been free since the beginning of time.
        let in_future = |time: i64| Duration::from_micros(time.saturating_sub(clock).max(0) as u64);
        Some(lock.next_time(clock).map(in_future))
    }
}
