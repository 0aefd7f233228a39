//! On what an answer waits.

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
