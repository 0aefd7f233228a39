//! Functions whose outcome changes by commits alone, and why others' does not.

use std::cell::Cell;
use std::ffi::CStr;

use pg::catalog::{SQL_LANGUAGE, is_users};
use pgrx::pg_sys::{self, Oid};

use super::effects::is_ours;
use super::plpgsql_plugin::will_tell;
use super::recording::Obstacle;

/// Functions of PostgreSQL's that are declared STABLE because they depend on settings, on catalogs or on functions of their arguments' types, and
/// on nothing else: output functions, JSON, text search, zones that do not ask for the time, rights, enums.
#[rustfmt::skip]
const LISTED: [u32; 224] = [
    45, 89, 384, 395, 710, 745, 746, 751, 810, 861, 887, 939, 1039, 1081, 1085, 1151, 1160, 1161, 1171, 1174, 1176,
    1178, 1189, 1190, 1217, 1284, 1285, 1290, 1305, 1306, 1307, 1313, 1388, 1402, 1619, 1713, 1714, 1717, 1768, 1770,
    1772, 1773, 1774, 1775, 1776, 1777, 1778, 1780, 1813, 1922, 1923, 1924, 1925, 1926, 1927, 2003, 2004, 2019, 2027,
    2028, 2049, 2077, 2181, 2182, 2183, 2184, 2185, 2186, 2213, 2215, 2217, 2219, 2221, 2250, 2251, 2252, 2253, 2254,
    2255, 2256, 2257, 2258, 2259, 2260, 2261, 2268, 2269, 2270, 2271, 2272, 2273, 2291, 2297, 2351, 2352, 2353, 2354,
    2355, 2356, 2357, 2377, 2378, 2379, 2380, 2381, 2382, 2383, 2520, 2521, 2522, 2523, 2524, 2525, 2526, 2527, 2528,
    2529, 2530, 2531, 2532, 2533, 2549, 2705, 2706, 2707, 2708, 2709, 2710, 3012, 3013, 3014, 3015, 3016, 3017, 3018,
    3019, 3020, 3021, 3022, 3023, 3024, 3025, 3026, 3027, 3028, 3029, 3058, 3059, 3138, 3139, 3140, 3141, 3142, 3143,
    3153, 3154, 3155, 3156, 3173, 3175, 3176, 3180, 3197, 3198, 3199, 3200, 3201, 3265, 3266, 3267, 3268, 3269, 3271,
    3272, 3273, 3274, 3294, 3298, 3299, 3462, 3463, 3505, 3506, 3507, 3528, 3529, 3530, 3531, 3539, 3540, 3736, 3737,
    3749, 3750, 3751, 3754, 3755, 3759, 3760, 3761, 3772, 3787, 3811, 3812, 3823, 3824, 3833, 3835, 4085, 4092, 4135,
    4203, 4204, 4207, 4208, 4209, 4210, 4213, 4215, 4230, 4232, 5001, 5009, 6203,
];

thread_local! {
    /// Whether a part of the plan that is looked at runs in other processes, whose plans tell nothing here.
    static IS_PARALLEL: Cell<bool> = const { Cell::new(false) };
}

/// A part of what is looked at from now on runs in other processes, or none.
pub(super) fn set_parallel(is_parallel: bool) {
    IS_PARALLEL.set(is_parallel);
}

/// Why what a function gives is not known to hold; none if it is, or if the function tells what it reads when it runs.
///
/// # Safety
/// Inside a guard and a transaction; errors unwind.
pub(super) unsafe fn obstacle_of(function: Oid) -> Option<Obstacle> {
    // SAFETY: by contract.
    unsafe {
        match pg_sys::func_volatile(function) as u8 {
            // It is taken at its word.
            pg_sys::PROVOLATILE_IMMUTABLE => None,
            pg_sys::PROVOLATILE_STABLE if !is_users(function) => {
                (!is_listed(function)).then_some(Obstacle::Stable(function))
            }
            // It notes what it takes, or takes of path and query string alone.
            pg_sys::PROVOLATILE_STABLE if is_of_request(function) || is_of_values(function) => None,
            pg_sys::PROVOLATILE_STABLE if !IS_PARALLEL.get() && tells(function) => None,
            pg_sys::PROVOLATILE_STABLE => Some(Obstacle::Closed(function)),
            _ => Some(Obstacle::Volatile(function)),
        }
    }
}

/// Whether a function tells what it reads: in SQL by its plans when they start, in PL/pgSQL also by its end.
unsafe fn tells(function: Oid) -> bool {
    // SAFETY: the caller's contract.
    unsafe {
        let language = language_of(function);
        language.to_u32() == SQL_LANGUAGE || is_plpgsql(language) && will_tell(function)
    }
}

unsafe fn is_plpgsql(language: Oid) -> bool {
    // SAFETY: a look-up inside a transaction; null if it has gone.
    let name = unsafe { pg_sys::get_language_name(language, true) };
    // SAFETY: a name.
    !name.is_null() && unsafe { CStr::from_ptr(name) } == c"plpgsql"
}

/// Whether a function is one of ours that takes a part of the request, and notes it.
unsafe fn is_of_request(function: Oid) -> bool {
    const NAMES: [&CStr; 15] = [
        c"asset",
        c"wanted_part",
        c"header_value",
        c"cookie",
        c"signed_cookie",
        c"flash_message",
        c"flash_kind",
        c"query_value",
        c"query_values",
        c"path_value",
        c"is_given",
        c"url_with",
        // Without a form that was sent they tell nothing.
        c"form_sent",
        c"form_error",
        c"form_errors",
    ];
    // SAFETY: by contract.
    unsafe { is_one_of_ours(function, &NAMES) }
}

/// Whether a function is one of ours that writes values of any types, as their output functions do, which are looked at by type.
///
/// # Safety
/// Inside a guard and a transaction.
pub(super) unsafe fn is_of_values(function: Oid) -> bool {
    const NAMES: [&CStr; 8] =
        [c"html_of", c"text_of", c"attribute", c"format", c"url", c"url_with", c"field", c"typed"];
    // SAFETY: by contract.
    unsafe { is_one_of_ours(function, &NAMES) }
}

unsafe fn is_one_of_ours(function: Oid, names: &[&CStr]) -> bool {
    // SAFETY: look-ups inside a transaction; null if it has gone.
    unsafe {
        let name = pg_sys::get_func_name(function);
        !name.is_null()
            && names.contains(&CStr::from_ptr(name))
            && is_ours(pg_sys::ProcedureRelationId, function)
    }
}

/// Whether a function of a type's gives the same for the same, as long as no commit changes settings or catalogs.
///
/// # Safety
/// Inside a guard and a transaction.
pub(super) unsafe fn is_fixed(function: Oid) -> bool {
    // SAFETY: by contract.
    unsafe { pg_sys::func_volatile(function) as u8 == pg_sys::PROVOLATILE_IMMUTABLE || is_listed(function) }
}

fn is_listed(function: Oid) -> bool {
    LISTED.binary_search(&function.to_u32()).is_ok()
}

/// Of a function; invalid if it has gone.
///
/// # Safety
/// Inside a transaction.
pub(crate) unsafe fn language_of(function: Oid) -> Oid {
    const FUNCTIONS: i32 = pg_sys::SysCacheIdentifier::PROCOID as i32;
    // SAFETY: a look-up inside a transaction.
    unsafe {
        let tuple = pg_sys::SearchSysCache1(FUNCTIONS, function.into());
        if tuple.is_null() {
            return Oid::INVALID;
        }
        let language = (*pg_sys::GETSTRUCT(tuple).cast::<pg_sys::FormData_pg_proc>()).prolang;
        pg_sys::ReleaseSysCache(tuple);
        language
    }
}
