//! The development authority: it signs certificates for the names of this machine, and is made once for each user.
//!
//! Who trusts it trusts whatever its key signs, so it can sign for this machine alone: its certificate permits no other names.

use std::fmt::Display;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use std::{env, fs, io};

use nix::unistd::{Uid, User, gethostname};
use rcgen::{
    BasicConstraints, CertificateParams, CidrSubnet, DistinguishedName, DnType, ExtendedKeyUsagePurpose,
    GeneralSubtree, IsCa, Issuer, KeyPair, KeyUsagePurpose, NameConstraints, PKCS_ECDSA_P256_SHA256,
};
use tls::{Certificate, Pair};
use x509_parser::certificate::X509Certificate;
use x509_parser::extensions::GeneralName;
use x509_parser::prelude::FromDer;

use crate::failure::{Failure, Result};
use crate::files::{self, Access};

/// The names of its files.
const CERTIFICATE: &str = "ca.pem";
const KEY: &str = "ca.key";
const DAY: i64 = 86_400;
/// How long the authority is valid.
const LIFETIME: i64 = 10 * 365 * DAY;
/// How long what it signs is valid.
const LIFETIME_OF_SIGNED: i64 = 90 * DAY;
/// Clocks of clients may be so far behind.
const LEEWAY: i64 = DAY;
/// Names may have so many characters (ub-common-name, RFC 5280).
const LONGEST_NAME: usize = 64;

/// Whose authority it is.
#[derive(Clone, Debug)]
pub(crate) struct Holder {
    pub(crate) user: String,
    pub(crate) host: String,
}

/// A development authority.
pub(crate) struct Authority {
    /// The file of its certificate, for clients.
    pub(crate) file: PathBuf,
    /// Why it was made anew in the place of another, in words that follow "because".
    pub(crate) replaced: Option<String>,
    certificate: Certificate,
    pem: String,
    issuer: Issuer<'static, KeyPair>,
    /// Host names that it may sign for, with all below them. `None` are all.
    hosts: Option<Vec<String>>,
}

/// A chain and its key, in PEM.
pub(crate) struct Signed {
    pub(crate) chain: String,
    pub(crate) key: String,
}

impl Holder {
    /// The user who runs this, on this machine.
    pub(crate) fn current() -> Holder {
        let uid = Uid::effective();
        let user = User::from_uid(uid).ok().flatten().map_or_else(|| uid.to_string(), |user| user.name);
        let host = gethostname().ok().and_then(|host| host.into_string().ok()).unwrap_or_default();
        Holder { user, host: host.to_ascii_lowercase() }
    }

    /// Names by which the machine calls itself. One that is none for DNS is left out.
    fn names(&self) -> Vec<String> {
        let is_label = |label: &str| {
            let is_part = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
            (1..=63).contains(&label.len()) && label.bytes().all(is_part) && !label.starts_with('-')
        };
        let host =
            Some(&self.host).filter(|host| host.split('.').all(is_label) && host.parse::<IpAddr>().is_err());
        let mut names = vec!["localhost".to_owned()];
        names.extend(host.filter(|host| *host != "localhost").cloned());
        names
    }
}

/// Where the authority of the user who runs this is.
pub(crate) fn folder() -> Result<PathBuf> {
    let of = |name: &str| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let parent = of("XDG_DATA_HOME").or_else(|| Some(of("HOME")?.join(".local/share")));
    let folder = parent.ok_or(
        "set HOME or XDG_DATA_HOME: the development authority is kept in its folder howdah".to_owned(),
    )?;
    let folder = folder.join("howdah");
    // People keep their folders elsewhere by links.
    Ok(fs::canonicalize(&folder).unwrap_or(folder))
}

/// The file of its certificate, which clients are to trust.
pub(crate) fn file() -> Result<PathBuf> {
    Ok(folder()?.join(CERTIFICATE))
}

impl Authority {
    /// Finds the authority of a folder, or makes it. Two that do so at once find the same.
    pub(crate) fn prepare(folder: &Path, holder: &Holder, now: i64) -> Result<Authority> {
        files::own_folder(folder, 0o700)?;
        let _others_wait = files::lock(folder)?;
        match Authority::read(folder, now)? {
            Ok(found) => Ok(found),
            Err(replaced) => {
                let made = make(holder, now)?;
                files::replace(&folder.join(KEY), made.key.as_bytes(), Access::OWN_KEY)?;
                files::replace(&folder.join(CERTIFICATE), made.chain.as_bytes(), Access::PUBLIC)?;
                let found = Authority::read(folder, now)?.map_err(|why| why.unwrap_or_default())?;
                Ok(Authority { replaced, ..found })
            }
        }
    }

    /// The authority of a folder; otherwise why that which is there cannot be used any more, if there is one.
    fn read(folder: &Path, now: i64) -> Result<Result<Authority, Option<String>>> {
        let file = folder.join(CERTIFICATE);
        let (pem, key) = match (read(&file)?, read(&folder.join(KEY))?) {
            (Some(pem), Some(key)) => (pem, key),
            (Some(_), None) => return Ok(Err(Some("its key was missing".to_owned()))),
            // Nobody can have trusted it.
            (None, _) => return Ok(Err(None)),
        };
        Ok(Authority::load(file, pem, &key, now).map_err(Some))
    }

    fn load(file: PathBuf, pem: String, key: &str, now: i64) -> Result<Authority, String> {
        let pair = Pair::load(pem.as_bytes(), Some(key.as_bytes()))?;
        if !pair.leaf.is_ca {
            return Err("its certificate was not an authority's".to_owned());
        }
        if !pair.is_valid_at(now) || pair.leaf.not_after < now + LIFETIME_OF_SIGNED {
            return Err("its certificate is about to end".to_owned());
        }
        let Permitted { name, hosts } = Permitted::read(&pair.certified.cert[0])?;
        let key = KeyPair::from_pem(key).map_err(|error| format!("its key cannot be used: {error}"))?;
        let issuer = Issuer::new(of_authority(&name), key);
        Ok(Authority { file, replaced: None, certificate: pair.leaf, pem, issuer, hosts })
    }

    /// Whether it has signed a certificate.
    pub(crate) fn has_signed(&self, certificate: &Certificate) -> bool {
        certificate.is_signed_by(&self.certificate)
    }

    /// The host names that a holder's server may have a certificate for. The machine may have another name than when the
    /// authority was made.
    pub(crate) fn names_for(&self, holder: &Holder) -> Vec<String> {
        let is_permitted =
            |name: &String| self.hosts.as_ref().is_none_or(|permitted| permitted.contains(name));
        holder.names().into_iter().filter(is_permitted).chain(["*.localhost".to_owned()]).collect()
    }

    /// Signs a certificate for a server of these names and this machine's own addresses.
    pub(crate) fn sign(&self, names: &[String], now: i64) -> Result<Signed> {
        let addresses = addresses().map(|address| address.to_string());
        let wanted: Vec<String> = names.iter().cloned().chain(addresses).collect();
        let sign = || -> Result<Signed, rcgen::Error> {
            let mut params = CertificateParams::new(wanted)?;
            params.distinguished_name = named("localhost");
            params.not_before = time(now - LEEWAY).into();
            params.not_after = time(now - LEEWAY + LIFETIME_OF_SIGNED).into();
            params.is_ca = IsCa::ExplicitNoCa;
            params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
            params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
            params.use_authority_key_identifier_extension = true;
            let key = KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256)?;
            let certificate = params.signed_by(&key, &self.issuer)?;
            Ok(Signed { chain: certificate.pem() + &self.pem, key: key.serialize_pem() })
        };
        sign().map_err(|error| Failure::Said(format!("cannot make a certificate for localhost: {error}")))
    }
}

/// The addresses by which a machine calls itself.
pub(crate) fn addresses() -> impl Iterator<Item = IpAddr> {
    [Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()].into_iter()
}

/// A new authority's certificate and key.
fn make(holder: &Holder, now: i64) -> Result<Signed> {
    let make = || -> Result<Signed, rcgen::Error> {
        let name = format!("Howdah development authority of {}@{}", holder.user, holder.host);
        let mut params = of_authority(&name.chars().take(LONGEST_NAME).collect::<String>());
        params.not_before = time(now - LEEWAY).into();
        params.not_after = time(now - LEEWAY + LIFETIME).into();
        params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        let names = holder.names().into_iter().map(GeneralSubtree::DnsName);
        let networks = [
            CidrSubnet::from_v4_prefix([127, 0, 0, 0], 8),
            CidrSubnet::from_addr_prefix(Ipv6Addr::LOCALHOST.into(), 128),
        ];
        let permitted_subtrees = names.chain(networks.map(GeneralSubtree::IpAddress)).collect();
        params.name_constraints = Some(NameConstraints { permitted_subtrees, excluded_subtrees: Vec::new() });
        let key = KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256)?;
        let certificate = params.self_signed(&key)?;
        Ok(Signed { chain: certificate.pem(), key: key.serialize_pem() })
    };
    make().map_err(|error| Failure::Said(format!("cannot make a development authority: {error}")))
}

/// What an authority of this name has in common with what it signs.
fn of_authority(name: &str) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name = named(name);
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
    params
}

fn named(name: &str) -> DistinguishedName {
    let mut names = DistinguishedName::new();
    names.push(DnType::CommonName, name);
    names
}

fn time(second: i64) -> SystemTime {
    UNIX_EPOCH + Duration::from_secs(second.max(0).cast_unsigned())
}

/// What an authority's certificate says of whom it signs for.
struct Permitted {
    /// Its own name.
    name: String,
    /// Host names, if it permits some alone.
    hosts: Option<Vec<String>>,
}

impl Permitted {
    fn read(der: &[u8]) -> Result<Permitted, String> {
        let unreadable = |error: &dyn Display| format!("its certificate cannot be read: {error}");
        let (_, certificate) = X509Certificate::from_der(der).map_err(|error| unreadable(&error))?;
        let mut names = certificate.subject().iter_common_name().map(|name| name.as_str());
        let name = names.next().ok_or("its certificate has no name")?.map_err(|error| unreadable(&error))?;
        let constraints = certificate.name_constraints().map_err(|error| unreadable(&error))?;
        let subtrees = constraints.and_then(|constraints| constraints.value.permitted_subtrees.as_ref());
        let host = |base: &GeneralName<'_>| match base {
            GeneralName::DNSName(name) => Some((*name).to_owned()),
            _ => None,
        };
        let hosts =
            subtrees.map(|subtrees| subtrees.iter().filter_map(|subtree| host(&subtree.base)).collect());
        Ok(Permitted { name: name.to_owned(), hosts })
    }
}

/// The text of a file, if there is one.
fn read(path: &Path) -> Result<Option<String>> {
    match fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        // Not a text: damaged, which is found when it is read as PEM.
        Err(error) if error.kind() == io::ErrorKind::InvalidData => Ok(Some(String::new())),
        Err(error) => Err(Failure::Said(format!("cannot read {}: {error}", path.display()))),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;
    use std::sync::Barrier;
    use std::thread;

    use super::*;

    /// In the middle of 2026.
    const NOW: i64 = 1_780_272_000;

    fn holder(host: &str) -> Holder {
        Holder { user: "ada".to_owned(), host: host.to_owned() }
    }

    fn prepare(folder: &Path, now: i64) -> Authority {
        Authority::prepare(folder, &holder("engine"), now).unwrap()
    }

    fn pem(folder: &Path) -> String {
        fs::read_to_string(folder.join(CERTIFICATE)).unwrap()
    }

    fn signed(authority: &Authority, names: &[String]) -> Pair {
        let signed = authority.sign(names, NOW).unwrap();
        Pair::load(signed.chain.as_bytes(), Some(signed.key.as_bytes())).unwrap()
    }

    #[test]
    fn an_authority_is_made_once_and_only_its_user_can_read_the_key() {
        let parent = tempfile::tempdir().unwrap();
        let folder = parent.path().join("howdah");
        let made = prepare(&folder, NOW);
        assert_eq!((made.replaced, made.file), (None, folder.join(CERTIFICATE)));
        let first = pem(&folder);
        assert_eq!(prepare(&folder, NOW + 9 * 365 * DAY).replaced, None);
        assert_eq!(pem(&folder), first);
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&folder), mode(&folder.join(KEY))), (0o700, 0o600));
    }

    #[test]
    fn what_it_says_of_itself_is_that_it_signs_for_this_machine_alone() {
        let folder = tempfile::tempdir().unwrap();
        let made = prepare(folder.path(), NOW);
        assert_eq!(made.certificate.subject, "CN=Howdah development authority of ada@engine");
        assert_eq!(made.hosts.as_deref().unwrap(), ["localhost", "engine"]);
        let pem = first_of(&made.pem);
        let (_, read) = X509Certificate::from_der(&pem).unwrap();
        let constraints = read.basic_constraints().unwrap().unwrap().value;
        assert!(constraints.ca && constraints.path_len_constraint == Some(0));
        let usage = read.key_usage().unwrap().unwrap().value;
        assert!(usage.key_cert_sign() && !usage.digital_signature());
        assert!(read.name_constraints().unwrap().unwrap().critical);
        let days = (read.validity().not_after.timestamp() - read.validity().not_before.timestamp()) / DAY;
        assert_eq!(days, 3650);
    }

    /// The first certificate of a file.
    fn first_of(pem: &str) -> Vec<u8> {
        tls::pem::Contents::read(pem.as_bytes()).unwrap().chain[0].to_vec()
    }

    #[test]
    fn what_it_signs_is_for_servers_of_this_machine_and_none_is_an_authority() {
        let folder = tempfile::tempdir().unwrap();
        let authority = prepare(folder.path(), NOW);
        let pair = signed(&authority, &authority.names_for(&holder("engine")));
        assert_eq!(pair.leaf.names, ["localhost", "engine", "*.localhost"]);
        assert_eq!(pair.leaf.addresses, addresses().collect::<Vec<_>>());
        assert_eq!(pair.leaf.key.to_string(), "ECDSA P-256");
        assert_eq!((pair.leaf.not_after - pair.leaf.not_before) / DAY, 90);
        assert_eq!(pair.warnings_at(NOW), [""; 0], "clients find nothing wrong with it");
        assert!(authority.has_signed(&pair.leaf) && pair.is_valid_at(NOW) && !pair.leaf.is_ca);
        let (_, read) = X509Certificate::from_der(&pair.certified.cert[0]).unwrap();
        let usage = read.extended_key_usage().unwrap().unwrap().value;
        assert!(usage.server_auth && !usage.client_auth && !usage.any);
    }

    #[test]
    fn a_name_that_the_machine_got_later_is_not_signed_for() {
        let folder = tempfile::tempdir().unwrap();
        let authority = prepare(folder.path(), NOW);
        assert_eq!(authority.names_for(&holder("mill")), ["localhost", "*.localhost"]);
        for odd in ["", "my_pc", "a b", "localhost", "10.0.0.1", "-x", "a..b"] {
            assert_eq!(holder(odd).names(), ["localhost"], "{odd}");
        }
        assert_eq!(holder("mill.example.com").names(), ["localhost", "mill.example.com"]);
    }

    #[test]
    fn one_that_ends_or_is_damaged_is_made_anew_and_says_why() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        prepare(folder.path(), NOW);
        let other = tempfile::tempdir().unwrap();
        prepare(other.path(), NOW);
        let ended = NOW + LIFETIME - LIFETIME_OF_SIGNED;
        let damages: [(&str, &dyn Fn()); 4] = [
            ("its key was missing", &|| fs::remove_file(path(KEY)).unwrap()),
            ("belongs to none", &|| fs::rename(other.path().join(KEY), path(KEY)).unwrap()),
            ("has no end", &|| fs::write(path(CERTIFICATE), &pem(folder.path())[..200]).unwrap()),
            ("about to end", &|| {}),
        ];
        for (words, damage) in damages {
            let earlier = pem(folder.path());
            damage();
            let now = if words == "about to end" { ended } else { NOW };
            let why = prepare(folder.path(), now).replaced.unwrap_or_default();
            assert!(why.contains(words), "{words}: {why}");
            assert_ne!(pem(folder.path()), earlier, "{words}");
            assert_eq!(prepare(folder.path(), now).replaced, None, "{words}: what was made can be used");
        }
        fs::remove_file(path(CERTIFICATE)).unwrap();
        assert_eq!(prepare(folder.path(), NOW).replaced, None, "a start that was cut off is no news");
    }

    #[test]
    fn starts_at_once_find_the_same() {
        for _ in 0..20 {
            let folder = tempfile::tempdir().unwrap();
            let together = Barrier::new(8);
            let start = || {
                together.wait();
                prepare(folder.path(), NOW).pem
            };
            let found: Vec<String> = thread::scope(|scope| {
                let starts: Vec<_> = (0..8).map(|_| scope.spawn(start)).collect();
                starts.into_iter().map(|start| start.join().unwrap()).collect()
            });
            assert!(found.iter().all(|pem| *pem == found[0]));
            assert_eq!(pem(folder.path()), found[0]);
        }
    }
}
