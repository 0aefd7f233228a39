//! A sort that changes nothing.
//!
//! The usual way to say "otherwise" in a handler's statement is a last arm of lower priority:
//!
//! ```sql
//! select …, 1 as priority from request join …
//! union all
//! select …, 0 from request
//! order by priority desc
//! ```
//!
//! To sort, PostgreSQL computes every arm, and of that a response takes the first row. Arms that are written in the
//! order asked for come in it anyway: an Append of arms runs them one after the other, and those behind the first row
//! are not run at all. (Not so a parallel one, and handlers' plans are not parallel.)

use std::ffi::c_int;

use pg::list::{first, list_length, nth};
use pg::text::string;
use pgrx::pg_sys;

/// Whether a statement is `… UNION ALL … ORDER BY column`, the column a number in each arm, and the arms are in that order.
///
/// # Safety
/// A statement of the parser that is planned.
pub(crate) unsafe fn sorts_idly(raw: *const pg_sys::RawStmt) -> bool {
    // SAFETY: nodes of the parser; the tags tell the types.
    unsafe {
        if (*(*raw).stmt).type_ != pg_sys::NodeTag::T_SelectStmt {
            return false;
        }
        let select = (*raw).stmt.cast::<pg_sys::SelectStmt>();
        let mut arms = Vec::new();
        if list_length((*select).sortClause) != 1 || is_cut(select) || !collect_arms(select, &mut arms) {
            return false;
        }
        let sort = first((*select).sortClause).cast::<pg_sys::SortBy>();
        sorted_column(sort, arms[0])
            .and_then(|column| arms.iter().map(|&arm| number(arm, column)).collect::<Option<Vec<_>>>())
            .is_some_and(|numbers| are_in_order(&numbers, (*sort).sortby_dir))
    }
}

/// Takes the ORDER BY from a statement that [`sorts_idly`].
///
/// # Safety
/// Such a statement.
pub(crate) unsafe fn drop_sort(raw: *mut pg_sys::RawStmt) {
    // SAFETY: by contract.
    unsafe { (*(*raw).stmt.cast::<pg_sys::SelectStmt>()).sortClause = std::ptr::null_mut() }
}

/// Whether a statement has LIMIT or OFFSET.
unsafe fn is_cut(select: *const pg_sys::SelectStmt) -> bool {
    // SAFETY: a statement of the parser.
    unsafe { !(*select).limitOffset.is_null() || !(*select).limitCount.is_null() }
}

fn are_in_order(numbers: &[c_int], direction: pg_sys::SortByDir::Type) -> bool {
    match direction {
        pg_sys::SortByDir::SORTBY_DEFAULT | pg_sys::SortByDir::SORTBY_ASC => numbers.is_sorted(),
        pg_sys::SortByDir::SORTBY_DESC => numbers.is_sorted_by(|a, b| a >= b),
        _ => false,
    }
}

/// Gathers the arms from left to right. False if it is not UNION ALL throughout, or some have an order of their own.
unsafe fn collect_arms(select: *const pg_sys::SelectStmt, arms: &mut Vec<*const pg_sys::SelectStmt>) -> bool {
    // SAFETY: a statement of the parser; a set operation has two sides.
    unsafe {
        if (*select).op == pg_sys::SetOperation::SETOP_NONE {
            arms.push(select);
            return true;
        }
        let sides = [(*select).larg, (*select).rarg];
        (*select).op == pg_sys::SetOperation::SETOP_UNION
            && (*select).all
            && sides.iter().all(|&side| {
                let nested = (*side).op != pg_sys::SetOperation::SETOP_NONE;
                let ordered = nested && (!(*side).sortClause.is_null() || is_cut(side));
                !ordered && collect_arms(side, arms)
            })
    }
}

/// The column, from 0, that a statement is sorted by: named as the first arm names it, or counted from 1.
unsafe fn sorted_column(sort: *const pg_sys::SortBy, arm: *const pg_sys::SelectStmt) -> Option<usize> {
    // SAFETY: nodes of the parser; the tags tell the types.
    unsafe {
        let by = (*sort).node;
        match (*by).type_ {
            pg_sys::NodeTag::T_A_Const => usize::try_from(integer(by)?).ok()?.checked_sub(1),
            pg_sys::NodeTag::T_ColumnRef => {
                let fields = (*by.cast::<pg_sys::ColumnRef>()).fields;
                let name = first(fields).cast::<pg_sys::String>();
                if list_length(fields) != 1 || (*name).type_ != pg_sys::NodeTag::T_String {
                    return None;
                }
                let name = string((*name).sval);
                let targets = (*arm).targetList;
                (0..list_length(targets)).find(|&place| {
                    let target = nth(targets, place).cast::<pg_sys::ResTarget>();
                    !(*target).name.is_null() && string((*target).name) == name
                })
            }
            _ => None,
        }
    }
}

/// The number that all rows of an arm have in a column. None if it has another expression there, a `*` before it, or
/// groups, in some of which it may be null.
unsafe fn number(arm: *const pg_sys::SelectStmt, column: usize) -> Option<c_int> {
    // SAFETY: as above.
    unsafe {
        let targets = (*arm).targetList;
        let grouped = !(*arm).groupClause.is_null();
        let shifted = || (0..column).any(|place| is_star(nth(targets, place).cast()));
        if grouped || column >= list_length(targets) || shifted() {
            return None;
        }
        integer((*nth(targets, column).cast::<pg_sys::ResTarget>()).val)
    }
}

/// Whether a target is `*` or `table.*` or `(row).*`, which stands for several columns.
unsafe fn is_star(target: *const pg_sys::ResTarget) -> bool {
    // SAFETY: as above. A list of fields or indirections is not empty.
    unsafe {
        let value = (*target).val;
        let steps = match (*value).type_ {
            pg_sys::NodeTag::T_ColumnRef => (*value.cast::<pg_sys::ColumnRef>()).fields,
            pg_sys::NodeTag::T_A_Indirection => (*value.cast::<pg_sys::A_Indirection>()).indirection,
            _ => return false,
        };
        let last = nth(steps, list_length(steps) - 1).cast::<pg_sys::Node>();
        (*last).type_ == pg_sys::NodeTag::T_A_Star
    }
}

unsafe fn integer(node: *const pg_sys::Node) -> Option<c_int> {
    // SAFETY: as above.
    unsafe {
        if (*node).type_ != pg_sys::NodeTag::T_A_Const {
            return None;
        }
        let constant = node.cast::<pg_sys::A_Const>();
        let is_integer = !(*constant).isnull && (*constant).val.node.type_ == pg_sys::NodeTag::T_Integer;
        is_integer.then(|| (*constant).val.ival.ival)
    }
}
