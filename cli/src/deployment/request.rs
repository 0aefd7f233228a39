//! A deployment that was asked for: its files, and where they go; and the tests that run before.

use std::cell::OnceCell;
use std::path::Path;
use std::sync::Mutex;

use folder::Folder;

use super::attempt::End;
use super::report::Report;
use super::source::Source;
use crate::arguments::{Deploy, Tests};
use crate::connection::Address;
use crate::failure::Result;

/// A deployment that was asked for.
pub(crate) struct Run<'a> {
    /// How.
    pub(crate) options: &'a Deploy,
    /// Where.
    pub(crate) address: &'a Address,
    /// What.
    pub(crate) source: &'a Source,
    pub(crate) end: End,
    /// Whether it is known that no migration has to run.
    pub(crate) is_code: bool,
    /// Tests that may run before it.
    pub(crate) tests_before: Option<&'a Rehearsal<'a>>,
}

impl Run<'_> {
    /// An error, and what becomes of the rest.
    pub(crate) fn with_end(&self, text: &str) -> String {
        let end = if self.end == End::Commit { "deployed" } else { "kept" };
        format!("{text}\nNothing of it was {end}.")
    }
}

/// Runs the tests of a folder, which is at the path, and tells the name of each that has passed. An error that tells those that have not.
pub(crate) type RunTests = dyn Fn(&Folder, &Path, &(dyn Fn(&str) + Sync)) -> Result<Rehearsed>;

/// The outcome of tests that were to run before.
pub(crate) enum Rehearsed {
    /// All have passed.
    Done,
    /// This machine has no server that could run them.
    NoServer,
}

/// The tests that run before a folder is deployed, to however many databases.
pub(crate) struct Rehearsal<'a> {
    run: &'a RunTests,
    settled: OnceCell<Tests>,
}

impl<'a> Rehearsal<'a> {
    /// Those that this runs.
    pub(crate) fn by(run: &'a RunTests) -> Rehearsal<'a> {
        Rehearsal { run, settled: OnceCell::new() }
    }

    /// Runs them, unless they have run; where those run that are left.
    pub(crate) fn settle(&self, folder: &Folder, app: &Path, report: &mut Report) -> Result<Tests> {
        if let Some(settled) = self.settled.get() {
            return Ok(*settled);
        }
        let shared = Mutex::new(report);
        let tell = |name: &str| {
            let mut report = shared.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            report.file(name, "passed in a new database", &[]);
        };
        let settled = match (self.run)(folder, app, &tell)? {
            Rehearsed::Done => Tests::Before,
            Rehearsed::NoServer => {
                let report = shared.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
                report.say(
                    "Tests run in the transaction, as no PostgreSQL with howdah is on this machine to run them before (--tests inside).",
                );
                Tests::Inside
            }
        };
        Ok(*self.settled.get_or_init(|| settled))
    }
}
