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

/// Where the clock is asked that people set, also back: how often, and why it may be. What is kept in shared memory to find out how much time has
/// passed is a [`shared::Tick`]; what time it is for a queue the queue's own clock says.
const WALL_TIME: [(&str, usize, &str); 14] = [
    ("queue/src/lib.rs", 1, "the one place that asks PostgreSQL"),
    ("queue/src/memory.rs", 1, "a queue's own clock, which goes on where this one goes back"),
    ("queue/src/append.rs", 1, "when a row came in: stored, for people"),
    ("queue/src/ledger.rs", 2, "when a mark was written: stored, for people"),
    ("queue/src/learn.rs", 1, "numbers of an unlogged queue after a crash"),
    ("queue/src/count.rs", 1, "rows of a queue that has no place, and so no clock"),
    ("queue/src/truncation.rs", 1, "whether anything is left, at whatever time"),
    ("queue/src/functions/settled.rs", 1, "how old rows are, for people"),
    ("jobs/src/attempt.rs", 1, "when an attempt began, for people"),
    ("jobs/src/crashes.rs", 1, "when an attempt began, for people"),
    ("jobs/src/batch.rs", 1, "jobs that are given back are free at once, by any clock"),
    (
        "jobs/src/ticks.rs",
        2,
        "schedules follow the clock that people set; a look is due within a minute, whatever that does",
    ),
    ("jobs/src/functions/schedules.rs", 1, "the time that a job is told which is enqueued by hand"),
    ("howdah/src/functions/schedules.rs", 1, "schedules follow the clock that people set"),
];

/// The same in views: when something happened last.
const SHOWN_TIME: (&str, usize) = ("workers/src/gateway/accounts.rs", 2);

/// What asks the system for it: by files whose periods and certificates people date.
const SYSTEM_TIME: [&str; 2] = ["shared/src/lib.rs", "workers/src/gateway/certificates.rs"];

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

#[test]
fn the_clock_that_people_set_is_asked_where_it_may_be_alone() {
    for (name, text) in all_sources() {
        let count = text.matches("wall_time()").count();
        let listed = WALL_TIME.iter().map(|(file, count, _)| (*file, *count)).chain([SHOWN_TIME]);
        let told = listed.filter(|(file, _)| *file == name).map(|(_, count)| count).sum::<usize>();
        assert_eq!(count, told, "{name}: use shared::tick, or the queue's time, or say here why not");
        let is_listed = SYSTEM_TIME.contains(&name.as_str());
        assert!(is_listed || !text.contains("SystemTime::now"), "{name}: as above");
        let asks_postgresql = name == "queue/src/lib.rs";
        assert!(asks_postgresql || !text.contains("GetCurrentTimestamp"), "{name}: as above");
    }
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
