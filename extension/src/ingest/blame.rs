//! Which errors are a line's fault. Any other is the server's, the target's or the caller's: the bucket is kept.

use ndjson::{Fault, Reason};

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

/// Whether a line is to blame for an error. `by_policy`: a policy of the target has refused a row.
pub fn is_a_lines_fault(error: &PgError, by_policy: bool) -> bool {
    match &error.sqlstate {
        [b'2', b'1' | b'2' | b'3', ..] | [b'4', b'4', ..] | [b'P', b'0', ..] => true,
        b"54000" => true,
        b"42501" => by_policy,
        _ => false,
    }
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

impl From<Fault> for Refusal {
    fn from(fault: Fault) -> Refusal {
        let sqlstate = match fault.reason {
            Reason::NotUtf8 => *b"22021",
            Reason::Zero => *b"22P05",
            Reason::Deep => *b"54000",
            _ => *b"22P02",
        };
        Refusal { sqlstate, message: fault.to_string() }
    }
}
