//! The functions of schema `deploy`. What a text does wrong is returned, as JSON, so that the client can go on; what the caller does wrong is
//! raised.

use std::cell::Cell;
use std::collections::BTreeMap;

use batches::Batches;
use pg::entry::{Call, sql_function};
use pg::guard::{PgError, unwind};
use pg::refuse::{refuse, refuse_with_hint};
use pgrx::pg_sys::Oid;
use pgrx::prelude::*;
use serde_json::{Value, json};
use session::authority::{name_of, refuse_restricted, rows_as_owner, run_as_owner, value_as_owner};
use session::deployer::as_deployer;
use session::deploying;
use session::deployments;
use sha2::{Digest, Sha256};

use super::application::{Application, Deployment};
use super::batch;
use super::checks;
use super::drift;
use super::kept;
use super::new_values;
use super::recorder::{self, Made, recorded};
use super::removal::{in_the_way, is_part, take_away};
use super::rights;
use super::statements::{self, Use, describe};
use super::steps::{self, Step};
use super::trial;

/// An error where nothing of this may be done: in maintenance, and by a file that is deployed.
pub(crate) fn refuse_here() {
    refuse_restricted();
    if deploying::is_running() {
        refuse(
            PgSqlErrorCode::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
            "a file that is deployed cannot deploy",
        );
    }
}

sql_function!(
    /// `deploy.state(application)`
    deploy_state_wrapper,
    |call| {
        let name = call.need_text(0, "application");
        if Application::find(name).is_none() {
            return call.null();
        }
        let application = Application::required(name);
        call.give(value_as_owner::<String>(STATE, &[application.name.as_str().into()]))
    }
);

const STATE: &str = "select json_build_object(
    'schema', a.schema_name, 'owner', a.owner::text, 'number', coalesce(last.number, 0), 'key', last.key, 'source', last.source,
    'files', (select coalesce(json_object_agg(f.path, f.digest), '{}') from deploy.file f
              where f.application = a.name and f.number = last.number),
    'steps', (select coalesce(json_object_agg(s.path, s.digest), '{}') from deploy.step s
              where s.application = a.name and s.begun_at is not null),
    'migrations', (select coalesce(json_object_agg(m.path, m.digest), '{}') from deploy.migration m where m.application = a.name)
  )::text
  from deploy.application a
  left join lateral (
    select d.number, d.key, d.source from deploy.deployment d where d.application = a.name order by d.number desc limit 1) last on true
  where a.name = $1";

sql_function!(
    /// `deploy.start(application, files, kind, source, note, key)`
    deploy_start_wrapper,
    |call| {
        refuse_here();
        let application = Application::required(call.need_text(0, "application"));
        let files = files_of(call.need::<pgrx::Json>(1, "files").0);
        application.lock();
        let number = value_as_owner::<i32>(
            "insert into deploy.deployment (application, number, kind, deployed_at, deployed_by, source, note, key, fingerprint)
             select $1, coalesce(max(d.number), 0) + 1, $2, now(), session_user, $3, $4, $5, $6
             from deploy.deployment d where d.application = $1 returning number",
            &[
                application.name.as_str().into(),
                call.need_text(2, "kind").into(),
                call.text(3).into(),
                call.text(4).into(),
                call.need_text(5, "key").into(),
                fingerprint(&files).into(),
            ],
        );
        let Some(number) = number else {
            refuse(PgSqlErrorCode::ERRCODE_INTERNAL_ERROR, "the deployment has no number");
        };
        let (paths, digests): (Vec<String>, Vec<String>) = files.into_iter().unzip();
        let name = application.name.as_str();
        run_as_owner(
            "insert into deploy.file (application, number, path, digest)
             select $1, $2, f.path, f.digest from unnest($3::text[], $4::text[]) f (path, digest)",
            &[name.into(), number.into(), paths.clone().into(), digests.into()],
        );
        drift::note(&application);
        rights::begin(&application);
        kept::begin();
        // What their files made goes, unless another file makes it.
        run_as_owner(
            "update deploy.object o set is_stale = true where o.application = $1 and o.path <> all ($2::text[])",
            &[name.into(), paths.into()],
        );
        Deployment::begin(application, number);
        call.give(number)
    }
);

sql_function!(
    /// `deploy.plan()`
    deploy_plan_wrapper,
    |call| {
        refuse_here();
        Deployment::current();
        trial::begin();
        call.null()
    }
);

/// SHA-256 of a text, in hexadecimal digits.
pub(crate) fn digest_of(text: &str) -> String {
    Sha256::digest(text).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Keeps what a file says.
pub(crate) fn keep_text(application: &Application, digest: &str, text: &str) {
    run_as_owner(
        "insert into deploy.content (application, digest, content) values ($1, $2, $3) on conflict do nothing",
        &[application.name.as_str().into(), digest.into(), text.into()],
    );
}

/// SHA-256 of the paths and digests, a line each.
fn fingerprint(files: &BTreeMap<String, String>) -> String {
    let mut hash = Sha256::new();
    files.iter().for_each(|(path, digest)| hash.update(format!("{path} {digest}\n")));
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Paths with their digests.
pub(crate) fn files_of(files: Value) -> BTreeMap<String, String> {
    let Value::Object(files) = files else { refuse_files() };
    let pair = |(path, digest): (String, Value)| match digest {
        Value::String(digest) if digest.len() == 64 => (path, digest),
        _ => refuse_files(),
    };
    files.into_iter().map(pair).collect()
}

fn refuse_files() -> ! {
    refuse(
        PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE,
        "files must be an object of paths, each with the SHA-256 of its text in hexadecimal digits",
    )
}

/// A file of the deployment, as it is given.
pub(crate) struct File<'a> {
    /// What it is deployed with.
    pub deployment: Deployment,
    /// Where it is in the folder.
    pub path: &'a str,
    /// What it says.
    pub text: &'a str,
    /// The SHA-256 of that.
    pub digest: String,
}

impl File<'_> {
    /// The first two arguments of a call; an error if the deployment has no such file.
    pub(crate) fn of(call: Call) -> Self {
        refuse_here();
        let deployment = Deployment::current();
        let path = call.need_text(0, "path");
        let text: &str = call.need(1, "content");
        let digest = digest_of(text);
        let is_announced = value_as_owner::<bool>(
            "select true from deploy.file f where f.application = $1 and f.number = $2 and f.path = $3 and f.digest = $4",
            &[
                deployment.application.name.as_str().into(),
                deployment.number.into(),
                path.into(),
                digest.as_str().into(),
            ],
        );
        if is_announced.is_none() {
            refuse_with_hint(
                PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE,
                &format!("the deployment has no file {path} with this text"),
                "deploy.start() is told all files with the SHA-256 of their texts.",
            );
        }
        File { deployment, path, text, digest }
    }

    fn is_migration(&self) -> bool {
        self.path.starts_with("migrations/")
    }

    /// How it runs in batches, if it is a migration that does.
    fn batches(&self) -> Option<Batches> {
        match steps::of(self.text).filter(|_| self.is_migration())?.step {
            Step::Batches(batches) => Some(batches),
            _ => None,
        }
    }

    /// Keeps what it says.
    pub(crate) fn keep_text(&self) {
        keep_text(&self.deployment.application, &self.digest, self.text);
    }

    /// An error if it is a migration that has run.
    fn refuse_again(&self) {
        let has_run = value_as_owner::<bool>(
            "select true from deploy.migration m where m.application = $1 and m.path = $2",
            &[self.deployment.application.name.as_str().into(), self.path.into()],
        );
        if has_run.is_some() {
            refuse(
                PgSqlErrorCode::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
                &format!("{} has run already", self.path),
            );
        }
    }

    /// Notes that it is a migration which has run.
    pub(crate) fn note_migration(&self) {
        run_as_owner(
            "insert into deploy.migration (application, path, digest, number) values ($1, $2, $3, $4)",
            &[
                self.deployment.application.name.as_str().into(),
                self.path.into(),
                self.digest.as_str().into(),
                self.deployment.number.into(),
            ],
        );
    }

    /// Runs it; what it has made. What a migration makes and gives lasts, what another file does only as long as that says so.
    fn run(&self, using: Use) -> Result<Vec<Made>, PgError> {
        let application = &self.deployment.application;
        let looked_at = Cell::new(0);
        let look = || {
            let made = recorder::since(looked_at.get());
            looked_at.update(|count| count + made.len());
            self.refuse_unfit(&made);
        };
        let run = || {
            as_deployer(application.owner, &application.schema, || match self.batches() {
                Some(batches) => batch::run_all(self.text, &batches),
                None => statements::run_each(self.text, using, look),
            })
        };
        if self.is_migration() {
            let (ran, made) = recorded(run);
            ran?;
            self.note_migration();
            return Ok(made);
        }
        rights::undo(application, Some(self.path), self.deployment.number)?;
        kept::keep_of_file(application, self.path);
        let before = rights::is_about_rights(self.text).then(|| rights::now(application));
        let (ran, made) = recorded(run);
        ran?;
        self.note_objects(&made);
        if let Some(before) = before {
            rights::note(application, self.path, &before);
        }
        rights::give_back(application)?;
        kept::give_back(application)?;
        Ok(made)
    }

    /// An error if what it has made is not its to make.
    fn refuse_unfit(&self, made: &[Made]) {
        let refused = self.refuse_objects(made).and_then(|()| self.refuse_lasting(made));
        refused.unwrap_or_else(|error| unwind(error));
    }

    /// An error if it is for routes, jobs or grants alone, and has made something else, which would be made again each time.
    fn refuse_objects(&self, made: &[Made]) -> Result<(), PgError> {
        let is_object = |one: &Made| matches!(one, Made::Object(..));
        if !matches!(self.path, "routes.sql" | "jobs.sql" | "grants.sql") || !made.iter().any(is_object) {
            return Ok(());
        }
        let what = descriptions(&self.deployment.application, made);
        Err(PgError {
            sqlstate: *b"0A000",
            message: format!("{} makes {}", self.path, what.first().map_or("something", String::as_str)),
            hint: Some(
                "Tables are made in migrations/, all else in functions/ or views/. Move it there.".into(),
            ),
            ..PgError::default()
        })
    }

    /// An error if it has done what would last although it says so no more: what it says of another file's object, and of those to come.
    fn refuse_lasting(&self, made: &[Made]) -> Result<(), PgError> {
        let (message, hint) = if made.contains(&Made::Defaults) && !self.is_migration() {
            (
                format!("{} says what rights later objects have", self.path),
                "That lasts: say it in a migration.".into(),
            )
        } else if let Some((what, other)) = made.iter().find_map(|one| self.altered_of_another(one)) {
            (
                format!("{} alters {what}, which {other} makes", self.path),
                format!(
                    "It would last when {} says so no more, or be lost with the next change of {other}. Say it there.",
                    self.path
                ),
            )
        } else {
            return Ok(());
        };
        Err(PgError { sqlstate: *b"55000", message, hint: Some(hint), ..PgError::default() })
    }

    /// An object that it has altered and another file has made: what, and which file.
    fn altered_of_another(&self, made: &Made) -> Option<(String, String)> {
        let Made::Altered(class, number) = made else { return None };
        let of_another = rows_as_owner(
            "select deploy.label(o), o.path from pg_identify_object_as_address($3, $4, 0) a
             join deploy.object o on o.application = $1 and o.type = a.type and o.names = a.object_names and o.arguments = a.object_args
             where o.path <> $2 and not o.is_stale",
            &[
                self.deployment.application.name.as_str().into(),
                self.path.into(),
                (*class).into(),
                (*number).into(),
            ],
            |row| row.get(1).ok().flatten().zip(row.get(2).ok().flatten()),
        );
        of_another.into_iter().next()
    }

    /// Notes what it has made now; what it made before and has not made again is stale.
    fn note_objects(&self, made: &[Made]) {
        let name = self.deployment.application.name.as_str();
        run_as_owner(
            "update deploy.object o set is_stale = true where o.application = $1 and o.path = $2",
            &[name.into(), self.path.into()],
        );
        let (mut classes, mut numbers, mut parts) = (Vec::new(), Vec::new(), Vec::new());
        let (mut kinds, mut firsts, mut seconds) = (Vec::new(), Vec::new(), Vec::new());
        for one in made {
            match one {
                Made::Object(class, number, part) => {
                    classes.push(*class);
                    numbers.push(*number);
                    parts.push(*part);
                }
                Made::Registered(kind, names) => {
                    kinds.push(kind.word());
                    firsts.push(names.first().cloned());
                    seconds.push(names.get(1).cloned());
                }
                Made::Altered(..) | Made::Defaults | Made::Rewritten(_) => {}
            }
        }
        run_as_owner(
            concat!(
                "insert into deploy.object (application, path, type, names, arguments)
                 select distinct $1, $2, i.type, i.object_names, i.object_args
                 from unnest($3::oid[], $4::oid[], $5::integer[]) o (class, number, part)
                 cross join lateral pg_identify_object_as_address(o.class, o.number, o.part) i
                 where i.object_names is not null and not ",
                is_part!("o.class", "o.number"),
                "
                 union
                 select $1, $2, n.type, array_remove(array[n.first, n.second], null), '{}'::text[]
                 from unnest($6::text[], $7::text[], $8::text[]) n (type, first, second)
                 where exists (
                   select from deploy.registered g
                   where g.type = n.type and g.names = array_remove(array[n.first, n.second], null) and g.owner = $9)
                 on conflict (application, path, type, names, arguments) do update set is_stale = false, is_drifted = false"
            ),
            &[
                name.into(),
                self.path.into(),
                classes.into(),
                numbers.into(),
                parts.into(),
                kinds.into(),
                firsts.into(),
                seconds.into(),
                name_of(self.deployment.application.owner).into(),
            ],
        );
    }
}

sql_function!(
    /// `deploy.run(path, content, replace)`
    deploy_run_wrapper,
    |call| {
        let file = File::of(call);
        let replace: bool = call.need(2, "replace");
        deployments::announce();
        if file.is_migration() {
            file.refuse_again();
        }
        let using = match (file.is_migration(), replace) {
            (true, _) => Use::Migrate,
            (false, true) => Use::Replace,
            (false, false) => Use::Run,
        };
        let made = match file.run(using) {
            Ok(made) => made,
            Err(error) => {
                let application = &file.deployment.application;
                let error = with_who_may(error, application);
                let in_the_way = if file.is_migration() { in_the_way(application, &error) } else { Vec::new() };
                let failed = json!({ "error": describe(&error, file.text), "in_the_way": in_the_way });
                return call.give(failed.to_string());
            }
        };
        if file.is_migration() && matches!(steps::of(file.text), Some(found) if found.adds_a_value()) {
            new_values::allow();
        }
        file.keep_text();
        let made_and = json!({ "made": descriptions(&file.deployment.application, &made), "rewritten": rewritten(&made) });
        call.give(made_and.to_string())
    }
);

/// An error with who may do what the application's owner may not.
fn with_who_may(mut error: PgError, application: &Application) -> PgError {
    if error.sqlstate == *b"42501" {
        let hint = error.hint.map(|hint| hint + " ").unwrap_or_default();
        error.hint = Some(format!(
            "{hint}Files run as {}. Have a superuser run this statement once, by hand, or give the role what it needs.",
            name_of(application.owner)
        ));
    }
    error
}

/// Tables whose rows were all written anew: oids and names with sizes.
fn rewritten(made: &[Made]) -> Vec<Value> {
    let tables = made.iter().filter_map(|one| match one {
        Made::Rewritten(table) => Some(*table),
        _ => None,
    });
    let describe = |table: Oid| {
        let name = value_as_owner::<String>(
            "select format('%s (%s)', c.oid::regclass, pg_size_pretty(pg_table_size(c.oid))) from pg_class c where c.oid = $1",
            &[table.into()],
        )?;
        Some(json!({ "oid": table.to_u32(), "table": name }))
    };
    tables.filter_map(describe).collect()
}

/// What was registered, unless it is as it was deployed before.
const REGISTERED: &str = "select deploy.label(n.object)
    from (select row($1, '', $2, $3, '{}'::text[], false, false, null)::deploy.object) n (object)
    cross join lateral (select deploy.definition_of(n.object)) d (now)
    where d.now is not null and not exists (
      select from deploy.object o where o.application = $1 and o.type = $2 and o.names = $3 and o.definition = d.now)";

/// What was made, for people. Routes are registered in each deployment: those that are as before are left out.
fn descriptions(application: &Application, made: &[Made]) -> Vec<String> {
    let describe = |one: &Made| match one {
        Made::Registered(kind, names) => value_as_owner::<String>(
            REGISTERED,
            &[application.name.as_str().into(), kind.word().into(), names.clone().into()],
        ),
        Made::Object(class, number, part) => value_as_owner::<String>(
            concat!(
                "select format('%s %s', i.type, replace(i.identity, 'pg_catalog.', ''))
                 from pg_identify_object($1, $2, $3) i where i.identity is not null and not ",
                is_part!("$1", "$2")
            ),
            &[(*class).into(), (*number).into(), (*part).into()],
        ),
        Made::Altered(..) | Made::Defaults | Made::Rewritten(_) => None,
    };
    made.iter().filter_map(describe).collect()
}

sql_function!(
    /// `deploy.take_away(path)`
    deploy_take_away_wrapper,
    |call| {
        refuse_here();
        let deployment = Deployment::current();
        deployments::announce();
        let taken = take_away(&deployment, call.text(0));
        let answer = match taken {
            Ok(removed) => {
                let problems = if call.text(0).is_none() { checks::double(&deployment) } else { Vec::new() };
                json!({ "removed": removed.objects, "paths": removed.paths, "problems": problems })
            }
            Err(error) => json!({ "error": describe(&error, "") }),
        };
        call.give(answer.to_string())
    }
);

sql_function!(
    /// `deploy.finish()`
    deploy_finish_wrapper,
    |call| {
        refuse_here();
        let deployment = Deployment::current();
        let application = &deployment.application;
        let mut problems = checks::unfinished(&deployment);
        problems.extend(checks::double(&deployment));
        problems.extend(checks::invalid(&deployment));
        problems.extend(checks::unready(&deployment));
        let unchecked = match checks::of_plpgsql(&deployment) {
            Ok((wrong, unchecked)) => {
                problems.extend(wrong);
                unchecked
            }
            Err(error) => return call.give(json!({ "problems": [describe(&error, "")] }).to_string()),
        };
        drift::note_what_is_there(application);
        let rights = rights::changes(application);
        call.give(json!({ "problems": problems, "unchecked": unchecked, "rights": rights }).to_string())
    }
);
