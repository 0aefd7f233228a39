//! As whom code runs: who asks, who may, and the one way to run something as somebody else.
//!
//! Whoever may do a thing is the **current** user, asked here: inside a SECURITY DEFINER function its owner, inside maintenance
//! the owner of the table. What runs as another role runs restricted, with PostgreSQL's own schema alone on the search path, and
//! every text of it is ours: what users have made must not be in it. docs/rights.md, "Whose code runs as whom", lists all of it.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::ffi::{CStr, c_char};

use pg::catalog::attributes;
use pg::refuse::{refuse, refuse_with_hint};
use pg::text::string;
use pg::transaction_end::{SubtransactionEnd, at_subtransaction_end, at_transaction_end};
use pg::version;
use pgrx::datum::DatumWithOid;
use pgrx::pg_sys::{self, Datum, Oid};
use pgrx::prelude::*;

use crate::settings_in_force::SAFE_PATH;
use crate::{compiled, dblink, kept_plans, temporary};

/// The current user.
pub fn current_user() -> Oid {
    // SAFETY: PostgreSQL's own state.
    unsafe { pg_sys::GetUserId() }
}

/// The owner of the extension's schemas and tables.
pub fn owner() -> Oid {
    // SAFETY: look-ups inside a transaction; the schema exists, as what calls this belongs to it.
    unsafe {
        let schema = pg_sys::get_namespace_oid(c"queue".as_ptr(), false);
        let cache = pg_sys::SysCacheIdentifier::NAMESPACEOID as i32;
        let tuple = pg_sys::SearchSysCache1(cache, schema.into());
        let owner = (*pg_sys::GETSTRUCT(tuple).cast::<pg_sys::FormData_pg_namespace>()).nspowner;
        pg_sys::ReleaseSysCache(tuple);
        owner
    }
}

/// Runs `work` as the extension's owner, to whom the tables belong. Its SQL is ours to the letter, and what comes from users is
/// data of PostgreSQL's own types. Event triggers and triggers of whoever administers the database run in it: they find neither
/// what is temporary in the session nor what PL/pgSQL has compiled there.
pub fn as_owner<T>(work: impl FnOnce() -> T) -> T {
    compiled::forget();
    temporary::hidden(|| become_role(owner(), SAFE_PATH, work))
}

/// Runs `work` as a role with a search path. It may neither become another role nor leave anything in the session but what
/// PostgreSQL lets maintenance leave, such as advisory locks; nothing is configured below it ([`refuse_restricted`]), and it does
/// not see the request that runs. What PostgreSQL and PL/pgSQL keep of what ran so is forgotten.
pub fn as_role<T>(role: Oid, search_path: &CStr, _: &NothingOpen, work: impl FnOnce() -> T) -> T {
    kept_plans::apart(|| become_role(role, search_path, work))
}

thread_local! {
    /// Whether something runs as somebody else.
    static RESTRICTED: Cell<bool> = const { Cell::new(false) };
}

/// Whether something runs as somebody else.
pub fn runs_restricted() -> bool {
    RESTRICTED.get()
}

thread_local! {
    /// The transaction levels in which triggers run that were left to the end of a request, or of a file.
    static FINAL: RefCell<Vec<i32>> = const { RefCell::new(Vec::new()) };
}

/// Runs the triggers that were left to the end, or what finds those of others: none of it can put any off, or have them run. An error may
/// jump over this frame.
pub fn as_final_triggers<T>(run: impl FnOnce() -> T) -> T {
    at_transaction_end(|_| FINAL.with_borrow_mut(Vec::clear));
    at_subtransaction_end(|end| {
        if let SubtransactionEnd::RolledBack(_) = end {
            // SAFETY: PostgreSQL's own state; it is the level that ends.
            let level = unsafe { pg_sys::GetCurrentTransactionNestLevel() };
            FINAL.with_borrow_mut(|levels| levels.retain(|known| *known < level));
        }
    });
    // SAFETY: PostgreSQL's own state.
    let level = unsafe { pg_sys::GetCurrentTransactionNestLevel() };
    FINAL.with_borrow_mut(|levels| levels.push(level));
    let result = run();
    FINAL.with_borrow_mut(Vec::pop);
    result
}

/// An error if something runs as somebody else: `SET CONSTRAINTS` would have the triggers that wait for the end of the user's
/// transaction fire as whoever it is. PostgreSQL refuses what else would change the session.
pub fn refuse_set_constraints() {
    if FINAL.with_borrow(|levels| !levels.is_empty()) {
        refuse(
            PgSqlErrorCode::ERRCODE_INSUFFICIENT_PRIVILEGE,
            "SET CONSTRAINTS cannot be executed here: triggers that were left to the end are somebody else's",
        );
    }
    if RESTRICTED.get() {
        refuse(
            PgSqlErrorCode::ERRCODE_INSUFFICIENT_PRIVILEGE,
            "cannot execute SET CONSTRAINTS within security-restricted operation",
        );
    }
}

fn become_role<T>(role: Oid, search_path: &CStr, work: impl FnOnce() -> T) -> T {
    /// As it was, after an error as well.
    struct Before(bool);
    impl Drop for Before {
        fn drop(&mut self) {
            RESTRICTED.set(self.0);
        }
    }
    let _before = Before(RESTRICTED.replace(true));
    let restricted = pg_sys::SECURITY_LOCAL_USERID_CHANGE | pg_sys::SECURITY_RESTRICTED_OPERATION;
    // SAFETY: what is set here is set back below; after an error by PostgreSQL, with the transaction or subtransaction.
    unsafe {
        let (mut user, mut context) = (Oid::INVALID, 0);
        pg_sys::GetUserIdAndSecContext(&mut user, &mut context);
        pg_sys::SetUserIdAndSecContext(role, context | restricted as i32);
        let result = with_path(search_path, work);
        pg_sys::SetUserIdAndSecContext(user, context);
        result
    }
}

/// Runs `work` with a search path, and undoes all settings that it has changed.
pub fn with_path<T>(search_path: &CStr, work: impl FnOnce() -> T) -> T {
    // SAFETY: what is set here is set back below; after an error by PostgreSQL.
    unsafe {
        let level = pg_sys::NewGUCNestLevel();
        pg_sys::SetConfigOption(
            c"search_path".as_ptr(),
            search_path.as_ptr(),
            pg_sys::GucContext::PGC_USERSET,
            pg_sys::GucSource::PGC_S_SESSION,
        );
        let result = work();
        pg_sys::AtEOXact_GUC(false, level);
        result
    }
}

/// Runs a statement as the owner.
pub fn run_as_owner(statement: &str, arguments: &[DatumWithOid<'_>]) {
    as_owner(|| {
        if let Err(error) = Spi::run_with_args(statement, arguments) {
            error!("{error}");
        }
    });
}

/// The value of the first row that a statement returns, run as the owner; none if there is no row, or it is null. The statement
/// runs to its end, so that its triggers fire.
pub fn value_as_owner<T: FromDatum + IntoDatum>(
    statement: &str,
    arguments: &[DatumWithOid<'_>],
) -> Option<T> {
    rows_as_owner(statement, arguments, |row| row.get::<T>(1).ok()?).into_iter().next()
}

/// The rows of a statement, run as the owner, as values. The memory of a row ends with the statement: a `Datum` of it must be copied.
pub fn rows_as_owner<T>(
    statement: &str,
    arguments: &[DatumWithOid<'_>],
    row: impl Fn(pgrx::spi::SpiHeapTupleData) -> Option<T>,
) -> Vec<T> {
    as_owner(|| {
        // Not as a query that only reads: it would have the snapshot from before what this command has done and waited for.
        Spi::connect_mut(|client| match client.update(statement, None, arguments) {
            Ok(table) => table.filter_map(row).collect(),
            Err(error) => error!("{error}"),
        })
    })
}

/// An error inside a security-restricted operation. Maintenance runs code of a table's owner in it, whoever has begun it, and
/// that code must not configure what lasts.
pub fn refuse_restricted() {
    // SAFETY: PostgreSQL's own state.
    if unsafe { pg_sys::InSecurityRestrictedOperation() } {
        refuse_with_hint(
            PgSqlErrorCode::ERRCODE_INSUFFICIENT_PRIVILEGE,
            "nothing can be configured within a security-restricted operation",
            "Functions of indexes, materialized views and the like cannot change routes, listeners, queues or rights.",
        );
    }
}

/// What a grant says so that its member may become the role.
const WITH_SET: &str = if version::GRANTS_SAY_SET { " with set true" } else { "" };

/// The role of this name; an error unless the current user may have requests run as it.
pub fn check_role(name: &str) -> Oid {
    let role = role_of(name);
    let user = current_user();
    if role != web_role() && !may_become(user, role) {
        refuse_with_hint(
            PgSqlErrorCode::ERRCODE_INSUFFICIENT_PRIVILEGE,
            &format!("requests may run as {name} only if you are a member of it"),
            &format!("grant {name} to the role that registers{WITH_SET}, or name another role"),
        );
    }
    role
}

/// An error unless the current user may become the role as which a route runs, of which `title` is told: by `http.call` it would.
pub fn check_caller(role: Oid, title: &str) {
    if !may_become(current_user(), role) {
        let name = name_of(role);
        refuse_with_hint(
            PgSqlErrorCode::ERRCODE_INSUFFICIENT_PRIVILEGE,
            &format!("{title} runs as {name}, and only who may become {name} may call it"),
            &format!("grant {name} to {}{WITH_SET}", name_of(current_user())),
        );
    }
}

/// The role of this name; an error if there is none.
pub fn role_of(name: &str) -> Oid {
    // What SQL passes as text has no byte 0.
    let name = std::ffi::CString::new(name).unwrap_or_default();
    // SAFETY: a look-up inside a transaction.
    unsafe { pg_sys::get_role_oid(name.as_ptr(), false) }
}

/// The name of a role.
pub fn name_of(role: Oid) -> String {
    // SAFETY: a look-up inside a transaction; the result ends with NUL.
    unsafe { string(pg_sys::GetUserNameFromId(role, false)) }
}

/// The role that requests run as unless another is named; invalid if it is gone.
pub fn web_role() -> Oid {
    // SAFETY: a look-up inside a transaction.
    unsafe { pg_sys::get_role_oid(c"howdah_web".as_ptr(), true) }
}

/// Whether a user may SET ROLE to a role.
pub fn may_become(user: Oid, role: Oid) -> bool {
    // SAFETY: a look-up inside a transaction.
    unsafe { version::may_set_role(user, role) }
}

/// Whether the current user has the rights of a role; false if there is none of this name.
pub fn has_rights_of(name: &str) -> bool {
    let name = std::ffi::CString::new(name).unwrap_or_default();
    // SAFETY: look-ups inside a transaction.
    unsafe {
        let role = pg_sys::get_role_oid(name.as_ptr(), true);
        role != Oid::INVALID && pg_sys::has_privs_of_role(current_user(), role)
    }
}

/// Whether the current user has the rights of howdah_admin.
pub fn is_admin() -> bool {
    // SAFETY: look-ups inside a transaction.
    unsafe {
        let admin = pg_sys::get_role_oid(c"howdah_admin".as_ptr(), true);
        admin != Oid::INVALID && pg_sys::has_privs_of_role(current_user(), admin)
    }
}

/// The owner of a table, view or the like.
fn owner_of(table: Oid) -> Oid {
    // SAFETY: look-ups inside a transaction.
    unsafe {
        let cache = pg_sys::SysCacheIdentifier::RELOID as i32;
        let tuple = pg_sys::SearchSysCache1(cache, table.into());
        if tuple.is_null() {
            refuse(
                PgSqlErrorCode::ERRCODE_UNDEFINED_TABLE,
                &format!("there is no table with the oid {}", table.to_u32()),
            );
        }
        let owner = (*pg_sys::GETSTRUCT(tuple).cast::<pg_sys::FormData_pg_class>()).relowner;
        pg_sys::ReleaseSysCache(tuple);
        owner
    }
}

/// An error unless the current user owns a table, view or the like, or has the rights of howdah_admin.
pub fn check_table_owner(table: Oid) {
    let owner = owner_of(table);
    // SAFETY: a look-up inside a transaction.
    let owns = unsafe { pg_sys::has_privs_of_role(current_user(), owner) };
    if !owns && !is_admin() {
        refuse(
            PgSqlErrorCode::ERRCODE_INSUFFICIENT_PRIVILEGE,
            &format!("must be owner of table {} or a member of howdah_admin", table_name(table)),
        );
    }
}

/// An error unless the current user may use a type.
pub fn check_type_usage(of_type: Oid) {
    // SAFETY: a look-up inside a transaction.
    if unsafe { !version::may_use_type(of_type, current_user()) } {
        // SAFETY: a look-up inside a transaction; the result ends with NUL.
        let name = unsafe { string(pg_sys::format_type_be(of_type)) };
        refuse_with_hint(
            PgSqlErrorCode::ERRCODE_INSUFFICIENT_PRIVILEGE,
            &format!("permission denied for type {name}"),
            &format!("Its owner may allow it: grant usage on type {name} to {}.", name_of(current_user())),
        );
    }
}

/// As whom texts become values of a row type: domains in it call functions of whoever has made them. They run as the current user
/// if the user or superusers have made all of the type and the functions, as wherever such values are written. Otherwise they run as
/// howdah_nobody, who has no rights: whoever sends a dead letter again has not chosen what they do.
pub enum Converter {
    /// As the current user.
    CurrentUser,
    /// As howdah_nobody, in a session that has nothing open.
    Nobody(NothingOpen),
}

impl Converter {
    /// As whom values of a row type are made; an error if it were howdah_nobody, and the session has something open.
    pub fn of(row_type: Oid) -> Converter {
        if is_trusted(row_type, current_user(), &mut BTreeSet::new()) {
            return Converter::CurrentUser;
        }
        // SAFETY: a look-up inside a transaction; the result ends with NUL.
        let name = unsafe { string(pg_sys::format_type_be(row_type)) };
        Converter::Nobody(NothingOpen::required(&format!("checks of {name}")))
    }

    /// Runs `work`, which makes such values.
    pub fn run<T>(&self, work: impl FnOnce() -> T) -> T {
        match self {
            Converter::CurrentUser => work(),
            Converter::Nobody(nothing_open) => {
                temporary::hidden(|| as_role(role_of("howdah_nobody"), SAFE_PATH, nothing_open, work))
            }
        }
    }
}

/// Nothing is open in the session that anybody may use who runs in it, whatever its rights.
pub struct NothingOpen(());

impl NothingOpen {
    /// An error that says what would run, unless it is so.
    pub fn required(runs: &str) -> NothingOpen {
        // SAFETY: inside a transaction, and through pgrx's guards.
        let open = unsafe {
            match pg_sys::ThereAreNoReadyPortals() {
                false => Some("cursors"),
                true => opened(),
            }
        };
        let Some(open) = open else { return NothingOpen(()) };
        refuse_with_hint(
            PgSqlErrorCode::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
            &format!("{runs} may be others', and could use the {open} of this session"),
            "Do it in a session of its own, and outside of loops over queries in PL/pgSQL.",
        )
    }
}

/// An error if what runs could use connections or large objects of this session.
pub fn refuse_opened(runs: &str) {
    // SAFETY: inside a transaction, and through pgrx's guards.
    if let Some(open) = unsafe { opened() } {
        refuse_with_hint(
            PgSqlErrorCode::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
            &format!("{runs} may be others', and could use the {open} of this session"),
            "Do it in a session of its own.",
        );
    }
}

/// What is open besides cursors.
unsafe fn opened() -> Option<&'static str> {
    // SAFETY: inside a transaction, and through pgrx's guards.
    unsafe {
        match (dblink::has_connections(), has_large_objects()) {
            (true, _) => Some("connections of dblink"),
            (_, true) => Some("large objects"),
            _ => None,
        }
    }
}

/// Whether the transaction has opened large objects. PostgreSQL keeps their descriptors in a memory context, which it makes for
/// the first and frees at the transaction's end.
///
/// # Safety
/// On the main thread.
unsafe fn has_large_objects() -> bool {
    // SAFETY: by contract. Contexts live in a list of their parent's, and their names are strings that end with NUL.
    unsafe {
        let mut context = (*pg_sys::TopMemoryContext).firstchild;
        while !context.is_null() {
            if CStr::from_ptr((*context).name) == c"Filesystem" {
                return true;
            }
            context = (*context).nextchild;
        }
        false
    }
}

/// Runs `work`, which writes into a table, as its owner, who has chosen its triggers and defaults. An error unless the current
/// user may become the owner: what runs as the owner finds the current user's temporary objects.
pub fn as_table_owner<T>(table: Oid, work: impl FnOnce() -> T) -> T {
    let owner = owner_of(table);
    if owner == current_user() {
        return work();
    }
    if !may_become(current_user(), owner) {
        let (table, owner) = (table_name(table), name_of(owner));
        refuse_with_hint(
            PgSqlErrorCode::ERRCODE_INSUFFICIENT_PRIVILEGE,
            &format!("must be able to become {owner}, who owns table {table}"),
            &format!("grant {owner} to {}{WITH_SET}, or have {owner} do it.", name_of(current_user())),
        );
    }
    let nothing_open = NothingOpen::required(&format!("triggers of {}", table_name(table)));
    // SAFETY: PostgreSQL's own variable, which it changes by a copy of its own.
    let search_path = unsafe { CStr::from_ptr(pg_sys::namespace_search_path) }.to_owned();
    as_role(owner, &search_path, &nothing_open, work)
}

/// Whether a type, all that it is made of, and all that it calls is the role's or a superuser's.
fn is_trusted(of_type: Oid, role: Oid, seen: &mut BTreeSet<u32>) -> bool {
    if of_type == Oid::INVALID || !seen.insert(of_type.to_u32()) {
        return true;
    }
    let found = type_of(of_type);
    // SAFETY: a look-up inside a transaction.
    let is_trusted_owner = |owner| owner == role || unsafe { pg_sys::superuser_arg(owner) };
    if !is_trusted_owner(found.typowner) {
        return false;
    }
    let (owners, named) = match is_domain_or_range(&found) {
        true => called_by(of_type),
        false => Default::default(),
    };
    if !owners.into_iter().all(is_trusted_owner) {
        return false;
    }
    // SAFETY: look-ups inside a transaction; a descriptor that is copied into the current memory context.
    let mut parts = unsafe {
        let columns = match found.typrelid {
            Oid::INVALID => Vec::new(),
            _ => attributes(pg_sys::lookup_rowtype_tupdesc_copy(of_type, -1)),
        };
        let columns = columns.into_iter().filter(|column| !column.attisdropped);
        let mut parts: Vec<Oid> = columns.map(|column| column.atttypid).collect();
        parts.extend([pg_sys::get_range_subtype(of_type), pg_sys::get_multirange_range(of_type)]);
        parts
    };
    parts.extend([found.typelem, found.typbasetype]);
    parts.extend(named);
    parts.into_iter().all(|part| is_trusted(part, role, seen))
}

/// Whether what a user has written runs where a value of the type is made.
fn is_domain_or_range(of_type: &pg_sys::FormData_pg_type) -> bool {
    [pg_sys::TYPTYPE_DOMAIN, pg_sys::TYPTYPE_RANGE].contains(&(of_type.typtype as u8))
}

/// The owners of the functions that a type calls itself, in its constraints or as a range, by operators as well; and the types that
/// are named there.
fn called_by(of_type: Oid) -> (Vec<Oid>, Vec<Oid>) {
    const NAMED: &str = "
        with named as (
          select refclassid as class, refobjid as object from pg_depend
          where classid = 'pg_type'::regclass and objid = $1
             or classid = 'pg_constraint'::regclass and objid in (select oid from pg_constraint where contypid = $1))
        select proowner, null::oid from named join pg_proc on class = 'pg_proc'::regclass and object = oid
        union all
        select proowner, null from named join pg_operator o on class = 'pg_operator'::regclass and object = o.oid
          join pg_proc p on oprcode = p.oid
        union all
        select null, object from named where class = 'pg_type'::regclass";
    let rows = rows_as_owner(NAMED, &[of_type.into()], |row| {
        Some((row.get::<Oid>(1).ok()?, row.get::<Oid>(2).ok()?))
    });
    let (owners, types): (Vec<_>, Vec<_>) = rows.into_iter().unzip();
    (owners.into_iter().flatten().collect(), types.into_iter().flatten().collect())
}

/// The catalog's row of a type.
fn type_of(of_type: Oid) -> pg_sys::FormData_pg_type {
    // SAFETY: a look-up inside a transaction; the row is copied.
    unsafe {
        let cache = pg_sys::SysCacheIdentifier::TYPEOID as i32;
        let tuple = pg_sys::SearchSysCache1(cache, of_type.into());
        if tuple.is_null() {
            refuse(
                PgSqlErrorCode::ERRCODE_UNDEFINED_OBJECT,
                &format!("there is no type with the oid {}", of_type.to_u32()),
            );
        }
        let row = *pg_sys::GETSTRUCT(tuple).cast::<pg_sys::FormData_pg_type>();
        pg_sys::ReleaseSysCache(tuple);
        row
    }
}

/// A relation's name with its schema, quoted.
pub fn table_name(relation: Oid) -> String {
    // SAFETY: look-ups inside a transaction; the results are strings that end with NUL.
    unsafe {
        let name = pg_sys::get_rel_name(relation);
        if name.is_null() {
            return relation.to_u32().to_string();
        }
        let schema = pg_sys::get_namespace_name(pg_sys::get_rel_namespace(relation));
        string(pg_sys::quote_qualified_identifier(schema, name))
    }
}

/// A function's name and the types of its arguments, which means the same under every search path.
pub fn function_name(function: Oid) -> String {
    with_path(SAFE_PATH, || {
        // SAFETY: a look-up inside a transaction; the result is a C string.
        unsafe {
            let name =
                pgrx::direct_function_call_as_datum(pg_sys::regprocedureout, &[Some(Datum::from(function))]);
            string(name.map_or(std::ptr::null(), |name| name.cast_mut_ptr::<c_char>()))
        }
    })
}
