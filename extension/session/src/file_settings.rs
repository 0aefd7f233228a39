//! What the configuration's files say, as a number that processes compare: each reads them in its own time after a reload.

use std::cell::Cell;
use std::ffi::CStr;
use std::hash::{DefaultHasher, Hash, Hasher};

use pg::version::settings;
use pgrx::pg_sys::{self, GucSource, config_generic, config_type};

thread_local! {
    /// None after a reload, until somebody asks.
    static FINGERPRINT: Cell<Option<u64>> = const { Cell::new(None) };
}

/// A number that is the same in two processes if they have read the same.
pub fn fingerprint() -> u64 {
    FINGERPRINT.get().unwrap_or_else(|| {
        let mut hasher = DefaultHasher::new();
        let of_files = settings().into_iter().filter(|&setting| {
            // SAFETY: a setting of PostgreSQL's table.
            unsafe { (*setting).reset_source == GucSource::PGC_S_FILE }
        });
        // SAFETY: as above.
        of_files.for_each(|setting| unsafe { hash(setting, &mut hasher) });
        let fingerprint = hasher.finish();
        FINGERPRINT.set(Some(fingerprint));
        fingerprint
    })
}

/// The files were read again.
pub(crate) fn reloaded() {
    FINGERPRINT.set(None);
}

/// # Safety
/// A setting of PostgreSQL's table, whose tag tells its type.
unsafe fn hash(setting: *mut config_generic, hasher: &mut DefaultHasher) {
    // SAFETY: by contract.
    unsafe {
        CStr::from_ptr((*setting).name).hash(hasher);
        match (*setting).vartype {
            config_type::PGC_BOOL => (*setting.cast::<pg_sys::config_bool>()).reset_val.hash(hasher),
            config_type::PGC_INT => (*setting.cast::<pg_sys::config_int>()).reset_val.hash(hasher),
            config_type::PGC_REAL => {
                (*setting.cast::<pg_sys::config_real>()).reset_val.to_bits().hash(hasher)
            }
            config_type::PGC_ENUM => (*setting.cast::<pg_sys::config_enum>()).reset_val.hash(hasher),
            _ => {
                let text = (*setting.cast::<pg_sys::config_string>()).reset_val;
                (!text.is_null()).then(|| CStr::from_ptr(text)).hash(hasher);
            }
        }
    }
}
