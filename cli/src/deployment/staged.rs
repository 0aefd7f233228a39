//! A deployment with migrations that are no part of a transaction. They keep their place among the others: those before them are committed
//! when they run, those after them are not. So it has a transaction for each row of others between them. All but the last have the code that is
//! deployed already, the last has the folder's.

use std::collections::BTreeMap;

use cluster::postgres::Client;
use folder::plan::{Stage, Stages};
use folder::{Deployed, Folder, Kind, Plan};

use super::attempt::Done;
use super::interrupt;
use super::outside::{self, Outside};
use super::report::Report;
use super::request::Run;
use super::server::{Stop, state};
use super::source::{Source, of_deployment};
use super::target::said;
use crate::arguments::{Deploy, Tests};
use crate::connection::{NOTICED, begin, settings_for};
use crate::failure::Failure;

/// Steps of a folder.
#[derive(Debug, Default)]
pub(crate) struct Steps {
    /// Those that have to run, each with what it does.
    pub(crate) pending: BTreeMap<String, String>,
    /// Those that were begun, are not done, and are not in the folder as they were.
    abandoned: Vec<String>,
}

impl Steps {
    /// Whether all is one transaction.
    pub(crate) fn is_empty(&self) -> bool {
        self.pending.is_empty() && self.abandoned.is_empty()
    }
}

/// The steps of what is to be deployed. In a first deployment there are none: nobody has seen its tables, and all runs in the transaction.
pub(crate) fn steps(client: &mut Client, source: &Source) -> Result<Steps, Stop> {
    let mut transaction = begin(client)?;
    let Some(deployed) = state(&mut transaction, source.name())?.filter(|deployed| deployed.number > 0)
    else {
        return Ok(Steps::default());
    };
    let (folder, _) = source.folder(&mut transaction)?;
    transaction.commit()?;
    let plan = Plan::of(&folder, &deployed).map_err(|faults| said(&faults))?;
    let mut pending = BTreeMap::new();
    for path in plan.migrations {
        let text = &folder.files[&path].text;
        if let Some(step) = outside::look(client, source.name(), &path, Some(text))? {
            pending.insert(path, step.in_line());
        }
    }
    let is_abandoned = |(path, digest): &(&String, &String)| {
        folder.files.get(*path).is_none_or(|file| file.digest != **digest)
    };
    let abandoned = deployed.steps.iter().filter(is_abandoned).map(|(path, _)| path.clone()).collect();
    Ok(Steps { pending, abandoned })
}

/// A deployment of several transactions.
pub(crate) struct Staged<'a> {
    /// What goes where.
    pub(crate) run: &'a Run<'a>,
    /// Its steps, as they were seen at first.
    pub(crate) steps: Steps,
}

impl Staged<'_> {
    /// Runs steps and transactions one after the other, in a session that holds the application.
    pub(crate) fn deploy(mut self, client: &mut Client, report: &mut Report) -> Result<Done, Stop> {
        let Source::Folder(folder) = self.run.source else {
            return Err(Stop::Failed(Failure::Said("only a folder has steps".into())));
        };
        let name = &folder.manifest.name;
        self.require_session(client, folder)?;
        let mut transaction = begin(client)?;
        transaction.batch_execute(&settings_for(NOTICED, "session"))?;
        transaction.execute("select deploy.hold($1)", &[name])?;
        transaction.commit()?;
        // Somebody else may have deployed before that.
        self.steps = steps(client, self.run.source)?;
        let mut transaction = begin(client)?;
        let deployed = state(&mut transaction, name)?.unwrap_or_default();
        transaction.commit()?;
        let plan = Plan::of(folder, &deployed).map_err(|faults| said(&faults))?;
        let stages = Stages::of(&plan.migrations, |path| self.steps.pending.contains_key(path));
        let mut outside = Outside {
            address: self.run.address,
            client,
            application: name,
            options: self.run.options,
            report,
            session: None,
            is_ending: false,
        };
        let mut has_run = false;
        for path in &self.steps.abandoned {
            outside.forget(path)?;
        }
        let last = stages.stages.len() - 1;
        let mut done = Done::Same(deployed.number);
        for (place, stage) in stages.stages.iter().enumerate() {
            for path in &stage.steps {
                outside.run(path, &folder.files[path].text).map_err(|stop| partly(stop, has_run))?;
                has_run = true;
            }
            let (client, report) = (&mut *outside.client, &mut *outside.report);
            let ran = match place == last {
                true => self.run_last(client, &stages.after, report),
                false => self.run_stage(client, folder, stage, report),
            };
            done = ran.map_err(|stop| partly(stop, has_run))?;
            has_run = true;
        }
        for path in &stages.after {
            outside.run(path, &folder.files[path].text).map_err(|stop| match (stop, &done) {
                (stop, Done::Ran(number)) => {
                    let why = Failure::from(stop);
                    Stop::Partly(Failure::Said(format!(
                        "{why}\nDeployment {number} is in force. What is left of its migrations, from {path} on, the next howdah deploy runs."
                    )))
                }
                (stop, Done::Same(_)) => stop,
            })?;
        }
        Ok(done)
    }

    /// An error where no step can run, before anything has.
    fn require_session(&self, client: &mut Client, folder: &Folder) -> Result<(), Stop> {
        let Some(path) = self.steps.pending.keys().next() else { return Ok(()) };
        let text = &folder.files[path].text;
        if let Some(step) = outside::look(client, &folder.manifest.name, path, Some(text))? {
            step.connect(self.run.address)?;
        }
        Ok(())
    }

    fn run_last(&self, client: &mut Client, after: &[String], report: &mut Report) -> Result<Done, Stop> {
        let mut postponed = self.steps.pending.clone();
        postponed.retain(|path, _| after.contains(path));
        self.run.in_transaction(client, self.run.source, self.run.options, &postponed, report)
    }

    /// Deploys some migrations under the code that is deployed.
    fn run_stage(
        &self,
        client: &mut Client,
        folder: &Folder,
        stage: &Stage,
        report: &mut Report,
    ) -> Result<Done, Stop> {
        let name = &folder.manifest.name;
        let mut transaction = begin(client)?;
        let Deployed { number, migrations, .. } = state(&mut transaction, name)?.unwrap_or_default();
        let mut files = of_deployment(&mut transaction, name, number, |kind| kind != Kind::Migration)?;
        transaction.commit()?;
        let has_its_turn = |path: &&String| migrations.contains_key(*path) || stage.migrations.contains(path);
        for path in folder.files.keys().filter(has_its_turn) {
            files.insert(path.clone(), folder.files[path].clone());
        }
        let upto = stage.migrations.last().map_or("", String::as_str);
        let options = &Deploy {
            tests: Some(Tests::None),
            back: true,
            repair: false,
            message: Some(format!("up to {upto}, before what is no part of a transaction")),
            ..self.run.options.clone()
        };
        let source = &Source::Folder(Box::new(Folder {
            manifest: folder.manifest.clone(),
            files,
            statics: folder.statics.clone(),
        }));
        let done = self.run.in_transaction(client, source, options, &BTreeMap::new(), report)?;
        if let Done::Ran(number) = done {
            report.say(&format!("Deployed as number {number}, with the code of before."));
        }
        Ok(done)
    }
}

/// An error after something has run that stays, unless it is tried again.
fn partly(stop: Stop, has_run: bool) -> Stop {
    let is_final = matches!(stop, Stop::Failed(_)) || interrupt::was_noticed();
    if !has_run || !is_final || matches!(stop, Stop::Partly(_)) {
        return stop;
    }
    Stop::Partly(Failure::Said(format!(
        "{}\nThe folder is not deployed. What has run before stays, and the next howdah deploy goes on after it.",
        Failure::from(stop)
    )))
}
