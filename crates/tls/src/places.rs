//! The setting `howdah.tls_certificates`: where certificates and keys are, and reading them.
//!
//! A list separated by commas. An entry is `CERTIFICATE:KEY`, one file that has both, or a folder. Before it may stand
//! `DATABASE=`: then only that database's listeners use it.

use std::collections::HashSet;
use std::fmt;
use std::path::{Path, PathBuf};

use crate::files::{read_both, read_certificates, read_key};
use crate::folders::{self, Files};
use crate::pem::lacks_key;

/// Certificates that are taken of a folder.
pub const MAX_OF_A_FOLDER: usize = 1000;

/// An entry of the setting.
///
/// ```
/// let places = tls::places::parse("/etc/letsencrypt/live, shop=/etc/shop.pem:/etc/shop.key")?;
/// assert!(places[0].is_for("shop") && places[0].is_for("postgres"));
/// assert!(places[1].is_for("shop") && !places[1].is_for("postgres"));
/// # Ok::<(), String>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The one whose listeners may use it; without one, all.
    pub database: Option<String>,
    location: Location,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Location {
    Pair {
        certificate: PathBuf,
        key: PathBuf,
    },
    /// A file with both, or a folder: what it is now is seen when it is read.
    Path(PathBuf),
}

/// A certificate that an entry leads to.
pub struct Found {
    /// The file of the certificate; a folder if that cannot be read.
    pub certificate_file: PathBuf,
    /// The file of the key, if it is another.
    pub key_file: Option<PathBuf>,
    /// Whether the entry leads to exactly one certificate by its form, so that this may be the default. A folder of many gives
    /// names only, or the default would change when a file comes.
    pub may_be_default: bool,
    /// The bytes of the certificate's file and of the key's, for [`Pair::load`](crate::Pair::load), or a sentence that says why
    /// they cannot be read.
    pub files: Result<(Vec<u8>, Option<Vec<u8>>), String>,
}

/// Reads the setting. An empty one has no entries.
///
/// # Errors
/// A sentence that names the entry and says what is wrong with it.
pub fn parse(setting: &str) -> Result<Vec<Place>, String> {
    let entries = setting.split(',').map(str::trim).filter(|entry| !entry.is_empty());
    entries.map(|entry| Place::parse(entry).map_err(|reason| format!("\"{entry}\" {reason}"))).collect()
}

/// Reads what the entries for a database lead to now, in their order, each with the number of its entry. What several lead to is
/// found by the first: the default of one entry may lie in the folder of another.
pub fn read(places: &[Place], database: &str, server_uid: u32) -> Vec<(usize, Found)> {
    let ours = places.iter().enumerate().filter(|(_, place)| place.is_for(database));
    let found =
        ours.flat_map(|(number, place)| place.read(server_uid).into_iter().map(move |found| (number, found)));
    let mut seen = HashSet::new();
    found.filter(|(_, found)| seen.insert(found.certificate_file.clone())).collect()
}

impl Place {
    fn parse(entry: &str) -> Result<Place, String> {
        let (database, path) = match entry.split_once('=') {
            // A path may have equals signs as well.
            Some((database, path)) if !entry.starts_with('/') => {
                (Some(database.trim_end().to_owned()), path.trim_start())
            }
            _ => (None, entry),
        };
        if database.as_deref() == Some("") {
            return Err("names no database before its equals sign".to_owned());
        }
        let location = match path.split_once(':') {
            Some((_, key)) if key.contains(':') => {
                return Err(
                    "has two colons; an entry is CERTIFICATE:KEY, a file with both, or a folder".to_owned()
                );
            }
            Some((certificate, key)) => {
                Location::Pair { certificate: absolute(certificate)?, key: absolute(key)? }
            }
            None => Location::Path(absolute(path)?),
        };
        Ok(Place { database, location })
    }

    /// The file or folder that it names; none for a pair of files.
    pub fn path(&self) -> Option<&Path> {
        match &self.location {
            Location::Pair { .. } => None,
            Location::Path(path) => Some(path),
        }
    }

    /// Whether a database's listeners may use it.
    pub fn is_for(&self, database: &str) -> bool {
        self.database.as_deref().is_none_or(|named| named == database)
    }

    /// Reads what it leads to now, in the order of the names. `server_uid` is the user whom the server runs as. What cannot be
    /// read is among the found, with its reason.
    pub fn read(&self, server_uid: u32) -> Vec<Found> {
        match &self.location {
            Location::Pair { certificate, key } => {
                let key = (key != certificate).then(|| key.clone());
                vec![Found::read(Files { certificate: certificate.clone(), key }, true, server_uid)]
            }
            Location::Path(folder) if folder.is_dir() => match folders::one(folder) {
                Some(files) => vec![Found::read(files, true, server_uid)],
                None => read_many(folder, server_uid),
            },
            Location::Path(file) => {
                vec![Found::read(Files { certificate: file.clone(), key: None }, true, server_uid)]
            }
        }
    }
}

/// Processes run in the data directory and commands elsewhere: a relative path would mean something else to each.
fn absolute(path: &str) -> Result<PathBuf, String> {
    match path.trim() {
        "" => Err("lacks a path".to_owned()),
        path if path.starts_with('/') => Ok(PathBuf::from(path)),
        path => Err(format!("has a relative path, \"{path}\": write all of it, from the first slash on")),
    }
}

fn read_many(folder: &Path, server_uid: u32) -> Vec<Found> {
    let files = match folders::many(folder) {
        Ok(files) => files,
        Err(reason) => return vec![Found::failed(folder, reason)],
    };
    let mut all = Vec::new();
    for files in files {
        let found = Found::read(files, false, server_uid);
        if found.lacks_key() {
            continue;
        }
        if all.len() == MAX_OF_A_FOLDER {
            let reason = format!("has more than {MAX_OF_A_FOLDER} certificates; the others are not used");
            all.push(Found::failed(folder, format!("directory \"{}\" {reason}", folder.display())));
            break;
        }
        all.push(found);
    }
    if all.is_empty() {
        let live = folder.join("live");
        let advice = if live.is_dir() { format!("; write {}", live.display()) } else { String::new() };
        let reason = format!("directory \"{}\" has no certificate with its key{advice}", folder.display());
        all.push(Found::failed(folder, reason));
    }
    all
}

impl Found {
    fn read(files: Files, may_be_default: bool, server_uid: u32) -> Found {
        let bytes = match &files.key {
            None => read_both(&files.certificate, server_uid).map(|both| (both, None)),
            Some(key) => read_certificates(&files.certificate)
                .and_then(|certificates| Ok((certificates, Some(read_key(key, server_uid)?)))),
        };
        Found { certificate_file: files.certificate, key_file: files.key, may_be_default, files: bytes }
    }

    fn failed(folder: &Path, reason: String) -> Found {
        Found {
            certificate_file: folder.to_owned(),
            key_file: None,
            may_be_default: false,
            files: Err(reason),
        }
    }

    /// Whether it is a file of a folder that could have had a key in it: parameters, or an authority's certificate. One that is
    /// being written stays, with the error that it then has: whoever has loaded it before goes on with that.
    fn lacks_key(&self) -> bool {
        matches!(&self.files, Ok((bytes, None)) if lacks_key(bytes))
    }
}

/// Without the bytes, which have the key.
impl fmt::Debug for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let files =
            self.files.as_ref().map(|(certificates, key)| (certificates.len(), key.as_ref().map(Vec::len)));
        f.debug_struct("Found")
            .field("certificate_file", &self.certificate_file)
            .field("key_file", &self.key_file)
            .field("may_be_default", &self.may_be_default)
            .field("lengths", &files)
            .finish()
    }
}
