//! A cluster that is prepared once, and of which tests start copies.
//!
//! initdb and making an extension take more than a second of a processor; to copy what comes of it takes a tenth of that.

use std::fs::{self, File};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use crate::account::Account;
use crate::folder::Folder;
use crate::{Cluster, Error, Installation, Life, Options, Result, Shutdown};

/// The file that says what a template was made of. It is written last.
const MADE_OF: &str = "made-of";

/// The data of a cluster that does not run, with a private copy of the installation where there is a stage. The copies of the
/// data share these programs.
#[derive(Debug)]
pub struct Template {
    folder: Folder,
    installation: Installation,
}

impl Template {
    /// The template in a folder: the one that is there, or a new one if it was made of another PostgreSQL, another stage or
    /// by another `recipe`. `fill` brings a new cluster to where the copies begin; `recipe` tells one `fill` from another.
    /// Processes that ask at the same time wait for the one that makes it.
    ///
    /// # Errors
    ///
    /// Whatever keeps a cluster from being made, started or filled.
    pub fn in_folder(
        asked: &Path,
        options: Options,
        recipe: &str,
        fill: impl FnOnce(&Cluster) -> Result<()>,
    ) -> Result<Template> {
        let _making = lock(asked)?;
        let base = options.installation(asked)?;
        let made_of = made_of(&base, options.stage.as_deref(), recipe)?;
        let folder = Folder::prepare(asked, Account::for_server()?.as_ref())?;
        if fs::read_to_string(folder.path().join(MADE_OF)).is_ok_and(|found| found == made_of) {
            let installation = match options.stage {
                Some(_) => Cluster::private_installation_in(&folder)?,
                None => base,
            };
            return Ok(Template { folder, installation });
        }
        // Whatever is there is of an earlier build, or half of a template.
        folder.remove(asked);
        let mut cluster = Cluster::prepare(base, asked, options.for_tests())?;
        cluster.start(Life::WithParent)?;
        fill(&cluster)?;
        cluster.stop(Shutdown::Fast)?;
        let file = cluster.path().join(MADE_OF);
        fs::write(&file, made_of).map_err(Error::file(&file, "write"))?;
        let (folder, installation) = cluster.into_parts();
        Ok(Template { folder, installation })
    }

    /// Prepares a new folder with a copy of its data, which uses its programs. Starts nothing.
    pub(crate) fn copy(&self, folder: &Path, options: Options) -> Result<Cluster> {
        let account = Account::for_server()?;
        let folder = Folder::prepare(folder, account.as_ref())?;
        let server = folder.server();
        // There it is looked for by who attaches to the cluster.
        symlink(self.folder.server(), &server).map_err(Error::file(&server, "make the link"))?;
        let mut copy = Command::new("cp");
        copy.args(["--archive", "--reflink=auto"]).arg(self.folder.data()).arg(folder.data());
        let output = copy.output().map_err(Error::file(&folder.data(), "copy"))?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            return Err(Error::Failed { program: "cp".into(), said });
        }
        Ok(Cluster::of_copy(folder, self.installation.clone(), account, options))
    }
}

/// Taken by whoever looks for a template or makes it, beside its folder.
fn lock(asked: &Path) -> Result<File> {
    let path = asked.with_extension("lock");
    let parent = path.parent().unwrap_or(Path::new("/"));
    fs::create_dir_all(parent).map_err(Error::file(parent, "make"))?;
    let file = File::create(&path).map_err(Error::file(&path, "make"))?;
    file.lock().map_err(Error::file(&path, "lock"))?;
    Ok(file)
}

/// What a template depends on: the server's program, the recipe, and each byte of the stage.
fn made_of(base: &Installation, stage: Option<&Path>, recipe: &str) -> Result<String> {
    let program = base.program("postgres");
    let about = fs::metadata(&program).map_err(Error::file(&program, "read"))?;
    let mut hasher = DefaultHasher::new();
    (program, about.len(), about.modified().ok(), recipe).hash(&mut hasher);
    if let Some(stage) = stage {
        let entries = fs::read_dir(stage).map_err(Error::file(stage, "list"))?;
        let mut files: Vec<_> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
        files.sort();
        for file in files {
            fs::read(&file).map_err(Error::file(&file, "read"))?.hash(&mut hasher);
            file.hash(&mut hasher);
        }
    }
    Ok(format!("{:016x}\n", hasher.finish()))
}
