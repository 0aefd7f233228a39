//! Steps outside of the transaction, as the client runs them: it asks what to do ([`look`]), does it as the owner, statement by statement,
//! and says when it is done. Whoever deploys with steps holds the application's lock over several transactions.

use batches::Batches;
use folder::Kind;
use folder::places_in_text::line_at;
use pg::entry::{Call, sql_function};
use pg::guard::PgError;
use pg::refuse::{refuse, refuse_with_hint};
use pgrx::pg_sys;
use pgrx::prelude::*;
use serde_json::{Value, json};
use session::authority::{name_of, run_as_owner, value_as_owner};
use session::deployer::{as_deployer, settings};
use session::subtransaction::attempted;
use session::user_settings::keep_role;

use super::application::Application;
use super::file::{File, digest_of, keep_text, refuse_here};
use super::statements::{describe, set_begin};
use super::step_state::{self, State};
use super::steps::{self, Found, Step};
use super::{batch, drift};

/// A step as a call names it: an application, a path, and the text unless it was begun.
struct Named<'a> {
    application: Application,
    path: &'a str,
    text: String,
    digest: String,
}

impl<'a> Named<'a> {
    fn of(call: Call, text: Option<&str>) -> Named<'a> {
        refuse_here();
        let application = Application::required(call.need_text(0, "application"));
        let path = call.need_text(1, "path");
        if Kind::of(path) != Some(Kind::Migration) || path.chars().any(char::is_control) {
            refuse(PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE, "a step is a file in migrations/");
        }
        let text = match text {
            Some(text) => text.to_owned(),
            None => begun(&application, path),
        };
        Named { application, path, digest: digest_of(&text), text }
    }

    /// The step; an error if the text is none.
    fn step(&self) -> Found {
        steps::of(&self.text).unwrap_or_else(|| {
            refuse(
                PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE,
                &format!("{} runs in the transaction of a deployment", self.path),
            )
        })
    }

    /// How far it is.
    fn state(&self, found: &Found) -> Result<State, PgError> {
        let application = &self.application;
        if let Step::Batches(_) = found.step {
            return Ok(State { done: self.has_ended(), ..State::default() });
        }
        let place = as_deployer(application.owner, &application.schema, || step_state::place(&found.step))?;
        Ok(step_state::look(&place, &application.schema))
    }

    fn has_ended(&self) -> bool {
        let ended = "select s.has_ended from deploy.step s where s.application = $1 and s.path = $2 and s.digest = $3";
        let name = self.application.name.as_str();
        value_as_owner::<bool>(ended, &[name.into(), self.path.into(), self.digest.as_str().into()])
            == Some(true)
    }
}

/// The text with which a step was begun.
fn begun(application: &Application, path: &str) -> String {
    let text = value_as_owner::<String>(
        "select c.content from deploy.step s join deploy.content c on c.application = s.application and c.digest = s.digest
         where s.application = $1 and s.path = $2",
        &[application.name.as_str().into(), path.into()],
    );
    text.unwrap_or_else(|| {
        refuse(
            PgSqlErrorCode::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
            &format!("{path} is no step of {} that was begun", application.name),
        )
    })
}

sql_function!(
    /// `deploy.step(application, path, content)`
    deploy_step_wrapper,
    |call| {
        let named = Named::of(call, call.get(2));
        let looked = attempted(|| {
            set_begin(0);
            steps::of(&named.text).map(|found| {
                set_begin(found.begin);
                let state = named.state(&found);
                (found, state)
            })
        });
        let answer = match looked {
            Ok(None) => return call.null(),
            Ok(Some((found, Ok(state)))) => answer(&named, &found, state),
            Ok(Some((_, Err(error)))) | Err(error) => json!({ "error": describe(&error, &named.text) }),
        };
        call.give(answer.to_string())
    }
);

fn answer(named: &Named<'_>, found: &Found, state: State) -> Value {
    let application = &named.application;
    let mut answer = json!({
        "kind": found.step.kind(),
        "line": line_at(&named.text, found.begin),
        "statement": found.statement,
        "done": state.done,
        "before": state.before,
        "run": state.instead.unwrap_or_else(|| found.statement.clone()),
        "busy": state.busy,
        "owner": name_of(application.owner),
        "settings": settings(&application.schema),
    });
    if let Step::Batches(Batches { pause, standby_delay, .. }) = &found.step {
        answer["pause_ms"] = json!(pause.as_millis() as u64);
        answer["standby_delay_ms"] = json!(standby_delay.map(|delay| delay.as_millis() as u64));
        answer["replayed"] = json!(replayed());
    }
    answer
}

sql_function!(
    /// `deploy.begin_step(application, path, content)`
    deploy_begin_step_wrapper,
    |call| {
        let named = Named::of(call, call.get(2));
        named.step();
        named.application.lock();
        let name = named.application.name.as_str();
        let known = "select true from deploy.step s where s.application = $1 and s.path = $2 and s.begun_at is not null";
        if value_as_owner::<bool>(known, &[name.into(), named.path.into()]).is_none() {
            // What was changed by hand before stays noted as that.
            drift::note(&named.application);
        }
        keep_text(&named.application, &named.digest, &named.text);
        run_as_owner(
            "insert into deploy.step (application, path, digest, begun_at, begun_by) values ($1, $2, $3, now(), session_user)
             on conflict (application, path) do update set digest = excluded.digest, begun_at = now(), begun_by = session_user,
               last_key = case when deploy.step.digest = excluded.digest then deploy.step.last_key end,
               keys = case when deploy.step.digest = excluded.digest then deploy.step.keys else 0 end,
               has_ended = deploy.step.has_ended and deploy.step.digest = excluded.digest",
            &[name.into(), named.path.into(), named.digest.as_str().into()],
        );
        call.null()
    }
);

sql_function!(
    /// `deploy.batch(application, path)`
    deploy_batch_wrapper,
    |call| {
        let named = Named::of(call, None);
        let Found { step: Step::Batches(batches), begin, .. } = named.step() else {
            refuse(PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE, &format!("{} runs in no batches", named.path));
        };
        named.application.lock();
        let application = &named.application;
        let (name, path) = (application.name.as_str(), named.path);
        let after = value_as_owner::<String>(
            "select s.last_key from deploy.step s where s.application = $1 and s.path = $2",
            &[name.into(), path.into()],
        );
        set_begin(begin);
        let ran = as_deployer(application.owner, &application.schema, || {
            (batch::run(&named.text, &batches, after.as_deref()), batch::estimate(&batches))
        });
        let (ran, estimate) = match ran {
            Ok(ran) => ran,
            Err(error) => return call.give(json!({ "error": describe(&error, &named.text) }).to_string()),
        };
        let (last, keys, rows) = match &ran {
            Some(ran) => (Some(ran.last.as_str()), ran.keys, ran.rows),
            None => (None, 0, 0),
        };
        let all = value_as_owner::<i64>(
            "update deploy.step s set last_key = coalesce($3, s.last_key), keys = s.keys + $4, has_ended = $3 is null
             where s.application = $1 and s.path = $2 returning s.keys",
            &[name.into(), path.into(), last.into(), keys.into()],
        );
        let answer = json!({
            "done": ran.is_none(), "rows": rows, "keys": all, "of": estimate.max(all.unwrap_or_default()),
            "written": value_as_owner::<i64>(WRITTEN, &[]), "replayed": replayed(),
        });
        call.give(answer.to_string())
    }
);

sql_function!(
    /// `deploy.writers(application, path, of)`
    deploy_writers_wrapper,
    |call| {
        let named = Named::of(call, None);
        let Found { step: Step::Batches(batches), begin, .. } = named.step() else {
            refuse(PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE, &format!("{} runs in no batches", named.path));
        };
        let application = &named.application;
        set_begin(begin);
        let table = as_deployer(application.owner, &application.schema, || batch::table(&batches));
        let table = match table {
            Ok(table) => table,
            Err(error) => return call.give(json!({ "error": describe(&error, &named.text) }).to_string()),
        };
        let of: Option<&str> = call.text(2);
        call.give(value_as_owner::<String>(WRITERS, &[table.into(), of.into()]))
    }
);

/// Transactions that have written a table, or a part of it, and go on; of those that are named if some are.
const WRITERS: &str = "with recursive parts (number) as (
      select $1::oid union select i.inhrelid from parts p join pg_inherits i on i.inhparent = p.number)
    select json_build_object(
      'transactions', coalesce(string_agg(distinct l.virtualtransaction, ' '), ''),
      'names', coalesce(string_agg(distinct coalesce(format('%s (process %s)', a.usename, a.pid), 'a prepared transaction'), ', '), ''))::text
    from pg_locks l left join pg_stat_activity a on a.pid = l.pid
    where l.locktype = 'relation' and l.database = (select d.oid from pg_database d where d.datname = current_database())
      and l.relation in (select p.number from parts p) and l.granted and l.pid is distinct from pg_backend_pid()
      and l.mode in ('RowExclusiveLock', 'ShareRowExclusiveLock', 'ExclusiveLock', 'AccessExclusiveLock')
      and ($2 is null or l.virtualtransaction = any (string_to_array($2, ' ')))";

/// How far the write-ahead log is, in bytes.
const WRITTEN: &str = "select pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::bigint";

/// How far of it the slowest standby has replayed; none if there is no standby.
fn replayed() -> Option<i64> {
    let query = "select min(pg_wal_lsn_diff(r.replay_lsn, '0/0'))::bigint from pg_stat_replication r";
    value_as_owner(query, &[])
}

sql_function!(
    /// `deploy.end_step(application, path)`
    deploy_end_step_wrapper,
    |call| {
        let named = Named::of(call, None);
        let found = named.step();
        named.application.lock();
        let state = named.state(&found).unwrap_or_else(|error| pg::guard::unwind(error));
        let leaves_no_trace = matches!(
            found.step,
            Step::ReindexIndex(_) | Step::ReindexTable(_) | Step::ReindexSchema | Step::Vacuum
        );
        if !state.done && !leaves_no_trace || !state.before.is_empty() {
            refuse_with_hint(
                PgSqlErrorCode::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
                &format!("{} is not done", named.path),
                "deploy.step() says what is to be done.",
            );
        }
        let name = named.application.name.as_str();
        run_as_owner(
            "insert into deploy.migration (application, path, digest, number)
             select $1, $2, $3, coalesce(
               (select s.number from deploy.step s where s.application = $1 and s.path = $2),
               (select coalesce(max(d.number), 0) + 1 from deploy.deployment d where d.application = $1))",
            &[name.into(), named.path.into(), named.digest.as_str().into()],
        );
        forget(&named.application, named.path);
        drift::note_shape(&named.application);
        call.null()
    }
);

sql_function!(
    /// `deploy.forget_step(application, path)`
    deploy_forget_step_wrapper,
    |call| {
        refuse_here();
        let application = Application::required(call.need_text(0, "application"));
        application.lock();
        forget(&application, call.need_text(1, "path"));
        call.null()
    }
);

fn forget(application: &Application, path: &str) {
    run_as_owner(
        "delete from deploy.step s where s.application = $1 and s.path = $2",
        &[application.name.as_str().into(), path.into()],
    );
}

sql_function!(
    /// `deploy.postpone(path, content)`
    deploy_postpone_wrapper,
    |call| {
        let file = File::of(call);
        if steps::of(file.text).is_none() {
            refuse(
                PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE,
                "a migration that runs in the transaction of a deployment is not postponed",
            );
        }
        file.keep_text();
        run_as_owner(
            "insert into deploy.step (application, path, digest, number) values ($1, $2, $3, $4)
             on conflict (application, path) do update set number = excluded.number",
            &[
                file.deployment.application.name.as_str().into(),
                file.path.into(),
                file.digest.as_str().into(),
                file.deployment.number.into(),
            ],
        );
        call.null()
    }
);

sql_function!(
    /// `deploy.hold(application)`
    deploy_hold_wrapper,
    |call| {
        refuse_here();
        Application::required(call.need_text(0, "application")).hold();
        call.null()
    }
);

sql_function!(
    /// `deploy.release(application)`
    deploy_release_wrapper,
    |call| {
        refuse_here();
        call.give(Application::required(call.need_text(0, "application")).release())
    }
);

sql_function!(
    /// `deploy.keep_role()`
    deploy_keep_role_wrapper,
    |call| {
        refuse_here();
        // SAFETY: PostgreSQL's own state.
        if unsafe { pg_sys::InLocalUserIdChange() } {
            refuse(
                PgSqlErrorCode::ERRCODE_INSUFFICIENT_PRIVILEGE,
                "a function that runs as somebody else than its caller cannot keep the session's role",
            );
        }
        keep_role();
        call.null()
    }
);

/// Steps that are not done, of applications that the current user may deploy.
pub(crate) const STEPS: &str = "select s.application, s.path, s.begun_at, s.begun_by, nullif(s.keys, 0)
   from deploy.step s join deploy.application a on a.name = s.application
   where pg_has_role($1, a.owner::oid, 'member') order by 1, 2";
