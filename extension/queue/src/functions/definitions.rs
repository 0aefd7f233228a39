//! Creating and dropping queues, and rights. What is checked here is done by functions in SQL, as the owner of the
//! extension.

use pg::entry::{Call, sql_function};
use pg::refuse::{refuse, refuse_with_hint};
use pgrx::pg_sys::{self, Datum, Oid};
use pgrx::prelude::*;
use session::authority::{check_type_usage, current_user, refuse_restricted, role_of, run_as_owner};
use session::temporary;

use crate::definition::{self, Definition, Right};
use crate::functions::parts;
use crate::learn::learn;
use crate::segment::{Purpose, Segment};
use crate::{SEGMENTS, claim, count, producer, rotation, truncation, wake};

/// Longest name of a queue: the archive of its messages is a table named after it.
const LONGEST_NAME: usize = 61;

sql_function!(
    /// `queue.create(queue_name, row_type, unlogged, max_reads)`
    howdah_queue_create,
    |call| {
        let name = call.need_text(0, "queue_name");
        let row_type: Option<Oid> = call.get(1);
        refuse_restricted();
        check_name(name);
        if let Some(row_type) = row_type {
            check_composite(row_type);
            check_type_usage(row_type);
        }
        if let Some(known) = definition::look_up(name) {
            check_same(&known, row_type);
            return Datum::null();
        }
        run_as_owner(
            "select queue.make($1, $2, $3, $4, $5)",
            &[
                name.into(),
                row_type.into(),
                current_user().into(),
                call.get::<bool>(2).unwrap_or_default().into(),
                call.get::<i32>(3).into(),
            ],
        );
        let made = definition::find(name);
        // Another may have made it at the same time.
        check_same(&made, row_type);
        // An error if there is no room for it: those that exist keep their places.
        made.memory();
        if made.is_unlogged {
            rotation::begin(&made);
        }
        Datum::null()
    }
);

fn check_name(name: &str) {
    if name.is_empty() || name.len() > LONGEST_NAME {
        refuse(
            PgSqlErrorCode::ERRCODE_INVALID_NAME,
            &format!("a queue's name has 1 to {LONGEST_NAME} bytes, and \"{name}\" has {}", name.len()),
        );
    }
}

fn check_composite(row_type: Oid) {
    // SAFETY: look-ups inside a transaction.
    let is_composite =
        unsafe { pg_sys::get_typtype(row_type) } == pg_sys::TYPTYPE_COMPOSITE as std::ffi::c_char;
    if !is_composite {
        refuse_with_hint(
            PgSqlErrorCode::ERRCODE_WRONG_OBJECT_TYPE,
            "row_type must be a composite type or a table",
            "create type … as (…) makes one; without row_type the queue is one of messages.",
        );
    }
    // SAFETY: as above.
    let relation = unsafe { pg_sys::get_typ_typrelid(row_type) };
    temporary::refuse_if(temporary::is_temporary_relation(relation), "a row type");
    parts::refuse_temporary(row_type);
}

fn check_same(known: &Definition, row_type: Option<Oid>) {
    if known.row_type != row_type {
        refuse_with_hint(
            PgSqlErrorCode::ERRCODE_DUPLICATE_OBJECT,
            &format!("queue {} exists, with another row type", known.name),
            "queue.drop_queue removes it and its rows.",
        );
    }
}

sql_function!(
    /// `queue.drop_queue(queue_name)`
    howdah_queue_drop,
    |call| {
        refuse_restricted();
        let name = call.need_text(0, "queue_name");
        let Some(queue) = definition::look_up(name) else { return Datum::from(false) };
        check_owner(&queue);
        wake::dropped(&queue);
        run_as_owner("select queue.unmake($1)", &[(queue.id as i32).into()]);
        Datum::from(true)
    }
);

fn check_owner(queue: &Definition) {
    // SAFETY: a look-up inside a transaction.
    if !unsafe { pg_sys::has_privs_of_role(pg_sys::GetUserId(), queue.owner) } {
        refuse(
            PgSqlErrorCode::ERRCODE_INSUFFICIENT_PRIVILEGE,
            &format!("must be owner of queue {}", queue.name),
        );
    }
}

sql_function!(
    /// `queue.grant(queue_name, right, role)`
    howdah_queue_grant,
    |call| change_right(call, "select queue.allow($1, $2, $3)")
);

sql_function!(
    /// `queue.revoke(queue_name, right, role)`
    howdah_queue_revoke,
    |call| change_right(call, "select queue.disallow($1, $2, $3)")
);

fn change_right(call: Call, statement: &str) -> Datum {
    refuse_restricted();
    let queue = definition::find(call.need_text(0, "queue_name"));
    queue.check(Right::Manage);
    let word = call.need_text(1, "right");
    let Some(right) = Right::of(word) else {
        refuse(
            PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE,
            &format!("a right is 'send', 'take' or 'manage', not '{word}'"),
        );
    };
    let role = role_of(call.need_text(2, "role"));
    run_as_owner(statement, &[(queue.id as i32).into(), role.into(), right.word().into()]);
    Datum::null()
}

sql_function!(
    /// `queue.allows(queue_name, right)`
    howdah_queue_allows,
    |call| {
        let queue = definition::find(call.need_text(0, "queue_name"));
        let right = Right::of(call.need_text(1, "right"));
        Datum::from(right.is_some_and(|right| queue.allows(right)))
    }
);

sql_function!(
    /// `queue.purge_queue(queue_name)`
    howdah_queue_purge,
    |call| {
        let queue = definition::find(call.need_text(0, "queue_name"));
        queue.check(Right::Manage);
        // SAFETY: inside a transaction.
        unsafe { pg_sys::PreventCommandIfReadOnly(c"purging a queue".as_ptr()) };
        lock_out(&queue);
        drop(learn(&queue, Purpose::Look));
        let rows = count::count(&queue).rows;
        claim::claim_all(&queue, rows as usize);
        let mut producers = Vec::new();
        producer::for_each(&queue, |origin| producers.push(origin));
        let (last, open) = {
            let lock = queue.lock();
            (lock.next.saturating_sub(1), lock.open)
        };
        for number in 0..SEGMENTS {
            let told = if number == open { &producers[..] } else { &[] };
            rotation::truncate(&queue, number, last, told);
        }
        Datum::from(rows)
    }
);

/// Waits for those who send and take, and keeps others from it until the transaction ends.
pub fn lock_out(queue: &Definition) {
    for number in 0..SEGMENTS {
        let (rows, ledger) = queue.tables(number);
        // SAFETY: inside a transaction.
        unsafe {
            pg_sys::LockRelationOid(rows, pg_sys::AccessExclusiveLock as i32);
            pg_sys::LockRelationOid(ledger, pg_sys::AccessExclusiveLock as i32);
        }
    }
}

sql_function!(
    /// `queue.is_drained(queue_id)`: whether nothing is left, by the ledgers alone. For `queue.reshape`.
    howdah_queue_is_drained,
    |call| {
        let id: i32 = call.need(0, "queue");
        let Some(queue) = definition::of_number(id as u32) else { return Datum::from(true) };
        Datum::from(has_no_rows(&queue))
    }
);

/// Whether all rows of a queue are consumed, by the ledgers alone.
pub(crate) fn has_no_rows(queue: &Definition) -> bool {
    (0..SEGMENTS).all(|number| truncation::is_drained(&Segment::open(queue, number, Purpose::Look)))
}
