//! `make install` puts the extension where PostgreSQL looks for it, and `make uninstall` takes it out again.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use howdah_tests::Platform;

#[test]
fn what_is_installed_serves_and_can_be_taken_out_again() {
    let destination = tempfile::tempdir().unwrap();
    let staged = PathBuf::from(std::env::var_os("HOWDAH_STAGE").expect("HOWDAH_STAGE names the stage"));
    let installed = make("install", destination.path(), &staged);
    assert!(installed.status.success(), "{installed:?}");
    let next = String::from_utf8_lossy(&installed.stdout).into_owned();
    assert!(next.contains("shared_preload_libraries") && next.contains("create extension"), "{next}");

    let found = files(destination.path());
    let libraries = below(destination.path(), "--pkglibdir");
    let scripts = below(destination.path(), "--sharedir").join("extension");
    for file in &found {
        let expected = if file.extension().unwrap() == "so" { &libraries } else { &scripts };
        assert_eq!(file.parent().unwrap(), expected);
        assert_eq!(
            fs::metadata(file).unwrap().permissions().mode() & 0o444,
            0o444,
            "{file:?}: all may read it"
        );
    }
    assert_eq!(names(&found), names(&files(&staged)));

    // A server that has these files serves.
    // The templates of its clusters are beside it.
    let folder = tempfile::tempdir().unwrap();
    let copy = folder.path().join("stage");
    fs::create_dir(&copy).unwrap();
    for file in &found {
        fs::copy(file, copy.join(file.file_name().unwrap())).unwrap();
    }
    let platform = Platform::of_stage(Some(copy), &[]);
    platform.sql(
        "create function hello() returns text language sql return 'hello';
         select http.route('GET', '/hello', 'hello')",
    );
    assert_eq!(platform.get("/hello").text(), "hello");

    assert!(make("uninstall", destination.path(), &staged).status.success());
    assert_eq!(files(destination.path()), Vec::<PathBuf>::new());
}

#[test]
fn every_spelling_of_pg_config_names_the_same_build() {
    let spelled = |program: &Path| {
        let rule = "--eval=spelled: ; @echo $(ON_POSTGRES)";
        let output = Command::new("make")
            .args(["-s", "-C", concat!(env!("CARGO_MANIFEST_DIR"), "/.."), rule, "spelled"])
            .arg(format!("PG_CONFIG={}", program.display()))
            .output()
            .unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    let given = std::env::var_os("PG_CONFIG").map_or_else(|| PathBuf::from("pg_config"), PathBuf::from);
    let said = Command::new(&given).arg("--bindir").output().unwrap();
    let folder = PathBuf::from(String::from_utf8(said.stdout).unwrap().trim());
    let name = folder.file_name().unwrap();
    let expected = spelled(&folder.join("pg_config"));
    assert_eq!(spelled(&given), expected);
    assert_eq!(spelled(&folder.join("..").join(name).join("pg_config")), expected);
}

#[test]
fn without_a_build_it_says_what_to_do() {
    let destination = tempfile::tempdir().unwrap();
    let refused = make("install", destination.path(), Path::new("/nothing/here"));
    assert!(!refused.status.success());
    let errors = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(errors.contains("Build it first: make build"), "{errors}");
    assert_eq!(fs::read_dir(destination.path()).unwrap().count(), 0);
}

/// Runs make as root would who has no cargo: it takes what has been built.
fn make(target: &str, destination: &Path, stage: &Path) -> Output {
    Command::new("make")
        .args(["--no-print-directory", "-C", concat!(env!("CARGO_MANIFEST_DIR"), "/.."), target])
        .arg(format!("DESTDIR={}", destination.display()))
        .arg(format!("STAGE={}", stage.display()))
        .arg("CARGO=no-cargo-here")
        .output()
        .expect("make runs")
}

/// A folder that pg_config names, below another root.
fn below(root: &Path, which: &str) -> PathBuf {
    let pg_config = std::env::var_os("PG_CONFIG").unwrap_or_else(|| "pg_config".into());
    let output = Command::new(pg_config).arg(which).output().expect("pg_config runs");
    let folder = String::from_utf8(output.stdout).unwrap();
    root.join(folder.trim().trim_start_matches('/'))
}

/// All files below a folder.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

fn names(files: &[PathBuf]) -> BTreeSet<&OsStr> {
    files.iter().map(|file| file.file_name().unwrap()).collect()
}
