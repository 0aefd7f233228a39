//! Errors that name what is wrong and what to do.

use pgrx::pg_sys::panic::ErrorReport;
use pgrx::prelude::*;

/// Raises an error.
pub fn refuse(code: PgSqlErrorCode, message: &str) -> ! {
    refuse_with_hint(code, message, "")
}

/// Raises an error with a hint.
pub fn refuse_with_hint(code: PgSqlErrorCode, message: &str, hint: &str) -> ! {
    let mut report = ErrorReport::new(code, message.to_owned(), "howdah");
    if !hint.is_empty() {
        report = report.set_hint(hint.to_owned());
    }
    report.report(PgLogLevel::ERROR);
    unreachable!("an ERROR report does not return")
}
