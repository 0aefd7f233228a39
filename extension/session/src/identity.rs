//! Who a request runs as: role, search_path and the role's settings.
//!
//! The settings of a role and the search_path of an endpoint stay in force between requests, and are changed
//! when the next request needs others: most platforms have one or two of each. The role itself, and every
//! setting that a handler changes, are undone after each request.

use std::ffi::{CStr, CString, c_int};
use std::rc::Rc;

use pg::guard::{PgError, Report, attempt};
use pgrx::pg_sys::{self, Datum, Oid};

use crate::authority::with_path;
use crate::settings_in_force::{SAFE_PATH, set, set_base, set_base_local, set_local};
use crate::stored_settings::{self, Stored};
use crate::{cursors, kept_plans, temporary};

/// What is in force in this process.
#[derive(Default)]
pub struct Identity {
    role: Option<Oid>,
    search_path: CString,
    /// The settings that the role and the database have brought.
    stored: Rc<Stored>,
    /// [`stored_settings::generation`] when plans were last known to fit them.
    generation: u64,
}

/// What [`enter`] has changed.
#[derive(Clone, Copy)]
pub(crate) struct Entered {
    level: c_int,
    user: Oid,
    context: c_int,
}

impl Identity {
    /// Whether a request of this role and search_path can run without a change.
    pub fn is(&self, role: Oid, search_path: &CStr) -> bool {
        self.role == Some(role)
            && *self.search_path == *search_path
            && stored_settings::is_current(&self.stored)
    }

    /// Whether what is in force is what is stored, as far as this process has heard. While the settings cannot be read it goes on with older ones.
    pub fn is_certain(&self) -> bool {
        stored_settings::is_certain(&self.stored)
    }

    /// Nothing is taken to be in force any more: the next request sets everything anew.
    pub fn doubt(&mut self) {
        self.role = None;
        stored_settings::doubt();
    }

    /// Puts the role's settings and the search_path in force, in a transaction of its own. False if they were.
    ///
    /// # Safety
    /// On the main thread, outside a transaction.
    pub unsafe fn assume(&mut self, role: Oid, search_path: &CStr) -> Result<bool, PgError> {
        if self.is(role, search_path) {
            return Ok(false);
        }
        // SAFETY: by contract.
        let stored = unsafe { stored_settings::of(role)? };
        let is_in_force = self.role == Some(role) && *self.search_path == *search_path;
        if is_in_force && self.stored.is_same(&stored) {
            self.stored = stored;
            return Ok(false);
        }
        // Until it has succeeded nothing is known to be in force.
        self.role = None;
        // SAFETY: by contract. What is called inside raises through pgrx's guards, so values are dropped.
        let changed = unsafe {
            attempt(Report::Log, || {
                crate::own_transaction::begin();
                set(c"search_path", Some(SAFE_PATH));
                for (name, _) in &self.stored.settings {
                    set(name, None);
                }
                for (name, value) in &stored.bases {
                    set(name, Some(value));
                }
                set_base();
                for (name, value) in &stored.settings {
                    set(name, Some(value));
                }
                set(c"search_path", Some(search_path));
                pg_sys::CommitTransactionCommand();
            })
        };
        if let Err(error) = changed {
            // SAFETY: the transaction has failed.
            unsafe { crate::leftovers::abort() };
            return Err(error);
        }
        self.stored = stored;
        self.search_path = search_path.to_owned();
        self.role = Some(role);
        if self.generation != stored_settings::generation() {
            self.generation = stored_settings::generation();
            kept_plans::settings_changed();
        }
        Ok(true)
    }
}

/// Runs `work`, a request of `http.call`, with what [`Identity::assume`] would put in force in a worker, inside the caller's transaction.
/// It finds neither cursors nor temporary objects of the session, and makes none; what PostgreSQL keeps of it is forgotten.
pub fn assumed<T>(role: Oid, search_path: &CStr, work: impl FnOnce() -> T) -> T {
    temporary::hidden(|| {
        kept_plans::apart(|| {
            cursors::hidden(|| {
                // SAFETY: inside a transaction with a snapshot. An error is PostgreSQL's to clean up, with the transaction.
                let settings = with_path(SAFE_PATH, || unsafe { stored_settings::in_transaction(role) });
                with_path(search_path, || {
                    // SAFETY: as above; undone with the search_path.
                    unsafe {
                        set_base_local();
                        settings.iter().for_each(|(name, value)| set_local(name, value));
                        // One of the role's does not count.
                        set_local(c"search_path", search_path);
                    }
                    work()
                })
            })
        })
    })
}

/// The catalog cache of roles.
const AUTHOID: c_int = pg_sys::SysCacheIdentifier::AUTHOID as c_int;

/// Becomes the role, until [`leave_role`]. Under SECURITY_LOCAL_USERID_CHANGE a handler can neither SET ROLE,
/// RESET ROLE nor SET SESSION AUTHORIZATION.
///
/// # Safety
/// Inside a guard and a transaction.
pub(crate) unsafe fn enter(role: Oid) -> Entered {
    kept_plans::run_as(role);
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
        pg::guard::raise(PgError {
            sqlstate: *b"42704",
            message: format!("role with OID {} does not exist", role.to_u32()),
            hint: Some("Register it anew, with a role that exists.".into()),
            ..PgError::default()
        });
    }
}

/// Undoes what the request has set since [`enter`].
///
/// # Safety
/// Inside a guard, in the transaction of [`enter`].
pub(crate) unsafe fn leave_settings(entered: Entered) {
    // SAFETY: by contract.
    unsafe { pg::AtEOXact_GUC(false, entered.level) };
}

/// Becomes who it was before [`enter`].
///
/// # Safety
/// Inside a guard, in the transaction of [`enter`] or right after its commit.
pub(crate) unsafe fn leave_role(entered: Entered) {
    // SAFETY: by contract.
    unsafe { pg::SetUserIdAndSecContext(entered.user, entered.context) };
}
