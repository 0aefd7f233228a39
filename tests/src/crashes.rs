//! Work during which the server is killed.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use crate::platform::wait_for;
use crate::queues::Queues;

/// What threads know of each other that work until the server is killed.
#[derive(Default)]
pub struct Life {
    is_over: AtomicBool,
    steps: AtomicUsize,
}

impl Life {
    /// Counts a piece of work; whether there shall be another.
    pub fn goes_on(&self) -> bool {
        self.steps.fetch_add(1, Ordering::SeqCst);
        !self.is_over.load(Ordering::SeqCst)
    }
}

/// Pieces of work, for each thread, before the server is killed: however slow the machine is, something happens.
const STEPS: usize = 4;

/// Kills the server so many times, each time while so many threads work, and starts it again. `work` gets the number of its
/// thread, and ends when its life does, or when the server is gone; what it returns is returned.
pub fn survive<T: Send>(
    queues: &mut Queues,
    crashes: usize,
    threads: usize,
    work: impl Fn(usize, &Queues, &Life) -> T + Sync,
) -> Vec<T> {
    let mut results = Vec::new();
    for crash in 0..crashes {
        let life = Life::default();
        let pid = queues.cluster.pid().expect("the server runs") as i32;
        thread::scope(|scope| {
            let (queues, life, work) = (&*queues, &life, &work);
            let workers: Vec<_> =
                (0..threads).map(|number| scope.spawn(move || work(number, queues, life))).collect();
            thread::park_timeout(Duration::from_millis(150 + 37 * (crash as u64 % 7)));
            wait_for("something has been done", || life.steps.load(Ordering::SeqCst) >= STEPS * threads);
            // SAFETY: a signal to the server that this test has started.
            unsafe { libc::kill(pid, libc::SIGKILL) };
            life.is_over.store(true, Ordering::SeqCst);
            results.extend(workers.into_iter().map(|worker| worker.join().expect("no panic")));
        });
        queues.cluster.kill().expect("it is gone");
        // The processes of the server that was killed end by themselves.
        wait_for("the old server's processes end", || queues.cluster.processes().is_empty());
        queues.cluster.start(cluster::Life::WithParent).expect("it starts again");
    }
    results
}
