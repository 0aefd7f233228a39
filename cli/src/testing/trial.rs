//! One test, and what became of it.

use std::time::{Duration, Instant};

use cluster::postgres::Client;
use folder::files::is_live_test;
use serde::Deserialize;

use super::copies::Copies;
use crate::connection::begin;
use crate::deployment::server::{FileError, Stop, call};
use crate::failure::Failure;

/// A file of tests, or one of its functions.
#[derive(Clone, Debug)]
pub(crate) struct Trial {
    path: String,
    text: String,
    function: Option<String>,
}

/// What the server says of a test.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Ran {
    error: Option<FileError>,
    functions: Vec<String>,
    called: Vec<String>,
}

/// What became of a test.
#[derive(Debug)]
pub(crate) struct Outcome {
    trial: Trial,
    /// How long it has taken.
    pub(crate) took: Duration,
    /// Why it has failed, for people.
    pub(crate) failure: Option<String>,
    /// The routes that it has asked.
    pub(crate) called: Vec<String>,
    functions: Vec<String>,
}

impl Trial {
    /// A file: its statements.
    pub(crate) fn of_file(path: &str, text: &str) -> Trial {
        Trial { path: path.to_owned(), text: text.to_owned(), function: None }
    }

    /// Whether it is about the rows of the database to which it is deployed.
    pub(crate) fn is_live(&self) -> bool {
        is_live_test(&self.path)
    }

    /// What it is called.
    pub(crate) fn name(&self) -> String {
        match &self.function {
            Some(function) => format!("{} {function}", self.path),
            None => self.path.clone(),
        }
    }

    /// Whether it is one of those that are asked for, by a part of the name.
    pub(crate) fn matches(&self, only: &[String]) -> bool {
        only.is_empty() || only.iter().any(|part| self.name().contains(part.as_str()))
    }

    /// Whether it, or a function that it may make, is one of them.
    pub(crate) fn may_match(&self, only: &[String]) -> bool {
        self.matches(only) || only.iter().any(|part| self.text.contains(part.as_str()))
    }

    /// Runs it in a transaction, which is undone.
    pub(crate) fn run(&self, copies: &Copies, client: &mut Client) -> Outcome {
        let begun = Instant::now();
        let ran = self.try_to_run(&copies.application, client);
        let mut outcome = Outcome {
            trial: self.clone(),
            took: begun.elapsed(),
            failure: None,
            called: Vec::new(),
            functions: Vec::new(),
        };
        match ran {
            Ok(ran) => {
                outcome.failure = ran.error.map(|error| error.describe(&self.path, &self.text));
                outcome.called = ran.called;
                outcome.functions = ran.functions;
            }
            Err(failure) => {
                let told = failure.to_string();
                let limit = if told.contains("statement timeout") { " (see --timeout)" } else { "" };
                outcome.failure = Some(format!("{}: {told}{limit}", self.path));
            }
        }
        outcome
    }

    fn try_to_run(&self, application: &str, client: &mut Client) -> Result<Ran, Failure> {
        let mut transaction = begin(client)?;
        let query = "select deploy.try_test($1, $2, $3)::text";
        let ran: Result<Ran, Stop> =
            call(&mut transaction, query, &[&application, &self.text, &self.function]);
        // What a test has made is undone already; this ends the transaction.
        transaction.rollback()?;
        Ok(ran?)
    }
}

impl Outcome {
    /// What the test is called.
    pub(crate) fn name(&self) -> String {
        self.trial.name()
    }

    /// Its functions, which are tests of their own; none if the file itself has failed.
    pub(crate) fn functions(&self) -> Vec<Trial> {
        let of = |function: &String| Trial { function: Some(function.clone()), ..self.trial.clone() };
        self.functions.iter().filter(|_| self.failure.is_none()).map(of).collect()
    }

    /// Whether it counts as a test: a file whose functions are tests is only where they begin, unless it has failed.
    pub(crate) fn is_told(&self, only: &[String]) -> bool {
        self.failure.is_some()
            || self.functions.is_empty() && self.trial.matches(only)
            || self.trial.function.is_some()
    }
}
