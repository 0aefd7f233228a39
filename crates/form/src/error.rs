//! Why a form cannot be read.

use std::fmt;

/// Why a form or a query string cannot be read. Every one is the client's fault: 400.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FormError {
    /// More fields than the limit.
    TooManyFields {
        /// The limit.
        limit: usize,
    },
    /// A field's name is not usable text.
    BadName {
        /// Which field, counted from 1.
        position: usize,
        /// What is wrong with it.
        fault: TextFault,
    },
    /// A field's value is not usable text.
    BadValue {
        /// The field's name.
        field: String,
        /// What is wrong with it.
        fault: TextFault,
    },
    /// The body is not what RFC 7578 describes.
    BadMultipart {
        /// Which part, counted from 1; 0 is before the first.
        part: usize,
        /// What is wrong with it.
        reason: &'static str,
    },
}

/// What PostgreSQL's text cannot hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextFault {
    /// The bytes are not UTF-8.
    NotUtf8,
    /// A NUL byte is among them.
    Nul,
}

impl fmt::Display for TextFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotUtf8 => "is not valid UTF-8",
            Self::Nul => "contains a NUL byte",
        })
    }
}

impl fmt::Display for FormError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooManyFields { limit } => write!(f, "the form has more than {limit} fields"),
            Self::BadName { position, fault } => write!(f, "the name of field number {position} {fault}"),
            Self::BadValue { field, fault } => write!(f, "the value of field '{field}' {fault}"),
            Self::BadMultipart { part: 0, reason } => write!(f, "the multipart body is broken: {reason}"),
            Self::BadMultipart { part, reason } => {
                write!(f, "the multipart body is broken in part {part}: {reason}")
            }
        }
    }
}

impl std::error::Error for FormError {}

/// Checks bytes for what PostgreSQL's text cannot hold.
pub(crate) fn text(bytes: &[u8]) -> Result<&str, TextFault> {
    let text = std::str::from_utf8(bytes).map_err(|_| TextFault::NotUtf8)?;
    if memchr::memchr(0, bytes).is_some() { Err(TextFault::Nul) } else { Ok(text) }
}

/// A field's name for an error message: a client must not fill the log with it.
pub(crate) fn shortened(name: &str) -> String {
    name.chars().take(100).collect()
}
