//! `howdah.toml`: what the application is called, and where it goes.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::Fault;

/// The file's name.
pub const FILE: &str = "howdah.toml";

/// What `howdah.toml` says.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// Its name: small letters, digits, `_` and `-`.
    pub name: String,
    /// The schema of its objects; its name unless it is given.
    pub schema: Option<String>,
    /// The role that owns them; `NAME_owner` unless it is given.
    pub owner: Option<String>,
    /// Extensions that it needs; an administrator makes them.
    #[serde(default)]
    pub extensions: Vec<String>,
    /// Roles that it needs besides its owner, who has to be a member; an administrator makes them.
    #[serde(default)]
    pub roles: Vec<String>,
    /// Whether it has query handlers, which answer what no route does; an administrator allows it.
    #[serde(default)]
    pub handlers: bool,
    /// Tables that seeds fill, each with the columns by which a row is known again, divided by commas.
    #[serde(default)]
    pub seeds: BTreeMap<String, String>,
    /// Folders in `static/` whose files have names that say what is in them, as bundlers make them.
    #[serde(default)]
    pub immutable: Vec<String>,
    /// Whether source maps in `static/` are published.
    #[serde(default)]
    pub source_maps: bool,
    /// The commands that make some of the static files.
    pub build: Option<Build>,
    /// Databases by a name of one's own, each as a connection string.
    #[serde(default)]
    pub environments: BTreeMap<String, String>,
}

/// Commands that make static files. A shell runs them, as whoever deploys.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Build {
    /// The command that makes them once, before the folder is read.
    pub command: String,
    /// The folder in that of the application where the commands run; that itself unless it is given.
    #[serde(default)]
    pub folder: String,
    /// The command that makes them anew at each save, beside `howdah dev`.
    pub watch: Option<String>,
}

impl Manifest {
    /// Reads the text of the file.
    pub fn parse(text: &str) -> Result<Manifest, Fault> {
        let manifest: Manifest = toml::from_str(text).map_err(|error| {
            let line = error.span().map(|span| text[..span.start.min(text.len())].matches('\n').count() + 1);
            Fault { line, ..Fault::of(FILE, error.message()) }
        })?;
        if !is_name(&manifest.name) {
            let message = format!(
                "name = {:?}: a name begins with a small letter and has small letters, digits, _ and -, 63 at most",
                manifest.name
            );
            return Err(Fault::of(FILE, message));
        }
        if let Some(build) = &manifest.build
            && (build.folder.starts_with('/') || build.folder.split('/').any(|name| name == ".."))
        {
            let message =
                format!("[build] folder = {:?}: it is a folder in that of the application", build.folder);
            return Err(Fault::of(FILE, message));
        }
        Ok(manifest)
    }

    /// That of an application of which only the name is known.
    pub fn named(name: &str) -> Manifest {
        Manifest {
            name: name.to_owned(),
            schema: None,
            owner: None,
            extensions: Vec::new(),
            roles: Vec::new(),
            handlers: false,
            seeds: BTreeMap::new(),
            immutable: Vec::new(),
            source_maps: false,
            build: None,
            environments: BTreeMap::new(),
        }
    }

    /// The schema of its objects.
    pub fn schema(&self) -> &str {
        self.schema.as_deref().unwrap_or(&self.name)
    }

    /// The role that owns them.
    pub fn owner(&self) -> String {
        self.owner.clone().unwrap_or_else(|| format!("{}_owner", self.name))
    }
}

/// Whether an application may be called so.
pub fn is_name(name: &str) -> bool {
    let is_first = name.bytes().next().is_some_and(|byte| byte.is_ascii_lowercase());
    let is_rest = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"_-".contains(&byte);
    is_first && name.len() <= 63 && name.bytes().all(is_rest)
}
