//! Panics on demand: what a mistake of ours would do at a given place, for `tests/alone/panics.rs`.

use message::Request;

/// Panics if the request's header X-Panic names this place.
pub fn panic_if_asked(request: &Request<'_>, place: &str) {
    assert!(request.header("x-panic") != Some(place), "asked to, {place}");
}
