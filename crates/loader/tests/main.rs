//! Lines on their way to a server.

mod delivery;
mod hunts;
