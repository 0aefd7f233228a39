//! Defaults that are the same for every row.
//!
//! COPY gives columns that it is not told of their defaults, by statement: lines that have a column and lines that lack it would need
//! a statement for each change between the two, so that rows stay in the order of their lines.

use std::ptr::null_mut;

use pgrx::pg_sys::{self, Datum};
use queue::opened::Opened;
use session::subtransaction::in_subtransaction;

use super::read::Rows;

/// Gives the rows whose lines lack a column that others have its default, where that is constant.
pub(crate) fn fill_in(table: &Opened, rows: &mut Rows<'_>) {
    for column in rows.uneven() {
        let of_table = rows.columns.column(column);
        // A domain may refuse its own default, or null, which COPY does not ask it of a column that it is not told of.
        if of_table.input.is_domain() {
            continue;
        }
        if let Some(default) = constant(table, of_table.place) {
            rows.fill_in(column, default);
        }
    }
}

/// The default of a column, which may be null; none if it may differ from row to row, or fails.
fn constant(table: &Opened, place: usize) -> Option<Option<Datum>> {
    // SAFETY: the table is open and has the attribute. What is allocated is in the current memory context, and the closure owns
    // nothing with a destructor.
    let default = unsafe {
        in_subtransaction(|| {
            let default = pg_sys::build_column_default(**table, place as i32 + 1);
            if default.is_null() {
                return Some(None);
            }
            let default = pg_sys::eval_const_expressions(null_mut(), default);
            if (*default).type_ != pg_sys::NodeTag::T_Const {
                return None;
            }
            let default = &*default.cast::<pg_sys::Const>();
            Some((!default.constisnull).then_some(default.constvalue))
        })
    };
    default.ok().flatten()
}
