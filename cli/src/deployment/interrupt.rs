//! Ctrl-C while something is deployed: the server is told to stop, and nothing is kept.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use signal_hook::consts::{SIGINT, SIGTERM};

/// The message of a deployment that it has ended.
pub(crate) const INTERRUPTED: &str = "interrupted; nothing of it was deployed";

static FLAG: OnceLock<Arc<AtomicBool>> = OnceLock::new();

/// From now on Ctrl-C is noticed, and does not end the program.
pub(crate) fn notice() {
    FLAG.get_or_init(|| {
        let flag = Arc::new(AtomicBool::new(false));
        for signal in [SIGINT, SIGTERM] {
            // Where that cannot be had the program ends, and the server undoes what it has begun.
            let _ = signal_hook::flag::register(signal, Arc::clone(&flag));
        }
        flag
    });
}

/// Whether it was.
pub(crate) fn was_noticed() -> bool {
    FLAG.get().is_some_and(|flag| flag.load(Ordering::Relaxed))
}
