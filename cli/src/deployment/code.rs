//! The files of code, in an order in which they can run: whoever writes them need not know it. A file that fails because another has not run
//! yet runs again after that one. Where PostgreSQL will not replace what is there, it goes before, with what other files have made of it,
//! and those run again, too.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use cluster::postgres::Transaction;
use folder::pages::is_page;
use folder::plan::Change;
use folder::statics::INDEX;
use folder::{Folder, Kind, Plan, pages};

use super::locks::Locks;
use super::report::Report;
use super::server::{FileError, Ran, Rewritten, SetFiles, Stop, Taken, call, refuse_problems};
use super::static_files::counted;
use crate::failure::Failure;

/// How often a file runs at most: more often none has to that is right.
const MOST_RUNS: u32 = 50;

/// The files of a deployment, run in a transaction.
pub(crate) struct Files<'a, 't> {
    pub(crate) transaction: &'a mut Transaction<'t>,
    pub(crate) folder: &'a Folder,
    pub(crate) report: &'a mut Report,
    pub(crate) locks: Locks,
    /// Files of code that have to run.
    due: BTreeSet<String>,
    /// Those of which what they had made was dropped, and which have not run since.
    taken: BTreeSet<String>,
    /// How often each has run.
    runs: BTreeMap<String, u32>,
    /// Those that are as they were.
    unchanged: BTreeSet<String>,
    /// Those that say something of all objects of a schema. They run when all others have.
    of_all: BTreeSet<String>,
    /// Whether something has run that they have not seen.
    is_unseen: bool,
    /// How long each has taken.
    took: BTreeMap<String, Duration>,
}

impl<'a, 't> Files<'a, 't> {
    /// Nothing has run yet.
    pub(crate) fn new(
        transaction: &'a mut Transaction<'t>,
        folder: &'a Folder,
        plan: &Plan,
        locks: Locks,
        report: &'a mut Report,
    ) -> Self {
        let is_due = |(path, change): &(&String, &Change)| {
            Kind::of(path) == Some(Kind::Code) && matches!(change, Change::New | Change::Changed)
        };
        let mut due: BTreeSet<String> =
            plan.code.iter().filter(is_due).map(|(path, _)| path.clone()).collect();
        let is_other = |(_, change): &(&String, &Change)| **change != Change::Unchanged;
        let changed = plan.code.iter().filter(is_other).map(|(path, _)| path.clone()).collect();
        due.extend(pages::callers(folder.texts(), &changed));
        let is_unchanged = |(_, change): &(&String, &Change)| **change == Change::Unchanged;
        let unchanged = plan.code.iter().filter(is_unchanged).map(|(path, _)| path.clone()).collect();
        let says_of_all = |path: &&String| {
            Kind::of(path) == Some(Kind::Code) && !is_page(path) && says_of_all(&folder.files[*path].text)
        };
        let of_all = folder.files.keys().filter(says_of_all).cloned().collect();
        Files {
            transaction,
            folder,
            report,
            locks,
            due,
            taken: BTreeSet::new(),
            runs: BTreeMap::new(),
            unchanged,
            of_all,
            is_unseen: false,
            took: BTreeMap::new(),
        }
    }

    /// Does something, and notes how long it takes.
    pub(crate) fn timed<T>(&mut self, what: &str, work: impl FnOnce(&mut Self) -> T) -> T {
        let begun = Instant::now();
        let result = work(self);
        *self.took.entry(what.to_owned()).or_default() += begun.elapsed();
        result
    }

    /// The file that has taken the longest.
    pub(crate) fn longest(&self) -> Option<(String, Duration)> {
        self.took.iter().max_by_key(|(_, took)| **took).map(|(what, took)| (what.clone(), *took))
    }

    /// Has files of code run that have not changed.
    pub(crate) fn run_again(&mut self, paths: impl IntoIterator<Item = String>) {
        self.due.extend(paths.into_iter().filter(|path| Kind::of(path) == Some(Kind::Code)));
    }

    /// Tells the server which static files there are, if they have become others.
    pub(crate) fn set_statics(&mut self, change: Option<Change>) -> Result<(), Stop> {
        let content = match change {
            None | Some(Change::Unchanged) => return Ok(()),
            Some(Change::Gone) => None,
            Some(Change::New | Change::Changed) => Some(self.text(INDEX)),
        };
        let set: SetFiles = self.timed(INDEX, |files| {
            call(files.transaction, "select deploy.set_files($1)::text", &[&content])
        })?;
        let all = counted(content.map_or(0, |text| text.lines().count()));
        let told = format!("{all}: {} new, {} changed, {} gone", set.added, set.changed, set.gone);
        self.report.file(INDEX, &told, &[]);
        for warning in &self.folder.statics.warnings {
            self.report.say(&format!("  warning: {warning}"));
        }
        Ok(())
    }

    /// Tells the server all pages that have to run, as others are put together of them.
    pub(crate) fn note_pages(&mut self) -> Result<(), Stop> {
        for path in self.due.iter().filter(|path| is_page(path)) {
            let text = self.text(path);
            self.transaction.execute("select deploy.note_page($1, $2)", &[path, &text])?;
        }
        Ok(())
    }

    /// Has all pages run: a migration may have changed what they read, and a column that was renamed is not in their files.
    pub(crate) fn run_pages_again(&mut self) {
        let pages = self.folder.files.keys().filter(|path| is_page(path)).cloned();
        self.due.extend(pages);
    }

    fn text(&self, path: &str) -> &'a str {
        self.folder.files.get(path).map(|file| file.text.as_str()).unwrap_or_default()
    }

    /// An error of a file, with the lines around.
    pub(crate) fn failed(&self, path: &str, error: &FileError) -> Stop {
        match error.passes() {
            true => Stop::Again(format!("{path}:{}: {}", error.line, error.message)),
            false => Stop::Failed(Failure::Said(error.describe(path, self.text(path)))),
        }
    }

    fn run(&mut self, path: &str) -> Result<Ran, Stop> {
        let text = self.text(path);
        let ran: Ran = self
            .timed(path, |files| call(files.transaction, "select deploy.run($1, $2)::text", &[&path, &text]))
            .map_err(|stop| stop.at(path))?;
        if let Some(error) = ran.error.as_ref().filter(|error| error.passes() || error.is_cancelled()) {
            return Err(self.failed(path, error));
        }
        self.locks.look(self.transaction, path)?;
        Ok(ran)
    }

    /// Runs a file of code. Where PostgreSQL will not replace what is there, that goes before: what the file has made itself, or what others
    /// have made before and no longer make.
    fn run_replacing(&mut self, path: &str) -> Result<Ran, Stop> {
        let runs = self.runs.entry(path.to_owned()).or_default();
        *runs += 1;
        if *runs > MOST_RUNS {
            return Err(Stop::Failed(Failure::Said(format!(
                "{path} has run {MOST_RUNS} times in this deployment: it and others take away what the other makes, again and again"
            ))));
        }
        let is_of_replacing = |ran: &Ran| ran.error.as_ref().is_some_and(FileError::is_of_replacing);
        let mut ran = self.run(path)?;
        if is_of_replacing(&ran) && self.taken.insert(path.to_owned()) {
            self.take_away(path)?;
            ran = self.run(path)?;
        }
        if is_of_replacing(&ran) && !self.take_away("")?.is_empty() {
            ran = self.run(path)?;
        }
        let is_here = |path: &String| self.folder.files.contains_key(path);
        self.due.extend(std::mem::take(&mut ran.paths).into_iter().filter(is_here));
        if ran.error.is_none() {
            self.taken.remove(path);
        }
        Ok(ran)
    }

    /// Runs a file that runs once, or as a whole.
    pub(crate) fn run_one(&mut self, path: &str) -> Result<(), Stop> {
        let mut ran = self.run(path)?;
        while ran.error.is_some() && self.make_way(&ran.in_the_way)? {
            ran = self.run(path)?;
        }
        if let Some(error) = &ran.error {
            return Err(self.failed(path, error));
        }
        self.is_unseen = true;
        self.report.file(path, "ran", &ran.made);
        let was_there = |table: &&Rewritten| self.locks.before.contains(&table.oid);
        for table in ran.rewritten.iter().filter(was_there) {
            self.report.rewritten(path, &table.table);
        }
        Ok(())
    }

    /// Drops what these files have made, so that a migration may change what it stands on; they run after it. Whether there was anything.
    fn make_way(&mut self, paths: &[String]) -> Result<bool, Stop> {
        let mut is_cleared = false;
        for path in paths.iter().filter(|path| Kind::of(path) == Some(Kind::Code)) {
            if self.taken.insert(path.clone()) {
                is_cleared |= !self.take_away(path)?.is_empty();
                self.due.extend(self.folder.files.contains_key(path).then(|| path.clone()));
            }
        }
        Ok(is_cleared)
    }

    /// Drops what a file has made; without a path what files made before and do not make any more, as far as is known. Others whose objects go
    /// with it are due.
    fn take_away(&mut self, path: &str) -> Result<Vec<String>, Stop> {
        let taken: Taken = call(self.transaction, "select deploy.take_away($1)::text", &[&path])?;
        self.after_taking(path, taken)
    }

    /// Drops what files made before and have not made again.
    pub(crate) fn sweep(&mut self) -> Result<(), Stop> {
        let taken: Taken = call(self.transaction, "select deploy.take_away()::text", &[])?;
        let removed = self.after_taking("", taken)?;
        if !removed.is_empty() {
            self.report.gone(&removed);
        }
        self.run_due()
    }

    fn after_taking(&mut self, path: &str, taken: Taken) -> Result<Vec<String>, Stop> {
        if let Some(error) = &taken.error {
            let path = if path.is_empty() { "the folder" } else { path };
            return Err(match error.passes() {
                true => Stop::Again(error.message.clone()),
                false => Stop::Failed(Failure::Said(error.describe(path, ""))),
            });
        }
        refuse_problems(&taken.problems)?;
        let place = if path.is_empty() { "what no file makes any more" } else { path };
        self.locks.look(self.transaction, place)?;
        let is_here = |path: &String| self.folder.files.contains_key(path);
        self.due.extend(taken.paths.into_iter().filter(is_here));
        Ok(taken.removed)
    }

    /// Runs the files that are due, until none is, or those that are left fail for good.
    pub(crate) fn run_due(&mut self) -> Result<(), Stop> {
        loop {
            let (late, due) =
                std::mem::take(&mut self.due).into_iter().partition(|path| self.of_all.contains(path));
            self.due = due;
            self.run_all(late)?;
            if !std::mem::take(&mut self.is_unseen) || self.of_all.is_empty() {
                return Ok(());
            }
            self.due.extend(self.of_all.iter().cloned());
        }
    }

    /// Runs the files that are due, and some that are late once no other can run.
    fn run_all(&mut self, mut late: BTreeSet<String>) -> Result<(), Stop> {
        let mut failed: BTreeMap<String, FileError> = BTreeMap::new();
        while !self.due.is_empty() || !late.is_empty() {
            let mut has_run = false;
            for path in std::mem::take(&mut self.due) {
                let ran = self.run_replacing(&path)?;
                match ran.error {
                    None => {
                        has_run = true;
                        self.is_unseen |= !self.of_all.contains(&path);
                        failed.remove(&path);
                        self.report.file(&path, "ran", &ran.made);
                    }
                    Some(error) => drop(failed.insert(path, error)),
                }
            }
            self.due.extend(failed.keys().cloned());
            if has_run && !self.due.is_empty() {
                continue;
            }
            if late.is_empty() && !has_run {
                return Err(self.all_failed(&failed));
            }
            self.is_unseen &= !late.is_superset(&self.of_all);
            self.due.append(&mut late);
        }
        Ok(())
    }

    fn all_failed(&self, failed: &BTreeMap<String, FileError>) -> Stop {
        let is_unchanged = |path: &String| self.unchanged.contains(path);
        // What is missing may be what another of them would have made.
        let mut failed: Vec<_> = failed.iter().collect();
        failed.sort_by_key(|(path, error)| (error.is_of_missing(), is_unchanged(path)));
        let told: Vec<String> = failed
            .into_iter()
            .map(|(path, error)| {
                let told = error.describe(path, self.text(path));
                match is_unchanged(path) {
                    true => told + "\nnote: this file has not changed; it ran again because what it uses has",
                    false => told,
                }
            })
            .collect();
        Stop::Failed(Failure::Said(told.join("\n\n")))
    }
}

/// Whether a file gives or takes rights to all objects of a schema, whichever file makes them.
fn says_of_all(text: &str) -> bool {
    let text = text.to_ascii_lowercase();
    text.contains("in schema") && (text.contains("grant") || text.contains("revoke"))
}
