//! Pages into SQL, and what a browser makes of them.

mod attacks;
mod browser;
mod evaluate;
mod hunts;
mod refusals;
mod sql;
