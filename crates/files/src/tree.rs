//! The file that a path means.

use std::collections::HashMap;

use codings::Coding;

use crate::hashed::plain;
use crate::mount::FilePlace;

/// The page of a folder.
pub const INDEX: &str = "index.html";

/// Bytes that a name has, or had.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Version {
    /// SHA-256, in hexadecimal digits.
    pub digest: String,
    /// How many they are.
    pub size: u64,
    /// Since when the name has them, in seconds of the UNIX clock.
    pub since: u64,
    /// Whether it has them now. If not, its hashed name alone has, unless they are fixed.
    pub is_current: bool,
    /// Whether the name says what is in the file: it never has other bytes.
    pub is_fixed: bool,
    /// How many they are by each coding of [`Coding::ALL`], if they are there.
    pub packed: [Option<u64>; Coding::ALL.len()],
}

/// A file that a path means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StaticFile<'t> {
    /// Its name, without a digest: its end says the type.
    pub name: String,
    /// Its bytes.
    pub version: &'t Version,
    /// Whether the path has named these bytes, so that it never means others.
    pub is_immutable: bool,
}

/// The files of an application, by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tree {
    names: HashMap<String, Vec<Version>>,
}

/// The meaning of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PathFound<'t> {
    /// A file.
    File(StaticFile<'t>),
    /// A folder with a page, whose path ends with a slash.
    Folder,
    /// A path that names bytes which are not there.
    NoSuchBytes,
    /// No file.
    Nothing,
}

impl Tree {
    /// Adds bytes that a name has or had.
    pub fn add(&mut self, name: String, version: Version) {
        self.names.entry(name).or_default().push(version);
    }

    /// How many names there are.
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// The meaning of a place's name.
    pub fn find(&self, place: &FilePlace<'_>) -> PathFound<'_> {
        let name = &place.name;
        if name.is_empty() || name.ends_with('/') {
            // "/" is the folder of all.
            let page = format!("{}{INDEX}", name.trim_start_matches('/'));
            return match self.current(&page) {
                Some(_) if name.is_empty() => PathFound::Folder,
                Some(version) => PathFound::File(StaticFile { name: page, version, is_immutable: false }),
                None => PathFound::Nothing,
            };
        }
        if let Some(version) = self.current(name).or_else(|| self.fixed(name)) {
            let is_immutable = version.is_fixed;
            return PathFound::File(StaticFile { name: name.clone(), version, is_immutable });
        }
        if let Some((name, digits)) = plain(name)
            && let Some(versions) = self.names.get(&name)
        {
            let named = versions.iter().find(|version| version.digest.starts_with(digits));
            return match named {
                Some(version) => PathFound::File(StaticFile { name, version, is_immutable: true }),
                None => PathFound::NoSuchBytes,
            };
        }
        if self.current(&format!("{name}/{INDEX}")).is_some() {
            PathFound::Folder
        } else {
            PathFound::Nothing
        }
    }

    /// The file that a browser gets that goes to a page which is none.
    pub fn fallback(&self, place: &FilePlace<'_>) -> Option<StaticFile<'_>> {
        let name = place.mount.fallback_name()?;
        self.current(&name).map(|version| StaticFile { name, version, is_immutable: false })
    }

    /// The names of which [`Self::find`] and [`Self::fallback`] may ask for a place.
    pub fn names_for(place: &FilePlace<'_>) -> Vec<String> {
        let name = &place.name;
        let folder = name.trim_matches('/');
        let page = if folder.is_empty() { INDEX.to_owned() } else { format!("{folder}/{INDEX}") };
        let of_hashed = plain(name).map(|(name, _)| name);
        [Some(name.clone()), Some(page), of_hashed, place.mount.fallback_name()]
            .into_iter()
            .flatten()
            .collect()
    }

    /// The bytes that a name had, if it never has others.
    fn fixed(&self, name: &str) -> Option<&Version> {
        self.names.get(name)?.iter().find(|version| version.is_fixed)
    }

    /// The bytes that a name has now.
    pub fn current(&self, name: &str) -> Option<&Version> {
        self.names.get(name)?.iter().find(|version| version.is_current)
    }
}
