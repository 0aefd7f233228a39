//! Where the files of an application answer, and the address of one.

use deploy::recorder::{Registered, is_recording, note_registered};
use pg::entry::sql_function;
use pg::refuse::{refuse, refuse_with_hint};
use pgrx::pg_sys::Datum;
use pgrx::prelude::*;
use router::check_prefix;
use session::authority::{current_user, name_of, refuse_restricted, run_as_owner};

use super::registering::check_owner;

sql_function!(
    /// `http.files(prefix, folder, fallback)`
    howdah_files,
    |call| {
        refuse_restricted();
        let prefix = call.need_text(0, "prefix");
        if let Err(error) = check_prefix(prefix) {
            refuse(PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE, &format!("prefix {prefix:?}: {error}"));
        }
        let (folder, fallback) = (call.need_text(1, "folder"), call.text(2));
        for name in [Some(folder).filter(|folder| !folder.is_empty()), fallback].into_iter().flatten() {
            if let Err(error) = ::files::index::check_name(name) {
                refuse(PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE, &error.to_string());
            }
        }
        if !is_recording() {
            refuse_with_hint(
                PgSqlErrorCode::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
                "files are those of an application",
                "Put them into its folder static/, write select http.files(…) into its routes.sql, and deploy it.",
            );
        }
        let owner = name_of(current_user());
        check_owner(
            "select p.owner from http.file_prefix p where p.prefix = $1",
            &[prefix.into()],
            &format!("the place of files {prefix}"),
        );
        run_as_owner(
            "insert into http.file_prefix as p (prefix, owner, folder, fallback) values ($1, $2, $3, $4)
             on conflict (prefix) do update
             set owner = excluded.owner, folder = excluded.folder, fallback = excluded.fallback, is_default = false
             where (p.owner, p.folder, p.fallback, p.is_default) is distinct from (excluded.owner, excluded.folder, excluded.fallback, false)",
            &[prefix.into(), owner.into(), folder.into(), fallback.into()],
        );
        note_registered(Registered::Files, &[prefix]);
        Datum::null()
    }
);

sql_function!(
    /// `http.asset(name)`
    howdah_asset,
    |call| call.give(request::assets::address(call.need_text(0, "name")))
);
