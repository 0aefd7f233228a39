//! What a row type is made of, and would go with: attributes, their types, those of which these are made, collations, parents.
//!
//! When a session ends, what is temporary goes by CASCADE and without an event trigger: from a row type that is made of it, and from
//! the queue's tables, with the values of rows that wait.

use pg::refuse::refuse_with_hint;
use pgrx::PgSqlErrorCode;
use pgrx::pg_sys::Oid;
use session::authority::rows_as_owner;

use crate::definition;

/// Follows what the rows of `part (root, classid, objid)` depend on, to the schemas.
const PARTS: &str = "union
    select p.root, next.classid, next.objid
    from part p cross join lateral (
      select d.refclassid, d.refobjid from pg_depend d where d.classid = p.classid and d.objid = p.objid
      union all
      select 'pg_class'::regclass, t.typrelid
      from pg_type t where p.classid = 'pg_type'::regclass and t.oid = p.objid and t.typrelid <> 0) next (classid, objid))";

/// Of each root a part that is in some session's schema for what is temporary.
const TEMPORARY: &str = "select distinct on (p.root) p.root, pg_describe_object(p.classid, p.objid, 0)
  from part p
  join pg_depend d on d.classid = p.classid and d.objid = p.objid and d.refclassid = 'pg_namespace'::regclass
  join pg_namespace n on n.oid = d.refobjid
  where n.nspname ~ '^pg_(toast_)?temp_'
  order by 1, 2";

/// An error if a type is made of something that is temporary.
pub(crate) fn refuse_temporary(of_type: Oid) {
    let root = "with recursive part (root, classid, objid) as (
      select t.oid, 'pg_type'::regclass::oid, t.oid from pg_type t where t.oid = $1";
    let found = temporary(&format!("{root} {PARTS} {TEMPORARY}"), &[of_type.into()]);
    if let Some((_, part)) = found.first() {
        refuse("a row type", part);
    }
}

/// An error if relations that a command has altered are made of something that is temporary, and a queue's row type of them. `altered`
/// begins a statement with their list.
pub(crate) fn refuse_altered_to_temporary(altered: &str) {
    let roots = "part (root, classid, objid) as (
      select c.oid, 'pg_class'::regclass::oid, c.oid
      from altered a
      join pg_class c on c.oid = a.relation
      join pg_namespace n on n.oid = c.relnamespace and n.nspname !~ '^pg_(toast_)?temp_'";
    for (relation, part) in temporary(&format!("{altered}), {roots} {PARTS} {TEMPORARY}"), &[]) {
        if let Some(queue) = queue_of(relation) {
            let name =
                definition::of_number(queue as u32).map_or(queue.to_string(), |queue| queue.name.clone());
            refuse(&format!("the row type of queue {name}"), &part);
        }
    }
}

fn temporary(statement: &str, arguments: &[pgrx::datum::DatumWithOid<'_>]) -> Vec<(Oid, String)> {
    rows_as_owner(statement, arguments, |row| Some((row.get(1).ok()??, row.get(2).ok()??)))
}

/// The number of a queue whose row type is made of a relation.
fn queue_of(relation: Oid) -> Option<i32> {
    let statement = format!(
        "with recursive part (root, classid, objid) as (
           select substr(p.proname, 10)::integer, d.refclassid, d.refobjid
           from pg_proc p join pg_depend d on d.classid = 'pg_proc'::regclass and d.objid = p.oid
             and d.refclassid = 'pg_type'::regclass
           where p.pronamespace = to_regnamespace('queue') and p.proname ~ '^row_type_[0-9]+$'
         {PARTS}
         select root from part where classid = 'pg_class'::regclass and objid = $1 order by 1 limit 1"
    );
    rows_as_owner(&statement, &[relation.into()], |row| row.get(1).ok()?).into_iter().next()
}

fn refuse(what: &str, part: &str) -> ! {
    refuse_with_hint(
        PgSqlErrorCode::ERRCODE_WRONG_OBJECT_TYPE,
        &format!("{what} cannot be made of {part}, which is temporary"),
        "It goes when its session ends, and the values of rows with it. Make it in a schema.",
    )
}
