//! The functions of schema `deploy`, as this program calls them.

use std::fmt;

use cluster::postgres::types::ToSql;
use cluster::postgres::{Client, GenericClient, Row, Transaction};
use folder::Deployed;
use folder::pages::is_page;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::difference::Difference;
use crate::connection::{begin, reason};
use crate::failure::{Failure, Result};

/// Why an attempt has failed.
#[derive(Debug)]
pub(crate) enum Stop {
    /// Others were in the way: the same again may succeed.
    Again(String),
    /// Somebody else deploys.
    Busy(String),
    /// For good.
    Failed(Failure),
    /// For good, after something was done that stays.
    Partly(Failure),
}

impl Stop {
    /// The same, with the file in which others were in the way.
    pub(crate) fn at(self, path: &str) -> Stop {
        match self {
            Self::Again(why) => Self::Again(format!("{path}: {why}")),
            other => other,
        }
    }
}

impl From<Failure> for Stop {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}

impl From<Stop> for Failure {
    fn from(stop: Stop) -> Self {
        match stop {
            Stop::Failed(failure) | Stop::Partly(failure) => failure,
            Stop::Again(why) | Stop::Busy(why) => Failure::Said(why),
        }
    }
}

impl From<cluster::postgres::Error> for Stop {
    fn from(error: cluster::postgres::Error) -> Self {
        let code = error.code().map(|code| code.code().to_owned());
        match code.as_deref() {
            Some("55P03") if reason(&error).contains("is being deployed by") => Self::Busy(reason(&error)),
            Some(code) if passes(code, &reason(&error)) => Self::Again(reason(&error)),
            _ => {
                let hint =
                    error.as_db_error().and_then(|error| error.hint()).map(|hint| format!("\nhint: {hint}"));
                Self::Failed(Failure::Said(reason(&error) + &hint.unwrap_or_default()))
            }
        }
    }
}

/// Whether an error comes of what others do just now: a lock that is not had, a deadlock, too many deployments, a catalog's row that two
/// have changed, a pause of this command itself that was too long.
fn passes(sqlstate: &str, message: &str) -> bool {
    matches!(sqlstate, "55P03" | "40P01" | "40001" | "53400" | "25P03")
        || message.contains("tuple concurrently updated")
}

/// What a statement of a test fails by.
const IS_NOT_TRUE: &str = "P0004";
/// Lines of a statement that are told.
const MOST_LINES: usize = 12;

/// An error of a file.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(default)]
pub(crate) struct FileError {
    pub(crate) sqlstate: String,
    pub(crate) message: String,
    pub(crate) detail: Option<String>,
    pub(crate) hint: Option<String>,
    pub(crate) context: Option<String>,
    pub(crate) line: usize,
    pub(crate) column: usize,
    /// What differs in a test.
    pub(crate) differences: Vec<Difference>,
}

impl FileError {
    /// Whether the same again may succeed.
    pub(crate) fn passes(&self) -> bool {
        passes(&self.sqlstate, &self.message)
    }

    /// Whether a relation, function or type is missing.
    pub(crate) fn is_of_missing(&self) -> bool {
        matches!(&*self.sqlstate, "42P01" | "42883" | "42704")
    }

    /// Whether somebody has cancelled it.
    pub(crate) fn is_cancelled(&self) -> bool {
        self.sqlstate == "57014"
    }

    /// Whether PostgreSQL will not replace what is there: another result, other columns, another kind of object. Of text search its
    /// own catalogs say so.
    pub(crate) fn is_of_replacing(&self) -> bool {
        matches!(
            &*self.sqlstate,
            "42P13" | "42P16" | "42723" | "42710" | "42P07" | "42809" | "2BP01" | "0A000"
        ) || self.sqlstate == "23505" && self.message.contains("pg_ts_")
    }

    /// As a compiler tells it: file, line, message, the lines around.
    pub(crate) fn describe(&self, path: &str, text: &str) -> String {
        let mut told = match text {
            "" => format!("{path}: {}", self.message),
            // Lines of HTML are long.
            _ if is_page(path) => format!("{path}:{}:{}: {}", self.line, self.column, self.message),
            _ => format!("{path}:{}: {}", self.line, self.message),
        };
        // Of a test the statement is told, where it is in the file.
        let statement =
            self.hint.as_deref().filter(|hint| self.sqlstate == IS_NOT_TRUE && text.contains(hint));
        let count = statement.map_or(1, |statement| statement.lines().count().min(MOST_LINES));
        let lines = text.lines().enumerate().skip(self.line.saturating_sub(2)).take(2 + count);
        for (place, line) in lines {
            let mark = if place + 1 == self.line { '>' } else { ' ' };
            told.push_str(&format!("\n{mark}{:>5} | {line}", place + 1));
        }
        for difference in &self.differences {
            told.push_str(&difference.describe());
        }
        let hint = self.hint.as_deref().filter(|_| statement.is_none());
        for (label, more) in
            [("detail", self.detail.as_deref()), ("hint", hint), ("context", self.context.as_deref())]
        {
            if let Some(more) = more.filter(|more| !more.is_empty()) {
                told.push_str(&format!("\n{label}: {more}"));
            }
        }
        told
    }
}

/// What has become of a file.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Ran {
    pub(crate) error: Option<FileError>,
    pub(crate) made: Vec<String>,
    pub(crate) rewritten: Vec<Rewritten>,
    /// Files whose objects are in the way of what has failed.
    pub(crate) in_the_way: Vec<String>,
    /// Other files whose objects went with what it made before.
    pub(crate) paths: Vec<String>,
}

/// A table whose rows were all written anew.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Rewritten {
    pub(crate) oid: u32,
    pub(crate) table: String,
}

/// Counts of static files that are others now.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct SetFiles {
    pub(crate) added: i64,
    pub(crate) changed: i64,
    pub(crate) gone: i64,
}

/// What was dropped.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Taken {
    pub(crate) error: Option<FileError>,
    pub(crate) removed: Vec<String>,
    pub(crate) paths: Vec<String>,
    pub(crate) problems: Vec<Problem>,
}

/// What is wrong with the whole.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Finished {
    pub(crate) problems: Vec<Problem>,
    pub(crate) unchecked: Vec<String>,
    /// What was given and taken, as statements.
    pub(crate) rights: Vec<String>,
    pub(crate) warnings: Vec<FileWarning>,
}

/// Something in a file that may be wrong.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct FileWarning {
    path: String,
    line: usize,
    column: usize,
    message: String,
    hint: Option<String>,
}

impl fmt::Display for FileWarning {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let FileWarning { path, line, column, message, hint } = self;
        write!(formatter, "{path}:{line}:{column}: {message}")?;
        hint.as_ref().map_or(Ok(()), |hint| write!(formatter, ". {hint}"))
    }
}

/// Something that is wrong.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Problem {
    path: Option<String>,
    line: Option<usize>,
    message: String,
    detail: Option<String>,
    hint: Option<String>,
}

impl fmt::Display for Problem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.path, self.line) {
            (Some(path), Some(line)) => write!(formatter, "{path}:{line}: ")?,
            (Some(path), None) => write!(formatter, "{path}: ")?,
            (None, _) => {}
        }
        formatter.write_str(&self.message)?;
        for (label, more) in [("detail", &self.detail), ("hint", &self.hint)] {
            if let Some(more) = more {
                write!(formatter, "\n{label}: {more}")?;
            }
        }
        Ok(())
    }
}

/// Something that was changed by hand.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Drift {
    /// Its file; empty if that is a migration, or none.
    pub(crate) path: String,
    pub(crate) object: String,
    /// What became of it.
    pub(crate) change: String,
}

impl fmt::Display for Drift {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Drift { path, object, change } = self;
        match path.as_str() {
            "" => write!(formatter, "{object} {change}"),
            path => write!(formatter, "{object} ({path}) {change}"),
        }
    }
}

/// What was changed by hand since an application was deployed.
pub(crate) fn drift(client: &mut impl GenericClient, name: &str) -> Result<Vec<Drift>, Stop> {
    let rows = client.query("select d.path, d.object, d.change from deploy.drift($1) d", &[&name])?;
    let drift = |row: &Row| Drift { path: row.get(0), object: row.get(1), change: row.get(2) };
    Ok(rows.iter().map(drift).collect())
}

/// An error that tells all that is wrong with the whole; none if nothing is.
pub(crate) fn refuse_problems(problems: &[Problem]) -> Result<(), Stop> {
    if problems.is_empty() {
        return Ok(());
    }
    let told: Vec<String> = problems.iter().map(ToString::to_string).collect();
    Err(Stop::Failed(Failure::Said(told.join("\n"))))
}

/// Calls a function that returns JSON.
pub(crate) fn call<T: DeserializeOwned>(
    transaction: &mut Transaction<'_>,
    query: &str,
    arguments: &[&(dyn ToSql + Sync)],
) -> Result<T, Stop> {
    let text: String = transaction.query_one(query, arguments)?.get(0);
    Ok(read(&text)?)
}

/// Reads what the server has written as JSON.
pub(crate) fn read<T: DeserializeOwned>(text: &str) -> Result<T> {
    serde_json::from_str(text).map_err(|error| {
        Failure::Said(format!(
            "the server's answer cannot be read: {error}; is this howdah of the same version?"
        ))
    })
}

/// What is deployed of an application; none if there is no such application.
pub(crate) fn state(client: &mut impl GenericClient, name: &str) -> Result<Option<Deployed>, Stop> {
    let text: Option<String> = client.query_one("select deploy.state($1)::text", &[&name])?.get(0);
    Ok(text.map(|text| read(&text)).transpose()?)
}

/// An error unless the extension is there.
pub(crate) fn require_extension(client: &mut Client, shown: &str) -> Result<()> {
    // In a transaction, as a pooler may give each to another session.
    let mut transaction = begin(client)?;
    let query = "select pg_catalog.to_regprocedure('deploy.drifted(text)') is not null";
    let is_there: bool = transaction.query_one(query, &[])?.get(0);
    transaction.commit()?;
    if is_there {
        return Ok(());
    }
    Err(Failure::Said(format!(
        "{shown} has no extension howdah, or an older one. A superuser makes it: create extension howdah"
    )))
}
