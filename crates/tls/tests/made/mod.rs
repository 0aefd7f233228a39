//! Certificates that are made for a test.
#![allow(dead_code, reason = "each test file uses a part of it")]

use rcgen::{
    BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, KeyUsagePurpose, date_time_ymd,
};

/// 2026-01-01, at which they are valid.
pub const NOW: i64 = 1_767_225_600;

/// PEM.
pub struct Made {
    /// The certificate and that of its authority.
    pub chain: String,
    pub alone: String,
    pub authority: String,
    pub key: String,
}

fn params(names: &[&str]) -> CertificateParams {
    let mut params =
        CertificateParams::new(names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>()).unwrap();
    params.not_before = date_time_ymd(2025, 1, 1);
    params.not_after = date_time_ymd(2035, 1, 1);
    params
}

/// An authority's certificate and key.
pub fn authority() -> Made {
    let (params, key) = authority_params();
    let certificate = params.self_signed(&key).unwrap().pem();
    Made {
        chain: certificate.clone(),
        alone: certificate.clone(),
        authority: certificate,
        key: key.serialize_pem(),
    }
}

fn authority_params() -> (CertificateParams, KeyPair) {
    let mut params = params(&["authority.test"]);
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    params.distinguished_name.push(DnType::CommonName, format!("authority {}", fastrand::u64(..)));
    (params, KeyPair::generate().unwrap())
}

/// A certificate for these names and addresses, signed by an authority of its own.
pub fn leaf(names: &[&str]) -> Made {
    let (authority, authority_key) = authority_params();
    let authority_pem = authority.self_signed(&authority_key).unwrap().pem();
    let issuer = Issuer::new(authority, authority_key);
    let key = KeyPair::generate().unwrap();
    let mut params = params(names);
    params.distinguished_name.push(DnType::CommonName, "a server");
    let alone = params.signed_by(&key, &issuer).unwrap().pem();
    Made {
        chain: format!("{alone}{authority_pem}"),
        alone,
        authority: authority_pem,
        key: key.serialize_pem(),
    }
}
