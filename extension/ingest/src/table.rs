//! A table as target: whether it may be written to, and which way.

use pg::refuse::{refuse, refuse_with_hint};
use pg::text::string;
use pg::version;
use pgrx::pg_sys::{self, AclMode, AclResult, Oid};
use pgrx::prelude::*;
use queue::opened::Opened;
use session::authority::{name_of, table_name};

use super::columns::Columns;

/// How rows are written into a table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Way {
    /// By COPY's own machinery.
    Copy,
    /// By `insert … select` through the planner, and why so.
    Insert(&'static str),
}

impl Way {
    /// As the view of listeners says it.
    pub(crate) fn describe(&self) -> String {
        match self {
            Way::Copy => "COPY".into(),
            Way::Insert(reason) => format!("insert … select: {reason}"),
        }
    }
}

const INSERT: AclMode = pg_sys::ACL_INSERT as AclMode;

/// An error unless the current user may insert into the table, or into some column of it, and name what is in its schema: a
/// number names a table as well. Locks the table, as inserting
/// does, until the transaction ends.
pub fn check(table: Oid) {
    // SAFETY: look-ups inside a transaction.
    unsafe {
        pg_sys::PreventCommandIfReadOnly(c"inserting lines".as_ptr());
        pg_sys::LockRelationOid(table, pg_sys::RowExclusiveLock as i32);
        if pg_sys::get_rel_name(table).is_null() {
            refuse(PgSqlErrorCode::ERRCODE_UNDEFINED_TABLE, "the table does not exist");
        }
        let user = pg_sys::GetUserId();
        let schema = pg_sys::get_rel_namespace(table);
        if !version::may_use_schema(schema, user) {
            refuse_schema(schema, user);
        }
        if !may_insert_somewhere(table, user) {
            refuse_user(table, user);
        }
    }
}

/// Whether a user may insert into the table, or into some column of it.
pub fn may_insert_somewhere(table: Oid, user: Oid) -> bool {
    let any = pg_sys::AclMaskHow::ACLMASK_ANY;
    // SAFETY: look-ups inside a transaction.
    unsafe {
        pg_sys::pg_class_aclcheck(table, user, INSERT) == AclResult::ACLCHECK_OK
            || pg_sys::pg_attribute_aclcheck_all(table, user, INSERT, any) == AclResult::ACLCHECK_OK
    }
}

/// Whether the current user may insert into all columns of the table.
fn may_insert(table: Oid) -> bool {
    // SAFETY: look-ups inside a transaction.
    unsafe { pg_sys::pg_class_aclcheck(table, pg_sys::GetUserId(), INSERT) == AclResult::ACLCHECK_OK }
}

fn refuse_schema(schema: Oid, user: Oid) -> ! {
    // SAFETY: a look-up inside a transaction; the result is a string that ends with NUL, or null.
    let name = unsafe { string(pg_sys::get_namespace_name(schema)) };
    let [quoted, user] = [&name, &name_of(user)].map(pgrx::spi::quote_identifier::<&String>);
    refuse_with_hint(
        PgSqlErrorCode::ERRCODE_INSUFFICIENT_PRIVILEGE,
        &format!("permission denied for schema {name}"),
        &format!("Its owner may allow it: grant usage on schema {quoted} to {user}."),
    )
}

fn refuse_user(table: Oid, user: Oid) -> ! {
    let name = table_name(table);
    // SAFETY: a look-up inside a transaction; the result is a string that ends with NUL.
    let user = unsafe { string(pg_sys::GetUserNameFromId(user, false)) };
    refuse_with_hint(
        PgSqlErrorCode::ERRCODE_INSUFFICIENT_PRIVILEGE,
        &format!("permission denied for table {name}"),
        &format!(
            "Its owner may allow it: grant insert on {name} to {}.",
            pgrx::spi::quote_identifier(&*user)
        ),
    )
}

/// The table, open. It has been checked, and so is locked.
pub fn open(table: Oid) -> Opened {
    // SAFETY: inside a transaction, with a lock.
    Opened::relation(unsafe { pg_sys::relation_open(table, pg_sys::NoLock as i32) })
}

/// The way of writing for the current user.
pub(crate) fn way(table: &Opened, columns: &Columns) -> Way {
    // SAFETY: the relation is open.
    let (oid, kind, has_rules) = unsafe {
        let form = &*(***table).rd_rel;
        ((***table).rd_id, form.relkind as u8, form.relhasrules && !(***table).rd_rules.is_null())
    };
    match kind {
        pg_sys::RELKIND_RELATION | pg_sys::RELKIND_PARTITIONED_TABLE => {}
        pg_sys::RELKIND_VIEW => return Way::Insert("a view"),
        pg_sys::RELKIND_FOREIGN_TABLE => return Way::Insert("a foreign table"),
        _ => refuse(
            PgSqlErrorCode::ERRCODE_WRONG_OBJECT_TYPE,
            &format!("lines cannot be inserted into {}: it is neither a table nor a view", table_name(oid)),
        ),
    }
    // SAFETY: look-ups inside a transaction.
    let policies = unsafe { pg_sys::check_enable_rls(oid, Oid::INVALID, false) };
    if policies == pg_sys::CheckEnableRlsResult::RLS_ENABLED as i32 {
        Way::Insert("row-level security")
    } else if has_rules {
        Way::Insert("rules")
    } else if !may_insert(oid) {
        Way::Insert("privileges on columns")
    } else if is_distributed(oid) {
        Way::Insert("a distributed table")
    } else if !columns.all().iter().all(|column| has_binary_form(column.kind_of_data.0)) {
        Way::Insert("a type without binary form")
    } else {
        Way::Copy
    }
}

/// Whether Citus has the table's rows elsewhere.
fn is_distributed(table: Oid) -> bool {
    let catalog = Oid::from(pg_sys::PG_CATALOG_NAMESPACE);
    // SAFETY: a look-up inside a transaction.
    if unsafe { pg_sys::get_relname_relid(c"pg_dist_partition".as_ptr(), catalog) } == Oid::INVALID {
        return false;
    }
    let query = "select exists (select from pg_catalog.pg_dist_partition where logicalrelid operator(pg_catalog.=) $1)";
    match Spi::get_one_with_args::<bool>(query, &[table.into()]) {
        Ok(found) => found.unwrap_or_default(),
        Err(error) => error!("{error}"),
    }
}

/// Whether values of the type can be sent and received as bytes.
fn has_binary_form(kind: Oid) -> bool {
    // SAFETY: a look-up inside a transaction; the tuple is released.
    let (send, receive, element) = unsafe {
        let tuple = pg_sys::SearchSysCache1(pg_sys::SysCacheIdentifier::TYPEOID as i32, kind.into());
        if tuple.is_null() {
            return false;
        }
        let form = &*pg_sys::GETSTRUCT(tuple).cast::<pg_sys::FormData_pg_type>();
        let functions = (form.typsend, form.typreceive, form.typelem);
        pg_sys::ReleaseSysCache(tuple);
        functions
    };
    send != Oid::INVALID
        && receive != Oid::INVALID
        && (element == Oid::INVALID || element == kind || has_binary_form(element))
}
