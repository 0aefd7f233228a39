//! Whether a function is still the one that a plan was made from.

use pg::version::{may_execute, may_use_schema};
use pgrx::pg_sys::{self, Datum, Oid};

/// The catalog cache of functions.
pub(crate) const PROCOID: i32 = pg_sys::SysCacheIdentifier::PROCOID as i32;

/// Which version of a function this is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FunctionVersion {
    /// The function.
    pub oid: Oid,
    /// xmin of its row in pg_proc.
    pub xmin: pg_sys::TransactionId,
    /// Place of its row in pg_proc.
    pub tid: (u32, u16),
    /// Its schema.
    pub schema: Oid,
}

/// Looks whether a function is still the one that a plan was made from, and whether `role` may execute it.
pub(crate) enum Standing {
    /// The same, and allowed.
    Unchanged,
    /// Replaced, altered or dropped: make the plan anew.
    Changed,
    /// The role lacks EXECUTE.
    Forbidden,
}

/// Checks a plan's function. Reads the catalog cache; about 0.3 µs, and only after catalogs have changed.
///
/// # Safety
/// Inside a transaction.
pub(crate) unsafe fn standing(known: &FunctionVersion, role: Oid) -> Standing {
    // SAFETY: by contract.
    unsafe {
        let tuple = pg_sys::SearchSysCache1(PROCOID, Datum::from(known.oid));
        if tuple.is_null() {
            return Standing::Changed;
        }
        let now = version(known.oid, tuple);
        pg_sys::ReleaseSysCache(tuple);
        if now.xmin != known.xmin || now.tid != known.tid {
            Standing::Changed
        } else if !may_execute(known.oid, role) {
            Standing::Forbidden
        } else if !may_use_schema(known.schema, role) {
            // Made anew, it says what is missing.
            Standing::Changed
        } else {
            Standing::Unchanged
        }
    }
}

/// The version whose row of pg_proc this is.
///
/// # Safety
/// A row of pg_proc.
pub(crate) unsafe fn version(oid: Oid, tuple: pg_sys::HeapTuple) -> FunctionVersion {
    // SAFETY: by contract.
    unsafe {
        let place = (*tuple).t_self;
        FunctionVersion {
            oid,
            schema: (*pg_sys::GETSTRUCT(tuple).cast::<pg_sys::FormData_pg_proc>()).pronamespace,
            xmin: (*(*tuple).t_data).t_choice.t_heap.t_xmin,
            tid: ((u32::from(place.ip_blkid.bi_hi) << 16) | u32::from(place.ip_blkid.bi_lo), place.ip_posid),
        }
    }
}
