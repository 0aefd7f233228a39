//! The time, read once per turn instead of several times per request.

use std::cell::{Cell, RefCell};
use std::time::{Duration, Instant, SystemTime};

use ::http1::DateCache;

/// Milliseconds since the server began.
pub(crate) type Millis = u64;

/// A point in time that does not come.
pub(crate) const NEVER: Millis = Millis::MAX;

pub(crate) struct Clock {
    start: Instant,
    now: Cell<Millis>,
    refreshed: Cell<Instant>,
    date: RefCell<DateCache>,
}

impl Clock {
    pub(crate) fn new() -> Self {
        let date = RefCell::new(DateCache::new(SystemTime::now()));
        let start = Instant::now();
        Self { start, now: Cell::new(0), refreshed: Cell::new(start), date }
    }

    /// Reads the clocks. Called after every wait.
    pub(crate) fn refresh(&self) {
        let now = Instant::now();
        self.refreshed.set(now);
        self.now.set((now - self.start).as_millis() as Millis);
        self.date.borrow_mut().update(SystemTime::now());
    }

    /// When that was.
    pub(crate) fn refreshed(&self) -> Instant {
        self.refreshed.get()
    }

    pub(crate) fn now(&self) -> Millis {
        self.now.get()
    }

    /// When at least that much will have passed: now is anywhere in its millisecond.
    pub(crate) fn after(&self, duration: Duration) -> Millis {
        let millis = Millis::try_from(duration.as_micros().div_ceil(1000)).unwrap_or(NEVER);
        self.now().saturating_add(millis).saturating_add(1)
    }

    /// The instant of a point in time; one in a distant future for those that do not fit.
    pub(crate) fn instant(&self, at: Millis) -> Instant {
        const CENTURY: Millis = 100 * 365 * 24 * 3600 * 1000;
        self.start + Duration::from_millis(at.min(CENTURY))
    }

    /// Calls `write` with the Date of now.
    pub(crate) fn with_date<T>(&self, write: impl FnOnce(&str) -> T) -> T {
        write(self.date.borrow().as_str())
    }
}
