//! Which values are secrets: those of arguments whose type is `http.secret`, or a domain over it, and those that are named so.

use pgrx::pg_sys::{self, Oid};
use session::withheld;

use super::types::Types;

/// Words that make a value a secret by its name. `http.secret` is the certain way.
const WORDS: [&str; 3] = ["password", "secret", "token"];
/// A shorter value of an argument that is only named so is a count or a flag.
const SHORTEST: usize = 4;

/// Why the values of an argument are secrets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Secrecy {
    /// They are none.
    Open,
    /// Its name has one of a few words.
    Named,
    /// Its type says so.
    Typed,
}

impl Secrecy {
    /// That of an argument.
    ///
    /// # Safety
    /// Inside a transaction; the type exists.
    pub(crate) unsafe fn of(name: &str, type_oid: Oid, types: &Types) -> Secrecy {
        // SAFETY: by contract.
        if types.secret != Oid::INVALID && unsafe { is_over(type_oid, types.secret) } {
            Secrecy::Typed
        } else if is_named(name) {
            Secrecy::Named
        } else {
            Secrecy::Open
        }
    }
}

/// Whether a value of this name is taken for a secret.
pub fn is_named(name: &str) -> bool {
    let name = name.to_lowercase();
    WORDS.iter().any(|word| name.contains(word))
}

/// Withholds a value that has a name of which [`is_named`] is true.
pub fn note_named(value: &str) {
    if value.len() >= SHORTEST {
        withheld::note(value);
    }
}

/// Whether a type is another, a domain over it, or an array of such.
unsafe fn is_over(type_oid: Oid, other: Oid) -> bool {
    // SAFETY: by contract of the caller; each type that is found exists.
    unsafe {
        let element = pg_sys::get_element_type(type_oid);
        let mut at = if element == Oid::INVALID { type_oid } else { element };
        while at != Oid::INVALID && at != other {
            at = base_of_domain(at);
        }
        at == other
    }
}

/// The type that a domain is made over; none if it is no domain.
unsafe fn base_of_domain(type_oid: Oid) -> Oid {
    // SAFETY: inside a transaction; the row is released, and read before.
    unsafe {
        let tuple = pg_sys::SearchSysCache1(pg_sys::SysCacheIdentifier::TYPEOID as i32, type_oid.into());
        if tuple.is_null() {
            return Oid::INVALID;
        }
        let row = pg_sys::GETSTRUCT(tuple).cast::<pg_sys::FormData_pg_type>();
        let base =
            if (*row).typtype as u8 == pg_sys::TYPTYPE_DOMAIN { (*row).typbasetype } else { Oid::INVALID };
        pg_sys::ReleaseSysCache(tuple);
        base
    }
}
