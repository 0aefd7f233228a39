//! One deployment, in one transaction.

use std::collections::BTreeMap;
use std::time::Duration;

use cluster::postgres::{Client, Transaction};
use folder::files::is_live_test;
use folder::plan::Change;
use folder::{Deployed, Folder, Kind, Plan};

use super::code::Files;
use super::commit::{self, is_beside, is_later};
use super::locks::Locks;
use super::report::Report;
use super::requirements::{find_or_make, refuse_missing, require_roles};
use super::server::{Drift, Finished, Ran, Stop, call, drift, refuse_problems, state};
use super::source::Source;
use super::static_files;
use super::target::said;
use super::watcher::{Seen, Session, TooLong, Watcher};
use crate::arguments::{Deploy, Tests};
use crate::connection::{Address, NOTICED, begin, settings_for};
use crate::failure::Failure;

/// How long the server waits for the command's next word at least: some are far away.
const SHORTEST_IDLE: Duration = Duration::from_secs(1);

/// A file that takes longer is told where others have waited.
const SAID: Duration = Duration::from_millis(50);

/// What becomes of what has run.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// It is undone.
    Undo,
    /// It is committed.
    Commit,
}

/// What an attempt has come to.
pub(crate) enum Done {
    /// The folder is what is deployed.
    Same(i32),
    /// All has run; with the number, nothing is committed yet.
    Ran(i32),
}

/// What is deployed where, once.
pub(crate) struct Attempt<'a> {
    pub(crate) address: &'a Address,
    pub(crate) source: &'a Source,
    pub(crate) options: &'a Deploy,
    pub(crate) end: End,
    /// By which it is asked later whether it was committed.
    pub(crate) key: &'a str,
    /// Migrations that are no part of it, each with what it does.
    pub(crate) postponed: &'a BTreeMap<String, String>,
}

/// A folder, and what is to be done with it.
struct Prepared {
    folder: Folder,
    /// The deployment that it brings back.
    earlier: Option<String>,
    deployed: Deployed,
    plan: Plan,
    /// Tests that do not run in the transaction.
    left_out: Vec<String>,
}

impl Attempt<'_> {
    /// Runs the files in a transaction, which the caller ends.
    pub(crate) fn run(&self, transaction: &mut Transaction<'_>, report: &mut Report) -> Result<Done, Stop> {
        let Prepared { folder, earlier, deployed, plan, left_out } = self.prepare(transaction)?;
        if plan.is_same {
            let (repaired, drift) = self.drift(transaction, &folder, &deployed)?;
            if repaired.is_empty() {
                self.tell_postponed(report);
                report.drift(drift);
                return Ok(Done::Same(deployed.number));
            }
        }
        if !plan.is_same && !self.options.back && matches!(self.source, Source::Folder(_)) {
            refuse_earlier(transaction, &folder, &deployed, self.options)?;
        }
        if self.end == End::Commit && deployed.number == 0 {
            let packs = !self.options.leaves_files_plain;
            static_files::send_within(transaction, &folder.manifest.name, &folder.statics, packs, report)?;
        }
        let number = self.begin(transaction, &folder, earlier.as_deref(), deployed.number)?;
        // The server has noted it as the deployment began.
        let (repaired, drift) = self.drift(transaction, &folder, &deployed)?;
        let back = earlier.map(|of| format!(" brings back {of}")).unwrap_or_default();
        report.say(&format!("{} {number}{back}:", folder.manifest.name));
        self.account_for_others(transaction, &folder, &plan, report)?;
        note_left_out(transaction, &folder, &left_out)?;
        let locks = Locks::begin(transaction)?;
        let watcher = self.watch(transaction, &locks)?;
        let mut files = Files::new(transaction, &folder, &plan, locks, report);
        files.run_again(repaired.into_iter().map(|one| one.path));
        let ran = run_files(&mut files, &plan);
        let longest = files.longest();
        let finished = self.judge(ran, watcher.stop(), longest).map_err(|stop| self.of_plan(stop))?;
        report.rights(finished.rights);
        report.unchecked(finished.unchecked);
        report.warnings(finished.warnings);
        report.drift(drift);
        refuse_problems(&finished.problems)?;
        Ok(Done::Ran(number))
    }

    /// Whether there is something to deploy; an error if it cannot be deployed as things are. The caller undoes what this does.
    pub(crate) fn is_due(&self, transaction: &mut Transaction<'_>) -> Result<bool, Stop> {
        let Prepared { folder, deployed, plan, .. } = self.prepare(transaction)?;
        if !plan.is_same && !self.options.back {
            refuse_earlier(transaction, &folder, &deployed, self.options)?;
        }
        Ok(!plan.is_same)
    }

    /// Compares the folder with what is deployed, where it can be deployed at all.
    fn prepare(&self, transaction: &mut Transaction<'_>) -> Result<Prepared, Stop> {
        let (folder, earlier) = self.source.folder(transaction)?;
        let deployed = find_or_make(transaction, &folder, self.options.as_administrator)?;
        refuse_missing(transaction, &folder.manifest.extensions, self.options.as_administrator)?;
        require_roles(transaction, &folder.manifest, self.options.as_administrator)?;
        let mut plan = Plan::of(&folder, &deployed).map_err(|faults| said(&faults))?;
        plan.migrations.retain(|path| !self.postponed.contains_key(path));
        let left_out = leave_out(&mut plan, self.options.tests.unwrap_or(Tests::Inside));
        Ok(Prepared { folder, earlier, deployed, plan, left_out })
    }

    /// Changes by hand: those that are taken back, and the others.
    fn drift(
        &self,
        transaction: &mut Transaction<'_>,
        folder: &Folder,
        deployed: &Deployed,
    ) -> Result<(Vec<Drift>, Vec<Drift>), Stop> {
        if deployed.number == 0 || self.options.passes_over_drift {
            return Ok((Vec::new(), Vec::new()));
        }
        let is_repaired = |one: &Drift| self.options.repair && folder.files.contains_key(&one.path);
        Ok(drift(transaction, &folder.manifest.name)?.into_iter().partition(is_repaired))
    }

    /// Begins the deployment; its number.
    fn begin(
        &self,
        transaction: &mut Transaction<'_>,
        folder: &Folder,
        earlier: Option<&str>,
        last: i32,
    ) -> Result<i32, Stop> {
        // Files begin with other settings; these are let through to them. A command that stands still keeps nobody from anything for long.
        transaction.batch_execute(&format!(
            "set local lock_timeout = {}; set local idle_in_transaction_session_timeout = {}; {}",
            self.options.lock_timeout.as_millis(),
            self.options.locks.max(SHORTEST_IDLE).as_millis(),
            settings_for(NOTICED, "local")
        ))?;
        let number = start(transaction, folder, earlier, self.options, self.key)?;
        if number != last + 1 {
            return Err(Stop::Again("somebody else has just deployed".into()));
        }
        if self.end == End::Undo {
            transaction.execute("select deploy.plan()", &[])?;
        }
        Ok(number)
    }

    /// Says which migrations do not run in it: those that stand for others, and those that run outside.
    fn account_for_others(
        &self,
        transaction: &mut Transaction<'_>,
        folder: &Folder,
        plan: &Plan,
        report: &mut Report,
    ) -> Result<(), Stop> {
        self.tell_postponed(report);
        for (path, others) in &plan.squashed {
            let (text, named) = (&folder.files[path].text, serde_json::json!(others).to_string());
            transaction.execute("select deploy.squash($1, $2, $3::text::json)", &[path, text, &named])?;
            report.file(path, &format!("stands for {} migrations that have run", others.len()), &[]);
        }
        for path in self.postponed.keys() {
            let text = &folder.files[path].text;
            transaction.execute("select deploy.postpone($1, $2)", &[path, text])?;
        }
        Ok(())
    }

    /// What fails in a plan may need what a plan does not run.
    fn of_plan(&self, stop: Stop) -> Stop {
        match stop {
            Stop::Failed(failure) if self.end == End::Undo && !self.postponed.is_empty() => {
                let paths: Vec<&str> = self.postponed.keys().map(String::as_str).collect();
                Stop::Failed(Failure::Said(format!(
                    "{failure}\nnote: a plan runs nothing outside of its transaction, so what {} makes is not there",
                    paths.join(", ")
                )))
            }
            stop => stop,
        }
    }

    fn tell_postponed(&self, report: &mut Report) {
        for (path, what) in self.postponed {
            report.file(path, "runs outside of the transaction", std::slice::from_ref(what));
        }
    }

    fn watch(&self, transaction: &mut Transaction<'_>, locks: &Locks) -> Result<Watcher, Stop> {
        let pid: i32 = transaction.query_one("select pg_catalog.pg_backend_pid()", &[])?.get(0);
        let cancel = self.address.canceller(transaction.cancel_token());
        let relations = locks.before.clone();
        let session = Session { client: self.address.connect()?, connect: self.address.connector() };
        Ok(Watcher::start(session, pid, cancel, relations, self.options.locks))
    }

    /// What has become of it, by what was seen from outside.
    fn judge(
        &self,
        ran: Result<Finished, Stop>,
        seen: Seen,
        longest: Option<(String, Duration)>,
    ) -> Result<Finished, Stop> {
        if let Some(TooLong { lock, holder }) = seen.too_long {
            let limit = self.options.locks.as_secs_f64();
            if let Some(holder) = holder {
                return Err(Stop::Again(format!(
                    "others were kept from {lock} for {limit} s, as it waited for that itself: {holder} was in the way"
                )));
            }
            let longest = longest.filter(|(_, took)| *took > SAID).map(|(what, took)| {
                let tests = if Kind::of(&what) == Some(Kind::Test) { "; see --tests" } else { "" };
                format!("; {what} took {:.1} s{tests}", took.as_secs_f64())
            });
            let longest = longest.unwrap_or_default();
            return Err(Stop::Again(format!("others were kept from {lock} for {limit} s{longest}")));
        }
        ran.map_err(|stop| match (stop, seen.holder) {
            (Stop::Again(why), Some(holder)) => Stop::Again(format!("{why}: {holder} was in the way")),
            (stop, _) => stop,
        })
    }
}

/// Takes the tests out of a plan that do not run in the transaction.
pub(crate) fn leave_out(plan: &mut Plan, tests: Tests) -> Vec<String> {
    let runs = |path: &String| match tests {
        Tests::Inside => true,
        Tests::Before => is_live_test(path),
        Tests::None => false,
    };
    let (inside, left_out) = std::mem::take(&mut plan.tests).into_iter().partition(runs);
    plan.tests = inside;
    left_out
}

/// Notes tests of the deployment that do not run in it.
pub(crate) fn note_left_out(
    transaction: &mut Transaction<'_>,
    folder: &Folder,
    left_out: &[String],
) -> Result<(), Stop> {
    for path in left_out {
        let text = &folder.files[path].text;
        transaction.execute("select deploy.note_test($1, $2)", &[path, text])?;
    }
    Ok(())
}

/// Runs the files, routes and tests of a plan, and looks at the whole.
pub(crate) fn run_files(files: &mut Files<'_, '_>, plan: &Plan) -> Result<Finished, Stop> {
    files.set_statics(plan.statics)?;
    files.note_pages()?;
    for path in &plan.migrations {
        files.run_one(path)?;
    }
    if !plan.migrations.is_empty() {
        files.run_pages_again();
    }
    files.run_due()?;
    files.sweep()?;
    let is_routes = |(path, change): &(&String, &Change)| {
        Kind::of(path) == Some(Kind::Routes) && **change != Change::Gone
    };
    for (path, _) in plan.code.iter().filter(is_routes) {
        files.run_one(path)?;
    }
    files.sweep()?;
    test(files, plan)?;
    let finished: Finished = files.timed("what is checked at the end", |files| {
        call(files.transaction, "select deploy.finish()::text", &[])
    })?;
    files.report.locks(&files.locks.seen);
    Ok(finished)
}

fn test(files: &mut Files<'_, '_>, plan: &Plan) -> Result<(), Stop> {
    for path in &plan.tests {
        let text = &files.folder.files[path].text;
        let ran: Ran = files.timed(path, |files| {
            call(files.transaction, "select deploy.test($1, $2)::text", &[path, text])
        })?;
        if let Some(error) = &ran.error {
            return Err(files.failed(path, error));
        }
        files.report.file(path, "passed", &[]);
    }
    Ok(())
}

/// An error if the folder is what was deployed before: an old checkout would take back what came after.
fn refuse_earlier(
    transaction: &mut Transaction<'_>,
    folder: &Folder,
    deployed: &Deployed,
    options: &Deploy,
) -> Result<(), Stop> {
    let app = &options.destination.app;
    if deployed.number == 0 || deployed.source.as_deref().is_some_and(|last| is_later(app, last)) {
        return Ok(());
    }
    let query = "select max(h.number) from deploy.history($1) h where h.fingerprint = $2";
    let earlier: Option<i32> =
        transaction.query_one(query, &[&folder.manifest.name, &folder.fingerprint()])?.get(0);
    let beside = deployed.source.as_deref().filter(|last| is_beside(app, last));
    match earlier {
        None => match beside {
            None => Ok(()),
            Some(last) => Err(Stop::Failed(Failure::Said(format!(
                "deployment {} is of commit {}, which this folder does not come after: what is in that alone would be taken back. Merge it, or say --back",
                deployed.number,
                &last[..12]
            )))),
        },
        Some(earlier) if earlier > deployed.number => {
            Err(Stop::Again("somebody else has just deployed".into()))
        }
        Some(earlier) => Err(Stop::Failed(Failure::Said(format!(
            "the folder is deployment {earlier} again, and would take back what came after it, up to {}. Say --back if that is meant, or howdah rollback",
            deployed.number
        )))),
    }
}

/// Begins a deployment, of the folder or of an earlier deployment's files: its number.
pub(crate) fn start(
    transaction: &mut Transaction<'_>,
    folder: &Folder,
    earlier: Option<&str>,
    options: &Deploy,
    key: &str,
) -> Result<i32, Stop> {
    let digests: BTreeMap<&String, &String> =
        folder.files.iter().map(|(path, file)| (path, &file.digest)).collect();
    let files = serde_json::json!(digests).to_string();
    let kind = if earlier.is_some() { "rollback" } else { "deploy" };
    let of = match earlier {
        Some(earlier) => Some(earlier.to_owned()),
        None => commit::of(&options.destination.app),
    };
    let row = transaction.query_one(
        "select deploy.start($1, $2::text::json, $3, $4, $5, $6)",
        &[&folder.manifest.name, &files, &kind, &of, &options.message, &key],
    )?;
    Ok(row.get(0))
}

/// Whether a deployment that was sent was committed.
pub(crate) fn was_committed(client: &mut Client, name: &str, key: &str) -> Result<bool, Stop> {
    let mut transaction = begin(client)?;
    // Somebody else may have deployed since.
    let query = "select exists (select from deploy.history($1) h where h.key operator(pg_catalog.=) $2)";
    let was_committed =
        state(&mut transaction, name)?.is_some() && transaction.query_one(query, &[&name, &key])?.get(0);
    transaction.commit()?;
    Ok(was_committed)
}
