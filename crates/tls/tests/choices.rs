//! Which certificate a client gets.

use std::sync::Arc;

use rustls::SignatureScheme::{self, ECDSA_NISTP256_SHA256, ED25519, RSA_PSS_SHA256};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, ClientConnection, DigitallySignedStruct, Error, ServerConfig, ServerConnection};
use tls::{Choice, Pair};

use crate::made::{DAY, NOW, Wanted, fixture, load};

const ALL: [SignatureScheme; 3] = [ECDSA_NISTP256_SHA256, ED25519, RSA_PSS_SHA256];

fn pair(names: &[&str]) -> Arc<Pair> {
    Wanted::new(names).alone().pair()
}

fn rsa_pair() -> Arc<Pair> {
    Arc::new(load(fixture!("rsa.certificate.pem"), fixture!("rsa.pkcs8.pem")))
}

/// A pair for the names of [`rsa_pair`], of ECDSA.
fn ecdsa_pair() -> Arc<Pair> {
    pair(&["rsa.test", "*.rsa.test"])
}

fn named(pairs: &[&Arc<Pair>]) -> Choice {
    Choice::new(pairs.iter().map(|&pair| (Arc::clone(pair), false)).collect(), NOW)
}

fn is(found: Option<&Arc<Pair>>, expected: &Arc<Pair>) -> bool {
    found.is_some_and(|found| Arc::ptr_eq(found, expected))
}

#[test]
fn an_exact_name_comes_before_a_wildcard() {
    let (exact, wildcard, other) =
        (pair(&["a.x.test"]), pair(&["*.x.test", "x.test"]), pair(&["other.test"]));
    for choice in [named(&[&exact, &wildcard, &other]), named(&[&other, &wildcard, &exact])] {
        assert!(is(choice.pair_of(Some("a.x.test")), &exact));
        assert!(is(choice.pair_of(Some("b.x.test")), &wildcard));
        assert!(is(choice.pair_of(Some("x.test")), &wildcard));
        assert!(is(choice.pair_of(Some("A.X.Test.:443")), &exact));
        for name in [None, Some(""), Some("test"), Some("a.b.x.test"), Some(".x.test"), Some("10.0.0.1")] {
            assert!(choice.pair_of(name).is_none(), "{name:?}");
        }
    }
}

#[test]
fn of_several_for_a_name_the_valid_one_that_began_last_is_chosen() {
    let valid = |from, until| Wanted::new(&["a.test"]).valid(from, until).alone().pair();
    let expired = valid((2026, 5, 1), (2026, 5, 31));
    let future = valid((2026, 7, 1), (2026, 9, 1));
    let older = valid((2026, 1, 1), (2027, 1, 1));
    let newer = valid((2026, 4, 1), (2026, 7, 1));
    for choice in [named(&[&expired, &future, &older, &newer]), named(&[&newer, &older, &future, &expired])] {
        assert!(is(choice.pair_of(Some("a.test")), &newer));
    }
    assert!(is(named(&[&expired, &future]).pair_of(Some("a.test")), &future));
    let twin = valid((2026, 4, 1), (2026, 7, 1));
    assert!(is(named(&[&twin, &newer]).pair_of(Some("a.test")), &twin));
    assert!(is(named(&[&newer, &twin]).pair_of(Some("a.test")), &newer));
}

#[test]
fn a_valid_wildcard_comes_before_an_expired_exact_name() {
    let expired = Wanted::new(&["a.x.test"]).valid((2026, 1, 1), (2026, 2, 1)).alone().pair();
    let wildcard = pair(&["*.x.test"]);
    assert!(is(named(&[&expired, &wildcard]).pair_of(Some("a.x.test")), &wildcard));
    assert!(is(named(&[&expired]).pair_of(Some("a.x.test")), &expired));
}

#[test]
fn the_default_is_the_first_that_may_be() {
    let (first, second, third) = (pair(&["1.test"]), pair(&["2.test"]), pair(&["3.test"]));
    let pairs = vec![(first.clone(), false), (second.clone(), true), (third.clone(), true)];
    let choice = Choice::new(pairs, NOW);
    assert!(is(choice.default_pair(), &second));
    for name in [None, Some("unknown.test"), Some("10.0.0.1")] {
        assert!(is(choice.pair_of(name), &second));
    }
    assert!(is(choice.pair_of(Some("1.test")), &first));
}

#[test]
fn a_single_certificate_is_the_default_of_several_none_is() {
    let (one, other) = (pair(&["1.test"]), pair(&["2.test"]));
    assert!(is(named(&[&one]).pair_of(None), &one));
    assert!(named(&[&one, &other]).default_pair().is_none());
    let empty = Choice::new(Vec::new(), NOW);
    assert!(empty.is_empty() && empty.pair_of(Some("1.test")).is_none() && empty.default_pair().is_none());
    assert!(!named(&[&one]).is_empty());
}

#[test]
fn a_choice_covers_what_one_of_its_certificates_covers() {
    let pairs = [pair(&["a.test", "10.0.0.1", "fd00::1"]), pair(&["*.b.test", "b.test"])];
    let choice = named(&[&pairs[0], &pairs[1]]);
    let hosts = [
        ("a.test", true),
        ("A.test.:443", true),
        ("b.test:80", true),
        ("x.b.test", true),
        ("10.0.0.1:443", true),
        ("[fd00::1]:443", true),
        ("x.a.test", false),
        ("x.y.b.test", false),
        (".b.test", false),
        ("10.0.0.2", false),
        ("", false),
    ];
    for (host, expected) in hosts {
        assert_eq!(choice.covers(host), expected, "{host}");
        assert_eq!(pairs.iter().any(|pair| pair.leaf.covers(host)), expected, "{host}");
    }
}

#[test]
fn a_choice_says_when_it_changes() {
    let expired = Wanted::new(&["a.test"]).valid((2026, 1, 1), (2026, 2, 1)).alone().pair();
    let soon = Wanted::new(&["a.test"]).valid((2026, 6, 3), (2027, 1, 1)).alone().pair();
    let ends = Wanted::new(&["a.test"]).valid((2026, 1, 1), (2026, 6, 2)).alone().pair();
    assert_eq!(named(&[&expired]).changes_at(), None);
    assert_eq!(named(&[&expired, &soon]).changes_at(), Some(NOW + 2 * DAY));
    assert_eq!(named(&[&soon, &ends]).changes_at(), Some(NOW + DAY + 1));
}

/// Takes any certificate, and can do the given kinds of signatures.
#[derive(Debug)]
struct Anything(Vec<SignatureScheme>);

impl ServerCertVerifier for Anything {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.clone()
    }
}

/// The certificate that a client is shown in a handshake. An address for a name sends no name.
fn shown(
    choice: &Arc<Choice>,
    name: &str,
    schemes: &[SignatureScheme],
) -> Result<CertificateDer<'static>, Error> {
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let server =
        ServerConfig::builder_with_provider(Arc::clone(&provider)).with_safe_default_protocol_versions()?;
    let server = server.with_no_client_auth().with_cert_resolver(Arc::clone(choice) as _);
    let client = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions()?;
    let verifier = Arc::new(Anything(schemes.to_vec()));
    let client = client.dangerous().with_custom_certificate_verifier(verifier).with_no_client_auth();
    let mut client = ClientConnection::new(Arc::new(client), ServerName::try_from(name.to_owned()).unwrap())?;
    let mut server = ServerConnection::new(Arc::new(server))?;
    while client.is_handshaking() {
        let mut bytes = Vec::new();
        client.write_tls(&mut bytes).unwrap();
        server.read_tls(&mut &bytes[..]).unwrap();
        server.process_new_packets()?;
        bytes.clear();
        server.write_tls(&mut bytes).unwrap();
        client.read_tls(&mut &bytes[..]).unwrap();
        client.process_new_packets()?;
    }
    Ok(client.peer_certificates().unwrap()[0].clone())
}

fn is_shown(choice: &Arc<Choice>, name: &str, schemes: &[SignatureScheme], expected: &Pair) {
    let shown = shown(choice, name, schemes).unwrap();
    assert!(shown == expected.certified.cert[0], "{name} with {schemes:?}");
}

#[test]
fn a_client_that_can_gets_ecdsa_and_another_rsa() {
    let (rsa, ecdsa, other) = (rsa_pair(), ecdsa_pair(), pair(&["other.test"]));
    // The fixture became valid after the other: the kind of key comes first nevertheless, as both are valid.
    let now = rsa.leaf.not_before + 1;
    for pairs in [[&rsa, &ecdsa, &other], [&other, &ecdsa, &rsa]] {
        let pairs = pairs.map(|pair| (Arc::clone(pair), false)).to_vec();
        let choice = Arc::new(Choice::new(pairs, now));
        assert!(is(choice.pair_of(Some("rsa.test")), &ecdsa));
        is_shown(&choice, "rsa.test", &ALL, &ecdsa);
        is_shown(&choice, "a.rsa.test", &ALL, &ecdsa);
        is_shown(&choice, "rsa.test", &[RSA_PSS_SHA256], &rsa);
        is_shown(&choice, "a.rsa.test", &[RSA_PSS_SHA256, ED25519], &rsa);
    }
}

#[test]
fn a_client_without_a_name_that_is_here_gets_the_default_or_nothing() {
    let (rsa, ecdsa, other) = (rsa_pair(), ecdsa_pair(), pair(&["other.test"]));
    let pairs = vec![(other.clone(), false), (ecdsa.clone(), true), (rsa.clone(), true)];
    let with_default = Arc::new(Choice::new(pairs, NOW));
    for name in ["10.0.0.1", "unknown.test"] {
        is_shown(&with_default, name, &ALL, &ecdsa);
        is_shown(&with_default, name, &[RSA_PSS_SHA256], &rsa);
    }
    is_shown(&with_default, "other.test", &ALL, &other);
    let without = Arc::new(named(&[&ecdsa, &other]));
    is_shown(&without, "other.test", &ALL, &other);
    for name in ["10.0.0.1", "unknown.test"] {
        assert!(shown(&without, name, &ALL).is_err());
    }
}

#[test]
fn a_wildcard_serves_the_client_for_whom_the_exact_certificate_has_no_signature() {
    let (exact, wildcard) = (pair(&["a.rsa.test"]), rsa_pair());
    let choice = Arc::new(Choice::new(
        vec![(exact.clone(), false), (wildcard.clone(), false)],
        wildcard.leaf.not_before,
    ));
    is_shown(&choice, "a.rsa.test", &ALL, &exact);
    is_shown(&choice, "a.rsa.test", &[RSA_PSS_SHA256], &wildcard);
}

#[test]
fn a_client_without_any_signature_that_is_here_is_refused() {
    let choice = Arc::new(named(&[&pair(&["a.test"])]));
    assert!(shown(&choice, "a.test", &[RSA_PSS_SHA256]).is_err());
}

/// Looking a name up takes as long with two thousand names as with one: a scan for each would be seen here.
#[test]
fn many_names_are_looked_up_at_once() {
    let names: Vec<String> = (0..2000).map(|number| format!("host{number}.test")).collect();
    let many = pair(&names.iter().map(String::as_str).collect::<Vec<_>>());
    let choice = named(&[&many, &pair(&["other.test"])]);
    for _ in 0..10 {
        assert!(names.iter().all(|name| choice.pair_of(Some(name)).is_some()));
    }
    assert!(choice.pair_of(Some("host2000.test")).is_none());
}
