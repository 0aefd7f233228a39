//! Whether a plan still calls the function that was found to be the route's.
//!
//! A plan that waits for a lock is analysed again if its function has gone meanwhile, and its name may be another's by then: one whose
//! owner nobody has asked about. The planner computes what is constant, so that function must not even be planned: the analysis is
//! looked at before. What changes after that is found before the run.

use std::cell::Cell;
use std::ffi::c_char;
use std::ptr::null;

use pg::entry::callback;
use pg::guard::{PgError, raise};
use pg::list::{first, list_length};
use pgrx::pg_sys::{self, Oid};
use session::invalidations;

use super::standing::{FunctionVersion, Standing, standing};

/// The function that a plan calls, as it was when it was found to be the route's.
#[derive(Clone, Copy)]
pub(crate) struct Called {
    /// The function.
    pub version: FunctionVersion,
    /// The endpoint's role.
    pub role: Oid,
    /// [`invalidations::epoch`] of that time.
    pub epoch: u64,
}

thread_local! {
    /// The call that is being planned: its text, and the function that it means.
    static PLANNED: Cell<(*const c_char, Oid)> = const { Cell::new((null(), Oid::INVALID)) };
    /// Whether the hook is there.
    static HOOKED: Cell<bool> = const { Cell::new(false) };
    /// The hook that was there before.
    static NEXT: Cell<pg_sys::post_parse_analyze_hook_type> = const { Cell::new(None) };
}

/// Looks at what is analysed from now on. Called once in each worker.
pub fn watch() {
    // A hook that is its own next would never end.
    if HOOKED.replace(true) {
        return;
    }
    // SAFETY: on the main thread; hooks are plain variables.
    unsafe {
        NEXT.set(pg_sys::post_parse_analyze_hook);
        pg_sys::post_parse_analyze_hook = Some(analyzed);
    }
}

/// Forgets a call whose planning an error has ended.
pub fn forget() {
    PLANNED.set((null(), Oid::INVALID));
}

impl Called {
    /// Has the call of this text planned: an error after which the request is run again, if it means another function by now.
    pub(crate) fn planned<T>(&self, text: *const c_char, planning: impl FnOnce() -> T) -> T {
        PLANNED.set((text, self.version.oid));
        let result = planning();
        forget();
        result
    }

    /// The same error if the function may not be what the plan calls. A load if nothing has changed.
    ///
    /// # Safety
    /// Inside a guard and a transaction, after the planning and before the run.
    pub(crate) unsafe fn refuse_if_changed(&self) {
        if invalidations::epoch() == self.epoch {
            return;
        }
        // SAFETY: by contract.
        if !matches!(unsafe { standing(&self.version, self.role) }, Standing::Unchanged) {
            refuse();
        }
    }
}

/// The same error if the statement that was analysed for a function calls another: whoever waited for a lock before may find its name
/// to be another's.
///
/// # Safety
/// Inside a guard and a transaction; a query of the analyzer, of [`super::function::Function::call`].
pub(crate) unsafe fn refuse_other(query: *const pg_sys::Query, function: Oid) {
    // SAFETY: by contract.
    if unsafe { function_of(query) } != Some(function) {
        refuse();
    }
}

fn refuse() -> ! {
    raise(PgError {
        sqlstate: *b"42883",
        message: "the route's function has changed while its call waited".into(),
        ..PgError::default()
    })
}

callback! {
    unsafe fn analyzed(
        state: *mut pg_sys::ParseState,
        query: *mut pg_sys::Query,
        jumble: *mut pg_sys::JumbleState,
    ) {
        // SAFETY: PostgreSQL calls the hook with what it has just analysed.
        unsafe {
            let (text, function) = PLANNED.get();
            if !text.is_null() && (*state).p_sourcetext == text && function_of(query) != Some(function) {
                refuse();
            }
            if let Some(next) = NEXT.get() {
                next(state, query, jumble);
            }
        }
    }
}

/// The function that a statement of [`super::function::Function::call`] calls: in FROM, or as its one value, which may become JSON.
///
/// # Safety
/// A query of the analyzer.
unsafe fn function_of(query: *const pg_sys::Query) -> Option<Oid> {
    // SAFETY: by contract; the tags tell the types.
    unsafe {
        let value = if list_length((*query).rtable) > 0 {
            let range = first((*query).rtable).cast::<pg_sys::RangeTblEntry>();
            if list_length((*range).functions) == 0 {
                return None;
            }
            (*first((*range).functions).cast::<pg_sys::RangeTblFunction>()).funcexpr
        } else if list_length((*query).targetList) > 0 {
            (*first((*query).targetList).cast::<pg_sys::TargetEntry>()).expr.cast()
        } else {
            return None;
        };
        let call = as_call(value)?;
        if (*call).funcid.to_u32() == pg_sys::F_TO_JSON && list_length((*call).args) > 0 {
            return as_call(first((*call).args).cast()).map(|inner| (*inner).funcid);
        }
        Some((*call).funcid)
    }
}

/// # Safety
/// A node of an expression, or null.
unsafe fn as_call(node: *const pg_sys::Node) -> Option<*const pg_sys::FuncExpr> {
    // SAFETY: by contract.
    let is_call = unsafe { !node.is_null() && (*node).type_ == pg_sys::NodeTag::T_FuncExpr };
    is_call.then_some(node.cast())
}
