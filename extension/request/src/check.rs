//! Whether routes, pages and guards can be served, asked before anybody does: their plans are made as the roles that requests run as, of what this
//! transaction has made, and thrown away.

use pg::guard::{PgError, unwind};
use session::authority::{NothingOpen, as_role};
use session::subtransaction::in_subtransaction;

use super::endpoint::{Endpoint, Target};
use super::ready::make_ready;
use super::table::{NoTable, Table};
use super::types::Types;

/// A route, a page or a guard that cannot be served.
pub struct Unready {
    /// `route`, `page` or `guard`.
    pub kind: &'static str,
    /// Method and pattern; of a guard its prefix.
    pub names: Vec<String>,
    /// What its plans fail by.
    pub error: PgError,
}

/// Routes, pages and guards of functions that this role owned when they were registered, as far as they cannot be served.
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
    let guards = guards.into_iter().map(|guard| (guard.endpoint, true));
    let unready = |(mut endpoint, guards): (Endpoint, bool)| {
        let Target::Function { method, pattern, owner: Some(of), is_page, .. } =
            &endpoint.registration.target
        else {
            return None;
        };
        let (kind, names) = match (guards, is_page) {
            _ if of != owner => return None,
            (true, _) => ("guard", vec![pattern.clone()]),
            (false, true) => ("page", vec![method.clone(), pattern.clone()]),
            (false, false) => ("route", vec![method.clone(), pattern.clone()]),
        };
        let error = problem(&mut endpoint, &types, nothing_open);
        endpoint.forget_plans();
        Some(Unready { kind, names, error: error? })
    };
    endpoints.into_iter().map(|endpoint| (endpoint, false)).chain(guards).filter_map(unready).collect()
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
