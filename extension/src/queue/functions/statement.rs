//! SQL that is run as the extension's owner, to whom the tables belong.

use std::ffi::CStr;

use pgrx::pg_sys::{self, Oid};
use pgrx::prelude::*;
use pgrx::spi::SpiHeapTupleData;

/// A relation's name with its schema, quoted.
pub fn table_name(relation: Oid) -> String {
    // SAFETY: look-ups inside a transaction; the results are strings that end with NUL.
    unsafe {
        let schema = pg_sys::get_namespace_name(pg_sys::get_rel_namespace(relation));
        let name = pg_sys::quote_qualified_identifier(schema, pg_sys::get_rel_name(relation));
        CStr::from_ptr(name).to_string_lossy().into_owned()
    }
}

/// The owner of schema `queue`.
fn owner() -> Oid {
    // SAFETY: look-ups inside a transaction; the schema exists, as this function belongs to it.
    unsafe {
        let schema = pg_sys::get_namespace_oid(c"queue".as_ptr(), false);
        let cache = pg_sys::SysCacheIdentifier::NAMESPACEOID as i32;
        let tuple = pg_sys::SearchSysCache1(cache, schema.into());
        let owner = (*pg_sys::GETSTRUCT(tuple).cast::<pg_sys::FormData_pg_namespace>()).nspowner;
        pg_sys::ReleaseSysCache(tuple);
        owner
    }
}

/// Who has called, before the owner took over: for what the owner's SQL asks.
pub fn caller() -> Oid {
    // SAFETY: PostgreSQL's own state.
    unsafe { pg_sys::GetUserId() }
}

/// Runs `work` as the owner, with nothing but pg_catalog on the search path.
pub fn as_owner<T>(work: impl FnOnce() -> T) -> T {
    let owner = owner();
    // SAFETY: what is set here is set back below, after an error by PostgreSQL.
    unsafe {
        let (mut user, mut context) = (Oid::INVALID, 0);
        pg_sys::GetUserIdAndSecContext(&mut user, &mut context);
        let level = pg_sys::NewGUCNestLevel();
        pg_sys::SetUserIdAndSecContext(owner, context | pg_sys::SECURITY_LOCAL_USERID_CHANGE as i32);
        pg_sys::SetConfigOption(
            c"search_path".as_ptr(),
            c"pg_catalog, pg_temp".as_ptr(),
            pg_sys::GucContext::PGC_USERSET,
            pg_sys::GucSource::PGC_S_SESSION,
        );
        let result = work();
        // Not to be kept: what was set is the owner's.
        pg_sys::AtEOXact_GUC(false, level);
        pg_sys::SetUserIdAndSecContext(user, context);
        result
    }
}

/// Runs a statement as the owner.
pub fn run_as_owner(statement: &str) {
    as_owner(|| {
        if let Err(error) = Spi::run(statement) {
            error!("{error}");
        }
    });
}

/// Runs a query as the owner, and turns its rows into values.
pub fn rows_as_owner<T>(query: &str, row: impl Fn(SpiHeapTupleData) -> Option<T>) -> Vec<T> {
    as_owner(|| {
        Spi::connect_mut(|client| match client.update(query, None, &[]) {
            Ok(table) => table.filter_map(row).collect(),
            Err(error) => error!("{error}"),
        })
    })
}

/// A text as a literal of SQL.
pub fn literal(text: &str) -> String {
    pgrx::spi::quote_literal(text)
}
