//! The headers of a response that a function returns: an `http.header[]` as pairs.

use std::ffi::c_char;

use pgrx::pg_sys::{self, Datum};
use shared::settings;

use super::rows::contents;
use super::types::Types;

/// A header.
#[derive(Clone, Copy)]
pub struct Header<'a> {
    /// Its name, as it was given.
    pub name: &'a [u8],
    /// Its value.
    pub value: &'a [u8],
}

/// The headers of an `http.header[]` as pairs, in PostgreSQL's memory.
///
/// # Safety
/// Inside a guard; an `http.header[]`. The pairs live as long as the current memory context and the array.
pub unsafe fn headers<'a>(array: Datum, types: &Types) -> &'a [Header<'a>] {
    // SAFETY: an array of http.header; the slice is palloc'd.
    unsafe {
        let array = pg::pg_detoast_datum(array.cast_mut_ptr()).cast::<pg_sys::ArrayType>();
        let (mut rows, mut nulls, mut count) = (std::ptr::null_mut(), std::ptr::null_mut(), 0);
        pg::deconstruct_array(
            array,
            types.header,
            -1,
            false,
            b'd' as c_char,
            &mut rows,
            &mut nulls,
            &mut count,
        );
        let headers = pg::palloc(size_of::<Header<'_>>() * (count as usize).max(1)).cast::<Header<'a>>();
        let mut kept = 0;
        for place in 0..count as usize {
            if *nulls.add(place) {
                continue;
            }
            *headers.add(kept) = header(*rows.add(place), types);
            kept += 1;
        }
        std::slice::from_raw_parts(headers, kept)
    }
}

unsafe fn header<'a>(row: Datum, types: &Types) -> Header<'a> {
    // SAFETY: a value of type http.header: two texts.
    unsafe {
        let row = pg::pg_detoast_datum(row.cast_mut_ptr()).cast::<pg_sys::HeapTupleHeaderData>();
        let mut tuple = pg_sys::HeapTupleData {
            t_len: pgrx::varlena::varsize(row.cast()) as u32,
            t_data: row,
            ..Default::default()
        };
        let (mut values, mut nulls) = ([Datum::null(); 2], [true; 2]);
        pg::heap_deform_tuple(&mut tuple, types.header_row, values.as_mut_ptr(), nulls.as_mut_ptr());
        let part = |place: usize| {
            if nulls[place] {
                &[][..]
            } else {
                contents(pg::pg_detoast_datum_packed(values[place].cast_mut_ptr()))
            }
        };
        Header { name: part(0), value: part(1) }
    }
}

/// Whether some client would get such an answer by a coding.
pub(crate) fn may_be_packed(content_type: Option<&[u8]>, headers: &[Header<'_>], body: &[u8]) -> bool {
    let content_type = content_type.map(|value| (&b"content-type"[..], value));
    let others = headers.iter().map(|header| (header.name, header.value));
    body.len() >= packing::LEAST
        && settings::COMPRESSION.get()
        && packing::headers_gain(content_type.into_iter().chain(others))
}
