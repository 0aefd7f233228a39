//! PL/pgSQL's plugin, which hears of functions that end, while a request is recorded.

use std::cell::Cell;
use std::ffi::c_void;
use std::ptr::null_mut;

use pgrx::pg_sys::{self, Oid};

thread_local! {
    /// Where PL/pgSQL looks for its plugin.
    static PLACE: Cell<*mut *mut c_void> = const { Cell::new(null_mut()) };
    /// The plugin, which PL/pgSQL writes into.
    static PLUGIN: Cell<*mut pg_sys::PLpgSQL_plugin> = const { Cell::new(null_mut()) };
    /// The function that was let pass last because it will tell.
    static RELIED_ON: Cell<Option<Oid>> = const { Cell::new(None) };
}

/// Called at the end of a function, with its state.
pub(super) type FunctionEnded =
    unsafe extern "C-unwind" fn(*mut pg_sys::PLpgSQL_execstate, *mut pg_sys::PLpgSQL_function);

/// Becomes the plugin, if nobody else is it.
pub(super) fn begin(ended: FunctionEnded) {
    if PLUGIN.get().is_null() {
        let plugin = pg_sys::PLpgSQL_plugin { func_end: Some(ended), ..Default::default() };
        PLUGIN.set(Box::leak(Box::new(plugin)));
        // SAFETY: on the main thread; it lives as long as the process.
        PLACE.set(unsafe { pg_sys::find_rendezvous_variable(c"PLpgSQL_plugin".as_ptr()) });
    }
    RELIED_ON.set(None);
    if is_free() {
        // SAFETY: as above.
        unsafe { *PLACE.get() = PLUGIN.get().cast() };
    }
}

/// Is the plugin no more. If another is it by now, the function that was relied on.
pub(super) fn end() -> Option<Oid> {
    if is_ours() {
        // SAFETY: on the main thread; PL/pgSQL takes null for none.
        unsafe { *PLACE.get() = null_mut() };
        return None;
    }
    RELIED_ON.get()
}

/// Whether a function in PL/pgSQL will tell what it reads when it runs.
pub(super) fn will_tell(function: Oid) -> bool {
    let tells = is_ours();
    if tells {
        RELIED_ON.set(Some(function));
    }
    tells
}

fn is_free() -> bool {
    // SAFETY: on the main thread; see `begin`.
    unsafe { (*PLACE.get()).is_null() }
}

fn is_ours() -> bool {
    // SAFETY: as above.
    !PLACE.get().is_null() && unsafe { *PLACE.get() == PLUGIN.get().cast() }
}
