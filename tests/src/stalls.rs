//! Moments in which the whole machine stands still: what is timed meanwhile takes so much longer, whoever did it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// Between two looks at the clock.
const NAP: Duration = Duration::from_millis(1);

/// A thread that does nothing but look at the clock.
pub struct Stalls {
    over: Arc<AtomicBool>,
    watcher: JoinHandle<Duration>,
}

impl Stalls {
    /// Watches from now on.
    pub fn watch() -> Stalls {
        let over = Arc::new(AtomicBool::new(false));
        let flag = Arc::clone(&over);
        let watcher = thread::spawn(move || {
            let mut longest = Duration::ZERO;
            while !flag.load(Ordering::Relaxed) {
                let begin = Instant::now();
                thread::sleep(NAP);
                longest = longest.max(begin.elapsed().saturating_sub(NAP));
            }
            longest
        });
        Stalls { over, watcher }
    }

    /// For how long nothing went on, at the longest. A few milliseconds where all processors are busy.
    pub fn longest(self) -> Duration {
        self.over.store(true, Ordering::Relaxed);
        self.watcher.join().expect("the watcher ends")
    }
}
