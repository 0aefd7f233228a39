//! What a certificate says.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use x509_parser::certificate::X509Certificate;
use x509_parser::extensions::GeneralName;
use x509_parser::prelude::FromDer;
use x509_parser::public_key::PublicKey;

/// What is read of a certificate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Certificate {
    /// The host names that it is for, in lower case; a wildcard begins with `*.`.
    pub names: Vec<String>,
    /// The addresses that it is for.
    pub addresses: Vec<IpAddr>,
    /// Whose it is, as OpenSSL writes it.
    pub subject: String,
    /// Who has signed it.
    pub issuer: String,
    /// Its number, in hexadecimal digits.
    pub serial: String,
    /// Seconds of the UNIX clock from which on it is valid.
    pub not_before: i64,
    /// Seconds of the UNIX clock until which it is valid.
    pub not_after: i64,
    /// What kind of key it has.
    pub key: KeyKind,
    /// Whether it is that of an authority, which signs others.
    pub is_authority: bool,
    /// The names of subject and issuer as they are compared.
    pub(crate) raw_names: [Vec<u8>; 2],
}

/// The kind of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyKind {
    /// ECDSA, with the bits of its curve.
    Ecdsa(usize),
    /// RSA, with the bits of its modulus.
    Rsa(usize),
    /// Ed25519.
    Ed25519,
    /// Another.
    Other,
}

impl fmt::Display for KeyKind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ecdsa(bits) => write!(formatter, "ECDSA {bits}"),
            Self::Rsa(bits) => write!(formatter, "RSA {bits}"),
            Self::Ed25519 => formatter.write_str("Ed25519"),
            Self::Other => formatter.write_str("another kind"),
        }
    }
}

impl Certificate {
    /// Reads a certificate in DER.
    ///
    /// # Errors
    ///
    /// What is wrong with it.
    pub fn read(der: &[u8]) -> Result<Self, String> {
        let (rest, certificate) =
            X509Certificate::from_der(der).map_err(|error| format!("is not a certificate: {error}"))?;
        if !rest.is_empty() {
            return Err("has bytes after its end".into());
        }
        let (names, addresses) = subject_names(&certificate)?;
        let validity = certificate.validity();
        Ok(Self {
            names,
            addresses,
            subject: certificate.subject().to_string(),
            issuer: certificate.issuer().to_string(),
            serial: certificate.raw_serial().iter().map(|byte| format!("{byte:02x}")).collect(),
            not_before: validity.not_before.timestamp(),
            not_after: validity.not_after.timestamp(),
            key: key_kind(&certificate),
            is_authority: certificate.is_ca(),
            raw_names: [certificate.subject(), certificate.issuer()].map(|name| name.as_raw().to_vec()),
        })
    }

    /// Whether it is valid at a second of the UNIX clock.
    pub fn is_valid_at(&self, now: i64) -> bool {
        (self.not_before..=self.not_after).contains(&now)
    }

    /// Whether its own key has signed it, by its names.
    pub fn is_self_signed(&self) -> bool {
        self.raw_names[0] == self.raw_names[1]
    }

    /// Whether it was signed by the holder of another, by their names.
    pub fn is_signed_by(&self, other: &Certificate) -> bool {
        self.raw_names[1] == other.raw_names[0]
    }

    /// Whether it is for a host, as a URL or the header Host names it: with a port or without, in any case, with a final dot or
    /// without.
    pub fn covers(&self, host: &str) -> bool {
        let host = plain_host(host);
        if let Ok(address) = host.trim_matches(['[', ']']).parse::<IpAddr>() {
            return self.addresses.contains(&address);
        }
        let under = host.split_once('.').map(|(_, under)| under);
        self.names.iter().any(|name| match name.strip_prefix("*.") {
            // A wildcard stands for one label (RFC 9525, 6.3).
            Some(parent) => under.is_some_and(|under| under == parent) && !host.starts_with('.'),
            None => *name == host,
        })
    }

    /// Seconds before its end from which on a warning is due: a third of its lifetime, 14 days at most.
    pub fn warning_time(&self) -> i64 {
        ((self.not_after - self.not_before) / 3).min(14 * 86_400)
    }
}

/// A host without port and final dot, in lower case.
pub fn plain_host(host: &str) -> String {
    let host = match host.rsplit_once(':') {
        // The colons of an address of IPv6 stand in brackets, or there are several.
        Some((name, port))
            if port.bytes().all(|byte| byte.is_ascii_digit())
                && (!name.contains(':') || name.ends_with(']')) =>
        {
            name
        }
        _ => host,
    };
    host.strip_suffix('.').unwrap_or(host).to_ascii_lowercase()
}

fn subject_names(certificate: &X509Certificate<'_>) -> Result<(Vec<String>, Vec<IpAddr>), String> {
    let alternative = certificate
        .subject_alternative_name()
        .map_err(|error| format!("has names that cannot be read: {error}"))?;
    let (mut names, mut addresses) = (Vec::new(), Vec::new());
    for name in alternative.iter().flat_map(|extension| &extension.value.general_names) {
        match name {
            GeneralName::DNSName(name) => names.push(plain_host(name)),
            GeneralName::IPAddress(bytes) => addresses.extend(address(bytes)),
            _ => {}
        }
    }
    Ok((names, addresses))
}

fn address(bytes: &[u8]) -> Option<IpAddr> {
    let v4 = <[u8; 4]>::try_from(bytes).map(|bytes| Ipv4Addr::from(bytes).into());
    let v6 = <[u8; 16]>::try_from(bytes).map(|bytes| Ipv6Addr::from(bytes).into());
    v4.or(v6).ok()
}

fn key_kind(certificate: &X509Certificate<'_>) -> KeyKind {
    const ED25519: &str = "1.3.101.112";
    let key = certificate.public_key();
    match key.parsed() {
        Ok(PublicKey::RSA(rsa)) => KeyKind::Rsa(rsa.key_size()),
        Ok(PublicKey::EC(point)) => KeyKind::Ecdsa(point.key_size()),
        _ if key.algorithm.algorithm.to_id_string() == ED25519 => KeyKind::Ed25519,
        _ => KeyKind::Other,
    }
}
