//! The files of code, in an order in which they can run: whoever writes them need not know it. A file that fails because another has not run
//! yet runs again after that one. Where PostgreSQL will not replace what is there, it goes before, with what other files have made of it,
//! and those run again, too.

use std::collections::{BTreeMap, BTreeSet};

use cluster::postgres::Transaction;
use folder::plan::Change;
use folder::{Folder, Kind, Plan};

use super::locks::Locks;
use super::report::Report;
use super::server::{FileError, Ran, Rewritten, Stop, Taken, call};
use crate::failure::Failure;

/// The files of a deployment, run in a transaction.
pub(crate) struct Files<'a, 't> {
    pub(crate) transaction: &'a mut Transaction<'t>,
    pub(crate) folder: &'a Folder,
    pub(crate) report: &'a mut Report,
    pub(crate) locks: Locks,
    /// Files of code that have to run.
    due: BTreeSet<String>,
    /// Those of which what they had made was dropped already.
    taken: BTreeSet<String>,
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
        let due = plan.code.iter().filter(is_due).map(|(path, _)| path.clone()).collect();
        Files { transaction, folder, report, locks, due, taken: BTreeSet::new() }
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
        let ran: Ran = call(self.transaction, "select deploy.run($1, $2)::text", &[&path, &text])
            .map_err(|stop| stop.at(path))?;
        if let Some(error) = ran.error.as_ref().filter(|error| error.passes() || error.is_cancelled()) {
            return Err(self.failed(path, error));
        }
        self.locks.look(self.transaction, path)?;
        Ok(ran)
    }

    /// Runs a file that runs once, or as a whole.
    pub(crate) fn run_one(&mut self, path: &str) -> Result<(), Stop> {
        let mut ran = self.run(path)?;
        let is_migration = Kind::of(path) == Some(Kind::Migration);
        if is_migration
            && ran.error.as_ref().is_some_and(FileError::is_of_dependents)
            && self.take_all_code()?
        {
            ran = self.run(path)?;
        }
        if let Some(error) = &ran.error {
            return Err(self.failed(path, error));
        }
        self.report.file(path, "ran", &ran.made);
        let was_there = |table: &&Rewritten| self.locks.before.contains(&table.oid);
        for table in ran.rewritten.iter().filter(was_there) {
            self.report.rewritten(path, &table.table);
        }
        Ok(())
    }

    /// Drops what all files of code have made, so that a migration may change what it stands on. Whether there was anything.
    fn take_all_code(&mut self) -> Result<bool, Stop> {
        let paths: Vec<String> =
            self.folder.files.keys().filter(|path| Kind::of(path) == Some(Kind::Code)).cloned().collect();
        let mut removed = Vec::new();
        for path in paths {
            if self.taken.insert(path.clone()) {
                removed.extend(self.take_away(&path)?);
                self.due.insert(path);
            }
        }
        Ok(!removed.is_empty())
    }

    /// Drops what a file has made. Others whose objects go with it are due.
    fn take_away(&mut self, path: &str) -> Result<Vec<String>, Stop> {
        let taken: Taken = call(self.transaction, "select deploy.take_away($1)::text", &[&path])?;
        self.after_taking(path, taken)
    }

    /// Drops what files made before and have not made again.
    pub(crate) fn sweep(&mut self) -> Result<(), Stop> {
        let taken: Taken = call(self.transaction, "select deploy.take_away()::text", &[])?;
        let removed = self.after_taking("", taken)?;
        if !removed.is_empty() {
            self.report.file("no file", "makes any more", &removed);
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
        self.locks.look(self.transaction, path)?;
        let is_here = |path: &String| self.folder.files.contains_key(path);
        self.due.extend(taken.paths.into_iter().filter(is_here));
        Ok(taken.removed)
    }

    /// Runs the files that are due, until none is, or those that are left fail for good.
    pub(crate) fn run_due(&mut self) -> Result<(), Stop> {
        let mut failed: BTreeMap<String, FileError> = BTreeMap::new();
        while !self.due.is_empty() {
            let mut has_run = false;
            for path in std::mem::take(&mut self.due) {
                let mut ran = self.run(&path)?;
                if ran.error.as_ref().is_some_and(FileError::is_of_replacing)
                    && self.taken.insert(path.clone())
                {
                    self.take_away(&path)?;
                    ran = self.run(&path)?;
                }
                match ran.error {
                    None => {
                        has_run = true;
                        failed.remove(&path);
                        self.report.file(&path, "ran", &ran.made);
                    }
                    Some(error) => drop(failed.insert(path, error)),
                }
            }
            if !has_run {
                return Err(self.all_failed(&failed));
            }
            self.due.extend(failed.keys().cloned());
        }
        Ok(())
    }

    fn all_failed(&self, failed: &BTreeMap<String, FileError>) -> Stop {
        let told: Vec<String> =
            failed.iter().map(|(path, error)| error.describe(path, self.text(path))).collect();
        Stop::Failed(Failure::Said(told.join("\n\n")))
    }
}
