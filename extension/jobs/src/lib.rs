//! Jobs: enqueued in the transaction that causes them, run exactly once. They are rows of queues, one for each kind and priority; an
//! executor takes a row, runs it and commits in one transaction. README.md of this crate has the idea, what holds, and what a crash leaves.
//!
//! - [`kind`]: a kind by its name, and who may do what: for sessions. [`id`]: the numbers of jobs. [`entry`]: a job as its queue has it. [`keys`]: of jobs with the same key one is there at a time.
//! - [`kinds`]: the kinds as an executor runs them. [`runs`]: which job comes next; [`turn`]: what a look for that comes to; [`attempt`]: running it; [`batch`]: several in one transaction. [`current`]: the one that runs. [`cancels`]: of one that runs.
//! - [`failure`]: what becomes of a job that has failed. [`history`]: what is old goes; [`walk`]: how far that is.
//! - [`schedules`]: when jobs are enqueued by the clock; [`ticks`]: enqueueing them; [`clock`]: when to look next.
//! - [`memory`]: what runs, over all executors, and what limits ask for. [`slots`], [`record`]: the file that outlives a crash;
//!   [`crashes`]: whom a crash is charged to; [`solitude`], [`suspects`]: who runs alone after one, and who waits for that.
//! - [`functions`]: what SQL calls.

mod attempt;
mod batch;
mod cancels;
mod clock;
mod crashes;
mod current;
mod entry;
mod failure;
pub mod functions;
pub mod history;
mod id;
mod keys;
pub mod kind;
pub mod kinds;
pub mod memory;
mod record;
pub mod runs;
pub mod schedules;
pub mod slots;
mod solitude;
mod suspects;
pub mod ticks;
mod turn;
mod walk;
