//! Errors with their exit codes.

use std::fmt;

use cluster::Error;

/// Why the command failed.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The private server.
    Cluster(Error),
    /// Lines that were sent have not been stored.
    Rejected(String),
    /// Anything else, in words that say what to do.
    Said(String),
}

pub(crate) type Result<T, E = Failure> = std::result::Result<T, E>;

impl Failure {
    pub(crate) fn exit_code(&self) -> u8 {
        match self {
            Self::Cluster(Error::NotRunning { .. }) => 3,
            Self::Rejected(_) => 4,
            _ => 1,
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cluster(error @ Error::NotRunning { .. }) => write!(f, "{error}\nStart it with: howdah up"),
            Self::Cluster(error) => error.fmt(f),
            Self::Said(text) | Self::Rejected(text) => f.write_str(text),
        }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Cluster(error)
    }
}

impl From<cluster::postgres::Error> for Failure {
    fn from(error: cluster::postgres::Error) -> Self {
        Self::Cluster(Error::Sql(error))
    }
}

impl From<loader::Error> for Failure {
    fn from(error: loader::Error) -> Self {
        Self::Said(error.to_string())
    }
}

impl From<String> for Failure {
    fn from(text: String) -> Self {
        Self::Said(text)
    }
}
