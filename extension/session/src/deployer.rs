//! As whom the files of an application run: its owner, whoever deploys. They find nothing of the deployer's session, and leave nothing in
//! it. What they make is the same for everybody: each begins with the same settings, and what it sets ends with it.

use std::collections::BTreeMap;
use std::ffi::{CStr, CString, c_int};

use pg::guard::{PgError, direct};
use pgrx::pg_sys::{self, Oid};

use crate::authority::{NothingOpen, with_path};
use crate::deploying::Running;
use crate::leftovers::give_up_opened;
use crate::request_transaction::check_constraints;
use crate::settings_in_force::{SAFE_PATH, set_local};
use crate::subtransaction::attempted;
use crate::{cursors, deferred, kept_plans, stored_settings, temporary};

/// What each file begins with, besides the search_path; docs/applications.md has the same list.
pub const SETTINGS: &[(&CStr, &CStr)] = &[
    (c"array_nulls", c"on"),
    (c"backslash_quote", c"safe_encoding"),
    (c"bytea_output", c"hex"),
    (c"check_function_bodies", c"on"),
    (c"DateStyle", c"ISO, MDY"),
    (c"default_table_access_method", c"heap"),
    (c"default_tablespace", c""),
    (c"default_toast_compression", c"pglz"),
    (c"escape_string_warning", c"on"),
    (c"extra_float_digits", c"1"),
    (c"IntervalStyle", c"postgres"),
    (c"quote_all_identifiers", c"off"),
    (c"row_security", c"on"),
    (c"session_replication_role", c"origin"),
    (c"standard_conforming_strings", c"on"),
    (c"statement_timeout", c"0"),
    (c"TimeZone", c"UTC"),
    (c"transform_null_equals", c"off"),
    (c"xmloption", c"content"),
];

/// Those by which PostgreSQL tells the same in other words, and reads the same words otherwise.
const OF_TEXTS: [&CStr; 9] = [
    c"backslash_quote",
    c"bytea_output",
    c"DateStyle",
    c"escape_string_warning",
    c"extra_float_digits",
    c"IntervalStyle",
    c"quote_all_identifiers",
    c"standard_conforming_strings",
    c"TimeZone",
];

/// Runs `work`, which describes objects or parses texts, so that the same is told in the same words whoever asks, and read so: by the settings
/// of [`SETTINGS`].
pub fn in_same_words<T>(work: impl FnOnce() -> T) -> T {
    // SAFETY: PostgreSQL's own; an error takes the level back with its transaction.
    unsafe {
        let level = pg_sys::NewGUCNestLevel();
        let of_texts = SETTINGS.iter().filter(|(name, _)| OF_TEXTS.contains(name));
        of_texts.for_each(|(name, value)| set_local(name, value));
        let result = work();
        pg_sys::AtEOXact_GUC(false, level);
        result
    }
}

/// What the deployer's session says, and no stored setting.
const OF_DEPLOYER: [&CStr; 2] = [c"lock_timeout", c"client_connection_check_interval"];

/// What a file begins with, as names and values that everybody may set.
pub fn settings(schema: &str) -> BTreeMap<String, String> {
    let text = |text: &CStr| text.to_string_lossy().into_owned();
    // Whoever may not set it has it as it is.
    let of_all = SETTINGS.iter().filter(|(name, _)| *name != c"session_replication_role");
    let mut settings: BTreeMap<String, String> =
        of_all.map(|(name, value)| (text(name), text(value))).collect();
    settings.insert("search_path".to_owned(), search_path(schema));
    settings
}

/// Where names of an application's files are looked up.
fn search_path(schema: &str) -> String {
    format!("{}, public, pg_temp", pgrx::spi::quote_identifier(schema))
}

/// Runs `work` as the owner in a subtransaction; what it has deferred runs at its end. Names are looked up in the schema, then in public.
/// An error undoes it.
///
/// It is not a security-restricted operation, as much of what makes things may not run in one. So what such an operation forbids is
/// seen to here: temporary objects, cursors that outlive it, settings, triggers that wait for the commit.
pub fn as_deployer<T>(owner: Oid, schema: &str, work: impl FnOnce() -> T) -> Result<T, PgError> {
    apart(|| temporary::hidden(|| kept_plans::apart(|| attempted(|| become_owner(owner, schema, work)))))
}

/// Likewise, for what is always undone: in a session that has nothing temporary it may make such things, as the tools of tests do.
pub fn as_tester<T>(owner: Oid, schema: &str, work: impl FnOnce() -> T) -> Result<T, PgError> {
    if temporary::is_there() {
        return as_deployer(owner, schema, work);
    }
    apart(|| kept_plans::apart(|| attempted(|| become_owner(owner, schema, work))))
}

/// Runs `work` with nothing of the session under way, and leaves nothing in it.
fn apart<T>(work: impl FnOnce() -> T) -> T {
    let _ = NothingOpen::required("the files of an application");
    // What the session has deferred is not the owner's.
    // SAFETY: inside a transaction.
    unsafe { direct(|| check_constraints()) };
    let _running = Running::begin();
    let result = work();
    // SAFETY: inside the transaction, after its subtransaction.
    unsafe { give_up_opened() };
    result
}

fn become_owner<T>(owner: Oid, schema: &str, work: impl FnOnce() -> T) -> T {
    let path = CString::new(search_path(schema)).unwrap_or_default();
    // SAFETY: inside a subtransaction, whose end sets user and settings back after an error.
    unsafe {
        let (mut user, mut context) = (Oid::INVALID, 0);
        pg_sys::GetUserIdAndSecContext(&mut user, &mut context);
        let level = pg_sys::NewGUCNestLevel();
        let stored = with_path(SAFE_PATH, || stored_settings::without_session());
        // How long to wait, for a lock and for a client that has gone, is the deployer's to say: it changes nothing that is made.
        let of_session = stored.iter().filter(|(name, _)| !OF_DEPLOYER.contains(&name.as_c_str()));
        of_session.for_each(|(name, value)| set_local(name, value));
        SETTINGS.iter().for_each(|(name, value)| set_local(name, value));
        set_local(c"search_path", &path);
        pg_sys::SetUserIdAndSecContext(owner, context | pg_sys::SECURITY_LOCAL_USERID_CHANGE as c_int);
        let result = deferred::initially(work);
        direct(|| check_constraints());
        cursors::close_own();
        temporary::refuse_made();
        pg_sys::AtEOXact_GUC(false, level);
        pg_sys::SetUserIdAndSecContext(user, context);
        result
    }
}
