//! What this gateway has told the counters of routes that it keeps: it takes that back when it ends.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;

use pg::entry::unfailing_callback;
use pgrx::pg_sys;
use shared::shared;

thread_local! {
    /// Bytes by the number of the route's counters.
    static SHOWN: RefCell<HashMap<u32, u64>> = RefCell::default();
    static IS_REGISTERED: Cell<bool> = const { Cell::new(false) };
}

/// Tells that so many bytes are kept of a route.
pub(super) fn set(gate: u32, bytes: u64) {
    if !IS_REGISTERED.replace(true) {
        // SAFETY: a callback for the end of this process.
        unsafe { pg_sys::before_shmem_exit(Some(leave), pg_sys::Datum::from(0)) };
    }
    let before = SHOWN.with_borrow_mut(|shown| match bytes {
        0 => shown.remove(&gate),
        _ => shown.insert(gate, bytes),
    });
    let before = before.unwrap_or_default();
    if before != bytes {
        shared().routes.get(gate as usize).keep_bytes(before, bytes);
    }
}

unfailing_callback! {
    unsafe fn leave(_code: i32, _argument: pg_sys::Datum) {
        clear();
    }
}

/// Tells that nothing is kept.
pub(super) fn clear() {
    SHOWN
        .take()
        .into_iter()
        .for_each(|(gate, bytes)| shared().routes.get(gate as usize).keep_bytes(bytes, 0));
}
