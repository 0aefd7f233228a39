//! A bell: wakes one of those executors that have nothing to do when rows come into a queue that hangs on it. A database has one.
//!
//! An executor that goes to rest says so first and then looks whether the bell has rung since it last looked at its queues; whoever
//! rings counts first and then looks for somebody who rests. So one of the two sees the other.

use std::sync::atomic::{AtomicU64, Ordering::SeqCst};

use shared::settings::MAX_WORKERS_EVER as MAX_WORKERS;
use shared::workers::Kind;
use shared::{Tick, now_us, shared, wake};

/// The time of an alarm that nobody has set.
const NEVER: u64 = 0;

/// A bell, in shared memory. Zeros are one that has never rung.
#[repr(C, align(128))]
pub struct Bell {
    rings: AtomicU64,
    /// A bit for each executor that rests.
    resting: [AtomicU64; MAX_WORKERS / 64],
    /// Since when it rings in vain, by [`now_us`]; 0 if it does not.
    unanswered: AtomicU64,
    /// For when somebody who rests has set an alarm, by the clock that nobody sets; 0 if nobody has.
    alarm: AtomicU64,
}

impl Bell {
    /// How often it has rung. To be asked before one looks at the queues.
    pub fn rings(&self) -> u64 {
        self.rings.load(SeqCst)
    }

    /// Rows have come.
    pub fn ring(&self) {
        self.rings.fetch_add(1, SeqCst);
        self.call_one();
    }

    /// Wakes one who rests: there is more to do than the caller takes. Where nobody rests the supervisor is told.
    pub fn call_one(&self) {
        for (word, bits) in self.resting.iter().enumerate() {
            let mut seen = bits.load(SeqCst);
            while seen != 0 {
                let lowest = seen & seen.wrapping_neg();
                if bits.fetch_and(!lowest, SeqCst) & lowest != 0 {
                    wake::wake(Kind::Executor, word * 64 + lowest.trailing_zeros() as usize);
                    return;
                }
                seen = bits.load(SeqCst);
            }
        }
        if self.unanswered.compare_exchange(0, now_us(), SeqCst, SeqCst).is_ok() {
            shared().nudge_supervisor();
        }
    }

    /// Whether a call would reach anybody: one who rests, or the supervisor, who has not been told yet.
    pub fn is_heard(&self) -> bool {
        self.unanswered.load(SeqCst) == 0 || self.has_resting()
    }

    /// Whether anybody rests.
    pub fn has_resting(&self) -> bool {
        self.resting.iter().any(|bits| bits.load(SeqCst) != 0)
    }

    /// This executor rests from now on. It must look once more whether the bell has rung.
    pub fn rest(&self, executor: usize) {
        self.resting[executor / 64].fetch_or(1 << (executor % 64), SeqCst);
    }

    /// It rests no more.
    pub fn rise(&self, executor: usize) {
        self.resting[executor / 64].fetch_and(!(1 << (executor % 64)), SeqCst);
    }

    /// Somebody has looked at all queues, and found nothing to do.
    pub fn answer(&self) {
        if self.unanswered.load(SeqCst) != 0 {
            self.unanswered.store(0, SeqCst);
        }
    }

    /// Since when it rings in vain, by [`now_us`].
    pub fn unanswered(&self) -> Option<u64> {
        Some(self.unanswered.load(SeqCst)).filter(|since| *since != 0)
    }

    /// Sets the alarm: false if there is one for that time or before, which somebody else who rests will hear.
    pub fn set_alarm(&self, time: Tick) -> bool {
        let time = time.microseconds();
        let mut known = self.alarm.load(SeqCst);
        loop {
            if known != NEVER && known <= time {
                return false;
            }
            match self.alarm.compare_exchange(known, time, SeqCst, SeqCst) {
                Ok(_) => return true,
                Err(other) => known = other,
            }
        }
    }

    /// Whoever has set the alarm may have ended. Call somebody, who sets it anew.
    pub fn forget_alarm(&self) {
        self.alarm.store(NEVER, SeqCst);
    }

    /// Takes back an alarm that was set; false if another has been set since.
    pub fn stop_alarm(&self, time: Tick) -> bool {
        self.alarm.compare_exchange(time.microseconds(), NEVER, SeqCst, SeqCst).is_ok()
    }
}
