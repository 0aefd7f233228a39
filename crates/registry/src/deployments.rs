//! Deployments that become visible while requests run.
//!
//! What a statement finds in the catalogs follows no snapshot: a request that runs across a deployment's commit may have called one
//! function as it was and another as it is. So a deployment is under way from just before its commit until all can see it, and whoever
//! runs a request asks at its end whether one has been under way since its beginning: then nobody gets the answer, and it runs again.

use std::sync::atomic::{AtomicI64, AtomicU32, AtomicU64, Ordering::SeqCst};

/// The deployments of a database.
#[repr(C)]
#[derive(Default)]
pub struct Deployments {
    under_way: AtomicU32,
    ended: AtomicU64,
    /// When the next may commit, in microseconds, if those before it had come one after the other.
    next: AtomicI64,
    /// Until when a request that was undone twice asks for calm, in microseconds.
    calm: AtomicI64,
}

/// Deployments that may come at once.
const AT_ONCE: i64 = 10;
/// Microseconds between two of those that come after them.
const GAP: i64 = 1_000_000;

impl Deployments {
    /// Takes a turn at committing, at this time: how many microseconds later it is. None is taken if that is more than `most`, so that
    /// nobody takes all of the future. Requests that deployments come across run again, and must come to an end.
    pub fn turn(&self, now: i64, most: i64) -> Option<i64> {
        let turn_after = |next: i64| next.max(now - (AT_ONCE - 1) * GAP);
        let take =
            |next: i64| Some(turn_after(next)).filter(|turn| turn - now <= most).map(|turn| turn + GAP);
        let before = self.next.fetch_update(SeqCst, SeqCst, take).ok()?;
        Some((turn_after(before) - now).max(0))
    }

    /// A request that deployments have undone more than once will have ended by this time.
    pub fn keep_calm(&self, until: i64) {
        self.calm.fetch_max(until, SeqCst);
    }

    /// It has ended before. One that asks for longer goes on.
    pub fn end_calm(&self, until: i64) {
        let _ = self.calm.compare_exchange(until, 0, SeqCst, SeqCst);
    }

    /// Whether one has asked that is still to end.
    pub fn is_calm(&self, now: i64) -> bool {
        self.calm.load(SeqCst) > now
    }

    /// One is about to commit.
    pub fn begin(&self) {
        self.under_way.fetch_add(1, SeqCst);
    }

    /// One that has begun has ended: everybody sees it, or it was rolled back.
    pub fn end(&self) {
        // In this order: who finds none under way finds it among those that have ended.
        self.ended.fetch_add(1, SeqCst);
        self.under_way.fetch_sub(1, SeqCst);
    }

    /// How many have ended. To be asked before a request looks anything up.
    pub fn ended(&self) -> u64 {
        self.ended.load(SeqCst)
    }

    /// Whether one is under way.
    pub fn is_under_way(&self) -> bool {
        self.under_way.load(SeqCst) != 0
    }

    /// Whether what was looked up since so many had ended may be of two deployments.
    pub fn may_be_mixed(&self, ended: u64) -> bool {
        self.is_under_way() || self.ended() != ended
    }
}
