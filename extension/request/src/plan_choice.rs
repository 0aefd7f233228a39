//! Plans that are made for each request and come out the same.
//!
//! PostgreSQL plans a statement anew in each run as long as the plan for any values seems to cost more. It compares estimates, and those of
//! `limit $1` or `generate_series(1, $1)` are far too high where nothing is known of `$1`. So it would plan in each run for ever, at ten times
//! the cost of the run, and get the same plan each time. Here the plans themselves are compared. Those that come out as the one for any
//! values, several times one after the other, are given up for it. Now and then one is made all the same: where it differs, each request
//! gets a plan of its own again, until the tables or their statistics change. `plan_cache_mode` overrules all of this.

use std::cell::Cell;
use std::ffi::c_int;

use pg::list::{list_length, nth};
use pgrx::pg_sys;

/// Plans in a row that must be the same.
const ENOUGH: u32 = 5;
/// Every so many runs of the plan for any values one is planned for its own.
const LOOK_AGAIN: u32 = 64;

/// The cost of a plan that PostgreSQL has not made yet.
const NOT_KNOWN: f64 = -1.0;

/// Knowledge of a statement's plans since it was analysed.
#[derive(Clone, Copy)]
pub(crate) enum PlanChoice {
    /// So many in a row came out as the one for any values.
    Alike(u32),
    /// So many runs were by the one for any values.
    Generic(u32),
    /// One came out differently after others had not: PostgreSQL chooses.
    Theirs,
}

impl PlanChoice {
    pub(crate) const NEW: PlanChoice = PlanChoice::Alike(0);
}

/// Tells PostgreSQL how to plan the next run.
///
/// # Safety
/// A saved plan.
pub(crate) unsafe fn prepare(source: *mut pg_sys::CachedPlanSource, choice: &Cell<PlanChoice>) {
    const GENERIC: c_int = pg_sys::CURSOR_OPT_GENERIC_PLAN as c_int;
    // SAFETY: by contract. What is not valid any more is analysed again before it is planned. PostgreSQL goes on with the costs of before, and
    // has no plan for any values then if it has liked none: without its cost it makes one.
    unsafe {
        if !(*source).is_valid {
            choice.set(PlanChoice::NEW);
            (*source).generic_cost = NOT_KNOWN;
        }
    }
    let by_generic = match choice.get() {
        PlanChoice::Generic(runs) => {
            choice.set(PlanChoice::Generic((runs + 1) % LOOK_AGAIN));
            runs + 1 < LOOK_AGAIN
        }
        PlanChoice::Alike(_) | PlanChoice::Theirs => false,
    };
    // SAFETY: by contract; `GetCachedPlan` reads the options each time.
    unsafe {
        let options = &mut (*source).cursor_options;
        *options = if by_generic { *options | GENERIC } else { *options & !GENERIC };
    }
}

/// Looks at the plan that was made for a run.
///
/// # Safety
/// A saved plan, and what `GetCachedPlan` has returned for it.
pub(crate) unsafe fn compare(
    source: *mut pg_sys::CachedPlanSource,
    cached: *mut pg_sys::CachedPlan,
    choice: &Cell<PlanChoice>,
) {
    // SAFETY: by contract; plans with one statement each, as has been seen.
    unsafe {
        let generic = (*source).gplan;
        if generic.is_null() || cached == generic || matches!(choice.get(), PlanChoice::Theirs) {
            return;
        }
        let statement = |plan: *mut pg_sys::CachedPlan| nth((*plan).stmt_list, 0).cast();
        let same = list_length((*generic).stmt_list) == 1 && are_alike(statement(cached), statement(generic));
        choice.set(match choice.get() {
            PlanChoice::Alike(times) if same && times + 1 < ENOUGH => PlanChoice::Alike(times + 1),
            PlanChoice::Alike(_) | PlanChoice::Generic(_) if same => PlanChoice::Generic(0),
            PlanChoice::Alike(_) => PlanChoice::Alike(0),
            PlanChoice::Generic(_) | PlanChoice::Theirs => PlanChoice::Theirs,
        });
    }
}

/// Whether two plans of one statement do the same in the same order.
unsafe fn are_alike(one: *const pg_sys::PlannedStmt, other: *const pg_sys::PlannedStmt) -> bool {
    // SAFETY: plans of PostgreSQL's, which has checked their depth.
    unsafe {
        trees_are_alike((*one).planTree, (*other).planTree)
            && lists_are_alike((*one).subplans, (*other).subplans)
    }
}

unsafe fn lists_are_alike(one: *const pg_sys::List, other: *const pg_sys::List) -> bool {
    // SAFETY: lists of plans.
    unsafe {
        list_length(one) == list_length(other)
            && (0..list_length(one))
                .all(|place| trees_are_alike(nth(one, place).cast(), nth(other, place).cast()))
    }
}

unsafe fn trees_are_alike(one: *const pg_sys::Plan, other: *const pg_sys::Plan) -> bool {
    // SAFETY: plans, or null.
    unsafe {
        if one.is_null() || other.is_null() {
            return one.is_null() && other.is_null();
        }
        (*one).type_ == (*other).type_
            && list_length((*one).qual) == list_length((*other).qual)
            && nodes_are_alike(one, other)
            && trees_are_alike((*one).lefttree, (*other).lefttree)
            && trees_are_alike((*one).righttree, (*other).righttree)
    }
}

/// Whether a field, or the length of a list, is the same in two nodes of one kind.
macro_rules! same {
    ($kind:ident, $one:expr, $other:expr; $($field:ident).+) => {
        (*$one.cast::<pg_sys::$kind>()).$($field).+ == (*$other.cast::<pg_sys::$kind>()).$($field).+
    };
    ($kind:ident, $one:expr, $other:expr; length of $($field:ident).+) => {
        list_length((*$one.cast::<pg_sys::$kind>()).$($field).+)
            == list_length((*$other.cast::<pg_sys::$kind>()).$($field).+)
    };
    ($kind:ident, $one:expr, $other:expr; plans of $field:ident) => {
        lists_are_alike((*$one.cast::<pg_sys::$kind>()).$field, (*$other.cast::<pg_sys::$kind>()).$field)
    };
    ($kind:ident, $one:expr, $other:expr; presence of $field:ident) => {
        (*$one.cast::<pg_sys::$kind>()).$field.is_null() == (*$other.cast::<pg_sys::$kind>()).$field.is_null()
    };
}

/// Whether two nodes of one kind do the same with what is below them.
unsafe fn nodes_are_alike(one: *const pg_sys::Plan, other: *const pg_sys::Plan) -> bool {
    use pg_sys::NodeTag::*;
    // SAFETY: the tag, which both have, tells the type.
    unsafe {
        match (*one).type_ {
            T_BitmapAnd => same!(BitmapAnd, one, other; plans of bitmapplans),
            T_BitmapOr => same!(BitmapOr, one, other; plans of bitmapplans),
            T_Append => same!(Append, one, other; plans of appendplans),
            T_MergeAppend => same!(MergeAppend, one, other; plans of mergeplans),
            T_NestLoop => {
                same!(NestLoop, one, other; join.jointype)
                    && same!(NestLoop, one, other; length of join.joinqual)
                    && same!(NestLoop, one, other; length of nestParams)
            }
            T_HashJoin => {
                same!(HashJoin, one, other; join.jointype)
                    && same!(HashJoin, one, other; length of hashclauses)
            }
            T_MergeJoin => {
                same!(MergeJoin, one, other; join.jointype)
                    && same!(MergeJoin, one, other; length of mergeclauses)
            }
            T_Agg => {
                same!(Agg, one, other; aggstrategy)
                    && same!(Agg, one, other; aggsplit)
                    && same!(Agg, one, other; numCols)
            }
            T_Sort => same!(Sort, one, other; numCols),
            T_Limit => {
                same!(Limit, one, other; presence of limitCount)
                    && same!(Limit, one, other; presence of limitOffset)
            }
            T_Result => same!(Result, one, other; presence of resconstantqual),
            T_Hash | T_Material | T_Memoize | T_ProjectSet | T_Unique | T_Group | T_WindowAgg | T_SetOp
            | T_LockRows | T_ModifyTable | T_RecursiveUnion => true,
            _ => scans_are_alike(one, other),
        }
    }
}

/// The same of two nodes that read something: by the same way, as far as this knows the way. It does not know those of several processes, of
/// extensions, and of later versions.
unsafe fn scans_are_alike(one: *const pg_sys::Plan, other: *const pg_sys::Plan) -> bool {
    use pg_sys::NodeTag::*;
    // SAFETY: the tag, which both have, tells the type.
    unsafe {
        let is_of_same = || scanned(one) == scanned(other);
        match (*one).type_ {
            T_SeqScan
            | T_SampleScan
            | T_BitmapHeapScan
            | T_TidScan
            | T_TidRangeScan
            | T_FunctionScan
            | T_ValuesScan
            | T_TableFuncScan
            | T_CteScan
            | T_NamedTuplestoreScan
            | T_WorkTableScan => is_of_same(),
            T_SubqueryScan => trees_are_alike(
                (*one.cast::<pg_sys::SubqueryScan>()).subplan,
                (*other.cast::<pg_sys::SubqueryScan>()).subplan,
            ),
            T_IndexScan => {
                is_of_same()
                    && same!(IndexScan, one, other; indexid)
                    && same!(IndexScan, one, other; indexorderdir)
                    && same!(IndexScan, one, other; length of indexqual)
                    && same!(IndexScan, one, other; length of indexorderby)
            }
            T_IndexOnlyScan => {
                is_of_same()
                    && same!(IndexOnlyScan, one, other; indexid)
                    && same!(IndexOnlyScan, one, other; indexorderdir)
                    && same!(IndexOnlyScan, one, other; length of indexqual)
                    && same!(IndexOnlyScan, one, other; length of indexorderby)
            }
            T_BitmapIndexScan => {
                same!(BitmapIndexScan, one, other; indexid)
                    && same!(BitmapIndexScan, one, other; length of indexqual)
            }
            _ => false,
        }
    }
}

/// The place of the table, function or the like that a node reads.
unsafe fn scanned(node: *const pg_sys::Plan) -> u32 {
    // SAFETY: a scan, which begins with what all have.
    unsafe { (*node.cast::<pg_sys::Scan>()).scanrelid }
}
