//! What is temporary belongs to a session, and its schema's name, `pg_temp_N`, to the next session that gets the number. So
//! nothing that is registered may name it: another's functions would be found there, and run as the route's role. Within the session,
//! names are looked up there first, unless a search_path says otherwise: what runs as somebody else does not find it ([`hidden`]).

use std::cell::Cell;
use std::ffi::{CString, c_char, c_int};

use pg::list::{list_length, nth};
use pg::refuse::{refuse, refuse_with_hint};
use pg::text::string;
use pgrx::pg_sys::{self, Oid};
use pgrx::prelude::*;

use super::relations;

/// Whether a schema is some session's for what is temporary.
pub fn is_temporary(schema: Oid) -> bool {
    // SAFETY: a look-up inside a transaction.
    unsafe { pg_sys::isAnyTempNamespace(schema) }
}

/// Whether a table, view or composite type is temporary.
pub fn is_temporary_relation(relation: Oid) -> bool {
    // SAFETY: a look-up inside a transaction; a relation that is gone has no schema.
    is_temporary(unsafe { pg_sys::get_rel_namespace(relation) })
}

/// An error, if what is to be registered is temporary. `what` begins with its article.
pub fn refuse_if(is_temporary: bool, what: &str) {
    if is_temporary {
        refuse_with_hint(
            PgSqlErrorCode::ERRCODE_WRONG_OBJECT_TYPE,
            &format!("{what} that is temporary cannot be registered"),
            "It goes when its session ends, and other processes do not find it. Make it in a schema.",
        );
    }
}

/// An error if a search_path names a session's schema by its number. `pg_temp` is whoever runs.
pub fn refuse_in_path(path: &str) {
    if let Some(name) = schemas(path).into_iter().flatten().find(|name| is_numbered(name)) {
        refuse_with_hint(
            PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE,
            &format!("search_path names {name}, which is another session's in time"),
            "Leave it out.",
        );
    }
}

/// A search_path that was stored, without schemas of sessions: rows may be older than [`refuse_in_path`], or written by hand.
pub fn lasting_path(path: String) -> String {
    match schemas(&path) {
        Some(names) if names.iter().any(|name| is_numbered(name)) => {
            let kept = names.iter().filter(|name| !is_numbered(name)).map(pgrx::spi::quote_identifier);
            let kept: Vec<String> = kept.collect();
            if kept.is_empty() { "pg_temp".into() } else { kept.join(", ") }
        }
        // What cannot be read cannot be set either.
        _ => path,
    }
}

fn is_numbered(schema: &str) -> bool {
    schema.starts_with("pg_temp_") || schema.starts_with("pg_toast_temp_")
}

/// The names in a search_path, as PostgreSQL reads it.
fn schemas(path: &str) -> Option<Vec<String>> {
    let mut text = CString::new(path).ok()?.into_bytes_with_nul();
    let mut names = std::ptr::null_mut();
    // SAFETY: the text ends with NUL, is written to, and outlives the list, which points into it.
    unsafe {
        let is_list = pg_sys::SplitIdentifierString(text.as_mut_ptr().cast(), b',' as c_char, &mut names);
        is_list.then(|| (0..list_length(names)).map(|place| string(nth(names, place).cast())).collect())
    }
}

thread_local! {
    /// Whether [`hidden`] runs.
    static HIDDEN: Cell<bool> = const { Cell::new(false) };
}

/// Whether the session has, or had, something temporary.
pub(crate) fn is_there() -> bool {
    Schemas::of_session() != Schemas::NONE
}

/// Runs `work`, which finds nothing that is temporary in this session, and makes nothing temporary. It runs as somebody else than
/// who has made that: a trigger of whoever owns a table may write to another by its bare name, under a search_path of its own.
pub(crate) fn hidden<T>(work: impl FnOnce() -> T) -> T {
    /// Shows it again, after an error as well: before the transaction or subtransaction ends, which may give the schema up.
    struct Shown {
        schemas: Schemas,
        was_hidden: bool,
    }
    impl Drop for Shown {
        fn drop(&mut self) {
            self.schemas.set();
            HIDDEN.set(self.was_hidden);
        }
    }
    let shown = Shown { schemas: Schemas::of_session(), was_hidden: HIDDEN.replace(true) };
    if shown.schemas != Schemas::NONE {
        Schemas::NONE.set();
    }
    let result = work();
    refuse_made();
    result
}

/// An error if [`hidden`] runs and something temporary was made all the same. To be called where the error undoes it, too.
pub(crate) fn refuse_made() {
    if HIDDEN.get() && Schemas::of_session() != Schemas::NONE {
        refuse_to_make();
    }
}

/// The schemas of what is temporary in this session.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Schemas {
    of_objects: Oid,
    of_toast: Oid,
}

impl Schemas {
    const NONE: Schemas = Schemas { of_objects: Oid::INVALID, of_toast: Oid::INVALID };

    fn of_session() -> Schemas {
        let mut schemas = Schemas::NONE;
        // SAFETY: PostgreSQL's own variables.
        unsafe { pg_sys::GetTempNamespaceState(&raw mut schemas.of_objects, &raw mut schemas.of_toast) };
        schemas
    }

    fn set(self) {
        // SAFETY: as above.
        unsafe { pg_sys::SetTempNamespaceState(self.of_objects, self.of_toast) };
        if self != Schemas::NONE {
            self.recognize();
        }
    }

    /// Tables of which PostgreSQL has read the catalogs meanwhile look like another session's.
    fn recognize(self) {
        relations::for_each(|relation| {
            // SAFETY: a relation that is kept.
            unsafe {
                let schema = (*(*relation).rd_rel).relnamespace;
                if [self.of_objects, self.of_toast].contains(&schema) {
                    (*relation).rd_islocaltemp = true;
                }
            }
        });
    }
}

/// An error if PostgreSQL empties the session's schema although it is in use: it is about to make something temporary, and does not
/// know that it is. These are the flags of an object that is dropped.
pub(crate) fn refuse_emptying(flags: c_int) {
    if HIDDEN.get() && flags & pg_sys::PERFORM_DELETION_SKIP_ORIGINAL as c_int != 0 {
        refuse_to_make();
    }
}

fn refuse_to_make() -> ! {
    refuse(
        PgSqlErrorCode::ERRCODE_INSUFFICIENT_PRIVILEGE,
        "cannot create temporary objects within security-restricted operation",
    )
}
