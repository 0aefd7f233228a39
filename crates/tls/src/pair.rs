//! A chain of certificates and its key, which belong together.

use std::sync::Arc;

use rustls::pki_types::CertificateDer;
use rustls::sign::CertifiedKey;
use rustls::{Error, InconsistentKeys};
use sha2::{Digest, Sha256};

use crate::certificate::{Certificate, KeyKind};
use crate::pem::Contents;

/// A chain and its key.
#[derive(Debug)]
pub struct Pair {
    /// What rustls needs of it.
    pub certified: Arc<CertifiedKey>,
    /// What the server's own certificate says.
    pub leaf: Certificate,
    /// What clients may find wrong with it, in sentences.
    pub warnings: Vec<String>,
    /// SHA-256 of the files' bytes.
    pub digest: [u8; 32],
}

impl Pair {
    /// SHA-256 of the bytes of its files.
    pub fn digest_of(certificates: &[u8], key: Option<&[u8]>) -> [u8; 32] {
        let length = (certificates.len() as u64).to_be_bytes();
        Sha256::new()
            .chain_update(length)
            .chain_update(certificates)
            .chain_update(key.unwrap_or_default())
            .finalize()
            .into()
    }

    /// Reads a chain and its key from the bytes of two files, or of one that has both.
    ///
    /// # Errors
    ///
    /// A sentence that says why they cannot be used, and what to do.
    pub fn read(certificates: &[u8], key: Option<&[u8]>) -> Result<Self, String> {
        let digest = Self::digest_of(certificates, key);
        let Contents { chain, key: beside } = Contents::read(certificates)?;
        let key = match key {
            None => {
                beside.ok_or("the file has no key; name its file after the certificate's: CERTIFICATE:KEY")?
            }
            Some(bytes) => {
                let of_key =
                    Contents::read(bytes).map_err(|reason| format!("of the key's file: {reason}"))?;
                of_key.key.ok_or("the key's file has no key")?
            }
        };
        if chain.is_empty() {
            return Err("the file has no certificate".into());
        }
        let read = certificates_of(&chain)?;
        let signer = rustls::crypto::aws_lc_rs::sign::any_supported_type(&key).map_err(|_| {
            "the key is of a kind that is not supported, or it is damaged: RSA of 2048 bits or more, ECDSA P-256, P-384, P-521 \
             and Ed25519 are"
        })?;
        let certified = CertifiedKey::new(chain, signer);
        match certified.keys_match() {
            Ok(()) | Err(Error::InconsistentKeys(InconsistentKeys::Unknown)) => {}
            Err(_) => return Err(mismatch(&certified, &read)),
        }
        let warnings = warnings(&read);
        let leaf = read.into_iter().next().ok_or("the file has no certificate")?;
        Ok(Self { certified: Arc::new(certified), leaf, warnings, digest })
    }

    /// Says what is wrong with it at a second of the UNIX clock; none if it can be used without more ado.
    pub fn trouble_at(&self, now: i64) -> Option<String> {
        let leaf = &self.leaf;
        if now < leaf.not_before {
            Some("the certificate is not valid yet".into())
        } else if now > leaf.not_after {
            Some("the certificate has expired".into())
        } else if leaf.not_after - now <= leaf.warning_time() {
            Some(format!("the certificate expires in {}", time(leaf.not_after - now)))
        } else {
            None
        }
    }
}

/// A time in seconds as people say it.
fn time(seconds: i64) -> String {
    match seconds {
        172_800.. => format!("{} days", seconds / 86_400),
        7_200.. => format!("{} hours", seconds / 3_600),
        _ => format!("{} minutes", seconds / 60),
    }
}

fn certificates_of(chain: &[CertificateDer<'static>]) -> Result<Vec<Certificate>, String> {
    let read = |(at, der): (usize, &CertificateDer<'static>)| {
        Certificate::read(der).map_err(|reason| format!("the certificate no. {} {reason}", at + 1))
    };
    chain.iter().enumerate().map(read).collect()
}

/// Why the key is not that of the first certificate.
fn mismatch(certified: &CertifiedKey, read: &[Certificate]) -> String {
    let of_another = (1..certified.cert.len()).find(|&at| {
        let turned = certified.cert[at..].to_vec();
        CertifiedKey::new(turned, Arc::clone(&certified.key)).keys_match().is_ok()
    });
    match of_another {
        Some(at) => format!(
            "the certificates are in the wrong order: the server's own, no. {}, has to be the first",
            at + 1
        ),
        None => format!("the key is not that of the certificate of {}", read[0].subject),
    }
}

/// What clients may find wrong with a chain.
fn warnings(chain: &[Certificate]) -> Vec<String> {
    let mut warnings = Vec::new();
    let Some((leaf, above)) = chain.split_first() else { return warnings };
    if leaf.names.is_empty() && leaf.addresses.is_empty() {
        warnings.push(
            "the certificate has no subjectAltName, so clients refuse it whatever its subject says".into(),
        );
    }
    if leaf.is_authority {
        warnings.push("the certificate is an authority's (CA:TRUE), which some clients refuse as a server's; make one that it signs".into());
    }
    if let Some(at) = chain.windows(2).position(|two| !two[0].is_signed_by(&two[1])) {
        warnings.push(format!(
            "the certificate no. {} is not signed by the next: the order is wrong, or one is missing",
            at + 1
        ));
    }
    if above.is_empty() && !leaf.is_self_signed() {
        warnings.push(format!(
            "the file has no certificate of {}, without which clients may not trust it",
            leaf.issuer
        ));
    }
    if let KeyKind::Rsa(_) = leaf.key {
        warnings.push("a handshake with an RSA key costs ten times as much as one with ECDSA P-256".into());
    }
    warnings
}
