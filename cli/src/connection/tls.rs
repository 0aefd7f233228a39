//! What `sslmode` asks of a server's certificate, as libpq has it: nothing, who has signed it, or also whom it names.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cluster::postgres::config::SslMode;
use conninfo::Parameters;
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, aws_lc_rs, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};

use crate::failure::{Failure, Result};

/// The mode, and how to do it. `home` is a file of the user's; over sockets no files are looked for.
pub(super) fn of(
    parameters: &Parameters,
    is_over_network: bool,
    home: impl Fn(&str) -> Option<PathBuf>,
) -> Result<(SslMode, ClientConfig)> {
    let text = parameters.get("sslmode").map_or("prefer", String::as_str);
    let Some(mode) = of_mode(text) else {
        return Err(Failure::Said(format!(
            "sslmode {text} is none of disable, allow, prefer, require, verify-ca and verify-full"
        )));
    };
    let provider = Arc::new(aws_lc_rs::default_provider());
    let signers = match is_over_network {
        true => signers(text, parameters.get("sslrootcert"), &provider, &home)?,
        false => None,
    };
    let verifier = Verifier { signers, checks_name: text == "verify-full", provider: Arc::clone(&provider) };
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| Failure::Said(format!("TLS cannot be used: {error}")))?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier));
    let own = |name: &str, file: &str| {
        let default = || home(&format!(".postgresql/{file}")).filter(|path| is_over_network && path.exists());
        parameters.get(name).map(PathBuf::from).or_else(default)
    };
    let config = match (own("sslcert", "postgresql.crt"), own("sslkey", "postgresql.key")) {
        (Some(certificate), Some(key)) => {
            let (chain, key) = (certificates(&certificate)?, private_key(&key)?);
            builder.with_client_auth_cert(chain, key).map_err(|error| of_file(&certificate, &error))?
        }
        _ => builder.with_no_client_auth(),
    };
    Ok((mode, config))
}

/// Who may have signed; none if anybody may.
fn signers(
    mode: &str,
    roots: Option<&String>,
    provider: &Arc<CryptoProvider>,
    home: impl Fn(&str) -> Option<PathBuf>,
) -> Result<Option<Arc<WebPkiServerVerifier>>> {
    let default = || home(".postgresql/root.crt").filter(|path| path.exists());
    let roots = match roots.map(String::as_str) {
        Some("system") if mode != "verify-full" => {
            return Err(Failure::Said("sslrootcert=system goes with sslmode=verify-full alone".into()));
        }
        Some("system") => Some(of_system()?),
        // As libpq: whoever asks for less than the name may still have named who signs.
        Some(path) if mode.starts_with("verify") || mode == "require" => Some(of_path(Path::new(path))?),
        None if mode.starts_with("verify") || mode == "require" => {
            default().map(|path| of_path(&path)).transpose()?
        }
        _ => None,
    };
    let Some(roots) = roots else {
        if mode.starts_with("verify") {
            return Err(Failure::Said(format!(
                "sslmode={mode} needs to know who may sign: sslrootcert=FILE, sslrootcert=system, or ~/.postgresql/root.crt"
            )));
        }
        return Ok(None);
    };
    let signers = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::clone(provider)).build();
    signers.map(Some).map_err(|error| Failure::Said(format!("sslrootcert cannot be used: {error}")))
}

fn of_system() -> Result<RootCertStore> {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    if roots.is_empty() {
        return Err(Failure::Said("the system has no certificates of authorities".into()));
    }
    Ok(roots)
}

fn of_path(path: &Path) -> Result<RootCertStore> {
    let mut roots = RootCertStore::empty();
    for certificate in certificates(path)? {
        roots.add(certificate).map_err(|error| of_file(path, &error))?;
    }
    Ok(roots)
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>> {
    let text = read(path)?;
    let all: std::result::Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&text).collect();
    match all {
        Ok(all) if !all.is_empty() => Ok(all),
        Ok(_) => Err(of_file(path, &"there is no certificate in it")),
        Err(error) => Err(of_file(path, &error)),
    }
}

fn private_key(path: &Path) -> Result<PrivateKeyDer<'static>> {
    PrivateKeyDer::from_pem_slice(&read(path)?).map_err(|error| of_file(path, &error))
}

fn read(path: &Path) -> Result<Vec<u8>> {
    fs::read(path).map_err(|error| of_file(path, &error))
}

fn of_file(path: &Path, error: &dyn std::fmt::Display) -> Failure {
    Failure::Said(format!("cannot use {}: {error}", path.display()))
}

/// Who may have signed a server's certificate, and whether it must name the server. The server must have its key in any case.
#[derive(Debug)]
struct Verifier {
    /// None if anybody may.
    signers: Option<Arc<WebPkiServerVerifier>>,
    checks_name: bool,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        others: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        status: &[u8],
        now: UnixTime,
    ) -> std::result::Result<ServerCertVerified, Error> {
        let Some(signers) = &self.signers else { return Ok(ServerCertVerified::assertion()) };
        match signers.verify_server_cert(certificate, others, name, status, now) {
            Err(Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) if !self.checks_name => Ok(ServerCertVerified::assertion()),
            other => other,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> std::result::Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, certificate, signed, &self.provider.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> std::result::Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, certificate, signed, &self.provider.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

/// How a mode of libpq's is told to the client library; what is verified is another thing.
fn of_mode(mode: &str) -> Option<SslMode> {
    match mode {
        "disable" => Some(SslMode::Disable),
        "allow" | "prefer" => Some(SslMode::Prefer),
        "require" | "verify-ca" | "verify-full" => Some(SslMode::Require),
        _ => None,
    }
}
