//! HTTP/2 as h2spec checks it, the strict cases included, in clear text and over TLS.
//!
//! In one case a client begins with something that is no preface of HTTP/2. On a port that speaks HTTP/1 as well this is a
//! request of HTTP/1 whose version is none: it is answered with 400 (RFC 9112, 3), and h2spec takes the answer for a frame. Over TLS
//! ALPN has chosen HTTP/2 before, and that case passes, too.

use std::path::Path;
use std::process::Command;

use howdah_tests::Platform;
use howdah_tests::https::Https;

/// What h2spec reports of a port.
fn report(platform: &Platform, port: u16, more: &[&str]) -> String {
    platform.sql(
        "create function greet() returns text language sql stable return 'Hello, whoever checks this!';
         create function length(body bytea) returns text language sql stable return octet_length(body)::text;
         select http.route('GET', '/', 'greet'), http.route('POST', '/', 'length(bytea)')",
    );
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("h2spec/h2spec");
    let port = port.to_string();
    let output = Command::new(program)
        .args(["--strict", "--timeout", "10", "--host", "127.0.0.1", "--port", &port])
        .args(more)
        .output()
        .expect("h2spec runs: make setup-test builds it");
    let report = String::from_utf8_lossy(&output.stdout).into_owned();
    println!("{report}");
    assert_eq!(platform.get("/").status, 200);
    report
}

#[test]
fn every_case_of_h2spec_passes() {
    let platform = Platform::start();
    let report = report(&platform, platform.port, &[]);
    let (_, failures) = report.split_once("Failures:").expect("the case of HTTP/1 at least");
    let failed: Vec<&str> = failures.lines().filter(|line| line.contains('×')).map(str::trim).collect();
    assert_eq!(failed, ["× 2: Sends invalid connection preface"]);
    assert!(report.contains("146 tests, 145 passed, 0 skipped, 1 failed"));
}

#[test]
fn every_case_of_h2spec_passes_over_tls() {
    let https = Https::serving();
    let report = report(&https.platform, https.port, &["--tls", "--insecure"]);
    assert!(report.contains("146 tests, 146 passed, 0 skipped, 0 failed"));
}
