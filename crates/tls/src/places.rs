//! The setting `howdah.tls_certificates`: where certificates and keys are, and reading them.
//!
//! A list separated by commas. An entry is `CERTIFICATE:KEY`, one file that has both, or a folder; before it may stand `DATABASE=`,
//! and then only that database's listeners use it.

use std::ffi::OsStr;
use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use crate::pem::LONGEST_FILE;

/// Certificates of a folder.
const MOST_OF_A_FOLDER: usize = 1000;

/// An entry of the setting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The one whose listeners may use it; none is all.
    pub database: Option<String>,
    /// Where it is.
    pub path: Where,
}

/// Where certificates are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Where {
    /// A chain, and its key.
    Pair(PathBuf, PathBuf),
    /// A file with both, or a folder.
    Path(PathBuf),
}

/// A certificate that an entry leads to.
#[derive(Debug)]
pub struct Found {
    /// The file with the chain.
    pub certificate: PathBuf,
    /// The file with the key, which can be the same.
    pub key: PathBuf,
    /// Whether its entry leads to this one by its form, so that it may be what clients get that name no other.
    pub may_be_default: bool,
    /// What they have in them, or why they cannot be read.
    pub files: Result<Files, String>,
}

/// The bytes of a chain and of its key.
#[derive(Debug)]
pub struct Files {
    /// The chain, and the key if there is no other file.
    pub certificates: Vec<u8>,
    /// The key.
    pub key: Option<Vec<u8>>,
}

/// Reads the setting.
///
/// # Errors
///
/// A sentence that names the entry and what is wrong with it.
pub fn parse(setting: &str) -> Result<Vec<Place>, String> {
    setting.split(',').map(str::trim).filter(|entry| !entry.is_empty()).map(Place::parse).collect()
}

impl Place {
    fn parse(entry: &str) -> Result<Self, String> {
        let (database, path) = match entry.split_once('=') {
            Some((database, path)) if !database.contains('/') => {
                (Some(database.trim().to_owned()), path.trim())
            }
            _ => (None, entry),
        };
        if database.as_deref() == Some("") {
            return Err(format!("\"{entry}\" names no database before its equals sign"));
        }
        let absolute = |path: &str| match path.starts_with('/') {
            true => Ok(PathBuf::from(path)),
            false => Err(format!("\"{path}\" is not an absolute path")),
        };
        let path = match path.split_once(':') {
            Some((certificate, key)) => Where::Pair(absolute(certificate.trim())?, absolute(key.trim())?),
            None => Where::Path(absolute(path)?),
        };
        Ok(Self { database, path })
    }

    /// Whether listeners of a database may use it.
    pub fn is_for(&self, database: &str) -> bool {
        self.database.as_deref().is_none_or(|named| named == database)
    }

    /// Reads what it leads to now, as the server whose processes run as this user.
    pub fn read(&self, server: u32) -> Vec<Found> {
        let (mut pairs, is_folder_of_many) = self.pairs();
        pairs.sort();
        pairs.dedup();
        let read = |(certificate, key): (PathBuf, PathBuf)| {
            let files = read_pair(&certificate, &key, server);
            Found { certificate, key, may_be_default: !is_folder_of_many, files }
        };
        pairs.into_iter().map(read).collect()
    }

    /// The files, and whether they are those of a folder that may have any number.
    fn pairs(&self) -> (Vec<(PathBuf, PathBuf)>, bool) {
        match &self.path {
            Where::Pair(certificate, key) => (vec![(certificate.clone(), key.clone())], false),
            Where::Path(path) if path.is_dir() => match pair_of_folder(path) {
                Some(pair) => (vec![pair], false),
                None => {
                    let mut pairs = loose_pairs(path);
                    pairs.extend(
                        entries(path)
                            .into_iter()
                            .filter(|entry| entry.is_dir())
                            .filter_map(|entry| pair_of_folder(&entry)),
                    );
                    pairs.truncate(MOST_OF_A_FOLDER);
                    (pairs, true)
                }
            },
            Where::Path(path) => (vec![(path.clone(), path.clone())], false),
        }
    }
}

/// What is in a folder, in the order of names, without what is hidden.
fn entries(folder: &Path) -> Vec<PathBuf> {
    let is_hidden =
        |path: &PathBuf| path.file_name().is_none_or(|name| name.as_encoded_bytes().starts_with(b"."));
    let read = fs::read_dir(folder).into_iter().flatten();
    let mut entries: Vec<_> =
        read.filter_map(|entry| Some(entry.ok()?.path())).filter(|path| !is_hidden(path)).collect();
    entries.sort();
    entries
}

/// The pair of a folder that has one: as certbot, Kubernetes and acme.sh make them.
fn pair_of_folder(folder: &Path) -> Option<(PathBuf, PathBuf)> {
    for [certificate, key] in [["fullchain.pem", "privkey.pem"], ["tls.crt", "tls.key"]] {
        let pair = (folder.join(certificate), folder.join(key));
        if pair.0.exists() {
            return Some(pair);
        }
    }
    let certificate = folder.join("fullchain.cer");
    let key = entries(folder).into_iter().find(|path| path.extension() == Some(OsStr::new("key")))?;
    certificate.exists().then_some((certificate, key))
}

/// The pairs that lie in a folder: NAME.pem or NAME.crt with NAME.key, or NAME.pem with its key in it.
fn loose_pairs(folder: &Path) -> Vec<(PathBuf, PathBuf)> {
    let is_certificate =
        |path: &PathBuf| path.extension().is_some_and(|end| end == "pem" || end == "crt") && path.is_file();
    let with_key = |path: PathBuf| {
        let key = path.with_extension("key");
        let key = if key.exists() { key } else { path.clone() };
        (path, key)
    };
    entries(folder).into_iter().filter(is_certificate).map(with_key).collect()
}

fn read_pair(certificate: &Path, key: &Path, server: u32) -> Result<Files, String> {
    if certificate == key {
        let certificates = read_file(certificate, |about| check_key(key, about, server))?;
        return Ok(Files { certificates, key: None });
    }
    let certificates = read_file(certificate, |_| Ok(()))?;
    let key = read_file(key, |about| check_key(key, about, server))?;
    Ok(Files { certificates, key: Some(key) })
}

/// Reads a regular file whose owner and mode pass a check; what is checked is what is read.
fn read_file(path: &Path, check: impl FnOnce(&Metadata) -> Result<(), String>) -> Result<Vec<u8>, String> {
    let failed = |error: io::Error| format!("cannot read {}: {error}", path.display());
    // Opening a pipe would wait for a writer.
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(libc::O_NONBLOCK | libc::O_CLOEXEC)
        .open(path)
        .map_err(failed)?;
    let about = file.metadata().map_err(failed)?;
    if !about.is_file() {
        return Err(format!("{} is not a regular file", path.display()));
    }
    check(&about)?;
    read_at_most(file).map_err(failed)
}

fn read_at_most(file: File) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    // One more than may be, so that a file that is too long is seen to be.
    file.take(LONGEST_FILE as u64 + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// PostgreSQL's own rules for `ssl_key_file`: nobody but the server's user, and root's group if root owns it, may read a key.
fn check_key(path: &Path, about: &Metadata, server: u32) -> Result<(), String> {
    let path = path.display();
    let owner = about.uid();
    if owner != server && owner != 0 {
        return Err(format!("the private key file {path} must be owned by the database user or root"));
    }
    let forbidden = if owner == server { 0o077 } else { 0o037 };
    if about.mode() & forbidden != 0 {
        return Err(format!(
            "the private key file {path} has group or world access: it must have permissions u=rw (0600) or less if owned by the \
             database user, or u=rw,g=r (0640) or less if owned by root; chmod 600 {path}"
        ));
    }
    Ok(())
}
