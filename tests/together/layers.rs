//! The layers of the extension, as ARCHITECTURE.md has them, and how long its files and functions may be.

use std::fs;
use std::path::{Path, PathBuf};

/// The crates from the bottom, each with those of `extension/` that it may name. Cargo refuses a circle; that a crate names one
/// it must not know is refused here.
const LAYERS: [(&str, &[&str]); 11] = [
    ("pg", &[]),
    ("shared", &["pg"]),
    ("session", &["pg", "shared"]),
    ("changes", &["pg", "shared"]),
    ("queue", &["pg", "shared", "session"]),
    ("request", &["pg", "shared", "session", "changes"]),
    ("ingest", &["pg", "shared", "session", "queue"]),
    ("jobs", &["pg", "shared", "session", "queue", "request"]),
    ("deploy", &["pg", "session"]),
    ("workers", &["pg", "shared", "session", "changes", "queue", "request", "ingest", "jobs"]),
    (
        "howdah",
        &["pg", "shared", "session", "changes", "queue", "request", "ingest", "jobs", "deploy", "workers"],
    ),
];

/// Crates without PostgreSQL that some layers must not know: sockets, the protocols of lines, HTTP.
const UNKNOWN: [(&str, &[&str]); 9] = [
    ("pg", &["exchange", "gateway", "message", "router", "wire", "ndjson", "problem", "form", "tls"]),
    ("shared", &["gateway", "message", "router", "wire", "ndjson"]),
    ("session", &["exchange", "gateway", "message", "router", "wire", "ndjson"]),
    ("changes", &["exchange", "gateway", "message", "router", "wire", "ndjson"]),
    ("queue", &["exchange", "gateway", "message", "router", "wire", "ndjson"]),
    ("request", &["exchange", "gateway", "wire", "ndjson"]),
    ("ingest", &["exchange", "gateway", "message", "router"]),
    ("jobs", &["exchange", "gateway", "message", "router", "wire", "ndjson"]),
    ("deploy", &["exchange", "gateway", "message", "router", "wire", "ndjson"]),
];

const LONGEST_FILE: usize = 600;
const LONGEST_FUNCTION: usize = 60;

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

#[test]
fn no_file_is_too_long() {
    let long = all_sources().into_iter().map(|(name, text)| (text.lines().count(), name));
    let long: Vec<_> = long.filter(|(lines, _)| *lines > LONGEST_FILE).collect();
    assert!(long.is_empty(), "more than {LONGEST_FILE} lines: {long:?}");
}

/// How many lines the function has that begins here; none if it is a declaration, or on one line.
fn length(lines: &[&str]) -> Option<usize> {
    let head = lines.iter().position(|line| line.ends_with(['{', ';', '}']))?;
    if !lines[head].ends_with('{') {
        return None;
    }
    let indentation = lines[0].len() - lines[0].trim_start().len();
    let end = format!("{}}}", &lines[0][..indentation]);
    Some(lines.iter().position(|line| **line == end)? + 1)
}

#[test]
fn no_function_is_too_long() {
    let (mut count, mut long) = (0, Vec::new());
    for (name, text) in all_sources() {
        let lines: Vec<&str> = text.lines().collect();
        for place in 0..lines.len() {
            let mut words = lines[place].trim_start().split(' ');
            let is_no_modifier =
                |word: &&str| !["pub", "pub(crate)", "pub(super)", "const", "unsafe"].contains(word);
            if words.find(is_no_modifier) != Some("fn") {
                continue;
            }
            let Some(length) = length(&lines[place..]) else { continue };
            count += 1;
            if length > LONGEST_FUNCTION {
                long.push(format!("{name}:{} has {length} lines", place + 1));
            }
        }
    }
    assert!(count > 1500, "{count} functions");
    assert!(long.is_empty(), "more than {LONGEST_FUNCTION} lines: {long:#?}");
}

/// `then_some` makes its value anyway, and drops it if it is not wanted: of a type whose end does something, a lock that is given back say, that
/// undoes what was never done.
#[test]
fn nothing_is_made_to_be_dropped_whose_end_does_something() {
    let sources = all_sources();
    let crate_of = |name: &str| name.split('/').next().unwrap_or_default().to_owned();
    let word =
        |rest: &str| rest.split(|end: char| !end.is_alphanumeric()).next().unwrap_or_default().to_owned();
    let ends: Vec<(String, String)> = sources
        .iter()
        .flat_map(|(name, text)| text.split("Drop for ").skip(1).map(|rest| (crate_of(name), word(rest))))
        .collect();
    assert!(ends.len() > 15, "{ends:?}");
    for (name, text) in &sources {
        for eager in ["then_some(", "unwrap_or(", "ok_or(", ".or(Some("] {
            let made = text.split(eager).skip(1).map(|rest| (crate_of(name), word(rest)));
            let wrong: Vec<_> = made.filter(|made| ends.contains(made)).collect();
            assert!(wrong.is_empty(), "{name}: {eager}{wrong:?}");
        }
    }
}
