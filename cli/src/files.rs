//! Files of certificates and keys: written as a whole, with owner and mode, into folders that are ours.

use std::fs::{self, DirBuilder, File, Permissions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt, fchown};
use std::path::Path;

use nix::unistd::Uid;
use tempfile::Builder;

use crate::failure::{Failure, Result};

/// Whose a file is, and who else may use it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Access {
    /// Its user, if not the caller.
    pub(crate) user: Option<u32>,
    /// Its group, if not that of the caller.
    pub(crate) group: Option<u32>,
    pub(crate) mode: u32,
}

impl Access {
    /// That of a key of the caller's.
    pub(crate) const OWN_KEY: Access = Access { user: None, group: None, mode: 0o600 };
    /// That of a certificate, which clients get anyway.
    pub(crate) const PUBLIC: Access = Access { user: None, group: None, mode: 0o644 };
}

/// Replaces a file as a whole: whoever reads it gets all of the old one or all of the new one, and nobody a key before it is
/// protected.
pub(crate) fn replace(path: &Path, bytes: &[u8], access: Access) -> Result<()> {
    write_beside(path, bytes, access)
        .map_err(|error| Failure::Said(format!("cannot write {}: {error}", path.display())))
}

fn write_beside(path: &Path, bytes: &[u8], access: Access) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    // Servers pass over names that begin with a dot.
    let mut new =
        Builder::new().prefix(".new-").permissions(Permissions::from_mode(0o600)).tempfile_in(folder)?;
    new.write_all(bytes)?;
    fchown(new.as_file(), access.user, access.group)?;
    // After the change of the owner, which takes rights away, and without the umask.
    new.as_file().set_permissions(Permissions::from_mode(access.mode))?;
    new.as_file().sync_all()?;
    new.persist(path)?;
    Ok(())
}

/// Makes a folder of ours with this mode, and those above it, or finds it.
///
/// # Errors
///
/// It is a link, or another user's, who could have us write keys elsewhere.
pub(crate) fn own_folder(path: &Path, mode: u32) -> Result<()> {
    let failed = |error: io::Error| Failure::Said(format!("cannot make {}: {error}", path.display()));
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent).map_err(failed)?;
    }
    match DirBuilder::new().mode(0o700).create(path) {
        // Whatever the umask says: servers of other users pass through some.
        Ok(()) => fs::set_permissions(path, Permissions::from_mode(mode)).map_err(failed)?,
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
        Err(error) => return Err(failed(error)),
    }
    let found = fs::symlink_metadata(path).map_err(failed)?;
    let (name, caller) = (path.display(), Uid::effective());
    if !found.is_dir() {
        Err(Failure::Said(format!("{name} is not a folder; move it away")))
    } else if found.uid() != caller.as_raw() {
        Err(Failure::Said(format!(
            "{name} belongs to another user, who could have keys written elsewhere; run this as its owner, or make it yours: \
             chown {caller} '{name}'"
        )))
    } else {
        Ok(())
    }
}

/// Keeps others out of a folder, which have to ask as well, until the value is dropped or the process ends.
pub(crate) fn lock(folder: &Path) -> Result<File> {
    let path = folder.join("lock");
    let locked =
        File::options().create(true).append(true).open(&path).and_then(|file| file.lock().map(|()| file));
    locked.map_err(|error| Failure::Said(format!("cannot lock {}: {error}", path.display())))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().mode() & 0o777
    }

    #[test]
    fn a_file_is_replaced_with_its_mode_and_nothing_stays_beside_it() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("key");
        fs::write(&file, "old").unwrap();
        let mut opened = File::open(&file).unwrap();
        replace(&file, b"new", Access::OWN_KEY).unwrap();
        assert_eq!((fs::read_to_string(&file).unwrap().as_str(), mode(&file)), ("new", 0o600));
        assert_eq!(io::read_to_string(&mut opened).unwrap(), "old", "who reads the old one reads all of it");
        replace(&file, b"newer", Access::PUBLIC).unwrap();
        assert_eq!(mode(&file), 0o644);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        assert!(replace(&folder.path().join("absent/key"), b"", Access::OWN_KEY).is_err());
    }

    #[test]
    fn a_folder_is_ours_alone_and_no_link() {
        let parent = tempfile::tempdir().unwrap();
        let folder = parent.path().join("a/b");
        own_folder(&folder, 0o711).unwrap();
        own_folder(&folder, 0o700).unwrap();
        assert_eq!(mode(&folder), 0o711, "what is there stays as it is");
        let link = parent.path().join("link");
        symlink(&folder, &link).unwrap();
        assert!(own_folder(&link, 0o700).unwrap_err().to_string().contains("is not a folder"));
        if Uid::effective().is_root() {
            std::os::unix::fs::chown(&folder, Some(65534), None).unwrap();
            assert!(own_folder(&folder, 0o700).unwrap_err().to_string().contains("belongs to another user"));
        }
    }
}
