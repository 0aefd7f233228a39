//! Clients that show certificates: who gets in, what the handler learns, what the client hears and the log is told.

use std::fs;
use std::path::Path;

use howdah_tests::https::{Https, openssl, run};
use howdah_tests::wait_for;

/// The configuration of `openssl ca`.
const AUTHORITY: &str = "[ca]
default_ca = own
[own]
database = index.txt
new_certs_dir = .
certificate = clients.pem
private_key = clients.key
default_md = sha256
default_crl_days = 2
policy = any
rand_serial = yes
crlnumber = crlnumber
crl_extensions = list
unique_subject = no
[any]
organizationName = optional
commonName = supplied
[list]
authorityKeyIdentifier = keyid
[client]
basicConstraints = critical,CA:FALSE
extendedKeyUsage = clientAuth
subjectAltName = email:ada@example.test,URI:spiffe://example.test/ada
[server]
basicConstraints = critical,CA:FALSE
extendedKeyUsage = serverAuth
";

/// An authority for clients, in the folder of the certificates.
fn make_authority(folder: &Path) {
    fs::write(folder.join("clients.cnf"), AUTHORITY).unwrap();
    fs::write(folder.join("index.txt"), "").unwrap();
    fs::write(folder.join("crlnumber"), "01").unwrap();
    openssl(folder, "ecparam -name prime256v1 -genkey -noout -out clients.key");
    openssl(
        folder,
        "req -x509 -new -key clients.key -subj /CN=clients -days 3650 -out clients.pem \
         -addext basicConstraints=critical,CA:TRUE -addext keyUsage=critical,keyCertSign,cRLSign",
    );
}

/// A client's certificate of this name, by more options of `openssl ca`.
fn certify(folder: &Path, name: &str, subject: &str, options: &str) {
    openssl(folder, &format!("ecparam -name prime256v1 -genkey -noout -out {name}.key"));
    openssl(folder, &format!("req -new -key {name}.key -subj {subject} -out {name}.csr"));
    openssl(
        folder,
        &format!("ca -batch -config clients.cnf -notext -days 30 -in {name}.csr -out {name}.pem {options}"),
    );
}

fn revocation_list(folder: &Path, options: &str) {
    openssl(folder, &format!("ca -config clients.cnf -gencrl -out new.crl {options}"));
    fs::rename(folder.join("new.crl"), folder.join("clients.crl")).unwrap();
}

/// With clients that are asked for certificates by this rule.
fn asking(rule: &str) -> Https {
    let https = Https::start();
    make_authority(&https.folder);
    for (name, options) in [
        ("ada", "-extensions client"),
        ("revoked", "-extensions client"),
        ("server-only", "-extensions server"),
        ("expired", "-extensions client -startdate 20200101000000Z -enddate 20210101000000Z"),
        ("future", "-extensions client -startdate 20990101000000Z -enddate 20990201000000Z"),
    ] {
        certify(&https.folder, name, &format!("/O=Example/CN={name}"), options);
    }
    openssl(&https.folder, "ca -config clients.cnf -revoke revoked.pem");
    revocation_list(&https.folder, "");
    https.certify("server", "localhost");
    https.platform.sql(
        "create function me() returns json language sql stable
         return coalesce(to_json((http.current_request()).client_certificate), 'null');
         select http.route('GET', '/me', 'me')",
    );
    https.set(&https.pair("server"));
    let folder = https.folder.display();
    https.platform.set("howdah.tls_client_authorities", &format!("{folder}/clients.pem"));
    https.platform.set("howdah.tls_revocation_lists", &format!("{folder}/clients.crl"));
    https.platform.sql(&format!(
        "select http.listen({}, '127.0.0.1', tls => true, client_certificates => '{rule}')",
        https.port
    ));
    https.wait_until_bound();
    https
}

/// What curl gets at a path that shows a certificate, or its complaint.
fn show(https: &Https, client: Option<&str>, path: &str, more: &[&str]) -> String {
    let url = format!("https://localhost:{}{path}", https.port);
    let resolve = format!("localhost:{}:127.0.0.1", https.port);
    let files = client.map(|name| (format!("{name}.pem"), format!("{name}.key")));
    let mut arguments = vec!["-sS", "--cacert", "ca.pem", "--resolve", &resolve, &url];
    if let Some((certificate, key)) = &files {
        arguments.extend(["--cert", certificate, "--key", key]);
    }
    arguments.extend(more);
    let output = run(&https.folder, "curl", &arguments);
    String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned()
}

#[test]
fn a_client_with_a_certificate_gets_in_and_others_hear_why_not() {
    let https = asking("require");
    assert_eq!(show(&https, Some("ada"), "/hello", &[]), "hello");
    let shown = |more: &[&str]| -> serde_json::Value {
        let text = show(&https, Some("ada"), "/me", more);
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
    };
    for more in [&[][..], &["--http1.1"], &["--tls-max", "1.2"]] {
        let me = shown(more);
        assert_eq!(
            (&me["subject"], &me["common_name"]),
            (&"CN=ada,O=Example".into(), &"ada".into()),
            "{more:?}"
        );
        assert_eq!((&me["issuer"], &me["emails"][0]), (&"CN=clients".into(), &"ada@example.test".into()));
        assert_eq!(me["uris"][0], "spiffe://example.test/ada");
        assert_eq!(me["fingerprint"].as_str().map(str::len), Some(64));
    }
    // Each hears it by its alert, and the log has the reason.
    for (client, alert, reason) in [
        (None, "certificate required", "no certificates"),
        (Some("expired"), "certificate expired", "expired"),
        (Some("future"), "certificate expired", "not valid yet"),
        (Some("revoked"), "certificate revoked", "revoked"),
        (Some("server-only"), "unsupported certificate", "extended key usage"),
        (Some("server"), "unknown ca", "UnknownIssuer"),
    ] {
        let said = show(&https, client, "/hello", &["--tls-max", "1.3"]);
        assert!(said.contains(&format!("alert {alert}")), "{client:?}: {said}");
        let port = https.port;
        wait_for("the log has it", || {
            let log = https.platform.log();
            let lines =
                log.lines().filter(|line| line.contains(&format!("TLS on port {port} from 127.0.0.1")));
            lines.into_iter().any(|line| line.to_lowercase().contains(&reason.to_lowercase()))
        });
    }
}

#[test]
fn one_that_is_asked_may_have_none_but_no_bad_one() {
    let https = asking("ask");
    assert_eq!(show(&https, None, "/hello", &[]), "hello");
    assert_eq!(show(&https, None, "/me", &["-w", "%{http_code}"]), "null200");
    assert!(show(&https, Some("ada"), "/me", &[]).contains("CN=ada,O=Example"));
    assert!(show(&https, Some("revoked"), "/me", &[]).contains("alert certificate revoked"));
    assert!(https.platform.get("/me").text().contains("null"), "a port in clear text has none");
    // Another host may have other rules, so this connection is for its own alone.
    let host = |name: &str, more: &[&str]| {
        let header = format!("Host: {name}");
        show(&https, Some("ada"), "/hello", &[&["-H", &header, "-w", "%{http_code}"], more].concat())
    };
    for more in [&[][..], &["--http1.1"]] {
        assert_eq!(host("LOCALHOST.:1", more), "hello200");
        assert!(host("other.test", more).ends_with("421"), "{}", host("other.test", more));
    }
    let both_names = "the client asked for other.test; the certificate is that of CN=localhost";
    wait_for("the log has both names", || https.log_count(both_names) > 0);
}

#[test]
fn what_authorities_revoke_later_counts_and_lists_that_have_expired_refuse() {
    let https = asking("require");
    assert_eq!(show(&https, Some("ada"), "/hello", &[]), "hello");
    openssl(&https.folder, "ca -config clients.cnf -revoke ada.pem");
    revocation_list(&https.folder, "");
    https.platform.sql("select pg_reload_conf()");
    wait_for("she is out", || show(&https, Some("ada"), "/hello", &[]).contains("certificate revoked"));
    certify(&https.folder, "bob", "/CN=bob", "-extensions client");
    assert_eq!(show(&https, Some("bob"), "/hello", &[]), "hello");
    revocation_list(&https.folder, "-crl_lastupdate 20200101000000Z -crl_nextupdate 20200102000000Z");
    https.platform.sql("select pg_reload_conf()");
    wait_for("nobody knows", || https.log_count("The revocation list of CN=clients has expired") == 1);
    assert!(show(&https, Some("bob"), "/hello", &[]).contains("alert"), "an expired list refuses");
    wait_for("the log says so", || {
        https.log_count("revocation list expired") + https.log_count("ExpiredRevocationList") > 0
    });
    // A file that cannot be read leaves what was in force.
    revocation_list(&https.folder, "");
    https.platform.sql("select pg_reload_conf()");
    wait_for("he is in again", || show(&https, Some("bob"), "/hello", &[]) == "hello");
    fs::write(https.folder.join("clients.crl"), "nothing").unwrap();
    https.platform.sql("select pg_reload_conf()");
    wait_for("it is said", || {
        https.log_count("there is no list (X509 CRL) in it; those before stay in force") == 1
    });
    assert_eq!(show(&https, Some("bob"), "/hello", &[]), "hello");
    assert!(show(&https, Some("ada"), "/hello", &[]).contains("certificate revoked"));
}

#[test]
fn a_listener_without_authorities_says_so_and_listens_not() {
    let https = Https::start();
    https.certify("server", "localhost");
    https.set(&https.pair("server"));
    let listen = |rule: &str| {
        https.platform.session().batch_execute(&format!(
            "select http.listen({}, '127.0.0.1', tls => true, client_certificates => '{rule}')",
            https.port
        ))
    };
    listen("require").unwrap();
    wait_for("it says why", || https.error().contains("howdah.tls_client_authorities names nobody"));
    https.platform.set("howdah.tls_client_authorities", &format!("{}/none.pem", https.folder.display()));
    wait_for("it says why", || https.error().contains("none.pem\": No such file"));
    make_authority(&https.folder);
    https.platform.set("howdah.tls_client_authorities", &format!("{}/clients.pem", https.folder.display()));
    https.wait_until_bound();
    listen("off").unwrap();
    wait_for("anybody gets in", || https.curl(&[], "localhost") == "hello by 2");
    assert_eq!(listen("maybe").unwrap_err().code().unwrap().code(), "22023");
    let clear = format!("select http.listen({}, client_certificates => 'ask')", https.port);
    assert_eq!(https.platform.session().batch_execute(&clear).unwrap_err().code().unwrap().code(), "22023");
}
