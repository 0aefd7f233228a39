//! What can go wrong, in words that say what to do.

use std::path::{Path, PathBuf};
use std::{fmt, io};

/// What can go wrong with a private server.
#[derive(Debug)]
pub enum Error {
    /// The server refuses a value for a setting.
    BadValue {
        /// The setting.
        name: String,
        /// What the server says.
        why: String,
    },
    /// `pg_config` cannot be run.
    NoPgConfig {
        /// The program that was tried.
        program: PathBuf,
        /// Why it cannot be run.
        source: io::Error,
    },
    /// `pg_config` says something that is not understood.
    OddPgConfig {
        /// The program.
        program: PathBuf,
        /// What it said.
        said: String,
    },
    /// The installation has no server, or the extension is not in it.
    Missing {
        /// The file that is not there.
        file: PathBuf,
        /// What to do.
        remedy: String,
    },
    /// The data folder belongs to another major version.
    OtherVersion {
        /// The data folder.
        data: PathBuf,
        /// Its major version.
        found: String,
        /// That of the installation.
        wanted: u32,
    },
    /// A file or folder cannot be made, read or changed.
    File {
        /// The file or folder.
        path: PathBuf,
        /// What was to be done.
        action: &'static str,
        /// Why not.
        source: io::Error,
    },
    /// A folder cannot be used.
    Unusable {
        /// The folder.
        path: PathBuf,
        /// Why not, and what to do.
        reason: String,
    },
    /// A program failed.
    Failed {
        /// The program.
        program: PathBuf,
        /// What it said.
        said: String,
    },
    /// There is no account to run the server as.
    NoAccount {
        /// What is missing, and what to do.
        reason: String,
    },
    /// The server did not start.
    NotStarted {
        /// The end of its log.
        log: String,
    },
    /// A server runs on the folder already.
    Running {
        /// The postmaster.
        pid: u32,
    },
    /// No server runs on the folder.
    NotRunning {
        /// The folder.
        folder: PathBuf,
    },
    /// Something took too long.
    TooLong {
        /// What was waited for.
        what: &'static str,
        /// The end of the server's log.
        log: String,
    },
    /// A setting cannot be written.
    BadSetting {
        /// Its name.
        name: String,
    },
    /// SQL failed.
    Sql(postgres::Error),
}

impl Error {
    /// For `map_err` on what is done to a file.
    pub(crate) fn file(path: &Path, action: &'static str) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::File { path, action, source }
    }
}

impl From<postgres::Error> for Error {
    fn from(error: postgres::Error) -> Self {
        Self::Sql(error)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoPgConfig { program, source } => write!(
                f,
                "{} cannot be run: {source}\nInstall PostgreSQL 15 or newer with its server packages (make setup), \
                 or set PG_CONFIG to its pg_config.",
                program.display()
            ),
            Self::OddPgConfig { program, said } => {
                write!(f, "{} gave an answer that is not understood: {said}", program.display())
            }
            Self::Missing { file, remedy } => write!(f, "{} does not exist. {remedy}", file.display()),
            Self::OtherVersion { data, found, wanted } => write!(
                f,
                "{} was made by PostgreSQL {found}, and this is PostgreSQL {wanted}.\n\
                 Set PG_CONFIG to the pg_config of version {found}, or use another data folder.",
                data.display()
            ),
            Self::File { path, action, source } => write!(f, "cannot {action} {}: {source}", path.display()),
            Self::Unusable { path, reason } => write!(f, "{} cannot be used: {reason}", path.display()),
            Self::Failed { program, said } => write!(f, "{} failed:\n{said}", program.display()),
            Self::NoAccount { reason } => f.write_str(reason),
            Self::NotStarted { log } => write!(f, "PostgreSQL did not start. Its log ends with:\n{log}"),
            Self::Running { pid } => write!(f, "PostgreSQL runs there already (process {pid})"),
            Self::NotRunning { folder } => write!(f, "no PostgreSQL runs in {}", folder.display()),
            Self::TooLong { what, log } => write!(f, "{what} took too long. The log ends with:\n{log}"),
            Self::BadValue { name, why } => write!(f, "the server refuses the value of {name}: {why}"),
            Self::BadSetting { name } => {
                write!(f, "the setting {name:?} has no valid name, or a line break in it")
            }
            Self::Sql(error) => match error.as_db_error() {
                Some(error) => write!(f, "{error}"),
                None => write!(f, "{error}"),
            },
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::NoPgConfig { source, .. } | Self::File { source, .. } => Some(source),
            Self::Sql(error) => Some(error),
            _ => None,
        }
    }
}
