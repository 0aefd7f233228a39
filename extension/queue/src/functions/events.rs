//! Event triggers. They run as whoever runs the command, which is not to fail of them.

use pg::entry::sql_function;
use pg::log_line;
use pg::refuse::refuse_with_hint;
use pgrx::pg_sys::{self, Oid};
use pgrx::prelude::*;
use session::authority::{as_owner, rows_as_owner, run_as_owner};
use session::subtransaction::in_subtransaction;

use crate::definition;
use crate::functions::definitions::has_no_rows;
use crate::functions::parts;
use crate::opened::Opened;

sql_function!(
    /// `queue.follow_types()`: after a command that alters types or relations, and after one that drops columns. Which queues have a
    /// row type that it has altered stands in the catalogs: so whoever alters anything else waits for no lock on a table of ours.
    howdah_queue_follow_types,
    |call| {
        let is_drop = call.need_event() == c"sql_drop";
        let changed = if is_drop { DROPPED } else { ALTERED };
        if !is_drop {
            parts::refuse_altered_to_temporary(ALTERED);
        }
        let queues = rows_as_owner(&format!("{changed} {QUEUES_OF}"), &[], |row| row.get::<i32>(1).ok()?);
        for queue in queues {
            run_as_owner("select queue.reshape($1)", &[queue.into()]);
        }
        if is_drop {
            refuse_what_loses_values();
        }
        call.null()
    }
);

/// The relations that a command has altered; a composite type is one, too.
const ALTERED: &str = "with recursive altered (relation) as (
    select coalesce(t.typrelid, e.objid)
    from pg_event_trigger_ddl_commands() e
    left join pg_type t on e.classid = 'pg_type'::regclass and t.oid = e.objid
    where e.classid in ('pg_type'::regclass, 'pg_class'::regclass)";

/// The relations that have lost a column.
const DROPPED: &str = "with recursive altered (relation) as (
    select e.objid from pg_event_trigger_dropped_objects() e
    where e.classid = 'pg_class'::regclass and e.objsubid > 0";

/// Numbers of the queues whose row types these relations have, or what is altered with them: children, partitions, and
/// tables of a type. A queue is found by the function that keeps its row type from being dropped.
const QUEUES_OF: &str = "union
    select next.relation
    from altered a cross join lateral (
      select i.inhrelid from pg_inherits i where i.inhparent = a.relation
      union all
      select d.objid
      from pg_class c join pg_depend d
        on d.refclassid = 'pg_type'::regclass and d.refobjid = c.reltype
        and d.classid = 'pg_class'::regclass and d.objsubid = 0
      where c.oid = a.relation and c.reltype <> 0) next (relation))
  select distinct substr(p.proname, 10)::integer
  from altered a
  join pg_class c on c.oid = a.relation and c.reltype <> 0
  join pg_depend d on d.refclassid = 'pg_type'::regclass and d.refobjid = c.reltype
    and d.classid = 'pg_proc'::regclass
  join pg_proc p on p.oid = d.objid
  where p.pronamespace = to_regnamespace('queue') and p.proname ~ '^row_type_[0-9]+$'
  order by 1";

/// What queues lose that the comparison of row type and tables does not show: by CASCADE both sides may have lost a column, an attribute
/// may have gone and come again in one command, or the whole row type has gone, with the function that kept it.
const LOST: &str = r"select distinct lost.queue::integer, e.object_identity
    from pg_event_trigger_dropped_objects() e
    left join pg_class c on c.oid = e.objid and e.classid = 'pg_class'::regclass and e.objsubid > 0
    cross join lateral (
      select substring(c.relname, '^rows_([0-9]+)_[0-9]+$') where c.relnamespace = to_regnamespace('queue')
      union all
      select substr(p.proname, 10)
      from pg_depend d join pg_proc p on p.oid = d.objid
      where c.reltype <> 0 and d.refclassid = 'pg_type'::regclass and d.refobjid = c.reltype
        and d.classid = 'pg_proc'::regclass
        and p.pronamespace = to_regnamespace('queue') and p.proname ~ '^row_type_[0-9]+$'
      union all
      select substring(e.address_names[2], '^row_type_([0-9]+)$')
      where e.classid = 'pg_proc'::regclass and e.address_names[1] = 'queue') lost (queue)
    where lost.queue is not null
    order by 1, 2";

/// An error if a command has dropped what rows of a queue have, or need to be read.
fn refuse_what_loses_values() {
    let lost = rows_as_owner(LOST, &[], |row| Some((row.get::<i32>(1).ok()??, row.get::<String>(2).ok()??)));
    for (queue, what) in lost {
        // A queue that is dropped itself has no tables any more.
        let is_there = definition::relation(&format!("rows_{queue}_1")) != Oid::INVALID;
        let Some(queue) = definition::of_number(queue as u32).filter(|_| is_there) else { continue };
        if !has_no_rows(&queue) {
            refuse_with_hint(
                PgSqlErrorCode::ERRCODE_DEPENDENT_OBJECTS_STILL_EXIST,
                &format!("{what} cannot be dropped while queue {} has rows of it", queue.name),
                "Take the rows first, or purge the queue.",
            );
        }
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
                pg::guard::raise(error);
            }
            log_line::debug!("what was kept of tables that are dropped stays for now: {}", error.message);
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
pub(crate) fn forget_what_is_gone() {
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
