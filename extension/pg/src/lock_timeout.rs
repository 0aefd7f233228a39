//! Waiting for locks for another time than the settings say.

use pgrx::pg_sys;

/// While it is there, `lock_timeout` is another.
#[must_use]
pub struct LockTimeout {
    before: i32,
}

impl LockTimeout {
    /// So many milliseconds; 0 for as long as it takes.
    pub fn set(milliseconds: i32) -> LockTimeout {
        // SAFETY: PostgreSQL's own variable, on the main thread.
        unsafe {
            let before = pg_sys::LockTimeout;
            pg_sys::LockTimeout = milliseconds;
            LockTimeout { before }
        }
    }

    /// So many milliseconds, or less if the settings say so.
    pub fn at_most(milliseconds: i32) -> LockTimeout {
        // SAFETY: as above.
        let before = unsafe { pg_sys::LockTimeout };
        LockTimeout::set(if before > 0 { before.min(milliseconds) } else { milliseconds })
    }
}

impl Drop for LockTimeout {
    fn drop(&mut self) {
        // SAFETY: as above.
        unsafe { pg_sys::LockTimeout = self.before };
    }
}
