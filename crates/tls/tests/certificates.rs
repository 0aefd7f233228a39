//! What certificates say, and which hosts they cover.

use rcgen::{DnType, KeyPair, PKCS_ECDSA_P384_SHA384, PKCS_ED25519, SanType, SerialNumber};
use tls::Certificate;
use tls::certificate::plain_host;
use tls::pem::Contents;

use crate::made::{Authority, NOW, Wanted, fixture};

fn read(pem: &str) -> Certificate {
    Certificate::read(&Contents::read(pem.as_bytes()).unwrap().chain[0]).unwrap()
}

#[test]
fn names_times_and_numbers_are_read() {
    let mut wanted = Wanted::new(&["Example.TEST", "*.example.test", "10.0.0.1", "::1"]);
    wanted.params.serial_number = Some(SerialNumber::from_slice(&[0x0a, 0xff]));
    let certificate = read(&wanted.alone().certificate);
    assert_eq!(certificate.names, ["example.test", "*.example.test"]);
    assert_eq!(
        certificate.addresses,
        ["10.0.0.1".parse::<std::net::IpAddr>().unwrap(), "::1".parse().unwrap()]
    );
    assert_eq!((certificate.not_before, certificate.not_after), (1_767_225_600, 1_798_675_200));
    assert_eq!(certificate.serial, "0aff");
    assert!(certificate.subject.contains("CN=Example.TEST"), "{}", certificate.subject);
    assert!(certificate.is_valid_at(NOW) && certificate.is_valid_at(certificate.not_after));
    assert!(
        !certificate.is_valid_at(certificate.not_before - 1)
            && !certificate.is_valid_at(certificate.not_after + 1)
    );
}

#[test]
fn kinds_of_keys_are_named() {
    let of = |algorithm| {
        let key = KeyPair::generate_for(algorithm).unwrap();
        read(&Wanted { key, ..Wanted::new(&["a.test"]) }.alone().certificate).key.to_string()
    };
    assert_eq!(of(&rcgen::PKCS_ECDSA_P256_SHA256), "ECDSA P-256");
    assert_eq!(of(&PKCS_ECDSA_P384_SHA384), "ECDSA P-384");
    assert_eq!(of(&rcgen::PKCS_ECDSA_P521_SHA512), "ECDSA P-521");
    assert_eq!(of(&PKCS_ED25519), "Ed25519");
    assert_eq!(read(fixture!("rsa.certificate.pem")).key.to_string(), "RSA 2048");
}

#[test]
fn who_has_signed_whom_is_seen() {
    let root = Authority::root("Root");
    let leaf = read(&Wanted::new(&["a.test"]).signed_by(&root).certificate);
    let other = read(&Authority::root("Other").certificate);
    let root = read(&root.certificate);
    assert!(root.is_self_signed && root.is_ca && !leaf.is_self_signed && !leaf.is_ca);
    assert!(leaf.is_signed_by(&root) && !leaf.is_signed_by(&other) && !root.is_signed_by(&leaf));
    assert!(leaf.issuer.contains("CN=Root"), "{}", leaf.issuer);
}

#[test]
fn authorities_of_one_name_are_told_apart_by_their_keys() {
    let (old, new) = (Authority::root("Root"), Authority::root("Root"));
    let below = read(&new.below("Middle").certificate);
    assert!(below.is_signed_by(&read(&new.certificate)));
    assert!(!below.is_signed_by(&read(&old.certificate)));
}

#[test]
fn hosts_are_covered_without_regard_to_port_case_and_final_dot() {
    let names = ["example.test", "*.wild.test", "xn--bcher-kva.test", "10.0.0.1", "fd00::1"];
    let certificate = read(&Wanted::new(&names).alone().certificate);
    let covered = [
        "example.test",
        "EXAMPLE.Test",
        "example.test.",
        "example.test:443",
        "Example.test.:8443",
        "example.test:",
        "a.wild.test",
        "A.WILD.TEST.:1",
        "xn--bcher-kva.wild.test",
        "xn--bcher-kva.test",
        "XN--BCHER-KVA.test",
        "10.0.0.1",
        "10.0.0.1:443",
        "[fd00::1]",
        "[fd00::1]:443",
        "fd00::1",
        "[FD00:0::1]:443",
        "[::ffff:10.0.0.1]",
    ];
    for name in covered {
        assert!(certificate.covers(name), "{name}");
    }
    let others = [
        "",
        ".",
        ":443",
        "test",
        "www.example.test",
        "example.test.evil.test",
        "evil-example.test",
        "example.test..",
        "wild.test",
        ".wild.test",
        "a.b.wild.test",
        "*.test",
        "bücher.test",
        "10.0.0.2",
        "[fd00::2]",
        "[fd00::1%eth0]",
        "example.test:a",
        "example.test:443:443",
        "10.0.0.1.",
        "0x0a.0.0.1",
        "[example.test",
        "user@example.test",
    ];
    for name in others {
        // The final dot of an address goes as that of a name does.
        assert_eq!(certificate.covers(name), name == "10.0.0.1.", "{name}");
    }
}

#[test]
fn a_wildcard_does_not_cover_addresses_and_no_names_cover_nothing() {
    let certificate = read(&Wanted::new(&["*.0.0.1"]).alone().certificate);
    assert!(!certificate.covers("10.0.0.1"));
    let mut wanted = Wanted::new(&[]);
    wanted.params.distinguished_name.push(DnType::CommonName, "a.test");
    assert!(!read(&wanted.alone().certificate).covers("a.test"));
}

#[test]
fn an_address_that_is_written_as_a_name_covers_nothing() {
    let mut wanted = Wanted::new(&[]);
    wanted.params.subject_alt_names = vec![SanType::DnsName("10.0.0.1".try_into().unwrap())];
    assert!(!read(&wanted.alone().certificate).covers("10.0.0.1"));
}

#[test]
fn hosts_lose_port_brackets_and_final_dot() {
    let cases = [
        ("a.test", "a.test"),
        ("a.test:1", "a.test"),
        ("a.test.", "a.test"),
        ("a.test.:1", "a.test"),
        ("[::1]:1", "::1"),
        ("[::1]", "::1"),
        ("::1", "::1"),
        ("a:b", "a:b"),
        ("", ""),
        (".", ""),
        ("[", "["),
        ("]", "]"),
    ];
    for (host, expected) in cases {
        assert_eq!(plain_host(host), expected, "{host}");
    }
}

#[test]
fn control_characters_in_a_subject_are_escaped() {
    let mut wanted = Wanted::new(&["a.test"]);
    wanted.params.distinguished_name.push(DnType::CommonName, "a\n\0b");
    let subject = read(&wanted.alone().certificate).subject;
    assert!(subject.contains("a\\n\\u{0}b"), "{subject}");
}

#[test]
fn what_is_no_certificate_is_refused() {
    let der = Contents::read(fixture!("ec.certificate.pem").as_bytes()).unwrap().chain[0].to_vec();
    assert!(Certificate::read(&[]).unwrap_err().starts_with("cannot be read"));
    assert!(Certificate::read(&der[..der.len() - 1]).unwrap_err().starts_with("cannot be read"));
    assert_eq!(Certificate::read(&[&der[..], &[0]].concat()).unwrap_err(), "has bytes after its end");
}
