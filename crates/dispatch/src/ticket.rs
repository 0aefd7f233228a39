//! Which request a reply belongs to.

/// A request that has arrived and waits for its reply. Never used for another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Ticket(
    /// Opaque to all but the one who gives tickets out; others may keep it as a number.
    pub u64,
);

impl Ticket {
    /// The ticket of a place that is used for the so-manieth time.
    pub fn new(index: usize, generation: u32) -> Self {
        Self(u64::from(generation) << 32 | index as u64)
    }

    /// Its place.
    pub fn index(self) -> usize {
        self.0 as u32 as usize
    }

    /// How often the place was used before.
    pub fn generation(self) -> u32 {
        (self.0 >> 32) as u32
    }
}
