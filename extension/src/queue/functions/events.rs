//! Event triggers. They run as whoever runs the command, which is not to fail of them.

use pgrx::pg_sys;
use pgrx::prelude::*;

use crate::authority::{as_owner, rows_as_owner, run_as_owner};
use crate::entry::sql_function;
use crate::queue::definition;
use crate::subtransaction::in_subtransaction;

sql_function!(
    /// `queue.follow_types()`: after a command that alters types or tables. Which queues have a row type that it has altered
    /// stands in the catalogs, by the functions that keep the types from being dropped: so whoever alters anything else
    /// waits for no lock on a table of ours.
    howdah_queue_follow_types,
    |call| {
        call.need_event();
        let altered = rows_as_owner(
            "select distinct substring(p.proname from 10)::integer
             from pg_event_trigger_ddl_commands() c
             join pg_type t on t.typrelid = c.objid and c.classid = 'pg_class'::regclass
               or t.oid = c.objid and c.classid = 'pg_type'::regclass
             join pg_depend d on d.refclassid = 'pg_type'::regclass and d.refobjid = t.oid
               and d.classid = 'pg_proc'::regclass
             join pg_proc p on p.oid = d.objid
             where p.pronamespace = 'queue'::regnamespace and p.proname ~ '^row_type_[0-9]{1,9}$'",
            &[],
            |row| row.get::<i32>(1).ok()?,
        );
        for queue in altered {
            run_as_owner("select queue.reshape($1)", &[queue.into()]);
        }
        call.null()
    }
);

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
    for name in ABOUT_TABLES {
        let table = definition::relation(name);
        // SAFETY: inside a transaction. With the extension goes the table.
        let is_free = table != pg_sys::Oid::INVALID
            && unsafe { pg_sys::ConditionalLockRelationOid(table, pg_sys::RowExclusiveLock as i32) };
        if is_free {
            run_as_owner(
                &format!(
                    "delete from queue.{name} where ctid = any (array(
                       select kept.ctid from queue.{name} kept
                       join pg_event_trigger_dropped_objects() o
                         on o.classid = 'pg_class'::regclass and o.objsubid = 0 and o.objid = kept.into_table
                       for update of kept skip locked))"
                ),
                &[],
            );
        }
    }
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
