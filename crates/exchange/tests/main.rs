//! The hand-off, within one process.

mod gates;
mod hand_off;
mod region;
mod stress;
