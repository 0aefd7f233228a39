//! Giving memory back to the system.
//!
//! glibc keeps what is freed between pieces that are in use, however much it is. So after much has been let go it is told to
//! give back the pages that hold nothing.

use std::cell::Cell;
use std::time::Duration;

use crate::clock::{Clock, Millis};

/// How much has to be let go.
const MUCH: usize = 8 << 20;
/// Between two times: it takes about a millisecond for each 50 MB.
const PAUSE: Duration = Duration::from_secs(1);

#[derive(Default)]
pub(crate) struct Memory {
    /// The most that was held since memory was given back last.
    peak: Cell<usize>,
    /// When it may be given back again.
    again: Cell<Millis>,
}

impl Memory {
    /// Gives memory back if much less is held than was held. Called once in each turn.
    pub(crate) fn look(&self, held: usize, clock: &Clock) {
        if held >= self.peak.get() {
            self.peak.set(held);
        } else if self.peak.get() - held >= MUCH && clock.now() >= self.again.get() {
            self.peak.set(held);
            self.again.set(clock.after(PAUSE));
            give_back();
        }
    }
}

fn give_back() {
    #[cfg(target_env = "gnu")]
    // SAFETY: what is in use stays.
    unsafe {
        libc::malloc_trim(0);
    }
}
