//! The roles that configuration tables name cannot be dropped.
//!
//! A row depends on nothing, and a dump has the bare number of a role that is gone, which may be another's where it is
//! restored. So a table depends on the roles in its columns of type `regrole` as if they had rights to the column: `drop
//! role` refuses, and says which table it is. What is recorded is that of the table as the transaction sees it. Of two
//! that add and remove the last rows of a role at the same time one may record too little; whatever runs as a role asks
//! whether there is such a role ([`session::identity::require`]).

use std::ffi::c_int;

use pg::catalog::attributes;
use pg::text::string;
use pgrx::pg_sys::{self, Oid};
use pgrx::prelude::*;
use pgrx::spi::SpiClient;
use session::identity;

/// Records which roles a table names now. For a statement trigger.
///
/// # Safety
/// Inside a transaction; an open table.
pub(crate) unsafe fn depend(table: pg_sys::Relation) {
    // SAFETY: by contract.
    unsafe {
        let columns = attributes((*table).rd_att).into_iter();
        for column in columns.filter(|column| column.atttypid == pg_sys::REGROLEOID) {
            depend_by(table, column);
        }
    }
}

/// The table's name, as a statement needs it.
unsafe fn name_of(table: pg_sys::Relation) -> String {
    // SAFETY: the caller's contract; both names are C strings.
    unsafe {
        let schema = pg_sys::get_namespace_name((*(*table).rd_rel).relnamespace);
        let name = (*(*table).rd_rel).relname.data.as_ptr();
        string(pg_sys::quote_qualified_identifier(schema, name))
    }
}

unsafe fn depend_by(table: pg_sys::Relation, column: &pg_sys::FormData_pg_attribute) {
    // SAFETY: the caller's contract; names in a catalog end with NUL.
    let (name, column_name, oid) = unsafe {
        let column_name = pg_sys::quote_identifier(column.attname.data.as_ptr());
        (name_of(table), string(column_name), (*table).rd_id)
    };
    let number = c_int::from(column.attnum);
    let (recorded, mut named) = Spi::connect(|client| {
        let recorded = roles(
            client,
            "select refobjid from pg_catalog.pg_shdepend
             where dbid operator(pg_catalog.=) $1 and classid operator(pg_catalog.=) $2
               and objid operator(pg_catalog.=) $3 and objsubid operator(pg_catalog.=) $4
               and refclassid operator(pg_catalog.=) $5 and deptype operator(pg_catalog.=) 'a'",
            &[
                // SAFETY: PostgreSQL's own variable.
                unsafe { pg_sys::MyDatabaseId }.into(),
                pg_sys::RelationRelationId.into(),
                oid.into(),
                number.into(),
                pg_sys::AuthIdRelationId.into(),
            ],
        )?;
        let named =
            roles(client, &format!("select distinct {column_name}::pg_catalog.oid from {name}"), &[])?;
        Ok::<_, spi::Error>((recorded, named))
    })
    .unwrap_or_else(|error| error!("cannot find the roles that {name} names: {error}"));
    // One that is gone must not keep the others from being recorded.
    // SAFETY: inside a transaction.
    named.retain(|role| unsafe { identity::exists(*role) });
    if recorded == named {
        return;
    }
    // SAFETY: the arrays are sorted, in PostgreSQL's memory, and given away. No owner, so that none is left out.
    unsafe {
        pg_sys::updateAclDependencies(
            pg_sys::RelationRelationId,
            oid,
            number,
            Oid::INVALID,
            recorded.len() as c_int,
            given_away(&recorded),
            named.len() as c_int,
            given_away(&named),
        );
    }
}

/// Roles in the order of their numbers, each once.
fn roles(
    client: &SpiClient<'_>,
    query: &str,
    arguments: &[pgrx::datum::DatumWithOid<'_>],
) -> Result<Vec<Oid>, spi::Error> {
    let rows = client.select(query, None, arguments)?;
    let roles: Result<Vec<Option<Oid>>, _> = rows.map(|row| row.get::<Oid>(1)).collect();
    let mut roles: Vec<Oid> = roles?.into_iter().flatten().collect();
    roles.sort_unstable_by_key(|role| role.to_u32());
    roles.dedup();
    Ok(roles)
}

/// A copy in PostgreSQL's memory; null is the empty one.
unsafe fn given_away(roles: &[Oid]) -> *mut Oid {
    if roles.is_empty() {
        return std::ptr::null_mut();
    }
    // SAFETY: inside a transaction; as large as what is copied into it.
    unsafe {
        let copy: *mut Oid = pg_sys::palloc(size_of_val(roles)).cast();
        copy.copy_from_nonoverlapping(roles.as_ptr(), roles.len());
        copy
    }
}
