//! What commits have changed. Its README has the idea, what holds, and what a crash leaves.
//!
//! - [`memory`]: the counters and marks of [`registry::commits`], in the shared memory.
//! - [`things`]: what a transaction has changed, as things that have counters.
//! - [`ends`]: marks it before the transaction's end, and counts it afterwards.
//! - [`standing`]: what has become of a transaction that has a mark.
//!
//! It knows neither requests nor answers: who keeps one says what that has read.

mod ends;
pub mod memory;
mod standing;
mod things;

pub use ends::{install, while_maintaining};
pub use registry::commits::{EVERYTHING, Moment, Thing};
pub use things::{of_catalogs, relation};

use memory::commits;

/// Now, for what is computed from here on: to be asked before its snapshot is taken.
pub fn now() -> Moment {
    commits().now()
}

/// Whether what was computed after this moment, and has read no more than these relations and what names and rights
/// mean, is what would be computed now.
///
/// # Safety
/// On the main thread, inside a guard.
pub unsafe fn hold(since: Moment, relations: &[Thing]) -> bool {
    // SAFETY: by contract.
    let ask = |transaction, is_prepared| unsafe { standing::of(transaction, is_prepared) };
    commits().hold(since, &of_catalogs(), ask) && commits().hold(since, relations, ask)
}

/// When one of these was last changed, or everything.
///
/// # Safety
/// As for [`hold`].
pub unsafe fn last_change(things: impl IntoIterator<Item = Thing>) -> Moment {
    // SAFETY: by contract.
    commits().settle_ended(|transaction, is_prepared| unsafe { standing::of(transaction, is_prepared) });
    let of_all = commits().last_change(EVERYTHING);
    things.into_iter().map(|thing| commits().last_change(thing)).fold(of_all, Moment::max)
}
