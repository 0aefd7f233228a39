//! PEM (RFC 7468): a chain of certificates and its key, as people have them in files.
//!
//! Readers of PEM pass over what they do not know, and by that a chain becomes shorter than its file. Here each block is read, or
//! named in the error.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

/// Bytes that a file may have: a chain has some kilobytes.
pub const LONGEST_FILE: usize = 1 << 20;
/// Certificates of a chain.
const LONGEST_CHAIN: usize = 32;

/// What a file, or two, hold.
#[derive(Debug, Default)]
pub struct Contents {
    /// In the order of the file: the server's own first.
    pub chain: Vec<CertificateDer<'static>>,
    /// The key.
    pub key: Option<PrivateKeyDer<'static>>,
}

/// A block between BEGIN and END.
struct Block<'a> {
    label: &'a str,
    /// Of its BEGIN, from 1.
    line: usize,
    body: String,
}

impl Contents {
    /// Reads one file.
    ///
    /// # Errors
    ///
    /// A sentence that says what cannot be read, in which line, and what to do.
    pub fn read(bytes: &[u8]) -> Result<Self, String> {
        if bytes.len() > LONGEST_FILE {
            return Err(format!("the file has more than {LONGEST_FILE} bytes"));
        }
        if bytes.iter().all(u8::is_ascii_whitespace) {
            return Err("the file is empty".into());
        }
        let text = String::from_utf8_lossy(bytes);
        let blocks = blocks(&text).map_err(|error| binary(bytes).map_or(error, Into::into))?;
        if blocks.is_empty() {
            return Err(binary(bytes).unwrap_or("the file has no block of PEM (-----BEGIN …-----)").into());
        }
        let mut contents = Self::default();
        for block in blocks {
            contents
                .take(&block)
                .map_err(|reason| format!("the block {} in line {} {reason}", block.label, block.line))?;
        }
        Ok(contents)
    }

    fn take(&mut self, block: &Block<'_>) -> Result<(), String> {
        if block.body.contains("ENCRYPTED") {
            return Err(convert("is encrypted", "openssl pkey -in FILE -out NEW"));
        }
        match block.label {
            "CERTIFICATE" | "X509 CERTIFICATE" => {
                if self.chain.len() == LONGEST_CHAIN {
                    return Err(format!("is one too many: a chain has at most {LONGEST_CHAIN} certificates"));
                }
                self.chain.push(block.decode()?.into());
                Ok(())
            }
            "PRIVATE KEY" => self.take_key(PrivateKeyDer::Pkcs8(block.decode()?.into())),
            "RSA PRIVATE KEY" => self.take_key(PrivateKeyDer::Pkcs1(block.decode()?.into())),
            "EC PRIVATE KEY" => self.take_key(PrivateKeyDer::Sec1(block.decode()?.into())),
            // The key says the same.
            "EC PARAMETERS" => Ok(()),
            "ENCRYPTED PRIVATE KEY" => Err(convert("is encrypted", "openssl pkey -in FILE -out NEW")),
            "TRUSTED CERTIFICATE" => Err(convert("is OpenSSL's own form", "openssl x509 -in FILE -out NEW")),
            "OPENSSH PRIVATE KEY" => Err(convert("is SSH's", "ssh-keygen -p -m PEM -f FILE")),
            "PKCS7" | "CMS" => Err(convert(
                "holds certificates in another form",
                "openssl pkcs7 -print_certs -in FILE -out NEW",
            )),
            "DSA PRIVATE KEY" => Err(
                "is of a kind that TLS no longer has; make a key by openssl ecparam -name prime256v1 -genkey"
                    .into(),
            ),
            "CERTIFICATE REQUEST" | "NEW CERTIFICATE REQUEST" => {
                Err("is a request for a certificate, and no certificate".into())
            }
            _ => Err("is nothing that belongs here".into()),
        }
    }

    fn take_key(&mut self, key: PrivateKeyDer<'static>) -> Result<(), String> {
        if self.key.is_some() {
            return Err("is a second key".into());
        }
        self.key = Some(key);
        Ok(())
    }
}

impl Block<'_> {
    fn decode(&self) -> Result<Vec<u8>, String> {
        let bytes = STANDARD.decode(&self.body).map_err(|error| format!("is not base64: {error}"))?;
        if bytes.is_empty() { Err("is empty".into()) } else { Ok(bytes) }
    }
}

fn convert(what: &str, command: &str) -> String {
    format!("{what}; convert it by: {command}")
}

/// What a file is that has no PEM.
fn binary(bytes: &[u8]) -> Option<&'static str> {
    match bytes {
        [0xfe, 0xed, 0xfe, 0xed, ..] => Some(
            "the file is a Java key store; convert it by: keytool -importkeystore -srckeystore FILE -destkeystore NEW.p12 \
             -deststoretype PKCS12, then openssl pkcs12 -in NEW.p12 -out NEW -nodes",
        ),
        // A sequence whose first member is the number 3: PKCS#12.
        [0x30, 0x82, _, _, 2, 1, 3, ..] | [0x30, 0x80, 2, 1, 3, ..] | [0x30, 0x83, _, _, _, 2, 1, 3, ..] => {
            Some("the file is PKCS#12; convert it by: openssl pkcs12 -in FILE -out NEW -nodes")
        }
        [0x30, 0x80..=0x84, ..] => Some(
            "the file is DER; convert it by: openssl x509 -inform der -in FILE -out NEW, or, for a key, openssl pkey -inform der \
             -in FILE -out NEW",
        ),
        _ => None,
    }
}

/// The blocks of a text. What stands between them is passed over, as RFC 7468 has it.
fn blocks(text: &str) -> Result<Vec<Block<'_>>, String> {
    const BEGIN: &str = "-----BEGIN ";
    let mut blocks = Vec::new();
    let mut rest = text;
    let line_of =
        |rest: &str| 1 + text[..text.len() - rest.len()].bytes().filter(|&byte| byte == b'\n').count();
    while let Some(at) = rest.find(BEGIN) {
        let line = line_of(&rest[at..]);
        if let Some(lost) = rest[..at].find("-----END ") {
            return Err(format!("line {} ends a block that has not begun", line_of(&rest[lost..])));
        }
        let after = &rest[at + BEGIN.len()..];
        let label =
            after.split("-----").next().filter(|label| !label.contains('\n') && label.len() < after.len());
        let label = label.ok_or_else(|| format!("line {line} begins a block and does not say of what"))?;
        let body = &after[label.len() + "-----".len()..];
        let end = format!("-----END {label}-----");
        let length = body.find(&end).ok_or_else(|| format!("the block {label} in line {line} has no end"))?;
        if body[..length].contains(BEGIN) {
            return Err(format!("the block {label} in line {line} has no end"));
        }
        blocks.push(Block { label, line, body: compact(&body[..length]) });
        rest = &body[length + end.len()..];
    }
    match half_a_border(rest) {
        Some(at) => Err(format!("line {} has half of a block's beginning or end", line_of(&rest[at..]))),
        None => Ok(blocks),
    }
}

/// Where a text without blocks has what is left of one: the file was cut off, or is being written.
fn half_a_border(text: &str) -> Option<usize> {
    let whole = text.find("-----B").or_else(|| text.find("-----E"));
    let dashes = text.len() - text.trim_end_matches('-').len();
    whole.or_else(|| (1..=5).contains(&dashes).then(|| text.len() - dashes))
}

/// A block's text without its white space.
fn compact(body: &str) -> String {
    body.split_whitespace().collect()
}
