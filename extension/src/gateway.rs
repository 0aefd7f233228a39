//! Waits until it is told to end.

use crate::worker::Worker;

/// Runs until the worker is asked to leave.
pub fn run(worker: &Worker) {
    while !worker.asked_to_leave() {
        worker.wait(None);
    }
}
