//! Which columns a constraint is about that has refused a row, and its message for people: its comment.

use std::cell::RefCell;

use pg::guard::{NAMES, PgError};
use pgrx::datum::DatumWithOid;
use pgrx::pg_sys::{self, Oid};
use pgrx::spi::{OwnedPreparedStatement, Spi, SpiClient};
use session::settings_in_force;

/// A constraint of a table's, or a unique index.
const OF_TABLE: &str = "
    with recursive named as (
      select c.oid, c.conparentid, c.conrelid, c.conindid, c.conkey
      from pg_constraint c join pg_class t on t.oid = c.conrelid join pg_namespace n on n.oid = t.relnamespace
      where n.nspname = $1 and t.relname = $2 and c.conname = $3),
    above as (
      select n.oid, n.conparentid, 0 as level from named n
      union all select c.oid, c.conparentid, a.level + 1 from above a join pg_constraint c on c.oid = a.conparentid),
    indexed as (
      select i.indexrelid, i.indrelid, i.indkey::int2[] as keys
      from pg_index i join pg_class x on x.oid = i.indexrelid join pg_namespace n on n.oid = x.relnamespace
      where n.nspname = $1 and x.relname = $3)
    select
      coalesce(
        (select obj_description(a.oid, 'pg_constraint') from above a where obj_description(a.oid, 'pg_constraint') is not null order by a.level limit 1),
        (select obj_description(i.indexrelid, 'pg_class') from indexed i)),
      array(
        select a.attname::text
        from (
          select k.place, k.number, n.conrelid as relation from named n cross join unnest(n.conkey) with ordinality k (number, place)
          union all
          select k.place, k.number, i.indrelid from indexed i cross join unnest(i.keys) with ordinality k (number, place)
          union all
          select 1000 + d.refobjsubid, d.refobjsubid, i.indrelid from indexed i
          join pg_depend d on d.classid = 'pg_class'::regclass and d.objid = i.indexrelid and d.refobjid = i.indrelid) of
        join pg_attribute a on a.attrelid = of.relation and a.attnum = of.number and a.attnum > 0
        order by of.place)";

/// A domain by its name, or by its OID, or the elements of an array of it; a constraint of it, or none.
const OF_DOMAIN: &str = "
    with recursive named as (
      select coalesce(
        (select t.oid from pg_type t join pg_namespace n on n.oid = t.typnamespace where n.nspname = $1 and t.typname = $2), $4) as oid),
    above as (
      select t.oid, t.typbasetype, 0 as level
      from named n join pg_type t on t.oid = coalesce((select a.typelem from pg_type a where a.oid = n.oid and a.typcategory = 'A'), n.oid)
      where t.typtype = 'd'
      union all select t.oid, t.typbasetype, a.level + 1 from above a join pg_type t on t.oid = a.typbasetype where t.typtype = 'd')
    select
      coalesce(
        (select obj_description(c.oid, 'pg_constraint') from above a join pg_constraint c on c.contypid = a.oid and c.conname = $3 order by a.level limit 1),
        (select obj_description(a.oid, 'pg_type') from above a where obj_description(a.oid, 'pg_type') is not null order by a.level limit 1)),
      '{}'::text[]";

/// The object that an error names.
#[derive(Debug, Default)]
pub(super) struct Blamed {
    /// The message for people, if there is one.
    pub comment: Option<String>,
    /// Columns that it is about, the first of a key first.
    pub columns: Vec<String>,
    /// The domain that it is about, if it is one.
    pub domain: Option<Oid>,
}

/// A name of an error's.
fn name(error: &PgError, field: u8) -> Option<&str> {
    let place = NAMES.iter().position(|known| *known == field)?;
    error.more.as_deref()?.names[place].as_deref()
}

/// The object of an error. `argument` is the type of the argument whose conversion has raised it, if one has.
///
/// # Safety
/// Inside a guard and a transaction; errors unwind.
pub(super) unsafe fn blamed(error: &PgError, argument: Option<Oid>) -> Blamed {
    let schema = name(error, pg_sys::PG_DIAG_SCHEMA_NAME);
    let constraint = name(error, pg_sys::PG_DIAG_CONSTRAINT_NAME);
    let domain = name(error, pg_sys::PG_DIAG_DATATYPE_NAME);
    let column = name(error, pg_sys::PG_DIAG_COLUMN_NAME).map(str::to_owned);
    let table = name(error, pg_sys::PG_DIAG_TABLE_NAME);
    // SAFETY: by contract.
    unsafe {
        if domain.is_some() || argument.is_some() {
            let arguments = [schema.into(), domain.into(), constraint.into(), argument.into()];
            let mut found = DOMAIN.with(|statement| ask(statement, OF_DOMAIN, &arguments, true));
            found.domain = schema.zip(domain).map(|(schema, domain)| type_named(schema, domain));
            return found;
        }
        let mut found = match (schema, table, constraint) {
            (Some(schema), Some(table), Some(constraint)) => {
                let arguments = [schema.into(), table.into(), constraint.into()];
                TABLE.with(|statement| ask(statement, OF_TABLE, &arguments, false))
            }
            _ => Blamed::default(),
        };
        found.columns.splice(0..0, column);
        found
    }
}

unsafe fn type_named(schema: &str, name: &str) -> Oid {
    const BY_NAME: i32 = pg_sys::SysCacheIdentifier::TYPENAMENSP as i32;
    let text = |text: &str| std::ffi::CString::new(text).unwrap_or_default();
    let (schema, name) = (text(schema), text(name));
    // SAFETY: look-ups inside a transaction; the names live as long.
    unsafe {
        let namespace = pg_sys::get_namespace_oid(schema.as_ptr(), true);
        pg_sys::GetSysCacheOid(
            BY_NAME,
            pg_sys::Anum_pg_type_oid as pg_sys::AttrNumber,
            name.as_ptr().into(),
            namespace.into(),
            pg_sys::Datum::null(),
            pg_sys::Datum::null(),
        )
    }
}

type Kept = RefCell<Option<OwnedPreparedStatement>>;

thread_local! {
    /// [`OF_TABLE`] and [`OF_DOMAIN`], prepared once for each process.
    static TABLE: Kept = const { RefCell::new(None) };
    static DOMAIN: Kept = const { RefCell::new(None) };
}

unsafe fn ask(kept: &Kept, query: &str, arguments: &[DatumWithOid<'_>], by_oid: bool) -> Blamed {
    let types = [pg_sys::TEXTOID, pg_sys::TEXTOID, pg_sys::TEXTOID, pg_sys::OIDOID];
    let types = &types[..if by_oid { 4 } else { 3 }];
    let found = |client: &SpiClient<'_>| -> Result<Blamed, pgrx::spi::Error> {
        let mut kept = kept.borrow_mut();
        if kept.is_none() {
            let types: Vec<_> = types.iter().map(|of| pgrx::PgOid::from(*of)).collect();
            *kept = Some(client.prepare(query, &types)?.keep());
        }
        let Some(statement) = kept.as_ref() else { return Ok(Blamed::default()) };
        let row = client.select(statement, Some(1), arguments)?.first();
        let columns = row.get::<Vec<Option<String>>>(2)?.unwrap_or_default();
        Ok(Blamed { comment: row.get(1)?, columns: columns.into_iter().flatten().collect(), domain: None })
    };
    // SAFETY: by the caller's contract.
    unsafe {
        let path = settings_in_force::enter_safe_path();
        let found = Spi::connect(found);
        settings_in_force::leave_safe_path(path);
        found.unwrap_or_else(|error| pgrx::error!("cannot look up what a constraint is about: {error}"))
    }
}
