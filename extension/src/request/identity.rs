//! Who a request runs as: role, search_path and the role's settings.
//!
//! The settings of a role and the search_path of an endpoint stay in force between requests, and are changed
//! when the next request needs others: most platforms have one or two of each. The role itself, and every
//! setting that a handler changes, are undone after each request.

use std::ffi::{CStr, CString, c_int};

use pgrx::pg_sys::{self, Oid};

use crate::guard::{PgError, Report, attempt};
use crate::pg;
use crate::settings;

/// What is in force in this process.
#[derive(Default)]
pub struct Identity {
    role: Option<Oid>,
    search_path: CString,
    /// Names of the settings that the role has brought.
    settings: Vec<CString>,
    /// [`crate::shared::settings_epoch`] when they were read.
    epoch: u64,
}

/// What [`enter`] has changed.
#[derive(Clone, Copy)]
pub struct Entered {
    level: c_int,
    user: Oid,
    context: c_int,
}

impl Identity {
    /// Whether a request of this role and search_path can run without a change.
    pub fn is(&self, role: Oid, search_path: &CStr) -> bool {
        self.role == Some(role)
            && *self.search_path == *search_path
            && self.epoch == crate::shared::settings_epoch()
    }

    /// Puts the role's settings and the search_path in force, in a transaction of its own.
    ///
    /// # Safety
    /// On the main thread, outside a transaction.
    pub unsafe fn assume(&mut self, role: Oid, search_path: &CStr) -> Result<(), PgError> {
        if self.is(role, search_path) {
            return Ok(());
        }
        // Until it has succeeded nothing is known to be in force.
        self.role = None;
        let previous = std::mem::take(&mut self.settings);
        // SAFETY: by contract. What is called inside raises through pgrx's guards, so values are dropped.
        let changed = unsafe {
            attempt(Report::Log, || {
                pg_sys::StartTransactionCommand();
                let settings = role_settings(role);
                for name in &previous {
                    set(name, None);
                }
                set_base();
                for (name, value) in &settings {
                    set(name, Some(value));
                }
                set(c"search_path", Some(search_path));
                pg_sys::CommitTransactionCommand();
                settings
            })
        };
        match changed {
            Ok(settings) => {
                self.settings = settings.into_iter().map(|(name, _)| name).collect();
                self.search_path = search_path.to_owned();
                self.role = Some(role);
                self.epoch = crate::shared::settings_epoch();
                Ok(())
            }
            Err(error) => {
                self.settings = previous;
                // SAFETY: the transaction has failed.
                unsafe { super::transaction::abort() };
                Err(error)
            }
        }
    }
}

/// Settings of every request, whoever it runs as, unless the role has its own.
unsafe fn set_base() {
    let lock_timeout = CString::new(settings::LOCK_TIMEOUT.get().to_string()).unwrap_or_default();
    // SAFETY: the caller's contract.
    unsafe { set(c"lock_timeout", Some(&lock_timeout)) }
}

/// Sets a setting for the session; none gives it back its default.
unsafe fn set(name: &CStr, value: Option<&CStr>) {
    // SAFETY: inside a transaction and a guard. A name that no longer exists is a warning.
    unsafe {
        pg_sys::set_config_option(
            name.as_ptr(),
            value.map_or(std::ptr::null(), CStr::as_ptr),
            pg_sys::GucContext::PGC_SUSET,
            pg_sys::GucSource::PGC_S_SESSION,
            pg_sys::GucAction::GUC_ACTION_SET,
            true,
            pgrx::PgLogLevel::WARNING as c_int,
            false,
        );
    }
}

/// `ALTER ROLE … SET` of the role, those for this database last, so that they win.
unsafe fn role_settings(role: Oid) -> Vec<(CString, CString)> {
    // SAFETY: inside a transaction.
    unsafe { pg_sys::PushActiveSnapshot(pg_sys::GetTransactionSnapshot()) };
    let lines = pgrx::Spi::connect(|client| {
        let rows = client.select(
            "select line from pg_catalog.pg_db_role_setting, pg_catalog.unnest(setconfig) line \
             where setrole = $1 and setdatabase in (0, (select oid from pg_catalog.pg_database \
             where datname = pg_catalog.current_database())) order by setdatabase",
            None,
            &[role.into()],
        )?;
        rows.map(|row| row.get::<String>(1)).collect::<Result<Vec<_>, _>>()
    });
    // SAFETY: pushed above.
    unsafe { pg_sys::PopActiveSnapshot() };
    let lines = match lines {
        Ok(lines) => lines,
        Err(error) => pgrx::error!("cannot read the settings of a role: {error}"),
    };
    let pair = |line: String| {
        let (name, value) = line.split_once('=')?;
        Some((CString::new(name).ok()?, CString::new(value).ok()?))
    };
    lines.into_iter().flatten().filter_map(pair).collect()
}

/// Becomes the role, until [`leave`]. Under SECURITY_LOCAL_USERID_CHANGE a handler can neither SET ROLE,
/// RESET ROLE nor SET SESSION AUTHORIZATION.
///
/// # Safety
/// Inside a guard and a transaction.
pub unsafe fn enter(role: Oid) -> Entered {
    // SAFETY: by contract.
    unsafe {
        let (mut user, mut context) = (Oid::INVALID, 0);
        pg::GetUserIdAndSecContext(&mut user, &mut context);
        let level = pg::NewGUCNestLevel();
        pg::SetUserIdAndSecContext(role, context | pg_sys::SECURITY_LOCAL_USERID_CHANGE as c_int);
        Entered { level, user, context }
    }
}

/// Undoes what [`enter`] and the request have changed.
///
/// # Safety
/// Inside a guard, in the transaction of [`enter`].
pub unsafe fn leave(entered: Entered) {
    // SAFETY: by contract.
    unsafe {
        pg::AtEOXact_GUC(false, entered.level);
        pg::SetUserIdAndSecContext(entered.user, entered.context);
    }
}
