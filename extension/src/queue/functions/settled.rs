//! What is done with rows by their numbers, alike for typed rows and messages; and what counts and tidies.

use claims::FOR_GOOD;
use pgrx::pg_sys::{self, Datum};
use pgrx::prelude::*;

use crate::entry::{Call, Returned, sql_function};
use crate::queue::claim::Haul;
use crate::queue::definition::{self, Definition, Right};
use crate::queue::{claim, count, now, rotation, settle};

/// The queue of the first argument, for settling rows.
pub fn settled_queue(call: Call) -> std::rc::Rc<Definition> {
    // SAFETY: inside a transaction.
    unsafe { pg_sys::PreventCommandIfReadOnly(c"taking from a queue".as_ptr()) };
    let queue = definition::find(call.need_text(0, "queue_name"));
    queue.check(Right::Take);
    queue
}

/// The numbers of the second argument, a bigint or an array of them.
pub fn numbers(call: Call) -> Vec<u64> {
    let numbers = match call.type_of(1) {
        pg_sys::INT8ARRAYOID => call.get::<Vec<Option<i64>>>(1).unwrap_or_default(),
        _ => vec![call.get::<i64>(1)],
    };
    numbers.into_iter().flatten().filter_map(|number| u64::try_from(number).ok()).collect()
}

/// Answers with whether the one number was found, or with those that were.
pub struct Found {
    /// The set that is returned; none where one number was asked for.
    numbers: Option<Returned>,
    is_any: bool,
}

impl Found {
    /// Nothing yet.
    pub fn new(call: Call) -> Found {
        let is_set = call.type_of(1) == pg_sys::INT8ARRAYOID;
        Found { numbers: is_set.then(|| Returned::numbers(call)), is_any: false }
    }

    /// The rows of a haul were found.
    pub fn add(&mut self, haul: &Haul) {
        self.is_any |= !haul.rows.is_empty();
        let Some(numbers) = &self.numbers else { return };
        for row in &haul.rows {
            // SAFETY: the function returns a set of bigint.
            unsafe { numbers.add_values(&mut [Some(Datum::from(row.position as i64))]) };
        }
    }

    /// The function's value.
    pub fn answer(self) -> Datum {
        self.numbers.map_or(Datum::from(self.is_any), Returned::done)
    }
}

/// Consumes the rows that the second argument names.
pub fn remove(call: Call, queue: &Definition) -> Datum {
    let mut found = Found::new(call);
    settle::settle(queue, &numbers(call), FOR_GOOD, |haul| found.add(haul));
    rotation::tidy_sometimes(queue);
    found.answer()
}

sql_function!(
    /// `queue.ack(queue_name, msg_id)`, and for arrays
    howdah_queue_ack,
    |call| {
        let queue = settled_queue(call);
        queue.typed("queue.delete(name, msg_id)");
        remove(call, &queue)
    }
);

sql_function!(
    /// `queue.nack(queue_name, msg_id, delay)`, and for arrays
    howdah_queue_nack,
    |call| {
        let queue = settled_queue(call);
        queue.typed("queue.set_vt(name, msg_id, vt)");
        let delay = i64::from(call.get::<i32>(2).unwrap_or_default());
        let until = now().saturating_add(delay.saturating_mul(1_000_000));
        let mut found = Found::new(call);
        settle::settle(&queue, &numbers(call), until, |haul| found.add(haul));
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
        let now = now();
        let age = |at: Option<i64>| at.map(|at| Datum::from(((now - at).max(0) / 1_000_000) as i32));
        let returned = Returned::declared(call);
        // SAFETY: values as the function is declared to return them.
        unsafe {
            returned.add_values(&mut [
                queue.name.as_str().into_datum(),
                Some(Datum::from(counted.rows)),
                age(counted.newest),
                age(counted.oldest),
                Some(Datum::from(count::given_out(&queue))),
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
        Datum::from(rotation::tidy(&queue, rotation::Effort::Thorough) as i32)
    }
);
