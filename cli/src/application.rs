//! An application: a folder of SQL files.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use cluster::postgres::Client;
use cluster::postgres::error::{DbError, ErrorPosition, SqlState};
use cluster::{Cluster, Error};

use crate::failure::{Failure, Result};

/// What a line begins with that says how to try the application.
const TRY: &str = "-- try:";
/// What such a line calls the platform's address.
const ADDRESS: &str = "localhost:9000";

/// A file of an application.
#[derive(Debug)]
struct Script {
    path: PathBuf,
    text: String,
}

/// Whether a folder is deployed, and not loaded.
pub(crate) fn is_deployed(folder: &Path) -> bool {
    // A link that leads nowhere is there, too, and is refused as one.
    fs::symlink_metadata(folder.join(folder::manifest::FILE)).is_ok()
}

/// Runs the files that are new or have changed since they were last run on this database. Returns their names.
pub(crate) fn load(cluster: &Cluster, database: &str, folder: &Path) -> Result<Vec<String>> {
    let mut loaded = Loaded::read(cluster.path());
    let mut names = Vec::new();
    for script in scripts(folder)? {
        if loaded.is_current(database, &script) {
            continue;
        }
        run(cluster, database, &script)?;
        loaded.remember(database, &script)?;
        names.push(script.path.file_name().unwrap_or_default().to_string_lossy().into_owned());
    }
    Ok(names)
}

/// Forgets what was loaded into a database, because it is a new one.
pub(crate) fn forget(cluster: &Cluster, database: &str) -> Result<()> {
    let mut loaded = Loaded::read(cluster.path());
    loaded.checksums.retain(|(other, _), _| other != database);
    loaded.write()
}

/// The lines that say how to try the application, for a platform on this port.
pub(crate) fn suggestions(folder: &Path, port: u16) -> Result<Vec<String>> {
    let address = format!("localhost:{port}");
    let lines = |script: Script| {
        let lines = script.text.lines().filter_map(|line| line.trim().strip_prefix(TRY));
        lines.map(|line| line.trim().replace(ADDRESS, &address)).collect::<Vec<_>>()
    };
    let scripts = if is_deployed(folder) { files(folder)? } else { scripts(folder)? };
    Ok(scripts.into_iter().flat_map(lines).collect())
}

/// The files of a folder that is deployed.
fn files(folder: &Path) -> Result<Vec<Script>> {
    let read = folder::Folder::read(folder).map_err(|faults| Failure::Said(faults[0].to_string()))?;
    let script = |(path, file): (String, folder::File)| Script { path: folder.join(path), text: file.text };
    Ok(read.files.into_iter().map(script).collect())
}

fn scripts(folder: &Path) -> Result<Vec<Script>> {
    let unreadable = |path: &Path, error: std::io::Error| {
        Failure::Said(format!("cannot read the application {}: {error}", path.display()))
    };
    let entries = fs::read_dir(folder).map_err(|error| unreadable(folder, error))?;
    let mut paths = Vec::new();
    for entry in entries {
        let path = entry.map_err(|error| unreadable(folder, error))?.path();
        if path.extension().is_some_and(|extension| extension == "sql") {
            paths.push(path);
        }
    }
    paths.sort();
    let text = |path: &Path| {
        let bytes = folder::own::read(path)?;
        String::from_utf8(bytes).map_err(|_| std::io::Error::other("it is no UTF-8"))
    };
    let read = |path: PathBuf| match text(&path) {
        Ok(text) => Ok(Script { text, path }),
        Err(error) => Err(unreadable(&path, error)),
    };
    paths.into_iter().map(read).collect()
}

/// What is left of a file that has failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Left {
    Nothing,
    /// It has ended the transaction itself, by a commit say.
    Unknown,
    /// The connection is lost, and with it whoever could say.
    Unsaid,
}

/// Set within the transaction of a file, and there after its failure if that transaction has been committed.
const MARK: &str = "howdah_up.file";

fn run(cluster: &Cluster, database: &str, script: &Script) -> Result<()> {
    let mut client = cluster.connect(database)?;
    client.batch_execute(&format!("begin; set {MARK} = 'begun'"))?;
    let ran = client.batch_execute(&script.text);
    let has_run = ran.is_ok();
    ran.and_then(|()| client.batch_execute("commit")).map_err(|error| match error.as_db_error() {
        Some(found) => Failure::Said(describe(script, found, left(&mut client, has_run))),
        None => Failure::Cluster(Error::Sql(error)),
    })
}

/// What is left of a file that has failed, or that has run and whose commit has failed. Within the transaction that has been begun for it a
/// statement fails; and what it had set is gone with it.
fn left(client: &mut Client, has_run: bool) -> Left {
    if client.is_closed() {
        return Left::Unsaid;
    }
    let is_within = has_run
        || client
            .batch_execute("select")
            .is_err_and(|error| error.code() == Some(&SqlState::IN_FAILED_SQL_TRANSACTION));
    let mark = client
        .batch_execute("rollback")
        .and_then(|()| client.query_one("select pg_catalog.current_setting($1, true) = 'begun'", &[&MARK]));
    let was_committed = mark.map_or(true, |row| row.get::<_, Option<bool>>(0) == Some(true));
    if is_within && !was_committed { Left::Nothing } else { Left::Unknown }
}

/// The error in the manner of a compiler: file, line, message, the line itself.
fn describe(script: &Script, error: &DbError, left: Left) -> String {
    let position = match error.position() {
        Some(ErrorPosition::Original(position)) => Some(*position),
        _ => None,
    };
    let place = position.map(|position| line_at(&script.text, position));
    let path = script.path.display();
    let mut text = match place {
        Some((number, _)) => format!("{path}:{number}: {}", error.message()),
        None => format!("{path}: {}", error.message()),
    };
    if let Some((number, line)) = place {
        text.push_str(&format!("\n{number:>5} | {line}"));
    }
    for (label, more) in [("detail", error.detail()), ("hint", error.hint()), ("context", error.where_())] {
        if let Some(more) = more {
            text.push_str(&format!("\n{label}: {more}"));
        }
    }
    text + match left {
        Left::Nothing => "\nNothing of this file was kept.",
        Left::Unknown => {
            "\nThe file ends its transaction itself: what stands before that may have been kept."
        }
        Left::Unsaid => "",
    }
}

/// The line at a position, which counts characters from 1: its number and its text.
fn line_at(text: &str, position: u32) -> (usize, &str) {
    let before = (position as usize).saturating_sub(1);
    let offset = text.char_indices().nth(before).map_or(text.len(), |(offset, _)| offset);
    let number = text[..offset].matches('\n').count();
    (number + 1, text.lines().nth(number).unwrap_or_default())
}

/// What has been run, in the file `loaded` of the platform's folder: one line for each file, with its
/// checksum, database and path.
#[derive(Debug)]
struct Loaded {
    file: PathBuf,
    checksums: BTreeMap<(String, String), String>,
}

impl Loaded {
    /// A file that is missing or damaged costs one more run of the scripts, which must stand that.
    fn read(folder: &Path) -> Self {
        let file = folder.join("loaded");
        let text = fs::read_to_string(&file).unwrap_or_default();
        let entry = |line: &str| {
            let mut parts = line.splitn(3, '\t');
            let (checksum, database, path) = (parts.next()?, parts.next()?, parts.next()?);
            Some(((database.to_owned(), path.to_owned()), checksum.to_owned()))
        };
        Self { file, checksums: text.lines().filter_map(entry).collect() }
    }

    fn is_current(&self, database: &str, script: &Script) -> bool {
        self.checksums.get(&key(database, script)) == Some(&checksum(&script.text))
    }

    fn remember(&mut self, database: &str, script: &Script) -> Result<()> {
        self.checksums.insert(key(database, script), checksum(&script.text));
        self.write()
    }

    fn write(&self) -> Result<()> {
        let line = |((database, path), checksum): (&(String, String), &String)| {
            format!("{checksum}\t{database}\t{path}\n")
        };
        let text: String = self.checksums.iter().map(line).collect();
        fs::write(&self.file, text)
            .map_err(|error| Failure::Said(format!("cannot write {}: {error}", self.file.display())))
    }
}

fn key(database: &str, script: &Script) -> (String, String) {
    let path = fs::canonicalize(&script.path).unwrap_or_else(|_| script.path.clone());
    (database.to_owned(), path.to_string_lossy().replace(['\n', '\t'], " "))
}

/// Length and CRC-64 (ECMA-182): it must notice edits, not attacks.
fn checksum(text: &str) -> String {
    let step = |crc: u64, byte: u8| {
        (0..8).fold(crc ^ (u64::from(byte) << 56), |crc, _| {
            if crc >> 63 == 1 { (crc << 1) ^ 0x42f0_e1eb_a9ea_3693 } else { crc << 1 }
        })
    };
    format!("{}-{:016x}", text.len(), text.bytes().fold(0, step))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_position_becomes_a_line() {
        let text = "sélect 1;\nselect x;\n";
        assert_eq!(line_at(text, 1), (1, "sélect 1;"));
        assert_eq!(line_at(text, 18), (2, "select x;"));
        assert_eq!(line_at(text, 9999), (3, ""));
        assert_eq!(line_at("", 1), (1, ""));
    }

    #[test]
    fn scripts_come_in_the_order_of_their_names_with_their_suggestions() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
        write("2.sql", "-- try: curl localhost:9000/b\n");
        write("1.sql", "select 1;\n  -- try: curl -X POST 'localhost:9000/a?q'\n-- not this\n");
        write("readme.md", "-- try: nothing\n");
        assert_eq!(
            suggestions(folder.path(), 9001).unwrap(),
            ["curl -X POST 'localhost:9001/a?q'", "curl localhost:9001/b"]
        );
        assert!(suggestions(&folder.path().join("absent"), 1).is_err());
    }

    #[test]
    fn a_link_or_a_pipe_is_an_error_that_has_its_name_and_nothing_of_what_it_leads_to() {
        let folder = tempfile::tempdir().unwrap();
        let elsewhere = folder.path().join("secret");
        fs::write(&elsewhere, "-- try: secret\n").unwrap();
        std::os::unix::fs::symlink(&elsewhere, folder.path().join("1.sql")).unwrap();
        let error = suggestions(folder.path(), 1).unwrap_err().to_string();
        assert!(error.contains("1.sql: it is a symbolic link"), "{error}");
        fs::remove_file(folder.path().join("1.sql")).unwrap();
        assert!(
            std::process::Command::new("mkfifo").arg(folder.path().join("2.sql")).status().unwrap().success()
        );
        let error = suggestions(folder.path(), 1).unwrap_err().to_string();
        assert!(error.contains("2.sql: it is a named pipe"), "{error}");
    }

    #[test]
    fn a_script_is_current_until_it_changes_or_its_database_does() {
        let folder = tempfile::tempdir().unwrap();
        let script = |text: &str| Script { path: "/app/1.sql".into(), text: text.into() };
        let mut loaded = Loaded::read(folder.path());
        assert!(!loaded.is_current("app", &script("a")));
        loaded.remember("app", &script("a")).unwrap();
        let loaded = Loaded::read(folder.path());
        assert!(loaded.is_current("app", &script("a")));
        assert!(!loaded.is_current("app", &script("b")));
        assert!(!loaded.is_current("other", &script("a")));
    }
}
