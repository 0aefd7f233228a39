//! What plpgsql_check says of a function.

use pgrx::pg_sys::Oid;
use pgrx::spi::{self, Spi, SpiHeapTupleData};

/// An error: message, detail, hint, and the line of the body.
pub(crate) type Found = (String, Option<String>, Option<String>, Option<i32>);

/// Errors of a function, as the current user; `schema` is where plpgsql_check is, quoted. Of a function for triggers, as one of this relation.
pub(crate) fn errors(schema: &str, function: Oid, relation: Oid) -> Vec<Found> {
    let query = format!(
        "select c.message, c.detail, c.hint, c.lineno
         from {schema}.plpgsql_check_function_tb({}::pg_catalog.oid::pg_catalog.regprocedure, relid => {}::pg_catalog.oid::pg_catalog.regclass, fatal_errors => false, other_warnings => false,
           extra_warnings => false, performance_warnings => false) c
         where c.level operator(pg_catalog.=) 'error'",
        function.to_u32(),
        relation.to_u32(),
    );
    let found = Spi::connect(|client| {
        let of_row = |row: SpiHeapTupleData| -> spi::Result<Found> {
            Ok((row.get(1)?.unwrap_or_default(), row.get(2)?, row.get(3)?, row.get(4)?))
        };
        client.select(&query, None, &[])?.map(of_row).collect::<Result<Vec<_>, _>>()
    });
    found.unwrap_or_else(|error| pgrx::error!("what plpgsql_check says cannot be read: {error}"))
}
