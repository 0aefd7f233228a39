//! What is told of a deployment: a line for each file, as it comes, or all of it as JSON.

use indicatif::ProgressBar;
use serde_json::{Value, json};

use super::locks::Lock;
use super::server::{Drift, FileWarning};
use crate::screen::{harmless, say};

/// How many names a line has at most.
const MOST_NAMES: usize = 20;

/// Collects what is told.
pub(crate) struct Report {
    json: bool,
    files: Vec<Value>,
    unchecked: Vec<String>,
    warnings: Vec<FileWarning>,
    locks: Vec<Value>,
    rewritten: Vec<Value>,
    rights: Vec<String>,
    drift: Vec<Drift>,
    failure: &'static str,
}

impl Report {
    /// Nothing yet.
    pub(crate) fn new(json: bool) -> Report {
        Report {
            json,
            files: Vec::new(),
            unchecked: Vec::new(),
            warnings: Vec::new(),
            locks: Vec::new(),
            rewritten: Vec::new(),
            rights: Vec::new(),
            drift: Vec::new(),
            failure: "failed",
        }
    }

    /// One that nobody sees.
    pub(crate) fn silent() -> Report {
        Report::new(true)
    }

    /// Says a line to people.
    pub(crate) fn say(&self, line: &str) {
        if !self.json {
            say(&harmless(line));
        }
    }

    /// A bar for people, or one that nobody sees.
    pub(crate) fn bar(&self, make: impl FnOnce() -> ProgressBar) -> ProgressBar {
        if self.json { ProgressBar::hidden() } else { make() }
    }

    /// Forgets an attempt that is made again.
    pub(crate) fn again(&mut self, why: &str) {
        self.files.clear();
        self.locks.clear();
        self.rewritten.clear();
        self.say(&format!("Nothing was kept, as {why}. Again:"));
    }

    /// What a file has done.
    pub(crate) fn file(&mut self, path: &str, what: &str, objects: &[String]) {
        let list = if objects.is_empty() { String::new() } else { format!(": {}", in_line(objects)) };
        self.say(&format!("  {path}  {what}{list}"));
        self.files.push(json!({ "path": path, "what": what, "objects": objects }));
    }

    /// What was dropped, as no file makes it any more.
    pub(crate) fn gone(&mut self, objects: &[String]) {
        self.say(&format!("  gone, as no file makes it any more: {}", in_line(objects)));
        self.files.push(json!({ "path": null, "what": "gone", "objects": objects }));
    }

    /// A table that was there, and whose rows a file has written anew.
    pub(crate) fn rewritten(&mut self, path: &str, table: &str) {
        self.say(&format!("  rewritten: {table}, by {path}"));
        self.rewritten.push(json!({ "path": path, "table": table }));
    }

    /// Rights that were given and taken, as statements.
    pub(crate) fn rights(&mut self, rights: Vec<String>) {
        rights.iter().for_each(|right| self.say(&format!("  rights: {}", right.replace('\n', " "))));
        self.rights = rights;
    }

    /// Functions of which nobody knows whether their bodies are right.
    pub(crate) fn unchecked(&mut self, functions: Vec<String>) {
        if !functions.is_empty() {
            self.say(&format!(
                "Not checked, as their bodies are read when they run (the extension plpgsql_check checks those in PL/pgSQL): {}",
                in_line(&functions)
            ));
        }
        self.unchecked = functions;
    }

    /// Likely mistakes in pages, functions and routes.
    pub(crate) fn warnings(&mut self, warnings: Vec<FileWarning>) {
        for warning in warnings.iter().take(MOST_NAMES) {
            self.say(&format!("  warning: {warning}"));
        }
        if warnings.len() > MOST_NAMES {
            self.say(&format!("  … and {} more (--json has all)", warnings.len() - MOST_NAMES));
        }
        self.warnings = warnings;
    }

    /// What others have waited for.
    pub(crate) fn locks(&mut self, locks: &[Lock]) {
        for lock in locks {
            let held = lock.held().as_secs_f64() * 1000.0;
            self.say(&format!(
                "  locked: {} ({}, from {}) for {held:.0} ms",
                lock.relation, lock.mode, lock.path
            ));
            let ms = held.round();
            self.locks.push(
                json!({ "relation": lock.relation, "mode": lock.mode, "path": lock.path, "held_ms": ms }),
            );
        }
    }

    /// What was changed by hand, and stays so.
    pub(crate) fn drift(&mut self, drift: Vec<Drift>) {
        if !drift.is_empty() {
            self.say("Changed by hand, and left as it is (--repair runs its files again):");
            drift.iter().for_each(|one| self.say(&format!("  {one}")));
        }
        self.drift = drift;
    }

    /// What the outcome is called if it fails from now on; `failed`, and nothing is deployed, unless this says otherwise.
    pub(crate) fn fail_with(&mut self, outcome: &'static str) {
        self.failure = outcome;
    }

    /// Says why it has failed, to programs; people are told otherwise.
    pub(crate) fn failed(&self, application: &str, why: &str) {
        if self.json {
            let all = json!({ "application": application, "outcome": self.failure, "error": why, "files": self.files });
            say(&format!("{all:#}"));
        }
    }

    /// Says how it has ended; with it all that was told, as JSON.
    pub(crate) fn end(&self, application: &str, number: Option<i32>, outcome: &str, line: &str) {
        if !line.is_empty() {
            self.say(line);
        }
        if self.json {
            let all = json!({
                "application": application, "number": number, "outcome": outcome, "files": self.files,
                "unchecked": self.unchecked, "locks": self.locks, "rewritten": self.rewritten, "rights": self.rights,
                "drift": self.drift, "warnings": self.warnings,
            });
            say(&format!("{all:#}"));
        }
    }
}

/// Names in one line, whatever they have in them; of many the first.
fn in_line(objects: &[String]) -> String {
    let mut line = objects[..objects.len().min(MOST_NAMES)].join(", ").replace('\n', " ");
    if objects.len() > MOST_NAMES {
        line += &format!(" and {} more (--json has all)", objects.len() - MOST_NAMES);
    }
    line
}
