//! What is wrong with a deployment as a whole, once its files have run.

use folder::Kind;
use pg::guard::PgError;
use pgrx::pg_sys::Oid;
use pgrx::spi::SpiHeapTupleData;
use serde_json::{Value, json};
use session::authority::{name_of, rows_as_owner, value_as_owner};
use session::deployer::as_deployer;

use super::application::Deployment;
use super::checker;
use super::statements::{self, Use};

/// Problems of the files as they were told: path, message, and whether it is one of migrations alone.
const UNFINISHED: &str = "select f.path, 'it has not run', false from deploy.file f
    where f.application = $1 and f.number = $2
      and not exists (select from deploy.content c where c.application = f.application and c.digest = f.digest)
  union all
  select f.path, 'it has not run', true from deploy.file f
    where f.application = $1 and f.number = $2
      and not exists (select from deploy.migration m where m.application = f.application and m.path = f.path)
      and not exists (select from deploy.step s where s.application = f.application and s.path = f.path and s.number = f.number)
  union all
  select o.path, format('%s is still there', deploy.label(o)), false from deploy.object o
    where o.application = $1 and o.is_stale
  order by 1, 2";

/// What two files have made.
const DOUBLE: &str = "select max(o.path), format('%s is made by %s, too', max(deploy.label(o)), min(o.path))
    from deploy.object o where o.application = $1 and not o.is_stale
    group by o.type, o.names, o.arguments having count(*) > 1 order by 1, 2";

fn problem(row: SpiHeapTupleData) -> Option<Value> {
    Some(json!({ "path": row.get::<String>(1).ok()??, "message": row.get::<String>(2).ok()?? }))
}

/// Files that have not run.
pub(crate) fn unfinished(deployment: &Deployment) -> Vec<Value> {
    rows_as_owner(
        UNFINISHED,
        &[deployment.application.name.as_str().into(), deployment.number.into()],
        |row| {
            let path: String = row.get(1).ok()??;
            let is_of_migrations: bool = row.get(3).ok()??;
            if is_of_migrations && Kind::of(&path) != Some(Kind::Migration) { None } else { problem(row) }
        },
    )
}

/// What two files have made.
pub(crate) fn double(deployment: &Deployment) -> Vec<Value> {
    rows_as_owner(DOUBLE, &[deployment.application.name.as_str().into()], problem)
}

/// Routes, pages and guards that cannot be served, with their files, roles and errors.
const UNREADY: &str = "select o.path, format('%s cannot be served as %s: %s', deploy.label(o), r.role, u.error), u.detail, u.hint
    from deploy.unready_routes($2) u
    join deploy.registered r on r.type = u.type and r.names = u.names
    join deploy.object o on o.application = $1 and o.type = r.type and o.names = r.names";

/// Routes and guards of the application that requests would find broken.
pub(crate) fn unready(deployment: &Deployment) -> Vec<Value> {
    let application = &deployment.application;
    rows_as_owner(UNREADY, &[application.name.as_str().into(), name_of(application.owner).into()], |row| {
        let text = |column: usize| row.get::<String>(column).ok().flatten();
        Some(json!({ "path": text(1), "message": text(2)?, "detail": text(3), "hint": text(4) }))
    })
}

/// SQL functions whose bodies, given as text, are wrong by now.
pub(crate) fn invalid(deployment: &Deployment) -> Vec<Value> {
    let application = &deployment.application;
    let functions = rows_as_owner(
        "select p.oid, p.oid::regprocedure::text, d.path
         from pg_proc p join pg_language l on l.oid = p.prolang join pg_namespace n on n.oid = p.pronamespace
         cross join lateral pg_identify_object_as_address('pg_proc'::regclass, p.oid, 0) a
         left join deploy.object d on d.application = $1 and d.type = a.type and d.names = a.object_names
           and d.arguments = a.object_args
         where n.nspname = $2 and p.proowner = $3 and l.lanname = 'sql' and p.prosqlbody is null order by 2",
        &[application.name.as_str().into(), application.schema.as_str().into(), application.owner.into()],
        |row| Some((row.get::<Oid>(1).ok()??, row.get::<String>(2).ok()??, row.get::<String>(3).ok()?)),
    );
    let mut problems = Vec::new();
    for (function, name, path) in functions {
        let statement = format!("select pg_catalog.fmgr_sql_validator({})", function.to_u32());
        let validated =
            as_deployer(application.owner, &application.schema, || statements::run(&statement, Use::Run));
        if let Err(error) = validated {
            let context = error.more.as_deref().and_then(|more| more.context.as_deref());
            problems.push(json!({
                "path": path,
                "message": format!("function {name}: {}", error.message),
                "detail": error.detail, "hint": error.hint, "context": context,
            }));
        }
    }
    problems
}

/// The functions in PL/pgSQL, each with the relation whose trigger it is, and what their bodies are written in.
const OF_OTHERS: &str = "select p.oid, p.oid::regprocedure::text, d.path, l.lanname = 'plpgsql', t.tgrelid, t.tgrelid::regclass::text
    from pg_proc p join pg_language l on l.oid = p.prolang join pg_namespace n on n.oid = p.pronamespace
    cross join lateral pg_identify_object_as_address('pg_proc'::regclass, p.oid, 0) a
    left join deploy.object d on d.application = $1 and d.type = a.type and d.names = a.object_names and d.arguments = a.object_args
    left join (select distinct tgfoid, tgrelid from pg_trigger where not tgisinternal) t on t.tgfoid = p.oid
    where n.nspname = $2 and p.proowner = $3 and l.lanname not in ('sql', 'c', 'internal') order by 2, 6";

/// Where plpgsql_check is, if it is in this database and a role may use it: its schema, quoted.
const CHECKER: &str =
    "select quote_ident(n.nspname) from pg_extension e join pg_namespace n on n.oid = e.extnamespace
    where e.extname = 'plpgsql_check' and has_schema_privilege($1, n.oid, 'usage')";

struct Function {
    number: Oid,
    name: String,
    path: Option<String>,
    is_plpgsql: bool,
    relation: Option<Oid>,
    is_trigger_of: Option<String>,
}

/// What plpgsql_check finds wrong with functions in PL/pgSQL, and the functions that nobody checks: without it all of them, and those in
/// other languages. It runs as the owner. A function says itself what is not to be told, as plpgsql_check has it.
pub(crate) fn of_plpgsql(deployment: &Deployment) -> Result<(Vec<Value>, Vec<String>), PgError> {
    let application = &deployment.application;
    let functions = rows_as_owner(
        OF_OTHERS,
        &[application.name.as_str().into(), application.schema.as_str().into(), application.owner.into()],
        |row| {
            Some(Function {
                number: row.get(1).ok()??,
                name: row.get(2).ok()??,
                path: row.get(3).ok()?,
                is_plpgsql: row.get(4).ok()??,
                relation: row.get(5).ok()?,
                is_trigger_of: row.get(6).ok()?,
            })
        },
    );
    let checker = value_as_owner::<String>(CHECKER, &[application.owner.into()]);
    let (mut problems, mut unchecked) = (Vec::new(), Vec::new());
    for function in functions {
        let Some(checker) = checker.as_ref().filter(|_| function.is_plpgsql) else {
            unchecked.push(function.name);
            continue;
        };
        let relation = function.relation.unwrap_or(Oid::INVALID);
        let told = as_deployer(application.owner, &application.schema, || {
            checker::errors(checker, function.number, relation)
        })?;
        problems.extend(told.into_iter().map(|(message, detail, hint, line)| {
            let of = function.is_trigger_of.as_ref().map(|table| format!(" on {table}")).unwrap_or_default();
            let line = line.map(|line| format!(", line {line} of its body")).unwrap_or_default();
            json!({
                "path": function.path,
                "message": format!("function {}{of}{line}: {message}", function.name),
                "detail": detail, "hint": hint,
            })
        }));
    }
    unchecked.dedup();
    Ok((problems, unchecked))
}
