//! What the catalogs say.

use pgrx::pg_sys::{self, Oid, TupleDesc};

/// All attributes of a descriptor, dropped ones too.
///
/// # Safety
/// The descriptor lives.
pub unsafe fn attributes<'a>(descriptor: TupleDesc) -> Vec<&'a pg_sys::FormData_pg_attribute> {
    // SAFETY: by contract.
    unsafe { (0..(*descriptor).natts as usize).map(|place| super::attribute(descriptor, place)).collect() }
}

/// Whether a function or a type is none of those that PostgreSQL brings.
pub fn is_users(object: Oid) -> bool {
    object.to_u32() >= pg_sys::FirstNormalObjectId
}
