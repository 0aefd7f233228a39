//! A copy of the installation, mostly links, into which the extension is put.
//!
//! Loading an extension means putting files where the server looks, and the system's folders belong to root.
//! PostgreSQL finds its own folders relative to its program: with copies of `postgres` and `pg_config` (links
//! would be resolved) and links to all else, laid out as the installation is, a tree anywhere is an
//! installation. So nothing outside of it changes, several builds live side by side, and it works for an
//! ordinary user on every version.

use std::ffi::OsStr;
use std::fs::{self, Permissions};
use std::io::ErrorKind;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::account::Account;
use crate::folder::Folder;
use crate::{Error, Installation, Result};

/// Programs that ask where they are.
const COPIED: [&str; 2] = ["postgres", "pg_config"];

/// Makes a copy of an installation in a folder of ours, with the extension that is staged, and starts nothing.
/// For programs that start servers of their own.
pub fn private_installation(base: &Installation, stage: &Path, folder: &Path) -> Result<Installation> {
    let folder = Folder::prepare(folder, Account::for_server()?.as_ref())?;
    lay_out(base, stage, &folder.server())
}

/// Makes the tree in `into`, or brings it up to date, with the files of `stage`: libraries (`*.so`), control
/// and SQL files of extensions. Returns the installation that it is.
pub(crate) fn lay_out(base: &Installation, stage: &Path, into: &Path) -> Result<Installation> {
    let trunk = common_folder(&[&base.bindir, &base.pkglibdir, &base.libdir, &base.sharedir]);
    let within = |folder: &Path| into.join(folder.strip_prefix(&trunk).unwrap_or(folder));
    let extensions = base.sharedir.join("extension");
    link_all(&base.bindir, &within(&base.bindir), &COPIED)?;
    link_all(&base.pkglibdir, &within(&base.pkglibdir), &[])?;
    link_all(&base.sharedir, &within(&base.sharedir), &["extension"])?;
    link_all(&extensions, &within(&extensions), &[])?;
    link_libraries(base, &within(&base.libdir))?;
    for program in COPIED {
        copy(&base.program(program), &within(&base.bindir).join(program))?;
    }
    for file in files(stage)? {
        let folder = if file.extension() == Some(OsStr::new("so")) { &base.pkglibdir } else { &extensions };
        if let Some(name) = file.file_name() {
            copy(&file, &within(folder).join(name))?;
        }
    }
    let found = Installation::at(&within(&base.bindir).join("pg_config"))?;
    if found.pkglibdir == within(&base.pkglibdir) && found.sharedir == within(&base.sharedir) {
        Ok(found)
    } else {
        let reason = "this PostgreSQL does not look for its files beside its program. Use make install.";
        Err(Error::Unusable { path: into.to_owned(), reason: reason.into() })
    }
}

/// The deepest folder that holds all of them.
fn common_folder(folders: &[&Path]) -> PathBuf {
    let mut common = folders[0].to_owned();
    while !folders.iter().all(|folder| folder.starts_with(&common)) {
        common.pop();
    }
    common
}

/// PostgreSQL's own libraries, for builds whose programs look for them beside themselves. The system's
/// library folder holds thousands, and nobody looks for them here.
fn link_libraries(base: &Installation, into: &Path) -> Result<()> {
    let system = base.libdir.starts_with("/usr/lib") || base.libdir.starts_with("/lib");
    if system { Ok(()) } else { link_all(&base.libdir, into, &[]) }
}

/// Links to everything in a folder but the names given, and to folders that are not there as folders already.
fn link_all(from: &Path, into: &Path, except: &[&str]) -> Result<()> {
    make_folders(into)?;
    for target in files(from)? {
        let Some(name) = target.file_name().filter(|name| !except.iter().any(|other| *name == *other)) else {
            continue;
        };
        let link = into.join(name);
        match symlink(&target, &link) {
            Err(error) if error.kind() != ErrorKind::AlreadyExists => {
                return Err(Error::file(&link, "make the link")(error));
            }
            _ => {}
        }
    }
    Ok(())
}

/// Makes a folder and those above it, so that the server's account can enter whatever our umask is.
fn make_folders(path: &Path) -> Result<()> {
    if path.is_dir() {
        return Ok(());
    }
    if let Some(parent) = path.parent() {
        make_folders(parent)?;
    }
    fs::create_dir(path).map_err(Error::file(path, "make"))?;
    open_up(path)
}

fn open_up(path: &Path) -> Result<()> {
    fs::set_permissions(path, Permissions::from_mode(0o755)).map_err(Error::file(path, "open up"))
}

fn files(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder).map_err(Error::file(folder, "list"))?;
    entries.map(|entry| entry.map(|entry| entry.path()).map_err(Error::file(folder, "list"))).collect()
}

/// Copies a file unless the copy has the same size and is not older. The copy replaces its predecessor as a
/// whole: a server that has mapped that one goes on undisturbed.
fn copy(from: &Path, to: &Path) -> Result<()> {
    let new = fs::metadata(from).map_err(Error::file(from, "read"))?;
    let current = fs::symlink_metadata(to).ok().filter(|old| {
        old.is_file()
            && old.len() == new.len()
            && matches!((old.modified(), new.modified()), (Ok(a), Ok(b)) if a >= b)
    });
    if current.is_some() {
        return Ok(());
    }
    let mut partial = to.as_os_str().to_owned();
    partial.push(".new");
    // By a process of its own: a file that this process has open for writing is open for a moment in whatever another
    // thread starts meanwhile, too, and a program that is open for writing cannot be run.
    let mut command = Command::new("cp");
    let output = command.arg("--").arg(from).arg(&partial).output().map_err(Error::file(to, "write"))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        return Err(Error::Failed { program: "cp".into(), said });
    }
    open_up(Path::new(&partial))?;
    fs::rename(&partial, to).map_err(Error::file(to, "write"))
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
    use std::thread;

    use super::*;

    #[test]
    fn the_common_folder_is_the_deepest() {
        let folders =
            ["/usr/lib/postgresql/15/bin", "/usr/lib/postgresql/15/lib", "/usr/share/postgresql/15"];
        assert_eq!(common_folder(&folders.map(Path::new)), Path::new("/usr"));
        assert_eq!(common_folder(&["/pg/bin", "/pg/lib"].map(Path::new)), Path::new("/pg"));
    }

    #[test]
    fn the_tree_is_an_installation_with_the_staged_files() {
        let base = Installation::find().unwrap();
        let folder = tempfile::tempdir().unwrap();
        let (stage, tree) = (folder.path().join("stage"), folder.path().join("tree"));
        fs::create_dir(&stage).unwrap();
        fs::write(stage.join("mine.so"), "library").unwrap();
        fs::write(stage.join("mine.control"), "control").unwrap();
        for _ in 0..2 {
            let found = lay_out(&base, &stage, &tree).unwrap();
            assert_eq!(found.major, base.major);
            assert!(found.pkglibdir.starts_with(&tree));
            found.require_extension("mine").unwrap();
            assert!(found.program("initdb").exists());
            assert!(found.sharedir.join("extension/plpgsql.control").exists());
        }
        fs::write(stage.join("mine.control"), "changed control").unwrap();
        let found = lay_out(&base, &stage, &tree).unwrap();
        let control = fs::read_to_string(found.sharedir.join("extension/mine.control")).unwrap();
        assert_eq!(control, "changed control");
    }
    #[test]
    fn the_copies_run_while_other_threads_start_programs() {
        let base = Installation::find().unwrap();
        let folder = tempfile::tempdir().unwrap();
        let done = AtomicBool::new(false);
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    while !done.load(Relaxed) {
                        Command::new("true").output().unwrap();
                    }
                });
            }
            let failed = (0..300).find_map(|round| {
                let copy = folder.path().join(format!("pg_config.{round}"));
                copy_and_run(&base.program("pg_config"), &copy).err()
            });
            done.store(true, Relaxed);
            assert!(failed.is_none(), "{failed:?}");
        });
    }

    fn copy_and_run(from: &Path, to: &Path) -> std::io::Result<()> {
        copy(from, to).unwrap();
        Command::new(to).output().map(|_| ())
    }
}
