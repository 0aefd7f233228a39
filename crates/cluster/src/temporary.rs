//! A cluster for a test.

use std::env;
use std::ops::{Deref, DerefMut};
use std::path::PathBuf;

use crate::folder::Folder;
use crate::{Cluster, Error, Installation, Life, Options, Result};

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
    /// Starts a server of [`Installation::find`]. Without a stage in the options, that of the environment
    /// variable HOWDAH_STAGE is used, if there is one.
    pub fn start(mut options: Options) -> Result<Self> {
        if options.stage.is_none() {
            options.stage = env::var_os("HOWDAH_STAGE").filter(|stage| !stage.is_empty()).map(PathBuf::from);
        }
        options.unsafe_initdb = true;
        // First, so that a test's own settings win: what a test stores need not survive the power.
        options.settings.insert(0, ("fsync".into(), "off".into()));
        let temporary = env::temp_dir();
        let parent = tempfile::Builder::new()
            .prefix("howdah-test-")
            .permissions(std::os::unix::fs::PermissionsExt::from_mode(0o711))
            .tempdir_in(&temporary)
            .map_err(Error::file(&temporary, "make a folder in"))?;
        let asked = parent.path().join("cluster");
        let cluster = Cluster::prepare(Installation::find()?, &asked, options).inspect_err(|_| {
            if let Ok(folder) = Folder::find(&asked) {
                folder.remove(&asked);
            }
        })?;
        let mut started = Self { cluster, asked, _parent: parent };
        started.cluster.start(Life::WithParent)?;
        Ok(started)
    }
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
