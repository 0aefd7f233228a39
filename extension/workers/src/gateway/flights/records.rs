//! Records of requests that did not end as they were meant to.

use std::time::{Duration, Instant};

use exchange::Outcome;
use problem::Problem;
use request::later::LATER;
use shared::routes::Unrun;

use crate::gateway::refusals::counters;

/// Corrects the record of a request whose client has got this status already. Its executor has recorded the status that it meant
/// to answer with.
pub(super) fn correct_record(gate: u32, answered: Option<u16>, outcome: Outcome, waited: Duration) {
    let (Some(counters), Some(answered)) = (counters(gate), answered) else { return };
    match outcome {
        Outcome::Answered(code) => counters.correct((code & !LATER) as u16, answered),
        Outcome::Died => counters.record_unrun(&Unrun { status: answered, cancelled: true, waited }),
    }
}

/// Records a request whose client has left before it ran; as one that is cancelled while it runs.
pub(super) fn record_left(gate: u32, since: Instant) {
    if let Some(counters) = counters(gate) {
        counters.record_unrun(&Unrun { status: 504, cancelled: true, waited: since.elapsed() });
    }
}

/// For the records: no executor was free in time.
pub(super) fn expired(waited: Duration) -> Unrun {
    Unrun { status: 503, cancelled: true, waited }
}

pub(super) fn waited_too_long() -> Problem {
    Problem::new(503, "no executor was free in time")
}
