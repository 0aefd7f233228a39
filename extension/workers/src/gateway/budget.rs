//! Memory of requests that wait or run, and what is said where there is none.

use shared::settings;

/// Why a response is not sent although there is one.
pub(crate) const NO_ROOM: &str = "the gateway holds as many responses as howdah.max_responses allows";

/// Why a request does not wait, for an executor or for rows.
pub(crate) const NO_ROOM_TO_WAIT: &str =
    "the gateway holds as many requests that wait as howdah.max_waiting allows";

/// Bytes of a request that is kept while it runs, so that it can be run again.
pub(crate) const KEPT: usize = request::caching::LONGEST_KEPT;
/// What those may hold that wait for an executor, and as much those that wait for rows, and those for the inline lane.
pub(crate) fn memory_to_wait() -> usize {
    settings::MAX_WAITING.get() as usize
}
