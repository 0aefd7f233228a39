//! Literals that name a moment that moves, such as `'today'`.
//!
//! PostgreSQL makes a constant of one when it reads a statement, and nothing in the plan shows it any more. So the text of each plan that
//! starts is looked through, and those of functions in SQL that have become a part of it, which the plan names by their hashes only. What was
//! stored as a tree has its constants for good.

use std::cell::{Cell, RefCell};
use std::ffi::{CStr, c_char};
use std::ptr::{null, null_mut};

use literal::moving::names_moving_moment;
use pg::catalog::SQL_LANGUAGE;
use pg::list::{list_length, nth};
use pgrx::pg_sys::{self, List, Oid};
use session::invalidations;

use super::plan::{Origin, Plan};
use super::recording::{Obstacle, blame};

thread_local! {
    /// The text of a plan that starts and was made from a tree: it only shows what that has.
    static SHOWN: Cell<*const c_char> = const { Cell::new(null()) };
    /// [`invalidations::epoch`] when functions were looked through; 0 before.
    static LOOKED: Cell<u64> = const { Cell::new(0) };
    /// Hashes of the functions in SQL whose text has such a literal.
    static MOVING: RefCell<Vec<u32>> = const { RefCell::new(Vec::new()) };
}

/// Starts a plan of an endpoint.
pub(super) fn start(plan: &Plan, start: impl FnOnce()) {
    // SAFETY: a saved plan.
    SHOWN.set(if plan.origin == Origin::Tree { unsafe { (*plan.source).query_string } } else { null() });
    start();
    SHOWN.set(null());
}

/// Looks through the text of a statement, or of an expression of PL/pgSQL's. Null is none.
///
/// # Safety
/// Null, or a text of PostgreSQL's.
pub(super) unsafe fn look(text: *const c_char) {
    let is_read = !text.is_null() && text != SHOWN.get();
    // SAFETY: by contract.
    let moves = is_read && names_moving_moment(&unsafe { CStr::from_ptr(text) }.to_string_lossy());
    if moves {
        blame(Obstacle::Moment(pg_sys::DATEOID));
    }
}

/// Looks at the functions that a plan depends on, those that have become a part of it among them.
///
/// # Safety
/// Inside a guard and a transaction; errors unwind or jump, and nothing is owned meanwhile. A list of PlanInvalItem.
pub(super) unsafe fn look_at_functions(items: *const List) {
    const FUNCTIONS: i32 = pg_sys::SysCacheIdentifier::PROCOID as i32;
    // SAFETY: by contract.
    unsafe {
        if list_length(items) == 0 {
            return;
        }
        let epoch = invalidations::epoch();
        if LOOKED.get() != epoch {
            MOVING.with_borrow_mut(Vec::clear);
            find_moving();
            LOOKED.set(epoch);
        }
        for place in 0..list_length(items) {
            let item = &*nth(items, place).cast::<pg_sys::PlanInvalItem>();
            let moves = || MOVING.with_borrow(|moving| moving.contains(&item.hashValue));
            if item.cacheId == FUNCTIONS && moves() {
                blame(Obstacle::Moment(pg_sys::DATEOID));
            }
        }
    }
}

/// Looks through the functions in SQL of users that are stored as texts. Nothing is borrowed while PostgreSQL is called.
unsafe fn find_moving() {
    const PROCEDURES: i32 = pg_sys::SysCacheIdentifier::PROCOID as i32;
    let attribute = |tuple, number: u32, columns, is_null: &mut bool| {
        // SAFETY: a row of pg_proc, which has this column.
        unsafe { pg_sys::heap_getattr(tuple, number as i32, columns, is_null) }
    };
    // SAFETY: the caller's contract; the catalog and its rows, between the opening and the closing of each.
    unsafe {
        let table = pg_sys::table_open(pg_sys::ProcedureRelationId, pg_sys::AccessShareLock as i32);
        let scan = pg_sys::systable_beginscan(table, Oid::INVALID, false, null_mut(), 0, null_mut());
        loop {
            let tuple = pg_sys::systable_getnext(scan);
            if tuple.is_null() {
                break;
            }
            let function = &*pg_sys::GETSTRUCT(tuple).cast::<pg_sys::FormData_pg_proc>();
            if function.oid.to_u32() < pg_sys::FirstNormalObjectId
                || function.prolang.to_u32() != SQL_LANGUAGE
            {
                continue;
            }
            let (columns, mut is_text, mut is_null) = ((*table).rd_att, false, false);
            attribute(tuple, pg_sys::Anum_pg_proc_prosqlbody, columns, &mut is_text);
            let body = attribute(tuple, pg_sys::Anum_pg_proc_prosrc, columns, &mut is_null);
            if !is_text || is_null {
                continue;
            }
            let text = pg_sys::text_to_cstring(body.cast_mut_ptr());
            let moves = names_moving_moment(&CStr::from_ptr(text).to_string_lossy());
            pg_sys::pfree(text.cast());
            if moves {
                let hash = pg_sys::GetSysCacheHashValue(
                    PROCEDURES,
                    function.oid.into(),
                    0.into(),
                    0.into(),
                    0.into(),
                );
                MOVING.with_borrow_mut(|moving| moving.push(hash));
            }
        }
        pg_sys::systable_endscan(scan);
        pg_sys::table_close(table, pg_sys::AccessShareLock as i32);
    }
}
