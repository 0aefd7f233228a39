//! The functions of schema `deploy`. What a text does wrong is returned, as JSON, so that the client can go on; what the caller does wrong is
//! raised.

use std::collections::BTreeSet;

use folder::Kind;
use pg::entry::sql_function;
use pg::guard::PgError;
use pg::refuse::{refuse, refuse_with_hint};
use pgrx::pg_sys::Oid;
use pgrx::prelude::*;
use serde_json::{Value, json};
use session::authority::{name_of, run_as_owner, value_as_owner};
use session::deployments;

use super::ambiguous;
use super::application::{Application, Deployment};
use super::checks;
use super::conditional;
use super::drift;
use super::file::{File, descriptions, files_of, fingerprint, refuse_here};
use super::kept;
use super::new_values;
use super::pages;
use super::recorder::Made;
use super::removal::{ToDrop, in_the_way, take_away};
use super::rights;
use super::statements::{self, Use, describe};
use super::static_files;
use super::steps;
use super::trial;

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
        if let Some(path) = files.keys().find(|path| Kind::of(path).is_none()) {
            refuse_with_hint(
                PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE,
                &format!("{path} is no file that is deployed"),
                "Files in migrations/, functions/, views/, pages/ and tests/ are, grants.sql, routes.sql and jobs.sql, and the list of those in static/.",
            );
        }
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
        conditional::begin();
        pages::library::forget();
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
        let mut others = BTreeSet::new();
        let ran = file.run(using, &mut others).and_then(|made| {
            let is_whole = file.is_migration() || file.is_page() || !statements::may_leave_out(file.text);
            if is_whole || file.keep_left() {
                return Ok(made);
            }
            // It has left out what was there because it had made that as another text. The next time it would leave out what it has made now.
            let left = take_away(&file.deployment, ToDrop::Left(file.path))?;
            if left.objects.is_empty() {
                return Ok(made);
            }
            let rest = take_away(&file.deployment, ToDrop::Of(file.path))?;
            others.extend(left.paths.into_iter().chain(rest.paths));
            file.run(using, &mut others)
        });
        let made = match ran {
            Ok(made) => made,
            Err(error) => {
                let application = &file.deployment.application;
                let error = with_who_may(error, application);
                let in_the_way = if file.is_migration() { in_the_way(application, &error) } else { Vec::new() };
                let failed = json!({ "error": describe(&error, file.text), "in_the_way": in_the_way, "paths": others });
                return call.give(failed.to_string());
            }
        };
        if file.is_migration() && matches!(steps::of(file.text), Some(found) if found.adds_a_value()) {
            new_values::allow();
        }
        file.keep_text();
        let mut told = descriptions(&file.deployment.application, &made);
        told.extend(pages::take_remarks());
        let made_and = json!({ "made": told, "rewritten": rewritten(&made),
            "paths": others });
        call.give(made_and.to_string())
    }
);

sql_function!(
    /// `deploy.note_page(path, content)`
    deploy_note_page_wrapper,
    |call| {
        let file = File::of(call);
        if !file.is_page() {
            refuse(PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE, &format!("{} is no page", file.path));
        }
        file.keep_text();
        call.null()
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

sql_function!(
    /// `deploy.take_away(path)`
    deploy_take_away_wrapper,
    |call| {
        refuse_here();
        let deployment = Deployment::current();
        deployments::announce();
        let what = match call.text(0) {
            None => ToDrop::Stale,
            // Files that still have to run may make the rest, or what others have made already.
            Some("") => ToDrop::StaleSoFar,
            Some(path) => ToDrop::Of(path),
        };
        let answer = match take_away(&deployment, what) {
            Ok(removed) => {
                let problems = if what == ToDrop::Stale { checks::double(&deployment) } else { Vec::new() };
                if what == ToDrop::Stale {
                    // Tests ask for pages that name files.
                    static_files::place(&deployment.application);
                }
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
        // Where something else is wrong its functions may not be there.
        if problems.is_empty() {
            problems.extend(static_files::faults(&deployment));
        }
        if problems.is_empty() {
            problems.extend(pages::errors::make(&deployment));
        }
        drift::note_what_is_there(application);
        let rights = rights::changes(application);
        let mut warnings = pages::warnings::all(&deployment);
        warnings.extend(ambiguous::warnings(&deployment));
        let finished = json!({ "problems": problems, "unchecked": unchecked, "rights": rights, "warnings": warnings });
        call.give(finished.to_string())
    }
);
