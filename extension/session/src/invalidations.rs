//! What changes in the catalogs: PostgreSQL's invalidations, as two numbers to compare.

use std::cell::Cell;
use std::ffi::CStr;
use std::time::Duration;

use pg::entry::unfailing_callback;
use pgrx::pg_sys::{self, Datum, Oid};

use super::kept_domains;

/// pg_db_role_setting, whose number is fixed.
const SETTINGS_TABLE: Oid = Oid::from_u32(2964);
/// The catalog cache of schemas.
const SCHEMAS: i32 = pg_sys::SysCacheIdentifier::NAMESPACEOID as i32;
/// How long reading what has changed waits for a lock. Meanwhile a worker serves nobody.
pub const LOCK_TIMEOUT: &CStr = c"20ms";
/// Time before it is tried again.
pub const PAUSE: Duration = Duration::from_millis(200);
/// Configuration tables.
pub const TABLES_WATCHED: usize = 12;

thread_local! {
    /// Whether the callbacks are there.
    static WATCHES: Cell<bool> = const { Cell::new(false) };
    /// Grows with every change of a relation, function, type, schema, cast, role or role membership.
    static EPOCH: Cell<u64> = const { Cell::new(1) };
    /// Grows with every change of a type, one that is undone included.
    static TYPES: Cell<u64> = const { Cell::new(1) };
    /// Whether the configuration must be read again.
    static STALE: Cell<bool> = const { Cell::new(true) };
    /// Grows when the configuration may have changed.
    static CONFIGURATION: Cell<u64> = const { Cell::new(0) };
    /// Whether news of functions or roles has come since [`accept`], while a request may have been computing with what was
    /// known before.
    static MIDWAY: Cell<bool> = const { Cell::new(false) };
    /// Grows when stored settings of roles or databases may have changed.
    static SETTINGS: Cell<u64> = const { Cell::new(1) };
    /// The configuration tables; invalid until they have been looked up.
    static TABLES: Cell<[Oid; TABLES_WATCHED]> = const { Cell::new([Oid::INVALID; TABLES_WATCHED]) };
}

/// Registers the callbacks, once in each process: at the start of a worker, and where a session needs them.
pub fn watch() {
    if WATCHES.replace(true) {
        return;
    }
    // SAFETY: on the main thread of a worker; the callbacks touch thread-local cells only and cannot fail.
    unsafe {
        pg_sys::CacheRegisterRelcacheCallback(Some(relation_changed), Datum::from(0));
        let types = pg_sys::SysCacheIdentifier::TYPEOID as i32;
        pg_sys::CacheRegisterSyscacheCallback(types, Some(types_changed), Datum::from(0));
        pg_sys::CacheRegisterSyscacheCallback(SCHEMAS, Some(schemas_changed), Datum::from(0));
        let functions = pg_sys::SysCacheIdentifier::PROCOID as i32;
        pg_sys::CacheRegisterSyscacheCallback(functions, Some(functions_changed), Datum::from(0));
        for cache in [
            pg_sys::SysCacheIdentifier::AUTHOID,
            pg_sys::SysCacheIdentifier::AUTHMEMROLEMEM,
            // Whoever owns the database is a member of pg_database_owner.
            pg_sys::SysCacheIdentifier::DATABASEOID,
            // A cast to json changes how rows are written.
            pg_sys::SysCacheIdentifier::CASTSOURCETARGET,
        ] {
            pg_sys::CacheRegisterSyscacheCallback(cache as i32, Some(plans_changed), Datum::from(0));
        }
    }
}

/// Names the configuration tables, after they have been looked up.
pub fn set_tables(tables: [Oid; TABLES_WATCHED]) {
    TABLES.set(tables);
}

/// The configuration tables, as far as they were looked up.
pub fn tables() -> impl Iterator<Item = Oid> {
    TABLES.get().into_iter().filter(|table| *table != Oid::INVALID)
}

/// A number that differs from an earlier one when functions, types, schemas or roles may have changed since.
pub fn epoch() -> u64 {
    EPOCH.get()
}

/// A number that differs from an earlier one when a type may have changed since, or been made and given up again.
pub(crate) fn types_epoch() -> u64 {
    TYPES.get()
}

/// A number that differs from an earlier one when `ALTER ROLE` or `ALTER DATABASE … SET` may have changed settings since.
pub(crate) fn settings_epoch() -> u64 {
    SETTINGS.get()
}

/// Tells all processes at commit that stored settings have changed: at COMMIT PREPARED, where it is prepared, and on standbys
/// too. PostgreSQL itself keeps no cache of them, and tells nobody.
///
/// # Safety
/// Inside a guard and a transaction.
pub unsafe fn announce_settings() {
    // SAFETY: by contract. The table is PostgreSQL's own.
    unsafe { pg_sys::CacheInvalidateRelcacheByRelid(SETTINGS_TABLE) };
}

/// Whether the configuration may have changed since [`configuration_read`].
pub fn configuration_is_stale() -> bool {
    STALE.get()
}

/// A number that grows when the configuration may have changed.
pub fn configuration() -> u64 {
    CONFIGURATION.get()
}

/// Whether the configuration may be another than that of the number, by what has been committed when it is asked.
///
/// # Safety
/// Inside a guard and a transaction, in no planning; an error jumps.
pub unsafe fn is_configuration_after(number: u64) -> bool {
    // SAFETY: by contract.
    unsafe { pg::AcceptInvalidationMessages() };
    configuration() != number
}

/// Marks the configuration as read. Call it before reading, so that a change meanwhile is not missed.
pub fn configuration_read() {
    STALE.set(false);
}

/// Marks the configuration as not read, after reading it has failed.
pub fn configuration_unread() {
    STALE.set(true);
}

/// Accepts the news that have come. To be called between two requests.
///
/// # Safety
/// Inside a guard, and in no planning; an error jumps.
pub unsafe fn accept() {
    // SAFETY: by contract.
    unsafe {
        settle();
        pg::AcceptInvalidationMessages();
    }
    // It came between two requests.
    MIDWAY.set(false);
}

/// Forgets plans and memberships if news of functions or roles has come since [`accept`], or since the last call. Whether it has.
///
/// PostgreSQL also accepts news wherever it takes a lock, and so while it plans a statement or looks up who is a member of
/// what. A plan or a list that is made just then is kept as if it were new: plans that are not saved yet hear of nothing, and
/// for one that is made anew what came meanwhile is forgotten at the end. Tables are locked, so only functions and roles can
/// change under a plan. A session would end some day, a worker does not.
///
/// # Safety
/// In no planning.
pub unsafe fn settle() -> bool {
    let came = MIDWAY.replace(false);
    if came {
        for cache in [pg_sys::SysCacheIdentifier::AUTHOID, pg_sys::SysCacheIdentifier::AUTHMEMROLEMEM] {
            // SAFETY: the callbacks of these caches only set flags and drop what they keep.
            unsafe { pg::CallSyscacheCallbacks(cache as i32, 0) };
        }
        // Ours is among them.
        MIDWAY.set(false);
    }
    came
}

unfailing_callback! {
    unsafe fn relation_changed(_: Datum, relation: Oid) {
        let tables = TABLES.get();
        // Before the first look-up is over, every relation may be one of them.
        if relation == Oid::INVALID || tables.contains(&Oid::INVALID) || tables.contains(&relation) {
            STALE.set(true);
            CONFIGURATION.set(CONFIGURATION.get() + 1);
        }
        if relation == Oid::INVALID || relation == SETTINGS_TABLE {
            SETTINGS.set(SETTINGS.get() + 1);
        }
        EPOCH.set(EPOCH.get() + 1);
    }
}

unfailing_callback! {
    unsafe fn types_changed(_: Datum, _cache: i32, _hash: u32) {
        EPOCH.set(EPOCH.get() + 1);
        TYPES.set(TYPES.get() + 1);
    }
}

unfailing_callback! {
    unsafe fn schemas_changed(_: Datum, _cache: i32, _hash: u32) {
        EPOCH.set(EPOCH.get() + 1);
    }
}

unfailing_callback! {
    /// A plan that has the value of an immutable function in its place depends on the function in no way that PostgreSQL
    /// notes, and would outlive both the function and the right to it.
    unsafe fn functions_changed(_: Datum, _cache: i32, _hash: u32) {
        EPOCH.set(EPOCH.get() + 1);
        MIDWAY.set(true);
        kept_domains::forget();
        // SAFETY: as in `plans_changed`.
        unsafe { pg::ResetPlanCache() };
    }
}

unfailing_callback! {
    /// Which policies of row security count, and whether the call of a function may be replaced by its body, is decided by the
    /// role's memberships when a statement is rewritten and planned. When they change, PostgreSQL keeps the plan: before 15.19
    /// and its like in any case, since then unless it depends on policies. A session ends some day, a worker does not. So all
    /// plans are made anew, those that PL/pgSQL keeps as well. Before version 16 it also keeps which schemas of the search_path the
    /// role may use, unless schemas change.
    unsafe fn plans_changed(_: Datum, _cache: i32, _hash: u32) {
        EPOCH.set(EPOCH.get() + 1);
        MIDWAY.set(true);
        kept_domains::forget();
        // SAFETY: set flags and can neither fail nor allocate; plancache.c calls the former from callbacks of its own.
        unsafe {
            pg::ResetPlanCache();
            pg::CallSyscacheCallbacks(SCHEMAS, 0);
        }
    }
}
