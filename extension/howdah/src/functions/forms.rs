//! Functions of forms.

use pg::entry::sql_function;
use pg::refuse::refuse;
use pgrx::pg_sys::Datum;
use pgrx::prelude::*;
use request::refused;

use super::requests::request;

sql_function!(
    /// `http.invalid(parameter, message)`
    howdah_invalid,
    |call| {
        let (parameter, message) = (call.text(0), call.need_text(1, "message"));
        if request().is_none() {
            refuse(
                PgSqlErrorCode::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
                "no request runs here, so no parameter of it is invalid",
            );
        }
        if !refused::note(parameter.filter(|name| !name.is_empty()), shortened(message)) {
            refuse(
                PgSqlErrorCode::ERRCODE_PROGRAM_LIMIT_EXCEEDED,
                &format!("a request has no more than {} invalid parameters", refused::MOST),
            );
        }
        Datum::null()
    }
);

/// Bytes of a message.
const LONGEST: usize = 2048;

fn shortened(message: &str) -> &str {
    &message[..message.floor_char_boundary(LONGEST)]
}
