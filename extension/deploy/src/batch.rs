//! A statement that runs in batches: once for each so many keys of a table, with the first and the last of them as `$1` and `$2`.

use std::ffi::CString;

use batches::Batches;
use pg::refuse::{refuse, refuse_with_hint};
use pgrx::datum::DatumWithOid;
use pgrx::pg_sys::{self, Datum, Oid};
use pgrx::prelude::*;

/// What a batch has done.
pub(crate) struct Ran {
    /// Its last key.
    pub last: String,
    /// How many keys it had.
    pub keys: i64,
    /// How many rows the statement has changed.
    pub rows: u64,
}

/// The key of a table.
struct Key {
    table: String,
    column: String,
    of_type: Oid,
    type_name: String,
}

/// Runs the next batch, as the application's owner; none if no key is left.
pub(crate) fn run(text: &str, batches: &Batches, after: Option<&str>) -> Option<Ran> {
    let key = Key::of(batches);
    let Key { table, column, type_name, .. } = &key;
    let beyond = after.map(|_| format!("where {column} > $1::{type_name}")).unwrap_or_default();
    let query = format!(
        "select (array_agg(s.k::text order by s.k))[1], (array_agg(s.k::text order by s.k desc))[1], count(*)
         from (select {column} as k from {table} {beyond} order by {column} limit {}) s where s.k::text is not null",
        batches.size
    );
    let before = after.map(str::to_owned);
    let after: Vec<DatumWithOid<'_>> = after.into_iter().map(Into::into).collect();
    let (first, last, keys) = Spi::connect_mut(|client| {
        let mut rows = client.update(&query, None, &after)?;
        let row = rows.next().ok_or(spi::Error::InvalidPosition)?;
        Ok::<_, spi::Error>((
            row.get::<String>(1)?,
            row.get::<String>(2)?,
            row.get::<i64>(3)?.unwrap_or_default(),
        ))
    })
    .unwrap_or_else(|error| error!("the keys of a batch cannot be read: {error}"));
    let (first, last) = first.zip(last)?;
    if before.as_deref() == Some(last.as_str()) {
        refuse(
            PgSqlErrorCode::ERRCODE_FEATURE_NOT_SUPPORTED,
            &format!("after the key {last} comes itself: {} is no key for batches", batches.key),
        );
    }
    let rows = execute(text, &key, &first, &last);
    Some(Ran { last, keys, rows })
}

/// Runs all batches, one after the other; with no key it only looks whether the statement can run.
pub(crate) fn run_all(text: &str, batches: &Batches) {
    let mut after = None;
    let mut count = 0;
    while let Some(ran) = run(text, batches, after.as_deref()) {
        after = Some(ran.last);
        count += 1;
    }
    if count == 0 {
        prepare(text, &Key::of(batches));
    }
}

/// The table of which the keys are.
pub(crate) fn table(batches: &Batches) -> Oid {
    let table = Key::of(batches).table;
    let query = "select pg_catalog.to_regclass($1)::pg_catalog.oid";
    Spi::get_one_with_args(query, &[table.as_str().into()]).ok().flatten().unwrap_or(Oid::INVALID)
}

/// About how many keys there are.
pub(crate) fn estimate(batches: &Batches) -> i64 {
    let query = "select greatest(c.reltuples, 0)::bigint from pg_catalog.pg_class c where c.oid = pg_catalog.to_regclass($1)";
    let table = Key::of(batches).table;
    Spi::get_one_with_args(query, &[table.as_str().into()]).ok().flatten().unwrap_or_default()
}

impl Key {
    fn of(batches: &Batches) -> Key {
        let found = Spi::connect_mut(|client| {
            let rows = client.update(
                "select pg_catalog.format('%s', c.oid::pg_catalog.regclass), pg_catalog.quote_ident(a.attname), a.atttypid,
                   pg_catalog.format_type(a.atttypid, -1)
                 from (select pg_catalog.parse_ident($1) as parts) p
                 join pg_catalog.pg_class c on c.oid = pg_catalog.to_regclass((
                   select pg_catalog.string_agg(pg_catalog.quote_ident(x.part), '.' order by x.place)
                   from pg_catalog.unnest(p.parts[:pg_catalog.array_length(p.parts, 1) - 1]) with ordinality x (part, place)))
                 join pg_catalog.pg_attribute a on a.attrelid = c.oid and a.attname = p.parts[pg_catalog.array_length(p.parts, 1)]
                   and a.attnum > 0 and not a.attisdropped",
                None,
                &[batches.key.as_str().into()],
            )?;
            let mut found = None;
            for row in rows {
                found = (|| {
                    Some(Key {
                        table: row.get(1).ok()??,
                        column: row.get(2).ok()??,
                        of_type: row.get(3).ok()??,
                        type_name: row.get(4).ok()??,
                    })
                })();
            }
            Ok::<_, spi::Error>(found)
        });
        match found {
            Ok(Some(key)) => key,
            Ok(None) => refuse_with_hint(
                PgSqlErrorCode::ERRCODE_UNDEFINED_COLUMN,
                &format!("there is no key {}", batches.key),
                "Batches are of a table's column, such as entry.id.",
            ),
            Err(error) => error!("the key {} cannot be looked up: {error}", batches.key),
        }
    }

    /// A value of the key.
    unsafe fn value(&self, text: &str) -> Datum {
        let text = CString::new(text).unwrap_or_default();
        // SAFETY: inside a transaction; the text is the type's own.
        unsafe {
            let (mut input, mut parameter) = (Oid::INVALID, Oid::INVALID);
            pg_sys::getTypeInputInfo(self.of_type, &raw mut input, &raw mut parameter);
            pg_sys::OidInputFunctionCall(input, text.as_ptr().cast_mut(), parameter, -1)
        }
    }
}

/// Runs the statement for the keys between two of them; how many rows it has changed.
fn execute(text: &str, key: &Key, first: &str, last: &str) -> u64 {
    let Ok(statement) = CString::new(text) else {
        refuse(PgSqlErrorCode::ERRCODE_SYNTAX_ERROR, "the text has a byte 0");
    };
    Spi::connect_mut(|_| {
        // SAFETY: SPI is connected; two values of the types that are named, which live as long.
        unsafe {
            let mut types = [key.of_type; 2];
            let mut values = [key.value(first), key.value(last)];
            let ran = pg_sys::SPI_execute_with_args(
                statement.as_ptr(),
                2,
                types.as_mut_ptr(),
                values.as_mut_ptr(),
                std::ptr::null(),
                false,
                0,
            );
            refuse_unless(ran >= 0);
            pg_sys::SPI_processed
        }
    })
}

fn prepare(text: &str, key: &Key) {
    let Ok(statement) = CString::new(text) else { return };
    Spi::connect_mut(|_| {
        // SAFETY: SPI is connected; two types.
        unsafe {
            let mut types = [key.of_type; 2];
            let plan = pg_sys::SPI_prepare(statement.as_ptr(), 2, types.as_mut_ptr());
            refuse_unless(!plan.is_null());
        }
    });
}

fn refuse_unless(ran: bool) {
    if !ran {
        refuse(PgSqlErrorCode::ERRCODE_FEATURE_NOT_SUPPORTED, "this cannot run in batches");
    }
}
