//! How large rows are as text. Somebody reads or dumps what lines have put into a table, as whole text: so a table is given no
//! more of it by lines than a queue takes.

use pgrx::pg_sys::{Datum, Oid};
pub(crate) use queue::door::LARGEST;
use queue::unfolded::{Form, Room};

use super::scratch::Scratch;

/// Bytes of text that a byte of a line may become, at most: `1e131071` has 131,072 digits.
const UNFOLDED: usize = (128 << 10) / "1e131071".len();

/// Whether a line is long enough for a row that is too large.
pub(crate) fn may_be_large(line: &str) -> bool {
    line.len() > LARGEST / UNFOLDED
}

/// Whether values, with their types, have no more text than a row may have.
///
/// # Safety
/// Values of the types, inside a transaction.
pub(crate) unsafe fn fits(mut values: impl Iterator<Item = (Datum, Oid)>, scratch: &Scratch) -> bool {
    let mut room = Room::new(LARGEST, Form::Text);
    // SAFETY: by contract.
    values.all(|(value, of_type)| scratch.with(|| unsafe { room.add(value, of_type).is_ok() }))
}
