//! Rows as texts, and back: what is kept of a row that has become a dead letter.
//!
//! Each column is kept as its type writes it, by its name, whatever the settings of the session. So every value comes back as
//! it was, also where JSON cannot hold it, and also if the row type has got other columns meanwhile. What writes a value, and
//! what reads one, is PostgreSQL's own or a superuser's function: only domains inside of arrays, ranges and composite types call
//! others, when a value is read. A column whose type is a domain is read as the base type, as the queue's tables have it: the
//! row was checked when it was sent.

use std::ffi::{CStr, c_char};

use pg::catalog::attributes;
use pg::refuse::refuse;
use pgrx::pg_sys::{self, Datum, Oid};
use pgrx::prelude::*;

use super::unfolded::{Form, Full, Room};
use super::values::{deformed, elements_of, release};

/// Of these settings it depends how types write values; and they are read as they were written.
const SETTINGS: [(&CStr, &CStr); 6] = [
    (c"DateStyle", c"ISO, YMD"),
    (c"IntervalStyle", c"postgres"),
    (c"TimeZone", c"UTC"),
    (c"extra_float_digits", c"1"),
    (c"bytea_output", c"hex"),
    (c"lc_monetary", c"C"),
];

/// The first number of what users make, extensions included.
const FIRST_OF_USERS: u32 = 16384;

/// The columns of a row by their names, as texts: arrays of type `text[]`.
#[derive(Clone, Copy)]
pub struct RowText {
    /// The names.
    pub names: Datum,
    /// The values.
    pub values: Datum,
}

/// Runs `work` with settings under which every value has one text. They are undone after it; after an error by PostgreSQL.
pub fn with_plain_settings<T>(work: impl FnOnce() -> T) -> T {
    // SAFETY: PostgreSQL's own, inside a transaction.
    unsafe {
        let level = pg_sys::NewGUCNestLevel();
        for (name, value) in SETTINGS {
            pg_sys::SetConfigOption(
                name.as_ptr(),
                value.as_ptr(),
                pg_sys::GucContext::PGC_USERSET,
                pg_sys::GucSource::PGC_S_SESSION,
            );
        }
        let result = work();
        pg_sys::AtEOXact_GUC(false, level);
        result
    }
}

/// The texts of a row, if all of them have no more than so many bytes. Those that would have more are not made.
///
/// # Safety
/// A value of a composite type.
pub unsafe fn written(row: Datum, most: usize) -> Option<RowText> {
    // SAFETY: by contract; what is read of the row lives as long as it.
    unsafe {
        let (descriptor, values) = deformed(row);
        let columns = attributes(descriptor);
        let (mut names, mut texts) = (Vec::new(), Vec::new());
        let mut room = Room::new(most, Form::Text);
        for (attribute, value) in columns.iter().zip(values).filter(|(column, _)| !column.attisdropped) {
            let Ok(text) = value.map(|value| bounded_text(value, attribute.atttypid, &mut room)).transpose()
            else {
                release(descriptor);
                return None;
            };
            names.push(Some(Datum::from(pg_sys::cstring_to_text(attribute.attname.data.as_ptr()))));
            texts.push(text);
        }
        release(descriptor);
        Some(RowText { names: array(&names, pg_sys::TEXTOID), values: array(&texts, pg_sys::TEXTOID) })
    }
}

/// A row of a type from texts. Columns of which there is none are null. An error if the type has no column of a name under which
/// there is a text, or reads it no more.
///
/// # Safety
/// A composite type, and texts of [`written`].
pub unsafe fn read(text: RowText, row_type: Oid) -> Datum {
    // SAFETY: by contract.
    unsafe {
        let descriptor = pg_sys::lookup_rowtype_tupdesc_copy(row_type, -1);
        let columns = attributes(descriptor);
        let (mut values, mut nulls) = (vec![Datum::null(); columns.len()], vec![true; columns.len()]);
        for (name, value) in elements(text.names).into_iter().zip(elements(text.values)) {
            let (Some(name), Some(value)) = (name, value) else { continue };
            let name = CStr::from_ptr(pg_sys::text_to_cstring(name.cast_mut_ptr()));
            let is_it = |column: &&pg_sys::FormData_pg_attribute| {
                !column.attisdropped && CStr::from_ptr(column.attname.data.as_ptr()) == name
            };
            let Some(place) = columns.iter().position(is_it) else {
                refuse(
                    PgSqlErrorCode::ERRCODE_UNDEFINED_COLUMN,
                    &format!("its row type has no column {} any more", name.to_string_lossy()),
                );
            };
            values[place] = value_of(value, columns[place]);
            nulls[place] = false;
        }
        let tuple = pg_sys::heap_form_tuple(descriptor, values.as_mut_ptr(), nulls.as_mut_ptr());
        pg_sys::heap_copy_tuple_as_datum(tuple, descriptor)
    }
}

/// The same row for whoever looks at it as JSON: values of types that users have made are texts in it, so that no cast of theirs
/// is called. A value of an anonymous composite type, without the columns for which there is no room.
///
/// # Safety
/// A value of a composite type.
pub(crate) unsafe fn plain_row(row: Datum, most: usize) -> Datum {
    // SAFETY: by contract; what is read of the row lives as long as it.
    unsafe {
        let (descriptor, values) = deformed(row);
        let columns = attributes(descriptor);
        let mut room = Room::new(most, Form::Text);
        let kept = columns.iter().zip(values).filter(|(column, value)| {
            !column.attisdropped && value.is_none_or(|value| room.add_whole(value, column.atttypid).is_ok())
        });
        let kept: Vec<_> = kept.collect();
        let plain = pg_sys::CreateTemplateTupleDesc(kept.len() as i32);
        let (mut data, mut nulls) = (Vec::new(), Vec::new());
        for (place, (column, value)) in kept.iter().enumerate() {
            let of_type = plain_type(column.atttypid);
            pg_sys::TupleDescInitEntry(plain, place as i16 + 1, column.attname.data.as_ptr(), of_type, -1, 0);
            nulls.push(value.is_none());
            data.push(value.map_or(Datum::null(), |value| plain_value(value, column.atttypid)));
        }
        let plain = pg_sys::BlessTupleDesc(plain);
        let tuple = pg_sys::heap_form_tuple(plain, data.as_mut_ptr(), nulls.as_mut_ptr());
        release(descriptor);
        pg_sys::heap_copy_tuple_as_datum(tuple, plain)
    }
}

/// The type that a value has in [`plain_row`].
unsafe fn plain_type(of_type: Oid) -> Oid {
    // SAFETY: look-ups inside a transaction.
    unsafe {
        let base = pg_sys::getBaseType(of_type);
        let element = pg_sys::get_element_type(base);
        if pg_sys::type_is_rowtype(base) {
            pg_sys::RECORDOID
        } else if element != Oid::INVALID {
            match plain_type(element) {
                pg_sys::RECORDOID => pg_sys::RECORDARRAYOID,
                plain => pg_sys::get_array_type(plain),
            }
        } else if base.to_u32() < FIRST_OF_USERS {
            base
        } else {
            pg_sys::TEXTOID
        }
    }
}

/// The value in [`plain_row`].
unsafe fn plain_value(value: Datum, of_type: Oid) -> Datum {
    // SAFETY: a value of the type.
    unsafe {
        let (base, plain) = (pg_sys::getBaseType(of_type), plain_type(of_type));
        if base == plain {
            value
        } else if plain == pg_sys::RECORDOID {
            plain_row(value, usize::MAX)
        } else if plain == pg_sys::TEXTOID {
            text_of(value, base)
        } else {
            let element = pg_sys::get_element_type(base);
            let whole = pg_sys::pg_detoast_datum(value.cast_mut_ptr()).cast::<pg_sys::ArrayType>();
            let rank = (*whole).ndim as usize;
            let bounds = whole.add(1).cast::<i32>();
            let plain = plain_type(element);
            let values: Vec<Option<Datum>> = elements_of(Datum::from(whole), element)
                .into_iter()
                .map(|value| value.map(|value| plain_value(value, element)))
                .collect();
            shaped_array(&values, plain, rank, bounds)
        }
    }
}

/// A value as its type writes it, if there is room for that.
unsafe fn bounded_text(value: Datum, of_type: Oid, room: &mut Room) -> Result<Datum, Full> {
    // SAFETY: a value of the type.
    unsafe {
        if !room.has(value, of_type) {
            return Err(Full);
        }
        let text = text_of(value, of_type);
        room.take(pgrx::varsize_any_exhdr(text.cast_mut_ptr()))?;
        Ok(text)
    }
}

/// A value as its type writes it: a `text`.
unsafe fn text_of(value: Datum, of_type: Oid) -> Datum {
    // SAFETY: a value of the type.
    unsafe {
        let (mut function, mut is_varlena) = (Oid::INVALID, false);
        pg_sys::getTypeOutputInfo(of_type, &mut function, &mut is_varlena);
        let written: *mut c_char = pg_sys::OidOutputFunctionCall(function, value);
        let text = pg_sys::cstring_to_text(written);
        pg_sys::pfree(written.cast());
        Datum::from(text)
    }
}

/// What the base type of a column reads from a `text`.
unsafe fn value_of(text: Datum, column: &pg_sys::FormData_pg_attribute) -> Datum {
    // SAFETY: a text.
    unsafe {
        let mut modifier = column.atttypmod;
        let base = pg_sys::getBaseTypeAndTypmod(column.atttypid, &mut modifier);
        let (mut function, mut parameter) = (Oid::INVALID, Oid::INVALID);
        pg_sys::getTypeInputInfo(base, &mut function, &mut parameter);
        let text = pg_sys::text_to_cstring(text.cast_mut_ptr());
        pg_sys::OidInputFunctionCall(function, text, parameter, modifier)
    }
}

/// The elements of an array of texts.
unsafe fn elements(texts: Datum) -> Vec<Option<Datum>> {
    // SAFETY: an array of texts.
    unsafe { elements_of(texts, pg_sys::TEXTOID) }
}

/// An array of one dimension.
unsafe fn array(values: &[Option<Datum>], element: Oid) -> Datum {
    let bounds = [values.len() as i32, 1];
    // SAFETY: values of the type of element.
    unsafe { shaped_array(values, element, 1, bounds.as_ptr()) }
}

/// An array of a rank; its lengths and then its lower bounds follow each other.
unsafe fn shaped_array(values: &[Option<Datum>], element: Oid, rank: usize, bounds: *const i32) -> Datum {
    // SAFETY: values of the type of element, as many as the lengths say.
    unsafe {
        let (mut length, mut by_value, mut align) = (0i16, false, 0 as c_char);
        pg_sys::get_typlenbyvalalign(element, &mut length, &mut by_value, &mut align);
        let mut nulls: Vec<bool> = values.iter().map(Option::is_none).collect();
        let mut data: Vec<Datum> = values.iter().map(|value| value.unwrap_or(Datum::null())).collect();
        Datum::from(pg_sys::construct_md_array(
            data.as_mut_ptr(),
            nulls.as_mut_ptr(),
            rank as i32,
            bounds.cast_mut(),
            bounds.add(rank).cast_mut(),
            element,
            length.into(),
            by_value,
            align,
        ))
    }
}
