//! A job as its queue has it: the columns of `job.entry`.

use std::ffi::CString;

use pg::scratch::Scratch;
use pgrx::pg_sys;
use pgrx::prelude::*;
use queue::items::Item;

/// What a queue has of a job.
pub(crate) struct Entry {
    /// Its arguments, a JSON object.
    pub arguments: String,
    /// Its key.
    pub key: Option<String>,
    /// The id as which it was enqueued first, if it was sent again as this one.
    pub root: Option<i64>,
    /// For how long it holds its key, as tables have it.
    pub holds: Option<String>,
}

/// What an item says.
pub(crate) fn of(item: &Item<'_>) -> Entry {
    // SAFETY: the columns are of these types by `job.entry`.
    unsafe {
        Entry {
            arguments: item.column(0).map_or_else(|| "{}".to_owned(), |value| text_of_jsonb(value)),
            key: item.column(1).and_then(|value| String::from_datum(value, false)),
            root: root(item),
            holds: item.column(3).and_then(|value| String::from_datum(value, false)),
        }
    }
}

/// The id as which it was enqueued first, if it was sent again as this one.
pub(crate) fn root(item: &Item<'_>) -> Option<i64> {
    // SAFETY: the column is of this type by `job.entry`.
    item.column(2).and_then(|value| unsafe { i64::from_datum(value, false) })
}

/// The text of a jsonb.
///
/// # Safety
/// Inside a transaction; a value of type jsonb.
unsafe fn text_of_jsonb(value: pg_sys::Datum) -> String {
    // The value as it is without compression, and what PostgreSQL writes, are freed at once: the text is wanted once.
    Scratch::here().run(|| {
        // SAFETY: by contract. The function returns a C string.
        let text =
            unsafe { pgrx::direct_function_call::<&std::ffi::CStr>(pg_sys::jsonb_out, &[Some(value)]) };
        text.map(|text| text.to_string_lossy().into_owned()).unwrap_or_default()
    })
}

/// The jsonb of a text, whose numbers keep all their digits.
///
/// # Safety
/// Inside a transaction.
pub(crate) unsafe fn jsonb_of(text: &str) -> pg_sys::Datum {
    let text = CString::new(text).unwrap_or_default();
    // SAFETY: by contract. The function takes a C string, and never returns null.
    let made = unsafe {
        pgrx::direct_function_call_as_datum(
            pg_sys::jsonb_in,
            &[Some(pg_sys::Datum::from(text.as_ptr().cast_mut()))],
        )
    };
    made.unwrap_or_else(pg_sys::Datum::null)
}

/// Whether a jsonb is an object.
///
/// # Safety
/// A value of type jsonb.
pub(crate) unsafe fn is_object(value: pg_sys::Datum) -> bool {
    // SAFETY: by contract. What is there begins with the header of its outermost container, which may not be aligned.
    unsafe {
        let jsonb = pg_sys::pg_detoast_datum_packed(value.cast_mut_ptr());
        let header = pgrx::varlena::vardata_any(jsonb).cast::<u32>().read_unaligned();
        header & pg_sys::JB_FOBJECT != 0
    }
}
