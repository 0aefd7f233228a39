//! How much memory the plans of a process take, as they were measured last, and when which were used.

use std::cell::Cell;

thread_local! {
    /// Runs of endpoints in this process.
    static CLOCK: Cell<u64> = const { Cell::new(0) };
    /// Bytes of all plans.
    static TOTAL: Cell<usize> = const { Cell::new(0) };
    /// Whether a plan was made since an endpoint was measured.
    static IS_NEW: Cell<bool> = const { Cell::new(false) };
}

/// The memory of an endpoint's plans.
#[derive(Default)]
pub(crate) struct PlanMemory {
    /// The run that has used them last.
    used: Cell<u64>,
    bytes: Cell<usize>,
}

/// Notes that a plan was made, or planned anew.
pub(crate) fn note_new() {
    IS_NEW.set(true);
}

/// Whether one was since this was asked last.
pub(crate) fn take_new() -> bool {
    IS_NEW.take()
}

/// Bytes of all plans.
pub(crate) fn total() -> usize {
    TOTAL.get()
}

impl PlanMemory {
    /// The plans were used.
    pub(crate) fn touch(&self) {
        CLOCK.set(CLOCK.get() + 1);
        self.used.set(CLOCK.get());
    }

    /// The plans take so many bytes.
    pub(crate) fn measure(&self, bytes: usize) {
        self.forget();
        self.bytes.set(bytes);
        TOTAL.set(TOTAL.get() + bytes);
    }

    /// The plans have gone.
    pub(crate) fn forget(&self) {
        TOTAL.set(TOTAL.get().saturating_sub(self.bytes.take()));
    }

    /// A number that is the larger the later they were used; none if they take nothing.
    pub(crate) fn last_use(&self) -> Option<u64> {
        (self.bytes.get() > 0).then(|| self.used.get())
    }
}
