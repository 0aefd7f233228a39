//! Producers that will not come back.

use pg::entry::{Returned, columns, sql_function};
use pg::refuse::refuse_with_hint;
use pgrx::pg_sys::{self, Datum, Oid};
use pgrx::prelude::*;
use queue::append::Origin;
use queue::definition::{self, Right};
use queue::functions::definitions::lock_out;
use queue::producer;
use session::authority::{check_table_owner, run_as_owner};

use crate::progress;

sql_function!(
    /// `queue.forget_producer(queue_name, producer)`
    howdah_queue_forget_producer,
    |call| {
        let queue = definition::find(call.need_text(0, "queue_name"));
        queue.check(Right::Manage);
        let name = call.need_text(1, "producer");
        begin();
        producer::lock(("queue", queue.id), name);
        if producer::last(&queue, name).is_none() {
            return Datum::from(false);
        }
        // Rows of the ledger move, and who reads it without a lock might miss a batch on its way.
        lock_out(&queue);
        run_as_owner("select queue.forget($1, $2)", &[(queue.id as i32).into(), name.into()]);
        if producer::last(&queue, name).is_some() {
            refuse_with_hint(
                PgSqlErrorCode::ERRCODE_T_R_SERIALIZATION_FAILURE,
                &format!("producer {name} has sent rows that this transaction does not see"),
                "Forget it in a transaction of its own, under READ COMMITTED.",
            );
        }
        Datum::from(true)
    }
);

sql_function!(
    /// `queue.forget_producer(into_table, producer)`
    howdah_queue_forget_producer_of_table,
    |call| {
        let table: Oid = call.need(0, "into_table");
        check_table_owner(table);
        let name = call.need_text(1, "producer");
        begin();
        Datum::from(progress::forget(table, name))
    }
);

sql_function!(
    /// `queue.producers(queue_name)`
    howdah_queue_producers,
    |call| {
        let queue = definition::find(call.need_text(0, "queue_name"));
        queue.check(Right::Manage);
        let returned = Returned::declared(call);
        producer::for_each(&queue, |origin| add(&returned, origin));
        returned.done()
    }
);

sql_function!(
    /// `queue.producers(into_table)`
    howdah_queue_producers_of_table,
    |call| {
        let table: Oid = call.need(0, "into_table");
        check_table_owner(table);
        let returned = Returned::declared(call);
        progress::all(table).into_iter().for_each(|origin| add(&returned, origin));
        returned.done()
    }
);

fn add(returned: &Returned, origin: Origin) {
    // SAFETY: columns as the functions are declared to return them.
    unsafe { returned.add_values(&mut columns![origin.producer, origin.epoch, origin.sequence]) };
}

fn begin() {
    // SAFETY: inside a transaction.
    unsafe { pg_sys::PreventCommandIfReadOnly(c"forgetting a producer".as_ptr()) };
}
