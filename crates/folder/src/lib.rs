//! A folder that is an application. This crate reads it and decides what a deployment of it does; it knows no PostgreSQL.
//!
//! - [`manifest`]: the file `howdah.toml`.
//! - [`text`]: the text of a file, whoever has saved it: line ends, byte order mark, what psql alone understands.
//! - [`own`]: what is the folder's own, and is opened: no links, pipes or devices.
//! - [`files`]: the files, by what they are for; [`places_in_text`]: where a statement of one is, a line, a character.
//! - [`pages`]: files of HTML, which are put together of others.
//! - [`statics`]: files that clients get as they are.
//! - [`plan`]: what has to run, beside what the database says has run.
//! - [`seeds`]: files that fill tables; [`records`]: their rows, in small pieces.
//! - [`squash`]: migrations that stand for others.
//! - [`example`]: the files of `howdah new`; [`additions`]: those that are added later.

pub mod additions;
pub mod example;
pub mod files;
pub mod manifest;
pub mod own;
pub mod pages;
pub mod places_in_text;
pub mod plan;
pub mod records;
pub mod seeds;
pub mod squash;
pub mod statics;
pub mod text;

pub use files::{File, Folder, Kind};
pub use manifest::Manifest;
pub use plan::{Deployed, Plan};
pub use statics::Statics;

use std::fmt;

/// Why a folder cannot be deployed: where, and what to do. All that is wrong is told at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The file, as its path in the folder; empty for the folder itself.
    pub path: String,
    /// The line, from 1; none if it is about the whole file.
    pub line: Option<usize>,
    /// The character in the line, from 1; none if it is about the line.
    pub column: Option<usize>,
    /// What is wrong, and the ways out.
    pub message: String,
}

impl Fault {
    pub(crate) fn of(path: &str, message: impl Into<String>) -> Fault {
        Fault { path: path.to_owned(), line: None, column: None, message: message.into() }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.path.as_str(), self.line, self.column) {
            ("", ..) => formatter.write_str(&self.message),
            (path, Some(line), Some(column)) => write!(formatter, "{path}:{line}:{column}: {}", self.message),
            (path, Some(line), None) => write!(formatter, "{path}:{line}: {}", self.message),
            (path, None, _) => write!(formatter, "{path}: {}", self.message),
        }
    }
}

impl std::error::Error for Fault {}
