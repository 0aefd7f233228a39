//! Whose fault an error is. What is no line's fault is raised, and the bucket is kept.

use ndjson::Reason;
use pg::guard::{PgError, pack_sqlstate};
use pgrx::PgSqlErrorCode;
use pgrx::pg_sys::panic::ErrorReport;
use pgrx::prelude::*;
use problem::Meaning;

use super::size;

/// Why a line was refused.
#[derive(Clone, Debug)]
pub struct Refusal {
    /// The SQLSTATE.
    pub sqlstate: [u8; 5],
    /// The error, with its detail.
    pub message: String,
}

/// Whose fault an error of the target's is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Fault {
    /// The line's: nothing but another line would do.
    Line,
    /// The server's, another transaction's, or a right that is missing: every line waits until that is mended.
    Server,
    /// The target's or the line's, such as a table that a trigger does not find. Whether other rows can be stored tells.
    Unknown,
}

/// Whose fault it is that the target has refused rows. `by_policy`: a policy of the target has refused one.
pub(crate) fn fault(error: &PgError, by_policy: bool) -> Fault {
    let meaning = Meaning::of(&error.sqlstate);
    match error.sqlstate() {
        _ if meaning.is_servers() => Fault::Server,
        _ if meaning.is_rows_fault() => Fault::Line,
        "42501" if by_policy => Fault::Line,
        _ if is_raised(error) => Fault::Line,
        "42501" => Fault::Server,
        _ => Fault::Unknown,
    }
}

/// Whether somebody's PL/pgSQL has raised an error by RAISE, and so has meant the row, with an SQLSTATE that may be any.
fn is_raised(error: &PgError) -> bool {
    routine(error) == "exec_stmt_raise"
}

/// Whether PostgreSQL has missed a right.
pub(crate) fn lacks_a_right(error: &PgError) -> bool {
    error.sqlstate() == "42501" && !is_raised(error)
}

/// The function in PostgreSQL's sources that has raised an error.
fn routine(error: &PgError) -> &str {
    error.more.as_ref().map_or("", |more| &more.routine)
}

/// Raises an error that is no line's fault, as a panic: what the frames between here and the caller's guard own is freed.
/// An SQLSTATE that pgrx does not know becomes that of an internal error.
pub fn raise(error: PgError) -> ! {
    let code = PgSqlErrorCode::from(pack_sqlstate(&error.sqlstate));
    let mut report = ErrorReport::new(code, error.message, "howdah");
    if let Some(detail) = error.detail {
        report = report.set_detail(detail);
    }
    if let Some(hint) = error.hint {
        report = report.set_hint(hint);
    }
    report.report(PgLogLevel::ERROR);
    unreachable!("an ERROR report does not return")
}

/// Bytes of a message that are kept: some errors repeat the value.
const LONGEST_MESSAGE: usize = 1000;

impl Refusal {
    /// Of a line that has more bytes than it may.
    pub fn too_long(longest: usize) -> Refusal {
        let message = format!("line longer than {longest} bytes");
        Refusal { sqlstate: *b"54000", message }
    }

    /// Of a row for a table that has more text than it may.
    pub(crate) fn too_large() -> Refusal {
        let most = size::LARGEST >> 20;
        let message = format!("the row has more than {most} MB as text, and a table gets no more by lines");
        Refusal { sqlstate: *b"54000", message }
    }
}

impl From<PgError> for Refusal {
    fn from(error: PgError) -> Refusal {
        Refusal { sqlstate: error.sqlstate, message: error.in_short(LONGEST_MESSAGE) }
    }
}

impl From<ndjson::Fault> for Refusal {
    fn from(fault: ndjson::Fault) -> Refusal {
        let sqlstate = match fault.reason {
            Reason::NotUtf8 => *b"22021",
            Reason::Zero => *b"22P05",
            Reason::Deep => *b"54000",
            _ => *b"22P02",
        };
        Refusal { sqlstate, message: fault.to_string() }
    }
}
