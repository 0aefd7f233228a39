//! Whether the owner of a route's function may answer for the route.
//!
//! A route names its function by text. Once that has been dropped, whoever may create in its schema can make another of the same
//! name, which would run as the route's role. So a route remembers who owned its function when it was registered. Another's
//! function answers only if its owner might have replaced the first owner's, or might have registered the route.

use pgrx::pg_sys::{self, Oid};
use session::authority::{may_become, name_of, web_role};

use super::endpoint::{Registration, Target};
use super::function::Function;

/// Why the function may not answer for the route, if so.
pub(crate) fn obstacle(function: &Function, registration: &Registration) -> Option<String> {
    let Target::Function { owner: Some(registered), .. } = &registration.target else { return None };
    if may_answer(function.owner(), registered, registration.role) {
        return None;
    }
    let owner = name_of(function.owner());
    // The view has room for some 250 bytes.
    Some(format!(
        "{} is {owner}'s now, and was {registered}'s when the route was registered: register it anew if that is right",
        function.qualified_name()
    ))
}

/// Whether what a role owns may run as another, where it has the name of what somebody else owned at registration.
pub fn may_answer(owner: Oid, registered: &str, role: Oid) -> bool {
    name_of(owner) == registered || might_replace(owner, registered) || might_register(owner, role)
}

/// Whether one role has the rights of another, as CREATE OR REPLACE asks; superusers have.
fn might_replace(user: Oid, registered: &str) -> bool {
    // What comes out of a table has no byte 0.
    let registered = std::ffi::CString::new(registered).unwrap_or_default();
    // SAFETY: look-ups inside a transaction.
    unsafe {
        let registered = pg_sys::get_role_oid(registered.as_ptr(), true);
        pg_sys::superuser_arg(user)
            || registered != Oid::INVALID && pg_sys::has_privs_of_role(user, registered)
    }
}

/// Whether a role may become the route's, or register for it because everybody may who registers.
fn might_register(user: Oid, role: Oid) -> bool {
    // SAFETY: look-ups inside a transaction.
    may_become(user, role)
        || role == web_role()
            && unsafe {
                let admin = pg_sys::get_role_oid(c"howdah_admin".as_ptr(), true);
                admin != Oid::INVALID && pg_sys::has_privs_of_role(user, admin)
            }
}
