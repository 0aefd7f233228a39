//! A plan that is kept, and what is known of it.

use std::cell::{Cell, UnsafeCell};
use std::ffi::c_int;

use pg::guard::{PgError, raise};
use pg::list::{first, list_length};
use pgrx::pg_sys::{self, Datum, Oid};
use session::kept_plans;
use session::request_transaction::Leftovers;

use super::effects::{self, Effects};
use super::inputs::{Argument, Input};
use super::plan_choice::PlanChoice;
use super::plan_memory::note_new;
use super::rows::{Columns, ResultLayout, RowType};
use super::shape::Shape;
use super::stored_body;

/// A plan that is kept.
pub struct Plan {
    /// PostgreSQL's cached plan.
    pub source: *mut pg_sys::CachedPlanSource,
    /// What its result is, and in which column.
    pub shape: Shape,
    /// The column of the result, from 0.
    pub column: usize,
    /// The parameters: none for a handler, whose parameters are the request's fields.
    pub arguments: Vec<Argument>,
    /// Which of the function's arguments are given, as a bit set.
    pub given: u64,
    /// What it was made from.
    pub origin: Origin,
    /// What it does, as it was planned last: what a view calls may change.
    pub(super) effects: Cell<Effects>,
    /// The generation of the plan that `effects` and `columns` are about.
    pub(super) judged: Cell<c_int>,
    /// Whether each run is planned for itself.
    pub(super) choice: Cell<PlanChoice>,
    /// It was planned for the run that is under way.
    pub(super) is_planned: Cell<bool>,
    /// How its rows are written as JSON, if they are.
    pub(super) columns: UnsafeCell<Columns>,
    /// The statement writes, or is run for what it does: it runs to its end, whatever it returns.
    pub runs_to_end: bool,
    /// How the rows are those of a function's result, which are written as JSON: the function, and the way.
    pub(super) layout: Option<(Oid, ResultLayout)>,
    /// It was a scalar subquery: a second row is an error.
    pub scalar: bool,
    /// Its sort was taken from it: [`arms`]. Right as long as it only reads.
    pub(super) unsorted: bool,
}

/// What a plan was made from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Origin {
    /// A handler's statement.
    Statement,
    /// The call of a route's function.
    Call,
    /// The function's body, as it was written.
    Text,
    /// The function's body as PostgreSQL had parsed it when it was made: [`stored_body`].
    Tree,
}

impl Plan {
    /// Gives the plan back. Never raises.
    pub fn release(self) {
        // SAFETY: kept when it was made, and dropped once.
        unsafe { kept_plans::release(self.source) }
    }

    /// The tables, views and the like that it names.
    pub fn relations(&self) -> impl Iterator<Item = Oid> {
        // SAFETY: a saved plan's list of numbers.
        unsafe {
            let list = (*self.source).relationOids;
            (0..list_length(list)).map(move |place| (*(*list).elements.add(place)).oid_value)
        }
    }

    /// Has a text read again before the next run, as a call would: its names may mean something else by now.
    pub(crate) fn read_again(&self) {
        if self.origin == Origin::Text {
            // SAFETY: a saved plan; plancache.c reads the flag before each use.
            unsafe { (*self.source).is_valid = false };
        }
    }

    /// Whether it stands for the call of a function.
    fn is_body(&self) -> bool {
        matches!(self.origin, Origin::Text | Origin::Tree)
    }

    /// Nothing is written or locked, and nothing volatile is called that does more than return a value.
    pub fn reads_only(&self) -> bool {
        self.effects.get().reads_only
    }

    /// What the last run may have left in the session. What was planned just before may have run anybody's code, of which the
    /// statement does not tell: the planner computes constants in indexes, constraints and partitions of the tables that it reads.
    pub(crate) fn leftovers(&self) -> Leftovers {
        let is_planned = self.is_planned.take();
        if self.effects.get().leaves_nothing && !is_planned { Leftovers::None } else { Leftovers::Possible }
    }

    /// Looks at its effects and columns again if it has been planned anew: before it runs first, and after changes.
    ///
    /// # Safety
    /// Inside a guard and a transaction, after PostgreSQL's `GetCachedPlan`.
    pub unsafe fn judge(&self) {
        // SAFETY: by contract; a saved plan with one query.
        unsafe {
            let generation = (*self.source).generation;
            if self.judged.replace(generation) != generation {
                self.is_planned.set(true);
                note_new();
                let query = first((*self.source).query_list).cast();
                if self.origin == Origin::Tree && !stored_body::is_stored(query) {
                    self.make_anew("the body of the function was not analysed");
                }
                let mut effects = Effects::of(query);
                effects.leaves_nothing &= !self.arguments.iter().any(|argument| {
                    !matches!(argument.input, Input::Request | Input::File)
                        && effects::may_call_users_code(argument.type_oid)
                });
                let before = self.effects.replace(effects);
                if self.unsorted && !effects.reads_only {
                    self.make_anew("the statement writes by now");
                }
                // A call may refuse it by now.
                if self.is_body() && (effects.writes, effects.locks) != (before.writes, before.locks) {
                    self.make_anew("the body of the function does something else by now");
                }
                self.renew_columns();
            }
        }
    }

    /// A cast to json may have come. A column that has come or gone is not in the statement, which is to be made anew.
    unsafe fn renew_columns(&self) {
        // SAFETY: the contract of `judge`.
        unsafe {
            let columns = self.columns.get();
            if !(*columns).are_current() {
                self.make_anew("the columns of the result have changed");
            }
            *columns = match self.layout {
                Some(layout) => columns_of_result(layout, (*columns).row_type()),
                None => columns_of(self.source, self.shape, (*columns).row_type()),
            };
        }
    }

    /// Gives it up, as PostgreSQL does when a plan cannot be what it was.
    fn make_anew(&self, reason: &str) -> ! {
        // SAFETY: a saved plan.
        unsafe { (*self.source).is_valid = false };
        raise(PgError { sqlstate: *b"0A000", message: reason.into(), ..PgError::default() })
    }

    /// How its rows are written as JSON. Valid while it runs: they change in [`Self::judge`] alone, before that.
    pub fn columns(&self) -> *const Columns {
        self.columns.get()
    }

    /// Whether the catalogs have made it invalid, or rules have made several statements of it, or none.
    pub fn has_changed(&self) -> bool {
        // SAFETY: a saved plan.
        unsafe { !(*self.source).is_valid || list_length((*self.source).query_list) != 1 }
    }
}

/// A Datum of a pointer.
pub fn datum<T>(pointer: *const T) -> Datum {
    Datum::from(pointer.cast_mut())
}

pub(super) unsafe fn columns_of(
    source: *const pg_sys::CachedPlanSource,
    shape: Shape,
    row_type: RowType,
) -> Columns {
    // SAFETY: inside a guard and a transaction; a plan that has been made.
    if shape.has_columns() { unsafe { Columns::of((*source).resultDesc, row_type) } } else { Columns::none() }
}

/// How rows are written as a function's result.
///
/// # Safety
/// Inside a guard and a transaction.
pub(super) unsafe fn columns_of_result(
    (function, layout): (Oid, ResultLayout),
    row_type: RowType,
) -> Columns {
    // SAFETY: by contract.
    unsafe {
        match result_of(function) {
            _ if layout == ResultLayout::Value => Columns::of_value(pg_sys::get_func_rettype(function)),
            Some(descriptor) => Columns::laid_out(descriptor, row_type, layout),
            None => Columns::none(),
        }
    }
}

/// The columns of a function's result, if it returns rows.
///
/// # Safety
/// Inside a transaction; pgrx guards the call.
pub(super) unsafe fn result_of(function: Oid) -> Option<pg_sys::TupleDesc> {
    let mut descriptor = std::ptr::null_mut();
    // SAFETY: by contract.
    unsafe { pg_sys::get_func_result_type(function, std::ptr::null_mut(), &mut descriptor) };
    (!descriptor.is_null()).then_some(descriptor)
}
