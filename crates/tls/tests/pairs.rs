//! Chains and their keys, and what clients may find wrong with them.

use rcgen::{BasicConstraints, IsCa};
use tls::Pair;

use crate::made::{Authority, DAY, Made, NOW, Wanted, chain_of_three, fixture, load};

fn refusal(certificates: &str, key: Option<&str>) -> String {
    Pair::load(certificates.as_bytes(), key.map(str::as_bytes)).unwrap_err()
}

/// The warnings of a pair at some second.
fn warnings(certificates: &str, key: &str, now: i64) -> String {
    load(certificates, key).warnings_at(now).join("\n")
}

#[test]
fn a_good_pair_has_no_warnings() {
    let (chain, key) = chain_of_three();
    for length in 2..=3 {
        let pair = load(&chain[..length].concat(), &key);
        assert_eq!(pair.warnings_at(NOW), [""; 0]);
        assert_eq!(pair.certified.cert.len(), length);
        assert_eq!(pair.leaf.names, ["chain.test"]);
        pair.certified.keys_match().unwrap();
    }
    let alone = Wanted::new(&["a.test"]).alone();
    assert_eq!(warnings(&alone.certificate, &alone.key, NOW), "");
}

#[test]
fn a_key_of_another_is_refused() {
    let (one, other) = (Wanted::new(&["one.test"]).alone(), Wanted::new(&["other.test"]).alone());
    let reason = refusal(&one.certificate, Some(&other.key));
    assert!(
        reason.contains("belongs to none of the certificates") && reason.contains("one.test"),
        "{reason}"
    );
}

#[test]
fn every_kind_of_key_is_paired_with_its_certificate() {
    let (rsa, ec) = (fixture!("rsa.certificate.pem"), fixture!("ec.certificate.pem"));
    let pairs = [
        (rsa, fixture!("rsa.pkcs8.pem")),
        (rsa, fixture!("rsa.pkcs1.pem")),
        (fixture!("rsa.trusted.pem"), fixture!("rsa.pkcs1.pem")),
        (ec, fixture!("ec.sec1.pem")),
        (ec, fixture!("ec.from-pkcs12.pem")),
    ];
    for (certificate, key) in pairs {
        load(certificate, key).certified.keys_match().unwrap();
    }
    let of_version_1 = load(fixture!("version1.certificate.pem"), fixture!("ec.sec1.pem"));
    assert!(of_version_1.warnings[0].contains("no subjectAltName"), "{:?}", of_version_1.warnings);
}

#[test]
fn what_a_file_lacks_is_said() {
    let Made { certificate, key } = Wanted::new(&["a.test"]).alone();
    let cases = [
        (certificate.as_str(), None, "has no key; where the key is in another file"),
        (&key, None, "has a key and no certificate"),
        (&key, Some(certificate.as_str()), "wrong order"),
        (&certificate, Some(&certificate), "the key's file has no key"),
        (&key, Some(&key), "the certificate's file has no certificate"),
        ("", Some(&key), "the file is empty"),
        (&certificate, Some(""), "the key's file: the file is empty"),
    ];
    for (certificates, key, expected) in cases {
        let reason = refusal(certificates, key);
        assert!(reason.contains(expected), "{reason}");
    }
}

#[test]
fn a_key_beside_the_certificate_is_warned_of_if_another_file_has_it() {
    let Made { certificate, key } = Wanted::new(&["a.test"]).alone();
    let warnings = warnings(&(certificate + &key), &key, NOW);
    assert!(warnings.contains("has a key too, which is not used"), "{warnings}");
}

#[test]
fn a_certificate_that_cannot_be_read_is_named_by_its_place() {
    let Made { certificate, key } = Wanted::new(&["a.test"]).alone();
    let broken = "-----BEGIN CERTIFICATE-----\nMAMCAQE=\n-----END CERTIFICATE-----\n";
    let reason = refusal(&(certificate + broken), Some(&key));
    assert!(reason.starts_with("certificate 2 of 2 cannot be read"), "{reason}");
}

#[test]
fn chains_in_any_order_are_put_in_order_with_a_warning() {
    let (chain, key) = chain_of_three();
    let ordered = load(&chain.concat(), &key);
    for order in [[0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
        let pair = load(&order.map(|at| chain[at].as_str()).concat(), &key);
        assert_eq!(pair.certified.cert, ordered.certified.cert, "{order:?}");
        assert_eq!(pair.leaf, ordered.leaf);
        assert_eq!(pair.warnings.len(), 1, "{:?}", pair.warnings);
        assert!(pair.warnings[0].contains("wrong order"), "{:?}", pair.warnings);
    }
}

#[test]
fn what_is_missing_of_a_chain_is_warned_of() {
    let (chain, key) = chain_of_three();
    let alone = warnings(&chain[0], &key, NOW);
    assert!(alone.contains("lacks the certificate of") && alone.contains("Middle"), "{alone}");
    let with_gap = load(&[chain[0].as_str(), &chain[2]].concat(), &key);
    assert_eq!(with_gap.certified.cert.len(), 2);
    assert!(with_gap.warnings[0].contains("has signed none of the others"), "{:?}", with_gap.warnings);
    let stranger = Authority::root("Stranger").certificate;
    let with_stranger = load(&(chain.concat() + &stranger), &key);
    assert_eq!(with_stranger.certified.cert.len(), 4);
    assert!(with_stranger.warnings[0].contains("Stranger"), "{:?}", with_stranger.warnings);
}

#[test]
fn a_chain_with_two_ways_up_is_whole() {
    let (chain, key) = chain_of_three();
    let pair = load(&(chain.concat() + &chain[1]), &key);
    assert_eq!((pair.certified.cert.len(), pair.warnings.len()), (4, 0));
}

#[test]
fn what_clients_refuse_is_warned_of() {
    let nameless = Wanted::new(&[]).alone();
    assert!(warnings(&nameless.certificate, &nameless.key, NOW).contains("no subjectAltName"));
    let mut wanted = Wanted::new(&["a.test"]);
    wanted.params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority = wanted.alone();
    assert!(warnings(&authority.certificate, &authority.key, NOW).contains("CA:TRUE"));
    let rsa = warnings(fixture!("rsa.certificate.pem"), fixture!("rsa.pkcs8.pem"), NOW + 365 * DAY);
    assert_eq!(rsa, "The key is RSA 2048: a handshake costs ten times as much as with ECDSA P-256.");
}

#[test]
fn the_end_is_warned_of_within_a_third_of_the_lifetime_and_14_days() {
    let year = Wanted::new(&["a.test"]).alone();
    let six_days = Wanted::new(&["a.test"]).valid((2026, 6, 1), (2026, 6, 7)).alone();
    let end_of_year = 1_798_675_200;
    let cases = [
        (&year, end_of_year - 14 * DAY - 1, ""),
        (&year, end_of_year - 14 * DAY, "The certificate ends on 2026-12-31 00:00 UTC, in 14 days."),
        (&year, end_of_year - 2 * DAY + 1, "The certificate ends on 2026-12-31 00:00 UTC, in a day."),
        (&year, end_of_year, "The certificate ends on 2026-12-31 00:00 UTC, in less than a day."),
        (&year, end_of_year + 1, "The certificate has expired on 2026-12-31 00:00 UTC."),
        (&year, 1_767_225_599, "The certificate is not valid before 2026-01-01 00:00 UTC."),
        (&six_days, NOW + 4 * DAY - 1, ""),
        (&six_days, NOW + 4 * DAY, "The certificate ends on 2026-06-07 00:00 UTC, in 2 days."),
    ];
    for (made, now, expected) in cases {
        assert_eq!(warnings(&made.certificate, &made.key, now), expected, "{now}");
        assert_eq!(
            made.pair().is_valid_at(now),
            !expected.contains("expired") && !expected.contains("before")
        );
    }
}

/// A server runs for months with what it has loaded.
#[test]
fn what_is_said_of_the_time_goes_when_it_is_no_longer_true() {
    let pair = Wanted::new(&["a.test"]).valid((2026, 6, 2), (2026, 7, 2)).alone().pair();
    let (begin, end) = (pair.leaf.not_before, pair.leaf.not_after);
    let said = |now| pair.warnings_at(now).join("\n");
    assert!(said(begin - 1).contains("not valid before"));
    assert_eq!(said(begin), "");
    assert_eq!(said(end + 1), "The certificate has expired on 2026-07-02 00:00 UTC.");
    let week = (1..=7 * 24).map(|hour| said(end - hour * 3600)).collect::<std::collections::HashSet<_>>();
    assert_eq!(week.len(), 8, "one for each day: {week:?}");
}

#[test]
fn an_expired_certificate_above_is_warned_of() {
    let (chain, key) = chain_of_three();
    let mut wanted = Wanted::new(&["a.test"]).valid((2026, 1, 1), (2030, 1, 1));
    wanted.key = rcgen::KeyPair::from_pem(&key).unwrap();
    let long = wanted.alone();
    let warnings = warnings(&(long.certificate + &chain[1]), &key, 1_798_675_201);
    assert!(warnings.contains("Middle in the chain has expired on 2026-12-31"), "{warnings}");
}

#[test]
fn the_digest_is_that_of_all_bytes() {
    let Made { certificate, key } = Wanted::new(&["a.test"]).alone();
    let digest = |certificates: &str, key: Option<&str>| {
        Pair::load(certificates.as_bytes(), key.map(str::as_bytes)).unwrap().digest
    };
    let usual = digest(&certificate, Some(&key));
    assert_eq!(usual, digest(&certificate, Some(&key)));
    assert_ne!(usual, digest(&(certificate.clone() + "\n"), Some(&key)));
    assert_ne!(usual, digest(&certificate, Some(&(key.clone() + "\n"))));
    assert_ne!(usual, digest(&(certificate + &key), None));
}
