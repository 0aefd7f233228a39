//! Dropping what a file has made. Nothing is dropped by CASCADE: what depends on an object goes before it, if other files of the
//! application have made that, and those files run again; else it is an error that names it.

use std::collections::BTreeSet;

use pg::guard::PgError;
use pgrx::datum::DatumWithOid;
use pgrx::pg_sys::Oid;
use session::authority::{rows_as_owner, run_as_owner};
use session::deployer::as_deployer;

use super::application::Deployment;
use super::statements::{self, Use};

/// An object, with the file that has made it; none if no file has.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Object {
    class: u32,
    number: u32,
    part: i32,
    /// The file.
    path: Option<String>,
    /// DROP, as a statement.
    statement: String,
    /// What it is, for people.
    description: String,
}

/// What was dropped.
#[derive(Default)]
pub(crate) struct Removed {
    /// What, for people.
    pub objects: Vec<String>,
    /// Other files whose objects went with it.
    pub paths: BTreeSet<String>,
}

/// What selects an object's columns from its address `o`.
const DESCRIBED: &str = "o.class::oid, o.number::oid, o.part,
    (select d.path from deploy.object d where d.application = $1 and d.type = a.type and d.names = a.object_names
       and d.arguments = a.object_args order by d.is_stale limit 1),
    format('drop %s %s', case i.type when 'composite type' then 'type' when 'table constraint' then 'constraint' else i.type end, i.identity),
    format('%s %s', i.type, replace(i.identity, 'pg_catalog.', ''))
  from objects o
  cross join lateral pg_identify_object(o.class, o.number, o.part) i
  cross join lateral pg_identify_object_as_address(o.class, o.number, o.part) a
  where i.identity is not null";

fn objects(with: &str, arguments: &[DatumWithOid<'_>]) -> Vec<Object> {
    let query = format!("with recursive objects (class, number, part) as ({with}) select {DESCRIBED}");
    rows_as_owner(&query, arguments, |row| {
        Some(Object {
            class: row.get::<Oid>(1).ok()??.to_u32(),
            number: row.get::<Oid>(2).ok()??.to_u32(),
            part: row.get(3).ok()??,
            path: row.get(4).ok()?,
            statement: row.get(5).ok()??,
            description: row.get(6).ok()??,
        })
    })
}

/// What the recorded objects are now; those that are gone are left out.
const RECORDED: &str = "select a.classid, a.objid, a.objsubid from deploy.object d
    cross join lateral deploy.address(d.type, d.names, d.arguments) a
    where d.application = $1 and a.objid is not null
      and case when $2 is null then d.is_stale and not exists (
        select from deploy.object again where again.application = d.application and again.type = d.type
          and again.names = d.names and again.arguments = d.arguments and not again.is_stale)
      else d.path = $2 end";

/// What depends on an object, or on a part of it such as the row type of a view.
const DEPENDENTS: &str = "select distinct coalesce(r.class, d.classid), coalesce(r.relation, d.objid), case when r.class is null then d.objsubid else 0 end
    from (
      with recursive parts (class, number) as (
        select $2::oid, $3::oid
        union
        select p.classid, p.objid from parts join pg_depend p
        on p.refclassid = parts.class and p.refobjid = parts.number and p.deptype = 'i')
      select class, number from parts) part
    join pg_depend d on d.refclassid = part.class and d.refobjid = part.number and d.deptype = 'n'
    left join lateral (
      select 'pg_class'::regclass::oid, w.ev_class from pg_rewrite w
      where d.classid = 'pg_rewrite'::regclass and w.oid = d.objid) r (class, relation) on true
    where (coalesce(r.class, d.classid), coalesce(r.relation, d.objid)) <> ($2::oid, $3::oid)";

/// Drops what a file has made; without one, what files made before and have not since.
pub(crate) fn take_away(deployment: &Deployment, path: Option<&str>) -> Result<Removed, PgError> {
    let application = &deployment.application;
    let name = application.name.as_str();
    let mut removed = Removed::default();
    let mut seen = BTreeSet::new();
    for object in objects(RECORDED, &[name.into(), path.into()]) {
        remove(deployment, &object, path, &mut removed, &mut seen)?;
    }
    remove_routes(name, path, &mut removed);
    run_as_owner(
        "delete from deploy.object d where d.application = $1 and case when $2 is null then d.is_stale else d.path = $2 end",
        &[name.into(), path.into()],
    );
    Ok(removed)
}

fn remove(
    deployment: &Deployment,
    object: &Object,
    path: Option<&str>,
    removed: &mut Removed,
    seen: &mut BTreeSet<(u32, u32, i32)>,
) -> Result<(), PgError> {
    if !seen.insert((object.class, object.number, object.part)) {
        return Ok(());
    }
    let application = &deployment.application;
    let (class, number) = (Oid::from(object.class), Oid::from(object.number));
    let dependents = objects(DEPENDENTS, &[application.name.as_str().into(), class.into(), number.into()]);
    for dependent in dependents {
        let Some(other) = &dependent.path else {
            return Err(PgError {
                sqlstate: *b"2BP01",
                message: format!(
                    "cannot drop {}, because {} depends on it",
                    object.description, dependent.description
                ),
                hint: Some(format!(
                    "No file of {} has made {}: change that by a migration, or leave {} as it is.",
                    application.name, dependent.description, object.description
                )),
                ..PgError::default()
            });
        };
        if path != Some(other.as_str()) {
            removed.paths.insert(other.clone());
        }
        remove(deployment, &dependent, path, removed, seen)?;
    }
    as_deployer(application.owner, &application.schema, || statements::run(&object.statement, Use::Run))?;
    removed.objects.push(object.description.clone());
    Ok(())
}

fn remove_routes(application: &str, path: Option<&str>, removed: &mut Removed) {
    let routes = rows_as_owner(
        "delete from http.route r using deploy.object d
         where d.application = $1 and d.type = 'route' and r.method = d.names[1] and r.pattern = d.names[2]
           and case when $2 is null then d.is_stale and not exists (
             select from deploy.object again where again.application = d.application and again.type = d.type
               and again.names = d.names and not again.is_stale)
           else d.path = $2 end
         returning format('route %s %s', r.method, r.pattern)",
        &[application.into(), path.into()],
        |row| row.get::<String>(1).ok()?,
    );
    removed.objects.extend(routes);
}
