//! `howdah squash`: one migration stands for many. It is what `pg_dump` writes of a database in which they have run, and it is compared with them.

use std::collections::BTreeMap;
use std::fs;
use std::process::Command;

use cluster::{Options, TemporaryCluster};
use folder::{File, Folder, Kind, squash};

use super::{commit, interrupt, run, target};
use crate::arguments::Squash;
use crate::connection::Address;
use crate::database::{self, EXTENSION};
use crate::failure::{Failure, Result};
use crate::screen::say;
use crate::stage;

/// Writes the one and removes the others.
pub(crate) fn run(options: &Squash) -> Result<()> {
    let folder = target::read(&options.app)?;
    let mut old: BTreeMap<String, File> = folder.files.clone();
    old.retain(|path, file| {
        file.kind == Kind::Migration && options.through.is_none_or(|through| number(path) <= through)
    });
    if let Some(through) = options.through.filter(|through| !old.keys().any(|path| number(path) == *through))
    {
        return Err(Failure::Said(format!("--through {through}: no migration has this number")));
    }
    let last = old.keys().max_by_key(|path| number(path)).cloned();
    let Some(last) = last.filter(|_| old.len() > 1) else {
        return Err(Failure::Said("there are no two migrations to squash".into()));
    };
    let path = name(&last, &options.name);
    if folder.files.contains_key(&path) {
        return Err(Failure::Said(format!("{path} is there already: say another --name")));
    }
    if !options.uncommitted && !commit::has_all(&options.app, old.keys()) {
        return Err(Failure::Said(
            "git does not have all of these migrations as they are, and squash removes them: commit them first, or say --uncommitted".into(),
        ));
    }
    interrupt::notice();
    let server = Options {
        stage: stage::of(options.stage.as_deref()),
        preload: Some(EXTENSION.to_owned()),
        ..Options::default()
    };
    let cluster = TemporaryCluster::start(server.set("howdah.databases", ""))?;
    let before = dump(&cluster, "before", &folder, old.clone())?;
    refuse_interrupted()?;
    let named = others(&old);
    let text = squash::head(&named) + &before;
    let new = BTreeMap::from([(path.clone(), File::new(Kind::Migration, text.clone()))]);
    let after = dump(&cluster, "after", &folder, new)?;
    refuse_interrupted()?;
    if let Some((wanted, got)) = before.lines().zip(after.lines()).find(|(one, other)| one != other) {
        return Err(Failure::Said(format!(
            "the one migration would not make what the others do, and nothing is changed:\n  wanted: {wanted}\n  got:    {got}"
        )));
    }
    fs::write(options.app.join(&path), text)
        .map_err(|error| Failure::Said(format!("cannot write {path}: {error}")))?;
    for path in old.keys() {
        fs::remove_file(options.app.join(path))
            .map_err(|error| Failure::Said(format!("cannot remove {path}: {error}")))?;
    }
    say(&format!("{path} stands for {} migrations, which are gone.", old.len()));
    say("Where all of them have run howdah deploy notes that; elsewhere they have to run first, or none.");
    Ok(())
}

fn refuse_interrupted() -> Result<()> {
    match interrupt::was_noticed() {
        true => Err(Failure::Said("interrupted; nothing is changed".into())),
        false => Ok(()),
    }
}

fn number(path: &str) -> u64 {
    let name = path.rsplit('/').next().unwrap_or_default();
    let digits = name.bytes().take_while(u8::is_ascii_digit).count();
    name[..digits].parse().unwrap_or(0)
}

/// `migrations/050-NAME.sql` for `migrations/050-last.sql`.
fn name(last: &str, of: &str) -> String {
    let digits = last.rsplit('/').next().unwrap_or_default().bytes().take_while(u8::is_ascii_digit).count();
    let begin = last.rfind('/').map_or(0, |slash| slash + 1);
    format!("{}-{of}.sql", &last[..begin + digits])
}

/// The migrations, with the SHA-256 of their texts.
fn others(old: &BTreeMap<String, File>) -> BTreeMap<String, String> {
    old.iter().map(|(path, file)| (path.clone(), file.digest.clone())).collect()
}

/// What these migrations make in a database of their own, as SQL.
fn dump(
    cluster: &TemporaryCluster,
    database: &str,
    folder: &Folder,
    files: BTreeMap<String, File>,
) -> Result<String> {
    database::prepare(cluster, database)?;
    let address =
        Address::local(&cluster.connection_string(database)?, database.to_owned(), "howdah squash")?;
    let (manifest, schema) = (folder.manifest.clone(), folder.manifest.schema().to_owned());
    run::run_quietly(Folder { manifest, files }, &address)?;
    let program = cluster.installation().program("pg_dump");
    let mut command = Command::new(&program);
    command.envs(cluster.environment(database)?);
    command
        .args(["--no-owner", "--inserts", "--rows-per-insert=100", "--schema"])
        .arg(format!("\"{}\"", schema.replace('"', "\"\"")));
    let output = command
        .output()
        .map_err(|error| Failure::Said(format!("cannot run {}: {error}", program.display())))?;
    if !output.status.success() {
        return Err(Failure::Said(format!("pg_dump: {}", String::from_utf8_lossy(&output.stderr).trim())));
    }
    let text = String::from_utf8_lossy(&output.stdout);
    // A random word that newer ones write.
    let lines =
        text.lines().filter(|line| !line.starts_with("\\restrict") && !line.starts_with("\\unrestrict"));
    Ok(squash::of_dump(&lines.map(|line| format!("{line}\n")).collect::<String>()))
}
