//! Migrations that are no part of a transaction: the statements that the server has looked at, one after the other, in a session of the
//! owner's. Done is what the catalogs say; what is half is taken up again.

use std::collections::BTreeMap;
use std::thread;
use std::time::{Duration, Instant};

use cluster::postgres::Client;
use cluster::postgres::error::ErrorPosition;
use cluster::postgres::types::ToSql;
use serde::Deserialize;

use super::interrupt;
use super::report::Report;
use super::server::{FileError, Stop, call, read};
use super::standbys::Standbys;
use crate::arguments::Deploy;
use crate::connection::{Address, begin};
use crate::failure::{Failure, Result};
use crate::progress::{self, grouped};

/// How often it is looked how far a statement is.
const LOOK: Duration = Duration::from_millis(200);
/// How long taking away what is half may take once a step has failed.
const ENDING: Duration = Duration::from_secs(30);
/// How often it is told how far batches are, where no bar shows it.
const TELL: Duration = Duration::from_secs(10);
/// How long a statement may wait for others until that is told.
const PATIENCE: Duration = Duration::from_secs(3);

/// What the server says of a step.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Step {
    kind: String,
    /// The line in which its statement begins.
    line: usize,
    statement: String,
    done: bool,
    /// Statements that take away what is half.
    before: Vec<String>,
    /// The statement to run.
    run: String,
    /// Who is at it.
    busy: Option<String>,
    owner: String,
    settings: BTreeMap<String, String>,
    pause_ms: u64,
    standby_delay_ms: Option<u64>,
    replayed: Option<i64>,
    error: Option<FileError>,
}

/// What a batch has done.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Batch {
    done: bool,
    keys: Option<u64>,
    of: u64,
    written: Option<i64>,
    replayed: Option<i64>,
    error: Option<FileError>,
}

/// Transactions that have written a table and have not ended.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Writers {
    /// Their numbers, with blanks between.
    transactions: String,
    /// Their users.
    names: String,
    error: Option<FileError>,
}

/// What the server says of a migration; none if it is part of a transaction. Without a text it is one that was begun.
pub(crate) fn look(
    client: &mut Client,
    application: &str,
    path: &str,
    text: Option<&str>,
) -> Result<Option<Step>, Stop> {
    let mut transaction = begin(client)?;
    let query = "select deploy.step($1, $2, $3)::text";
    let answer: Option<String> = transaction.query_one(query, &[&application, &path, &text])?.get(0);
    transaction.commit()?;
    let step: Option<Step> = answer.map(|answer| read(&answer)).transpose()?;
    match step.as_ref().and_then(|step| step.error.as_ref()) {
        Some(error) => Err(Stop::Failed(Failure::Said(error.describe(path, text.unwrap_or_default())))),
        None => Ok(step),
    }
}

impl Step {
    /// A session of the owner's in which it may run.
    pub(crate) fn connect(&self, address: &Address) -> Result<Client> {
        address.connect_as(&self.owner, &self.settings)
    }

    /// What it does, in a line.
    pub(crate) fn in_line(&self) -> String {
        let words: Vec<&str> = self.statement.split_whitespace().collect();
        words.join(" ")
    }
}

/// Runs steps of an application.
pub(crate) struct Outside<'a> {
    /// Where.
    pub(crate) address: &'a Address,
    /// The session that holds the application.
    pub(crate) client: &'a mut Client,
    /// The application's name.
    pub(crate) application: &'a str,
    /// What the deployer wants.
    pub(crate) options: &'a Deploy,
    /// What is told.
    pub(crate) report: &'a mut Report,
    /// The owner's session, once there is one.
    pub(crate) session: Option<Client>,
    /// Whether only what is half is taken away any more.
    pub(crate) is_ending: bool,
}

impl Outside<'_> {
    /// Runs a step until the catalogs say that it is done, and notes that.
    pub(crate) fn run(&mut self, path: &str, text: &str) -> Result<(), Stop> {
        let mut step = self.look(path, Some(text))?;
        self.require_session(&step)?;
        self.note("select deploy.begin_step($1, $2, $3)", &[&path, &text])?;
        let (mut tries, mut told, mut was_done) = (0, None, true);
        while !step.done {
            if let Some(who) = &step.busy {
                let since = *told.get_or_insert_with(|| {
                    self.report.say(&format!("  {path}: {who} is at it already; waiting"));
                    Instant::now()
                });
                if since.elapsed() > self.options.wait {
                    return Err(self.waited_for(path, who));
                }
                self.pause(LOOK * 2)?;
            } else {
                was_done = false;
                self.clear(path, &step)?;
                match self.attempt(path, text, &step) {
                    Ok(true) => break,
                    Ok(false) => {}
                    Err(Stop::Again(why)) if tries + 1 < self.options.tries && !interrupt::was_noticed() => {
                        tries += 1;
                        self.report.say(&format!("  {path}: {why}; again"));
                        self.pause(LOOK * 2u32.pow(tries.min(5)))?;
                    }
                    Err(_) if interrupt::was_noticed() => {
                        let interrupted = Failure::Said(format!(
                            "interrupted at {path}; what has run stays, and the next howdah deploy goes on after it"
                        ));
                        return Err(match self.given_up(path, text, Stop::Failed(interrupted)) {
                            Stop::Failed(failure) => Stop::Partly(failure),
                            stop => stop,
                        });
                    }
                    Err(Stop::Again(why)) => {
                        let failed = Failure::Said(format!("{path}: {why}"));
                        return Err(self.given_up(path, text, Stop::Failed(failed)));
                    }
                    Err(stop) => return Err(self.given_up(path, text, stop)),
                }
            }
            step = self.look(path, Some(text))?;
        }
        self.note("select deploy.end_step($1, $2)", &[&path])?;
        self.report.file(
            path,
            if was_done { "was done already" } else { "ran outside of the transaction" },
            &[],
        );
        Ok(())
    }

    /// Takes away what a step has left half that is no file's any more.
    pub(crate) fn forget(&mut self, path: &str) -> Result<(), Stop> {
        let step = self.look(path, None)?;
        self.require_session(&step)?;
        if !step.done {
            self.clear(path, &step)?;
        }
        self.note("select deploy.forget_step($1, $2)", &[&path])
    }

    fn look(&mut self, path: &str, text: Option<&str>) -> Result<Step, Stop> {
        look(self.client, self.application, path, text)?
            .ok_or_else(|| Stop::Failed(Failure::Said(format!("{path} runs in a transaction"))))
    }

    /// Calls a function of a step, whose first argument is the application.
    fn note(&mut self, call: &str, arguments: &[&(dyn ToSql + Sync)]) -> Result<(), Stop> {
        let mut transaction = begin(self.client)?;
        let all: Vec<_> =
            [&self.application as &(dyn ToSql + Sync)].into_iter().chain(arguments.iter().copied()).collect();
        transaction.execute(call, &all)?;
        Ok(transaction.commit()?)
    }

    fn require_session(&mut self, step: &Step) -> Result<(), Stop> {
        if self.session.is_none() {
            self.session = Some(step.connect(self.address)?);
        }
        Ok(())
    }

    /// Runs what takes away something half.
    fn clear(&mut self, path: &str, step: &Step) -> Result<(), Stop> {
        for statement in &step.before {
            self.report.say(&format!("  {path}: takes away what is half: {statement}"));
            self.execute(path, step, statement)??;
        }
        Ok(())
    }

    /// Runs it once. Whether that is all, as no catalog says more.
    fn attempt(&mut self, path: &str, text: &str, step: &Step) -> Result<bool, Stop> {
        if step.kind == "batches" {
            return self.run_batches(path, text, step).map(|()| false);
        }
        if let Err(error) = self.execute(path, step, &step.run)? {
            let told = in_file(&error, step, path, text);
            return Err(match Stop::from(error) {
                Stop::Failed(_) => Stop::Failed(Failure::Said(told)),
                stop => stop,
            });
        }
        Ok(matches!(step.kind.as_str(), "vacuum" | "reindex concurrently"))
    }

    /// The step has failed for good: nothing half stays.
    fn given_up(&mut self, path: &str, text: &str, stop: Stop) -> Stop {
        self.is_ending = true;
        let cleared = self.look(path, Some(text)).and_then(|step| match step.busy {
            None if !step.done => self.clear(path, &step),
            _ => Ok(()),
        });
        match cleared {
            Ok(()) => stop,
            Err(other) => {
                let (why, other) = (Failure::from(stop), Failure::from(other));
                Stop::Failed(Failure::Said(format!(
                    "{why}\nWhat it has left could not be taken away ({other}): the next howdah deploy does."
                )))
            }
        }
    }

    /// Runs a statement in the owner's session, and shows how far it is. What the server says of it.
    fn execute(
        &mut self,
        path: &str,
        step: &Step,
        statement: &str,
    ) -> Result<Result<(), cluster::postgres::Error>, Stop> {
        let session = self.session.as_mut().ok_or_else(|| Stop::Again("there is no session".into()))?;
        // A partition is waited for by those who come after; an index is waited for by nobody.
        let limit = if step.kind.starts_with("detach") { self.options.lock_timeout.as_millis() } else { 0 };
        let pid: i32 = session.query_one("select pg_catalog.pg_backend_pid()", &[])?.get(0);
        let timeout = if self.is_ending { ENDING.as_millis() } else { 0 };
        session.batch_execute(&format!("set lock_timeout = {limit}; set statement_timeout = {timeout}"))?;
        let cancel = self.address.canceller(session.cancel_token());
        let bar = progress::of_step(path);
        let begun = Instant::now();
        let mut told = String::new();
        let ran = thread::scope(|scope| {
            let running = scope.spawn(|| session.execute(statement, &[]));
            while !running.is_finished() {
                thread::sleep(Duration::from_millis(20).max(LOOK.min(begun.elapsed() / 10)));
                if interrupt::was_noticed() && !self.is_ending {
                    cancel();
                    continue;
                }
                if begun.elapsed() < LOOK {
                    continue;
                }
                // What cannot be looked up is not shown.
                let Ok((phase, waits)) = how_far(self.client, pid) else { continue };
                bar.set_message(phase);
                if !waits.is_empty() && waits != told && begun.elapsed() > PATIENCE {
                    bar.suspend(|| self.report.say(&format!("  {path}: waits for {waits}")));
                    told = waits;
                }
            }
            running.join()
        });
        bar.finish_and_clear();
        match ran {
            Ok(ran) => Ok(ran.map(|_| ())),
            Err(_) => Err(Stop::Again("the session has ended".into())),
        }
    }

    /// Runs batches until no key is left.
    fn run_batches(&mut self, path: &str, text: &str, step: &Step) -> Result<(), Stop> {
        self.wait_for_writers(path, text)?;
        let bar = progress::of_batches(path);
        let (mut standbys, mut told_at) = (Standbys::default(), Instant::now());
        let limit = step.standby_delay_ms.map(Duration::from_millis);
        loop {
            let mut transaction = begin(self.client)?;
            transaction.batch_execute(&format!(
                "set local lock_timeout = {}",
                self.options.lock_timeout.as_millis()
            ))?;
            let ran: Batch =
                call(&mut transaction, "select deploy.batch($1, $2)::text", &[&self.application, &path])?;
            if let Some(error) = ran.error {
                return Err(match error.passes() {
                    true => Stop::Again(error.message),
                    false => Stop::Failed(Failure::Said(error.describe(path, text))),
                });
            }
            transaction.commit()?;
            if ran.done {
                bar.finish_and_clear();
                return Ok(());
            }
            bar.set_length(ran.of);
            bar.set_position(ran.keys.unwrap_or_default());
            if bar.is_hidden() && told_at.elapsed() > TELL {
                told_at = Instant::now();
                let (keys, of) = (ran.keys.unwrap_or_default(), ran.of);
                self.report.say(&format!("  {path}: {} of about {} keys", grouped(keys), grouped(of)));
            }
            standbys.wrote(ran.written, Instant::now());
            standbys.replayed(ran.replayed);
            let mut told = false;
            while limit.is_some_and(|limit| standbys.behind(Instant::now()) > limit) {
                if !std::mem::replace(&mut told, true) {
                    bar.suspend(|| self.report.say(&format!("  {path}: waits for a standby that is behind")));
                }
                self.pause(LOOK)?;
                let replayed = self.look(path, None)?.replayed;
                standbys.replayed(replayed);
            }
            self.pause(Duration::from_millis(step.pause_ms))?;
        }
    }

    /// Waits for transactions that have written the table and have not ended: their rows may lie behind keys that a batch has seen.
    fn wait_for_writers(&mut self, path: &str, text: &str) -> Result<(), Stop> {
        let begun = Instant::now();
        let (mut of, mut told): (Option<String>, bool) = (None, false);
        loop {
            let mut transaction = begin(self.client)?;
            let query = "select deploy.writers($1, $2, $3)::text";
            let found: Writers = call(&mut transaction, query, &[&self.application, &path, &of])?;
            transaction.commit()?;
            if let Some(error) = found.error {
                return Err(Stop::Failed(Failure::Said(error.describe(path, text))));
            }
            if found.transactions.is_empty() {
                return Ok(());
            }
            if begun.elapsed() > self.options.wait {
                return Err(self.waited_for(path, &found.names));
            }
            if begun.elapsed() > PATIENCE && !std::mem::replace(&mut told, true) {
                self.report.say(&format!("  {path}: waits for {}, who have written the table", found.names));
            }
            of = Some(found.transactions);
            self.pause(LOOK)?;
        }
    }

    /// The failure of a step that somebody has kept waiting for as long as it may.
    fn waited_for(&self, path: &str, who: &str) -> Stop {
        let seconds = self.options.wait.as_secs_f64();
        Stop::Failed(Failure::Said(format!(
            "{path}: gave up after {seconds} s of waiting for {who}; see --wait"
        )))
    }

    fn pause(&self, time: Duration) -> Result<(), Stop> {
        let begun = Instant::now();
        loop {
            if interrupt::was_noticed() && !self.is_ending {
                return Err(Stop::Again("interrupted".into()));
            }
            let left = time.saturating_sub(begun.elapsed());
            if left.is_zero() {
                return Ok(());
            }
            thread::sleep(left.min(LOOK));
        }
    }
}

/// What a statement of a process does just now, and for whom it waits.
fn how_far(client: &mut Client, pid: i32) -> Result<(String, String), Stop> {
    let mut transaction = begin(client)?;
    let row = transaction.query_one(
        "select coalesce((select pg_catalog.format('%s%s', p.phase, case
             when p.blocks_total > 0 then pg_catalog.format(' %s %%', 100 * p.blocks_done / p.blocks_total)
             when p.tuples_total > 0 then pg_catalog.format(' %s %%', 100 * p.tuples_done / p.tuples_total) end)
           from pg_catalog.pg_stat_progress_create_index p where p.pid = $1), 'runs'),
         coalesce((select pg_catalog.string_agg(pg_catalog.format('%s (process %s)', a.usename, a.pid), ', ' order by a.pid)
           from pg_catalog.pg_stat_activity a where a.pid = any (pg_catalog.pg_blocking_pids($1))), '')",
        &[&pid],
    )?;
    transaction.commit()?;
    Ok((row.get(0), row.get(1)))
}

/// An error of a step's statement, with its place in the file.
fn in_file(error: &cluster::postgres::Error, step: &Step, path: &str, text: &str) -> String {
    let Some(error) = error.as_db_error() else { return format!("{path}: {error}") };
    let within = match error.position() {
        Some(ErrorPosition::Original(position)) if step.run == step.statement => {
            let before = step.statement.chars().take((*position as usize).saturating_sub(1));
            before.filter(|letter| *letter == '\n').count()
        }
        _ => 0,
    };
    let told = FileError {
        sqlstate: error.code().code().to_owned(),
        message: error.message().to_owned(),
        detail: error.detail().map(str::to_owned),
        hint: error.hint().map(str::to_owned),
        context: error.where_().map(str::to_owned),
        line: step.line + within,
        ..FileError::default()
    };
    told.describe(path, text)
}
