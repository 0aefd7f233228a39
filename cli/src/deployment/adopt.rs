//! `howdah adopt`: a schema that is there already, with its rows, becomes an application. Its migrations are noted as done once they have made
//! the same in an empty schema, beside which the other one stood for a moment under another name. No row changes.

use std::collections::BTreeMap;
use std::hash::{BuildHasher, Hasher, RandomState};

use cluster::postgres::Transaction;
use folder::{Deployed, Folder, Plan};
use serde_json::json;

use super::attempt::{leave_out, note_left_out, run_files, start};
use super::code::Files;
use super::comparison::{self, Aside, describe};
use super::locks::Locks;
use super::report::Report;
use super::requirements::refuse_known_role;
use super::server::{Stop, refuse_problems, require_extension, state};
use super::target::{self, said};
use crate::arguments::{Adopt, Tests};
use crate::connection::{Address, NOTICED, begin, settings_for};
use crate::failure::{Failure, Result};

/// What the schema's name while another is made beside it begins with; the rest is random, so that nobody can take it before.
const ASIDE: &str = "howdah_before_";

/// Adopts what is in a database, or says what that would do.
pub(crate) fn run(options: &Adopt) -> Result<()> {
    let folder = target::folder(&options.deploy.destination)?;
    let manifest = folder.manifest.clone();
    target::each(&options.deploy.destination, &manifest, |address| {
        let adoption = Adoption { options, folder: &folder };
        adoption.run(address).map_err(|stop| match stop {
            Stop::Failed(failure) | Stop::Partly(failure) => failure,
            Stop::Again(why) | Stop::Busy(why) => {
                Failure::Said(format!("{why}; nothing was adopted, try again"))
            }
        })
    })
}

struct Adoption<'a> {
    options: &'a Adopt,
    folder: &'a Folder,
}

impl Adoption<'_> {
    fn run(&self, address: &Address) -> Result<(), Stop> {
        let mut report = Report::new(self.options.deploy.json);
        let mut client = address.connect()?;
        require_extension(&mut client, &address.shown)?;
        let name = &self.folder.manifest.name;
        report.say(&format!("{} of {} becomes {name}", self.folder.manifest.schema(), address.shown));
        let mut transaction = begin(&mut client)?;
        self.refuse(&mut transaction)?;
        let timeout = self.options.deploy.lock_timeout.as_millis();
        transaction.batch_execute(&format!(
            "set local lock_timeout = {timeout}; {}",
            settings_for(NOTICED, "local")
        ))?;
        self.make_owner(&mut transaction)?;
        let mut plan = Plan::of(self.folder, &Deployed::default()).map_err(|faults| said(&faults))?;
        let aside = self.make_aside(&mut transaction, &plan)?;
        let there = describe(&mut transaction, self.folder.manifest.schema())?;
        comparison::compare(&aside, &there, &report)?;

        self.tell_definers(&mut transaction, &report)?;
        transaction.execute("select deploy.hand_over($1)", &[name])?;
        let number = start(&mut transaction, self.folder, None, &self.options.deploy, "")?;
        let texts: BTreeMap<&String, &String> =
            self.folder.files.iter().map(|(path, file)| (path, &file.text)).collect();
        if self.options.plan {
            transaction.execute("select deploy.plan()", &[])?;
        }
        let (texts, objects) = (json!(texts).to_string(), aside.objects.to_string());
        let adopt = "select deploy.adopt($1, $2::text::json, $3::text::json)";
        transaction.execute(adopt, &[name, &texts, &objects])?;
        for path in std::mem::take(&mut plan.migrations) {
            report.file(&path, "was done already", &[]);
        }
        let tests = match self.options.deploy.tests {
            Some(Tests::None) => Tests::None,
            _ => Tests::Inside,
        };
        let left_out = leave_out(&mut plan, tests);
        note_left_out(&mut transaction, self.folder, &left_out)?;
        let locks = Locks::begin(&mut transaction)?;
        let mut files = Files::new(&mut transaction, self.folder, &plan, locks, &mut report);
        let finished = run_files(&mut files, &plan)?;
        report.rights(finished.rights);
        report.unchecked(finished.unchecked);
        report.warnings(finished.warnings);
        refuse_problems(&finished.problems)?;
        if self.options.plan {
            transaction.rollback()?;
            report.end(name, None, "planned", "Nothing of it was kept: this is what howdah adopt would do.");
        } else {
            transaction.commit()?;
            report.end(name, Some(number), "adopted", &format!("Adopted as number {number}."));
        }
        Ok(())
    }

    /// An error where there is nothing to adopt, or it was adopted already.
    fn refuse(&self, client: &mut Transaction<'_>) -> Result<(), Stop> {
        let failed = |text: String| Err(Stop::Failed(Failure::Said(text)));
        let (name, schema) = (&self.folder.manifest.name, self.folder.manifest.schema());
        let row = client.query_one(
            "select rolsuper, exists (select from pg_catalog.pg_namespace where nspname = $1)
             from pg_catalog.pg_roles where rolname = current_user",
            &[&schema],
        )?;
        if !row.get::<_, bool>(0) {
            return failed("only a superuser adopts: what is there belongs to others".into());
        }
        if state(client, name)?.is_some() {
            return failed(format!("{name} is an application of this database already: howdah deploy"));
        }
        if !row.get::<_, bool>(1) {
            return failed(format!("there is no schema {schema} to adopt: howdah deploy makes it"));
        }
        refuse_known_role(client, self.folder)
    }

    /// Makes the owner and the application; the schema is the owner's.
    fn make_owner(&self, transaction: &mut Transaction<'_>) -> Result<(), Stop> {
        let manifest = &self.folder.manifest;
        let statements = transaction.query_one(
            "select case when pg_catalog.to_regrole(pg_catalog.quote_ident($1)) is null then pg_catalog.format('create role %I nologin noinherit', $1::text) else '' end,
               pg_catalog.format('alter schema %I owner to %I', $2::text, $1::text)",
            &[&manifest.owner(), &manifest.schema()],
        )?;
        transaction.batch_execute(statements.get(0))?;
        transaction.batch_execute(statements.get(1))?;
        let make = "select deploy.create_application($1, $2, $3, $4)";
        transaction
            .execute(make, &[&manifest.name, &manifest.schema(), &manifest.owner(), &manifest.handlers])?;
        Ok(())
    }

    /// Tells whose rights functions have had that will have the owner's.
    fn tell_definers(&self, transaction: &mut Transaction<'_>, report: &Report) -> Result<(), Stop> {
        let rows = transaction.query(
            "select p.oid::pg_catalog.regprocedure::text, p.proowner::pg_catalog.regrole::text
             from pg_catalog.pg_proc p join pg_catalog.pg_namespace n on n.oid = p.pronamespace
             where n.nspname = $1 and p.prosecdef and pg_catalog.pg_get_userbyid(p.proowner) <> $2
               and not exists (select from pg_catalog.pg_depend e where e.classid = 'pg_catalog.pg_proc'::pg_catalog.regclass and e.objid = p.oid and e.deptype = 'e')
             order by 1",
            &[&self.folder.manifest.schema(), &self.folder.manifest.owner()],
        )?;
        for row in rows {
            let (function, before): (String, String) = (row.get(0), row.get(1));
            report.say(&format!(
                "  {function} is SECURITY DEFINER: it ran as {before}, and runs as {} from now on, for whoever may execute it",
                self.folder.manifest.owner()
            ));
        }
        Ok(())
    }

    /// Runs all in an empty schema of the same name, and undoes it: what it has made, and which file has made what.
    fn make_aside(&self, transaction: &mut Transaction<'_>, plan: &Plan) -> Result<Aside, Stop> {
        let manifest = &self.folder.manifest;
        let mut aside = transaction.savepoint("aside")?;
        let statements: String = aside
            .query_one(
                "select pg_catalog.format('alter schema %1$I rename to %3$I; create schema %1$I authorization %2$I;
                   grant usage on schema %1$I to howdah_web', $1::text, $2::text, $3::text)",
                &[&manifest.schema(), &manifest.owner(), &format!("{ASIDE}{:016x}", RandomState::new().build_hasher().finish())],
            )?
            .get(0);
        aside.batch_execute(&statements)?;
        start(&mut aside, self.folder, None, &self.options.deploy, "")?;
        let mut silent = Report::silent();
        let locks = Locks::begin(&mut aside)?;
        let mut files = Files::new(&mut aside, self.folder, plan, locks, &mut silent);
        for path in &plan.migrations {
            files.run_one(path).map_err(in_empty_schema)?;
        }
        let made = describe(files.transaction, manifest.schema())?;
        files.run_due().map_err(in_empty_schema)?;
        let code = describe(files.transaction, manifest.schema())?;
        let left = "select d.object from deploy.described($1) d where d.object is not null";
        let left = files.transaction.query(left, &[&manifest.name])?;
        let left = left.iter().map(|row| row.get(0)).collect();
        let objects: String = aside
            .query_one(
                "select coalesce(pg_catalog.json_agg(o), '[]')::text from deploy.object o where o.application = $1",
                &[&manifest.name],
            )?
            .get(0);
        aside.rollback()?;
        let objects = serde_json::from_str(&objects)
            .map_err(|error| Failure::Said(format!("the server's answer cannot be read: {error}")))?;
        Ok(Aside { made, code, left, objects })
    }
}

fn in_empty_schema(stop: Stop) -> Stop {
    match stop {
        Stop::Failed(Failure::Said(text)) => {
            Stop::Failed(Failure::Said(format!("in an empty schema, to compare it with:\n{text}")))
        }
        other => other,
    }
}
