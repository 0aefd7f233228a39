//! What SQL calls.

mod cancel;
mod enqueue;
mod looking;
mod rights;

pub use enqueue::priority;
