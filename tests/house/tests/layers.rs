//! The layers of the extension, as ARCHITECTURE.md has them, and what only some files may do.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;

use house::{known, sources};

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

/// What asks the system for it: by files whose periods and certificates people date, and cookies, which end by the same clock in browsers.
const SYSTEM_TIME: [&str; 3] =
    ["shared/src/lib.rs", "workers/src/gateway/certificates.rs", "howdah/src/functions/cookies.rs"];

fn extension() -> PathBuf {
    house::root().join("extension")
}

/// Names of what a crate depends on, by its manifest's path.
fn dependencies(manifest: &str) -> Vec<String> {
    let manifest = fs::read_to_string(house::root().join(manifest)).expect("a manifest");
    let Some((_, rest)) = manifest.split_once("[dependencies]") else { return Vec::new() };
    let names = rest.split("\n[").next().into_iter().flat_map(str::lines);
    names.filter_map(|line| Some(line.split_once(['=', '.'])?.0.trim().to_owned())).collect()
}

/// What each crate of the project depends on, itself or by others of the project.
fn all_dependencies() -> BTreeMap<String, BTreeSet<String>> {
    let manifests = ["crates", "extension"].map(|folder| house::files(folder, "Cargo.toml")).concat();
    let name = |path: &str| path.rsplit('/').nth(1).unwrap_or_default().to_owned();
    let direct: BTreeMap<String, Vec<String>> =
        manifests.iter().map(|path| (name(path), dependencies(path))).collect();
    let reached = |of: &str| {
        let (mut found, mut next) = (BTreeSet::new(), vec![of.to_owned()]);
        while let Some(one) = next.pop() {
            let new = direct.get(&one).into_iter().flatten().filter(|other| found.insert((*other).clone()));
            next.extend(new.cloned().collect::<Vec<_>>());
        }
        found
    };
    direct.keys().map(|of| (of.clone(), reached(of))).collect()
}

fn all_sources() -> Vec<(String, String)> {
    let own =
        |source: sources::Source| Some((source.path.strip_prefix("extension/")?.to_owned(), source.text));
    sources::all().into_iter().filter_map(own).collect()
}

#[test]
fn no_crate_names_one_above_it() {
    let own: Vec<&str> = LAYERS.iter().map(|(name, _)| *name).collect();
    let folders =
        fs::read_dir(extension()).expect("the extension").map(|entry| entry.expect("an entry").path());
    let crates = folders.filter(|folder| folder.join("Cargo.toml").exists()).count();
    assert_eq!(crates, LAYERS.len(), "a crate of extension/ has no layer");
    for (name, may_know) in LAYERS {
        for known in dependencies(&format!("extension/{name}/Cargo.toml"))
            .iter()
            .filter(|known| own.contains(&known.as_str()))
        {
            assert!(may_know.contains(&known.as_str()), "{name} must not know {known}");
        }
    }
}

#[test]
fn no_crate_knows_what_it_must_not() {
    let all = all_dependencies();
    let found: BTreeMap<String, Vec<String>> = UNKNOWN
        .iter()
        .map(|(name, unknown)| {
            let found = unknown.iter().filter(|other| all[*name].contains(**other));
            ((*name).to_owned(), found.map(|other| (*other).to_owned()).collect::<Vec<_>>())
        })
        .filter(|(_, found)| !found.is_empty())
        .collect();
    assert_eq!(found, known::read().forbidden_crates, "by what it depends on, and what that does");
}

#[test]
fn pg_alone_knows_versions_of_postgresql() {
    for (name, text) in all_sources() {
        let in_pg = name.starts_with("pg/");
        assert!(in_pg || !text.contains("feature = \"pg1"), "{name}: put it into pg/src/version.rs");
    }
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
