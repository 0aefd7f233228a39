//! A worker's connection: its database, its role, and the version of the extension that it serves.

use pg::guard::Report;
use pg::port;
use pgrx::pg_sys;
use pgrx::prelude::*;
use session::own_transaction::transaction;
use shared::SERVED_VERSIONS;
use shared::databases::DatabaseState;

/// The role that requests run as unless their route names another; the session user of every worker.
pub(crate) const WEB_ROLE: &str = "howdah_web";

/// Connects to a database as the bootstrap superuser: a role without LOGIN cannot be connected before 17.
/// Ends the process if that is impossible.
pub(crate) fn connect(database: pg_sys::Oid) {
    // SAFETY: called once, in a background worker that has asked for a database.
    unsafe { pg_sys::BackgroundWorkerInitializeConnectionByOid(database, pg_sys::InvalidOid, 0) };
}

/// Finds the extension, and gives up the superuser's rights: the session user is [`WEB_ROLE`] from here on.
/// If the database is not to be served, the error says why.
pub(crate) fn prepare() -> Result<pg_sys::Oid, DatabaseState> {
    let found = transaction(Report::Log, find_version);
    let version = found.unwrap_or_else(|_| fail()).ok_or(DatabaseState::NoExtension)?;
    if !SERVED_VERSIONS.contains(&version.as_str()) {
        return Err(DatabaseState::WrongVersion);
    }
    if transaction(Report::Log, web_role).is_ok_and(|role| role.is_none()) {
        // Several workers may try at once: one succeeds, and all look again.
        let _ = transaction(Report::Quiet, || Spi::run("create role howdah_web nologin"));
    }
    Ok(transaction(Report::Log, become_web).unwrap_or_else(|_| fail()))
}

/// Ends the process; the log has the reason, and the supervisor tries again later.
fn fail() -> ! {
    // SAFETY: PostgreSQL's own way to end a process; it does not return.
    unsafe { pg::proc_exit(1) }
}

/// The version of the extension, if it is there.
fn find_version() -> Option<String> {
    Spi::connect(|client| {
        let rows = client
            .select(
                "select extension.extversion from pg_catalog.pg_extension extension, pg_catalog.pg_namespace namespace
                  where extension.extname operator(pg_catalog.=) 'howdah'
                    and namespace.nspname operator(pg_catalog.=) 'http'",
                Some(1),
                &[],
            )
            .unwrap_or_else(|error| error!("{error}"));
        rows.first().get(1).ok()?
    })
}

/// The role's oid, if there is such a role.
fn web_role() -> Option<pg_sys::Oid> {
    // SAFETY: a look-up by a constant name, inside a transaction.
    let role = unsafe { pg_sys::get_role_oid(c"howdah_web".as_ptr(), true) };
    (role != pg_sys::InvalidOid).then_some(role)
}

/// Makes the role the session user, as `SET SESSION AUTHORIZATION` would, and the one that RESET returns to; the process's
/// client as well.
fn become_web() -> pg_sys::Oid {
    let role = web_role().unwrap_or_else(|| error!("role \"{WEB_ROLE}\" does not exist"));
    // SAFETY: constant strings, inside a transaction; the authenticated user is a superuser. Once, as a worker that fails here ends.
    unsafe {
        pg_sys::SetConfigOption(
            c"session_authorization".as_ptr(),
            c"howdah_web".as_ptr(),
            pg_sys::GucContext::PGC_BACKEND,
            pg_sys::GucSource::PGC_S_OVERRIDE,
        );
        port::make(c"howdah_web".as_ptr());
    }
    role
}
