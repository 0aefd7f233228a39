//! Clients that show certificates, and what a handshake tells of them and of the host that they have asked for.

use std::io::Cursor;
use std::sync::Arc;

use rcgen::{DnType, DnValue, ExtendedKeyUsagePurpose, SanType};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore};
use tls::authorities::Files;
use tls::subject::json_of;
use tls::{
    Authorities, Choice, Clients, Configuration, Established, Pair, Protocol, Session, Terms, Tickets,
    configuration,
};

use crate::made::{Authority, Made, NOW, Wanted};

fn der(pem: &str) -> CertificateDer<'static> {
    CertificateDer::from_pem_slice(pem.as_bytes()).unwrap()
}

fn told(wanted: Wanted) -> serde_json::Value {
    serde_json::from_str(&json_of(&der(&wanted.alone().certificate)).unwrap()).unwrap()
}

fn named(name: &str) -> Wanted {
    let mut wanted = Wanted::new(&[]);
    wanted.params.distinguished_name.push(DnType::CommonName, name);
    wanted
}

#[test]
fn a_subject_is_told_so_that_no_part_looks_like_two() {
    let mut wanted = named("ada");
    wanted.params.distinguished_name.push(DnType::OrganizationName, "Example, Inc.");
    let told_name = |wanted| told(wanted)["subject"].as_str().unwrap().to_owned();
    let subject = told_name(wanted);
    assert!(subject == "O=Example\\, Inc.,CN=ada" || subject == "CN=ada,O=Example\\, Inc.", "{subject}");
    for (name, expected) in [
        ("eve,O=Admins", "CN=eve\\,O\\=Admins"),
        ("eve+O=Admins", "CN=eve\\+O\\=Admins"),
        ("#eve", "CN=\\#eve"),
        (" eve ", "CN=\\ eve\\ "),
        ("e\"v\\e;<>", "CN=e\\\"v\\\\e\\;\\<\\>"),
        ("eve\0admin\n", "CN=eve\\00admin\\0a"),
        ("Jürgen", "CN=Jürgen"),
    ] {
        assert_eq!(told_name(named(name)), expected);
    }
}

#[test]
fn a_common_name_is_told_if_there_is_one_that_can_be_seen() {
    assert_eq!(told(named("ada"))["common_name"], "ada");
    assert_eq!(told(named("ada\0"))["common_name"], serde_json::Value::Null);
    assert_eq!(told(Wanted::new(&["a.test"]))["common_name"], "a.test");
    let mut none = Wanted::new(&[]);
    none.params.distinguished_name = rcgen::DistinguishedName::new();
    assert_eq!(told(none)["common_name"], serde_json::Value::Null);
    let mut bmp = Wanted::new(&[]);
    bmp.params.distinguished_name = rcgen::DistinguishedName::new();
    let text = DnValue::BmpString(rcgen::string::BmpString::try_from("ada").unwrap());
    bmp.params.distinguished_name.push(DnType::CommonName, text);
    assert_eq!(told(bmp)["subject"], "CN=#006100640061");
}

#[test]
fn alternative_names_and_the_certificates_own_are_told() {
    let mut wanted = Wanted::new(&["A.test"]);
    let names = &mut wanted.params.subject_alt_names;
    names.push(SanType::Rfc822Name("ada@a.test".try_into().unwrap()));
    names.push(SanType::URI("spiffe://a.test/ada".try_into().unwrap()));
    names.push(SanType::IpAddress("2001:db8::7".parse().unwrap()));
    wanted.params.serial_number = Some(0x0102u64.into());
    let told = told(wanted);
    assert_eq!(told["names"], serde_json::json!(["a.test"]));
    assert_eq!(told["emails"], serde_json::json!(["ada@a.test"]));
    assert_eq!(told["uris"], serde_json::json!(["spiffe://a.test/ada"]));
    assert_eq!(told["addresses"], serde_json::json!(["2001:db8::7"]));
    assert_eq!(told["serial"], "0102");
    assert_eq!(told["fingerprint"].as_str().unwrap().len(), 64);
    assert!(told["not_before"].as_i64().unwrap() < NOW && told["not_after"].as_i64().unwrap() > NOW);
}

#[test]
fn a_certificate_that_says_too_much_is_refused() {
    assert!(
        json_of(&der(&named(&"x".repeat(9000)).alone().certificate))
            .unwrap_err()
            .contains("more than 8192 bytes")
    );
    let many: Vec<String> = (0..1000).map(|number| format!("{number}.a.test")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    let told = told(Wanted::new(&many));
    assert_eq!(told["names"].as_array().unwrap().len(), 100);
    assert!(json_of(b"no certificate").unwrap_err().contains("cannot be read"));
}

/// A server for `www.a.test`, who has signed for it, and who has signed for clients.
struct Setting {
    pair: Arc<Pair>,
    server_authority: Authority,
    client_authority: Authority,
}

impl Setting {
    fn new() -> Setting {
        let server_authority = Authority::root("Server authority");
        let pair = long(Wanted::new(&["www.a.test", "localhost"])).signed_by(&server_authority).pair();
        Setting { pair, server_authority, client_authority: Authority::root("Client authority") }
    }

    fn authorities(&self) -> Arc<Authorities> {
        let file = ("ca.pem".to_owned(), self.client_authority.certificate.clone().into_bytes());
        Arc::new(Authorities::load(&Files { authorities: vec![file], ..Files::default() }).unwrap())
    }

    fn configuration(&self, terms: Terms) -> Configuration {
        configuration(terms, Arc::new(Choice::new(vec![(Arc::clone(&self.pair), true)], NOW))).unwrap()
    }

    fn client(&self) -> Made {
        let mut wanted = long(named("ada"));
        wanted.params.extended_key_usages.push(ExtendedKeyUsagePurpose::ClientAuth);
        wanted.signed_by(&self.client_authority)
    }

    fn client_config(&self, shown: Option<&Made>) -> Arc<ClientConfig> {
        let mut roots = RootCertStore::empty();
        roots.add(der(&self.server_authority.certificate)).unwrap();
        let builder =
            ClientConfig::builder_with_provider(rustls::crypto::aws_lc_rs::default_provider().into())
                .with_safe_default_protocol_versions()
                .unwrap()
                .with_root_certificates(roots);
        Arc::new(match shown {
            None => builder.with_no_client_auth(),
            Some(made) => {
                let key = PrivateKeyDer::from_pem_slice(made.key.as_bytes()).unwrap();
                builder.with_client_auth_cert(vec![der(&made.certificate)], key).unwrap()
            }
        })
    }
}

/// Valid whenever the tests run.
fn long(wanted: Wanted) -> Wanted {
    wanted.valid((2020, 1, 1), (2099, 1, 1))
}

/// Shakes hands; what was agreed on, and whether it went on with an earlier session, or why not.
fn shake(
    configuration: &Configuration,
    client: &Arc<ClientConfig>,
    name: &str,
) -> Result<(Established, bool), String> {
    let name = ServerName::try_from(name.to_owned()).unwrap();
    let mut client = ClientConnection::new(Arc::clone(client), name).unwrap();
    let mut session = Session::new(configuration).unwrap();
    for _ in 0..10 {
        let mut sent = Vec::new();
        while client.wants_write() {
            client.write_tls(&mut sent).unwrap();
        }
        session.receive(&mut sent, &mut []);
        let back = session.outgoing().to_vec();
        session.has_sent(back.len());
        let mut back = Cursor::new(back);
        while back.position() < back.get_ref().len() as u64 {
            client.read_tls(&mut back).unwrap();
            // What the server has refused the client hears, too.
            let _ = client.process_new_packets();
        }
    }
    match session.failure() {
        Some(failure) => Err(failure.to_string()),
        None => Ok((session.established().unwrap(), session.is_resumed())),
    }
}

#[test]
fn a_client_is_told_of_as_its_certificate_says() {
    let setting = Setting::new();
    let (anybody, ada) = (setting.client_config(None), setting.client_config(Some(&setting.client())));
    let stranger = long(named("eve")).signed_by(&setting.server_authority);
    let eve = setting.client_config(Some(&stranger));
    let asking = |clients| setting.configuration(Terms { clients, ..Terms::new(Protocol::Http) });
    let (asked, certified) =
        (asking(Clients::Asked(setting.authorities())), asking(Clients::Certified(setting.authorities())));
    for configuration in [&asked, &certified] {
        let (established, _) = shake(configuration, &ada, "www.a.test").unwrap();
        assert!(established.client.unwrap().contains("\"common_name\":\"ada\""));
        assert!(shake(configuration, &eve, "www.a.test").unwrap_err().contains("UnknownIssuer"));
    }
    assert!(shake(&asked, &anybody, "www.a.test").unwrap().0.client.is_none());
    assert!(shake(&certified, &anybody, "www.a.test").unwrap_err().contains("no certificates"));
    let off = setting.configuration(Terms::new(Protocol::Http));
    assert!(shake(&off, &ada, "www.a.test").unwrap().0.client.is_none(), "nobody has asked");
}

#[test]
fn other_hosts_are_served_unless_clients_or_a_setting_make_it_strict() {
    let setting = Setting::new();
    let anybody = setting.client_config(None);
    let may = |terms: Terms, host: &str| {
        shake(&setting.configuration(terms), &anybody, "www.a.test").unwrap().0.may_serve(host)
    };
    let plain = || Terms::new(Protocol::Http);
    let strict = || Terms { strict_host: true, ..plain() };
    let asked = || Terms { clients: Clients::Asked(setting.authorities()), ..plain() };
    assert!(may(plain(), "other.test"));
    for terms in [strict(), asked()] {
        for (host, expected) in [
            ("www.a.test", true),
            ("WWW.A.TEST.:9443", true),
            ("localhost", true),
            ("", true),
            ("a.test", false),
        ] {
            assert_eq!(may(terms.clone(), host), expected, "{host}");
        }
    }
}

#[test]
fn strict_transport_security_is_said_of_public_names_alone() {
    let setting = Setting::new();
    let anybody = setting.client_config(None);
    let terms = Terms { hsts: Some("max-age=9".into()), ..Terms::new(Protocol::Http) };
    let said = |configuration: &Configuration, name: &str| {
        shake(configuration, &anybody, name).map(|(established, _)| established.hsts.is_some())
    };
    let public = setting.configuration(terms.clone());
    assert_eq!(said(&public, "www.a.test"), Ok(true));
    assert_eq!(said(&public, "localhost"), Ok(false));
    let development = Authority::root(&format!("{} of ada", tls::established::DEVELOPMENT));
    let pair = long(Wanted::new(&["www.a.test"])).signed_by(&development).pair();
    let own = Setting { pair, server_authority: development, client_authority: Authority::root("none") };
    let anybody = own.client_config(None);
    let (established, _) = shake(&own.configuration(terms), &anybody, "www.a.test").unwrap();
    assert!(established.hsts.is_none());
}

fn secret(period: u64) -> Option<[u8; 32]> {
    Some([period as u8; 32])
}

#[test]
fn a_client_goes_on_with_its_session_where_the_rules_are_the_same() {
    let setting = Setting::new();
    let with =
        |label: &str| Terms { tickets: Some(Tickets::new(secret, label)), ..Terms::new(Protocol::Http) };
    let (one, same, other) = (
        setting.configuration(with("one")),
        setting.configuration(with("one")),
        setting.configuration(with("other")),
    );
    let is_resumed = |configuration: &Configuration, client: &Arc<ClientConfig>| {
        shake(configuration, client, "www.a.test").unwrap().1
    };
    let client = setting.client_config(None);
    assert!(!is_resumed(&one, &client));
    assert!(is_resumed(&one, &client) && is_resumed(&same, &client), "another process has the same keys");
    assert!(!is_resumed(&other, &client), "another listener has others");
    let client = setting.client_config(Some(&setting.client()));
    let asked =
        setting.configuration(Terms { clients: Clients::Asked(setting.authorities()), ..with("one") });
    assert!(!is_resumed(&asked, &client) && !is_resumed(&asked, &client), "who is asked gets no ticket");
    let lines = setting.configuration(Terms { protocol: Protocol::Lines, ..with("one") });
    let client = setting.client_config(None);
    assert!(!is_resumed(&lines, &client) && !is_resumed(&lines, &client));
}

#[test]
fn files_of_authorities_and_lists_that_cannot_be_used_are_refused_by_name() {
    let authority = Authority::root("Clients").certificate;
    let load = |authorities: &[u8], lists: &[&[u8]]| {
        let lists = lists.iter().map(|list| ("x.crl".to_owned(), list.to_vec())).collect();
        let authorities = vec![("ca.pem".to_owned(), authorities.to_vec())];
        Authorities::load(&Files { authorities, lists }).map(drop).unwrap_err()
    };
    assert!(load(b"", &[]).starts_with("the authorities' file \"ca.pem\": "));
    assert!(load(b"\x30\x82", &[]).starts_with("the authorities' file \"ca.pem\": "));
    for (list, said) in [
        (&b""[..], "there is no list (X509 CRL) in it"),
        (b"\x30\x82\x01", "openssl crl -inform der"),
        (b"-----BEGIN X509 CRL-----\nAAAA\n-----END X509 CRL-----\n", "it cannot be read"),
        (b"-----BEGIN X509 CRL-----\n!\n-----END X509 CRL-----\n", "x.crl"),
    ] {
        let error = load(authority.as_bytes(), &[list]);
        assert!(error.starts_with("the revocation list \"x.crl\": ") && error.contains(said), "{error}");
    }
    let files = |setting: &str| tls::authorities::files(setting, "app");
    assert_eq!(
        files("/a.pem, app=/b.pem, other=/c.pem").unwrap(),
        ["/a.pem", "/b.pem"].map(std::path::PathBuf::from)
    );
    assert!(files("a.pem").unwrap_err().contains("relative"));
    assert!(files("/a.pem:/b.pem").unwrap_err().contains("one file"));
}
