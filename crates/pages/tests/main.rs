//! Pages into SQL, and what a browser makes of them.

mod attacks;
mod bounds;
mod browser;
mod escapes;
mod evaluate;
mod expansion;
mod hunts;
mod names;
mod refusals;
mod sql;
