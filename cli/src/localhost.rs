//! The certificate of a platform for localhost, in its data folder.

use std::path::{Path, PathBuf};

use tls::{Pair, places};

use crate::authority::{self, Authority, Holder};
use crate::failure::Result;
use crate::files::{self, Access};

/// Whom the server runs as.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Server {
    pub(crate) uid: u32,
    pub(crate) gid: u32,
    /// Whether that is who runs this. Otherwise we are root.
    pub(crate) is_caller: bool,
}

/// The files, below a platform's folder.
#[derive(Debug)]
pub(crate) struct Localhost {
    folder: PathBuf,
}

impl Localhost {
    /// Those of a platform, which may not be there yet.
    pub(crate) fn of(platform: &Path) -> Localhost {
        Localhost { folder: platform.join("tls") }
    }

    /// What howdah.tls_certificates has to be.
    pub(crate) fn setting(&self) -> String {
        format!("{}:{}", self.certificate().display(), self.key().display())
    }

    /// Finds the certificate, or makes it: where there is none, or that which is there is another authority's, lacks a name, has
    /// less than a third of its time left, or cannot be used by the server.
    pub(crate) fn prepare(
        &self,
        authority: &Authority,
        holder: &Holder,
        server: Server,
        now: i64,
    ) -> Result<()> {
        if self.setting().contains(',') || self.setting().matches(':').count() > 1 {
            let folder = self.folder.display();
            return Err(format!("howdah.tls_certificates cannot name {folder}: it has a comma or a colon; use another --data folder").into());
        }
        let names = authority.names_for(holder);
        // A server of another user passes through.
        files::own_folder(&self.folder, if server.is_caller { 0o700 } else { 0o711 })?;
        let _others_wait = files::lock(&self.folder)?;
        if self.is_current(authority, &names, server, now) {
            return Ok(());
        }
        let signed = authority.sign(&names, now)?;
        let of_key = match server.is_caller {
            true => Access::OWN_KEY,
            // As PostgreSQL wants it of root's keys. The server's user could exchange a file of its own, we write none there.
            false => Access { user: None, group: Some(server.gid), mode: 0o640 },
        };
        files::replace(&self.key(), signed.key.as_bytes(), of_key)?;
        files::replace(&self.certificate(), signed.chain.as_bytes(), Access::PUBLIC)
    }

    /// Whether the server can go on with what is there, as it would read it.
    fn is_current(&self, authority: &Authority, names: &[String], server: Server, now: i64) -> bool {
        let found = places::parse(&self.setting()).unwrap_or_default();
        let pairs = found.iter().flat_map(|place| place.read(server.uid)).filter_map(|found| {
            let (chain, key) = found.files.ok()?;
            Pair::load(&chain, key.as_deref()).ok()
        });
        pairs.map(|pair| pair.leaf).any(|leaf| {
            let lifetime = leaf.not_after - leaf.not_before;
            let has_names = names.iter().all(|name| leaf.names.contains(name));
            let has_addresses = authority::addresses().all(|address| leaf.addresses.contains(&address));
            leaf.is_valid_at(now)
                && leaf.not_after - now >= lifetime / 3
                && authority.has_signed(&leaf)
                && has_names
                && has_addresses
        })
    }

    fn certificate(&self) -> PathBuf {
        self.folder.join("localhost.pem")
    }

    fn key(&self) -> PathBuf {
        self.folder.join("localhost.key")
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{MetadataExt, PermissionsExt};

    use nix::unistd::Uid;

    use super::*;

    const DAY: i64 = 86_400;
    /// In the middle of 2026.
    const NOW: i64 = 1_780_272_000;

    /// A platform, and an authority beside it.
    struct Place {
        folder: tempfile::TempDir,
        holder: Holder,
        authority: Authority,
    }

    impl Place {
        fn new() -> Place {
            let folder = tempfile::tempdir().unwrap();
            let holder = Holder { user: "ada".to_owned(), host: "engine".to_owned() };
            let authority = Authority::prepare(&folder.path().join("authority"), &holder, NOW).unwrap();
            Place { folder, holder, authority }
        }

        /// What is there after a start.
        fn prepare(&self, now: i64) -> String {
            self.prepare_for(ours(), &self.authority, now)
        }

        fn prepare_for(&self, server: Server, authority: &Authority, now: i64) -> String {
            let localhost = Localhost::of(self.folder.path());
            localhost.prepare(authority, &self.holder, server, now).unwrap();
            let found = places::parse(&localhost.setting()).unwrap()[0].read(server.uid).remove(0);
            let (chain, key) = found.files.unwrap();
            Pair::load(&chain, key.as_deref()).unwrap();
            String::from_utf8(chain).unwrap()
        }
    }

    fn ours() -> Server {
        Server { uid: Uid::effective().as_raw(), gid: 0, is_caller: true }
    }

    #[test]
    fn a_certificate_serves_until_a_third_of_its_time_is_left() {
        let place = Place::new();
        let first = place.prepare(NOW);
        assert_eq!(place.prepare(NOW + 58 * DAY), first);
        let second = place.prepare(NOW + 60 * DAY);
        assert_ne!(second, first);
        assert_eq!(place.prepare(NOW + 100 * DAY), second);
    }

    #[test]
    fn another_authority_another_name_or_a_damaged_file_need_a_new_one() {
        let mut place = Place::new();
        let first = place.prepare(NOW);
        let other = Authority::prepare(&place.folder.path().join("other"), &place.holder, NOW).unwrap();
        let second = place.prepare_for(ours(), &other, NOW);
        assert_ne!(second, first);
        let key = place.folder.path().join("tls/localhost.key");
        fs::set_permissions(&key, fs::Permissions::from_mode(0o644)).unwrap();
        let third = place.prepare_for(ours(), &other, NOW);
        assert_ne!(third, second);
        assert_eq!(fs::metadata(&key).unwrap().mode() & 0o777, 0o600);
        fs::write(&key, "").unwrap();
        assert_ne!(place.prepare_for(ours(), &other, NOW), third);
        place.holder.host = "mill".to_owned();
        let wide = Authority::prepare(&place.folder.path().join("third"), &place.holder, NOW).unwrap();
        let named = place.prepare_for(ours(), &wide, NOW);
        assert_eq!(place.prepare_for(ours(), &wide, NOW), named);
        place.holder.host = String::new();
        assert_eq!(place.prepare_for(ours(), &wide, NOW), named, "a name too many does no harm");
    }

    #[test]
    fn a_server_of_another_user_can_read_the_key_and_not_replace_it() {
        if !Uid::effective().is_root() {
            return;
        }
        let place = Place::new();
        let server = Server { uid: 65534, gid: 65534, is_caller: false };
        let made = place.prepare_for(server, &place.authority, NOW);
        assert_eq!(place.prepare_for(server, &place.authority, NOW), made);
        let about = |name: &str| fs::metadata(place.folder.path().join(name)).unwrap();
        let key = about("tls/localhost.key");
        assert_eq!((key.uid(), key.gid(), key.mode() & 0o777), (0, 65534, 0o640));
        assert_eq!((about("tls").uid(), about("tls").mode() & 0o777), (0, 0o711));
    }

    #[test]
    fn a_folder_that_the_setting_cannot_name_is_refused() {
        let place = Place::new();
        for odd in ["a,b", "a:b"] {
            let localhost = Localhost::of(&place.folder.path().join(odd));
            let refused =
                localhost.prepare(&place.authority, &place.holder, ours(), NOW).unwrap_err().to_string();
            assert!(refused.contains("has a comma or a colon"), "{refused}");
        }
    }
}
