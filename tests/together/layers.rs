//! The layers of the extension, as ARCHITECTURE.md has them.

use std::fs;
use std::path::{Path, PathBuf};

/// The crates from the bottom, each with those of `extension/` that it may name. Cargo refuses a circle; that a crate names one
/// it must not know is refused here.
const LAYERS: [(&str, &[&str]); 8] = [
    ("pg", &[]),
    ("shared", &["pg"]),
    ("session", &["pg", "shared"]),
    ("queue", &["pg", "shared", "session"]),
    ("request", &["pg", "shared", "session"]),
    ("ingest", &["pg", "shared", "session", "queue"]),
    ("workers", &["pg", "shared", "session", "queue", "request", "ingest"]),
    ("howdah", &["pg", "shared", "session", "queue", "request", "ingest", "workers"]),
];

/// Crates without PostgreSQL that some layers must not know: sockets, the protocols of lines, HTTP.
const UNKNOWN: [(&str, &[&str]); 6] = [
    ("pg", &["exchange", "gateway", "message", "router", "wire", "ndjson", "problem", "form", "tls"]),
    ("shared", &["gateway", "message", "router", "wire", "ndjson"]),
    ("session", &["exchange", "gateway", "message", "router", "wire", "ndjson"]),
    ("queue", &["exchange", "gateway", "message", "router", "wire", "ndjson"]),
    ("request", &["exchange", "gateway", "wire", "ndjson"]),
    ("ingest", &["exchange", "gateway", "message", "router"]),
];

fn extension() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../extension")
}

/// Names of what a crate depends on.
fn dependencies(of: &str) -> Vec<String> {
    let manifest = fs::read_to_string(extension().join(of).join("Cargo.toml")).expect("a manifest");
    let (_, rest) = manifest.split_once("[dependencies]").expect("dependencies");
    let names = rest.split("\n[").next().into_iter().flat_map(str::lines);
    names.filter_map(|line| Some(line.split_once(['=', '.'])?.0.trim().to_owned())).collect()
}

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for path in fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path()) {
        match path.is_dir() {
            true => sources(&path, found),
            false if path.extension().is_some_and(|ending| ending == "rs") => found.push(path),
            false => {}
        }
    }
}

fn all_sources() -> Vec<(String, String)> {
    let mut paths = Vec::new();
    sources(&extension(), &mut paths);
    assert!(paths.len() > 150, "the sources are elsewhere");
    let name = |path: &Path| path.strip_prefix(extension()).expect("of the extension").display().to_string();
    paths.iter().map(|path| (name(path), fs::read_to_string(path).expect("a source"))).collect()
}

#[test]
fn no_crate_names_one_above_it() {
    let own: Vec<&str> = LAYERS.iter().map(|(name, _)| *name).collect();
    let folders =
        fs::read_dir(extension()).expect("the extension").map(|entry| entry.expect("an entry").path());
    let crates = folders.filter(|folder| folder.join("Cargo.toml").exists()).count();
    assert_eq!(crates, LAYERS.len(), "a crate of extension/ has no layer");
    for (name, may_know) in LAYERS {
        for known in dependencies(name).iter().filter(|known| own.contains(&known.as_str())) {
            assert!(may_know.contains(&known.as_str()), "{name} must not know {known}");
        }
    }
}

#[test]
fn no_crate_names_what_it_must_not_know() {
    for (name, unknown) in UNKNOWN {
        let known = dependencies(name);
        let found: Vec<_> =
            unknown.iter().filter(|other| known.iter().any(|known| known == *other)).collect();
        assert!(found.is_empty(), "{name} must not know {found:?}");
    }
}

#[test]
fn pg_alone_knows_versions_of_postgresql() {
    for (name, text) in all_sources() {
        let in_pg = name.starts_with("pg/");
        assert!(in_pg || !text.contains("feature = \"pg1"), "{name}: put it into pg/src/version.rs");
    }
}
