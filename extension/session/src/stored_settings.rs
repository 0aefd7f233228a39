//! What `ALTER ROLE` and `ALTER DATABASE … SET` say, as last read.
//!
//! Whoever can log in may have others wait for PostgreSQL's table of these settings. A session has read it once and goes on,
//! and so does a worker: it waits for [`LOCK_TIMEOUT`], goes on with what it has read of the role before, and tries
//! again after [`PAUSE`].

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::ffi::{CStr, CString, c_int};
use std::rc::Rc;
use std::time::Instant;

use pg::guard::{PgError, Report};
use pgrx::pg_sys::{self, Oid};
use pgrx::spi::SpiClient;

use super::invalidations::{self, LOCK_TIMEOUT, PAUSE};
use super::settings_in_force::{SAFE_PATH, set_local};
use crate::own_transaction::transaction;
use crate::user_settings;

/// Names and values, in the order in which they are set.
type Settings = Vec<(CString, CString)>;

/// What counts for a role in this database.
#[derive(Default)]
pub(crate) struct Stored {
    /// What the settings that the connection has brought are without it.
    pub bases: Settings,
    /// Those of the role and of the database.
    pub settings: Settings,
    /// [`invalidations::settings_epoch`] when they were read; 0 if they are doubtful.
    epoch: Cell<u64>,
}

impl Stored {
    /// Whether others say the same.
    pub(crate) fn is_same(&self, other: &Stored) -> bool {
        self.bases == other.bases && self.settings == other.settings
    }
}

thread_local! {
    /// What was last read of each role.
    static KNOWN: RefCell<HashMap<Oid, Rc<Stored>>> = RefCell::default();
    /// Before which time they are not read again, after reading has failed.
    static READ_FROM: Cell<Option<Instant>> = const { Cell::new(None) };
    /// Grows when what was known of a role turns out to have changed, or is doubtful.
    static GENERATION: Cell<u64> = const { Cell::new(1) };
}

/// A number that differs from an earlier one when plans may have been made under settings that have changed since.
pub fn generation() -> u64 {
    GENERATION.get()
}

/// Whether nothing newer is to be read now.
pub(crate) fn is_current(stored: &Stored) -> bool {
    is_certain(stored) || is_paused()
}

/// Whether they are those that are stored, as far as this process has heard: not while it goes on with older ones, because reading has failed.
pub(crate) fn is_certain(stored: &Stored) -> bool {
    stored.epoch.get() == invalidations::settings_epoch()
}

fn is_paused() -> bool {
    READ_FROM.get().is_some_and(|from| Instant::now() < from)
}

/// What a request of the role begins with, whatever this session has set: what the session's own settings are without it, and then what is
/// stored for the role and the database.
///
/// # Safety
/// Inside a guard and a transaction with a snapshot, where [`SAFE_PATH`] is in force.
pub(crate) unsafe fn in_transaction(role: Oid) -> Settings {
    // SAFETY: by contract.
    unsafe {
        let mut all = without_session();
        all.extend(stored_settings(role));
        all
    }
}

/// What the settings that this session, its role, its database or its client has changed are by the server's configuration.
///
/// # Safety
/// As for [`in_transaction`].
pub(crate) unsafe fn without_session() -> Settings {
    // SAFETY: by contract.
    unsafe { base_values(&user_settings::of_session()) }
}

/// Has everything read anew, after a reload.
pub fn doubt() {
    KNOWN.with_borrow(|known| known.values().for_each(|stored| stored.epoch.set(0)));
    GENERATION.set(GENERATION.get() + 1);
}

/// The settings of a role: as they are, or as they were when they could be read.
///
/// # Safety
/// On the main thread, outside a transaction.
pub(crate) unsafe fn of(role: Oid) -> Result<Rc<Stored>, PgError> {
    let known = KNOWN.with_borrow(|known| known.get(&role).cloned());
    if let Some(known) = &known
        && is_current(known)
    {
        return Ok(known.clone());
    }
    match read(role) {
        Ok(stored) => {
            READ_FROM.set(None);
            if known.is_some_and(|known| !known.is_same(&stored)) {
                GENERATION.set(GENERATION.get() + 1);
            }
            let stored = Rc::new(stored);
            KNOWN.with_borrow_mut(|known| known.insert(role, stored.clone()));
            Ok(stored)
        }
        Err(error) => {
            READ_FROM.set(Some(Instant::now() + PAUSE));
            if error.sqlstate == *b"57014" {
                // The cancel was meant for the request.
                // SAFETY: PostgreSQL's own variables, on the main thread.
                unsafe {
                    pg_sys::QueryCancelPending = 1;
                    pg_sys::InterruptPending = 1;
                }
            }
            known.ok_or(error)
        }
    }
}

/// Reads the settings of roles of which nothing is known yet, so that it is when it is needed. What fails is logged.
///
/// # Safety
/// On the main thread, outside a transaction.
pub unsafe fn learn(roles: impl Iterator<Item = Oid>) {
    for role in roles {
        let is_known = KNOWN.with_borrow(|known| known.contains_key(&role));
        // SAFETY: by contract.
        if !is_known && unsafe { of(role) }.is_err() {
            return;
        }
    }
}

fn read(role: Oid) -> Result<Stored, PgError> {
    // Before they are read: what changes meanwhile is read again.
    let epoch = Cell::new(invalidations::settings_epoch());
    let brought = user_settings::brought();
    transaction(Report::Log, || {
        // SAFETY: inside a transaction and a guard.
        unsafe {
            set_local(c"lock_timeout", LOCK_TIMEOUT);
            set_local(c"search_path", SAFE_PATH);
            Stored { bases: base_values(&brought), settings: stored_settings(role), epoch }
        }
    })
}

/// The role that a worker connects as.
const BOOTSTRAP: Oid = Oid::from_u32(pg_sys::BOOTSTRAP_SUPERUSERID);

/// What `ALTER DATABASE … SET` and `ALTER ROLE … SET` say for a session of this role here, as far as it counts; what comes
/// later wins, as when a session begins. Whether it might be said was checked when it was stored.
unsafe fn stored_settings(role: Oid) -> Settings {
    let lines = query(|client| {
        let rows = client.select(
            "select line from pg_db_role_setting, unnest(setconfig) line \
             where setrole in (0, $1) and setdatabase in (0, $2) order by setrole <> 0, setdatabase <> 0",
            None,
            // SAFETY: PostgreSQL's own variable.
            &[role.into(), unsafe { pg_sys::MyDatabaseId }.into()],
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
unsafe fn base_values(names: &[CString]) -> Settings {
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

/// Runs a query of ours in the transaction's snapshot.
fn query<T>(work: impl FnOnce(&SpiClient<'_>) -> Result<Vec<T>, pgrx::spi::Error>) -> Vec<T> {
    let result = pgrx::Spi::connect(|client| work(client));
    result.unwrap_or_else(|error| pgrx::error!("cannot read the settings of a role: {error}"))
}
