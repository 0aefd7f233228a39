//! Whether routes and guards can be served, asked before anybody does: their plans are made as the roles that requests run as, of what this
//! transaction has made, and thrown away.

use pg::guard::{PgError, unwind};
use session::authority::{NothingOpen, as_role};
use session::subtransaction::in_subtransaction;

use super::endpoint::{Endpoint, Target};
use super::ready::make_ready;
use super::table::{NoTable, Table};
use super::types::Types;

/// A route or a guard that cannot be served.
pub struct Unready {
    /// Method and pattern; of a guard `guard` and its prefix.
    pub route: (String, String),
    /// What its plans fail by.
    pub error: PgError,
}

/// Routes and guards of functions that this role owned when they were registered, as far as they cannot be served.
///
/// # Safety
/// On the main thread of a session, inside a transaction with a snapshot, as the extension's owner.
pub unsafe fn unready(owner: &str, nothing_open: &NothingOpen) -> Vec<Unready> {
    // SAFETY: by contract; pgrx guards each call, so values are dropped.
    let table = match unsafe { Table::of_transaction() } {
        Ok(table) => table,
        Err(NoTable::Failed(error)) => unwind(error),
        Err(NoTable::NoExtension | NoTable::WrongVersion) => {
            pgrx::error!("howdah's library does not serve this version of the extension")
        }
    };
    let Table { types, endpoints, guards, .. } = table;
    let guards = guards.into_iter().map(|guard| guard.endpoint);
    let unready = |mut endpoint: Endpoint| {
        let Target::Function { method, pattern, owner: Some(of), .. } = &endpoint.registration.target else {
            return None;
        };
        let route = (of == owner).then(|| (method.clone(), pattern.clone()))?;
        let error = problem(&mut endpoint, &types, nothing_open);
        endpoint.forget_plans();
        Some(Unready { route, error: error? })
    };
    endpoints.into_iter().chain(guards).filter_map(unready).collect()
}

/// What the endpoint's plans fail by.
fn problem(endpoint: &mut Endpoint, types: &Types, nothing_open: &NothingOpen) -> Option<PgError> {
    let (role, path) = (endpoint.registration.role, endpoint.registration.search_path.clone());
    // SAFETY: inside a transaction; what is called raises through pgrx's guards.
    let made = unsafe {
        in_subtransaction(|| {
            let is_ready = as_role(role, &path, nothing_open, || make_ready(endpoint, types));
            // The transaction has failed then.
            if let Some(error) = endpoint.reason().filter(|_| !is_ready) {
                unwind(error.clone());
            }
        })
    };
    made.err()
}
