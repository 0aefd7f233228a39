//! Where the error pages of an application answer.

use deploy::recorder::{Registered, is_recording, note_registered};
use pg::entry::sql_function;
use pg::refuse::{refuse, refuse_with_hint};
use pgrx::pg_sys::Datum;
use pgrx::prelude::*;
use router::check_prefix;
use session::authority::{current_user, name_of, refuse_restricted, run_as_owner};

use super::registering::check_owner;

sql_function!(
    /// `http.error_pages(prefix)`
    howdah_error_pages,
    |call| {
        refuse_restricted();
        let prefix = call.need_text(0, "prefix");
        if let Err(error) = check_prefix(prefix) {
            refuse(PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE, &format!("prefix {prefix:?}: {error}"));
        }
        if !is_recording() {
            refuse_with_hint(
                PgSqlErrorCode::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
                "error pages are those of an application",
                "Write select http.error_pages(…) into its routes.sql, and deploy it.",
            );
        }
        let owner = name_of(current_user());
        check_owner(
            "select p.owner from http.error_prefix p where p.prefix = $1",
            &[prefix.into()],
            &format!("the place of error pages {prefix}"),
        );
        run_as_owner(
            "insert into http.error_prefix as p (prefix, owner) values ($1, $2)
             on conflict (prefix) do update set owner = excluded.owner where p.owner <> excluded.owner",
            &[prefix.into(), owner.into()],
        );
        note_registered(Registered::ErrorPages, &[prefix]);
        Datum::null()
    }
);
