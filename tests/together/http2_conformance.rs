//! HTTP/2 as h2spec checks it, the strict cases included.
//!
//! In one case a client begins with something that is no preface of HTTP/2. On a port that speaks HTTP/1 as well this is a
//! request of HTTP/1 whose version is none: it is answered with 400 (RFC 9112, 3), and h2spec takes the answer for a frame.

use std::path::Path;
use std::process::Command;

use howdah_tests::Platform;

#[test]
fn every_case_of_h2spec_passes() {
    let platform = Platform::start();
    platform.sql(
        "create function hello() returns text language sql stable return 'Hello, whoever checks this!';
         create function length(body bytea) returns text language sql stable return octet_length(body)::text;
         select http.route('GET', '/', 'hello'), http.route('POST', '/', 'length(bytea)')",
    );
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("h2spec/h2spec");
    let port = platform.port.to_string();
    let output = Command::new(program)
        .args(["--strict", "--timeout", "10", "--host", "127.0.0.1", "--port", &port])
        .output()
        .expect("h2spec runs: make setup-test builds it");
    let report = String::from_utf8_lossy(&output.stdout);
    println!("{report}");
    let (_, failures) = report.split_once("Failures:").expect("the case of HTTP/1 at least");
    let failed: Vec<&str> = failures.lines().filter(|line| line.contains('×')).map(str::trim).collect();
    assert_eq!(failed, ["× 2: Sends invalid connection preface"]);
    assert!(report.contains("146 tests, 145 passed, 0 skipped, 1 failed"));
    assert_eq!(platform.get("/").status, 200);
}
