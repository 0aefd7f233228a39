//! Where the tests of a deployment run. Those that run before it do so in a database that is made of the folder, on this machine, while nothing
//! of the other one is locked.

use std::collections::BTreeMap;

use folder::files::is_live_test;
use folder::{File, Kind};

use super::attempt::Attempt;
use super::interrupt::{self, INTERRUPTED};
use super::report::Report;
use super::request::Run;
use super::server::Stop;
use super::source::Source;
use crate::arguments::Tests;
use crate::connection::begin;
use crate::failure::{Failure, Result};

impl Run<'_> {
    /// Where the tests run that are left, once those have passed that run before.
    pub(crate) fn settle_tests(&self, report: &mut Report) -> Result<Tests> {
        let Source::Folder(folder) = self.source else {
            // What they need of seeds was not kept.
            return Ok(match self.options.tests {
                Some(Tests::None) => Tests::None,
                _ => Tests::Inside,
            });
        };
        let asked = self.options.tests.unwrap_or(Tests::Before);
        let runs_before = |(path, file): (&String, &File)| file.kind == Kind::Test && !is_live_test(path);
        let has_some = folder.files.iter().any(runs_before);
        match self.tests_before.filter(|_| asked == Tests::Before && has_some) {
            Some(before) if self.is_due()? => before
                .settle(folder, &self.options.destination.app, report)
                .map_err(|failure| match failure {
                    Failure::Said(_) if interrupt::was_noticed() => Failure::Said(INTERRUPTED.into()),
                    Failure::Said(text) => Failure::Said(self.with_end(&text)),
                    other => other,
                }),
            _ => Ok(asked),
        }
    }

    /// Whether there is something to deploy; an error if the database lacks what it needs.
    fn is_due(&self) -> Result<bool> {
        let mut client = self.address.connect()?;
        let mut transaction = begin(&mut client)?;
        let (address, source, options, end) = (self.address, self.source, self.options, self.end);
        let attempt = Attempt { address, source, options, end, key: "", postponed: &BTreeMap::new() };
        let is_due = match attempt.is_due(&mut transaction) {
            Ok(is_due) => is_due || options.repair,
            // The attempts that follow wait for others.
            Err(Stop::Again(_) | Stop::Busy(_)) => true,
            Err(Stop::Failed(Failure::Said(text))) => return Err(Failure::Said(self.with_end(&text))),
            Err(stop) => return Err(stop.into()),
        };
        transaction.rollback()?;
        Ok(is_due)
    }
}
