//! Conversions that mean something else tomorrow: of texts that name a moment, and of values that a domain's constraint is asked about.
//!
//! An expression of a plan names the functions by which it converts. Arguments of endpoints and variables of PL/pgSQL are converted by nobody's
//! expression.

use pg::catalog::is_users;
use pgrx::pg_sys::{self, Oid, TupleDesc};

use super::fixed_functions::{is_fixed, obstacle_of};
use super::recording::{Obstacle, is_in_the_way};

/// Whether a text, as a value of a type, means the same tomorrow, as long as no commit changes settings or catalogs.
///
/// # Safety
/// Inside a guard and a transaction.
pub(super) unsafe fn is_read_alike(of_type: Oid) -> bool {
    let (mut input, mut parameter) = (Oid::INVALID, Oid::INVALID);
    // SAFETY: look-ups, by contract.
    unsafe {
        pg_sys::getTypeInputInfo(of_type, &raw mut input, &raw mut parameter);
        is_fixed(input) && !(is_users(of_type) && pg_sys::get_typtype(of_type) as u8 == b'd')
    }
}

/// Types whose texts may be a word for a moment.
pub(super) fn is_moment(of_type: Oid) -> bool {
    use pg_sys::{DATEOID, TIMEOID, TIMESTAMPOID, TIMESTAMPTZOID};
    // A timetz without a zone takes the one of today, with its hour of summer.
    matches!(of_type, DATEOID | TIMEOID | TIMESTAMPOID | TIMESTAMPTZOID)
}

/// Whether a text of a moment is nothing like `now`, `today` or the name of a zone.
pub(super) fn is_plain(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit() || b"-:.+ TZ{},\"".contains(&byte))
}

/// Why a value of a type, as PL/pgSQL makes one of another type of it, may be another tomorrow; none if it is not.
///
/// # Safety
/// Inside a guard and a transaction; errors unwind.
pub(super) unsafe fn obstacle_between(from: Oid, to: Oid) -> Option<Obstacle> {
    use pg_sys::CoercionPathType::*;
    if from == to {
        return None;
    }
    // SAFETY: look-ups, by contract.
    unsafe {
        pg_sys::check_stack_depth();
        if pg_sys::get_typtype(to) as u8 == pg_sys::TYPTYPE_DOMAIN {
            if pg_sys::DomainHasConstraints(to) {
                return Some(Obstacle::Domain(to));
            }
            return obstacle_between(from, pg_sys::getBaseType(to));
        }
        let from = pg_sys::getBaseType(from);
        if from == to || matches!(to, pg_sys::RECORDOID | pg_sys::VOIDOID) {
            return None;
        }
        let mut function = Oid::INVALID;
        let context = pg_sys::CoercionContext::COERCION_PLPGSQL;
        match pg_sys::find_coercion_pathway(to, from, context, &raw mut function) {
            COERCION_PATH_RELABELTYPE => None,
            COERCION_PATH_FUNC => obstacle_of(function),
            COERCION_PATH_ARRAYCOERCE => {
                obstacle_between(pg_sys::get_element_type(from), pg_sys::get_element_type(to))
            }
            _ => match (columns(from), columns(to)) {
                (Some(from), Some(to)) => obstacle_between_rows(from, to),
                (None, Some(to)) if from == pg_sys::RECORDOID => obstacle_of_row(to),
                _ => (!is_read_alike(to)).then_some(Obstacle::Moment(to)),
            },
        }
    }
}

/// The columns of a named type; none if it has none.
///
/// # Safety
/// Inside a guard and a transaction.
pub(super) unsafe fn columns(of_type: Oid) -> Option<TupleDesc> {
    // SAFETY: a look-up, by contract; what the cache has lives until catalogs change, longer than here.
    unsafe {
        if of_type == pg_sys::RECORDOID || !pg_sys::type_is_rowtype(of_type) {
            return None;
        }
        let known = pg_sys::lookup_type_cache(of_type, pg_sys::TYPECACHE_TUPDESC as i32);
        let descriptor = (*known).tupDesc;
        (!descriptor.is_null()).then_some(descriptor)
    }
}

/// The types of those columns that are there.
///
/// # Safety
/// The descriptor lives as long as the iterator.
pub(super) unsafe fn types(descriptor: TupleDesc) -> impl Iterator<Item = Oid> {
    // SAFETY: by contract.
    let at = move |place| unsafe { pg::attribute(descriptor, place) };
    // SAFETY: by contract.
    let all = 0..unsafe { (*descriptor).natts as usize };
    all.map(at).filter(|attribute| !attribute.attisdropped).map(|attribute| attribute.atttypid)
}

/// The same for one value of several, of which another may be more in the way.
unsafe fn between_values(from: Oid, to: Oid) -> Option<Obstacle> {
    // SAFETY: the caller's contract.
    unsafe { obstacle_between(from, to).filter(|&obstacle| is_in_the_way(obstacle)) }
}

/// Between columns in their order. What has no other is null.
unsafe fn obstacle_between_rows(from: TupleDesc, to: TupleDesc) -> Option<Obstacle> {
    // SAFETY: the caller's contract.
    unsafe { types(from).zip(types(to)).find_map(|(from, to)| between_values(from, to)) }
}

/// Why a row of a named type may be another tomorrow that is made of these columns.
///
/// # Safety
/// As for [`obstacle_between`]; the descriptor lives.
pub(super) unsafe fn obstacle_between_columns(from: TupleDesc, to: Oid) -> Option<Obstacle> {
    // SAFETY: by contract.
    unsafe { columns(pg_sys::getBaseType(to)).and_then(|to| obstacle_between_rows(from, to)) }
}

/// Why a row may be another tomorrow that is made of whatever has texts.
unsafe fn obstacle_of_row(to: TupleDesc) -> Option<Obstacle> {
    // SAFETY: the caller's contract.
    unsafe { types(to).find_map(|to| between_values(pg_sys::TEXTOID, to)) }
}
