//! A file of a deployment: what it is, and running it.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};

use batches::Batches;
use folder::Kind;
use folder::files::makes_no_objects;
use folder::pages::is_page;
use pg::entry::Call;
use pg::guard::{PgError, unwind};
use pg::refuse::{refuse, refuse_with_hint};
use pgrx::pg_sys::Oid;
use pgrx::prelude::*;
use serde_json::{Value, json};
use session::authority::{name_of, refuse_restricted, rows_as_owner, run_as_owner, value_as_owner};
use session::deployer::as_deployer;
use session::deploying;
use sha2::{Digest, Sha256};

use super::application::{Application, Deployment};
use super::batch;
use super::conditional;
use super::drops;
use super::followed::Followed;
use super::giving_way::while_running;
use super::kept;
use super::pages;
use super::recorder::{self, Made, recorded};
use super::removal::is_part;
use super::rights;
use super::statements::{self, Use};
use super::steps::{self, Step};

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

/// SHA-256 of a text or of bytes, in hexadecimal digits.
pub(crate) fn digest_of(text: impl AsRef<[u8]>) -> String {
    Sha256::digest(text).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Whether the deployment was begun with such a file.
pub(crate) fn is_announced(deployment: &Deployment, path: &str, digest: &str) -> bool {
    value_as_owner::<bool>(
        "select true from deploy.file f where f.application = $1 and f.number = $2 and f.path = $3 and f.digest = $4",
        &[deployment.application.name.as_str().into(), deployment.number.into(), path.into(), digest.into()],
    )
    .is_some()
}

/// Keeps what a file says.
pub(crate) fn keep_text(application: &Application, digest: &str, text: &str) {
    run_as_owner(
        "insert into deploy.content (application, digest, content) values ($1, $2, $3) on conflict do nothing",
        &[application.name.as_str().into(), digest.into(), text.into()],
    );
}

/// SHA-256 of the paths and digests, a line each.
pub(crate) fn fingerprint(files: &BTreeMap<String, String>) -> String {
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
        if !is_announced(&deployment, path, &digest) {
            refuse_with_hint(
                PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE,
                &format!("the deployment has no file {path} with this text"),
                "deploy.start() is told all files with the SHA-256 of their texts.",
            );
        }
        File { deployment, path, text, digest }
    }

    pub(crate) fn is_migration(&self) -> bool {
        Kind::of(self.path) == Some(Kind::Migration)
    }

    /// Whether it is a page, whose text is no SQL.
    pub(crate) fn is_page(&self) -> bool {
        is_page(self.path)
    }

    /// How it runs in batches, if it is a migration that does.
    pub(crate) fn batches(&self) -> Option<Batches> {
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
    pub(crate) fn refuse_again(&self) {
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
    /// Other files that have to run again are among `others` then.
    pub(crate) fn run(&self, using: Use, others: &mut BTreeSet<String>) -> Result<Vec<Made>, PgError> {
        let application = &self.deployment.application;
        let looked_at = Cell::new(0);
        let look = || {
            let made = recorder::since(looked_at.get());
            looked_at.update(|count| count + made.len());
            self.refuse_unfit(&made);
        };
        let run = || {
            if self.is_page() {
                return pages::run(&self.deployment, self.path, self.text, look);
            }
            as_deployer(application.owner, &application.schema, || match self.batches() {
                Some(batches) => batch::run_all(self.text, &batches),
                None => statements::run_each(self.text, using, look),
            })
        };
        if self.is_migration() {
            let followed = Followed::of(application);
            let (ran, made) = recorded(run);
            ran?;
            followed.rename();
            self.note_migration();
            return Ok(made);
        }
        let undone = rights::undo(application, Some(self.path), self.deployment.number)?;
        kept::keep_of_file(application, self.path);
        let is_about_rights = !self.is_page() && rights::is_about_rights(self.text);
        let before = is_about_rights.then(|| rights::now(application));
        let (ran, made) = while_running(&application.name, self.path, || recorded(run));
        ran?;
        self.note_objects(&made);
        if let Some(before) = before {
            rights::note(application, self.path, &before);
        }
        rights::give_back(application)?;
        kept::give_back(application)?;
        let dropped = drops::of(application, &made).into_iter().filter_map(|drop| drop.path);
        others.extend(dropped.filter(|other| other != self.path));
        others.extend(undone.said_by_others(application, self.deployment.number, Some(self.path)));
        Ok(made)
    }

    /// An error if what it has made is not its to make.
    fn refuse_unfit(&self, made: &[Made]) {
        let refused = self.refuse_objects(made).and_then(|()| self.refuse_lasting(made));
        let has_dropped = made.iter().any(|one| matches!(one, Made::Dropped(..)));
        let refused = refused.and_then(|()| if has_dropped { self.refuse_drops() } else { Ok(()) });
        refused.unwrap_or_else(|error| unwind(error));
    }

    /// An error if it has dropped what it may not.
    fn refuse_drops(&self) -> Result<(), PgError> {
        let application = &self.deployment.application;
        let drops = drops::of(application, &recorder::since(0));
        match self.is_migration() {
            true => drops::refuse_foreign(self.path, &application.schema, &drops),
            false => drops::refuse_lasting(self.path, &drops),
        }
    }

    /// An error if it is for routes, jobs or grants alone, and has made something else, which would be made again each time.
    fn refuse_objects(&self, made: &[Made]) -> Result<(), PgError> {
        let is_object = |one: &Made| matches!(one, Made::Object(..));
        if !makes_no_objects(self.path) || !made.iter().any(is_object) {
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
    pub(crate) fn refuse_lasting(&self, made: &[Made]) -> Result<(), PgError> {
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
        } else if let Some(what) = self.altered_of_migrations(made) {
            (
                format!("{} alters {what}, which no file of code has made", self.path),
                "That would last when the file says so no more: say it in a migration.".into(),
            )
        } else {
            return Ok(());
        };
        Err(PgError { sqlstate: *b"55000", message, hint: Some(hint), ..PgError::default() })
    }

    /// An object that it has altered and that neither it nor another file of code has made, nor what it is a part of.
    fn altered_of_migrations(&self, made: &[Made]) -> Option<String> {
        let altered = made.iter().filter_map(|one| match one {
            Made::Altered(class, number) if !self.is_migration() => Some((*class, *number)),
            _ => None,
        });
        let (classes, numbers): (Vec<Oid>, Vec<Oid>) = altered.unzip();
        if classes.is_empty() {
            return None;
        }
        let new = recorder::since(0).into_iter().filter_map(|one| match one {
            Made::Object(class, number, _) => Some((class, number)),
            _ => None,
        });
        let (new_classes, new_numbers): (Vec<Oid>, Vec<Oid>) = new.unzip();
        let name = self.deployment.application.name.as_str();
        let found = rows_as_owner(
            OF_MIGRATIONS,
            &[name.into(), classes.into(), numbers.into(), new_classes.into(), new_numbers.into()],
            |row| row.get::<String>(1).ok()?,
        );
        found.into_iter().next()
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

    /// Whether it had run with this text before. Then what it leaves out is its own, and not stale. It has just run.
    pub(crate) fn keep_left(&self) -> bool {
        let name = self.deployment.application.name.as_str();
        let was_this = || {
            value_as_owner::<bool>(
                "select true from deploy.file f where f.application = $1 and f.path = $3 and f.digest = $4 and f.number = (
                   select max(l.number) from deploy.deployment l where l.application = $1 and l.number < $2)",
                &[name.into(), self.deployment.number.into(), self.path.into(), self.digest.as_str().into()],
            )
            .is_some()
        };
        if !conditional::runs_again(self.path) && !was_this() {
            return false;
        }
        run_as_owner(
            "update deploy.object o set is_stale = false where o.application = $1 and o.path = $2 and o.is_stale
               and (deploy.address(o.type, o.names, o.arguments)).objid is not null",
            &[name.into(), self.path.into()],
        );
        true
    }

    /// Notes what it has made now; what it made before and has not made again is stale.
    pub(crate) fn note_objects(&self, made: &[Made]) {
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
                Made::Registered(kind, names) | Made::Kept(kind, names) => {
                    kinds.push(kind.word());
                    firsts.push(names.first().cloned());
                    seconds.push(names.get(1).cloned());
                }
                Made::Altered(..) | Made::Defaults | Made::Rewritten(_) | Made::Dropped(..) => {}
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

/// Altered objects that are neither new nor of a file of code, and are no part of such.
const OF_MIGRATIONS: &str = "select format('%s %s', i.type, replace(i.identity, 'pg_catalog.', ''))
    from unnest($2::oid[], $3::oid[]) a (class, number)
    cross join lateral pg_identify_object(a.class, a.number, 0) i
    where i.identity is not null and not exists (
      select from (
        select a.class, a.number
        union all
        select p.refclassid, p.refobjid from pg_depend p
        where p.classid = a.class and p.objid = a.number and p.deptype in ('a', 'i')) w (class, number)
      where (w.class, w.number) in (select n.class, n.number from unnest($4::oid[], $5::oid[]) n (class, number))
        or exists (
          select from pg_identify_object_as_address(w.class, w.number, 0) k
          join deploy.object o on o.application = $1 and o.type = k.type and o.names = k.object_names and o.arguments = k.object_args))
    limit 1";

/// What was made, for people. Routes are registered in each deployment: those that are as before are left out.
pub(crate) fn descriptions(application: &Application, made: &[Made]) -> Vec<String> {
    let of = |one: &Made| match one {
        Made::Registered(kind, names) => Some(json!({ "type": kind.word(), "names": names })),
        Made::Object(class, number, part) => {
            Some(json!({ "class": class.to_u32(), "number": number.to_u32(), "part": part }))
        }
        Made::Kept(..) | Made::Altered(..) | Made::Defaults | Made::Rewritten(_) | Made::Dropped(..) => None,
    };
    let all = Value::Array(made.iter().filter_map(of).collect());
    let name = application.name.as_str();
    let described =
        rows_as_owner(DESCRIBED, &[name.into(), all.to_string().into()], |row| row.get::<String>(1).ok()?);
    let unsaid = drops::of(application, made);
    described.into_iter().chain(drops::unsaid(&unsaid)).collect()
}

/// Objects that were made; of what was registered that which is not as it was deployed before.
const DESCRIBED: &str = concat!(
    "select case
        when m.type is null then (
          select format('%s %s', i.type, replace(i.identity, 'pg_catalog.', ''))
          from pg_identify_object(m.class, m.number, m.part) i where i.identity is not null and not ",
    is_part!("m.class", "m.number"),
    ")
        else (
          select deploy.label(row($1, '', m.type, m.names, '{}'::text[], false, false, null)::deploy.object)
          from (select deploy.registration(m.type, m.names) offset 0) r (now)
          where r.now is not null and not exists (
            select from deploy.object o
            where o.application = $1 and o.type = m.type and o.names = m.names and o.definition = r.now))
        end
      from rows from (json_to_recordset($2::json) as (type text, names text[], class oid, number oid, part integer))
        with ordinality m (type, names, class, number, part, place)
      order by m.place"
);
