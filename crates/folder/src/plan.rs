//! What has to run: the folder beside what the database says has run.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;

use crate::files::{Folder, Kind};
use crate::{Fault, File, squash, statics};

/// What the database says of an application: `deploy.state()`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Deployed {
    /// The number of the last deployment; 0 if there was none.
    pub number: i32,
    /// The schema of its objects.
    pub schema: String,
    /// The role that owns them.
    pub owner: String,
    /// What the client of the last deployment has chosen for it.
    pub key: Option<String>,
    /// What the last deployment was of: a commit, or an earlier deployment.
    pub source: Option<String>,
    /// The files of the last deployment, with the SHA-256 of their texts.
    pub files: BTreeMap<String, String>,
    /// The migrations that have run, likewise.
    pub migrations: BTreeMap<String, String>,
    /// Those that were begun outside of a transaction and are not done, likewise.
    pub steps: BTreeMap<String, String>,
}

/// What becomes of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// It is new.
    New,
    /// Its text is another.
    Changed,
    /// It is as it was.
    Unchanged,
    /// It is gone.
    Gone,
}

/// What a deployment does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Migrations to run, in their order.
    pub migrations: Vec<String>,
    /// Migrations that stand for others, all of which have run: those others, with the SHA-256 of their texts.
    pub squashed: BTreeMap<String, BTreeMap<String, String>>,
    /// All files of code and routes, also those that are gone, with what becomes of them.
    pub code: BTreeMap<String, Change>,
    /// The change of the list of static files; none if there is none, and was none.
    pub statics: Option<Change>,
    /// Tests.
    pub tests: Vec<String>,
    /// Whether the folder is what was deployed last.
    pub is_same: bool,
}

impl Plan {
    /// What a deployment of the folder does; all that is wrong with its migrations, if something is.
    pub fn of(folder: &Folder, deployed: &Deployed) -> Result<Plan, Vec<Fault>> {
        let mut faults = Vec::new();
        let squashed = squashed(folder, deployed, &mut faults);
        let replaced: BTreeSet<&String> = squashed.values().flat_map(BTreeMap::keys).collect();
        let mut migrations = migrations(folder, deployed, &replaced, &mut faults);
        migrations.retain(|path| !squashed.contains_key(path));
        if !faults.is_empty() {
            return Err(faults);
        }
        let is_code = |kind: Kind| matches!(kind, Kind::Code | Kind::Routes);
        let mut code = BTreeMap::new();
        for (path, file) in folder.files.iter().filter(|(_, file)| is_code(file.kind)) {
            code.insert(path.clone(), change(file, deployed.files.get(path)));
        }
        for path in deployed.files.keys().filter(|path| Kind::of(path).is_some_and(is_code)) {
            code.entry(path.clone()).or_insert(Change::Gone);
        }
        let tests = of_kind(folder, Kind::Test).map(|(path, _)| path.clone()).collect();
        let digests: BTreeMap<String, String> =
            folder.files.iter().map(|(path, file)| (path.clone(), file.digest.clone())).collect();
        let statics = match folder.files.get(statics::INDEX) {
            Some(file) => Some(change(file, deployed.files.get(statics::INDEX))),
            None => deployed.files.contains_key(statics::INDEX).then_some(Change::Gone),
        };
        Ok(Plan {
            migrations,
            squashed,
            code,
            statics,
            tests,
            is_same: deployed.number > 0 && digests == deployed.files,
        })
    }
}

/// A transaction of a deployment, and what runs before it outside of transactions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stage {
    /// Migrations that run before it, one after the other.
    pub steps: Vec<String>,
    /// Migrations that run in it.
    pub migrations: Vec<String>,
}

/// Migrations that have to run, by the transactions in which they do. The last transaction has the code.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stages {
    /// One after the other; at least one.
    pub stages: Vec<Stage>,
    /// Migrations that run after the last transaction, outside of it.
    pub after: Vec<String>,
}

impl Stages {
    /// Divides migrations, which are in their order; a step is one that is no part of a transaction.
    pub fn of(migrations: &[String], is_step: impl Fn(&str) -> bool) -> Stages {
        let mut stages = vec![Stage::default()];
        let mut waiting: Vec<String> = Vec::new();
        for path in migrations {
            if is_step(path) {
                waiting.push(path.clone());
                continue;
            }
            if !waiting.is_empty() && stages.last().is_some_and(|stage| !stage.migrations.is_empty()) {
                stages.push(Stage::default());
            }
            if let Some(stage) = stages.last_mut() {
                stage.steps.append(&mut waiting);
                stage.migrations.push(path.clone());
            }
        }
        match stages.as_mut_slice() {
            // Without another migration they come before the code, which may use what they make.
            [only] if only.migrations.is_empty() => only.steps.append(&mut waiting),
            _ => {}
        }
        Stages { stages, after: waiting }
    }
}

fn change(file: &File, before: Option<&String>) -> Change {
    match before {
        None => Change::New,
        Some(digest) if *digest == file.digest => Change::Unchanged,
        Some(_) => Change::Changed,
    }
}

fn of_kind(folder: &Folder, kind: Kind) -> impl Iterator<Item = (&String, &File)> {
    folder.files.iter().filter(move |(_, file)| file.kind == kind)
}

/// Migrations that stand for others which have run. One that stands for some that have, and for some that have not, is an error.
fn squashed(
    folder: &Folder,
    deployed: &Deployed,
    faults: &mut Vec<Fault>,
) -> BTreeMap<String, BTreeMap<String, String>> {
    let mut squashed = BTreeMap::new();
    for (path, file) in of_kind(folder, Kind::Migration) {
        let others = squash::others(&file.text);
        let has_run = |(other, digest): &(&String, &String)| deployed.migrations.get(*other) == Some(digest);
        if let Some(other) = others.keys().find(|other| folder.files.contains_key(*other)) {
            faults.push(Fault::of(
                path,
                format!("it stands for {other}, which is still there; remove one of them"),
            ));
        } else if deployed.migrations.contains_key(path) || others.is_empty() {
            continue;
        } else if others.iter().all(|other| has_run(&other)) {
            squashed.insert(path.clone(), others);
        } else if others.keys().any(|other| deployed.migrations.contains_key(other)) {
            let left = others.iter().find(|other| !has_run(other)).map_or("", |(other, _)| other);
            let message = format!(
                "it stands for migrations of which some have run here, and {left} has not, or not as it was; deploy the folder as it was before howdah squash first"
            );
            faults.push(Fault::of(path, message));
        }
    }
    squashed
}

/// The migrations that have not run, in the order of their numbers.
fn migrations(
    folder: &Folder,
    deployed: &Deployed,
    replaced: &BTreeSet<&String>,
    faults: &mut Vec<Fault>,
) -> Vec<String> {
    let mut numbered: BTreeMap<u64, &String> = BTreeMap::new();
    for (path, file) in of_kind(folder, Kind::Migration) {
        let Some(number) = number(path) else {
            faults.push(Fault::of(
                path,
                "a migration's name begins with its number, such as migrations/001-books.sql",
            ));
            continue;
        };
        if let Some(other) = numbered.insert(number, path) {
            let message = format!("{other} has the number {number}, too; give the later one the next number");
            faults.push(Fault::of(path, message));
        }
        if let Some(digest) = deployed.migrations.get(path)
            && *digest != file.digest
        {
            faults.push(Fault::of(
                path,
                "it has run and was changed since; put it back as it was (git checkout), and write a new migration for the change; if only comments have changed: howdah accept",
            ));
        }
    }
    let last = deployed.migrations.keys().filter_map(|path| Some((number(path)?, path))).max();
    let is_gone = |path: &&String| !folder.files.contains_key(*path) && !replaced.contains(path);
    for path in deployed.migrations.keys().filter(is_gone) {
        let renamed = folder.files.iter().find(|(other, file)| {
            file.digest == deployed.migrations[path] && !deployed.migrations.contains_key(*other)
        });
        faults.push(match renamed {
            Some((other, _)) => Fault::of(other, format!("it has run as {path}; give it that name again")),
            None => Fault::of(
                path,
                "it has run and its file is gone; put it back (git checkout), as a new database needs it",
            ),
        });
    }
    let mut left = Vec::new();
    for (number, path) in numbered.into_iter().filter(|(_, path)| !deployed.migrations.contains_key(*path)) {
        if let Some((least, ran)) = last
            && number < least
            && !squash::stands_for_some(&folder.files[path].text)
            && faults.iter().all(|fault| fault.path != *path)
        {
            let message = format!("it comes late: {ran} has run already; give it a number above {least}");
            faults.push(Fault::of(path, message));
        }
        left.push(path.clone());
    }
    left
}

/// The number that a migration's name begins with.
pub(crate) fn number(path: &str) -> Option<u64> {
    let name = path.rsplit('/').next()?;
    let digits = name.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(name.len());
    name[..digits].parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn divided(letters: &str) -> String {
        let paths: Vec<String> = letters.chars().map(String::from).collect();
        let Stages { stages, after } = Stages::of(&paths, |path| path.chars().all(char::is_lowercase));
        let told: Vec<String> = stages
            .iter()
            .map(|stage| format!("{}[{}]", stage.steps.concat(), stage.migrations.concat()))
            .collect();
        format!("{}{}", told.concat(), after.concat())
    }

    #[test]
    fn steps_keep_their_place_among_migrations_and_come_before_the_code_where_they_stand_alone() {
        for (migrations, stages) in [
            ("", "[]"),
            ("A", "[A]"),
            ("a", "a[]"),
            ("ab", "ab[]"),
            ("aB", "a[B]"),
            ("Ab", "[A]b"),
            ("ABcdE", "[AB]cd[E]"),
            ("aBcDe", "a[B]c[D]e"),
        ] {
            assert_eq!(divided(migrations), stages, "{migrations}");
        }
    }
}
