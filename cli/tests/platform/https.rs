//! `howdah up --tls`.

use std::fs::{self, Permissions};
use std::net::TcpStream;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

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

/// Waits until something holds, a minute at most.
fn wait_for(what: &str, holds: impl Fn() -> bool) {
    let begin = Instant::now();
    while !holds() {
        assert!(begin.elapsed() < Duration::from_secs(60), "{what} did not come");
    }
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
    wait_for("the new certificate", || curl_as_shown(&shown) == "hello by HTTP/2");

    assert!(platform.up(&[]).status.success());
    wait_for("the end of HTTPS", || !serves(&port));
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

/// Makes a certificate for localhost that has signed itself, and its key, which the server can read. The folder, by itself.
fn own_certificate(folder: &Path) -> PathBuf {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let own = folder.join("own");
    fs::create_dir_all(&own).unwrap();
    let key = own.join("privkey.pem");
    fs::write(own.join("fullchain.pem"), made.cert.pem()).unwrap();
    fs::write(&key, made.signing_key.serialize_pem()).unwrap();
    fs::set_permissions(&key, Permissions::from_mode(0o600)).unwrap();
    if let Some(server) = Account::for_server().unwrap() {
        fs::set_permissions(folder, Permissions::from_mode(0o755)).unwrap();
        chown(&key, Some(server.uid), Some(server.gid)).unwrap();
    }
    own
}

/// What a client gets that trusts the certificate of a folder.
fn curl_that_trusts(folder: &Path, port: &str) -> String {
    let trusted = folder.join("fullchain.pem");
    curl_as_shown(&format!("curl --cacert {} https://localhost:{port}/hello", trusted.display()))
}

#[test]
fn certificates_that_the_user_has_set_are_served_and_none_is_made() {
    let (platform, port) = platform();
    let folder = tempfile::tempdir().unwrap();
    let own = own_certificate(folder.path());
    let setting = format!("howdah.tls_certificates={}", own.display());
    let shown = up_tls(&platform, &port, &["--set", &setting]);
    assert!(shown.contains(&format!("those of howdah.tls_certificates: {}", own.display())), "{shown}");
    assert!(!shown.contains("--cacert"), "{shown}");
    assert_eq!(curl_that_trusts(&own, &port), "hello by HTTP/2");
    // At the next look, too, when it was not this call that has set them.
    assert!(up_tls(&platform, &port, &[]).contains("those of howdah.tls_certificates"));
    assert!(!platform.folder.path().join("xdg").exists());
    assert!(!platform.folder.path().join(".howdah/tls").exists());

    platform.query(&format!("alter system set howdah.tls_certificates = '{}'", own.display()));
    platform.ok(&["stop"]);
    assert!(up_tls(&platform, &port, &[]).contains("those of howdah.tls_certificates"));
    assert_eq!(curl_that_trusts(&own, &port), "hello by HTTP/2");
}

#[test]
fn what_is_installed_is_served_once_the_server_was_told() {
    let (platform, port) = platform();
    let folder = tempfile::tempdir().unwrap();
    let installed = folder.path().join("tls");
    let owner = Account::for_server().unwrap().map(|server| server.name);
    let install = |more: &[&str]| {
        let lineage = own_certificate(folder.path());
        let mut command = platform.command(&["cert", "install", "--to"]);
        command.arg(&installed).args(owner.iter().flat_map(|owner| ["--owner", owner])).args(more);
        // As certbot names it to its hooks.
        printed(&command.env("RENEWED_LINEAGE", &lineage).output().unwrap())
    };
    assert!(install(&[]).contains("Installed own in "));
    let setting = format!("howdah.tls_certificates={}", installed.join("own").display());
    up_tls(&platform, &port, &["--set", &setting]);
    let before = fs::read(installed.join("own/fullchain.pem")).unwrap();

    let socket = fs::canonicalize(platform.folder.path().join(".howdah/socket")).unwrap();
    let connection = format!("host={} user=postgres", socket.display());
    let said = install(&["--reload", &connection]);
    assert!(said.contains("The server has been told"), "{said}");
    assert_ne!(fs::read(installed.join("own/fullchain.pem")).unwrap(), before);
    wait_for("the new certificate", || curl_that_trusts(&installed.join("own"), &port) == "hello by HTTP/2");

    platform.ok(&["stop"]);
    let said = install(&["--reload", &connection]);
    assert!(said.contains("the files are installed, and the server was not told"), "{said}");
}
