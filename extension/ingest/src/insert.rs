//! Rows into a table through the planner: `insert … select` from the bucket, a relation that has a name for as long as the
//! statement runs. So policies, views, rules and other servers' tables have their say.

use std::ffi::CString;

use pg::guard::PgError;
use pgrx::pg_sys::{self, Datum, Oid, TupleDesc, Tuplestorestate};
use session::authority::table_name;
use session::subtransaction::in_subtransaction;

use super::columns::Column;
use super::read::Rows;

/// Writes the rows at these places into these columns of the table, in a subtransaction. Returns how many there are now.
pub(crate) fn insert(
    table: Oid,
    columns: &[&Column],
    rows: &Rows<'_>,
    places: &[u32],
) -> Result<u64, PgError> {
    let statement = statement(table, columns);
    // SAFETY: the relation has values of its columns, and lives until the statement has run. The closure owns nothing
    // with a destructor.
    unsafe {
        let descriptor = description(columns);
        let store = fill(descriptor, columns, rows, places);
        let mut bucket: pg_sys::EphemeralNamedRelationData = std::mem::zeroed();
        bucket.md.name = c"howdah_bucket".as_ptr().cast_mut();
        bucket.md.tupdesc = descriptor;
        bucket.md.enrtype = pg_sys::EphemeralNameRelationType::ENR_NAMED_TUPLESTORE;
        bucket.md.enrtuples = places.len() as f64;
        bucket.reldata = store.cast();
        let (bucket, text) = (&raw mut bucket, statement.as_ptr());
        let result = in_subtransaction(|| {
            pg::SPI_connect();
            pg::SPI_register_relation(bucket);
            pg::SPI_execute(text, false, 0);
            let count = pg_sys::SPI_processed;
            pg::SPI_finish();
            count
        });
        pg_sys::tuplestore_end(store);
        result
    }
}

/// Whether a policy has refused a row of [`insert`]'s statement. A right that is missing, be it of a trigger, a default or another
/// server, is raised elsewhere in PostgreSQL's sources, and a policy on what a trigger writes in another statement. Messages
/// tell neither: they come in the user's language.
pub(crate) fn is_by_policy(error: &PgError, table: Oid, columns: &[&Column]) -> bool {
    let Some(more) = &error.more else { return false };
    if error.sqlstate() != "42501" || more.routine != "ExecWithCheckOptions" {
        return false;
    }
    // The first line of the context names the innermost statement.
    let statement = statement(table, columns);
    let context = more.context.as_deref().unwrap_or_default();
    context.split_once(&*statement.to_string_lossy()).is_some_and(|(before, _)| !before.contains('\n'))
}

fn statement(table: Oid, columns: &[&Column]) -> CString {
    let quoted = |column: &&Column| pgrx::spi::quote_identifier(&*column.name.to_string_lossy());
    let names = columns.iter().map(quoted).collect::<Vec<String>>().join(", ");
    // An empty list of columns cannot be written; a row of defaults needs none. COPY takes values of identity columns, too.
    let list = if columns.is_empty() { String::new() } else { format!("({names}) overriding system value") };
    let text = format!("insert into {} {list} select {names} from howdah_bucket", table_name(table));
    // Names in a catalog have no NUL.
    CString::new(text).unwrap_or_default()
}

/// A description of rows of these columns, in the current memory context.
fn description(columns: &[&Column]) -> TupleDesc {
    // SAFETY: a new description, whose attributes are all set.
    unsafe {
        let descriptor = pg_sys::CreateTemplateTupleDesc(columns.len() as i32);
        for (number, column) in (1..).zip(columns) {
            let (kind, modifier, collation) = column.kind_of_data;
            pg_sys::TupleDescInitEntry(descriptor, number, column.name.as_ptr(), kind, modifier, 0);
            pg_sys::TupleDescInitEntryCollation(descriptor, number, collation);
        }
        descriptor
    }
}

/// # Safety
/// The description is of the columns.
unsafe fn fill(
    descriptor: TupleDesc,
    columns: &[&Column],
    rows: &Rows<'_>,
    places: &[u32],
) -> *mut Tuplestorestate {
    // SAFETY: values of the description, which are copied.
    unsafe {
        let store = pg_sys::tuplestore_begin_heap(true, false, pg_sys::work_mem);
        for place in places {
            let (values, nulls) = rows.row(*place as usize);
            let mut row: Vec<Datum> = columns.iter().map(|column| values[column.place]).collect();
            let mut row_nulls: Vec<bool> = columns.iter().map(|column| nulls[column.place]).collect();
            pg_sys::tuplestore_putvalues(store, descriptor, row.as_mut_ptr(), row_nulls.as_mut_ptr());
        }
        store
    }
}
