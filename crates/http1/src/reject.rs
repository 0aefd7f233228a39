//! A request that is answered with an error instead of being served.

use std::fmt;

/// Why a request is not served. After it the bytes that follow cannot be trusted: the connection closes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reject {
    /// The status of the answer, from 400 to 599.
    pub status: u16,
    /// What was wrong, for the client's author.
    pub detail: &'static str,
}

impl Reject {
    /// An answer of this status.
    pub const fn new(status: u16, detail: &'static str) -> Self {
        Self { status, detail }
    }

    /// An answer of status 400.
    pub const fn bad(detail: &'static str) -> Self {
        Self::new(400, detail)
    }
}

impl fmt::Display for Reject {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {}", self.status, self.detail)
    }
}

impl std::error::Error for Reject {}
