//! Giving memory back to the system.
//!
//! glibc keeps what is freed between pieces that are in use, however much it is. So after much has been let go it is told to
//! give back the pages that hold nothing.
//!
//! Allocators that keep pieces of one size together, as mimalloc does, take less time for a piece, and need no telling. But they give
//! back nothing of what is together as long as one piece of it is used: a client that has its requests be of one size, lets go
//! all but a few, and begins anew with another size, would have them hold many times what is counted here.

use std::cell::Cell;
use std::time::Duration;

use crate::clock::{Clock, Millis};

/// How much has to be let go.
const MUCH: usize = 8 << 20;
/// The same soon after memory was given back: the rest of what was let go then.
const REST: usize = 1 << 20;
/// Between two times. It takes as long as there are free pieces: 25 to 38 ms among half a gigabyte of small ones, and 87 ms to give
/// all of that back.
const PAUSE: Duration = Duration::from_secs(1);

#[derive(Default)]
pub(crate) struct Memory {
    /// The most that was held since memory was given back last.
    peak: Cell<usize>,
    /// When it may be given back again.
    again: Cell<Millis>,
    /// It was given back, and will be once more: what was not counted may have been let go since.
    is_unfinished: Cell<bool>,
}

impl Memory {
    /// Gives memory back if much less is held than was held. Called once in each turn.
    pub(crate) fn look(&self, held: usize, clock: &Clock) {
        if self.is_due(held, clock.now()) {
            self.again.set(clock.after(PAUSE));
            give_back();
        }
    }

    fn is_due(&self, held: usize, now: Millis) -> bool {
        let let_go = self.peak.get().saturating_sub(held);
        if let_go == 0 {
            self.peak.set(held);
        }
        let is_due = now >= self.again.get() && (let_go >= MUCH || self.is_unfinished.get());
        if is_due {
            self.peak.set(held);
            self.is_unfinished.set(let_go >= REST);
        }
        is_due
    }
}

fn give_back() {
    #[cfg(target_env = "gnu")]
    // SAFETY: what is in use stays.
    unsafe {
        libc::malloc_trim(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_let_go_is_given_back_to_the_rest() {
        let memory = Memory::default();
        for (held, is_due) in [
            (0, false),
            (32 << 20, false),
            (25 << 20, false),
            (24 << 20, true),
            // It goes on becoming less, by less than much.
            (17 << 20, true),
            // The last time, for what was not counted.
            (17 << 20, true),
            (17 << 20, false),
            (10 << 20, false),
            (9 << 20, true),
        ] {
            assert_eq!(memory.is_due(held, 0), is_due, "{held} are held");
        }
    }

    #[test]
    fn it_is_not_given_back_again_at_once() {
        let (memory, clock) = (Memory::default(), Clock::new());
        for held in [32 << 20, 20 << 20] {
            memory.look(held, &clock);
        }
        assert!(!memory.is_due(0, clock.now()));
        assert!(memory.is_due(0, clock.after(PAUSE)));
    }
}
