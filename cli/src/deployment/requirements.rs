//! Requirements of a database before a folder can be deployed: the application, extensions, roles. What only a superuser makes is told to
//! everybody else as statements.

use cluster::postgres::{Row, Transaction};
use folder::{Deployed, Folder, Manifest};

use super::names::unquoted;
use super::server::{Stop, state};
use crate::failure::Failure;

/// What is deployed. An application that there is not is made, by a superuser.
pub(super) fn find_or_make(
    transaction: &mut Transaction<'_>,
    folder: &Folder,
    as_administrator: bool,
) -> Result<Deployed, Stop> {
    let manifest = &folder.manifest;
    if let Some(deployed) = state(transaction, &manifest.name)? {
        if deployed.schema == manifest.schema() && unquoted(&deployed.owner) == manifest.owner() {
            allow_handlers(transaction, manifest, as_administrator)?;
            return Ok(deployed);
        }
        return Err(Stop::Failed(Failure::Said(format!(
            "howdah.toml: {} has the schema {} and the owner {} in this database, not {} and {}",
            manifest.name,
            deployed.schema,
            deployed.owner,
            manifest.schema(),
            manifest.owner()
        ))));
    }
    let row = transaction.query_one(
        "select rolsuper, pg_catalog.quote_ident(rolname) from pg_catalog.pg_roles where rolname = current_user",
        &[],
    )?;
    if !row.get::<_, bool>(0) {
        return Err(Stop::Failed(Failure::Said(format!(
            "there is no application {} yet. A superuser makes it, once:\n\n    {}",
            manifest.name,
            administration(folder, row.get(1)).join("\n    ")
        ))));
    }
    let there = "select exists (select from pg_catalog.pg_namespace where nspname = $1)";
    if transaction.query_one(there, &[&manifest.schema()])?.get(0) {
        return Err(Stop::Failed(Failure::Said(format!(
            "there is a schema {} already, and no application of it. howdah adopt makes one of what is in it; or name another schema in howdah.toml",
            manifest.schema()
        ))));
    }
    refuse_known_role(transaction, folder)?;
    if manifest.handlers && !as_administrator {
        return Err(asks_for_handlers(&administration(folder, row.get(1))[0]));
    }
    let make = "select deploy.create_application($1, $2, $3, $4)";
    transaction
        .execute(make, &[&manifest.name, &manifest.schema(), &manifest.owner(), &manifest.handlers])?;
    Ok(Deployed::default())
}

/// An error if howdah.toml asks for query handlers, and the owner may register none; an administrator's word is one.
fn allow_handlers(
    transaction: &mut Transaction<'_>,
    manifest: &Manifest,
    as_administrator: bool,
) -> Result<(), Stop> {
    if !manifest.handlers {
        return Ok(());
    }
    let row = transaction.query_one(
        "select pg_catalog.has_function_privilege($1, 'http.handle(text, text, integer, text, text)', 'execute'),
           pg_catalog.format('grant execute on function http.handle(text, text, integer, text, text), http.unhandle(text) to %I;', $1::text)",
        &[&manifest.owner()],
    )?;
    match (row.get(0), as_administrator) {
        (true, _) => Ok(()),
        (false, true) => Ok(transaction.batch_execute(row.get(1))?),
        (false, false) => Err(asks_for_handlers(row.get(1))),
    }
}

fn asks_for_handlers(statement: &str) -> Stop {
    Stop::Failed(Failure::Said(format!(
        "howdah.toml asks for query handlers, which see all requests that no route answers. A superuser allows it, once:\n\n    {statement}\n"
    )))
}

/// An error if the owner is a role that is there and may do something: by the word of a folder it takes over none of its rights.
pub(crate) fn refuse_known_role(transaction: &mut Transaction<'_>, folder: &Folder) -> Result<(), Stop> {
    let manifest = &folder.manifest;
    let row = transaction.query_one(
        "select exists (
           select from pg_catalog.pg_roles r
           left join pg_catalog.pg_shdepend d on d.refclassid = 'pg_catalog.pg_authid'::pg_catalog.regclass and d.refobjid = r.oid
             and d.dbid in (0, (select b.oid from pg_catalog.pg_database b where b.datname = pg_catalog.current_database()))
           left join lateral pg_catalog.pg_identify_object(d.classid, d.objid, d.objsubid) i
             on d.dbid <> 0
           left join pg_catalog.pg_auth_members m on m.member = r.oid
             and m.roleid is distinct from pg_catalog.to_regrole('howdah_web')::pg_catalog.oid
           where r.rolname = $1 and (m.roleid is not null or r.rolcanlogin or d.objid is not null
             and not coalesce(i.schema = any (array['http', pg_catalog.quote_ident($2)]) or i.schema = 'job' and i.type = 'function' or i.type = 'schema' and i.name = pg_catalog.quote_ident($2), false)))",
        &[&manifest.owner(), &manifest.schema()],
    )?;
    if !row.get::<_, bool>(0) {
        return Ok(());
    }
    let user = transaction.query_one("select pg_catalog.quote_ident(current_user)", &[])?.get(0);
    Err(Stop::Failed(Failure::Said(format!(
        "howdah.toml: there is a role {} already, which has rights. If it is to own the application, a superuser says so, once:\n\n    {}\n",
        manifest.owner(),
        administration(folder, user)[0]
    ))))
}

/// An error if extensions are missing. What one brings may be everybody's: so nobody makes one by the word of a file, except on a platform
/// of the user's own.
pub(super) fn refuse_missing(
    transaction: &mut Transaction<'_>,
    extensions: &[String],
    as_administrator: bool,
) -> Result<(), Stop> {
    let rows = transaction.query(
        "select pg_catalog.format('create extension %I;', w.name), exists (
           select from pg_catalog.pg_available_extensions a where a.name operator(pg_catalog.=) w.name)
         from pg_catalog.unnest($1::pg_catalog.text[]) w (name)
         where not exists (select from pg_catalog.pg_extension e where e.extname operator(pg_catalog.=) w.name)",
        &[&extensions],
    )?;
    if as_administrator && rows.iter().all(|row| row.get(1)) {
        // Where psql would make them.
        transaction.batch_execute("set local search_path = public")?;
        rows.iter().try_for_each(|row| transaction.batch_execute(row.get(0)))?;
        return Ok(transaction.batch_execute("set local search_path = pg_catalog, pg_temp")?);
    }
    if rows.is_empty() {
        return Ok(());
    }
    let line = |row: &Row| match row.get(1) {
        true => row.get::<_, String>(0),
        false => format!("{} -- this server does not have its files", row.get::<_, String>(0)),
    };
    let lines: Vec<String> = rows.iter().map(line).collect();
    Err(Stop::Failed(Failure::Said(format!(
        "howdah.toml: extensions are missing. An administrator makes them, once:\n\n    {}\n",
        lines.join("\n    ")
    ))))
}

/// An error if roles are missing, or the owner is no member. On a platform of the user's own those are made that are not there; of one that is there
/// no folder has its owner become a member.
pub(super) fn require_roles(
    transaction: &mut Transaction<'_>,
    manifest: &Manifest,
    as_administrator: bool,
) -> Result<(), Stop> {
    let rows = transaction.query(
        "select r.oid is null, pg_catalog.format('create role %I nologin;', w.name), pg_catalog.format('grant %I to %I%s;', w.name, $2::text,
           case when pg_catalog.current_setting('server_version_num')::integer >= 160000 then ' with inherit false, set true' end)
         from pg_catalog.unnest($1::pg_catalog.text[]) w (name)
         left join pg_catalog.pg_roles r on r.rolname operator(pg_catalog.=) w.name
         where r.oid is null or not pg_catalog.pg_has_role($2, r.oid, 'member')",
        &[&manifest.roles, &manifest.owner()],
    )?;
    let is_new = |row: &Row| row.get::<_, bool>(0);
    let statements: Vec<String> = rows
        .iter()
        .flat_map(|row| [is_new(row).then(|| row.get::<_, String>(1)), Some(row.get(2))])
        .flatten()
        .collect();
    if rows.is_empty() || as_administrator && rows.iter().all(is_new) {
        return Ok(statements.iter().try_for_each(|statement| transaction.batch_execute(statement))?);
    }
    Err(Stop::Failed(Failure::Said(format!(
        "howdah.toml: roles are missing. An administrator makes them, once:\n\n    {}\n",
        statements.join("\n    ")
    ))))
}

/// What a superuser has to do before somebody else deploys for the first time.
fn administration(folder: &Folder, user: String) -> Vec<String> {
    let (manifest, quoted) = (&folder.manifest, |text: &str| format!("'{}'", text.replace('\'', "''")));
    let mut arguments = vec![quoted(&manifest.name)];
    if manifest.schema.is_some() {
        arguments.push(format!("schema_name => {}", quoted(manifest.schema())));
    }
    if manifest.owner.is_some() {
        arguments.push(format!("owner => {}", quoted(&manifest.owner())));
    }
    if manifest.handlers {
        arguments.push("handlers => true".to_owned());
    }
    vec![
        format!("select deploy.create_application({});", arguments.join(", ")),
        format!("grant \"{}\" to {user};", manifest.owner().replace('"', "\"\"")),
    ]
}
