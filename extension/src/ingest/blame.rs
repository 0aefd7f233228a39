//! Whose fault an error is. What is no line's fault is raised, and the bucket is kept.

use ndjson::Reason;

use pgrx::PgSqlErrorCode;
use pgrx::pg_sys::panic::ErrorReport;
use pgrx::prelude::*;

use crate::guard::{PgError, pack_sqlstate};

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
pub enum Fault {
    /// The line's: nothing but another line would do.
    Line,
    /// The server's, another transaction's, or a right that is missing: every line waits until that is mended.
    Server,
    /// The target's or the line's, such as a table that a trigger does not find. Whether other rows can be stored tells.
    Unknown,
}

/// Whose fault it is that the target has refused rows. `by_policy`: a policy of the target has refused one.
pub fn fault(error: &PgError, by_policy: bool) -> Fault {
    match &error.sqlstate {
        _ if is_the_servers(error) => Fault::Server,
        [b'2', b'1' | b'2' | b'3', ..] | [b'4', b'4', ..] | [b'P', b'0', ..] | b"54000" => Fault::Line,
        b"42501" if by_policy => Fault::Line,
        _ if is_raised(error) => Fault::Line,
        b"42501" => Fault::Server,
        _ => Fault::Unknown,
    }
}

/// Whether an error would come whatever the values are: it is of a connection, of the transaction, of the server's means or state.
pub fn is_the_servers(error: &PgError) -> bool {
    ["08", "25", "40", "53", "55", "57", "58"].iter().any(|class| error.sqlstate().starts_with(class))
}

/// Whether somebody's PL/pgSQL has raised an error by RAISE, and so has meant the row, with an SQLSTATE that may be any.
fn is_raised(error: &PgError) -> bool {
    routine(error) == "exec_stmt_raise"
}

/// Whether PostgreSQL has missed a right.
pub fn lacks_a_right(error: &PgError) -> bool {
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
}

impl From<PgError> for Refusal {
    fn from(error: PgError) -> Refusal {
        let mut message = match error.detail {
            Some(detail) => format!("{}: {detail}", error.message),
            None => error.message,
        };
        message.truncate(message.floor_char_boundary(LONGEST_MESSAGE));
        Refusal { sqlstate: error.sqlstate, message }
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
