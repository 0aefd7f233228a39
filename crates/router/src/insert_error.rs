//! Why a route cannot be registered.

use std::fmt;

/// Why a route cannot be registered, in words for the person who registers it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InsertError {
    /// The pattern cannot be read.
    BadPattern {
        /// The pattern as given, cut if very long.
        pattern: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The method is neither `*` nor an upper-case token.
    BadMethod {
        /// The method as given.
        method: String,
    },
    /// Another route answers the same method on the same paths.
    Conflict {
        /// The method of both.
        method: String,
        /// The pattern that was to be added.
        pattern: String,
        /// The pattern that is there already; it differs at most in its parameters' names.
        existing: String,
    },
}

impl fmt::Display for InsertError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BadPattern { pattern, reason } => write!(f, "pattern '{pattern}' cannot be used: {reason}"),
            Self::BadMethod { method } => {
                write!(f, "'{method}' is not a method: use GET, POST or the like in upper case, or * for any")
            }
            Self::Conflict { method, pattern, existing } if pattern == existing => {
                write!(f, "{method} {pattern} is registered already")
            }
            Self::Conflict { method, pattern, existing } => write!(
                f,
                "{method} {pattern} matches the same paths as {method} {existing}, which is registered already"
            ),
        }
    }
}

impl std::error::Error for InsertError {}
