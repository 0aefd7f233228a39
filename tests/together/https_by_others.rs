//! Clients that the gate has no time for: Go, Java and a browser; and what testssl.sh finds.

use std::fs;
use std::path::Path;
use std::process::Command;

use howdah_tests::https::{Https, run};

/// A program of `tests/tls_clients`.
fn program(name: &str) -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tls_clients").join(name).display().to_string()
}

fn said(folder: &Path, program: &str, arguments: &[&str]) -> String {
    let output = run(folder, program, arguments);
    String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).trim().to_owned()
}

#[test]
#[cfg_attr(not(feature = "long"), ignore = "it takes long: make test-long")]
fn go_and_java_get_the_answer_by_http2() {
    let https = Https::serving();
    let url = format!("https://localhost:{}/hello", https.port);
    assert_eq!(said(&https.folder, "go", &["run", &program("main.go"), "ca.pem", &url]), "HTTP/2.0 hello");
    assert_eq!(said(&https.folder, "java", &[&program("Client.java"), "ca.pem", &url]), "HTTP_2 hello");
}

#[test]
#[cfg_attr(not(feature = "long"), ignore = "it takes long: make test-long")]
fn a_browser_shows_the_page_once_it_trusts_the_authority() {
    let https = Https::serving();
    let home = https.folder.join("home");
    let store = format!("sql:{}/.pki/nssdb", home.display());
    fs::create_dir_all(home.join(".pki/nssdb")).unwrap();
    let certutil = |arguments: &[&str]| {
        let output = run(&https.folder, "certutil", &[&["-d", &store][..], arguments].concat());
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    };
    certutil(&["-N", "--empty-password"]);
    let shown = || {
        let profile = format!("--user-data-dir={}/profile", home.display());
        let url = format!("https://localhost:{}/hello", https.port);
        // In containers there is no place for a sandbox, nor for much shared memory.
        let common = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--dump-dom"];
        let mut chromium = Command::new("timeout");
        chromium.args(["60", "chromium"]).args(common).args([&profile, &url]).env("HOME", &home);
        String::from_utf8_lossy(&chromium.output().unwrap().stdout).into_owned()
    };
    assert!(!shown().contains("hello"), "nobody has told it whom to trust: {}", shown());
    certutil(&["-A", "-t", "C,,", "-n", "authority", "-i", "ca.pem"]);
    assert!(shown().contains("hello"), "{}", shown());
}

/// What testssl.sh finds that is the test's authority's: nobody knows it, and it has no addresses to ask for revoked certificates.
const OF_THE_AUTHORITY: [&str; 6] = [
    "cert_chain_of_trust",
    "cert_revocation",
    "cert_crlDistributionPoints",
    "cert_ocspURL",
    "OCSP_stapling",
    "DNS_CAArecord",
];

#[test]
#[cfg_attr(not(feature = "long"), ignore = "it takes long: make test-long")]
fn testssl_finds_nothing_of_medium_severity_or_worse() {
    let https = Https::start();
    https.certify("server", "www.a.test");
    https.set(&https.pair("server"));
    https.platform.set("howdah.hsts", "max-age=31536000; includeSubDomains");
    https.platform.sql(
        "create function page() returns http.response language sql stable
         return http.response('page', headers => array[
           http.header('Content-Security-Policy', 'default-src ''none'''), http.header('X-Frame-Options', 'DENY'),
           http.header('X-Content-Type-Options', 'nosniff'), http.header('Referrer-Policy', 'no-referrer')]);
         select http.route('GET', '/', 'page')",
    );
    https.listen();
    https.wait_until_bound();
    let host = format!("www.a.test:{}", https.port);
    let options =
        ["--quiet", "--color", "0", "--warnings", "batch", "--jsonfile", "found.json", "--ip", "127.0.0.1"];
    let report = said(&https.folder, "testssl", &[&options[..], &[&host]].concat());
    let found = fs::read_to_string(https.folder.join("found.json")).expect(&report);
    let found: Vec<serde_json::Value> =
        serde_json::from_str(&found).unwrap_or_else(|error| panic!("{error}: {report}"));
    assert!(found.iter().any(|finding| finding["id"] == "TLS1_3"), "it has looked: {report}");
    let bad: Vec<_> = found
        .iter()
        .filter(|finding| {
            ["MEDIUM", "HIGH", "CRITICAL", "FATAL"].iter().any(|severity| finding["severity"] == *severity)
        })
        .filter(|finding| !OF_THE_AUTHORITY.iter().any(|id| finding["id"] == *id))
        .map(|finding| format!("{} {} {}", finding["severity"], finding["id"], finding["finding"]))
        .collect();
    assert!(bad.is_empty(), "{bad:#?}\n{report}");
}
