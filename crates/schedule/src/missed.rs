//! What becomes of due times that nobody has seen in time: while the server was down, say, or the schedule paused.

use crate::rhythm::{Rhythm, Zone};

/// How late a due time is still on time, in microseconds.
const GRACE: i64 = 60_000_000;
/// The most due times that one look makes jobs of.
pub const MOST: usize = 1000;
/// Of more due times than this one look counts no more.
const COUNTED: usize = 1000;

/// What is to become of due times that were missed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Missed {
    /// Nothing.
    None,
    /// One job for all of them.
    Once,
    /// A job for each.
    Each,
}

impl Missed {
    /// All of them, with their words.
    pub const WORDS: [(&str, Missed); 3] =
        [("none", Missed::None), ("once", Missed::Once), ("each", Missed::Each)];

    /// By its word.
    pub fn of(word: &str) -> Option<Missed> {
        Missed::WORDS.iter().find(|(known, _)| *known == word).map(|(_, missed)| *missed)
    }
}

/// How due times are caught up with.
#[derive(Clone, Copy, Debug)]
pub struct CatchUp {
    /// What becomes of them.
    pub missed: Missed,
    /// How old one may be, in microseconds.
    pub within: i64,
    /// How many there may be.
    pub most: usize,
}

/// What is to be done at a moment.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Look {
    /// Due times that jobs are enqueued for, the earliest first.
    pub due: Vec<i64>,
    /// How many were missed for good. Of many they are counted up to a thousand.
    pub missed: u64,
    /// The next due time, if there is one.
    pub next: Option<i64>,
}

impl CatchUp {
    /// What is to be done now, if a schedule has been looked at until before `first`, which is due.
    pub fn look(&self, rhythm: &Rhythm, zone: &impl Zone, first: i64, now: i64) -> Look {
        let passed = latest(rhythm, zone, first, now);
        let age = if self.missed == Missed::None { GRACE } else { self.within.max(GRACE) };
        let most = if self.missed == Missed::Each { self.most.clamp(1, MOST) } else { 1 };
        let young = passed.partition_point(|due| now.saturating_sub(*due) > age);
        let due = passed[young.max(passed.len().saturating_sub(most))..].to_vec();
        Look { missed: (passed.len() - due.len()) as u64, due, next: rhythm.next(now, zone) }
    }
}

/// The last due times from `first`, which is one, until now.
fn latest(rhythm: &Rhythm, zone: &impl Zone, first: i64, now: i64) -> Vec<i64> {
    // Mostly there is one.
    let between = |from: i64, limit: usize| {
        let mut found = Vec::new();
        let mut due = rhythm.next(from - 1, zone);
        while let Some(time) = due.filter(|time| *time <= now && found.len() <= limit) {
            found.push(time);
            due = rhythm.next(time, zone);
        }
        found
    };
    let all = between(first, COUNTED);
    if all.len() <= COUNTED {
        return all;
    }
    // From how far back there are so many is found by halves: from `near` there are fewer, from `far` more.
    let (mut far, mut near) = (first, now);
    let mut found = Vec::new();
    while near - far > 1_000_000 {
        let middle = far + (near - far) / 2;
        let some = between(middle, COUNTED);
        if some.len() > COUNTED {
            far = middle;
        } else {
            near = middle;
            found = some;
        }
        if found.len() > COUNTED / 2 {
            break;
        }
    }
    found
}
