//! Paths and patterns.

mod hunts;
mod lookup;
