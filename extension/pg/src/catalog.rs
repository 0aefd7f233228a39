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

/// `SQLlanguageId` of catalog/pg_language_d.h, which pgrx does not name.
pub const SQL_LANGUAGE: u32 = 14;

/// Whether there is a database of this oid. Inside a transaction.
pub fn is_database(oid: u32) -> bool {
    let cache = pg_sys::SysCacheIdentifier::DATABASEOID as i32;
    // SAFETY: a look-up inside a transaction.
    unsafe { pg_sys::SearchSysCacheExists(cache, Oid::from(oid).into(), 0.into(), 0.into(), 0.into()) }
}

/// Whether a function or a type is none of those that PostgreSQL brings.
pub fn is_users(object: Oid) -> bool {
    object.to_u32() >= pg_sys::FirstNormalObjectId
}
