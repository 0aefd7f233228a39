//! Dropping what a file has made. Nothing is dropped by CASCADE: what depends on an object goes before it, if other files of the
//! application have made that, and those files run again; else it is an error that names it.

use std::collections::BTreeSet;

use pg::guard::PgError;
use pgrx::datum::DatumWithOid;
use pgrx::pg_sys::Oid;
use session::authority::{name_of, rows_as_owner, run_as_owner, value_as_owner};
use session::deployer::as_deployer;

use super::application::{Application, Deployment};
use super::conditional;
use super::kept;
use super::rights::{self, Undone};
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
    /// What to ask before, for what is lost with it otherwise: statements of which none may be false, and what it means if one is.
    loss: Option<(String, String)>,
    /// What it is, for people.
    description: String,
}

/// Objects that are dropped.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum ToDrop<'a> {
    /// All objects of a file.
    Of(&'a str),
    /// Those that a file made before and has not made again.
    Left(&'a str),
    /// Those that files made before and have not made again: all have run.
    Stale,
    /// The same before all have run.
    StaleSoFar,
}

impl<'a> ToDrop<'a> {
    /// The one file.
    fn path(self) -> Option<&'a str> {
        match self {
            Self::Of(path) | Self::Left(path) => Some(path),
            Self::Stale | Self::StaleSoFar => None,
        }
    }
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
    format('drop %s %s', case i.type when 'composite type' then 'type' when 'table constraint' then 'constraint'
        when 'statistics object' then 'statistics' else i.type end,
      case when i.type = 'aggregate' and i.identity like '%()' then left(i.identity, -1) || '*)' else i.identity end),
    format('%s %s', i.type, replace(i.identity, 'pg_catalog.', '')),
    case i.type
      when 'table' then format('set row_security = off; lock table %1$s in access exclusive mode; select not exists (select from %1$s)', i.identity)
      when 'sequence' then format('select not is_called from %s', i.identity) end,
    case i.type when 'table' then 'has rows' else 'has given numbers out' end
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
            loss: row.get(7).ok()?.zip(row.get(8).ok()?),
        })
    })
}

/// Whether an object of this class and number goes with another, and not without it, such as the sequence of a column. A partitioned table
/// depends so on its own columns.
macro_rules! is_part {
    ($class:literal, $number:literal) => {
        concat!(
            "exists (select from pg_depend p where p.classid = ",
            $class,
            " and p.objid = ",
            $number,
            " and (p.refclassid, p.refobjid) <> (p.classid, p.objid) and (p.deptype = 'i' or p.deptype = 'a' and exists (
                select from pg_class s where p.classid = 'pg_class'::regclass and s.oid = p.objid and s.relkind = 'S')))"
        )
    };
}
pub(crate) use is_part;

/// Recorded objects as they are now; those that are gone are left out. Those of the file, or the stale ones, are looked up alone: there
/// are few of them among thousands.
const RECORDED: &str = concat!(
    "select a.classid, a.objid, a.objsubid from (
      with noted as materialized (
        select o.type, o.names, o.arguments from deploy.object o
        where o.application = $1 and ($2 is null or o.path = $2) and (not $3 or o.is_stale))
      select n.* from noted n
      where not $3 or not exists (
        select from deploy.object again where again.application = $1 and again.type = n.type
          and again.names = n.names and again.arguments = n.arguments and not again.is_stale)
      offset 0) d
    cross join lateral deploy.address(d.type, d.names, d.arguments) a
    where a.objid is not null and not ",
    is_part!("a.classid", "a.objid")
);

/// What depends on an object, or on a part of it such as the row type of a view. A column of a view or of a composite type is the whole.
/// What goes with it by itself counts, too, if somebody has made it as an object of its own: a trigger, a rule, a policy, an index.
const DEPENDENTS: &str = concat!(
    "select distinct coalesce(v.class, d.classid), coalesce(v.number, d.objid), case when v.class is null then d.objsubid else 0 end
    from (
      with recursive parts (class, number) as (
        select $2::oid, $3::oid
        union
        select p.classid, p.objid from parts join pg_depend p
        on p.refclassid = parts.class and p.refobjid = parts.number and p.deptype = 'i')
      select class, number, array_agg(class || ' ' || number) over () as whole from parts) part
    join pg_depend d on d.refclassid = part.class and d.refobjid = part.number
    left join lateral (
      select 'pg_class'::regclass::oid, w.ev_class from pg_rewrite w
      where d.classid = 'pg_rewrite'::regclass and w.oid = d.objid and w.rulename = '_RETURN'
      union all
      select case c.relkind when 'c' then 'pg_type'::regclass else 'pg_class'::regclass end::oid,
        case c.relkind when 'c' then c.reltype else c.oid end
      from pg_class c where d.classid = 'pg_class'::regclass and c.oid = d.objid and c.relkind in ('v', 'm', 'c')
      union all
      -- A constraint or a default goes with what it is of, if that goes, or a file has made it.
      select w.class, w.number from (
        select case k.contypid when 0 then 'pg_class'::regclass else 'pg_type'::regclass end::oid, greatest(k.contypid, k.conrelid)
        from pg_constraint k where d.classid = 'pg_constraint'::regclass and k.oid = d.objid
        union all
        select 'pg_class'::regclass, f.adrelid from pg_attrdef f where d.classid = 'pg_attrdef'::regclass and f.oid = d.objid) w (class, number)
      where (w.class, w.number) = ($2, $3) or exists (
        select from pg_identify_object_as_address(w.class, w.number, 0) i
        join deploy.object o on o.application = $1 and o.type = i.type and o.names = i.object_names and o.arguments = i.object_args)) v (class, number)
      on true
    where (coalesce(v.class, d.classid), coalesce(v.number, d.objid)) <> ($2::oid, $3::oid)
      and d.classid || ' ' || d.objid <> all (part.whole)
      and (d.deptype = 'n' or d.deptype = 'a' and not ",
    is_part!("d.classid", "d.objid"),
    "
        and (d.classid in ('pg_policy'::regclass, 'pg_rewrite'::regclass, 'pg_trigger'::regclass)
          or exists (
            select from pg_index x join pg_class r on r.oid = x.indrelid
            where d.classid = 'pg_class'::regclass and x.indexrelid = d.objid and r.relkind <> 't')))"
);

/// Files of which something is gone that they have made: a migration has dropped it, or somebody by hand.
const MISSING: &str = "select distinct o.path from deploy.object o
    join deploy.file f on f.application = o.application and f.number = $2 and f.path = o.path
    where o.application = $1 and not o.is_stale and o.type not in ('route', 'page', 'handler', 'guard', 'error pages', 'files', 'job', 'schedule')
      and (deploy.address(o.type, o.names, o.arguments)).objid is null";

/// Files that have made what an error names as in its way.
const NAMED: &str = "select distinct o.path from deploy.object o
    where o.application = $1 and o.type not in ('route', 'page', 'handler', 'guard', 'error pages', 'files', 'job', 'schedule') and $2 ~ ('\\m' || regexp_replace(
      o.names[array_upper(o.names, 1)], '([^[:alnum:]_])', '\\\\\\1', 'g') || '\\M')";

/// Files whose objects are in the way of a migration that has failed.
pub(crate) fn in_the_way(application: &Application, error: &PgError) -> Vec<String> {
    if !matches!(&error.sqlstate, b"2BP01" | b"0A000" | b"42P16") {
        return Vec::new();
    }
    let told = format!("{} {}", error.message, error.detail.as_deref().unwrap_or_default());
    rows_as_owner(NAMED, &[application.name.as_str().into(), told.into()], |row| row.get::<String>(1).ok()?)
}

/// Drops what files have made.
pub(crate) fn take_away(deployment: &Deployment, what: ToDrop<'_>) -> Result<Removed, PgError> {
    let application = &deployment.application;
    let (name, path, is_stale) = (application.name.as_str(), what.path(), !matches!(what, ToDrop::Of(_)));
    let mut removed = Removed::default();
    let mut seen = BTreeSet::new();
    if let ToDrop::Of(path) = what {
        conditional::note_taken(application, path);
    }
    let objects = objects(RECORDED, &[name.into(), path.into(), is_stale.into()]);
    let undone = match what {
        ToDrop::Stale => rights::undo(application, None, deployment.number)?,
        _ => Undone::default(),
    };
    if !objects.is_empty() {
        let before = rights::now(application);
        for object in objects {
            remove(deployment, &object, path, &mut removed, &mut seen)?;
        }
        let others = rights::lost(application, &before).into_iter();
        removed.paths.extend(others.filter(|other| path != Some(other.as_str())));
    }
    removed.paths.extend(undone.said_by_others(application, deployment.number, None));
    let is_for_good = !removed.objects.is_empty() && !matches!(what, ToDrop::Of(_));
    if is_for_good || what == ToDrop::Stale && conditional::is_something_gone() {
        let others = conditional::files(deployment).into_iter();
        removed.paths.extend(others.filter(|other| path != Some(other.as_str())));
    }
    if matches!(what, ToDrop::Of(_) | ToDrop::Stale) {
        unregister(application, path, &mut removed);
    }
    if what == ToDrop::Stale {
        let number = deployment.number;
        removed.paths.extend(rows_as_owner(MISSING, &[name.into(), number.into()], |row| {
            row.get::<String>(1).ok()?
        }));
    }
    run_as_owner(
        "delete from deploy.object d where d.application = $1 and ($2 is null or d.path = $2) and (not $3 or d.is_stale)
           and ($4 or d.type not in ('route', 'page', 'handler', 'guard', 'error pages', 'files', 'job', 'schedule'))",
        &[name.into(), path.into(), is_stale.into(), matches!(what, ToDrop::Of(_) | ToDrop::Stale).into()],
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
    if is_gone(object) {
        return Ok(());
    }
    refuse_loss(application, object)?;
    kept::keep(application, class, number);
    as_deployer(application.owner, &application.schema, || statements::run(&object.statement, Use::Run))?;
    removed.objects.push(object.description.clone());
    Ok(())
}

/// Whether it has gone with another.
fn is_gone(object: &Object) -> bool {
    let there = "select true from pg_identify_object($1, $2, $3) i where i.identity is not null";
    let arguments = [Oid::from(object.class).into(), Oid::from(object.number).into(), object.part.into()];
    value_as_owner::<bool>(there, &arguments).is_none()
}

/// An error if something would be lost that no file makes again.
fn refuse_loss(application: &Application, object: &Object) -> Result<(), PgError> {
    let Some((question, meaning)) = &object.loss else { return Ok(()) };
    let asked = as_deployer(application.owner, &application.schema, || statements::run(question, Use::Test));
    asked.map_err(|error| match &error.sqlstate {
        b"P0004" => PgError {
            sqlstate: *b"2BP01",
            message: format!("cannot drop {0}: {0} {meaning}", object.description),
            hint: Some(format!(
                "What is to stay is made and changed by migrations. Move {} there, or drop it by one.",
                object.description
            )),
            ..PgError::default()
        },
        _ => error,
    })
}

/// Takes back routes, query handlers, schedules and kinds of jobs of the application. An error if jobs of a kind wait: nobody would run them.
fn unregister(application: &Application, path: Option<&str>, removed: &mut Removed) {
    removed.objects.extend(rows_as_owner(
        "select deploy.unregister_gone($1, $2, $3)",
        &[application.name.as_str().into(), path.into(), name_of(application.owner).into()],
        |row| row.get::<String>(1).ok()?,
    ));
}
