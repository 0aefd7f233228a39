//! `howdah up --tls`.

use std::fs::{self, Permissions};
use std::net::TcpStream;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::Path;
use std::process::Command;

use cluster::Account;

use crate::{Platform, answer, printed};

const HELLO: &str = "create function hello() returns text language sql as $$ select 'hello' $$;
    select http.route('GET', '/hello', 'hello');
    -- try: curl localhost:9000/hello";

/// A platform that says hello, and its port for HTTPS.
fn platform() -> (Platform, String) {
    let platform = Platform::new();
    platform.write("hello.sql", HELLO);
    (platform, Platform::new().port.to_string())
}

fn up_tls(platform: &Platform, port: &str, more: &[&str]) -> String {
    let output = platform.up(&[&["--tls", "--tls-port", port], more].concat());
    assert!(output.status.success(), "{}", printed(&output));
    printed(&output)
}

/// What the command for curl gets that was shown, and the version of HTTP.
fn curl_as_shown(shown: &str) -> String {
    let command = shown.lines().find_map(|line| line.trim().strip_prefix("curl --cacert "));
    let command = command.unwrap_or_else(|| panic!("no command for HTTPS: {shown}"));
    let output = Command::new("sh")
        .args(["-c", &format!("curl -sS -w ' by HTTP/%{{http_version}}' --cacert {command}")])
        .env("no_proxy", "*")
        .output();
    printed(&output.unwrap())
}

fn serves(port: &str) -> bool {
    TcpStream::connect(format!("127.0.0.1:{port}")).is_ok()
}

#[test]
fn https_is_served_at_each_start_that_asks_for_it_by_the_same_authority() {
    let (platform, port) = platform();
    let shown = up_tls(&platform, &port, &[]);
    let both = format!("Howdah serves http://127.0.0.1:{} and https://localhost:{port}\n", platform.port);
    assert!(shown.contains(&both), "{shown}");
    assert_eq!(curl_as_shown(&shown), "hello by HTTP/2");
    assert!(answer(platform.ask("/hello")).ends_with("hello"), "in clear text as well");
    let authority = platform.folder.path().join("xdg/howdah/ca.pem");
    let first = fs::read(&authority).unwrap();

    platform.ok(&["stop"]);
    assert_eq!(curl_as_shown(&up_tls(&platform, &port, &[])), "hello by HTTP/2");
    assert_eq!(fs::read(&authority).unwrap(), first);

    platform.ok(&["stop"]);
    let without = platform.up(&[]);
    assert!(without.status.success() && !printed(&without).contains("https"), "{}", printed(&without));
    assert!(!serves(&port));
    assert_eq!(platform.query("select count(*) from http.listeners where tls"), "0");
}

#[test]
fn a_platform_that_runs_begins_and_ends_to_serve_https_with_new_certificates() {
    let (platform, port) = platform();
    assert!(platform.up(&[]).status.success());
    assert_eq!(curl_as_shown(&up_tls(&platform, &port, &[])), "hello by HTTP/2");

    fs::remove_dir_all(platform.folder.path().join("xdg")).unwrap();
    let shown = up_tls(&platform, &port, &[]);
    // The gateways take over new files when they have seen that the configuration was read again.
    while curl_as_shown(&shown) != "hello by HTTP/2" {}

    assert!(platform.up(&[]).status.success());
    while serves(&port) {}
}

#[test]
fn a_port_that_was_for_https_can_be_for_clear_text_at_the_next_start() {
    let (mut platform, port) = platform();
    up_tls(&platform, &port, &[]);
    platform.ok(&["stop"]);
    let earlier = std::mem::replace(&mut platform.port, port.parse().unwrap());
    assert!(platform.up(&[]).status.success());
    assert!(answer(platform.ask("/hello")).ends_with("hello"));
    assert!(!serves(&earlier.to_string()));
}

/// Makes a certificate for localhost that has signed itself, and its key, which the server can read.
fn own_certificate(folder: &Path) -> String {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let (certificate, key) = (folder.join("own.pem"), folder.join("own.key"));
    fs::write(&certificate, made.cert.pem()).unwrap();
    fs::write(&key, made.signing_key.serialize_pem()).unwrap();
    fs::set_permissions(&key, Permissions::from_mode(0o600)).unwrap();
    if let Some(server) = Account::for_server().unwrap() {
        fs::set_permissions(folder, Permissions::from_mode(0o755)).unwrap();
        chown(&key, Some(server.uid), Some(server.gid)).unwrap();
    }
    format!("{}:{}", certificate.display(), key.display())
}

#[test]
fn certificates_that_the_user_has_set_are_served_and_none_is_made() {
    let (platform, port) = platform();
    let folder = tempfile::tempdir().unwrap();
    let own = own_certificate(folder.path());
    let setting = format!("howdah.tls_certificates={own}");
    let shown = up_tls(&platform, &port, &["--set", &setting]);
    assert!(shown.contains(&format!("those of howdah.tls_certificates: {own}")), "{shown}");
    assert!(!shown.contains("--cacert"), "{shown}");
    let command = format!("curl --cacert {}/own.pem https://localhost:{port}/hello", folder.path().display());
    assert_eq!(curl_as_shown(&command), "hello by HTTP/2");
    // At the next look, too, when it was not this call that has set them.
    assert!(up_tls(&platform, &port, &[]).contains("those of howdah.tls_certificates"));
    assert!(!platform.folder.path().join("xdg").exists());
    assert!(!platform.folder.path().join(".howdah/tls").exists());

    platform.query(&format!("alter system set howdah.tls_certificates = '{own}'"));
    platform.ok(&["stop"]);
    assert!(up_tls(&platform, &port, &[]).contains("those of howdah.tls_certificates"));
    assert_eq!(curl_as_shown(&command), "hello by HTTP/2");
}
