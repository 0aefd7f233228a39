//! `howdah cert install`: the deploy hook of certbot.

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use cluster::postgres::{Config, NoTls};
use nix::unistd::Uid;
use tls::pem::MAX_FILE;
use tls::{Pair, places};

use crate::account::Account;
use crate::arguments::Install;
use crate::cert::{date, distance, names};
use crate::failure::{Failure, Result};
use crate::files::{self, Access};
use crate::https::now;
use crate::screen::{complain, say};

/// As whom a server of the distribution runs.
const SERVER: &str = "postgres";
/// Where a server of the distribution has its socket.
const SOCKET: &str = "/var/run/postgresql";
/// The names of the files, by which a folder is for one certificate.
const CERTIFICATE: &str = "fullchain.pem";
const KEY: &str = "privkey.pem";

/// A certificate that was checked, and its key.
struct Checked {
    /// That of its folder.
    name: String,
    chain: Vec<u8>,
    key: Vec<u8>,
    pair: Pair,
}

/// Copies a certificate and its key to where the server can read them.
pub(crate) fn run(options: &Install) -> Result<()> {
    let owner = owner(options.owner.as_deref())?;
    // Before anything changes: a hook that fails half way would have to be undone by hand.
    let connection = options.reload.as_deref().map(|connection| config(connection, &owner)).transpose()?;
    let checked = check(&options.lineage)?;
    let folder = install(&checked, &options.to, &owner)?;
    let (leaf, now) = (&checked.pair.leaf, now());
    say(&format!(
        "Installed {} in {}: for {}, until {}, {}.",
        checked.name,
        folder.display(),
        names(leaf),
        date(leaf.not_after),
        distance(leaf.not_after, now)
    ));
    checked.pair.warnings_at(now).iter().for_each(|warning| complain(warning));
    connection.map_or(Ok(()), |connection| reload(&connection, &owner))
}

/// Who is to own the files. Root's would be of no use to a server, which does not run as root.
fn owner(name: Option<&str>) -> Result<Account> {
    let is_root = Uid::effective().is_root();
    let owner = Account::find(name.or(is_root.then_some(SERVER)))?;
    if !is_root && !owner.is_caller() {
        return Err(Failure::Said(format!(
            "only root can give files to {}; run this as root, or without --owner",
            owner.name
        )));
    }
    Ok(owner)
}

/// Reads a folder of one certificate and looks whether the server can use it.
fn check(lineage: &Path) -> Result<Checked> {
    let lineage =
        std::path::absolute(lineage).map_err(|error| format!("{} is no path: {error}", lineage.display()))?;
    let unusable = |why: String| Failure::Said(format!("{} cannot be installed: {why}", lineage.display()));
    let name = lineage.file_name().and_then(|name| name.to_str()).filter(|name| is_name(name));
    let name =
        name.ok_or_else(|| unusable("it has no name that a folder of certificates can have".to_owned()))?;
    let (certificate, key) = files_of(&lineage).map_err(unusable)?;
    let chain = read(&certificate).map_err(unusable)?;
    let key = read(&key).map_err(unusable)?;
    let pair = Pair::load(&chain, Some(&key)).map_err(unusable)?;
    Ok(Checked { name: name.to_owned(), chain, key, pair })
}

/// Whether the server reads a folder of this name and the setting can name it.
fn is_name(name: &str) -> bool {
    !name.starts_with('.') && !name.contains([',', ':'])
}

/// The files of the certificate and of the key, found as the server finds them.
fn files_of(lineage: &Path) -> Result<(PathBuf, PathBuf), String> {
    let places = places::parse(&lineage.display().to_string())?;
    let found = places.first().map(|place| place.read(Account::ANYBODY)).unwrap_or_default();
    let one = found.into_iter().find(|found| found.may_be_default).filter(|_| lineage.is_dir());
    let key = |found: places::Found| Some((found.certificate_file, found.key_file?));
    one.and_then(key)
        .ok_or_else(|| format!("it is not a folder with {CERTIFICATE} and {KEY}, as certbot makes them"))
}

fn read(path: &Path) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    let read = File::open(path).and_then(|file| file.take(MAX_FILE as u64 + 1).read_to_end(&mut bytes));
    read.map(|_| bytes).map_err(|error| format!("{} cannot be read: {error}", path.display()))
}

/// Writes the files into a folder of the certificate's name. The server keeps what it had until both are new, as before that they
/// do not belong together.
fn install(checked: &Checked, to: &Path, owner: &Account) -> Result<PathBuf> {
    let to = std::path::absolute(to).map_err(|error| format!("{} is no path: {error}", to.display()))?;
    // People keep their folders elsewhere by links.
    let to = fs::canonicalize(&to).unwrap_or(to);
    let folder = to.join(&checked.name);
    for folder in [&to, &folder] {
        files::own_folder(folder, if owner.is_caller() { 0o700 } else { 0o755 })?;
    }
    require_reachable(&folder, owner)?;
    let of_owner = |mode| Access {
        user: (!owner.is_caller()).then(|| owner.uid.as_raw()),
        group: (!owner.is_caller()).then(|| owner.gid.as_raw()),
        mode,
    };
    files::replace(&folder.join(KEY), &checked.key, of_owner(0o600))?;
    files::replace(&folder.join(CERTIFICATE), &checked.chain, of_owner(0o644))?;
    Ok(folder)
}

/// An error if the owner cannot enter a folder, because of one above it.
fn require_reachable(folder: &Path, owner: &Account) -> Result<()> {
    let entered = owner.act(|| fs::metadata(folder.join(".")))?;
    entered.map(drop).map_err(|error| {
        let (folder, owner) = (folder.display(), &owner.name);
        Failure::Said(format!(
            "{owner} cannot enter {folder}: {error}; let it in (chmod 755), or choose another folder by --to"
        ))
    })
}

/// How to connect: as libpq does, with the owner where no user is named.
fn config(connection: &str, owner: &Account) -> Result<Config> {
    let mut config = Config::from_str(connection)
        .map_err(|error| format!("--reload {connection:?} is no connection: {error}"))?;
    if config.get_hosts().is_empty() && config.get_hostaddrs().is_empty() {
        config.host_path(SOCKET);
    }
    if config.get_user().is_none() {
        config.user(&owner.name);
    }
    if config.get_dbname().is_none() {
        config.dbname("postgres");
    }
    config.application_name("howdah");
    Ok(config)
}

/// Has the server read its configuration again, and with it the certificates. As the owner, whom PostgreSQL knows by the socket.
fn reload(config: &Config, owner: &Account) -> Result<()> {
    let reloaded = owner.act(|| config.connect(NoTls)?.batch_execute("select pg_reload_conf()"))?;
    reloaded.map_err(|error| {
        Failure::Said(format!(
            "the files are installed, and the server was not told: {}. It finds them by itself within a minute.",
            cluster::Error::Sql(error)
        ))
    })?;
    say("The server has been told to read them.");
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{MetadataExt, symlink};

    use super::*;

    /// A folder as certbot makes them, and one to install into.
    struct Site {
        folder: tempfile::TempDir,
    }

    impl Site {
        fn new() -> Site {
            let site = Site { folder: tempfile::tempdir().unwrap() };
            fs::create_dir_all(site.archive()).unwrap();
            fs::create_dir_all(site.lineage()).unwrap();
            for name in [CERTIFICATE, KEY] {
                symlink(site.archive().join(name), site.lineage().join(name)).unwrap();
            }
            site.renew("www.example.com");
            site
        }

        fn archive(&self) -> PathBuf {
            self.folder.path().join("archive")
        }

        fn lineage(&self) -> PathBuf {
            self.folder.path().join("live/www.example.com")
        }

        fn to(&self) -> PathBuf {
            self.folder.path().join("etc/tls")
        }

        fn renew(&self, name: &str) {
            let made = rcgen::generate_simple_self_signed([name.to_owned()]).unwrap();
            fs::write(self.archive().join(CERTIFICATE), made.cert.pem()).unwrap();
            fs::write(self.archive().join(KEY), made.signing_key.serialize_pem()).unwrap();
        }

        fn install(&self) -> Result<(), String> {
            let owner = Some(Account::find(None).unwrap().name);
            let options = Install { lineage: self.lineage(), to: self.to(), owner, reload: None };
            run(&options).map_err(|failure| failure.to_string())
        }

        /// Certificate and key that are installed, and who owns the key with which mode.
        fn installed(&self) -> Option<(Vec<u8>, Vec<u8>, u32, u32)> {
            let folder = self.to().join("www.example.com");
            assert!(!folder.exists() || fs::read_dir(&folder).unwrap().count() == 2, "nothing is left");
            let about = fs::metadata(folder.join(KEY)).ok()?;
            let certificate = fs::read(folder.join(CERTIFICATE)).unwrap();
            Some((certificate, fs::read(folder.join(KEY)).unwrap(), about.uid(), about.mode() & 0o777))
        }
    }

    #[test]
    fn a_renewed_certificate_replaces_the_earlier_one_and_its_key_is_for_the_server_alone() {
        let site = Site::new();
        for name in ["www.example.com", "example.com"] {
            site.renew(name);
            site.install().unwrap();
            let (certificate, key, owner, mode) = site.installed().unwrap();
            assert_eq!((owner, mode), (Uid::effective().as_raw(), 0o600));
            let pair = Pair::load(&certificate, Some(&key)).unwrap();
            assert_eq!(pair.leaf.names, [name]);
        }
    }

    #[test]
    fn what_cannot_be_used_changes_nothing_and_says_why() {
        let site = Site::new();
        let path = |name: &str| site.archive().join(name);
        let chain = |bytes: &[u8]| fs::write(path(CERTIFICATE), bytes).unwrap();
        let another = || fs::write(path(KEY), rcgen::KeyPair::generate().unwrap().serialize_pem()).unwrap();
        let damages: [(&str, &dyn Fn()); 5] = [
            ("belongs to none of the certificates", &another),
            ("has no end", &|| chain(&fs::read(path(CERTIFICATE)).unwrap()[..100])),
            ("is empty", &|| chain(b"")),
            ("No such file", &|| fs::remove_file(path(CERTIFICATE)).unwrap()),
            ("is not a folder with fullchain.pem", &|| fs::remove_dir_all(site.lineage()).unwrap()),
        ];
        another();
        site.install().unwrap_err();
        assert!(!site.to().exists(), "no folder is made for it");
        site.renew("www.example.com");
        site.install().unwrap();
        let before = site.installed();
        for (words, damage) in damages {
            damage();
            let why = site.install().unwrap_err();
            assert!(why.contains(words) && why.contains("cannot be installed"), "{words}: {why}");
            assert_eq!(site.installed(), before, "{words}");
            site.renew("www.example.com");
        }
    }

    #[test]
    fn names_that_the_setting_cannot_have_are_refused() {
        for name in ["a,b", "a:b", ".hidden"] {
            assert!(
                check(Path::new("/live").join(name).as_path())
                    .is_err_and(|why| why.to_string().contains("no name"))
            );
        }
        assert!(check(Path::new("/")).is_err());
    }

    #[test]
    fn a_connection_leads_to_the_socket_of_the_distribution_as_the_owner_unless_it_says_otherwise() {
        let owner = Account::find(None).unwrap();
        let usual = config("", &owner).unwrap();
        assert_eq!(usual.get_hosts(), config(&format!("host={SOCKET}"), &owner).unwrap().get_hosts());
        assert_eq!((usual.get_user(), usual.get_dbname()), (Some(owner.name.as_str()), Some("postgres")));
        let other = config("host=/tmp user=ada dbname=shop", &owner).unwrap();
        assert_eq!(
            (other.get_user(), other.get_dbname(), other.get_hosts().len()),
            (Some("ada"), Some("shop"), 1)
        );
        assert!(config("nonsense", &owner).unwrap_err().to_string().contains("is no connection"));
    }
}
