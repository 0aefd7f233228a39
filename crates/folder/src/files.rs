//! The files of a folder, by what they are for.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::{fs, io};

use sha2::{Digest, Sha256};
use unicode_normalization::UnicodeNormalization;

use crate::{Fault, Manifest, Statics, manifest, own, pages, statics, text};

/// What a file is for, which is where it is. In the order in which they run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// `migrations/`: runs once, in the order of the numbers.
    Migration,
    /// `functions/`, `views/`, `pages/` and `grants.sql`: runs when it has changed, in any order.
    Code,
    /// `routes.sql` and `jobs.sql`: the routes and the kinds of jobs that there shall be.
    Routes,
    /// `static/`: the list of the files that clients get as they are.
    Static,
    /// `tests/`: runs before each deployment, or in it, and is undone.
    Test,
}

/// Folders whose files are deployed, whatever folders are in them.
pub const FOLDERS: [(&str, Kind); 5] = [
    ("migrations", Kind::Migration),
    ("functions", Kind::Code),
    ("views", Kind::Code),
    (pages::FOLDER, Kind::Code),
    ("tests", Kind::Test),
];
/// Files that are deployed beside them.
pub const FILES: [(&str, Kind); 3] =
    [("grants.sql", Kind::Code), ("routes.sql", Kind::Routes), ("jobs.sql", Kind::Routes)];

/// Whether a file is for routes, jobs or grants alone, and makes no objects.
pub fn makes_no_objects(path: &str) -> bool {
    FILES.iter().any(|(file, _)| *file == path)
}

/// Whether a file is a test that looks at the rows of the database to which it is deployed.
pub fn is_live_test(path: &str) -> bool {
    path.starts_with("tests/live/")
}

impl Kind {
    /// That of a file; none if it is not the deployment's.
    pub fn of(path: &str) -> Option<Kind> {
        if path == statics::INDEX {
            return Some(Kind::Static);
        }
        if pages::is_page(path) {
            return Some(Kind::Code);
        }
        if !path.ends_with(".sql") || path.starts_with("pages/") {
            return None;
        }
        let known = |places: &[(&str, Kind)], name: &str| {
            places.iter().find(|(place, _)| *place == name).map(|(_, kind)| *kind)
        };
        match path.split_once('/') {
            Some((folder, _)) => known(&FOLDERS, folder),
            None => known(&FILES, path),
        }
    }
}

/// A file that is deployed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    /// What it is for.
    pub kind: Kind,
    /// Its text.
    pub text: String,
    /// SHA-256 of the text, in hexadecimal digits.
    pub digest: String,
}

impl File {
    /// A file with this text.
    pub fn new(kind: Kind, text: String) -> File {
        let digest = Sha256::digest(&text).iter().map(|byte| format!("{byte:02x}")).collect();
        File { kind, text, digest }
    }
}

/// A folder that is an application.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Folder {
    /// What `howdah.toml` says.
    pub manifest: Manifest,
    /// The files by their paths, whose parts `/` divides.
    pub files: BTreeMap<String, File>,
    /// Files that clients get as they are: the list of them is one of the files.
    pub statics: Statics,
}

impl Folder {
    /// The files, as paths with texts.
    pub fn texts(&self) -> impl Iterator<Item = (&str, &str)> {
        self.files.iter().map(|(path, file)| (path.as_str(), file.text.as_str()))
    }

    /// SHA-256 of the paths and digests: two of the same files have the same. As the server computes it.
    pub fn fingerprint(&self) -> String {
        let mut hash = Sha256::new();
        self.files.iter().for_each(|(path, file)| hash.update(format!("{path} {}\n", file.digest)));
        hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// Reads a folder. All that is wrong with it is told.
    pub fn read(folder: &Path) -> Result<Folder, Vec<Fault>> {
        let mut faults = Vec::new();
        let mut paths = Vec::new();
        let manifest = read_manifest(folder).map_err(|fault| vec![fault])?;
        collect(folder, folder, &mut paths, &mut faults);
        let mut files: BTreeMap<String, File> = BTreeMap::new();
        let statics = read_statics(&mut paths, &manifest, &mut faults);
        if paths.iter().any(|(path, _)| path == statics::FOLDER) {
            faults.push(Fault::of(statics::FOLDER, "this is a file, where a folder is meant; rename it"));
        }
        for (path, place) in paths {
            let Some(kind) = Kind::of(&path) else {
                if ends_otherwise(&path) {
                    faults.push(Fault::of(
                        &path,
                        "its name ends otherwise than with .sql: it would not be deployed; rename it",
                    ));
                }
                if path.starts_with("pages/") {
                    faults.push(Fault::of(
                        &path,
                        "a page ends with .html or .txt: rename it, or move it to another folder",
                    ));
                } else if path.ends_with(".sql") && !is_elsewhere(&path) {
                    faults.push(Fault::of(&path, OUTSIDE));
                }
                continue;
            };
            match read_file(&path, &place) {
                Ok(text) => {
                    if files.insert(path.clone(), File::new(kind, text)).is_some() {
                        faults.push(Fault::of(&path, TWICE));
                    }
                }
                Err(fault) => faults.push(fault),
            }
        }
        faults.extend(pages::faults(files.iter().map(|(path, file)| (path.as_str(), file.text.as_str()))));
        if !statics.index.entries.is_empty() {
            files.insert(statics::INDEX.to_owned(), File::new(Kind::Static, statics.index.text()));
        }
        if faults.is_empty() { Ok(Folder { manifest, files, statics }) } else { Err(faults) }
    }
}

/// Takes the files of `static/` out of those of the folder, and reads them.
fn read_statics(paths: &mut Vec<(String, PathBuf)>, manifest: &Manifest, faults: &mut Vec<Fault>) -> Statics {
    let mut names: BTreeMap<String, PathBuf> = BTreeMap::new();
    paths.retain(|(path, place)| {
        let Some(name) = path.strip_prefix(statics::INDEX) else { return true };
        if names.insert(name.to_owned(), place.clone()).is_some() {
            faults.push(Fault::of(path, TWICE));
        }
        false
    });
    statics::read(names, manifest).unwrap_or_else(|found| {
        faults.extend(found);
        Statics::default()
    })
}

const TWICE: &str = "two files have this name, in two spellings of Unicode";

/// Whether something is looked at because of its path: it is in a folder that is deployed, or is one, or its name says that it is SQL.
fn is_looked_at(path: &str) -> bool {
    let top = path.split_once('/').map_or(path, |(top, _)| top);
    let is_sql = path.to_ascii_lowercase().ends_with(".sql") && !is_elsewhere(path);
    is_sql || top == statics::FOLDER || FOLDERS.iter().any(|(folder, _)| *folder == top)
}

/// Whether a deployment leaves alone what has this path.
fn is_elsewhere(path: &str) -> bool {
    path.starts_with("seeds/")
}

/// Whether a file of a folder that is deployed would be one, if its name were written in small letters.
fn ends_otherwise(path: &str) -> bool {
    let ending = path.len().saturating_sub(4);
    let is_sql =
        path.get(ending..).is_some_and(|ending| ending.eq_ignore_ascii_case(".sql") && ending != ".sql");
    is_sql && Kind::of(&format!("{}.sql", &path[..ending])).is_some()
}

const OUTSIDE: &str = "this is in none of migrations/, functions/, views/, pages/ and tests/, and is none of routes.sql, jobs.sql and grants.sql: it would not be deployed; move it";

fn read_manifest(folder: &Path) -> Result<Manifest, Fault> {
    let path = folder.join(manifest::FILE);
    match own::read(&path) {
        Ok(bytes) => Manifest::parse(&text::of_bytes(manifest::FILE, &bytes)?),
        // It is there, and is no file.
        Err(error) if error.kind() == io::ErrorKind::Other => {
            Err(Fault::of(manifest::FILE, error.to_string()))
        }
        Err(error) => Err(Fault::of(
            "",
            format!(
                "cannot read {}: {error}; howdah new NAME makes a folder that is an application",
                path.display()
            ),
        )),
    }
}

fn read_file(path: &str, place: &Path) -> Result<String, Fault> {
    let bytes = own::read(place).map_err(|error| Fault::of(path, format!("cannot read it: {error}")))?;
    let text = text::of_bytes(path, &bytes)?;
    if pages::is_page(path) { Ok(text) } else { text::without_psql(path, &text) }
}

/// The folder of a package manager's, which has tens of thousands of files that are none of an application.
pub const MODULES: &str = "node_modules";

/// All files below, with their paths; what begins with a dot, or ends with ~, is an editor's or git's.
fn collect(folder: &Path, top: &Path, paths: &mut Vec<(String, PathBuf)>, faults: &mut Vec<Fault>) {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) => {
            return faults.push(Fault::of("", format!("cannot read {}: {error}", folder.display())));
        }
    };
    for entry in entries.filter_map(Result::ok) {
        let place = entry.path();
        let Some(name) = entry.file_name().to_str().map(str::to_owned) else {
            faults.push(Fault::of("", format!("the name of {} is no UTF-8", place.display())));
            continue;
        };
        let below = place.strip_prefix(top).unwrap_or(&place);
        let is_well_known = name == ".well-known" && below.starts_with(statics::FOLDER);
        if name.starts_with('.') && !is_well_known || name.ends_with('~') || name == MODULES {
            continue;
        }
        let parts: Vec<String> = below.iter().map(|part| part.to_string_lossy().nfc().collect()).collect();
        let path = parts.join("/");
        match entry.file_type() {
            Ok(known) if known.is_dir() => collect(&place, top, paths, faults),
            Ok(known) if known.is_file() => paths.push((path, place)),
            Ok(known) if is_looked_at(&path) => {
                faults.extend(own::refusal(known).map(|why| Fault::of(&path, why)));
            }
            Ok(_) => {}
            Err(error) => faults.push(Fault::of(&path, format!("cannot read it: {error}"))),
        }
    }
}
