//! As whom the server runs.
//!
//! PostgreSQL refuses to run as root. Where we are root it runs as `postgres`, the account that PostgreSQL's
//! packages make; without them as `howdah`, a system account of our own that is made when it is missing. Not
//! as `nobody`: other services share that account, and could read the data.

use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

use nix::unistd::{Uid, User};

use crate::{Error, Result};

const PREFERRED: &str = "postgres";
const OWN: &str = "howdah";

/// The account that a server runs as when it is not our own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Account {
    /// Its name.
    pub name: String,
    /// Its number.
    pub uid: u32,
    /// The number of its main group. Other groups are given up.
    pub gid: u32,
}

impl Account {
    /// The account for servers: `None` where it is our own, because we are not root.
    pub fn for_server() -> Result<Option<Self>> {
        if !Uid::effective().is_root() {
            return Ok(None);
        }
        for name in [PREFERRED, OWN] {
            if let Some(account) = Self::named(name)? {
                return Ok(Some(account));
            }
        }
        make_own()?;
        Self::named(OWN)
    }

    fn named(name: &str) -> Result<Option<Self>> {
        let user = User::from_name(name).map_err(|error| Error::NoAccount {
            reason: format!("cannot look up the user '{name}': {error}"),
        })?;
        Ok(user.map(|user| Self { name: user.name, uid: user.uid.as_raw(), gid: user.gid.as_raw() }))
    }

    /// Lets a program run as this account. The groups of the caller are dropped with it.
    pub(crate) fn apply(account: Option<&Self>, command: &mut Command) {
        if let Some(account) = account {
            command.uid(account.uid).gid(account.gid);
        }
    }

    /// Whether this account can enter a folder. Asked of the system as that account, because modes, access
    /// lists and every folder on the way count.
    pub(crate) fn can_enter(&self, folder: &Path) -> bool {
        let mut command = Command::new("test");
        command.arg("-x").arg(folder).current_dir("/").stdin(Stdio::null());
        Self::apply(Some(self), &mut command);
        command.status().is_ok_and(|status| status.success())
    }
}

fn make_own() -> Result<()> {
    let made = Command::new("useradd")
        .args(["--system", "--user-group", "--no-create-home", "--home-dir", "/nonexistent"])
        .args(["--shell", "/usr/sbin/nologin", OWN])
        .output();
    let reason = match made {
        Ok(output) if output.status.success() => return Ok(()),
        Ok(output) => String::from_utf8_lossy(&output.stderr).trim().to_owned(),
        Err(error) => error.to_string(),
    };
    Err(Error::NoAccount {
        reason: format!(
            "PostgreSQL does not run as root, there is no user '{PREFERRED}' to run it as, and the user '{OWN}' \
             cannot be made: {reason}\nMake one of them, or run this as an ordinary user."
        ),
    })
}
