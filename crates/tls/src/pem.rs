//! The certificates and the key of a file in PEM.
//!
//! Each block of the file is read, or named in the error: a chain is never shorter than its file. What comes in another format is
//! called by its name, with the command that converts it.

use memchr::memmem;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

use crate::blocks::{Block, blocks};
use crate::der::{self, IDENTIFIER, INTEGER, OCTETS, SEQUENCE, Value};

/// Bytes that a file may have: a chain and its key have some kilobytes.
pub const MAX_FILE: usize = 1 << 20;
/// Certificates that a file may have.
pub const MAX_CHAIN: usize = 32;

/// What a file holds.
#[derive(Debug, Default)]
pub struct Contents {
    /// The certificates, in the order of the file.
    pub chain: Vec<CertificateDer<'static>>,
    /// The key.
    pub key: Option<PrivateKeyDer<'static>>,
}

impl Contents {
    /// Reads a file.
    ///
    /// # Errors
    /// A sentence that says which block of which line cannot be used, or what the file is instead, and what to do.
    pub fn read(file: &[u8]) -> Result<Contents, String> {
        if file.len() > MAX_FILE {
            return Err(format!("the file is larger than {MAX_FILE} bytes"));
        }
        let blocks = blocks(file)?;
        if blocks.is_empty() {
            return Err(other_format(file));
        }
        let mut contents = Contents::default();
        for block in &blocks {
            contents.take(block).map_err(|reason| format!("{} {reason}", block.name()))?;
        }
        Ok(contents)
    }

    fn take(&mut self, block: &Block) -> Result<(), String> {
        if block.is_encrypted() {
            return Err(ENCRYPTED.to_owned());
        }
        match block.label.as_str() {
            "CERTIFICATE" | "X509 CERTIFICATE" => self.take_certificate(whole(block.decode()?)?),
            "TRUSTED CERTIFICATE" => self.take_certificate(without_trust(&block.decode()?)?),
            "PRIVATE KEY" => self.take_key(PrivateKeyDer::Pkcs8(whole(block.decode()?)?.into())),
            "RSA PRIVATE KEY" => self.take_key(PrivateKeyDer::Pkcs1(whole(block.decode()?)?.into())),
            "EC PRIVATE KEY" => self.take_key(PrivateKeyDer::Sec1(whole(block.decode()?)?.into())),
            // The key says the same, or TLS has no use for it. They are read nevertheless, as the file may be damaged.
            "EC PARAMETERS" | "DH PARAMETERS" | "X9.42 DH PARAMETERS" | "PUBLIC KEY" => {
                block.decode().map(drop)
            }
            "ENCRYPTED PRIVATE KEY" => Err(ENCRYPTED.to_owned()),
            "DSA PRIVATE KEY" | "DSA PARAMETERS" => Err(DSA.to_owned()),
            "OPENSSH PRIVATE KEY" => Err(of_openssh(&block.decode()?).to_owned()),
            "PKCS7" | "CMS" | "PKCS #7 SIGNED DATA" => Err(format!("is PKCS#7; {PKCS7}")),
            "CERTIFICATE REQUEST" | "NEW CERTIFICATE REQUEST" => {
                Err("is a request for a certificate: the authority answers it with the certificate"
                    .to_owned())
            }
            _ => Err("is neither a certificate nor a key; remove it from the file".to_owned()),
        }
    }

    fn take_certificate(&mut self, der: Vec<u8>) -> Result<(), String> {
        if self.chain.len() == MAX_CHAIN {
            return Err(format!("is one certificate too many: a file may have {MAX_CHAIN}"));
        }
        self.chain.push(der.into());
        Ok(())
    }

    fn take_key(&mut self, key: PrivateKeyDer<'static>) -> Result<(), String> {
        if self.key.is_some() {
            return Err("is a second key: a file may have one".to_owned());
        }
        self.key = Some(key);
        Ok(())
    }
}

/// Whether a file is whole and has no key. One that is just being written is not whole.
pub(crate) fn lacks_key(file: &[u8]) -> bool {
    blocks(file).is_ok_and(|blocks| {
        !blocks.is_empty() && blocks.iter().all(|block| !block.label.contains("PRIVATE KEY"))
    })
}

const ENCRYPTED: &str =
    "is encrypted, and the server knows no passphrase; decrypt it by: openssl pkey -in FILE -out NEW";
const DSA: &str = "is a DSA key, which TLS no longer has; make a new key by: openssl genpkey -algorithm EC \
                   -pkeyopt ec_paramgen_curve:P-256 -out NEW, and have its certificate issued";
/// What to do with a key of OpenSSH. Its name stands in it in clear; ssh-keygen writes Ed25519 in no other format.
fn of_openssh(key: &[u8]) -> &'static str {
    match memmem::find(key, b"ssh-ed25519") {
        Some(_) => {
            "is an Ed25519 key in the format of OpenSSH, which nothing converts; make a new key by: openssl genpkey \
                    -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out NEW, and have its certificate issued"
        }
        None => "is in the format of OpenSSH; convert a copy of it by: ssh-keygen -p -N '' -m PKCS8 -f COPY",
    }
}

const PKCS7: &str = "convert it by: openssl pkcs7 -print_certs -in FILE -out NEW";

/// Certificates and keys are sequences that are as long as they say.
fn whole(der: Vec<u8>) -> Result<Vec<u8>, String> {
    match der::first(&der) {
        Some((Value { tag: SEQUENCE, .. }, [])) => Ok(der),
        Some((Value { tag: SEQUENCE, .. }, _)) => Err("has bytes after its end".to_owned()),
        _ => Err("is damaged: it is not a whole value in DER".to_owned()),
    }
}

/// OpenSSL's own format has a certificate and, behind it, what it is trusted for; only clients and authorities ask for that.
fn without_trust(der: &[u8]) -> Result<Vec<u8>, String> {
    match der::first(der) {
        Some((value, [])) => whole(value.whole.to_vec()),
        Some((value, trust)) => whole(trust.to_vec()).and(whole(value.whole.to_vec())),
        None => Err("is damaged: it is not a whole value in DER".to_owned()),
    }
}

/// What a file without a block is.
fn other_format(file: &[u8]) -> String {
    let what = match file {
        _ if file.trim_ascii().is_empty() => "is empty",
        [0xfe, 0xed, 0xfe, 0xed, ..] | [0xce, 0xce, 0xce, 0xce, ..] => {
            "is a key store of Java (JKS); convert it by: keytool -importkeystore -srckeystore FILE -destkeystore NEW.p12 \
             -deststoretype PKCS12, then: openssl pkcs12 -in NEW.p12 -nodes -out NEW"
        }
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => {
            "is UTF-16; convert it by: iconv -f UTF-16 -t UTF-8 FILE > NEW"
        }
        _ if file.starts_with(b"PuTTY-User-Key-File") => {
            "is a key of PuTTY; convert it by: puttygen FILE -O private-openssh -o NEW, then: ssh-keygen -p -N '' -m PKCS8 -f NEW"
        }
        // A long one begins with a byte that no text has; a short one has to be whole.
        [SEQUENCE, second, ..] if *second >= 0x80 || der::sequence(file).is_some() => {
            return format!("the file is {}", der_format(file));
        }
        _ => "has neither a certificate nor a key in PEM: no line begins with -----BEGIN",
    };
    format!("the file {what}")
}

/// What a file is that begins as DER does.
fn der_format(file: &[u8]) -> String {
    let key = "a key in DER; convert it by: openssl pkey -inform DER -in FILE -out NEW";
    if begins_as_pkcs12(file) {
        return "PKCS#12; convert it by: openssl pkcs12 -in FILE -nodes -out NEW (with -legacy if it is an old one)".to_owned();
    }
    let values = der::sequence(file).unwrap_or_default();
    match values.as_slice() {
        [Value { tag: INTEGER, .. }, ..] | [Value { tag: SEQUENCE, .. }, Value { tag: OCTETS, .. }] => {
            key.to_owned()
        }
        [Value { tag: IDENTIFIER, .. }, ..] => format!("PKCS#7 in DER; {PKCS7} -inform DER"),
        // Certificates are the usual case, and so are those that were cut off.
        _ => "a certificate in DER; convert it by: openssl x509 -inform DER -in FILE -out NEW".to_owned(),
    }
}

/// Whether a file is a sequence whose first member is 3, its version. Some programs write it in BER, with a length that is open.
fn begins_as_pkcs12(file: &[u8]) -> bool {
    let contents = match file {
        [SEQUENCE, 0x80, contents @ ..] => contents,
        [SEQUENCE, length @ 0x81..=0x84, rest @ ..] => {
            rest.get(usize::from(length & 0x7f)..).unwrap_or_default()
        }
        [SEQUENCE, _, contents @ ..] => contents,
        _ => return false,
    };
    contents.starts_with(&[INTEGER, 1, 3])
}

/// What a key in PKCS#8, or another format, is, when rustls does not take it.
pub(crate) fn unsupported(key: &PrivateKeyDer<'_>) -> String {
    let supported = "RSA of 2048 to 8192 bits, ECDSA with P-256, P-384 or P-521, and Ed25519 are supported";
    let what = match key {
        PrivateKeyDer::Pkcs8(key) => kind_of_pkcs8(key.secret_pkcs8_der()),
        PrivateKeyDer::Pkcs1(_) => "the key is RSA of another size, or damaged",
        _ => "the key is ECDSA with another curve, or damaged",
    };
    if what == DSA { format!("the key {DSA}") } else { format!("{what}: {supported}") }
}

fn kind_of_pkcs8(der: &[u8]) -> &'static str {
    let values = der::sequence(der).unwrap_or_default();
    let algorithm = values.get(1).and_then(|algorithm| der::values(algorithm.contents)).unwrap_or_default();
    match algorithm.first().map(|identifier| identifier.contents) {
        // 1.2.840.113549.1.1.1, 1.2.840.113549.1.1.10, 1.2.840.10045.2.1, 1.2.840.10040.4.1, 1.3.101.113
        Some([0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 1, 1]) => "the key is RSA of another size, or damaged",
        Some([0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 1, 10]) => "the key is for RSA-PSS alone",
        Some([0x2a, 0x86, 0x48, 0xce, 0x3d, 2, 1]) => "the key is ECDSA with another curve, or damaged",
        Some([0x2a, 0x86, 0x48, 0xce, 0x38, 4, 1]) => DSA,
        Some([0x2b, 0x65, 0x71]) => "the key is Ed448",
        _ => "the key is of another kind, or damaged",
    }
}
