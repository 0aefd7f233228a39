//! Who may sign the certificates of clients, and which of these have been revoked.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use rustls::RootCertStore;
use rustls::crypto::aws_lc_rs::default_provider;
use rustls::pki_types::CertificateRevocationListDer;
use rustls::pki_types::pem::PemObject;
use rustls::server::WebPkiClientVerifier;
use rustls::server::danger::ClientCertVerifier;
use sha2::{Digest, Sha256};
use x509_parser::prelude::{CertificateRevocationList, FromDer, X509Version};

use crate::certificate::{self, Certificate};
use crate::files::read_certificates;
use crate::pem::Contents;
use crate::places::{self, Place};

/// Authorities and their lists of what has been revoked.
///
/// A client's certificate has to be signed by one of the authorities, through others that it sends itself if need be; all of them have
/// to be valid, and to be for clients (`clientAuth`, where they say what they are for). Where there are lists, there has to be one of
/// whoever has signed the client's own certificate, which does not have it, and which has not expired. The lists of those above are
/// not looked at.
pub struct Authorities {
    certified: Arc<dyn ClientCertVerifier>,
    asked: Arc<dyn ClientCertVerifier>,
    /// What their certificates say, each with its file.
    pub certificates: Vec<(String, Certificate)>,
    /// The lists.
    pub lists: Vec<RevocationList>,
    /// That of the files.
    pub digest: [u8; 32],
}

/// What is read of a list of revoked certificates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RevocationList {
    /// Its file.
    pub file: String,
    /// Whose it is, as text.
    pub issuer: String,
    /// The last second in which it counts, of the UNIX clock.
    pub next_update: Option<i64>,
}

/// The files that a setting of them names for a database: absolute paths, separated by commas, each maybe with `DATABASE=` before it.
///
/// # Errors
/// A sentence that names the entry and says what is wrong with it.
pub fn files(setting: &str, database: &str) -> Result<Vec<PathBuf>, String> {
    let ours = places::parse(setting)?.into_iter().filter(|place| place.is_for(database));
    let path = |place: Place| match place.path() {
        Some(path) => Ok(path.to_owned()),
        None => Err("has a colon, and is one file".to_owned()),
    };
    ours.map(path).collect()
}

/// The bytes of files, each with its name.
#[derive(Default)]
pub struct Files {
    /// Those of authorities' certificates, in PEM.
    pub authorities: Vec<(String, Vec<u8>)>,
    /// Those of their lists, in PEM.
    pub lists: Vec<(String, Vec<u8>)>,
}

impl Files {
    /// Reads them.
    ///
    /// # Errors
    /// A sentence that names the file and says why it cannot be read.
    pub fn read(authorities: &[PathBuf], lists: &[PathBuf]) -> Result<Files, String> {
        let read = |paths: &[PathBuf]| {
            let named = paths.iter().map(|path| Ok((path.display().to_string(), read_certificates(path)?)));
            named.collect::<Result<Vec<_>, String>>()
        };
        Ok(Files { authorities: read(authorities)?, lists: read(lists)? })
    }

    /// SHA-256 of all of them.
    pub fn digest(&self) -> [u8; 32] {
        let mut digest = Sha256::new();
        for files in [&self.authorities, &self.lists] {
            digest.update((files.len() as u64).to_be_bytes());
            for (_, bytes) in files {
                digest.update((bytes.len() as u64).to_be_bytes());
                digest.update(bytes);
            }
        }
        digest.finalize().into()
    }
}

impl Authorities {
    /// Makes them of files.
    ///
    /// # Errors
    /// A sentence that names the file and says what is wrong with it.
    pub fn load(files: &Files) -> Result<Authorities, String> {
        let (mut roots, mut certificates) = (RootCertStore::empty(), Vec::new());
        for (name, bytes) in &files.authorities {
            let wrong = |reason: String| format!("the authorities' file \"{name}\": {reason}");
            let chain = Contents::read(bytes).map_err(wrong)?.chain;
            if chain.is_empty() {
                return Err(wrong("there is no certificate in it".to_owned()));
            }
            for der in chain {
                let read =
                    Certificate::read(&der).map_err(|reason| wrong(format!("a certificate {reason}")))?;
                certificates.push((name.clone(), read));
                roots.add(der).map_err(|error| wrong(error.to_string()))?;
            }
        }
        let (mut revoked, mut read) = (Vec::new(), Vec::new());
        for (name, bytes) in &files.lists {
            let wrong = |reason: String| format!("the revocation list \"{name}\": {reason}");
            for der in revocation_lists(bytes).map_err(wrong)? {
                read.push(RevocationList::read(name, &der).map_err(wrong)?);
                revoked.push(der);
            }
        }
        let [certified, asked] = verifiers(roots, revoked)?;
        Ok(Authorities { certified, asked, certificates, lists: read, digest: files.digest() })
    }

    /// What checks a client's certificate; with `is_required`, clients have to have one.
    pub(crate) fn verifier(&self, is_required: bool) -> Arc<dyn ClientCertVerifier> {
        Arc::clone(if is_required { &self.certified } else { &self.asked })
    }

    /// What is wrong in a second of the UNIX clock, in sentences: what has expired, and lists that end within a third of the day.
    pub fn warnings_at(&self, now: i64) -> Vec<String> {
        const SOON: i64 = 8 * 3600;
        let authorities = self.certificates.iter().map(|(_, authority)| authority).filter(|authority| now > authority.not_after).map(|authority| {
            let (whose, end) = (&authority.subject, certificate::time(authority.not_after));
            format!("The certificate of the authority {whose} has expired on {end}: clients that it has signed are refused.")
        });
        let lists = self.lists.iter().filter_map(|list| {
            let (whose, end) = (&list.issuer, certificate::time(list.next_update?));
            match list.next_update?.saturating_sub(now) {
                ..0 => Some(format!(
                    "The revocation list of {whose} has expired on {end}: clients that it has signed are refused."
                )),
                0..SOON => Some(format!("The revocation list of {whose} ends on {end}.")),
                _ => None,
            }
        });
        authorities.chain(lists).collect()
    }
}

/// That of clients which have to have a certificate, and that of those which may.
fn verifiers(
    roots: RootCertStore,
    lists: Vec<CertificateRevocationListDer<'static>>,
) -> Result<[Arc<dyn ClientCertVerifier>; 2], String> {
    let builder = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), Arc::new(default_provider()))
        .with_crls(lists)
        .only_check_end_entity_revocation()
        .enforce_revocation_expiration();
    let asked = builder.clone().allow_unauthenticated().build().map_err(|error| error.to_string())?;
    Ok([builder.build().map_err(|error| error.to_string())?, asked])
}

/// The lists of a file.
fn revocation_lists(bytes: &[u8]) -> Result<Vec<CertificateRevocationListDer<'static>>, String> {
    let lists = CertificateRevocationListDer::pem_slice_iter(bytes).collect::<Result<Vec<_>, _>>();
    match lists {
        Ok(lists) if lists.is_empty() && bytes.starts_with(&[0x30]) => {
            Err("it is in DER; make PEM of it by: openssl crl -inform der -in FILE -out FILE.pem".to_owned())
        }
        Ok(lists) if lists.is_empty() => Err("there is no list (X509 CRL) in it".to_owned()),
        Ok(lists) => Ok(lists),
        Err(error) => Err(format!("{error:?}")),
    }
}

/// What to do about a list without extensions, as `openssl ca` makes by default.
const VERSION_1: &str = "it is of version 1, which is not read: name a file by crlnumber in the configuration of openssl ca, and a \
     section with authorityKeyIdentifier=keyid by crl_extensions";

impl RevocationList {
    fn read(file: &str, der: &[u8]) -> Result<RevocationList, String> {
        let (_, list) = CertificateRevocationList::from_der(der)
            .map_err(|error| format!("it cannot be read: {error}"))?;
        if list.version().is_none_or(|version| version == X509Version::V1) {
            return Err(VERSION_1.to_owned());
        }
        Ok(RevocationList {
            file: file.to_owned(),
            issuer: certificate::text(list.issuer()),
            next_update: list.next_update().map(|time| time.timestamp()),
        })
    }
}

/// Without the verifiers, which have nothing to show.
impl fmt::Debug for Authorities {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Authorities")
            .field("certificates", &self.certificates.len())
            .field("lists", &self.lists)
            .finish_non_exhaustive()
    }
}
