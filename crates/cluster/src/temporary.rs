//! A cluster for a test.

use std::env;
use std::ops::{Deref, DerefMut};
use std::path::{Path, PathBuf};

use crate::folder::Folder;
use crate::{Cluster, Error, Life, Options, Result, Template};

/// A running server in a folder of its own, both gone when the value is dropped. If the process is killed, the
/// server ends with it and only the folder stays.
#[derive(Debug)]
pub struct TemporaryCluster {
    cluster: Cluster,
    asked: PathBuf,
    /// Holds what was asked for: the cluster's folder, or a link to it.
    _parent: tempfile::TempDir,
}

impl TemporaryCluster {
    /// Starts a server of [`Options::installation`]. Without a stage in the options, that of the environment
    /// variable HOWDAH_STAGE is used, if there is one.
    pub fn start(mut options: Options) -> Result<Self> {
        options.stage = options.stage.or_else(stage);
        TemporaryCluster::begin(|folder| {
            Cluster::prepare(options.installation(folder)?, folder, options.for_tests())
        })
    }

    /// Starts a copy of a template.
    pub fn copy_of(template: &Template, options: Options) -> Result<Self> {
        TemporaryCluster::begin(|folder| template.copy(folder, options.for_tests()))
    }

    fn begin(prepare: impl FnOnce(&Path) -> Result<Cluster>) -> Result<Self> {
        let temporary = env::temp_dir();
        let parent = tempfile::Builder::new()
            .prefix("howdah-test-")
            .permissions(std::os::unix::fs::PermissionsExt::from_mode(0o711))
            .tempdir_in(&temporary)
            .map_err(Error::file(&temporary, "make a folder in"))?;
        let asked = parent.path().join("cluster");
        let cluster = prepare(&asked).inspect_err(|_| {
            if let Ok(folder) = Folder::find(&asked) {
                folder.remove(&asked);
            }
        })?;
        let mut started = Self { cluster, asked, _parent: parent };
        started.cluster.start(Life::WithParent)?;
        Ok(started)
    }
}

/// The stage that the environment variable HOWDAH_STAGE names.
pub fn stage() -> Option<PathBuf> {
    env::var_os("HOWDAH_STAGE").filter(|stage| !stage.is_empty()).map(PathBuf::from)
}

impl Deref for TemporaryCluster {
    type Target = Cluster;

    fn deref(&self) -> &Cluster {
        &self.cluster
    }
}

impl DerefMut for TemporaryCluster {
    fn deref_mut(&mut self) -> &mut Cluster {
        &mut self.cluster
    }
}

impl Drop for TemporaryCluster {
    fn drop(&mut self) {
        self.cluster.remove(&self.asked);
    }
}
