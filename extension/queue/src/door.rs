//! What a queue takes in can be given out again: read, kept as a dead letter, sent once more, dumped. Each needs the whole row
//! as text, and some numbers are ten thousand times as long as text as they are where they are stored. So a row is measured
//! before it is written.

use pg::catalog::attributes;
use pg::refuse::refuse;
use pg::scratch::Scratch;
use pgrx::PgSqlErrorCode;
use pgrx::pg_sys::{self, Datum, HeapTuple, Oid, TupleDesc};

use super::unfolded::{Form, Room};

/// Bytes that the texts of a row may have.
pub const LARGEST: usize = 64 << 20;
/// Stored bytes of numbers that never have more than that as text: the shortest of 131,072 digits takes seven.
const LIGHT: usize = 3 << 10;
/// Bytes of a row that are never more than [`LIGHT`], be they compressed: no method of PostgreSQL's writes one for 256. Behind the
/// position there is no room for a value that is stored elsewhere.
const SMALL: u32 = 24;

/// Measures the rows of a table.
pub(crate) struct Door {
    table: TupleDesc,
    /// The columns whose values vary in length, and their types.
    columns: Vec<(usize, Oid)>,
    values: Vec<Datum>,
    nulls: Vec<bool>,
}

impl Door {
    /// For a table's rows.
    ///
    /// # Safety
    /// The descriptor lives as long as the door.
    pub(crate) unsafe fn of(table: TupleDesc) -> Door {
        // SAFETY: by contract.
        let own = unsafe { attributes(table) };
        let varies = |column: &pg_sys::FormData_pg_attribute| column.attlen == -1 && !column.attisdropped;
        let columns = own.iter().enumerate().filter(|(_, column)| varies(column));
        let columns = columns.map(|(place, column)| (place, column.atttypid)).collect();
        Door { table, columns, values: vec![Datum::null(); own.len()], nulls: vec![true; own.len()] }
    }

    /// Raises an error if a row has more text than a row may have.
    ///
    /// # Safety
    /// A tuple of the table, inside a transaction with an active snapshot.
    pub(crate) unsafe fn check(&mut self, tuple: HeapTuple) {
        // SAFETY: by contract; a column that varies in length and is not null is a varlena.
        unsafe {
            let data = (*tuple).t_len.saturating_sub(u32::from((*(*tuple).t_data).t_hoff));
            if self.columns.is_empty() || data <= SMALL {
                return;
            }
            let (values, nulls) = (self.values.as_mut_ptr(), self.nulls.as_mut_ptr());
            pg_sys::heap_deform_tuple(tuple, self.table, values, nulls);
            let given = self.columns.iter().filter(|(place, _)| !self.nulls[*place]);
            let given = given.map(|(place, of_type)| (self.values[*place], *of_type));
            let size: usize = given.clone().map(|(value, of_type)| weight(value, of_type)).sum();
            if size <= LIGHT {
                return;
            }
            measure(given);
        }
    }
}

/// Raises an error if values, with their types, have more text than a row may have.
///
/// # Safety
/// Values of the types, inside a transaction with an active snapshot.
pub unsafe fn measure(mut values: impl Iterator<Item = (Datum, Oid)>) {
    let mut room = Room::new(LARGEST, Form::Text);
    // SAFETY: by contract.
    let fits = |(value, of_type)| unsafe { room.add(value, of_type).is_ok() };
    if !Scratch::here().run(|| values.all(fits)) {
        refuse_large();
    }
}

/// Whether a value has so many bytes as text at most.
///
/// # Safety
/// A value of the type, inside a transaction with an active snapshot.
pub unsafe fn fits(value: Datum, of_type: Oid, most: usize) -> bool {
    let mut room = Room::new(most, Form::Text);
    // SAFETY: by contract.
    Scratch::here().run(|| unsafe { room.add(value, of_type).is_ok() })
}

/// The bytes of a value, as it is when it is not compressed. Of jsonb one in two counts, as each number has an entry and is padded.
unsafe fn weight(value: Datum, of_type: Oid) -> usize {
    // SAFETY: a varlena.
    let size = unsafe { pg_sys::toast_raw_datum_size(value) };
    if of_type == pg_sys::JSONBOID { size / 2 } else { size }
}

/// The row has more text than a row may have.
pub fn refuse_large() -> ! {
    let most = LARGEST >> 20;
    refuse(
        PgSqlErrorCode::ERRCODE_PROGRAM_LIMIT_EXCEEDED,
        &format!("the row has more than {most} MB as text, and a queue takes no more"),
    )
}
