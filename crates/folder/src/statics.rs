//! The files of `static/`, which clients get as they are: the list of them is deployed as one text, and their bytes are sent beside it.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use files::hashed::hashed;
use files::index::check_name;
use files::{Index, IndexEntry, LONGEST, MOST, css};
use sha2::{Digest, Sha256};

use crate::{Fault, Manifest, own};

/// The folder.
pub const FOLDER: &str = "static";
/// The path of the list among the files that are deployed.
pub const INDEX: &str = "static/";
/// Ends of names that are left out: nobody means to publish them. Of source maps `howdah.toml` may say otherwise.
const LEFT_OUT: [&str; 3] = [".sql", ".toml", ".map"];

/// Where the bytes of a file are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Bytes {
    /// In a file.
    Of(PathBuf),
    /// Here: a style sheet whose addresses are others than in its file.
    Here(Vec<u8>),
}

/// The bytes of files, by their digests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Content {
    /// A name of one that has them, in `static/`.
    pub name: String,
    /// How many they are.
    pub size: u64,
    bytes: Bytes,
}

impl Content {
    /// Reads them.
    ///
    /// # Errors
    ///
    /// That of the system; or that they are others by now.
    pub fn read(&self, digest: &str) -> io::Result<Vec<u8>> {
        let bytes = match &self.bytes {
            Bytes::Of(place) => own::read(place)?,
            Bytes::Here(bytes) => bytes.clone(),
        };
        if digest_of(&bytes) != digest {
            return Err(io::Error::other("it has changed just now"));
        }
        Ok(bytes)
    }
}

/// The files of a folder.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Statics {
    /// Which name has which bytes.
    pub index: Index,
    /// The bytes, by digest.
    pub contents: BTreeMap<String, Content>,
    /// Likely mistakes in style sheets.
    pub warnings: Vec<Fault>,
}

/// Reads the files of `static/`, by their names in it. All that is wrong with them is told. The manifest says whether source maps are published, and which
/// names say what is in them.
pub(crate) fn read(files: BTreeMap<String, PathBuf>, manifest: &Manifest) -> Result<Statics, Vec<Fault>> {
    let is_left_out = |name: &str| {
        let end = LEFT_OUT.into_iter().find(|end| name.to_ascii_lowercase().ends_with(end));
        end.is_some_and(|end| !(manifest.source_maps && end == ".map"))
    };
    let files: BTreeMap<String, PathBuf> = files.into_iter().filter(|(name, _)| !is_left_out(name)).collect();
    if files.len() > MOST {
        let message = format!("there are {} files in static/; {MOST} is the most", files.len());
        return Err(vec![Fault::of("", message)]);
    }
    let mut reading =
        Reading { files: &files, manifest, statics: Statics::default(), begun: BTreeSet::new() };
    let mut faults = Vec::new();
    for name in files.keys() {
        if let Err(error) = check_name(name) {
            faults.push(Fault::of(&path_of(name), error.to_string()));
        } else if let Err(error) = reading.read(name) {
            faults.push(Fault::of(&path_of(name), error));
        }
    }
    if faults.is_empty() { Ok(reading.statics) } else { Err(faults) }
}

fn path_of(name: &str) -> String {
    format!("{INDEX}{name}")
}

/// Files, of which some are read.
struct Reading<'f> {
    files: &'f BTreeMap<String, PathBuf>,
    manifest: &'f Manifest,
    statics: Statics,
    /// Style sheets that are being read: one that reads another which reads it has no digest yet.
    begun: BTreeSet<String>,
}

impl Reading<'_> {
    /// Reads a file, and those before it whose names its addresses say.
    fn read(&mut self, name: &str) -> Result<(), String> {
        if self.statics.index.entries.contains_key(name) {
            return Ok(());
        }
        let place = &self.files[name];
        // A bundler has made the addresses of its sheets as it means them.
        let is_sheet = name.to_ascii_lowercase().ends_with(".css") && !self.is_fixed(name);
        let sheet = if is_sheet { sheet_in(place)? } else { None };
        let (digest, size, bytes) = match sheet {
            Some(sheet) => {
                self.begun.insert(name.to_owned());
                let sheet = self.with_hashed_names(name, &sheet)?.into_bytes();
                self.begun.remove(name);
                (digest_of(&sheet), sheet.len() as u64, Bytes::Here(sheet))
            }
            None => {
                let (digest, size) = measure(place).map_err(|error| format!("cannot read it: {error}"))?;
                (digest, size, Bytes::Of(place.clone()))
            }
        };
        if size > LONGEST {
            return Err(format!("it has {size} bytes; {LONGEST} is the most"));
        }
        let content = Content { name: name.to_owned(), size, bytes };
        self.statics.contents.entry(digest.clone()).or_insert(content);
        let entry = IndexEntry { digest, size, is_fixed: self.is_fixed(name) };
        self.statics.index.entries.insert(name.to_owned(), entry);
        Ok(())
    }

    /// Whether a name says what is in the file.
    fn is_fixed(&self, name: &str) -> bool {
        let is_in = |folder: &String| {
            name.strip_prefix(folder.trim_end_matches('/')).is_some_and(|rest| rest.starts_with('/'))
        };
        self.manifest.immutable.iter().any(is_in)
    }

    /// A style sheet with the hashed names of the files that it names.
    fn with_hashed_names(&mut self, name: &str, sheet: &str) -> Result<String, String> {
        let mut instead = BTreeMap::new();
        for address in css::addresses(sheet) {
            let Some((target, _)) = css::target(name, address.text) else { continue };
            if !self.files.contains_key(&target) {
                let line = sheet[..address.place.start].matches('\n').count() + 1;
                let message = format!("there is no file {}", path_of(&target));
                self.statics.warnings.push(Fault { line: Some(line), ..Fault::of(&path_of(name), message) });
                continue;
            }
            // Of two that read each other nobody has a digest before the other: the plain name stays.
            if self.begun.contains(&target) {
                continue;
            }
            self.read(&target).map_err(|error| format!("{}: {error}", path_of(&target)))?;
            let digest = &self.statics.index.entries[&target].digest;
            let last = target.rsplit('/').next().unwrap_or(&target);
            instead.insert(address.place.start, css::renamed(address.text, &hashed(last, digest)));
        }
        Ok(css::replaced(sheet, |address| instead.remove(&address.place.start)))
    }
}

/// The text of a style sheet; none if it is no UTF-8, and stays as it is.
fn sheet_in(place: &Path) -> Result<Option<String>, String> {
    let bytes = own::read(place).map_err(|error| format!("cannot read it: {error}"))?;
    Ok(String::from_utf8(bytes).ok())
}

/// The digest and the length of a file.
fn measure(place: &Path) -> io::Result<(String, u64)> {
    let (mut file, mut hash, mut size) = (own::open(place)?, Sha256::new(), 0);
    let mut part = vec![0; 64 << 10];
    loop {
        match file.read(&mut part)? {
            0 => return Ok((hexadecimal(&hash.finalize()), size)),
            count => {
                hash.update(&part[..count]);
                size += count as u64;
            }
        }
    }
}

fn digest_of(bytes: &[u8]) -> String {
    hexadecimal(&Sha256::digest(bytes))
}

fn hexadecimal(digest: &[u8]) -> String {
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}
