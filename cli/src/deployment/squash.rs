//! `howdah squash`: one migration stands for many. It is what `pg_dump` writes of a database in which they have run, and it is compared with them.

use std::collections::BTreeMap;
use std::fs;
use std::process::Command;

use cluster::{Options, TemporaryCluster};
use folder::{File, Folder, Kind, Statics, squash, text};

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
    let before = make(&cluster, "before", &folder, old.clone())?;
    refuse_interrupted()?;
    let text = squash::head(&others(&old)) + &before.own;
    let new = BTreeMap::from([(path.clone(), File::new(Kind::Migration, as_read(&path, &text)?))]);
    let after = make(&cluster, "after", &folder, new)?;
    refuse_interrupted()?;
    if let Some((object, wanted, got)) = squash::difference(&before.whole, &after.whole) {
        return Err(Failure::Said(format!(
            "the one migration would not make what the others do, and nothing is changed: {object}\n  wanted: {}\n  got:    {}",
            wanted.escape_debug(),
            got.escape_debug()
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

/// The text of a file as it is read again. An error if that is another.
fn as_read(path: &str, text: &str) -> Result<String> {
    if let Some(line) = text.split('\n').find(|line| line.contains('\r')) {
        return Err(Failure::Said(format!(
            "what the migrations make has a carriage return, which no file of a folder has, and nothing is changed: {}",
            line.escape_debug()
        )));
    }
    let read = text::of_bytes(path, text.as_bytes()).and_then(|text| text::without_psql(path, &text));
    read.map_err(|fault| Failure::Said(fault.to_string()))
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

/// A database in which migrations have run, as SQL.
struct Dumps {
    /// The application's schema, with its rows, as a migration.
    own: String,
    /// All of it, but for what is noted of the deployment.
    whole: String,
}

/// Has migrations run in a database of their own.
fn make(
    cluster: &TemporaryCluster,
    database: &str,
    folder: &Folder,
    files: BTreeMap<String, File>,
) -> Result<Dumps> {
    database::prepare(cluster, database)?;
    let address =
        Address::local(&cluster.connection_string(database)?, database.to_owned(), "howdah squash")?;
    let (manifest, schema) = (folder.manifest.clone(), folder.manifest.schema().to_owned());
    run::run_quietly(Folder { manifest, files, statics: Statics::default() }, &address)?;
    let steps = steps(&address)?;
    let schema = format!("\"{}\"", schema.replace('"', "\"\""));
    let own =
        dump(cluster, database, &["--no-owner", "--inserts", "--rows-per-insert=100", "--schema", &schema])?;
    let whole = dump(cluster, database, &["--exclude-table-data=deploy.*"])?;
    Ok(Dumps { own: squash::of_dump(&own, &steps), whole: squash::of_dump(&whole, &steps) })
}

/// By how much each sequence goes on, by its name as `pg_dump` writes it.
fn steps(address: &Address) -> Result<BTreeMap<String, i64>> {
    let mut client = address.connect()?;
    let rows = client.query(
        "select pg_catalog.format('%I.%I', s.schemaname, s.sequencename), s.increment_by from pg_catalog.pg_sequences s",
        &[],
    )?;
    Ok(rows.iter().map(|row| (row.get(0), row.get(1))).collect())
}

/// Output of `pg_dump`, without the two commands for psql that have another word each time.
fn dump(cluster: &TemporaryCluster, database: &str, arguments: &[&str]) -> Result<String> {
    let program = cluster.installation().program("pg_dump");
    let mut command = Command::new(&program);
    let output = command
        .envs(cluster.environment(database)?)
        .args(arguments)
        .output()
        .map_err(|error| Failure::Said(format!("cannot run {}: {error}", program.display())))?;
    if !output.status.success() {
        return Err(Failure::Said(format!("pg_dump: {}", String::from_utf8_lossy(&output.stderr).trim())));
    }
    let text = String::from_utf8(output.stdout)
        .map_err(|error| Failure::Said(format!("pg_dump has written no UTF-8: {error}")))?;
    // It stands above all statements, where no row is.
    let is_head = |line: &&str| line.is_empty() || line.starts_with("--") || line.starts_with("\\restrict ");
    let word = text.lines().take_while(is_head).find_map(|line| line.strip_prefix("\\restrict "));
    let word = word.map(str::to_owned);
    let Some(word) = word else { return Ok(text) };
    let is_command = |line: &&str| {
        let line = line.trim_end_matches('\n');
        [&format!("\\restrict {word}"), &format!("\\unrestrict {word}")]
            .iter()
            .any(|command| *command == line)
    };
    Ok(text.split_inclusive('\n').filter(|line| !is_command(line)).collect())
}
