//! Answers that wait for rows.
//!
//! A read over HTTP that finds nothing occupies no executor while it waits: the executor hands back the answer
//! for that, and on what to wait. The gateway keeps both with the request, and has the request run again when rows may
//! be free, or sends the answer when the time is over.

use std::cell::Cell;

pub use dispatch::Later;

/// Set in the code of a completion whose response begins with a [`Later`].
pub const LATER: u32 = 1 << 31;

thread_local! {
    static ASKED: Cell<Option<Later>> = const { Cell::new(None) };
}

/// Has the answer to the current request wait. Void outside of one.
pub fn ask(later: Later) {
    ASKED.set(Some(later));
}

/// What was asked for since the last call.
pub fn take() -> Option<Later> {
    ASKED.take()
}
