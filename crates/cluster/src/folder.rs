//! Where data, socket and log stand so that the server's account can reach them.

use std::fs::{self, Permissions};
use std::io::ErrorKind;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt, chown, symlink};
use std::path::{Path, PathBuf};

use crate::account::Account;
use crate::{Error, Result};

/// Where folders go whose own place the server's account cannot enter.
const SHARED_PARENT: &str = "/var/lib/howdah";
/// A socket's path must fit into `sun_path`, which holds 107 bytes. We stay below 100.
const MAX_SOCKET_PATH: usize = 99;
/// What PostgreSQL calls its socket on our port.
const SOCKET_NAME: &str = ".s.PGSQL.5432";

/// The folder of a cluster.
#[derive(Clone, Debug)]
pub(crate) struct Folder {
    /// Where it really is.
    path: PathBuf,
}

impl Folder {
    /// Makes the folder, or finds it as an earlier run has made it. Where the server's account cannot enter
    /// the place that was asked for (a clone under root's home, a private temporary folder), the folder stands
    /// below /var/lib/howdah and the place is a link to it.
    pub(crate) fn prepare(asked: &Path, account: Option<&Account>) -> Result<Self> {
        let asked = std::path::absolute(asked).map_err(Error::file(asked, "find"))?;
        let parent = asked.parent().unwrap_or(Path::new("/"));
        fs::create_dir_all(parent).map_err(Error::file(parent, "make"))?;
        let path = match (fs::read_link(&asked), account) {
            (Ok(target), _) => parent.join(target),
            (Err(_), Some(account)) if !asked.exists() && !account.can_enter(parent) => {
                let elsewhere = shared_path(&asked)?;
                symlink(&elsewhere, &asked).map_err(Error::file(&asked, "make the link"))?;
                elsewhere
            }
            (Err(_), _) => asked,
        };
        own_folder(&path, account.is_some())?;
        // The links on the way are resolved, so that the path equals what /proc says of the server.
        let path = fs::canonicalize(&path).map_err(Error::file(&path, "find"))?;
        if account.is_some_and(|account| !account.can_enter(&path)) {
            let reason =
                "PostgreSQL, which does not run as root, cannot enter it. Move it away and start again.";
            return Err(Error::Unusable { path, reason: reason.into() });
        }
        Ok(Self { path })
    }

    /// Finds the folder without making anything.
    pub(crate) fn find(asked: &Path) -> Result<Self> {
        fs::canonicalize(asked).map(|path| Self { path }).map_err(Error::file(asked, "open"))
    }

    /// The folder itself, links resolved.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn data(&self) -> PathBuf {
        self.path.join("data")
    }

    /// The major version of its data, if there are any.
    pub(crate) fn version(&self) -> Option<String> {
        fs::read_to_string(self.data().join("PG_VERSION")).ok().map(|version| version.trim().to_owned())
    }

    pub(crate) fn log(&self) -> PathBuf {
        self.path.join("log")
    }

    pub(crate) fn configuration(&self) -> PathBuf {
        self.path.join("postgresql.conf")
    }

    pub(crate) fn access(&self) -> PathBuf {
        self.path.join("pg_hba.conf")
    }

    pub(crate) fn server(&self) -> PathBuf {
        self.path.join("server")
    }

    /// The folder of the socket, links resolved.
    pub(crate) fn socket(&self) -> Result<PathBuf> {
        let path = self.path.join("socket");
        fs::canonicalize(&path).map_err(Error::file(&path, "find"))
    }

    /// Makes the folder of the socket: inside, or where that path is too long, under /tmp with a link to it.
    pub(crate) fn prepare_socket(&self, account: Option<&Account>) -> Result<PathBuf> {
        let inside = self.path.join("socket");
        if inside.as_os_str().len() + 1 + SOCKET_NAME.len() <= MAX_SOCKET_PATH {
            private_folder(&inside, account)?;
            return Ok(inside);
        }
        if let Ok(known) = fs::canonicalize(&inside) {
            private_folder(&known, account)?;
            return Ok(known);
        }
        // Its name is random and it must not exist: /tmp is everybody's.
        let short = tempfile::Builder::new()
            .prefix("howdah-")
            .permissions(Permissions::from_mode(0o700))
            .tempdir_in("/tmp")
            .map_err(Error::file(Path::new("/tmp"), "make a folder in"))?
            .keep();
        if let Some(account) = account {
            chown(&short, Some(account.uid), Some(account.gid)).map_err(Error::file(&short, "give away"))?;
        }
        let _ = fs::remove_file(&inside);
        symlink(&short, &inside).map_err(Error::file(&inside, "make the link"))?;
        Ok(short)
    }

    /// Removes everything, the folder under /tmp and whatever a link at `asked` leads to included.
    pub(crate) fn remove(&self, asked: &Path) {
        if let Ok(socket) = self.socket() {
            let _ = fs::remove_dir_all(socket);
        }
        let _ = fs::remove_dir_all(&self.path);
        let _ = fs::remove_file(asked);
    }
}

/// A path below /var/lib/howdah that is always the same for the same place.
fn shared_path(asked: &Path) -> Result<PathBuf> {
    let parent = Path::new(SHARED_PARENT);
    fs::create_dir_all(parent).map_err(Error::file(parent, "make"))?;
    fs::set_permissions(parent, Permissions::from_mode(0o755)).map_err(Error::file(parent, "open up"))?;
    Ok(parent.join(format!("{:016x}", fnv1a(asked.as_os_str().as_encoded_bytes()))))
}

/// The hash of Fowler, Noll and Vo: short, and the same in every build.
fn fnv1a(bytes: &[u8]) -> u64 {
    let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, step)
}

/// Makes the folder of the cluster. It is ours, even where the server runs as another: we write files in it,
/// and an account that could put links there would choose which files. The server's account may pass through.
fn own_folder(path: &Path, passable: bool) -> Result<()> {
    folder(path, nix::unistd::geteuid().as_raw(), "you", if passable { 0o711 } else { 0o700 })
}

/// Makes a folder that only the server's account can enter.
pub(crate) fn private_folder(path: &Path, account: Option<&Account>) -> Result<()> {
    let Some(account) = account else { return own_folder(path, false) };
    if fs::DirBuilder::new().mode(0o700).create(path).is_ok() {
        chown(path, Some(account.uid), Some(account.gid)).map_err(Error::file(path, "give away"))?;
    }
    folder(path, account.uid, &account.name, 0o700)
}

/// Makes a folder with this mode. One that exists must have this owner.
fn folder(path: &Path, owner: u32, owner_name: &str, mode: u32) -> Result<()> {
    match fs::DirBuilder::new().mode(mode).create(path) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => {
            return Err(Error::file(path, "make")(error));
        }
        _ => {}
    }
    let found = fs::symlink_metadata(path).map_err(Error::file(path, "look at"))?;
    let unusable = |reason: String| Err(Error::Unusable { path: path.to_owned(), reason });
    if !found.is_dir() {
        unusable("it is not a folder".into())
    } else if found.uid() != owner {
        unusable(format!("it does not belong to {owner_name}, so another user made it. Name another folder."))
    } else {
        fs::set_permissions(path, Permissions::from_mode(mode)).map_err(Error::file(path, "protect"))
    }
}
