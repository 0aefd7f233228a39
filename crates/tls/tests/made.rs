//! Certificates that tests make, and those of OpenSSL that they have as files.

use std::sync::Arc;

use rcgen::{
    BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, PKCS_ECDSA_P256_SHA256, date_time_ymd,
};
use tls::Pair;

/// 2026-06-01, in the middle of what [`Wanted::new`] makes.
pub(crate) const NOW: i64 = 1_780_272_000;
pub(crate) const DAY: i64 = 86_400;

/// A file of `tests/fixtures`.
macro_rules! fixture {
    ($name:literal) => {
        include_str!(concat!("fixtures/", $name))
    };
}
pub(crate) use fixture;

/// A certificate that is wanted.
pub(crate) struct Wanted {
    pub params: CertificateParams,
    pub key: KeyPair,
}

impl Wanted {
    /// One for these names, valid from the beginning to the end of 2026, with a key of ECDSA P-256.
    pub(crate) fn new(names: &[&str]) -> Wanted {
        let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
        let mut params = CertificateParams::new(names.clone()).unwrap();
        params.not_before = date_time_ymd(2026, 1, 1);
        params.not_after = date_time_ymd(2026, 12, 31);
        params.is_ca = IsCa::ExplicitNoCa;
        params.distinguished_name.push(DnType::CommonName, names.first().map_or("nobody", String::as_str));
        Wanted { params, key: KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256).unwrap() }
    }

    /// The same, valid between two days, each as year, month, day.
    pub(crate) fn valid(mut self, from: (i32, u8, u8), until: (i32, u8, u8)) -> Wanted {
        self.params.not_before = date_time_ymd(from.0, from.1, from.2);
        self.params.not_after = date_time_ymd(until.0, until.1, until.2);
        self
    }

    /// Signed by itself.
    pub(crate) fn alone(self) -> Made {
        Made { certificate: self.params.self_signed(&self.key).unwrap().pem(), key: self.key.serialize_pem() }
    }

    /// Signed by an authority.
    pub(crate) fn signed_by(self, authority: &Authority) -> Made {
        let certificate = self.params.signed_by(&self.key, &authority.issuer).unwrap();
        Made { certificate: certificate.pem(), key: self.key.serialize_pem() }
    }
}

/// A certificate and its key in PEM.
pub(crate) struct Made {
    pub certificate: String,
    pub key: String,
}

impl Made {
    pub(crate) fn pair(&self) -> Arc<Pair> {
        Arc::new(load(&self.certificate, &self.key))
    }
}

/// Who signs others.
pub(crate) struct Authority {
    pub certificate: String,
    issuer: Issuer<'static, KeyPair>,
}

impl Authority {
    /// One that has signed itself.
    pub(crate) fn root(name: &str) -> Authority {
        let Wanted { params, key } = authority_params(name);
        let certificate = params.self_signed(&key).unwrap().pem();
        Authority { certificate, issuer: Issuer::new(params, key) }
    }

    /// One that this one has signed.
    pub(crate) fn below(&self, name: &str) -> Authority {
        let Wanted { params, key } = authority_params(name);
        let certificate = params.signed_by(&key, &self.issuer).unwrap().pem();
        Authority { certificate, issuer: Issuer::new(params, key) }
    }
}

fn authority_params(name: &str) -> Wanted {
    let mut wanted = Wanted::new(&[]);
    wanted.params.distinguished_name.push(DnType::CommonName, name);
    wanted.params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    wanted.params.use_authority_key_identifier_extension = true;
    wanted
}

/// A chain as authorities send it: the server's own, an intermediate, the root; and the key.
pub(crate) fn chain_of_three() -> (Vec<String>, String) {
    let root = Authority::root("Root");
    let middle = root.below("Middle");
    let made = Wanted::new(&["chain.test"]).signed_by(&middle);
    (vec![made.certificate, middle.certificate, root.certificate], made.key)
}

pub(crate) fn load(certificates: &str, key: &str) -> Pair {
    Pair::load(certificates.as_bytes(), Some(key.as_bytes())).unwrap()
}
