//! The functions of schema `deploy`. What a text does wrong is returned, as JSON, so that the client can go on; what the caller does wrong is
//! raised.

use std::collections::BTreeMap;

use pg::entry::{Call, Returned, columns, sql_function};
use pg::guard::{PgError, unwind};
use pg::refuse::{refuse, refuse_with_hint};
use pgrx::pg_sys::Oid;
use pgrx::prelude::*;
use serde_json::{Value, json};
use session::authority::{refuse_restricted, rows_as_owner, run_as_owner, value_as_owner};
use session::deployer::as_deployer;
use sha2::{Digest, Sha256};

use super::application::{Application, Deployment};
use super::recorder::{Made, is_recording, recorded};
use super::removal::take_away;
use super::statements::{self, Use, describe};

/// An error where nothing of this may be done: in maintenance, and by a file that is deployed.
fn refuse_here() {
    refuse_restricted();
    if is_recording() {
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
            "insert into deploy.deployment (application, number, kind, deployed_at, deployed_by, source, note, key)
             select $1, coalesce(max(d.number), 0) + 1, $2, now(), session_user, $3, $4, $5
             from deploy.deployment d where d.application = $1 returning number",
            &[
                application.name.as_str().into(),
                call.need_text(2, "kind").into(),
                call.text(3).into(),
                call.text(4).into(),
                call.need_text(5, "key").into(),
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
        // What their files made goes, unless another file makes it.
        run_as_owner(
            "update deploy.object o set is_stale = true where o.application = $1 and o.path <> all ($2::text[])",
            &[name.into(), paths.into()],
        );
        Deployment::begin(application, number);
        call.give(number)
    }
);

/// Paths with their digests.
fn files_of(files: Value) -> BTreeMap<String, String> {
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
struct File<'a> {
    deployment: Deployment,
    path: &'a str,
    text: &'a str,
    digest: String,
}

impl File<'_> {
    /// The first two arguments of a call; an error if the deployment has no such file.
    fn of(call: Call) -> Self {
        refuse_here();
        let deployment = Deployment::current();
        let path = call.need_text(0, "path");
        let text: &str = call.need(1, "content");
        let digest: String = Sha256::digest(text).iter().map(|byte| format!("{byte:02x}")).collect();
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

    fn keep_text(&self) {
        run_as_owner(
            "insert into deploy.content (application, digest, content) values ($1, $2, $3) on conflict do nothing",
            &[
                self.deployment.application.name.as_str().into(),
                self.digest.as_str().into(),
                self.text.into(),
            ],
        );
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

    fn note_migration(&self) {
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

    /// Notes what it has made now; what it made before and has not made again is stale.
    fn note_objects(&self, made: &[Made]) {
        let name = self.deployment.application.name.as_str();
        run_as_owner(
            "update deploy.object o set is_stale = true where o.application = $1 and o.path = $2",
            &[name.into(), self.path.into()],
        );
        let (mut classes, mut numbers, mut parts) = (Vec::new(), Vec::new(), Vec::new());
        let (mut methods, mut patterns) = (Vec::new(), Vec::new());
        for one in made {
            match one {
                Made::Object(class, number, part) => {
                    classes.push(*class);
                    numbers.push(*number);
                    parts.push(*part);
                }
                Made::Route(method, pattern) => {
                    methods.push(method.clone());
                    patterns.push(pattern.clone());
                }
            }
        }
        run_as_owner(
            "insert into deploy.object (application, path, type, names, arguments)
             select distinct $1, $2, i.type, i.object_names, i.object_args
             from unnest($3::oid[], $4::oid[], $5::integer[]) o (class, number, part)
             cross join lateral pg_identify_object_as_address(o.class, o.number, o.part) i
             where i.object_names is not null
             union
             select $1, $2, 'route', array[r.method, r.pattern], '{}'::text[]
             from unnest($6::text[], $7::text[]) r (method, pattern)
             on conflict (application, path, type, names, arguments) do update set is_stale = false",
            &[
                name.into(),
                self.path.into(),
                classes.into(),
                numbers.into(),
                parts.into(),
                methods.into(),
                patterns.into(),
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
        let is_migration = file.is_migration();
        if is_migration {
            file.refuse_again();
        }
        let using = if replace && !is_migration { Use::Replace } else { Use::Run };
        let application = &file.deployment.application;
        let (ran, made) = recorded(|| {
            as_deployer(application.owner, &application.schema, || statements::run(file.text, using))
        });
        if let Err(error) = ran {
            return call.give(json!({ "error": describe(&error, file.text) }).to_string());
        }
        file.keep_text();
        if is_migration {
            file.note_migration();
        } else {
            file.note_objects(&made);
        }
        call.give(json!({ "made": descriptions(&made) }).to_string())
    }
);

/// What was made, for people.
fn descriptions(made: &[Made]) -> Vec<String> {
    let describe = |one: &Made| match one {
        Made::Route(method, pattern) => Some(format!("route {method} {pattern}")),
        Made::Object(class, number, part) => value_as_owner::<String>(
            "select format('%s %s', i.type, replace(i.identity, 'pg_catalog.', ''))
             from pg_identify_object($1, $2, $3) i where i.identity is not null",
            &[(*class).into(), (*number).into(), (*part).into()],
        ),
    };
    made.iter().filter_map(describe).collect()
}

sql_function!(
    /// `deploy.take_away(path)`
    deploy_take_away_wrapper,
    |call| {
        refuse_here();
        let deployment = Deployment::current();
        let taken = take_away(&deployment, call.text(0));
        let answer = match taken {
            Ok(removed) => json!({ "removed": removed.objects, "paths": removed.paths }),
            Err(error) => json!({ "error": describe(&error, "") }),
        };
        call.give(answer.to_string())
    }
);

/// The SQLSTATE by which a test that has passed is undone.
const PASSED: [u8; 5] = *b"HDT00";

sql_function!(
    /// `deploy.test(path, content)`
    deploy_test_wrapper,
    |call| {
        let file = File::of(call);
        let application = &file.deployment.application;
        let (ran, _) = recorded(|| {
            as_deployer(application.owner, &application.schema, || {
                statements::run(file.text, Use::Test);
                unwind(PgError { sqlstate: PASSED, ..PgError::default() })
            })
        });
        let error: PgError = match ran {
            Ok(never) => never,
            Err(error) => error,
        };
        if error.sqlstate != PASSED {
            return call.give(json!({ "error": describe(&error, file.text) }).to_string());
        }
        file.keep_text();
        call.give(json!({}).to_string())
    }
);

sql_function!(
    /// `deploy.finish()`
    deploy_finish_wrapper,
    |call| {
        refuse_here();
        let deployment = Deployment::current();
        let application = &deployment.application;
        let mut problems = rows_as_owner(
            UNFINISHED,
            &[application.name.as_str().into(), deployment.number.into()],
            |row| Some(json!({ "path": row.get::<String>(1).ok()??, "message": row.get::<String>(2).ok()?? })),
        );
        problems.extend(invalid(&deployment));
        let unchecked = rows_as_owner(
            "select p.oid::regprocedure::text from pg_proc p join pg_language l on l.oid = p.prolang
             join pg_namespace n on n.oid = p.pronamespace
             where n.nspname = $1 and l.lanname not in ('sql', 'c', 'internal') order by 1",
            &[application.schema.as_str().into()],
            |row| row.get::<String>(1).ok()?,
        );
        call.give(json!({ "problems": problems, "unchecked": unchecked }).to_string())
    }
);

/// What is wrong with the files as they were told: path and message.
const UNFINISHED: &str = "select f.path, 'it has not run' from deploy.file f
    where f.application = $1 and f.number = $2
      and not exists (select from deploy.content c where c.application = f.application and c.digest = f.digest)
  union all
  select f.path, 'it has not run' from deploy.file f
    where f.application = $1 and f.number = $2 and f.path like 'migrations/%'
      and not exists (select from deploy.migration m where m.application = f.application and m.path = f.path)
  union all
  select max(o.path), format('%s %s is made by %s, too', o.type, array_to_string(o.names, '.'), min(o.path))
    from deploy.object o where o.application = $1 and not o.is_stale
    group by o.type, o.names, o.arguments having count(*) > 1
  union all
  select o.path, format('%s %s is still there', o.type, array_to_string(o.names, '.')) from deploy.object o
    where o.application = $1 and o.is_stale
  order by 1, 2";

/// SQL functions whose bodies, given as text, are wrong by now.
fn invalid(deployment: &Deployment) -> Vec<Value> {
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

sql_function!(
    /// `deploy.history(application)`
    deploy_history_wrapper,
    |call| {
        let application = Application::required(call.need_text(0, "application"));
        let rows = rows_as_owner(
            "select d.number, d.kind, d.deployed_at, d.deployed_by, d.source, d.note,
               (select count(*) from deploy.file f where f.application = d.application and f.number = d.number)
             from deploy.deployment d where d.application = $1 order by d.number desc",
            &[application.name.as_str().into()],
            |row| {
                Some(columns![
                    row.get::<i32>(1).ok()?,
                    row.get::<String>(2).ok()?,
                    row.get::<TimestampWithTimeZone>(3).ok()?,
                    row.get::<String>(4).ok()?,
                    row.get::<String>(5).ok()?,
                    row.get::<String>(6).ok()?,
                    row.get::<i64>(7).ok()?,
                ])
            },
        );
        Returned::all(call, rows)
    }
);

sql_function!(
    /// `deploy.files(application, number)`
    deploy_files_wrapper,
    |call| {
        let application = Application::required(call.need_text(0, "application"));
        let rows = rows_as_owner(
            "select f.path, f.digest, c.content
             from deploy.file f left join deploy.content c on c.application = f.application and c.digest = f.digest
             where f.application = $1 and f.number = $2 order by f.path",
            &[application.name.as_str().into(), call.need::<i32>(1, "number").into()],
            |row| {
                Some(columns![
                    row.get::<String>(1).ok()?,
                    row.get::<String>(2).ok()?,
                    row.get::<String>(3).ok()?
                ])
            },
        );
        Returned::all(call, rows)
    }
);
