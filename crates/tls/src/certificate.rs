//! What a certificate says.

use std::fmt;
use std::net::IpAddr;

use x509_parser::certificate::X509Certificate;
use x509_parser::extensions::{GeneralName, ParsedExtension};
use x509_parser::prelude::FromDer;
use x509_parser::public_key::PublicKey;
use x509_parser::time::ASN1Time;
use x509_parser::x509::{SubjectPublicKeyInfo, X509Name};

/// What is read of a certificate. Its signature is not checked: that is for clients to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Certificate {
    /// The host names that it is for, in lower case; a wildcard begins with `*.`.
    pub names: Vec<String>,
    /// The addresses that it is for.
    pub addresses: Vec<IpAddr>,
    /// Whose it is, as text.
    pub subject: String,
    /// Who has signed it, as text.
    pub issuer: String,
    /// Its number among those of its issuer, in hexadecimal digits.
    pub serial: String,
    /// The second from which on it is valid, of the UNIX clock.
    pub not_before: i64,
    /// The last second in which it is valid, of the UNIX clock.
    pub not_after: i64,
    /// What kind of key it has.
    pub key: KeyKind,
    /// Whether it is an authority's, which signs others (`CA:TRUE`).
    pub is_ca: bool,
    /// Whether its own key has signed it, as far as its names say.
    pub is_self_signed: bool,
    /// What tells who has signed whom.
    links: Links,
    /// The public key, as keys are compared.
    public_key: Vec<u8>,
}

/// Names and numbers of keys, in DER.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Links {
    subject: Vec<u8>,
    issuer: Vec<u8>,
    /// The number of its own key, and of the key that has signed it, where it has them.
    subject_key: Option<Vec<u8>>,
    issuer_key: Option<Vec<u8>>,
}

/// What kind of key a certificate has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeyKind {
    /// ECDSA, with the name of its curve.
    Ecdsa(String),
    /// RSA, with the bits of its modulus.
    Rsa(usize),
    /// Ed25519.
    Ed25519,
    /// Another, by its object identifier.
    Other(String),
}

impl fmt::Display for KeyKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ecdsa(curve) => write!(f, "ECDSA {curve}"),
            Self::Rsa(bits) => write!(f, "RSA {bits}"),
            Self::Ed25519 => f.write_str("Ed25519"),
            Self::Other(identifier) => write!(f, "kind {identifier}"),
        }
    }
}

impl Certificate {
    /// Reads a certificate in DER.
    ///
    /// # Errors
    /// What is wrong with it: the end of a sentence that begins with the certificate.
    pub fn read(der: &[u8]) -> Result<Certificate, String> {
        let (rest, certificate) =
            X509Certificate::from_der(der).map_err(|error| format!("cannot be read: {error}"))?;
        if !rest.is_empty() {
            return Err("has bytes after its end".to_owned());
        }
        let (names, addresses) = alternative_names(&certificate)?;
        let links = Links::of(&certificate);
        Ok(Certificate {
            names,
            addresses,
            subject: text(certificate.subject()),
            issuer: text(certificate.issuer()),
            serial: certificate.raw_serial().iter().map(|byte| format!("{byte:02x}")).collect(),
            not_before: certificate.validity().not_before.timestamp(),
            not_after: certificate.validity().not_after.timestamp(),
            key: key_kind(certificate.public_key()),
            is_ca: certificate.is_ca(),
            is_self_signed: links.are_of_issuer(&links),
            public_key: certificate.public_key().raw.to_vec(),
            links,
        })
    }

    /// Whether it is for a host, as a URL or the header Host names it: with or without a port, in any case, with or without a
    /// final dot. A wildcard stands for one label. Names that are not ASCII have to be in Punycode.
    pub fn covers(&self, name: &str) -> bool {
        let host = plain_host(name);
        if let Some(address) = address_of(host) {
            return self.addresses.contains(&address);
        }
        let parent = host.split_once('.').filter(|(label, _)| !label.is_empty()).map(|(_, parent)| parent);
        let covers = |own: &String| match own.strip_prefix("*.") {
            Some(own) => parent.is_some_and(|parent| parent.eq_ignore_ascii_case(own)),
            None => own.eq_ignore_ascii_case(host),
        };
        !host.is_empty() && self.names.iter().any(covers)
    }

    /// Whether it is valid in a second of the UNIX clock.
    pub fn is_valid_at(&self, now: i64) -> bool {
        (self.not_before..=self.not_after).contains(&now)
    }

    /// Whether the holder of another has signed it, as far as their names, and the numbers of their keys, say.
    pub fn is_signed_by(&self, other: &Certificate) -> bool {
        self.links.are_of_issuer(&other.links)
    }

    /// Whether a public key is its own; the key is a SubjectPublicKeyInfo in DER.
    pub(crate) fn has_public_key(&self, public_key: &[u8]) -> bool {
        self.public_key == public_key
    }
}

/// A host without its port and its final dot, an address of IPv6 without its brackets.
pub fn plain_host(host: &str) -> &str {
    if let Some((address, _)) = host.strip_prefix('[').and_then(|host| host.split_once(']')) {
        return address;
    }
    let name = match host.split_once(':') {
        // With more than one colon it is an address of IPv6.
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    };
    name.strip_suffix('.').unwrap_or(name)
}

/// The address that a host is, one of IPv4 as such however it is written.
pub(crate) fn address_of(host: &str) -> Option<IpAddr> {
    host.parse::<IpAddr>().ok().map(|address| address.to_canonical())
}

impl Links {
    fn of(certificate: &X509Certificate<'_>) -> Links {
        let mut links = Links {
            subject: certificate.subject().as_raw().to_vec(),
            issuer: certificate.issuer().as_raw().to_vec(),
            subject_key: None,
            issuer_key: None,
        };
        for extension in certificate.iter_extensions() {
            match extension.parsed_extension() {
                ParsedExtension::SubjectKeyIdentifier(key) => links.subject_key = Some(key.0.to_vec()),
                ParsedExtension::AuthorityKeyIdentifier(key) => {
                    links.issuer_key = key.key_identifier.as_ref().map(|key| key.0.to_vec());
                }
                _ => {}
            }
        }
        links
    }

    /// Several authorities may have one name, as an authority has a new key now and then.
    fn are_of_issuer(&self, issuer: &Links) -> bool {
        let is_same_key = match (&self.issuer_key, &issuer.subject_key) {
            (Some(named), Some(key)) => named == key,
            _ => true,
        };
        self.issuer == issuer.subject && is_same_key
    }
}

/// The names of subjectAltName. A name that no client can ask for, such as one with a blank in it, is left out.
fn alternative_names(certificate: &X509Certificate<'_>) -> Result<(Vec<String>, Vec<IpAddr>), String> {
    let extension = certificate
        .subject_alternative_name()
        .map_err(|error| format!("has a subjectAltName that cannot be read: {error}"))?;
    let (mut names, mut addresses) = (Vec::new(), Vec::new());
    for name in extension.iter().flat_map(|extension| &extension.value.general_names) {
        match name {
            GeneralName::DNSName(name) if name.bytes().all(|byte| byte.is_ascii_graphic()) => {
                names.push(name.strip_suffix('.').unwrap_or(name).to_ascii_lowercase());
            }
            GeneralName::IPAddress(bytes) => addresses.extend(address_of_bytes(bytes)),
            _ => {}
        }
    }
    names.retain(|name| !name.is_empty());
    Ok((names, addresses))
}

fn address_of_bytes(bytes: &[u8]) -> Option<IpAddr> {
    let v4 = <[u8; 4]>::try_from(bytes).map(IpAddr::from);
    v4.or_else(|_| <[u8; 16]>::try_from(bytes).map(IpAddr::from)).ok().map(|address| address.to_canonical())
}

/// A name as text that can go into a log and into PostgreSQL.
pub(crate) fn text(name: &X509Name<'_>) -> String {
    let escaped = |character: char| match character {
        _ if character.is_control() => character.escape_default().to_string(),
        _ => character.to_string(),
    };
    name.to_string().chars().map(escaped).collect()
}

fn key_kind(key: &SubjectPublicKeyInfo<'_>) -> KeyKind {
    let identifier = key.algorithm.algorithm.to_id_string();
    match (identifier.as_str(), key.parsed()) {
        (_, Ok(PublicKey::RSA(rsa))) => KeyKind::Rsa(bits(rsa.modulus)),
        (_, Ok(PublicKey::EC(_))) => KeyKind::Ecdsa(curve(key)),
        ("1.3.101.112", _) => KeyKind::Ed25519,
        _ => KeyKind::Other(identifier),
    }
}

fn bits(modulus: &[u8]) -> usize {
    let leading = modulus.iter().take_while(|&&byte| byte == 0).count();
    let partly = modulus.get(leading).map_or(0, |byte| byte.leading_zeros() as usize);
    (modulus.len() - leading) * 8 - partly
}

fn curve(key: &SubjectPublicKeyInfo<'_>) -> String {
    let parameters = key.algorithm.parameters.as_ref();
    let identifier =
        parameters.and_then(|parameters| parameters.as_oid().ok()).map(|curve| curve.to_id_string());
    match identifier.as_deref() {
        Some("1.2.840.10045.3.1.7") => "P-256".to_owned(),
        Some("1.3.132.0.34") => "P-384".to_owned(),
        Some("1.3.132.0.35") => "P-521".to_owned(),
        Some(other) => other.to_owned(),
        None => "with a curve of its own".to_owned(),
    }
}

/// A second of the UNIX clock as text.
pub(crate) fn time(second: i64) -> String {
    let Ok(time) = ASN1Time::from_timestamp(second) else {
        return format!("second {second} of the UNIX clock");
    };
    let time = time.to_datetime();
    let (date, month) = (time.date(), u8::from(time.month()));
    let (hour, minute) = (time.hour(), time.minute());
    format!("{:04}-{month:02}-{:02} {hour:02}:{minute:02} UTC", date.year(), date.day())
}
