//! How far a step is, by the catalogs: whether it is done, and what a half one has left.

use pgrx::pg_sys::{self, Oid, RangeVar};
use session::authority::{rows_as_owner, value_as_owner};

use super::steps::Step;

/// How far a step is.
#[derive(Default)]
pub(crate) struct State {
    /// Whether the catalogs have what it makes. What leaves no trace is never done.
    pub done: bool,
    /// What runs before it, as something half is there.
    pub before: Vec<String>,
    /// What runs in its place.
    pub instead: Option<String>,
    /// Who is at it just now, if somebody is.
    pub busy: Option<String>,
}

/// What a step is about, by the names that it has: looked up as the application's owner.
pub(crate) enum Place {
    /// A table, and the index that is made on it.
    Index(Option<Oid>, String),
    /// Something that goes.
    Gone(Option<Oid>),
    /// An index that is made anew.
    Rebuilt(Option<Oid>),
    /// The schema, whose indexes are made anew.
    Schema,
    /// A partitioned table and its partition.
    Partition(Option<Oid>, Option<Oid>),
    /// A type, and its value.
    Value(Option<Oid>, String),
    /// Nothing that the catalogs know.
    Nowhere,
}

/// Looks its names up. In a subtransaction of the owner's.
pub(crate) fn place(step: &Step) -> Place {
    // SAFETY: nodes of the parser, inside a transaction; pgrx guards each call.
    unsafe {
        match step {
            Step::CreateIndex { table, name } => Place::Index(relation(*table), name.clone()),
            Step::DropIndex(index) => Place::Gone(relation(*index)),
            Step::ReindexIndex(index) => Place::Rebuilt(relation(*index).and_then(|index| {
                Some(pg_sys::IndexGetRelation(index, true)).filter(|table| *table != Oid::INVALID)
            })),
            Step::ReindexTable(table) => Place::Rebuilt(relation(*table)),
            Step::ReindexSchema => Place::Schema,
            Step::Detach { parent, child } | Step::Finalize { parent, child } => {
                Place::Partition(relation(*parent), relation(*child))
            }
            Step::AddValue { name, value } => {
                let name = pg_sys::makeTypeNameFromNameList(*name);
                let found = pg_sys::LookupTypeNameOid(std::ptr::null_mut(), name, true);
                Place::Value(Some(found).filter(|found| *found != Oid::INVALID), value.clone())
            }
            Step::Vacuum | Step::Batches(_) => Place::Nowhere,
        }
    }
}

unsafe fn relation(name: *mut RangeVar) -> Option<Oid> {
    // SAFETY: a name of the parser, inside a transaction.
    let found = unsafe {
        pg_sys::RangeVarGetRelidExtended(
            name,
            pg_sys::NoLock as i32,
            pg_sys::RVROption::RVR_MISSING_OK,
            None,
            std::ptr::null_mut(),
        )
    };
    Some(found).filter(|found| *found != Oid::INVALID)
}

/// The index of this name on the table: whether it can be used, and how it is dropped.
const INDEX: &str = "select i.indisvalid and i.indisready and i.indislive, format('drop index concurrently %I.%I', n.nspname, c.relname),
    (select format('%s (process %s)', a.usename, a.pid) from pg_stat_progress_create_index p join pg_stat_activity a on a.pid = p.pid
     where p.relid = i.indrelid and p.datid = (select d.oid from pg_database d where d.datname = current_database())
       and (p.index_relid in (0, i.indexrelid)) limit 1)
  from pg_class t join pg_class c on c.relnamespace = t.relnamespace and c.relname = $2 and c.relkind = 'i'
  join pg_index i on i.indexrelid = c.oid and i.indrelid = t.oid join pg_namespace n on n.oid = c.relnamespace
  where t.oid = $1";

/// What `reindex concurrently` has left of a table, or of a schema.
const HALF: &str = "select format('drop index concurrently %I.%I', n.nspname, c.relname)
  from pg_index i join pg_class c on c.oid = i.indexrelid join pg_class t on t.oid = i.indrelid
  join pg_namespace n on n.oid = c.relnamespace
  where not i.indisvalid and c.relkind = 'i' and c.relname ~ '_cc(new|old)[0-9]*$' and n.nspname = $1
    and (i.indrelid = $2 or $2 = 0 or t.oid = (select r.reltoastrelid from pg_class r where r.oid = $2)) order by 1";

/// Who makes indexes of a table anew, or of one of a schema's.
const REBUILDS: &str = "select format('%s (process %s)', a.usename, a.pid) from pg_stat_progress_create_index p
  join pg_stat_activity a on a.pid = p.pid join pg_class t on t.oid = p.relid join pg_namespace n on n.oid = t.relnamespace
  where p.datid = (select d.oid from pg_database d where d.datname = current_database()) and p.pid <> pg_backend_pid()
    and n.nspname = $1 and (t.oid = $2 or $2 = 0) limit 1";

/// How far it is.
pub(crate) fn look(place: &Place, schema: &str) -> State {
    let number = |found: &Option<Oid>| found.unwrap_or(Oid::INVALID);
    match place {
        Place::Index(table, name) => {
            let found = rows_as_owner(INDEX, &[number(table).into(), name.as_str().into()], |row| {
                Some((row.get::<bool>(1).ok()??, row.get::<String>(2).ok()??, row.get::<String>(3).ok()?))
            });
            match found.into_iter().next() {
                None => State::default(),
                Some((true, ..)) => State { done: true, ..State::default() },
                Some((false, drop, busy)) => State { before: vec![drop], busy, ..State::default() },
            }
        }
        Place::Gone(index) => State { done: index.is_none(), ..State::default() },
        Place::Rebuilt(Some(table)) => rebuilt(schema, *table),
        Place::Schema => rebuilt(schema, Oid::INVALID),
        Place::Partition(Some(parent), Some(child)) => partition(*parent, *child),
        // What is not there is told by the statement itself.
        Place::Partition(parent, _) => State { done: parent.is_some(), ..State::default() },
        Place::Value(of, value) => {
            let is_there = value_as_owner::<bool>(
                "select true from pg_enum e where e.enumtypid = $1 and e.enumlabel = $2",
                &[number(of).into(), value.as_str().into()],
            );
            State { done: is_there.is_some(), ..State::default() }
        }
        Place::Rebuilt(None) | Place::Nowhere => State::default(),
    }
}

/// What is half, unless somebody makes indexes of it anew just now.
fn rebuilt(schema: &str, table: Oid) -> State {
    let busy = value_as_owner::<String>(REBUILDS, &[schema.into(), table.into()]);
    let before = if busy.is_none() { left(schema, table) } else { Vec::new() };
    State { before, busy, ..State::default() }
}

fn left(schema: &str, table: Oid) -> Vec<String> {
    rows_as_owner(HALF, &[schema.into(), table.into()], |row| row.get::<String>(1).ok()?)
}

fn partition(parent: Oid, child: Oid) -> State {
    let found = rows_as_owner(
        "select i.inhdetachpending, format('alter table %s detach partition %s finalize', $1::oid::regclass, $2::oid::regclass)
         from pg_inherits i where i.inhparent = $1 and i.inhrelid = $2",
        &[parent.into(), child.into()],
        |row| Some((row.get::<bool>(1).ok()??, row.get::<String>(2).ok()??)),
    );
    match found.into_iter().next() {
        None => State { done: true, ..State::default() },
        Some((false, _)) => State::default(),
        Some((true, finalize)) => State { instead: Some(finalize), ..State::default() },
    }
}
