//! `howdah test`: each test of an application in a transaction of its own, on copies that end with the command.
//!
//! - [`copies`]: a server of its own, and databases in it that are alike.
//! - [`trial`]: one test, and what became of it.
//! - [`output`]: what is told: lines for people, TAP, JUnit.

mod copies;
mod output;
mod trial;

use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use folder::{Folder, Kind};

use self::copies::Copies;
use self::output::Output;
use self::trial::{Outcome, Trial};
use crate::arguments::Test;
use crate::deployment::request::Rehearsed;
use crate::deployment::{build, interrupt, target};
use crate::failure::{Failure, Result};
use crate::stage;

/// How often it is looked whether Ctrl-C was pressed.
const LOOK: Duration = Duration::from_millis(20);

/// Runs the tests. An error if one fails, or none is found.
pub(crate) fn run(options: &Test) -> Result<()> {
    let begun = Instant::now();
    build::run(&options.app, options.build)?;
    interrupt::notice();
    let mut folder = target::read(&options.app)?;
    let name = folder.manifest.name.clone();
    let files = take_tests(&mut folder);
    let is_meant = |trial: &&Trial| match options.only.as_slice() {
        [] => !trial.is_live(),
        only => trial.may_match(only),
    };
    let trials: Vec<Trial> = files.iter().filter(is_meant).cloned().collect();
    if trials.is_empty() {
        return Err(none_found(options, &files));
    }
    let copies = Copies::make(folder, options).map_err(|failure| match interrupt::was_noticed() {
        true => Failure::Said("interrupted".into()),
        false => failure,
    })?;
    let output = Mutex::new(Output::begin(options, &name));
    let tell = |outcome: &Outcome| {
        if outcome.is_told(&options.only) {
            output.lock().unwrap_or_else(std::sync::PoisonError::into_inner).tell(outcome);
        }
    };
    let outcomes = outcomes(&copies, &trials, &options.only, &tell)?;
    if outcomes.is_empty() {
        return Err(none_found(options, &files));
    }
    let routes = if options.coverage { Some(copies.routes(&name)?) } else { None };
    copies.end();
    output.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner).end(
        &outcomes,
        routes.as_deref(),
        begun.elapsed(),
    )
}

/// Runs the tests of a folder that is to be deployed, as [`run`] does, where there is a server to do it.
pub(crate) fn before(folder: &Folder, app: &Path, passed: &(dyn Fn(&str) + Sync)) -> Result<Rehearsed> {
    if !stage::is_there() {
        return Ok(Rehearsed::NoServer);
    }
    let mut folder = folder.clone();
    let mut trials = take_tests(&mut folder);
    trials.retain(|trial| !trial.is_live());
    let options = Test::of(app);
    let copies = Copies::make(folder, &options).map_err(|failure| match (failure, interrupt::was_noticed()) {
        (_, true) => Failure::Said("interrupted".into()),
        (Failure::Said(text), _) => {
            let text = text.trim_end_matches("\nNothing of it was deployed.");
            let order = match text.starts_with("migrations/") {
                true => ", where no file of functions/ or views/ has run before a migration",
                false => "",
            };
            Failure::Said(format!(
                "{text}\nnote: this is in a new database, in which tests run before{order}; --tests inside does without it"
            ))
        }
        (failure, _) => failure,
    })?;
    let tell = |outcome: &Outcome| {
        if outcome.failure.is_none() && outcome.is_told(&[]) {
            passed(&outcome.name());
        }
    };
    let outcomes = outcomes(&copies, &trials, &[], &tell)?;
    copies.end();
    let failed: Vec<String> = outcomes.into_iter().filter_map(|outcome| outcome.failure).collect();
    if failed.is_empty() { Ok(Rehearsed::Done) } else { Err(Failure::Said(failed.join("\n\n"))) }
}

/// Runs the files, and each of their functions that is a test; what of it is told.
fn outcomes(
    copies: &Copies,
    trials: &[Trial],
    only: &[String],
    tell: &(dyn Fn(&Outcome) + Sync),
) -> Result<Vec<Outcome>> {
    let mut outcomes = in_parallel(copies, trials, tell)?;
    let functions: Vec<Trial> =
        outcomes.iter().flat_map(Outcome::functions).filter(|trial| trial.matches(only)).collect();
    outcomes.extend(in_parallel(copies, &functions, tell)?);
    if interrupt::was_noticed() {
        return Err(Failure::Said("interrupted".into()));
    }
    outcomes.retain(|outcome| outcome.is_told(only));
    Ok(outcomes)
}

/// The tests of a folder, which are not deployed.
fn take_tests(folder: &mut Folder) -> Vec<Trial> {
    let tests = folder.files.iter().filter(|(_, file)| file.kind == Kind::Test);
    let trials = tests.map(|(path, file)| Trial::of_file(path, &file.text)).collect();
    folder.files.retain(|_, file| file.kind != Kind::Test);
    trials
}

fn none_found(options: &Test, files: &[Trial]) -> Failure {
    let place = options.app.join("tests");
    Failure::Said(match files.len() {
        0 => format!(
            "no test was found: {} has no .sql file; howdah new page makes one with a page",
            place.display()
        ),
        count => format!(
            "no test was found whose name has {}; there are {count} files in {}",
            options.only.join(" or "),
            place.display()
        ),
    })
}

/// Runs tests on all copies at once, each on one; the outcomes in the order of the tests. After Ctrl-C the rest is left out.
fn in_parallel(copies: &Copies, trials: &[Trial], tell: &(dyn Fn(&Outcome) + Sync)) -> Result<Vec<Outcome>> {
    let next = AtomicUsize::new(0);
    let outcomes = Mutex::new(Vec::with_capacity(trials.len()));
    thread::scope(|scope| {
        let work = |address| {
            let mut client = copies.connect(address)?;
            loop {
                let place = next.fetch_add(1, Ordering::Relaxed);
                let Some(trial) = trials.get(place).filter(|_| !interrupt::was_noticed()) else {
                    return Ok(());
                };
                let outcome = trial.run(copies, &mut client);
                if client.is_closed() {
                    client = copies.connect(address).map_err(|failure| {
                        let name = trial.name();
                        Failure::Said(format!(
                            "{name}: the server ended while this ran, or a test beside it: {failure}"
                        ))
                    })?;
                }
                tell(&outcome);
                outcomes.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push((place, outcome));
            }
        };
        let workers: Vec<_> = copies
            .addresses
            .iter()
            .take(trials.len())
            .map(|address| scope.spawn(move || -> Result<()> { work(address) }))
            .collect();
        while workers.iter().any(|worker| !worker.is_finished()) {
            thread::sleep(LOOK);
            if interrupt::was_noticed() {
                copies.cancel();
            }
        }
        workers.into_iter().try_for_each(|worker| worker.join().expect("a worker raises no panic"))
    })?;
    let mut outcomes = outcomes.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    outcomes.sort_by_key(|(place, _)| *place);
    Ok(outcomes.into_iter().map(|(_, outcome)| outcome).collect())
}
