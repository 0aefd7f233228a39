//! Values that are taken apart.

use std::ffi::c_char;

use pgrx::pg_sys::{self, Datum, Oid};

/// A row's descriptor, to be released, and its values.
///
/// # Safety
/// A value of a composite type.
pub(crate) unsafe fn deformed(row: Datum) -> (pg_sys::TupleDesc, Vec<Option<Datum>>) {
    // SAFETY: a value of a composite type, whose header says which.
    unsafe {
        let header = pg_sys::pg_detoast_datum(row.cast_mut_ptr()).cast::<pg_sys::HeapTupleHeaderData>();
        let of_type = (*header).t_choice.t_datum;
        let descriptor = pg_sys::lookup_rowtype_tupdesc(of_type.datum_typeid, of_type.datum_typmod);
        let width = (*descriptor).natts as usize;
        let mut tuple = pg_sys::HeapTupleData {
            t_len: (of_type.datum_len_ as u32) >> 2,
            t_data: header,
            ..Default::default()
        };
        let (mut values, mut nulls) = (vec![Datum::null(); width], vec![true; width]);
        pg_sys::heap_deform_tuple(&mut tuple, descriptor, values.as_mut_ptr(), nulls.as_mut_ptr());
        let values = values.into_iter().zip(nulls).map(|(value, is_null)| (!is_null).then_some(value));
        (descriptor, values.collect())
    }
}

/// Gives a row's descriptor back.
///
/// # Safety
/// It is of [`deformed`], and not used any more.
pub(crate) unsafe fn release(descriptor: pg_sys::TupleDesc) {
    // SAFETY: a descriptor that was looked up; those that are not counted stay.
    unsafe {
        if (*descriptor).tdrefcount >= 0 {
            pg_sys::DecrTupleDescRefCount(descriptor);
        }
    }
}

/// The elements of an array, whatever its shape.
///
/// # Safety
/// An array of such elements.
pub(crate) unsafe fn elements_of(array: Datum, element: Oid) -> Vec<Option<Datum>> {
    // SAFETY: an array of the type of element.
    unsafe {
        let (mut length, mut by_value, mut align) = (0i16, false, 0 as c_char);
        pg_sys::get_typlenbyvalalign(element, &mut length, &mut by_value, &mut align);
        let array = pg_sys::pg_detoast_datum(array.cast_mut_ptr()).cast();
        let (mut values, mut nulls, mut count) = (std::ptr::null_mut(), std::ptr::null_mut(), 0);
        pg_sys::deconstruct_array(
            array,
            element,
            length.into(),
            by_value,
            align,
            &mut values,
            &mut nulls,
            &mut count,
        );
        (0..count as usize).map(|place| (!*nulls.add(place)).then(|| *values.add(place))).collect()
    }
}
