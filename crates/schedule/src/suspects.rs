//! Whom a crash is charged to.
//!
//! When one process of the server crashes all of them end, and each job that ran is found to have run. Those whose processes were told
//! to end are innocent. The others are suspects: each runs once with no other beside it, and what crashes then is charged. Once
//! charged, a job is charged with each further crash at once.

/// A job, by its place.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Place {
    /// The database.
    pub database: u32,
    /// The queue in it.
    pub queue: u32,
    /// The position in that.
    pub position: u64,
}

/// What is held against a job.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Standing {
    /// It ran when the server crashed, and is to run alone.
    Suspect,
    /// It has crashed alone, or again: an attempt is to be charged.
    Charged,
    /// It was charged before.
    Convict,
    /// Its process was ended in order while it ran: it waits a while, and nothing is charged.
    Ended,
    /// Its process was ended because it went on after its cancel: an attempt is to be charged.
    Overrun,
    /// The same for one that somebody has cancelled: it is dead.
    Cancelled,
    /// Its process was ended in order before, and it has waited for that.
    Known,
}

impl Standing {
    const ALL: [Standing; 7] = [
        Standing::Suspect,
        Standing::Charged,
        Standing::Convict,
        Standing::Ended,
        Standing::Overrun,
        Standing::Cancelled,
        Standing::Known,
    ];

    /// As a number above 0.
    pub fn number(self) -> u32 {
        self as u32 + 1
    }

    /// Of a number; none for 0.
    pub fn of(number: u32) -> Option<Standing> {
        Standing::ALL.into_iter().find(|standing| standing.number() == number)
    }

    /// Whether something is to be written down about the job.
    pub fn is_due(self) -> bool {
        matches!(self, Standing::Charged | Standing::Ended | Standing::Overrun | Standing::Cancelled)
    }
}

/// A job that ran when the server crashed, and was not told to end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ran {
    /// Which.
    pub place: Place,
    /// Whether no other job ran beside it.
    pub was_alone: bool,
}

/// What is held against jobs after a crash: what was before, and of those that ran.
pub fn after_crash(known: &[(Place, Standing)], ran: &[Ran]) -> Vec<(Place, Standing)> {
    let mut held = known.to_vec();
    for job in ran {
        let before = held.iter().position(|(place, _)| *place == job.place);
        let is_convict = before.is_some_and(|at| matches!(held[at].1, Standing::Convict | Standing::Charged));
        let standing = if job.was_alone || is_convict { Standing::Charged } else { Standing::Suspect };
        match before {
            Some(at) => held[at].1 = standing,
            None => held.push((job.place, standing)),
        }
    }
    held
}

/// For how many microseconds a job waits whose process was ended so many times.
pub fn pause_after_end(times: u32) -> i64 {
    const FIRST: i64 = 1_000_000;
    const LONGEST: i64 = 60 * FIRST;
    (FIRST << times.saturating_sub(1).min(6)).min(LONGEST)
}
