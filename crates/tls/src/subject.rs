//! Who a client is, as its certificate says and an authority has confirmed.

use std::fmt::Write;

use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use x509_parser::certificate::X509Certificate;
use x509_parser::extensions::GeneralName;
use x509_parser::objects::{oid_registry, oid2abbrev};
use x509_parser::prelude::FromDer;
use x509_parser::x509::{AttributeTypeAndValue, X509Name};

use crate::certificate::Certificate;

/// Names of each kind that are told, at most.
const MOST_NAMES: usize = 100;
/// Bytes of JSON at most; more would go with each request.
const LONGEST: usize = 8 << 10;

/// A certificate as a JSON object:
///
/// - `subject`, `issuer`: distinguished names as RFC 4514 writes them, the most special part first (`CN=ada,O=Example`);
/// - `common_name`: that of the subject, if it has exactly one;
/// - `names`, `emails`, `uris`, `addresses`: its alternative names of these kinds;
/// - `serial`: its number among those of its issuer, in hexadecimal digits;
/// - `fingerprint`: SHA-256 of the certificate, in hexadecimal digits;
/// - `not_before`, `not_after`: when it is valid, in seconds of the UNIX clock.
///
/// # Errors
/// Why it cannot be told, as the end of a sentence that begins with the certificate.
pub fn json_of(der: &[u8]) -> Result<String, String> {
    let read = Certificate::read(der)?;
    let (_, certificate) =
        X509Certificate::from_der(der).map_err(|error| format!("cannot be read: {error}"))?;
    let addresses: Vec<String> = read.addresses.iter().take(MOST_NAMES).map(ToString::to_string).collect();
    let names: Vec<&String> = read.names.iter().take(MOST_NAMES).collect();
    let subject = json!({
        "subject": distinguished_name(certificate.subject()),
        "issuer": distinguished_name(certificate.issuer()),
        "common_name": common_name(certificate.subject()),
        "names": names,
        "emails": alternatives(&certificate, |name| match name {
            GeneralName::RFC822Name(email) => Some(email),
            _ => None,
        }),
        "uris": alternatives(&certificate, |name| match name {
            GeneralName::URI(uri) => Some(uri),
            _ => None,
        }),
        "addresses": addresses,
        "serial": read.serial,
        "fingerprint": hexadecimal(&Sha256::digest(der)),
        "not_before": read.not_before,
        "not_after": read.not_after,
    });
    let text = subject.to_string();
    if text.len() > LONGEST {
        return Err(format!("says more than {LONGEST} bytes about its owner"));
    }
    Ok(text)
}

/// Names of a kind. One that has a character below the blank is left out, as whoever compares it would not see it.
fn alternatives<'a>(
    certificate: &'a X509Certificate<'a>,
    kind: impl Fn(&'a GeneralName<'a>) -> Option<&'a str>,
) -> Vec<&'a str> {
    let extension = certificate.subject_alternative_name().ok().flatten();
    let names = extension.map_or(&[][..], |extension| &extension.value.general_names);
    let sane = |name: &&str| !name.chars().any(char::is_control);
    names.iter().filter_map(kind).filter(sane).take(MOST_NAMES).collect()
}

fn common_name(name: &X509Name<'_>) -> Value {
    let mut names = name.iter_common_name();
    match (names.next().and_then(value), names.next()) {
        (Some(name), None) => name.into(),
        _ => Value::Null,
    }
}

/// The text of a part of a name, without characters that cannot be seen.
fn value(attribute: &AttributeTypeAndValue<'_>) -> Option<String> {
    let text = attribute.as_str().ok()?;
    (!text.chars().any(char::is_control)).then(|| text.to_owned())
}

/// A name as RFC 4514 writes it, from its end to its beginning. So written, no part can look like two.
fn distinguished_name(name: &X509Name<'_>) -> String {
    let mut parts = Vec::new();
    for part in name.iter_rdn() {
        let attributes: Vec<String> = part.iter().map(attribute).collect();
        parts.push(attributes.join("+"));
    }
    parts.reverse();
    parts.join(",")
}

fn attribute(attribute: &AttributeTypeAndValue<'_>) -> String {
    let identifier = attribute.attr_type();
    let text = attribute.as_str();
    match (oid2abbrev(identifier, oid_registry()), text) {
        (Ok(kind), Ok(text)) => format!("{kind}={}", escaped(text)),
        (kind, _) => {
            // What is no text is told by its bytes (RFC 4514, 2.4).
            let kind = kind.map_or_else(|_| identifier.to_id_string(), str::to_owned);
            format!("{kind}=#{}", hexadecimal(attribute.attr_value().data))
        }
    }
}

/// Section 2.4 of RFC 4514.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let last = text.chars().count().saturating_sub(1);
    for (place, character) in text.chars().enumerate() {
        let is_at_edge = place == 0 && matches!(character, ' ' | '#') || place == last && character == ' ';
        match character {
            '"' | '+' | ',' | ';' | '<' | '>' | '\\' | '=' => out.extend(['\\', character]),
            _ if is_at_edge => out.extend(['\\', character]),
            _ if character.is_control() => {
                for byte in character.encode_utf8(&mut [0; 4]).bytes() {
                    // Writing into a string does not fail.
                    let _ = write!(out, "\\{byte:02x}");
                }
            }
            _ => out.push(character),
        }
    }
    out
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
