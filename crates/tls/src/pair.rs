//! A chain of certificates and its key, which belong together.

use std::sync::Arc;

use rustls::crypto::aws_lc_rs::sign::any_supported_type;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::sign::{CertifiedKey, SigningKey};
use sha2::{Digest, Sha256};

use crate::certificate::{Certificate, KeyKind, time};
use crate::pem::{Contents, unsupported};

const DAY: i64 = 86_400;
/// A warning of the end comes so many seconds before it, at most.
const LONGEST_NOTICE: i64 = 14 * DAY;

/// A chain of certificates and its key.
#[derive(Debug)]
pub struct Pair {
    /// What a handshake needs: the server's own certificate first, those that have signed it after it.
    pub certified: Arc<CertifiedKey>,
    /// What the server's own certificate says.
    pub leaf: Certificate,
    /// What clients may find wrong at any time, in sentences. [`Pair::warnings_at`] has what comes and goes with time as well.
    pub warnings: Vec<String>,
    /// What [`Pair::digest_of`] says of the files.
    pub digest: [u8; 32],
    /// What the other certificates of the chain say.
    above: Vec<Certificate>,
}

impl Pair {
    /// Makes a pair of the bytes of a file with certificates and of one with their key; without one, the first has the key as well.
    /// A chain in another order is put into the right one, with a warning; none of its certificates is left out.
    ///
    /// # Errors
    /// A sentence that says why they cannot be used, and what to do.
    pub fn load(certificates: &[u8], key: Option<&[u8]>) -> Result<Pair, String> {
        let digest = Self::digest_of(certificates, key);
        let mut warnings = Vec::new();
        let (chain, key) = contents(certificates, key, &mut warnings)?;
        let read = read_all(&chain)?;
        let signer = any_supported_type(&key).map_err(|_| unsupported(&key))?;
        let first = leaf_of(&read, signer.as_ref())?;
        let order = Order::of(&read, first);
        warnings.extend(warnings_of(&read, &order));
        let leaf = read[first].clone();
        let above = order.places().skip(1).map(|at| read[at].clone()).collect();
        let chain = order.places().map(|at| chain[at].clone()).collect();
        Ok(Pair { certified: Arc::new(CertifiedKey::new(chain, signer)), leaf, warnings, digest, above })
    }

    /// SHA-256 of files' bytes, as equal files may have equal sizes and times and still be others. The lengths are part of it, so
    /// that bytes do not pass from one file to the other unseen.
    pub fn digest_of(certificates: &[u8], key: Option<&[u8]>) -> [u8; 32] {
        let length = (certificates.len() as u64).to_be_bytes();
        Sha256::new()
            .chain_update(length)
            .chain_update(certificates)
            .chain_update(key.unwrap_or_default())
            .finalize()
            .into()
    }

    /// Whether the server's own certificate is valid in a second of the UNIX clock.
    pub fn is_valid_at(&self, now: i64) -> bool {
        self.leaf.is_valid_at(now)
    }

    /// What clients may find wrong in a second of the UNIX clock, in sentences: [`Pair::warnings`], and that a certificate has
    /// expired, is not valid yet, or ends soon, which is within a third of its lifetime and 14 days. The sentences stay the same for
    /// a day: whoever writes each new one to a log does so once a day.
    pub fn warnings_at(&self, now: i64) -> Vec<String> {
        let past = self.above.iter().filter(|above| now > above.not_after).map(|above| {
            let (whose, end) = (&above.subject, time(above.not_after));
            format!("The certificate of {whose} in the chain has expired on {end}.")
        });
        self.warnings.iter().cloned().chain(time_warning(&self.leaf, now)).chain(past).collect()
    }
}

/// The chain and the key of one or two files.
fn contents(
    certificates: &[u8],
    key: Option<&[u8]>,
    warnings: &mut Vec<String>,
) -> Result<(Vec<CertificateDer<'static>>, PrivateKeyDer<'static>), String> {
    let read = Contents::read(certificates)?;
    let Some(key) = key else {
        return match read.key {
            _ if read.chain.is_empty() => Err("the file has a key and no certificate".to_owned()),
            None => {
                Err("the file has no key; where the key is in another file, write CERTIFICATE:KEY".to_owned())
            }
            Some(key) => Ok((read.chain, key)),
        };
    };
    let of_key = Contents::read(key).map_err(|reason| format!("the key's file: {reason}"))?;
    match of_key.key {
        None if read.key.is_some() && read.chain.is_empty() => {
            Err("the two files are in the wrong order: the certificate comes first, then the key".to_owned())
        }
        _ if read.chain.is_empty() => Err("the certificate's file has no certificate".to_owned()),
        None => Err("the key's file has no key".to_owned()),
        Some(key) => {
            if read.key.is_some() {
                warnings.push("The certificate's file has a key too, which is not used: others may be able to read it there.".to_owned());
            }
            Ok((read.chain, key))
        }
    }
}

fn read_all(chain: &[CertificateDer<'static>]) -> Result<Vec<Certificate>, String> {
    let read = |(at, der): (usize, &CertificateDer<'static>)| {
        Certificate::read(der).map_err(|reason| format!("certificate {} of {} {reason}", at + 1, chain.len()))
    };
    chain.iter().enumerate().map(read).collect()
}

/// The place of the certificate that has the public key of the private one. rustls's own comparison (`CertifiedKey::keys_match`)
/// looks at the first alone, and takes none of X.509's version 1.
fn leaf_of(read: &[Certificate], signer: &dyn SigningKey) -> Result<usize, String> {
    let public = signer.public_key().ok_or("the key has no public half to compare with the certificate")?;
    read.iter().position(|certificate| certificate.has_public_key(&public)).ok_or_else(|| {
        let names =
            read.iter().map(|certificate| certificate.subject.as_str()).collect::<Vec<_>>().join("; ");
        format!("the key belongs to none of the certificates ({names})")
    })
}

/// A chain in the order in which clients want it: each certificate is followed by that of who has signed it.
struct Order {
    /// Places in the file of those that hang together, the server's own first.
    linked: Vec<usize>,
    /// Of the others.
    others: Vec<usize>,
}

impl Order {
    fn of(read: &[Certificate], first: usize) -> Order {
        let (mut linked, mut others) =
            (vec![first], (0..read.len()).filter(|&at| at != first).collect::<Vec<_>>());
        let mut last = first;
        while !read[last].is_self_signed
            && let Some(next) = others.iter().position(|&at| read[last].is_signed_by(&read[at]))
        {
            last = others.remove(next);
            linked.push(last);
        }
        Order { linked, others }
    }

    fn places(&self) -> impl Iterator<Item = usize> {
        self.linked.iter().chain(&self.others).copied()
    }
}

/// What clients may find wrong at any time.
fn warnings_of(read: &[Certificate], order: &Order) -> Vec<String> {
    let mut warnings = Vec::new();
    let leaf = &read[order.linked[0]];
    if leaf.names.is_empty() && leaf.addresses.is_empty() {
        warnings.push(
            "The certificate has no subjectAltName: clients refuse it, whatever its subject says.".to_owned(),
        );
    }
    if leaf.is_ca {
        warnings.push(
            "The certificate is an authority's (CA:TRUE): clients that use rustls refuse it as a server's. Make one with CA:FALSE."
                .to_owned(),
        );
    }
    if !order.places().is_sorted() {
        warnings.push(
            "The certificates are in the wrong order: they are sent with the server's own first, then who has signed it, and so on."
                .to_owned(),
        );
    }
    let is_stranger =
        |&&at: &&usize| !read.iter().any(|signed| *signed != read[at] && signed.is_signed_by(&read[at]));
    if let Some(&at) = order.others.iter().find(is_stranger) {
        warnings.push(format!(
            "The certificate of {} has signed none of the others: one between them is missing, or it does not belong here.",
            read[at].subject
        ));
    } else if order.linked.len() == 1 && !leaf.is_self_signed {
        warnings.push(format!(
            "The file lacks the certificate of {}, who has signed the server's: clients that do not know it refuse the server.",
            leaf.issuer
        ));
    }
    if let KeyKind::Rsa(_) = leaf.key {
        warnings.push(format!(
            "The key is {}: a handshake costs ten times as much as with ECDSA P-256.",
            leaf.key
        ));
    }
    warnings
}

fn time_warning(leaf: &Certificate, now: i64) -> Option<String> {
    let notice = ((leaf.not_after - leaf.not_before) / 3).min(LONGEST_NOTICE);
    if now < leaf.not_before {
        Some(format!("The certificate is not valid before {}.", time(leaf.not_before)))
    } else if now > leaf.not_after {
        Some(format!("The certificate has expired on {}.", time(leaf.not_after)))
    } else if leaf.not_after - now <= notice {
        Some(format!("The certificate ends on {}, {}.", time(leaf.not_after), in_days(leaf.not_after - now)))
    } else {
        None
    }
}

fn in_days(seconds: i64) -> String {
    match seconds / DAY {
        0 => "in less than a day".to_owned(),
        1 => "in a day".to_owned(),
        days => format!("in {days} days"),
    }
}
