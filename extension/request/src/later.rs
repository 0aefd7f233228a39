//! Answers that wait for rows.
//!
//! A read over HTTP that finds nothing occupies no executor while it waits: the executor hands back the answer
//! for that, and on what to wait. The gateway keeps both with the request, and has the request run again when rows may
//! be free, or sends the answer when the time is over.

use std::cell::Cell;

/// Set in the code of a completion whose response begins with a [`Later`].
pub const LATER: u32 = 1 << 31;

/// On what an answer waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Later {
    /// The queue's entry in shared memory.
    pub queue: u32,
    /// How long at most.
    pub milliseconds: u32,
    /// Its arrivals before the read looked: more of them are rows that it may not have seen.
    pub arrivals: u64,
    /// Whether it would have been content with any row: of those that are, one at a time needs to look again.
    pub any_row: bool,
}

thread_local! {
    static ASKED: Cell<Option<Later>> = const { Cell::new(None) };
}

/// Has the answer to the current request wait. Void outside of one.
pub fn ask(later: Later) {
    ASKED.set(Some(later));
}

/// What was asked for since the last call.
pub fn take() -> Option<Later> {
    ASKED.take()
}

impl Later {
    /// Length of [`Self::write`].
    pub const LENGTH: usize = 17;

    /// As bytes in front of a response.
    pub fn write(&self) -> [u8; Later::LENGTH] {
        let mut bytes = [0; Later::LENGTH];
        bytes[..4].copy_from_slice(&self.queue.to_ne_bytes());
        bytes[4..8].copy_from_slice(&self.milliseconds.to_ne_bytes());
        bytes[8..16].copy_from_slice(&self.arrivals.to_ne_bytes());
        bytes[16] = self.any_row.into();
        bytes
    }

    /// Reads what [`Self::write`] has written.
    pub fn read(bytes: &[u8]) -> Option<Later> {
        Some(Later {
            queue: u32::from_ne_bytes(bytes.get(..4)?.try_into().ok()?),
            milliseconds: u32::from_ne_bytes(bytes.get(4..8)?.try_into().ok()?),
            arrivals: u64::from_ne_bytes(bytes.get(8..16)?.try_into().ok()?),
            any_row: *bytes.get(16)? != 0,
        })
    }
}
