//! Whom a crash is charged to.
//!
//! When one process of the server crashes all of them end, and each job that ran is found to have run. Those whose processes were told
//! to end are innocent. The others are suspects: each runs once with no other beside it, for a time, and what crashes then is charged. One
//! that takes longer goes on beside others; if it runs in a third crash, that is charged to it as well. Once charged, a job is charged with
//! each further crash at once.

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
    /// It ran in two crashes, and in neither of them alone: it is to run alone again.
    Doubtful,
}

impl Standing {
    const ALL: [Standing; 8] = [
        Standing::Suspect,
        Standing::Charged,
        Standing::Convict,
        Standing::Ended,
        Standing::Overrun,
        Standing::Cancelled,
        Standing::Known,
        Standing::Doubtful,
    ];

    /// As a number above 0.
    pub fn number(self) -> u32 {
        self as u32 + 1
    }

    /// Of a number; none for 0.
    pub fn of(number: u32) -> Option<Standing> {
        Standing::ALL.into_iter().find(|standing| standing.number() == number)
    }

    /// Whether the job is to run alone.
    pub fn is_suspect(self) -> bool {
        matches!(self, Standing::Suspect | Standing::Doubtful)
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
        let standing = match before.map(|at| held[at].1) {
            // What was to be written down of it is, whatever crashed meanwhile.
            Some(due @ (Standing::Cancelled | Standing::Overrun | Standing::Ended)) => due,
            _ if job.was_alone => Standing::Charged,
            Some(Standing::Convict | Standing::Charged | Standing::Doubtful) => Standing::Charged,
            Some(Standing::Suspect) => Standing::Doubtful,
            _ => Standing::Suspect,
        };
        match before {
            Some(at) => held[at].1 = standing,
            None => held.push((job.place, standing)),
        }
    }
    held
}

/// For how long each of so many suspects runs alone at most, so that all of them together keep others waiting for `most`.
pub fn time_alone(most: u64, suspects: usize) -> u64 {
    most / (suspects as u64).max(1)
}

/// For how many microseconds a job waits whose process was ended so many times.
pub fn pause_after_end(times: u32) -> i64 {
    const FIRST: i64 = 1_000_000;
    const LONGEST: i64 = 60 * FIRST;
    (FIRST << times.saturating_sub(1).min(6)).min(LONGEST)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(position: u64) -> Place {
        Place { database: 1, queue: 1, position }
    }

    /// What is held after crashes in each of which a job ran, alone or not.
    fn after(crashes: &[bool]) -> Standing {
        let crash = |held: Vec<_>, was_alone: &bool| {
            after_crash(&held, &[Ran { place: place(7), was_alone: *was_alone }])
        };
        crashes.iter().fold(Vec::new(), crash)[0].1
    }

    #[test]
    fn a_crash_is_charged_to_who_ran_alone_and_the_third_to_who_ran_in_all() {
        assert_eq!(after(&[false]), Standing::Suspect);
        assert_eq!(after(&[false, true]), Standing::Charged);
        assert_eq!(after(&[false, false]), Standing::Doubtful);
        assert_eq!(after(&[false, false, false]), Standing::Charged);
        assert_eq!(after(&[false, false, true]), Standing::Charged);
        let known = [(place(7), Standing::Convict), (place(8), Standing::Doubtful)];
        let held = after_crash(&known, &[Ran { place: place(7), was_alone: false }]);
        assert_eq!(held, [(place(7), Standing::Charged), (place(8), Standing::Doubtful)], "one did not run");
    }

    #[test]
    fn all_suspects_together_run_alone_for_the_time_that_others_wait() {
        for suspects in [0, 1, 7, 256] {
            assert!(time_alone(60_000_000, suspects) * suspects as u64 <= 60_000_000);
        }
        assert_eq!(time_alone(60_000_000, 1), 60_000_000);
    }

    #[test]
    fn every_standing_has_its_number() {
        for standing in Standing::ALL {
            assert_eq!(Standing::of(standing.number()), Some(standing));
        }
    }

    #[test]
    fn what_is_to_be_written_down_outlives_a_crash() {
        let place = Place { database: 1, queue: 2, position: 3 };
        for due in [Standing::Cancelled, Standing::Overrun, Standing::Ended] {
            for was_alone in [false, true] {
                assert_eq!(after_crash(&[(place, due)], &[Ran { place, was_alone }]), [(place, due)]);
            }
        }
    }
}
