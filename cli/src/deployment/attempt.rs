//! One deployment, in one transaction.

use std::collections::BTreeMap;
use std::time::Duration;

use cluster::postgres::{Client, Row, Transaction};
use folder::plan::Change;
use folder::{Deployed, Folder, Kind, Manifest, Plan};

use super::code::Files;
use super::commit::{self, is_beside, is_later};
use super::locks::Locks;
use super::names::unquoted;
use super::report::Report;
use super::server::{Drift, Finished, Ran, Stop, call, drift, refuse_problems, state};
use super::source::Source;
use super::target::said;
use super::watcher::{Seen, Session, Watcher};
use crate::arguments::Deploy;
use crate::connection::{Address, NOTICED, begin, settings_for};
use crate::failure::Failure;

/// How long the server waits for the command's next word at least: some are far away.
const SHORTEST_IDLE: Duration = Duration::from_secs(1);

/// What becomes of what has run.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// It is undone.
    Undo,
    /// It is committed.
    Commit,
}

/// What an attempt has come to.
pub(crate) enum Done {
    /// The folder is what is deployed.
    Same(i32),
    /// All has run; with the number, nothing is committed yet.
    Ran(i32),
}

/// What is deployed where, once.
pub(crate) struct Attempt<'a> {
    pub(crate) address: &'a Address,
    pub(crate) source: &'a Source,
    pub(crate) options: &'a Deploy,
    pub(crate) end: End,
    /// By which it is asked later whether it was committed.
    pub(crate) key: &'a str,
    /// Migrations that are no part of it, each with what it does.
    pub(crate) postponed: &'a BTreeMap<String, String>,
}

/// A folder, and what is to be done with it.
struct Prepared {
    folder: Folder,
    /// The deployment that it brings back.
    earlier: Option<String>,
    deployed: Deployed,
    plan: Plan,
    /// Changes by hand that are taken back.
    repaired: Vec<Drift>,
    /// The others.
    drift: Vec<Drift>,
}

impl Attempt<'_> {
    /// Runs the files in a transaction, which the caller ends.
    pub(crate) fn run(&self, transaction: &mut Transaction<'_>, report: &mut Report) -> Result<Done, Stop> {
        let Prepared { folder, earlier, deployed, plan, repaired, drift } = self.prepare(transaction)?;
        if plan.is_same && repaired.is_empty() {
            self.tell_postponed(report);
            report.drift(drift);
            return Ok(Done::Same(deployed.number));
        }
        if !plan.is_same && !self.options.back && matches!(self.source, Source::Folder(_)) {
            refuse_earlier(transaction, &folder, &deployed, self.options)?;
        }
        let number = self.begin(transaction, &folder, earlier.as_deref(), deployed.number)?;
        let back = earlier.map(|of| format!(" brings back {of}")).unwrap_or_default();
        report.say(&format!("{} {number}{back}:", folder.manifest.name));
        self.account_for_others(transaction, &folder, &plan, report)?;
        let locks = Locks::begin(transaction)?;
        let watcher = self.watch(transaction, &locks)?;
        let mut files = Files::new(transaction, &folder, &plan, locks, report);
        files.run_again(repaired.into_iter().map(|one| one.path));
        let ran = run_files(files, &plan);
        let finished = self.judge(ran, watcher.stop()).map_err(|stop| self.of_plan(stop))?;
        report.rights(finished.rights);
        report.unchecked(finished.unchecked);
        report.drift(drift);
        refuse_problems(&finished.problems)?;
        Ok(Done::Ran(number))
    }

    /// Compares the folder with what is deployed, where it can be deployed at all.
    fn prepare(&self, transaction: &mut Transaction<'_>) -> Result<Prepared, Stop> {
        let (folder, earlier) = self.source.folder(transaction)?;
        let deployed = find_or_make(transaction, &folder, self.options.as_administrator)?;
        refuse_missing(transaction, &folder.manifest.extensions, self.options.as_administrator)?;
        require_roles(transaction, &folder.manifest, self.options.as_administrator)?;
        let mut plan = Plan::of(&folder, &deployed).map_err(|faults| said(&faults))?;
        plan.migrations.retain(|path| !self.postponed.contains_key(path));
        if self.options.no_tests {
            plan.tests.clear();
        }
        let asks = deployed.number > 0 && !self.options.passes_over_drift;
        let drift = if asks { drift(transaction, &folder.manifest.name)? } else { Vec::new() };
        let (repaired, drift) =
            drift.into_iter().partition(|one| self.options.repair && folder.files.contains_key(&one.path));
        Ok(Prepared { folder, earlier, deployed, plan, repaired, drift })
    }

    /// Begins the deployment; its number.
    fn begin(
        &self,
        transaction: &mut Transaction<'_>,
        folder: &Folder,
        earlier: Option<&str>,
        last: i32,
    ) -> Result<i32, Stop> {
        // Files begin with other settings; these are let through to them. A command that stands still keeps nobody from anything for long.
        transaction.batch_execute(&format!(
            "set local lock_timeout = {}; set local idle_in_transaction_session_timeout = {}; {}",
            self.options.lock_timeout.as_millis(),
            self.options.locks.max(SHORTEST_IDLE).as_millis(),
            settings_for(NOTICED, "local")
        ))?;
        let number = start(transaction, folder, earlier, self.options, self.key)?;
        if number != last + 1 {
            return Err(Stop::Again("somebody else has just deployed".into()));
        }
        if self.end == End::Undo {
            transaction.execute("select deploy.plan()", &[])?;
        }
        Ok(number)
    }

    /// Says which migrations do not run in it: those that stand for others, and those that run outside.
    fn account_for_others(
        &self,
        transaction: &mut Transaction<'_>,
        folder: &Folder,
        plan: &Plan,
        report: &mut Report,
    ) -> Result<(), Stop> {
        self.tell_postponed(report);
        for (path, others) in &plan.squashed {
            let (text, named) = (&folder.files[path].text, serde_json::json!(others).to_string());
            transaction.execute("select deploy.squash($1, $2, $3::text::json)", &[path, text, &named])?;
            report.file(path, &format!("stands for {} migrations that have run", others.len()), &[]);
        }
        for path in self.postponed.keys() {
            let text = &folder.files[path].text;
            transaction.execute("select deploy.postpone($1, $2)", &[path, text])?;
        }
        Ok(())
    }

    /// What fails in a plan may need what a plan does not run.
    fn of_plan(&self, stop: Stop) -> Stop {
        match stop {
            Stop::Failed(failure) if self.end == End::Undo && !self.postponed.is_empty() => {
                let paths: Vec<&str> = self.postponed.keys().map(String::as_str).collect();
                Stop::Failed(Failure::Said(format!(
                    "{failure}\nnote: a plan runs nothing outside of its transaction, so what {} makes is not there",
                    paths.join(", ")
                )))
            }
            stop => stop,
        }
    }

    fn tell_postponed(&self, report: &mut Report) {
        for (path, what) in self.postponed {
            report.file(path, "runs outside of the transaction", std::slice::from_ref(what));
        }
    }

    fn watch(&self, transaction: &mut Transaction<'_>, locks: &Locks) -> Result<Watcher, Stop> {
        let pid: i32 = transaction.query_one("select pg_catalog.pg_backend_pid()", &[])?.get(0);
        let cancel = self.address.canceller(transaction.cancel_token());
        let relations = locks.before.clone();
        let session = Session { client: self.address.connect()?, connect: self.address.connector() };
        Ok(Watcher::start(session, pid, cancel, relations, self.options.locks))
    }

    /// What has become of it, by what was seen from outside.
    fn judge(&self, ran: Result<Finished, Stop>, seen: Seen) -> Result<Finished, Stop> {
        if let Some(lock) = seen.too_long {
            let limit = self.options.locks.as_secs_f64();
            return Err(Stop::Again(format!("others were kept from {lock} for {limit} s")));
        }
        ran.map_err(|stop| match (stop, seen.holder) {
            (Stop::Again(why), Some(holder)) => Stop::Again(format!("{why}: {holder} was in the way")),
            (stop, _) => stop,
        })
    }
}

/// Runs the files, routes and tests of a plan, and looks at the whole.
pub(crate) fn run_files(mut files: Files<'_, '_>, plan: &Plan) -> Result<Finished, Stop> {
    for path in &plan.migrations {
        files.run_one(path)?;
    }
    files.run_due()?;
    files.sweep()?;
    let is_routes = |(path, change): &(&String, &Change)| {
        Kind::of(path) == Some(Kind::Routes) && **change != Change::Gone
    };
    for (path, _) in plan.code.iter().filter(is_routes) {
        files.run_one(path)?;
    }
    files.sweep()?;
    test(&mut files, plan)?;
    let finished: Finished = call(files.transaction, "select deploy.finish()::text", &[])?;
    files.report.locks(&files.locks.seen);
    Ok(finished)
}

fn test(files: &mut Files<'_, '_>, plan: &Plan) -> Result<(), Stop> {
    for path in &plan.tests {
        let text = &files.folder.files[path].text;
        let ran: Ran = call(files.transaction, "select deploy.test($1, $2)::text", &[path, text])?;
        if let Some(error) = &ran.error {
            return Err(files.failed(path, error));
        }
        files.report.file(path, "passed", &[]);
    }
    Ok(())
}

/// What is deployed. An application that there is not is made, by a superuser.
fn find_or_make(
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
fn refuse_missing(
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
fn require_roles(
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

/// An error if the folder is what was deployed before: an old checkout would take back what came after.
fn refuse_earlier(
    transaction: &mut Transaction<'_>,
    folder: &Folder,
    deployed: &Deployed,
    options: &Deploy,
) -> Result<(), Stop> {
    let app = &options.destination.app;
    if deployed.number == 0 || deployed.source.as_deref().is_some_and(|last| is_later(app, last)) {
        return Ok(());
    }
    let query = "select max(h.number) from deploy.history($1) h where h.fingerprint = $2";
    let earlier: Option<i32> =
        transaction.query_one(query, &[&folder.manifest.name, &folder.fingerprint()])?.get(0);
    let beside = deployed.source.as_deref().filter(|last| is_beside(app, last));
    match earlier {
        None => match beside {
            None => Ok(()),
            Some(last) => Err(Stop::Failed(Failure::Said(format!(
                "deployment {} is of commit {}, which this folder does not come after: what is in that alone would be taken back. Merge it, or say --back",
                deployed.number,
                &last[..12]
            )))),
        },
        Some(earlier) if earlier > deployed.number => {
            Err(Stop::Again("somebody else has just deployed".into()))
        }
        Some(earlier) => Err(Stop::Failed(Failure::Said(format!(
            "the folder is deployment {earlier} again, and would take back what came after it, up to {}. Say --back if that is meant, or howdah rollback",
            deployed.number
        )))),
    }
}

/// Begins a deployment, of the folder or of an earlier deployment's files: its number.
pub(crate) fn start(
    transaction: &mut Transaction<'_>,
    folder: &Folder,
    earlier: Option<&str>,
    options: &Deploy,
    key: &str,
) -> Result<i32, Stop> {
    let digests: BTreeMap<&String, &String> =
        folder.files.iter().map(|(path, file)| (path, &file.digest)).collect();
    let files = serde_json::json!(digests).to_string();
    let kind = if earlier.is_some() { "rollback" } else { "deploy" };
    let of = match earlier {
        Some(earlier) => Some(earlier.to_owned()),
        None => commit::of(&options.destination.app),
    };
    let row = transaction.query_one(
        "select deploy.start($1, $2::text::json, $3, $4, $5, $6)",
        &[&folder.manifest.name, &files, &kind, &of, &options.message, &key],
    )?;
    Ok(row.get(0))
}

/// Whether a deployment that was sent was committed.
pub(crate) fn was_committed(client: &mut Client, name: &str, key: &str) -> Result<bool, Stop> {
    let mut transaction = begin(client)?;
    // Somebody else may have deployed since.
    let query = "select exists (select from deploy.history($1) h where h.key operator(pg_catalog.=) $2)";
    let was_committed =
        state(&mut transaction, name)?.is_some() && transaction.query_one(query, &[&name, &key])?.get(0);
    transaction.commit()?;
    Ok(was_committed)
}
