//! `howdah cert`: what it says of files and folders, and what it makes of them for another user.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use std::process::{Command, Output};

use rcgen::{CertificateParams, KeyPair, date_time_ymd};

/// Makes a certificate that has signed itself, until a year, and its key.
fn make(folder: &Path, name: &str, until: i32) {
    let mut params = CertificateParams::new(["www.example.com".to_owned(), "::1".to_owned()]).unwrap();
    (params.not_before, params.not_after) = (date_time_ymd(2020, 1, 1), date_time_ymd(until, 1, 2));
    let key = KeyPair::generate().unwrap();
    fs::write(folder.join(format!("{name}.pem")), params.self_signed(&key).unwrap().pem()).unwrap();
    let file = folder.join(format!("{name}.key"));
    fs::write(&file, key.serialize_pem()).unwrap();
    fs::set_permissions(&file, Permissions::from_mode(0o600)).unwrap();
}

/// Checks, in a folder. The exit code, and all that it says.
fn check(folder: &Path, arguments: &[&str]) -> (Option<i32>, String) {
    cert(folder, &[&["check"], arguments].concat())
}

fn cert(folder: &Path, arguments: &[&str]) -> (Option<i32>, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_howdah"));
    command.arg("cert").args(arguments).current_dir(folder).env_remove("RENEWED_LINEAGE");
    let Output { status, stdout, stderr } = command.output().unwrap();
    (status.code(), String::from_utf8(stdout).unwrap() + &String::from_utf8(stderr).unwrap())
}

#[test]
fn a_pair_is_described_by_relative_paths_as_well() {
    let folder = tempfile::tempdir().unwrap();
    make(folder.path(), "a", 2099);
    for place in ["a.pem:a.key", ".", &format!("{0}/a.pem:{0}/a.key", folder.path().display())] {
        let (code, said) = check(folder.path(), &[place]);
        assert_eq!(code, Some(0), "{place}: {said}");
        let key = format!("ECDSA P-256, in {}/a.key", folder.path().display());
        for words in [
            "a.pem\n",
            "www.example.com, ::1",
            "CN=rcgen self signed cert",
            &key,
            "2099-01-02 00:00 UTC, in ",
        ] {
            assert!(said.contains(words), "{place}: {words}: {said}");
        }
    }
}

#[test]
fn what_cannot_be_used_is_an_error_and_the_rest_is_described_nevertheless() {
    let folder = tempfile::tempdir().unwrap();
    make(folder.path(), "a", 2099);
    make(folder.path(), "b", 2021);
    fs::write(folder.path().join("c.pem"), "").unwrap();
    for (place, words) in [
        ("b.pem:b.key", "The certificate has expired on 2021-01-02"),
        ("a.pem:b.key", "the key belongs to none of the certificates"),
        ("a.pem", "the file has no key"),
        ("c.pem", "the file is empty"),
        ("absent", "could not access certificate file"),
    ] {
        let (code, said) = check(folder.path(), &["a.pem:a.key", place]);
        assert_eq!(code, Some(1), "{place}: {said}");
        assert!(said.contains(words) && said.contains("1 of 2 cannot be used"), "{place}: {said}");
        assert!(said.contains("2099-01-02"), "{place}: {said}");
    }
    let (code, said) = check(folder.path(), &["a.pem,b.pem"]);
    assert!(code == Some(1) && said.contains("has a comma"), "{said}");
    assert_eq!(check(folder.path(), &[]).0, Some(2));
}

#[test]
fn a_key_that_others_can_read_or_own_is_one_that_the_server_refuses() {
    let folder = tempfile::tempdir().unwrap();
    make(folder.path(), "a", 2099);
    let key = folder.path().join("a.key");
    fs::set_permissions(&key, Permissions::from_mode(0o644)).unwrap();
    let (code, said) = check(folder.path(), &["a.pem:a.key"]);
    assert!(
        code == Some(1) && said.contains("has group or world access") && said.contains("chmod 600"),
        "{said}"
    );

    fs::set_permissions(&key, Permissions::from_mode(0o600)).unwrap();
    fs::set_permissions(folder.path(), Permissions::from_mode(0o755)).unwrap();
    let other = if fs::metadata(&key).unwrap().uid() == 0 { "nobody" } else { "root" };
    let (code, said) = check(folder.path(), &["a.pem:a.key", "--owner", other]);
    // Root's may be readable for a group, and nobody is in none; another user's are refused for their owner.
    let words = ["Permission denied", "must be owned by the database user or root"];
    assert!(code == Some(1) && words.iter().any(|words| said.contains(words)), "{said}");
    let (code, said) = check(folder.path(), &["a.pem:a.key", "--owner", "no such user"]);
    assert!(code == Some(1) && said.contains("there is no user no such user"), "{said}");
}

#[test]
fn what_is_installed_is_the_owners_in_folders_that_it_cannot_change() {
    let folder = tempfile::tempdir().unwrap();
    let lineage = folder.path().join("live/www.example.com");
    fs::create_dir_all(&lineage).unwrap();
    make(&lineage, "a", 2099);
    fs::rename(lineage.join("a.pem"), lineage.join("fullchain.pem")).unwrap();
    fs::rename(lineage.join("a.key"), lineage.join("privkey.pem")).unwrap();
    let install = |owner: &str| {
        cert(folder.path(), &["install", "live/www.example.com", "--to", "etc/tls", "--owner", owner])
    };
    if fs::metadata(&lineage).unwrap().uid() != 0 {
        let (code, said) = install("root");
        assert!(code == Some(1) && said.contains("only root can give files to root"), "{said}");
        return;
    }
    fs::set_permissions(folder.path(), Permissions::from_mode(0o700)).unwrap();
    let (code, said) = install("nobody");
    assert!(code == Some(1) && said.contains("nobody cannot enter"), "its parent is ours alone: {said}");
    let installed = folder.path().join("etc/tls/www.example.com");
    assert_eq!(fs::read_dir(&installed).unwrap().count(), 0);

    fs::set_permissions(folder.path(), Permissions::from_mode(0o755)).unwrap();
    let (code, said) = install("nobody");
    assert!(code == Some(0) && said.contains("until 2099-01-02"), "{said}");
    let about = |path: &Path| {
        let about = fs::metadata(path).unwrap();
        (about.uid() == 0, about.mode() & 0o777)
    };
    assert_eq!(about(&installed), (true, 0o755));
    assert_eq!(about(&installed.join("privkey.pem")), (false, 0o600));
    let (code, said) = check(folder.path(), &["etc/tls", "--owner", "nobody"]);
    assert!(code == Some(0) && said.contains("www.example.com"), "{said}");
}

#[test]
fn the_help_of_install_shows_the_hook_of_certbot() {
    let folder = tempfile::tempdir().unwrap();
    let (code, said) = cert(folder.path(), &["install", "--help"]);
    let hook = "/etc/letsencrypt/renewal-hooks/deploy/howdah";
    assert!(code == Some(0) && said.contains(hook) && said.contains("RENEWED_LINEAGE"), "{said}");
    let (code, said) = cert(folder.path(), &["install", "--to", "etc"]);
    assert!(code == Some(2) && said.contains("FOLDER"), "{said}");
}
