//! How a cluster is set up.

use std::path::{Path, PathBuf};

use crate::folder::Folder;
use crate::{Installation, Result};

/// How a cluster is set up.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// A folder of libraries, control and SQL files that are put into a private copy of the installation.
    pub stage: Option<PathBuf>,
    /// The extension that is loaded with the server.
    pub preload: Option<String>,
    /// Settings of the server, over the defaults.
    pub settings: Vec<(String, String)>,
    /// Whether what initdb writes may be lost with the power. For tests.
    pub unsafe_initdb: bool,
    /// Variables of the server's environment.
    pub environment: Vec<(String, String)>,
}

impl Options {
    /// Adds a setting.
    pub fn set(mut self, name: &str, value: impl ToString) -> Self {
        self.settings.push((name.to_owned(), value.to_string()));
        self
    }

    /// The installation for a cluster in a folder: of its data's version, and with the extension unless that comes from a stage.
    pub fn installation(&self, folder: &Path) -> Result<Installation> {
        let version = Folder::find(folder).ok().and_then(|folder| folder.version());
        let has_extension = |found: &Installation| match (&self.stage, &self.preload) {
            (None, Some(extension)) => found.require_extension(extension).is_ok(),
            _ => true,
        };
        let is_version =
            |found: &Installation| version.as_ref().is_none_or(|data| *data == found.major.to_string());
        Installation::find_where(|found| is_version(found) && has_extension(found))
    }

    /// For a cluster whose data need not survive the power. A test's own settings win.
    pub(crate) fn for_tests(mut self) -> Self {
        self.unsafe_initdb = true;
        self.settings.insert(0, ("fsync".into(), "off".into()));
        self
    }
}
