//! Who goes next, by a clock of the test's own.

mod fair_turns;
mod gates;
mod later;
mod parked;
mod waiting;

use std::time::{Duration, Instant};

use dispatch::{Arrival, Ticket};

/// A request of so many bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Arrived(u64, usize);

impl Arrival for Arrived {
    fn ticket(&self) -> Ticket {
        Ticket(self.0)
    }

    fn bytes(&self) -> usize {
        self.1
    }
}

/// So many milliseconds after a beginning.
fn at(begin: Instant, milliseconds: u64) -> Instant {
    begin + Duration::from_millis(milliseconds)
}
