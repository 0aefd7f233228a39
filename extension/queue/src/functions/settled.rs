//! What is done with rows by their numbers, alike for typed rows and messages; and what counts and tidies.

use claims::{FOR_GOOD, times};
use pg::entry::{Call, Returned, sql_function};
use pg::refuse::refuse_with_hint;
use pgrx::pg_sys::{self, Datum};
use pgrx::prelude::*;

use crate::claimed_rows::Haul;
use crate::definition::{self, Definition, Right};
use crate::settle::{self, Named};
use crate::{candidates, claim, count, shift, tidy, truncation, wall_time};

/// The queue of the first argument, for settling rows.
pub(crate) fn settled_queue(call: Call) -> std::rc::Rc<Definition> {
    // SAFETY: inside a transaction.
    unsafe { pg_sys::PreventCommandIfReadOnly(c"taking from a queue".as_ptr()) };
    let queue = definition::find(call.need_text(0, "queue_name"));
    queue.check(Right::Take);
    queue
}

/// The rows that a call names: by the second argument, a bigint or an array of them, and by the argument at `receipts`, which has
/// as many numbers of readings. Without those, or where one is null, whoever names a row settles it.
pub(super) fn named(call: Call, receipts: usize) -> Vec<Named> {
    let is_array = call.type_of(1) == pg_sys::INT8ARRAYOID;
    let numbers: Vec<Option<i64>> =
        if is_array { call.get(1).unwrap_or_default() } else { vec![call.get(1)] };
    let receipts: Option<Vec<Option<i32>>> = match receipts < call.count() {
        true if is_array => call.get(receipts),
        true => Some(vec![call.get(receipts)]),
        false => None,
    };
    let receipts = receipts.unwrap_or_else(|| vec![None; numbers.len()]);
    if numbers.len() != receipts.len() {
        refuse_with_hint(
            PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE,
            &format!("msg_ids has {} numbers, and read_cts has {}", numbers.len(), receipts.len()),
            "For each msg_id give the read_ct that came with it.",
        );
    }
    let row =
        |(number, receipt): (Option<i64>, _)| Some(Named { position: u64::try_from(number?).ok()?, receipt });
    numbers.into_iter().zip(receipts).filter_map(row).collect()
}

/// Answers with whether the one number was found, or with those that were.
pub(super) struct Found {
    /// The set that is returned; none where one number was asked for.
    numbers: Option<Returned>,
    is_any: bool,
}

impl Found {
    /// Nothing yet.
    pub(super) fn new(call: Call) -> Found {
        let is_set = call.type_of(1) == pg_sys::INT8ARRAYOID;
        Found { numbers: is_set.then(|| Returned::numbers(call)), is_any: false }
    }

    /// The rows of a haul were found.
    pub(super) fn add(&mut self, haul: &Haul) {
        self.is_any |= !haul.rows.is_empty();
        let Some(numbers) = &self.numbers else { return };
        for row in &haul.rows {
            // SAFETY: the function returns a set of bigint.
            unsafe { numbers.add_values(&mut [Some(Datum::from(row.position as i64))]) };
        }
    }

    /// The function's value.
    pub(super) fn answer(self) -> Datum {
        self.numbers.map_or(Datum::from(self.is_any), Returned::done)
    }
}

/// Consumes the rows that the second argument names.
pub(super) fn remove(call: Call, queue: &Definition) -> Datum {
    let mut found = Found::new(call);
    settle::settle(queue, &named(call, 2), FOR_GOOD, |haul| found.add(haul));
    tidy::tidy_sometimes(queue);
    found.answer()
}

sql_function!(
    /// `queue.ack(queue_name, msg_id, read_ct)`, and for arrays
    howdah_queue_ack,
    |call| {
        let queue = settled_queue(call);
        queue.typed("queue.delete(name, msg_id, read_ct)");
        remove(call, &queue)
    }
);

sql_function!(
    /// `queue.nack(queue_name, msg_id, delay, read_ct)`, and for arrays
    howdah_queue_nack,
    |call| {
        let queue = settled_queue(call);
        queue.typed("queue.set_vt(name, msg_id, vt, read_ct)");
        let delay = i64::from(call.get::<i32>(2).unwrap_or_default());
        let until = times::after(queue.time(), delay * 1_000_000);
        let mut found = Found::new(call);
        settle::settle(&queue, &named(call, 3), until, |haul| found.add(haul));
        tidy::tidy_sometimes(&queue);
        found.answer()
    }
);

sql_function!(
    /// `queue.metrics(queue_name)`
    howdah_queue_metrics,
    |call| {
        let queue = definition::find(call.need_text(0, "queue_name"));
        if !queue.allows(Right::Take) {
            queue.check(Right::Send);
        }
        let counted = count::count(&queue);
        let now = wall_time();
        let age = |at: Option<i64>| at.map(|at| Datum::from(((now - at).max(0) / 1_000_000) as i32));
        let returned = Returned::declared(call);
        // SAFETY: values as the function is declared to return them.
        unsafe {
            returned.add_values(&mut [
                queue.name.as_str().into_datum(),
                Some(Datum::from(counted.rows)),
                age(counted.newest),
                age(counted.oldest),
                count::given_out(&queue).map(Datum::from),
                Some(Datum::from(now)),
                Some(Datum::from(counted.free)),
                None,
            ]);
        }
        returned.done()
    }
);

sql_function!(
    /// `queue.maintain_one(queue_name)`
    howdah_queue_maintain,
    |call| {
        let queue = definition::find(call.need_text(0, "queue_name"));
        queue.check(Right::Manage);
        // SAFETY: inside a transaction.
        unsafe { pg_sys::PreventCommandIfReadOnly(c"maintaining a queue".as_ptr()) };
        // What is free now is looked for before, so that the cursor passes what is consumed.
        claim::advance(&queue);
        let tidied = truncation::tidy(&queue, candidates::Effort::Thorough);
        shift::some(&queue, &tidied.left);
        Datum::from(tidied.truncated as i32)
    }
);
