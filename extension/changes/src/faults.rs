//! What a mistake of ours would be, on demand, so that `tests/together/histories.rs` can show that it finds it. Without the feature `faults`
//! nothing here does anything.

use std::ffi::CStr;
use std::time::Duration;

use pg::table_counts::How;
use pgrx::pg_sys;

/// Whether this mistake is to be made: the setting `faults.changes` names it, among others.
pub(crate) fn is_asked(mistake: &str) -> bool {
    if !cfg!(feature = "faults") {
        return false;
    }
    // SAFETY: on the main thread; null where nobody has set it.
    unsafe {
        let asked = pg_sys::GetConfigOption(c"faults.changes".as_ptr(), true, false);
        !asked.is_null()
            && CStr::from_ptr(asked).to_str().is_ok_and(|asked| asked.split(' ').any(|one| one == mistake))
    }
}

/// Whether a change of a table is to be missed.
pub(crate) fn misses(has_meaning: bool, how: How) -> bool {
    cfg!(feature = "faults")
        && if has_meaning {
            is_asked("no-names")
        } else {
            let kinds = [
                (how.inserted, "no-inserts"),
                (how.updated, "no-updates"),
                (how.deleted, "no-deletes"),
                (how.truncated, "no-truncations"),
            ];
            kinds.iter().all(|(is_so, mistake)| !is_so || is_asked(mistake))
        }
}

/// Sleeps for some time between the moment when others see a commit and the moment when it is counted.
pub(crate) fn hold_if_asked() {
    if is_asked("held") {
        std::thread::sleep(Duration::from_millis(20));
    }
}
