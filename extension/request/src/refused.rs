//! Parameters that a handler refuses by `http.invalid`: noted while it runs, told at its end.
//!
//! Of one run at a time: requests do not nest, and what runs before another in the same transaction is told before that begins.

use std::cell::{Cell, RefCell};

use problem::{ParameterError, Problem, Wording};

use super::later;

/// Parameters that one run may refuse.
pub const MOST: usize = 1_000;

thread_local! {
    /// Whether the transaction is being committed.
    static IS_ENDING: Cell<bool> = const { Cell::new(false) };
    static NOTED: RefCell<Vec<ParameterError>> = const { RefCell::new(Vec::new()) };
}

/// Notes that a parameter is refused, or the request as a whole, and why. False if there are [`MOST`] already.
pub fn note(parameter: Option<&str>, message: &str) -> bool {
    NOTED.with_borrow_mut(|noted| {
        if noted.len() < MOST {
            let (parameter, message) = (parameter.map(str::to_owned), message.to_owned());
            noted.push(ParameterError { parameter, message, wording: Wording::Application });
            return true;
        }
        false
    })
}

/// Whether the transaction is being committed: what refuses something then, in a deferred trigger, has to end it by an error.
pub fn is_ending() -> bool {
    IS_ENDING.get()
}

/// The transaction is being committed from now on.
pub(crate) fn end() {
    IS_ENDING.set(true);
}

/// Whether something is refused.
pub(crate) fn is_any() -> bool {
    NOTED.with_borrow(|noted| !noted.is_empty())
}

/// Takes the answer to a run that refuses something. What it has left to be answered later is not.
pub(crate) fn problem() -> Problem {
    later::take();
    Problem::refused(take())
}

/// Takes what is refused, in the order in which it was noted.
pub(crate) fn take() -> Vec<ParameterError> {
    IS_ENDING.set(false);
    NOTED.take()
}
