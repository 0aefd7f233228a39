//! A queue's row type beside the columns of its tables.
//!
//! A table has a position and then the columns of the row type. If that is so to the letter, a row becomes one of
//! the type by leaving out its first eight bytes: nothing is taken apart, which for a row of six columns costs
//! more than reading it. Columns are found by name where a type has been altered.

use std::ffi::CStr;

use pg::catalog::attributes;
use pg::guard::direct;
use pg::refuse::refuse_with_hint;
use pgrx::pg_sys::{self, Datum, HeapTuple, HeapTupleData, Oid, TupleDesc};
use pgrx::prelude::*;

use super::opened::Opened;

/// Bytes of a position, the first column.
const POSITION: usize = 8;
/// Bytes of a tuple's header without its bits for nulls.
const HEADER: usize = std::mem::offset_of!(pg_sys::HeapTupleHeaderData, t_bits);
/// Alignment of a tuple's data.
const ALIGN: usize = pg_sys::MAXIMUM_ALIGNOF as usize;
/// The flags of a tuple that speak of its values: nulls, variable width, values stored elsewhere.
const ABOUT_VALUES: u16 = (pg_sys::HEAP_HASNULL | pg_sys::HEAP_HASVARWIDTH | pg_sys::HEAP_HASEXTERNAL) as u16;

/// How rows of a table become rows of a type, and the other way round.
pub(crate) struct Layout {
    table: TupleDesc,
    row_type: TupleDesc,
    /// For each attribute of the type, the place of its column; none if there is no such column. Empty if
    /// table and type are alike.
    columns: Vec<Option<usize>>,
    scratch: Vec<u64>,
}

/// Whether values of the one are values of the other as they are.
///
/// # Safety
/// Both descriptors live.
pub(crate) unsafe fn have_same_columns(one: TupleDesc, other: TupleDesc) -> bool {
    // SAFETY: by contract.
    let [one, other] = unsafe { [attributes(one), attributes(other)] };
    let as_stored = |column: &pg_sys::FormData_pg_attribute| {
        (column.attisdropped, column.atttypid, column.attlen, column.attalign)
    };
    one.len() == other.len() && one.iter().zip(&other).all(|(one, other)| as_stored(one) == as_stored(other))
}

/// The descriptor of a composite type as it is now, a copy in the current memory context.
pub(crate) fn descriptor_of(row_type: Oid) -> TupleDesc {
    // SAFETY: a composite type, inside a transaction.
    unsafe { pg_sys::lookup_rowtype_tupdesc_copy(row_type, -1) }
}

fn name(attribute: &pg_sys::FormData_pg_attribute) -> &CStr {
    // SAFETY: a name in a catalog ends with NUL.
    unsafe { CStr::from_ptr(attribute.attname.data.as_ptr()) }
}

fn are_alike(column: &pg_sys::FormData_pg_attribute, attribute: &pg_sys::FormData_pg_attribute) -> bool {
    name(column) == name(attribute)
        && is_stored_as(column.atttypid, attribute.atttypid)
        && !column.attisdropped
}

/// Whether a column of the one type has values of the other: a table has the base type in the place of a domain.
fn is_stored_as(column: Oid, attribute: Oid) -> bool {
    // SAFETY: a look-up inside a transaction.
    column == attribute || column == unsafe { pg_sys::getBaseType(attribute) }
}

impl Layout {
    /// The layout of a table of the queue of this number, and its row type, as whose rows are made or wanted. An error if the
    /// table has no column for one of the type's attributes: values would be lost, or be null.
    ///
    /// # Safety
    /// The descriptor lives as long as the layout.
    pub(crate) unsafe fn of(queue: u32, rows: &Opened, row_type: TupleDesc) -> Layout {
        // SAFETY: the table is open, the rest by contract.
        unsafe {
            let table = (***rows).rd_att;
            let (own, wanted) = (attributes(table), attributes(row_type));
            let alike = own.len() == wanted.len() + 1
                && own[1..].iter().zip(&wanted).all(|(column, attribute)| {
                    (column.attisdropped && attribute.attisdropped) || are_alike(column, attribute)
                });
            let column_of = |attribute: &&pg_sys::FormData_pg_attribute| {
                own.iter().position(|column| !attribute.attisdropped && are_alike(column, attribute))
            };
            let no_dropped = !wanted.iter().any(|attribute| attribute.attisdropped);
            let columns =
                if alike && no_dropped { Vec::new() } else { wanted.iter().map(column_of).collect() };
            let layout = Layout { table, row_type, columns, scratch: Vec::new() };
            layout.check_complete(queue);
            layout
        }
    }

    fn check_complete(&self, queue: u32) {
        for (place, column) in self.columns.iter().enumerate() {
            // SAFETY: the descriptor has the attribute.
            let attribute = unsafe { pg::attribute(self.row_type, place) };
            if column.is_none() && !attribute.attisdropped {
                refuse_with_hint(
                    PgSqlErrorCode::ERRCODE_DATATYPE_MISMATCH,
                    &format!("the queue's tables have no column for {}", name(attribute).to_string_lossy()),
                    &format!("A superuser gives them one: select queue.reshape({queue})."),
                );
            }
        }
    }

    /// The row of the type that a row of the table is. It is valid until the next call.
    ///
    /// # Safety
    /// A tuple of the table, on a page that is pinned.
    pub(crate) unsafe fn row_of(&mut self, tuple: &HeapTupleData) -> HeapTupleData {
        // SAFETY: by contract.
        unsafe {
            let mut whole = *tuple;
            if (*tuple.t_data).t_infomask & pg_sys::HEAP_HASEXTERNAL as u16 != 0 {
                // A value that is stored elsewhere would be gone with the segment.
                let this: *mut HeapTupleData = &mut whole;
                whole = *direct(|| pg::toast_flatten_tuple(this, self.table));
            }
            if self.columns.is_empty() { self.cut_position(&whole) } else { *self.convert(&mut whole) }
        }
    }

    unsafe fn convert(&self, tuple: &mut HeapTupleData) -> HeapTuple {
        // SAFETY: the tuple is one of the table.
        unsafe {
            let count = (*self.table).natts as usize;
            let (mut values, mut nulls) = (vec![Datum::null(); count], vec![true; count]);
            pg_sys::heap_deform_tuple(tuple, self.table, values.as_mut_ptr(), nulls.as_mut_ptr());
            let place = |column: &Option<usize>| column.filter(|place| !nulls[*place]);
            let mut row: Vec<Datum> = self
                .columns
                .iter()
                .map(|column| place(column).map_or(Datum::null(), |place| values[place]))
                .collect();
            let mut row_nulls: Vec<bool> =
                self.columns.iter().map(|column| place(column).is_none()).collect();
            pg_sys::heap_form_tuple(self.row_type, row.as_mut_ptr(), row_nulls.as_mut_ptr())
        }
    }

    unsafe fn cut_position(&mut self, tuple: &HeapTupleData) -> HeapTupleData {
        // SAFETY: the tuple begins with a position; what is written fits into the scratch.
        unsafe {
            let from = tuple.t_data.cast::<u8>();
            let offset = usize::from((*tuple.t_data).t_hoff);
            let stored = pg_sys::HeapTupleHeaderGetNatts(tuple.t_data) as usize - 1;
            let count = (*self.row_type).natts as usize;
            let bits = from.add(HEADER);
            let mut mask = (*tuple.t_data).t_infomask;
            let has_nulls = mask & pg_sys::HEAP_HASNULL as u16 != 0;
            if stored < count {
                // PostgreSQL would give what is missing the default that the row type, a table, got with its new column.
                mask |= pg_sys::HEAP_HASNULL as u16;
            }
            let is_set = |place: usize| {
                place < stored && (!has_nulls || *bits.add((place + 1) / 8) >> ((place + 1) % 8) & 1 == 1)
            };
            let data = from.add(offset + POSITION);
            let length = tuple.t_len as usize - offset - POSITION;
            self.write(mask, count, is_set, None, data, length)
        }
    }

    /// A row of the table that has this position and the values of a row of the type.
    ///
    /// # Safety
    /// `row` is a composite value of the type. The result is in the current memory context.
    pub(crate) unsafe fn tuple_of(&mut self, row: Datum, position: u64) -> HeapTuple {
        // SAFETY: by contract.
        unsafe {
            let header: pg_sys::HeapTupleHeader = pg_sys::pg_detoast_datum(row.cast_mut_ptr()).cast();
            let mut tuple: HeapTupleData = std::mem::zeroed();
            tuple.t_data = header;
            tuple.t_len = pgrx::varsize_any(header.cast()) as u32;
            let count = pg_sys::HeapTupleHeaderGetNatts(header) as usize;
            // What is missing in a row of a table has a default.
            if !self.columns.is_empty() || count < (*self.row_type).natts as usize {
                return self.take_apart(&mut tuple, position);
            }
            let from = header.cast::<u8>();
            let offset = usize::from((*header).t_hoff);
            let bits = from.add(HEADER);
            let is_set =
                |place: usize| place == 0 || *bits.add((place - 1) / 8) >> ((place - 1) % 8) & 1 == 1;
            let (data, length) = (from.add(offset), tuple.t_len as usize - offset);
            let mut made = self.write((*header).t_infomask, count + 1, is_set, Some(position), data, length);
            pg_sys::heap_copytuple(&mut made)
        }
    }

    unsafe fn take_apart(&self, tuple: &mut HeapTupleData, position: u64) -> HeapTuple {
        // SAFETY: the tuple is one of the type.
        unsafe {
            let count = (*self.row_type).natts as usize;
            let (mut values, mut nulls) = (vec![Datum::null(); count], vec![true; count]);
            pg_sys::heap_deform_tuple(tuple, self.row_type, values.as_mut_ptr(), nulls.as_mut_ptr());
            self.of_values(&values, &nulls, position)
        }
    }

    /// A row of the table that has this position and these values, in the order of the type's attributes.
    ///
    /// # Safety
    /// The values are those of the type. The result is in the current memory context.
    pub(crate) unsafe fn of_values(&self, values: &[Datum], nulls: &[bool], position: u64) -> HeapTuple {
        // SAFETY: by contract.
        unsafe {
            let count = (*self.table).natts as usize;
            let (mut row, mut row_nulls) = (vec![Datum::null(); count], vec![true; count]);
            (row[0], row_nulls[0]) = (Datum::from(position as i64), false);
            for (place, (value, null)) in values.iter().zip(nulls).enumerate() {
                let column = if self.columns.is_empty() { Some(place + 1) } else { self.columns[place] };
                if let Some(column) = column {
                    (row[column], row_nulls[column]) = (*value, *null);
                }
            }
            pg_sys::heap_form_tuple(self.table, row.as_mut_ptr(), row_nulls.as_mut_ptr())
        }
    }

    /// Writes a tuple into the scratch: `count` attributes, a position or none, then the data.
    ///
    /// # Safety
    /// There are `length` bytes of data, aligned as in a tuple.
    unsafe fn write(
        &mut self,
        mask: u16,
        count: usize,
        is_set: impl Fn(usize) -> bool,
        position: Option<u64>,
        data: *const u8,
        length: usize,
    ) -> HeapTupleData {
        let has_nulls = mask & pg_sys::HEAP_HASNULL as u16 != 0;
        let bits = if has_nulls { count.div_ceil(8) } else { 0 };
        let offset = (HEADER + bits).next_multiple_of(ALIGN);
        let head = if position.is_some() { POSITION } else { 0 };
        let size = offset + head + length;
        self.scratch.clear();
        self.scratch.resize(size.div_ceil(8), 0);
        // SAFETY: the scratch has `size` bytes, the data by contract `length`.
        unsafe {
            let start = self.scratch.as_mut_ptr().cast::<u8>();
            let header: pg_sys::HeapTupleHeader = start.cast();
            (*header).t_infomask = mask & ABOUT_VALUES;
            (*header).t_infomask2 = count as u16;
            (*header).t_hoff = offset as u8;
            for place in (0..if has_nulls { count } else { 0 }).filter(|place| is_set(*place)) {
                *start.add(HEADER + place / 8) |= 1 << (place % 8);
            }
            if let Some(position) = position {
                start.add(offset).cast::<u64>().write(position);
            }
            std::ptr::copy_nonoverlapping(data, start.add(offset + head), length);
            let mut tuple: HeapTupleData = std::mem::zeroed();
            tuple.t_data = header;
            tuple.t_len = size as u32;
            tuple
        }
    }
}
