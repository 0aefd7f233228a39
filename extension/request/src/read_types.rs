//! Functions that no plan names, because PostgreSQL finds them by the types of values: comparisons of a type of a user's, by which it sorts, groups and
//! searches, casts to `json`, which `json_agg` and its kin look up, and output functions.
//!
//! A function of PostgreSQL's that takes a value of such a type takes one of any type: which of these it calls is not known, so all of them are looked
//! at. What is declared IMMUTABLE is taken at its word, as everywhere.

use pg::catalog::is_users;
use pg::list::{list_length, nth};
use pgrx::pg_sys::{self, Node, Oid};

use super::fixed_functions::{is_of_values, obstacle_of};
use super::read_conversions::{columns, types};
use super::recording::{Obstacle, blame, is_in_the_way};

/// `BTORDER_PROC` of access/nbtree.h.
const BTREE_ORDER: i16 = 1;

/// Looks at the types of what is given to a function of PostgreSQL's, if a node calls one.
///
/// # Safety
/// Inside a guard and a transaction; errors unwind. A node of a plan's expression.
pub(super) unsafe fn look_at_arguments(node: *mut Node) {
    use pg_sys::NodeTag::*;
    // SAFETY: by contract; the tag tells the type.
    unsafe {
        macro_rules! of {
            ($node:ident: $function:ident) => {{
                let node = &*node.cast::<pg_sys::$node>();
                (node.$function, node.args)
            }};
        }
        let (function, arguments) = match (*node).type_ {
            T_FuncExpr => of!(FuncExpr: funcid),
            // The other two are made as the first is.
            T_OpExpr | T_DistinctExpr | T_NullIfExpr => of!(OpExpr: opfuncid),
            T_ScalarArrayOpExpr => of!(ScalarArrayOpExpr: opfuncid),
            T_Aggref => of!(Aggref: aggfnoid),
            T_WindowFunc => of!(WindowFunc: winfnoid),
            T_MinMaxExpr => (Oid::INVALID, (*node.cast::<pg_sys::MinMaxExpr>()).args),
            _ => return,
        };
        if is_users(function) && !is_of_values(function) {
            return;
        }
        for place in 0..list_length(arguments) {
            let mut argument = nth(arguments, place).cast::<Node>();
            if (*argument).type_ == T_TargetEntry {
                argument = (*argument.cast::<pg_sys::TargetEntry>()).expr.cast();
            }
            if let Some(obstacle) = obstacle_of_type(pg_sys::exprType(argument)) {
                blame(obstacle);
            }
        }
    }
}

/// Looks at an operator by which a plan tells equal values.
///
/// # Safety
/// As for [`look_at_arguments`].
pub(super) unsafe fn look_at_equality(operator: Oid) {
    let (mut left, mut right) = (Oid::INVALID, Oid::INVALID);
    // SAFETY: look-ups, by contract.
    unsafe {
        if is_users(operator) {
            // Invalid if it cannot be hashed.
            pg_sys::get_op_hash_functions(operator, &raw mut left, &raw mut right);
            for function in [function_of(operator), left, right] {
                in_the_way(function).into_iter().for_each(blame);
            }
        }
    }
}

unsafe fn obstacle_of_type(of_type: Oid) -> Option<Obstacle> {
    // SAFETY: look-ups, by the caller's contract.
    unsafe {
        let element = pg_sys::get_element_type(of_type);
        if element != Oid::INVALID {
            return obstacle_of_type(element);
        }
        if !is_users(of_type) {
            return None;
        }
        pg_sys::check_stack_depth();
        let base = pg_sys::getBaseType(of_type);
        if base != of_type {
            return obstacle_of_type(base);
        }
        match columns(of_type) {
            Some(row) => types(row).find_map(|column| obstacle_of_type(column)),
            None => functions(of_type).into_iter().find_map(|function| in_the_way(function)),
        }
    }
}

/// The functions by which values of a type are compared, made `json` and written; those that there are not are invalid.
unsafe fn functions(of_type: Oid) -> [Oid; 5] {
    use pg_sys::{TYPECACHE_CMP_PROC, TYPECACHE_EQ_OPR, TYPECACHE_HASH_PROC};
    let mut to_json = Oid::INVALID;
    // SAFETY: look-ups, by the caller's contract.
    unsafe {
        let context = pg_sys::CoercionContext::COERCION_EXPLICIT;
        let way = pg_sys::find_coercion_pathway(pg_sys::JSONOID, of_type, context, &raw mut to_json);
        if way != pg_sys::CoercionPathType::COERCION_PATH_FUNC {
            to_json = Oid::INVALID;
        }
        let wanted = TYPECACHE_EQ_OPR | TYPECACHE_CMP_PROC | TYPECACHE_HASH_PROC;
        let known = &*pg_sys::lookup_type_cache(of_type, wanted as i32);
        let (mut output, mut is_varlena) = (Oid::INVALID, false);
        pg_sys::getTypeOutputInfo(of_type, &raw mut output, &raw mut is_varlena);
        [to_json, function_of(known.eq_opr), known.cmp_proc, known.hash_proc, output]
    }
}

/// Looks at an operator by which a plan sorts, which need not be the one of its type.
///
/// # Safety
/// As for [`look_at_arguments`].
pub(super) unsafe fn look_at_order(operator: Oid) {
    let (mut family, mut of_type, mut strategy) = (Oid::INVALID, Oid::INVALID, 0);
    // SAFETY: look-ups, by contract.
    unsafe {
        if !is_users(operator) {
            return;
        }
        let is_of_family = pg_sys::get_ordering_op_properties(
            operator,
            &raw mut family,
            &raw mut of_type,
            &raw mut strategy,
        );
        let comparison = match is_of_family {
            true => pg_sys::get_opfamily_proc(family, of_type, of_type, BTREE_ORDER),
            false => Oid::INVALID,
        };
        for function in [function_of(operator), comparison] {
            in_the_way(function).into_iter().for_each(blame);
        }
    }
}

unsafe fn function_of(operator: Oid) -> Oid {
    // SAFETY: a look-up, by the caller's contract.
    if operator == Oid::INVALID { Oid::INVALID } else { unsafe { pg_sys::get_opcode(operator) } }
}

unsafe fn in_the_way(function: Oid) -> Option<Obstacle> {
    // SAFETY: the caller's contract.
    let obstacle = unsafe { (is_users(function)).then(|| obstacle_of(function)).flatten() };
    obstacle.filter(|&obstacle| is_in_the_way(obstacle))
}
