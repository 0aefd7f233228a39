//! Heavyweight locks of this extension's own.

use pgrx::pg_sys;

/// A lock on a thing of this database, of a class that nobody else uses. It is shown among advisory locks, and is of another method than those of
/// sessions, which give back all that they have at once.
pub fn lock_tag(class: u16, thing: u64) -> pg_sys::LOCKTAG {
    pg_sys::LOCKTAG {
        // SAFETY: PostgreSQL's own variable.
        locktag_field1: unsafe { pg_sys::MyDatabaseId }.to_u32(),
        locktag_field2: (thing >> 32) as u32,
        locktag_field3: thing as u32,
        locktag_field4: class,
        locktag_type: pg_sys::LockTagType::LOCKTAG_ADVISORY as u8,
        locktag_lockmethodid: pg_sys::DEFAULT_LOCKMETHOD as u8,
    }
}

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
