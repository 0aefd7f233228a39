//! Who a request runs as: role, search_path and the role's settings.
//!
//! The settings of a role and the search_path of an endpoint stay in force between requests, and are changed
//! when the next request needs others: most platforms have one or two of each. The role itself, and every
//! setting that a handler changes, are undone after each request.

use std::ffi::{CStr, CString, c_int};

use pgrx::pg_sys::{self, Datum, Oid};
use pgrx::spi::SpiClient;

use crate::guard::{PgError, Report, attempt};
use crate::pg;
use crate::request::changes;
use crate::{settings, user_settings};

/// What is in force in this process.
#[derive(Default)]
pub struct Identity {
    role: Option<Oid>,
    search_path: CString,
    /// Names of the settings that the role and the database have brought.
    settings: Vec<CString>,
    /// Names of the settings that the connection has brought: the database's and the superuser's. Read at
    /// the first look.
    connected: Option<Vec<CString>>,
    /// [`changes::settings_epoch`] when they were read.
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
            && self.epoch == changes::settings_epoch()
    }

    /// Nothing is taken to be in force any more: the next request sets everything anew.
    pub fn doubt(&mut self) {
        self.role = None;
    }

    /// Puts the role's settings and the search_path in force, in a transaction of its own. False if they were.
    ///
    /// # Safety
    /// On the main thread, outside a transaction.
    pub unsafe fn assume(&mut self, role: Oid, search_path: &CStr) -> Result<bool, PgError> {
        if self.is(role, search_path) {
            return Ok(false);
        }
        // Before the settings are read: what changes meanwhile is read again.
        let epoch = changes::settings_epoch();
        // Until it has succeeded nothing is known to be in force.
        self.role = None;
        let previous = std::mem::take(&mut self.settings);
        let connected = self.connected.take();
        // SAFETY: by contract. What is called inside raises through pgrx's guards, so values are dropped.
        let changed = unsafe {
            attempt(Report::Log, || {
                crate::worker::transaction::begin();
                set(c"search_path", Some(SAFE_PATH));
                let connected = connected.unwrap_or_else(|| names(stored_settings(BOOTSTRAP)));
                let (bases, settings) = (base_values(&connected), stored_settings(role));
                for name in &previous {
                    set(name, None);
                }
                for (name, value) in &bases {
                    set(name, Some(value));
                }
                set_base();
                for (name, value) in &settings {
                    set(name, Some(value));
                }
                set(c"search_path", Some(search_path));
                pg_sys::CommitTransactionCommand();
                (settings, connected)
            })
        };
        match changed {
            Ok((settings, connected)) => {
                self.settings = names(settings);
                self.connected = Some(connected);
                self.search_path = search_path.to_owned();
                self.role = Some(role);
                self.epoch = epoch;
                Ok(true)
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
///
/// # Safety
/// Inside a transaction and a guard.
pub unsafe fn set(name: &CStr, value: Option<&CStr>) {
    // SAFETY: by contract.
    unsafe { set_until(name, value, pg_sys::GucAction::GUC_ACTION_SET) }
}

/// Sets a setting until the transaction ends.
///
/// # Safety
/// Inside a transaction and a guard.
pub unsafe fn set_local(name: &CStr, value: &CStr) {
    // SAFETY: by contract.
    unsafe { set_until(name, Some(value), pg_sys::GucAction::GUC_ACTION_LOCAL) }
}

unsafe fn set_until(name: &CStr, value: Option<&CStr>, action: pg_sys::GucAction::Type) {
    // SAFETY: inside a transaction and a guard. A name that no longer exists is a warning.
    unsafe {
        pg_sys::set_config_option(
            name.as_ptr(),
            value.map_or(std::ptr::null(), CStr::as_ptr),
            pg_sys::GucContext::PGC_SUSET,
            pg_sys::GucSource::PGC_S_SESSION,
            action,
            true,
            pgrx::PgLogLevel::WARNING as c_int,
            false,
        );
    }
}

/// A search_path in which no name of a user's comes before PostgreSQL's own: queries of ours resolve in it.
pub const SAFE_PATH: &CStr = c"pg_catalog, pg_temp";
/// The catalog cache of roles.
const AUTHOID: c_int = pg_sys::SysCacheIdentifier::AUTHOID as c_int;
/// The role that a worker connects as.
const BOOTSTRAP: Oid = Oid::from_u32(pg_sys::BOOTSTRAP_SUPERUSERID);

fn names(settings: Vec<(CString, CString)>) -> Vec<CString> {
    settings.into_iter().map(|(name, _)| name).collect()
}

/// What `ALTER DATABASE … SET` and `ALTER ROLE … SET` say for a session of this role here, as far as it counts; what comes
/// later wins, as when a session begins. Whether it might be said was checked when it was stored.
unsafe fn stored_settings(role: Oid) -> Vec<(CString, CString)> {
    let lines = query(|client| {
        let rows = client.select(
            "select line from pg_db_role_setting, unnest(setconfig) line \
             where setrole in (0, $1) and setdatabase in (0, (select oid from pg_database \
             where datname = current_database())) order by setrole <> 0, setdatabase <> 0",
            None,
            &[role.into()],
        )?;
        rows.map(|row| row.get::<String>(1)).collect()
    });
    let pair = |line: String| {
        let (name, value) = line.split_once('=')?;
        if user_settings::class(name) != user_settings::Class::InForce {
            return None;
        }
        Some((CString::new(name).ok()?, CString::new(value).ok()?))
    };
    lines.into_iter().flatten().filter_map(pair).collect()
}

/// What settings are without those that the connection has brought: PostgreSQL keeps only the latter. None
/// are asked for in most databases.
unsafe fn base_values(names: &[CString]) -> Vec<(CString, CString)> {
    let mut values = Vec::new();
    for name in names {
        // SAFETY: inside a transaction. Whoever reads the configuration file must be a superuser.
        let value = unsafe { as_superuser(|| base_value(name)) };
        values.extend(value.map(|value| (name.clone(), value)));
    }
    values
}

fn base_value(name: &CStr) -> Option<CString> {
    let values = query(|client| {
        let rows = client.select(
            "select coalesce((select setting from pg_file_settings where lower(name) = lower($1) and applied \
             order by seqno desc limit 1), \
             (select boot_val from pg_settings where lower(name) = lower($1)), '')",
            None,
            &[name.to_string_lossy().into_owned().into()],
        )?;
        rows.map(|row| row.get::<String>(1)).collect()
    });
    values.into_iter().flatten().next().and_then(|value| CString::new(value).ok())
}

unsafe fn as_superuser<T>(work: impl FnOnce() -> T) -> T {
    // SAFETY: inside a transaction, whose end restores the user if `work` raises.
    unsafe {
        let (mut user, mut context) = (Oid::INVALID, 0);
        pg_sys::GetUserIdAndSecContext(&mut user, &mut context);
        let restricted = pg_sys::SECURITY_LOCAL_USERID_CHANGE | pg_sys::SECURITY_RESTRICTED_OPERATION;
        pg_sys::SetUserIdAndSecContext(BOOTSTRAP, context | restricted as c_int);
        let result = work();
        pg_sys::SetUserIdAndSecContext(user, context);
        result
    }
}

/// Runs a query of ours with a snapshot of its own.
fn query<T>(work: impl FnOnce(&SpiClient<'_>) -> Result<Vec<T>, pgrx::spi::Error>) -> Vec<T> {
    // SAFETY: inside a transaction.
    unsafe { pg_sys::PushActiveSnapshot(pg_sys::GetTransactionSnapshot()) };
    let result = pgrx::Spi::connect(|client| work(client));
    // SAFETY: pushed above.
    unsafe { pg_sys::PopActiveSnapshot() };
    result.unwrap_or_else(|error| pgrx::error!("cannot read the settings of a role: {error}"))
}

/// Puts [`SAFE_PATH`] in force until [`leave_safe_path`].
///
/// # Safety
/// Inside a guard and a transaction.
pub unsafe fn enter_safe_path() -> c_int {
    // SAFETY: by contract.
    unsafe {
        let level = pg_sys::NewGUCNestLevel();
        pg_sys::set_config_option(
            c"search_path".as_ptr(),
            SAFE_PATH.as_ptr(),
            pg_sys::GucContext::PGC_USERSET,
            pg_sys::GucSource::PGC_S_SESSION,
            pg_sys::GucAction::GUC_ACTION_SAVE,
            true,
            0,
            false,
        );
        level
    }
}

/// Undoes [`enter_safe_path`].
///
/// # Safety
/// In the transaction of [`enter_safe_path`].
pub unsafe fn leave_safe_path(level: c_int) {
    // SAFETY: by contract.
    unsafe { pg_sys::AtEOXact_GUC(true, level) }
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

/// Whether there is such a role.
///
/// # Safety
/// Inside a transaction.
pub unsafe fn exists(role: Oid) -> bool {
    let none = Datum::from(0);
    // SAFETY: by contract.
    unsafe { pg_sys::SearchSysCacheExists(AUTHOID, Datum::from(role), none, none, none) }
}

/// An error if there is no such role any more. Whoever runs as a role that is gone has the rights of PUBLIC, and those of
/// the next role that gets the number.
///
/// # Safety
/// Inside a guard and a transaction; an error jumps or panics.
pub unsafe fn require(role: Oid) {
    // SAFETY: by contract.
    if unsafe { !exists(role) } {
        crate::guard::raise(PgError {
            sqlstate: *b"42704",
            message: format!("role with OID {} does not exist", role.to_u32()),
            hint: Some("Register it anew, with a role that exists.".into()),
            ..PgError::default()
        });
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
