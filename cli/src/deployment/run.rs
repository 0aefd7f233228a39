//! `howdah plan`, `howdah deploy` and `howdah rollback`: attempts until one succeeds, or fails for good.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use folder::Manifest;

pub(crate) use super::attempt::End;
use super::attempt::{self, Done};
use super::errors::Errors;
use super::report::Report;
use super::server::{Stop, require_extension};
use super::source::Source;
use super::target;
use crate::arguments::{Deploy, Rollback};
use crate::connection::Address;
use crate::failure::{Failure, Result};

/// Time before the second attempt; each further one waits twice as long.
const PAUSE: Duration = Duration::from_millis(200);
/// How often it is looked whether somebody else has ended.
const LOOK: Duration = Duration::from_millis(500);
/// How long it is tried to find out what became of a commit whose answer was lost.
const PATIENCE: Duration = Duration::from_secs(30);

/// Deploys the folder, or says what that would do.
pub(crate) fn run(options: &Deploy, end: End) -> Result<()> {
    let folder = target::folder(&options.destination)?;
    let (from, manifest) = (options.destination.app.display().to_string(), folder.manifest.clone());
    let source = Source::Folder(folder);
    target::each(&options.destination, &manifest, |address| until_done(options, address, &source, end, &from))
}

/// Deploys a folder to a database of the platform on this machine.
pub(crate) fn run_here(folder: &Path, address: &Address) -> Result<()> {
    let options = Deploy::of(folder);
    let from = folder.display().to_string();
    let source = Source::Folder(target::folder(&options.destination)?);
    until_done(&options, address, &source, End::Commit, &from)
}

/// Brings the code of an earlier deployment back.
pub(crate) fn roll_back(options: &Rollback) -> Result<()> {
    let manifest = match &options.name {
        Some(name) => Manifest::named(name),
        None => target::folder(&options.deploy.destination)?.manifest,
    };
    let source = Source::Earlier { name: manifest.name.clone(), number: options.number };
    let end = if options.plan { End::Undo } else { End::Commit };
    let to = &options.deploy.destination;
    target::each(to, &manifest, |address| until_done(&options.deploy, address, &source, end, &manifest.name))
}

fn until_done(options: &Deploy, address: &Address, source: &Source, end: End, from: &str) -> Result<()> {
    let mut report = Report::new(options.json);
    require_extension(&mut address.connect()?, &address.shown)?;
    report.say(&format!("{from} to {}", address.shown));
    let (mut tries, mut waited) = (0, Instant::now());
    let mut is_told = false;
    loop {
        match deploy(address, source, options, end, &mut report) {
            Ok(Some(number)) if !options.watch.is_zero() => {
                return watch(options, address, source.name(), number);
            }
            Ok(_) => return Ok(()),
            Err(Stop::Busy(who)) => {
                if !is_told {
                    report.say(&format!("{who}; waiting."));
                    (is_told, waited) = (true, Instant::now());
                }
                if waited.elapsed() > options.wait {
                    return Err(Failure::Said(format!("{who}; gave up after {} s", options.wait.as_secs())));
                }
                thread::sleep(LOOK);
            }
            Err(Stop::Again(why)) => {
                tries += 1;
                if tries >= options.tries {
                    return Err(Failure::Said(format!(
                        "nothing is deployed: {why}, {tries} times; see --tries and --lock-timeout"
                    )));
                }
                report.again(&why);
                thread::sleep(PAUSE * 2u32.pow(tries.min(6) - 1));
            }
            Err(Stop::Failed(failure)) => {
                let nothing = if end == End::Commit { "\nNothing of it was deployed." } else { "" };
                return Err(match failure {
                    Failure::Said(text) => Failure::Said(text + nothing),
                    other => other,
                });
            }
        }
    }
}

fn deploy(
    address: &Address,
    source: &Source,
    options: &Deploy,
    end: End,
    report: &mut Report,
) -> Result<Option<i32>, Stop> {
    let name = source.name();
    let mut client = address.connect()?;
    let key = format!("{:016x}", RandomState::new().build_hasher().finish());
    let mut transaction = client.transaction()?;
    let number = match attempt::run(&mut transaction, address, source, options, end, &key, report)? {
        Done::Same(number) => {
            transaction.rollback()?;
            report.end(
                name,
                Some(number),
                "unchanged",
                &format!("Nothing has changed since deployment {number}."),
            );
            return Ok(None);
        }
        Done::Ran(number) => number,
    };
    if end == End::Undo {
        transaction.rollback()?;
        report.end(name, None, "planned", "Nothing of it was kept: this is what howdah deploy would do.");
        return Ok(None);
    }
    // A late cancellation by the watcher meets this, not the commit.
    transaction.batch_execute("")?;
    match transaction.commit() {
        Ok(()) => {}
        Err(error) if error.as_db_error().is_some() => return Err(error.into()),
        Err(_) => ask(address, name, &key)?,
    }
    report.end(name, Some(number), "deployed", &format!("Deployed as number {number}."));
    Ok(Some(number))
}

/// Looks whether requests fail that did not before, and takes the deployment back if that is wanted.
fn watch(options: &Deploy, address: &Address, name: &str, number: i32) -> Result<()> {
    let failed = Errors::begin(address, name)?.within(options.watch)?;
    if failed.is_empty() {
        return Ok(());
    }
    let told = format!("deployment {number} is in force, and requests fail:\n{}", failed.join("\n"));
    if !options.undo_on_errors || number < 2 {
        return Err(Failure::Said(told));
    }
    let options =
        Deploy { watch: Duration::ZERO, message: Some(format!("errors of {number}")), ..options.clone() };
    let source = Source::Earlier { name: name.to_owned(), number: Some(number - 1) };
    until_done(&options, address, &source, End::Commit, name)
        .map_err(|failure| Failure::Said(format!("{told}\nIt could not be taken back: {failure}")))?;
    Err(Failure::Said(format!("{told}\nThe code of deployment {} is back.", number - 1)))
}

/// Finds out what became of a commit whose answer was lost.
fn ask(address: &Address, name: &str, key: &str) -> Result<(), Stop> {
    let begun = Instant::now();
    loop {
        let answer = address
            .connect()
            .map_err(Stop::from)
            .and_then(|mut client| attempt::was_committed(&mut client, name, key));
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
