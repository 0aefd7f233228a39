//! Accepting a migration that has run and whose text is another by now, though its statements are the same; and one that stands for others.

use pg::entry::sql_function;
use pg::refuse::{refuse, refuse_with_hint};
use pgrx::prelude::*;
use session::authority::{run_as_owner, value_as_owner};

use super::application::Application;
use super::file::{File, digest_of, files_of, keep_text, refuse_here};
use super::statements;

sql_function!(
    /// `deploy.accept(application, path, content)`
    deploy_accept_wrapper,
    |call| {
        refuse_here();
        let application = Application::required(call.need_text(0, "application"));
        let (path, text): (&str, &str) = (call.need_text(1, "path"), call.need(2, "content"));
        application.lock();
        let name = application.name.as_str();
        let ran = value_as_owner::<String>(
            "select c.content from deploy.migration m join deploy.content c on c.application = m.application and c.digest = m.digest
             where m.application = $1 and m.path = $2",
            &[name.into(), path.into()],
        );
        let Some(ran) = ran else {
            refuse(
                PgSqlErrorCode::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
                &format!("{path} is no migration of {name} that has run"),
            );
        };
        if !statements::are_same(&ran, text) {
            refuse_with_hint(
                PgSqlErrorCode::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
                &format!("{path} has other statements than when it ran"),
                "Put it back as it was, and write a new migration for the change.",
            );
        }
        let digest = digest_of(text);
        keep_text(&application, &digest, text);
        run_as_owner(
            "update deploy.migration m set digest = $3 where m.application = $1 and m.path = $2",
            &[name.into(), path.into(), digest.into()],
        );
        call.null()
    }
);

sql_function!(
    /// `deploy.squash(path, content, others)`
    deploy_squash_wrapper,
    |call| {
        let file = File::of(call);
        let others = files_of(call.need::<pgrx::Json>(2, "others").0);
        let count = others.len() as i64;
        let (paths, digests): (Vec<String>, Vec<String>) = others.into_iter().unzip();
        let name = file.deployment.application.name.as_str();
        let removed = value_as_owner::<i64>(
            "with removed as (
               delete from deploy.migration m using unnest($2::text[], $3::text[]) o (path, digest)
               where m.application = $1 and m.path = o.path and m.digest = o.digest returning 1)
             select count(*) from removed",
            &[name.into(), paths.into(), digests.into()],
        );
        if count == 0 || removed != Some(count) {
            refuse(
                PgSqlErrorCode::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
                &format!("{} stands for migrations that have not run here", file.path),
            );
        }
        file.keep_text();
        file.note_migration();
        call.null()
    }
);
