//! Which segments may be truncated, and how often that is looked at.

use shared::Tick;

use super::memory::{Removal, SegmentMemory, State};
use super::{SEGMENTS, shift};

/// Microseconds between two attempts of takers to truncate.
pub(crate) const TIDY_EVERY: u64 = 200_000;

/// Rows that come in for each slice that takers move: so it ends before much has come, and costs each of them little.
const MOVE_EVERY: u64 = 2 * shift::ROWS as u64;

/// Microseconds between two looks through the ledger of a segment of which something stays.
const LOOK_EVERY: u64 = 5_000_000;

const LOOK_EVERY_IF_CROWDED: u64 = 250_000;

const COUNT_EVERY: u64 = 60_000_000;

const LOOKS_APART: u64 = 8;

/// How much is done to truncate segments.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Effort {
    /// As much as somebody can do in passing.
    Passing,
    /// As much as there is to do: what is too much for one transaction is said to be left.
    Thorough,
}

impl Effort {
    /// Rows that a segment is compacted with at most, and in how many blocks they may be: each is read under the lock.
    pub(crate) fn survivors(self) -> (usize, usize) {
        match self {
            Effort::Passing => (2_000, 500),
            // The others are moved before.
            Effort::Thorough => (1_000, 250),
        }
    }
}

/// How urgent it is to empty a segment.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pressure {
    /// There is another to go to from the open one.
    Low,
    /// There is none. Of the open one so many rows are consumed, whose space is given back once it can be left.
    High(u64),
}

impl Pressure {
    /// How urgent it is as things stand.
    pub(crate) fn of(state: &State) -> Pressure {
        let is_other_free = |number: usize| number != state.open && state.is_free(number);
        if (0..SEGMENTS).any(is_other_free) {
            Pressure::Low
        } else {
            Pressure::High(state.segments[state.open].consumed)
        }
    }

    fn look_every(self) -> u64 {
        match self {
            Pressure::Low => LOOK_EVERY,
            Pressure::High(_) => LOOK_EVERY_IF_CROWDED,
        }
    }
}

/// Whether nobody has tried to truncate for a while, or much has come in meanwhile.
pub(crate) fn is_rested(state: &State, now: Tick) -> bool {
    let is_moving = || state.segments.iter().any(|segment| segment.removal == Removal::UnderWay);
    now.since(state.tidied) > TIDY_EVERY
        || state.next.saturating_sub(state.tidied_at) >= MOVE_EVERY && is_moving()
}

/// Segments that are drained, as far as is known, or of which something is moved; and at times those of which little is left.
/// First those of which least is left.
pub(crate) fn candidates(state: &mut State, effort: Effort, now: Tick) -> Vec<usize> {
    let (open, pressure) = (state.open, Pressure::of(state));
    let is_candidate =
        |number: &usize| *number != open && is_candidate(&mut state.segments[*number], pressure, effort, now);
    let mut candidates: Vec<usize> = (0..SEGMENTS).filter(is_candidate).collect();
    candidates.sort_by_key(|number| state.segments[*number].live());
    candidates
}

fn is_candidate(segment: &mut SegmentMemory, pressure: Pressure, effort: Effort, now: Tick) -> bool {
    if segment.is_clean {
        return false;
    }
    if segment.removal != Removal::None || segment.watch.is_drained() {
        return true;
    }
    let since = now.since(segment.looked);
    let is_thorough = effort == Effort::Thorough;
    if !is_thorough && since <= pressure.look_every().max(LOOKS_APART * segment.took) {
        return false;
    }
    segment.is_swollen
        || segment.watch.waits_for_times_alone()
        || little_is_left(segment, pressure, now)
        || is_thorough && since > COUNT_EVERY.max(LOOKS_APART * segment.took)
}

/// Whether rows are left in a segment that nobody wants, though they may be taken, as far as is known. Takers who want every row take
/// the oldest first: so it is passed by only once they go on with rows that came later, or no more are taken at all.
fn little_is_left(segment: &mut SegmentMemory, pressure: Pressure, now: Tick) -> bool {
    match pressure {
        Pressure::High(consumed) => consumed >= segment.live().max(1),
        Pressure::Low => {
            let has_rested =
                std::mem::replace(&mut segment.consumed_before, segment.consumed) == segment.consumed;
            if !has_rested {
                segment.looked = now;
            }
            has_rested && segment.live() <= segment.rows / 4
        }
    }
}
