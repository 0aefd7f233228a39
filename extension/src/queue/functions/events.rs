//! Event triggers. They run as whoever runs the command, which is not to fail of them.

use std::collections::BTreeSet;
use std::ptr::null_mut;

use pgrx::pg_sys::{self, Oid};
use pgrx::prelude::*;

use crate::authority::{as_owner, rows_as_owner, run_as_owner};
use crate::entry::sql_function;
use crate::queue::definition;
use crate::queue::segment::Opened;
use crate::request::plan::string;
use crate::subtransaction::in_subtransaction;

sql_function!(
    /// `queue.follow_types()`: after a command that alters types or tables. Which queues have a row type that it has altered
    /// stands in the catalogs, by the functions that keep the types from being dropped: so whoever alters anything else
    /// waits for no lock on a table of ours.
    howdah_queue_follow_types,
    |call| {
        call.need_event();
        let altered = rows_as_owner(
            "select classid, objid from pg_event_trigger_ddl_commands()",
            &[],
            |row| row_type(row.get::<Oid>(1).ok()??, row.get::<Oid>(2).ok()??),
        );
        let queues: BTreeSet<i32> = altered.into_iter().flat_map(queues_of).collect();
        for queue in queues {
            run_as_owner("select queue.reshape($1)", &[queue.into()]);
        }
        call.null()
    }
);

/// The row type that an object of a catalog is, or has.
fn row_type(catalog: Oid, object: Oid) -> Option<Oid> {
    match catalog {
        pg_sys::TypeRelationId => Some(object),
        // SAFETY: a look-up inside a transaction.
        pg_sys::RelationRelationId => Some(unsafe { pg_sys::get_rel_type_id(object) }),
        _ => None,
    }
    .filter(|row_type| *row_type != Oid::INVALID)
}

/// Of catalog/pg_depend.h: the catalog, its index by what is depended on, and columns.
mod depend {
    pub const RELATION: u32 = 2608;
    pub const REFERENCE_INDEX: u32 = 2674;
    pub const CLASS: i32 = 1;
    pub const OBJECT: i32 = 2;
    pub const REFERENCED_CLASS: i16 = 4;
    pub const REFERENCED_OBJECT: i16 = 5;
}

/// Numbers of the queues whose row type this is, by the functions that depend on it.
fn queues_of(row_type: Oid) -> Vec<i32> {
    let keys = [(depend::REFERENCED_CLASS, pg_sys::TypeRelationId), (depend::REFERENCED_OBJECT, row_type)];
    let lock = pg_sys::AccessShareLock as i32;
    let mut queues = Vec::new();
    // SAFETY: a scan of a catalog inside a transaction; the keys outlive it.
    unsafe {
        let mut scan_keys: [pg_sys::ScanKeyData; 2] = std::mem::zeroed();
        for (key, (column, value)) in scan_keys.iter_mut().zip(keys) {
            let (equal, same) = (pg_sys::BTEqualStrategyNumber as u16, Oid::from(pg_sys::F_OIDEQ));
            pg_sys::ScanKeyInit(key, column, equal, same, value.into());
        }
        let catalog = pg_sys::table_open(Oid::from(depend::RELATION), lock);
        let index = Oid::from(depend::REFERENCE_INDEX);
        let scan = pg_sys::systable_beginscan(catalog, index, true, null_mut(), 2, scan_keys.as_mut_ptr());
        loop {
            let tuple = pg_sys::systable_getnext(scan);
            if tuple.is_null() {
                break;
            }
            let mut is_null = false;
            let mut oid = |column| {
                let value = pg_sys::heap_getattr(tuple, column, (*catalog).rd_att, &mut is_null);
                Oid::from(value.value() as u32)
            };
            if oid(depend::CLASS) == pg_sys::ProcedureRelationId {
                queues.extend(queue_of(oid(depend::OBJECT)));
            }
        }
        pg_sys::systable_endscan(scan);
        pg_sys::table_close(catalog, lock);
    }
    queues
}

/// The number of the queue whose row type a function keeps from being dropped.
fn queue_of(function: Oid) -> Option<i32> {
    // SAFETY: look-ups inside a transaction; a name ends with NUL.
    unsafe {
        let schema = pg_sys::get_namespace_oid(c"queue".as_ptr(), true);
        if pg_sys::get_func_namespace(function) != schema {
            return None;
        }
        string(pg_sys::get_func_name(function)).strip_prefix("row_type_")?.parse().ok()
    }
}

sql_function!(
    /// `queue.forget_tables()`: after a command that drops something, what was kept of tables is removed: oids come again. What
    /// cannot be removed now, or not without waiting, an idle executor removes later.
    howdah_queue_forget_tables,
    |call| {
        call.need_event();
        // SAFETY: inside a transaction; what is called raises through pgrx's guards, so values are dropped.
        let forgotten = unsafe { in_subtransaction(forget_dropped) };
        if let Err(error) = forgotten {
            if matches!(error.sqlstate(), "57014" | "57P01") {
                crate::guard::raise(error);
            }
            pgrx::debug1!("what was kept of tables that are dropped stays for now: {}", error.message);
        }
        call.null()
    }
);

/// Tables of ours whose rows are about tables of others.
const ABOUT_TABLES: [&str; 2] = ["progress", "dead_letter"];

fn forget_dropped() {
    let dropped: Vec<Oid> = rows_as_owner(
        "select objid from pg_event_trigger_dropped_objects() where classid = 'pg_class'::regclass and objsubid = 0",
        &[],
        |row| row.get::<Oid>(1).ok()?,
    );
    for name in ABOUT_TABLES {
        if !dropped.is_empty() && has_rows(name) {
            run_as_owner(
                &format!(
                    "delete from queue.{name} where ctid = any (array(
                       select kept.ctid from queue.{name} kept where kept.into_table = any ($1)
                       for update of kept skip locked))"
                ),
                &[dropped.clone().into()],
            );
        }
    }
}

/// Whether a table of ours may have rows; not if that cannot be known without waiting, or it is gone with the extension.
fn has_rows(name: &str) -> bool {
    let (table, lock) = (definition::relation(name), pg_sys::RowExclusiveLock as i32);
    // SAFETY: inside a transaction.
    let is_locked = table != Oid::INVALID && unsafe { pg_sys::ConditionalLockRelationOid(table, lock) };
    is_locked && Opened::table(table, lock).is_some_and(|table| table.pages() > 0)
}

/// Removes what was kept of tables that are gone.
pub fn forget_what_is_gone() {
    as_owner(|| {
        for name in ABOUT_TABLES {
            let forgotten = Spi::run(&format!(
                "delete from queue.{name} where into_table in (
                   select distinct kept.into_table from queue.{name} kept
                   where not exists (select from pg_class c where c.oid = kept.into_table))"
            ));
            if let Err(error) = forgotten {
                error!("{error}");
            }
        }
    });
}
