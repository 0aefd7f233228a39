//! What the command refuses, with which words and which exit code. None of it needs the extension.

use std::fs;
use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, Output};

fn howdah(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_howdah"))
        .args(arguments)
        .current_dir(folder)
        .env_remove("HOWDAH_STAGE")
        .output()
        .unwrap()
}

fn assert_refused(output: &Output, code: i32, words: &[&str]) {
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{said}");
    for word in words {
        assert!(said.contains(word), "{word:?} is not in: {said}");
    }
}

/// A port on which nothing listens. Not one that the system gives to who asks for any: another test may.
fn free() -> u16 {
    (20_000..30_000_u16).find(|&port| TcpListener::bind(("127.0.0.1", port)).is_ok()).unwrap()
}

#[test]
fn where_nothing_runs_status_stop_and_psql_say_so_with_code_3() {
    let folder = tempfile::tempdir().unwrap();
    for task in ["status", "stop", "psql"] {
        assert_refused(&howdah(folder.path(), &[task]), 3, &["no PostgreSQL runs in .howdah", "howdah up"]);
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "nothing was made");
}

#[test]
fn a_taken_port_is_refused_before_anything_is_made() {
    let folder = tempfile::tempdir().unwrap();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    assert_refused(&howdah(folder.path(), &["up", "--port", &port]), 1, &["is taken", "--port"]);
    let tls = ["up", "--tls", "--tls-port", &port, "--port", &free().to_string()];
    assert_refused(&howdah(folder.path(), &tls), 1, &["is taken", "--tls-port"]);
    let one_for_two = ["up", "--tls", "--tls-port", "9000", "--port", "9000"];
    assert_refused(
        &howdah(folder.path(), &one_for_two),
        1,
        &["port 9000 cannot be for HTTP and HTTPS", "--tls-port"],
    );
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "nothing was made");
}

#[test]
fn a_missing_postgres_says_what_to_install() {
    let folder = tempfile::tempdir().unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_howdah"))
        .args(["installation", "--stage", "."])
        .current_dir(folder.path())
        .env("PG_CONFIG", "/nonexistent/pg_config")
        .output()
        .unwrap();
    assert_refused(&output, 1, &["/nonexistent/pg_config cannot be run", "PG_CONFIG"]);
}

#[test]
fn an_empty_build_is_refused_with_the_way_to_build() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("stage")).unwrap();
    let output = howdah(folder.path(), &["up", "--stage", "stage", "--port", &free().to_string()]);
    let link = fs::read_link(folder.path().join(".howdah"));
    assert_refused(&output, 1, &["stage/howdah.so does not exist", "make build"]);
    if let Ok(target) = link {
        fs::remove_dir_all(target).unwrap();
    }
}

#[test]
fn wrong_arguments_have_code_2() {
    let folder = tempfile::tempdir().unwrap();
    for arguments in [
        &["up", "--port", "0"][..],
        &["up", "--set", "work_mem"],
        &["up", "--tls-port", "9443"],
        &["up", "--database", "a,b"],
        &["fly"],
        &[],
    ] {
        assert_refused(&howdah(folder.path(), arguments), 2, &["help"]);
    }
}

#[test]
fn load_says_what_is_missing_before_and_behind_the_connection() {
    let folder = tempfile::tempdir().unwrap();
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let to = format!("127.0.0.1:{port}");
    let load = |file: &str| howdah(folder.path(), &["load", file, "--to", &to, "--queue", "bips"]);
    assert_refused(&load("absent.ndjson"), 1, &["absent.ndjson", "No such file"]);
    fs::write(folder.path().join("a.ndjson"), "{}\n").unwrap();
    assert_refused(&load("a.ndjson"), 1, &["nothing listens on", &format!("queue.listen({port}")]);
}

#[test]
fn a_stranger_s_folder_shows_nothing_that_lies_beside_it() {
    let folder = tempfile::tempdir().unwrap();
    let at = |path: &str| folder.path().join(path);
    fs::create_dir_all(at("shop/functions")).unwrap();
    fs::write(at("secret"), "do-not-tell").unwrap();
    fs::write(at("shop/howdah.toml"), "name = \"shop\"\n").unwrap();
    std::os::unix::fs::symlink("../../secret", at("shop/functions/f.sql")).unwrap();
    assert!(Command::new("mkfifo").arg(at("shop/routes.sql")).status().unwrap().success());
    for task in ["test", "plan", "deploy", "dev"] {
        let output = howdah(folder.path(), &[task, "--app", "shop"]);
        assert_refused(
            &output,
            1,
            &["functions/f.sql: it is a symbolic link", "routes.sql: it is a named pipe"],
        );
        assert!(!String::from_utf8_lossy(&output.stderr).contains("do-not-tell"), "{task}");
    }
}
