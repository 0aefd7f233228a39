//! Users of this system, and doing things as one of them.

use std::ffi::CString;

use nix::unistd::{Gid, Uid, User, getgroups, initgroups, setegid, seteuid, setgroups};

use crate::failure::{Failure, Result};

/// A user of this system.
#[derive(Clone, Debug)]
pub(crate) struct Account {
    pub(crate) name: String,
    pub(crate) uid: Uid,
    pub(crate) gid: Gid,
}

impl Account {
    /// The number of no user: what only asks where files are does not look at whose they are.
    pub(crate) const ANYBODY: u32 = u32::MAX;

    /// The user of a name; the caller, without one.
    pub(crate) fn find(name: Option<&str>) -> Result<Account> {
        let found = match name {
            Some(name) => User::from_name(name),
            None => User::from_uid(Uid::effective()),
        };
        match found {
            Ok(Some(user)) => Ok(Account { name: user.name, uid: user.uid, gid: user.gid }),
            Ok(None) if name.is_none() => {
                let (uid, gid) = (Uid::effective(), Gid::effective());
                Ok(Account { name: uid.to_string(), uid, gid })
            }
            Ok(None) => Err(Failure::Said(format!("there is no user {}", name.unwrap_or_default()))),
            Err(error) => {
                Err(Failure::Said(format!("cannot look up the user {}: {error}", name.unwrap_or_default())))
            }
        }
    }

    /// Whether it is who runs this.
    pub(crate) fn is_caller(&self) -> bool {
        self.uid == Uid::effective()
    }

    /// Does something with the rights of this user, if we are root, as who it is what the user would find. Anybody else does it
    /// with rights of their own.
    pub(crate) fn act<T>(&self, act: impl FnOnce() -> T) -> Result<T> {
        if self.is_caller() || !Uid::effective().is_root() {
            return Ok(act());
        }
        let failed = |error| Failure::Said(format!("cannot act as {}: {error}", self.name));
        let (groups, gid) = (getgroups().map_err(failed)?, Gid::effective());
        let name = CString::new(self.name.as_str()).unwrap_or_default();
        initgroups(&name, self.gid).map_err(failed)?;
        let done = setegid(self.gid).and_then(|()| seteuid(self.uid)).map(|()| act());
        // The user first: only root may change the groups.
        seteuid(Uid::from_raw(0))
            .and_then(|()| setegid(gid))
            .and_then(|()| setgroups(&groups))
            .map_err(failed)?;
        done.map_err(failed)
    }
}
