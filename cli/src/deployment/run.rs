//! `howdah plan`, `howdah deploy` and `howdah rollback`: attempts until one succeeds, or fails for good.

use std::collections::BTreeMap;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use cluster::postgres::Client;
use folder::{Deployed, Folder, Kind, Manifest, Plan};

use super::accept;
pub(crate) use super::attempt::End;
use super::attempt::{self, Attempt, Done};
use super::build;
use super::errors::Errors;
use super::interrupt::{self, INTERRUPTED};
use super::report::Report;
use super::request::{Rehearsal, Run, RunTests};
use super::server::{Stop, require_extension, state};
use super::source::Source;
use super::staged::{self, Staged, Steps};
use super::static_files;
use super::target::{self, said};
use crate::arguments::{Deploy, Rollback, Tests};
use crate::connection::{Address, begin};
use crate::failure::{Failure, Result};

/// Time before the second attempt; each further one waits twice as long.
const PAUSE: Duration = Duration::from_millis(200);
/// How often it is looked whether somebody else has ended.
const LOOK: Duration = Duration::from_millis(500);
/// How long it is tried to find out what became of a commit whose answer was lost.
const PATIENCE: Duration = Duration::from_secs(30);

/// Deploys the folder, or says what that would do. Tests that run before are the given.
pub(crate) fn run(options: &Deploy, end: End, tests: &RunTests) -> Result<()> {
    build::run(&options.destination.app, options.build)?;
    let folder = target::folder(&options.destination)?;
    let (from, manifest) = (options.destination.app.display().to_string(), folder.manifest.clone());
    let source = Source::Folder(Box::new(folder));
    let before = Rehearsal::by(tests);
    target::each(&options.destination, &manifest, |address| {
        let tests_before = Some(&before);
        Run { options, address, source: &source, end, is_code: false, tests_before }.until_done(&from)
    })
}

/// Deploys a folder to a database of the platform on this machine.
pub(crate) fn run_here(folder: &Path, address: &Address) -> Result<()> {
    // The folder is what its user wants, whatever howdah dev has made of the platform.
    let options =
        &Deploy { as_administrator: true, back: true, tests: Some(Tests::Inside), ..Deploy::of(folder) };
    let source = &Source::Folder(Box::new(target::folder(&options.destination)?));
    Run { options, address, source, end: End::Commit, is_code: false, tests_before: None }
        .until_done(&folder.display().to_string())
}

/// Likewise, a folder that was read, and nothing is said.
pub(crate) fn run_quietly(folder: Folder, address: &Address) -> Result<()> {
    let options = &Deploy {
        as_administrator: true,
        leaves_files_plain: true,
        tests: Some(Tests::Inside),
        ..Deploy::of(Path::new("."))
    };
    let source = &Source::Folder(Box::new(folder));
    Run { options, address, source, end: End::Commit, is_code: false, tests_before: None }
        .attempts("", &mut Report::silent())?;
    Ok(())
}

/// What became of a folder that was to be live.
pub(crate) enum Loaded {
    /// It is what was deployed last.
    Same,
    /// It is live.
    Live {
        /// Whether nothing of it was there before.
        is_first: bool,
    },
    /// Migrations that have run are not as they were: what is wrong with them.
    Outdated(String),
    /// What is wrong is so on a new database, too.
    Wrong(String),
}

/// What deployments of `howdah dev` are for.
const DEVELOPED: &str = "howdah dev";

/// Deploys a folder that is being written. Of such deployments the last alone is kept.
pub(crate) fn run_live(mut folder: Folder, address: &Address) -> Result<Loaded> {
    let mut client = address.connect()?;
    let mut transaction = begin(&mut client)?;
    let name = folder.manifest.name.clone();
    let mut deployed = state(&mut transaction, &name)?.unwrap_or_default();
    transaction.commit()?;
    if accept::all_that_are_same(&mut client, &folder, &deployed)? > 0 {
        deployed = state(&mut client, &name)?.unwrap_or_default();
    }
    // A migration that says nothing yet would have run, and could say nothing any more.
    folder.files.retain(|path, file| {
        file.kind != Kind::Migration || deployed.migrations.contains_key(path) || says_something(&file.text)
    });
    let is_code = match Plan::of(&folder, &deployed) {
        Ok(plan) => plan.migrations.is_empty() && deployed.steps.is_empty(),
        Err(faults) => {
            let told = said(&faults).to_string();
            return Ok(match Plan::of(&folder, &Deployed::default()) {
                Ok(_) => Loaded::Outdated(told),
                Err(_) => Loaded::Wrong(told),
            });
        }
    };
    let options = &Deploy {
        as_administrator: true,
        back: true,
        passes_over_drift: true,
        leaves_files_plain: true,
        message: Some(DEVELOPED.to_owned()),
        tests: Some(Tests::Inside),
        ..Deploy::of(Path::new("."))
    };
    let source = &Source::Folder(Box::new(folder));
    let mut report = Report::new(false);
    let done = Run { options, address, source, end: End::Commit, is_code, tests_before: None }
        .attempts("", &mut report)?;
    let Done::Ran(_) = done else { return Ok(Loaded::Same) };
    let mut transaction = begin(&mut client)?;
    transaction.execute("select deploy.keep_last($1, $2)", &[&name, &DEVELOPED])?;
    transaction.commit()?;
    Ok(Loaded::Live { is_first: deployed.number == 0 })
}

/// Whether a text has more than blanks and lines of comments.
fn says_something(text: &str) -> bool {
    text.lines().map(str::trim).any(|line| !line.is_empty() && !line.starts_with("--"))
}

/// Drops an application with its routes, query handlers and all of its rows.
pub(crate) fn drop_application(address: &Address, name: &str) -> Result<()> {
    let mut client = address.connect()?;
    let mut transaction = begin(&mut client)?;
    let schema = transaction.query_opt(
        "select pg_catalog.format('drop schema if exists %I cascade', a.schema_name) from deploy.application a where a.name = $1",
        &[&name],
    )?;
    transaction.execute("select deploy.unregister_all($1)", &[&name])?;
    transaction.execute("select deploy.drop_application($1)", &[&name])?;
    if let Some(statement) = schema {
        transaction.batch_execute(statement.get(0))?;
    }
    Ok(transaction.commit()?)
}

/// Brings the code of an earlier deployment back.
pub(crate) fn roll_back(options: &Rollback) -> Result<()> {
    let manifest = match &options.name {
        Some(name) => Manifest::named(name),
        None => target::folder(&options.deploy.destination)?.manifest,
    };
    let source = &Source::Earlier { name: manifest.name.clone(), number: options.number, over: None };
    let end = if options.plan { End::Undo } else { End::Commit };
    let tests = if options.no_tests { Some(Tests::None) } else { options.deploy.tests };
    let options = &Deploy { tests, ..options.deploy.clone() };
    target::each(&options.destination, &manifest, |address| {
        Run { options, address, source, end, is_code: false, tests_before: None }.until_done("")
    })
}

impl Run<'_> {
    /// Tries until it has succeeded, and says so.
    fn until_done(&self, from: &str) -> Result<()> {
        let mut report = Report::new(self.options.json);
        let name = self.source.name();
        let done = self.attempts(from, &mut report).and_then(|done| match done {
            Done::Same(number) => {
                let line = format!("Nothing has changed since deployment {number}.");
                report.end(name, Some(number), "unchanged", &line);
                Ok(())
            }
            Done::Ran(_) if self.end == End::Undo => {
                let command = if from.is_empty() { "rollback" } else { "deploy" };
                let line = format!("Nothing of it was kept: this is what howdah {command} would do.");
                report.end(name, None, "planned", &line);
                Ok(())
            }
            Done::Ran(number) => {
                report.say(&format!("Deployed as number {number}."));
                self.watch(number, &mut report)
            }
        });
        if let Err(failure) = &done {
            report.failed(name, &failure.to_string());
        }
        done
    }

    fn attempts(&self, from: &str, report: &mut Report) -> Result<Done> {
        interrupt::notice();
        require_extension(&mut self.address.connect()?, &self.address.shown)?;
        let from = if from.is_empty() { String::new() } else { format!(" from {from}") };
        report.say(&format!("{}{from} to {}", self.source.name(), self.address.shown));
        let options = &Deploy { tests: Some(self.settle_tests(report)?), ..self.options.clone() };
        let settled = Run { options, ..*self };
        let (mut tries, mut waited) = (0, None);
        loop {
            match settled.deploy(report) {
                Ok(done) => return Ok(done),
                Err(Stop::Partly(failure)) if interrupt::was_noticed() => return Err(failure),
                Err(_) if interrupt::was_noticed() => break,
                Err(Stop::Busy(who)) => {
                    let since = *waited.get_or_insert_with(|| {
                        report.say(&format!("{who}; waiting."));
                        Instant::now()
                    });
                    if since.elapsed() > self.options.wait {
                        let seconds = self.options.wait.as_secs_f64();
                        return Err(Failure::Said(format!("{who}; gave up after {seconds} s")));
                    }
                    thread::sleep(LOOK);
                }
                Err(Stop::Again(why)) => {
                    tries += 1;
                    if tries >= self.options.tries {
                        return Err(Failure::Said(format!(
                            "nothing is deployed after {tries} tries: {why}\nSee --tries, --lock-timeout and --locks."
                        )));
                    }
                    report.again(&why);
                    thread::sleep(PAUSE * 2u32.pow(tries.min(6) - 1));
                }
                Err(Stop::Failed(Failure::Said(text))) => return Err(Failure::Said(self.with_end(&text))),
                Err(Stop::Failed(failure) | Stop::Partly(failure)) => return Err(failure),
            }
            if interrupt::was_noticed() {
                break;
            }
        }
        Err(Failure::Said(INTERRUPTED.into()))
    }

    fn deploy(&self, report: &mut Report) -> std::result::Result<Done, Stop> {
        let mut client = self.address.connect()?;
        let steps = if self.is_code { Steps::default() } else { staged::steps(&mut client, self.source)? };
        if self.end == End::Commit && matches!(self.source, Source::Folder(_)) && !steps.is_empty() {
            return Staged { run: self, steps }.deploy(&mut client, report);
        }
        self.in_transaction(&mut client, self.source, self.options, &steps.pending, report)
    }

    /// Deploys in one transaction, without some migrations.
    pub(crate) fn in_transaction(
        &self,
        client: &mut Client,
        source: &Source,
        options: &Deploy,
        postponed: &BTreeMap<String, String>,
        report: &mut Report,
    ) -> std::result::Result<Done, Stop> {
        let key = format!("{:016x}", RandomState::new().build_hasher().finish());
        self.send_files(client, source, report)?;
        let mut transaction = begin(client)?;
        let attempt = Attempt { address: self.address, source, options, end: self.end, key: &key, postponed };
        let done = attempt.run(&mut transaction, report)?;
        if self.end == End::Undo || matches!(done, Done::Same(_)) {
            transaction.rollback()?;
            return Ok(done);
        }
        // A late cancellation by the watcher meets this, not the commit.
        transaction.batch_execute("")?;
        match transaction.commit() {
            Ok(()) => {}
            Err(error) if error.as_db_error().is_some() => return Err(error.into()),
            Err(_) => self.ask(&key)?,
        }
        Ok(done)
    }

    /// Sends static files, which nobody gets before the deployment says so. Where there is no application yet they go in its transaction.
    fn send_files(
        &self,
        client: &mut Client,
        source: &Source,
        report: &mut Report,
    ) -> std::result::Result<(), Stop> {
        let Source::Folder(folder) = source else { return Ok(()) };
        if self.end == End::Undo {
            return Ok(());
        }
        let (name, packs) = (&folder.manifest.name, !self.options.leaves_files_plain);
        static_files::send(client, name, &folder.statics, packs, report)
    }

    /// Finds out what became of a commit whose answer was lost.
    fn ask(&self, key: &str) -> std::result::Result<(), Stop> {
        let begun = Instant::now();
        loop {
            let answer = self
                .address
                .connect()
                .map_err(Stop::from)
                .and_then(|mut client| attempt::was_committed(&mut client, self.source.name(), key));
            match answer {
                Ok(true) => return Ok(()),
                Ok(false) => return Err(Stop::Again("the connection was lost before the commit".into())),
                Err(_) if begun.elapsed() < PATIENCE => thread::sleep(LOOK),
                Err(_) => {
                    return Err(Stop::Failed(Failure::Said(
                        "the connection was lost at the commit, and the server does not answer: howdah history says whether it is deployed".into(),
                    )));
                }
            }
        }
    }

    /// Says that it is deployed, and looks whether requests fail that did not before, if that is wanted; takes it back then, if that is.
    fn watch(&self, number: i32, report: &mut Report) -> Result<()> {
        let (options, name) = (self.options, self.source.name());
        if options.watch.is_zero() {
            report.end(name, Some(number), "deployed", "");
            return Ok(());
        }
        let seen = Errors::begin(self.address, name)?.within(options.watch)?;
        if seen.failed.is_empty() {
            let line = format!("Of {} requests to its routes none has failed.", seen.requests);
            report.end(name, Some(number), "deployed", &line);
            return Ok(());
        }
        let told = format!("requests fail under deployment {number}:\n{}", seen.failed.join("\n"));
        if !options.undo_on_errors || number < 2 {
            report.fail_with("failing");
            return Err(Failure::Said(told));
        }
        let before = number - 1;
        let options = &Deploy {
            watch: Duration::ZERO,
            message: Some(format!("errors of {number}")),
            ..options.clone()
        };
        let source = &Source::Earlier { name: name.to_owned(), number: Some(before), over: Some(number) };
        let back = Run {
            options,
            address: self.address,
            source,
            end: End::Commit,
            is_code: false,
            tests_before: None,
        };
        let (outcome, told) = match back.attempts("", report) {
            Ok(_) => ("undone", format!("{told}\nThe code of deployment {before} is back.")),
            Err(failure) => ("failing", format!("{told}\nIt could not be taken back: {failure}")),
        };
        report.fail_with(outcome);
        Err(Failure::Said(told))
    }
}
