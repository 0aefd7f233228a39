//! What commits have changed. Its README has the idea, what holds, and what a crash leaves.
//!
//! - [`memory`]: the counters and marks of [`registry::commits`], in the shared memory.
//! - [`things`]: what a transaction has changed, as things that have counters.
//! - [`ends`]: marks it before the transaction's end, and counts it afterwards.
//! - [`faults`]: mistakes on demand.
//! - [`private`]: what a transaction has changed of catalogs for nobody else.
//! - [`replay`]: what a standby has in the place of all that.
//! - [`standing`]: what has become of a transaction that has a mark.
//!
//! It knows neither requests nor answers: who keeps one says what that has read.

mod ends;
mod faults;
pub mod memory;
mod private;
mod replay;
mod standing;
mod things;

pub use ends::install;
pub use private::{Private, while_running};
pub use registry::commits::{EVERYTHING, Moment, Thing};
pub use things::{of_catalogs, relation};

use std::sync::atomic::Ordering::SeqCst;

use memory::{attached, commits};
use pgrx::pg_sys;

/// Now, for what is computed from here on: to be asked before its snapshot is taken.
pub fn now() -> Moment {
    replay::now().unwrap_or_else(|| commits().now())
}

/// The thing of a number that a process has told.
pub fn thing(number: u32) -> Thing {
    Thing::of_number(number, commits())
}

/// Whether what was computed after this moment, and has read no more than these relations and what names and rights
/// mean, is what would be computed now. On a standby whatever has ended since has changed it.
///
/// # Safety
/// On the main thread.
pub unsafe fn hold(since: Moment, relations: &[Thing]) -> bool {
    if let Some(holds) = replay::holds(since) {
        return holds;
    }
    // SAFETY: by contract.
    let ask = |transaction, is_prepared| unsafe { standing::of(transaction, is_prepared) };
    is_ready() && commits().hold(since, &of_catalogs(), ask) && commits().hold(since, relations, ask)
}

/// Whether all that may still be committed has a mark: not on a standby, and not before [`adopt`].
pub fn is_ready() -> bool {
    attached().is_some_and(|memory| memory.is_ready.load(SeqCst))
}

/// Marks the transactions that were prepared before the server began, or before it was promoted, whose marks are gone: nobody knows what they
/// have changed. Once for the life of the server.
///
/// # Safety
/// Inside a guard and a transaction with a snapshot, in a process of the server's own; errors unwind.
pub unsafe fn adopt() {
    // SAFETY: by contract.
    if is_ready() || unsafe { pg_sys::RecoveryInProgress() } {
        return;
    }
    let prepared = pgrx::Spi::connect(|client| {
        let rows = client.select(
            "select transaction::pg_catalog.text from pg_catalog.pg_prepared_xact()",
            None,
            &[],
        )?;
        rows.map(|row| row.get::<String>(1)).collect::<Result<Vec<_>, _>>()
    });
    let prepared = prepared.unwrap_or_else(|error| pgrx::error!("cannot read what is prepared: {error}"));
    let transactions = prepared.into_iter().flatten().filter_map(|text| text.parse::<u32>().ok());
    // SAFETY: by contract.
    let ask = |transaction, is_prepared| unsafe { standing::of(transaction, is_prepared) };
    let without = transactions.filter(|&transaction| !commits().adopt(transaction, ask)).count();
    if let Some(memory) = attached().filter(|_| without == 0) {
        // One may have been committed before it was looked for, of which an answer that began earlier has seen nothing.
        memory.commits.count_unmarked(&[EVERYTHING]);
        memory.is_ready.store(true, SeqCst);
    }
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
