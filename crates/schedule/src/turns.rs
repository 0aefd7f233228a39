//! Which priority comes first.

/// How urgent a job is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Priority {
    /// Before all others.
    High = 0,
    /// As most.
    Normal,
    /// When nothing else waits, and now and then.
    Low,
}

impl Priority {
    /// All, the most urgent first.
    pub const ALL: [Priority; 3] = [Priority::High, Priority::Normal, Priority::Low];

    /// By its word.
    pub fn of(word: &str) -> Option<Priority> {
        Priority::ALL.into_iter().find(|priority| priority.word() == word)
    }

    /// The word that SQL uses.
    pub fn word(self) -> &'static str {
        match self {
            Priority::High => "high",
            Priority::Normal => "normal",
            Priority::Low => "low",
        }
    }

    /// Its place among all.
    pub fn place(self) -> usize {
        self as usize
    }
}

/// Of sixteen turns twelve begin with what is high, three with what is normal, and one with what is low. Where nothing of that waits
/// the turn goes to the others in their order. So a low job comes to its turn whatever floods.
#[derive(Default, Debug)]
pub struct Turns(u8);

impl Turns {
    /// In which order to look for work now.
    pub fn next_order(&mut self) -> [Priority; 3] {
        use Priority::{High, Low, Normal};
        self.0 = (self.0 + 1) % 16;
        match self.0 {
            0 => [Low, High, Normal],
            4 | 8 | 12 => [Normal, High, Low],
            _ => [High, Normal, Low],
        }
    }
}
