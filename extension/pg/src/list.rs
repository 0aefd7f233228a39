//! PostgreSQL's lists of pointers.

use std::ffi::c_void;

use pgrx::pg_sys;

/// Length of a PostgreSQL list; null is the empty list.
///
/// # Safety
/// Null, or a list.
pub unsafe fn list_length(list: *const pg_sys::List) -> usize {
    // SAFETY: by contract.
    if list.is_null() { 0 } else { unsafe { (*list).length as usize } }
}

/// The element at a place.
///
/// # Safety
/// A list of pointers that has this place.
pub unsafe fn nth(list: *const pg_sys::List, place: usize) -> *mut c_void {
    // SAFETY: by contract.
    unsafe { (*(*list).elements.add(place)).ptr_value }
}

/// The elements of a list of numbers of objects.
///
/// # Safety
/// Null, or a list of these, which outlives the iterator.
pub unsafe fn oids(list: *const pg_sys::List) -> impl Iterator<Item = pg_sys::Oid> {
    // SAFETY: by contract.
    (0..unsafe { list_length(list) }).map(move |place| unsafe { (*(*list).elements.add(place)).oid_value })
}

/// The first element.
///
/// # Safety
/// A list of pointers that is not empty.
pub unsafe fn first(list: *const pg_sys::List) -> *mut c_void {
    // SAFETY: by contract.
    unsafe { nth(list, 0) }
}
