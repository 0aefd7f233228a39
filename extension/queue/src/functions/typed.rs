//! Functions of queues of typed rows.

use claims::Span;
use pg::entry::{Call, Returned, sql_function};
use pg::refuse::refuse;
use pg::scratch::Scratch;
use pgrx::pg_sys::{self, Datum};
use pgrx::prelude::*;

use crate::append::{self, Origin};
use crate::claim::claim;
use crate::claimed_rows::{Chosen, Fate, Haul, Wanted};
use crate::definition::{self, Definition, Right};
use crate::layout::{self, Layout};
use crate::{dead_letters, producer, rows, tidy, wake};

sql_function!(
    /// `queue.put(queue_name, row)`
    howdah_queue_put,
    |call| {
        let name = call.need_text(0, "queue_name");
        let queue = sendable(name, call.type_of(1));
        let Some(row) = call.argument(1) else {
            refuse(PgSqlErrorCode::ERRCODE_NULL_VALUE_NOT_ALLOWED, "a row must not be null");
        };
        Datum::from(put(&queue, &[row]).first as i64)
    }
);

sql_function!(
    /// `queue.put(queue_name, rows)`
    howdah_queue_put_all,
    |call| {
        let name = call.need_text(0, "queue_name");
        // SAFETY: a look-up.
        let element = unsafe { pg_sys::get_base_element_type(call.type_of(1)) };
        let queue = sendable(name, element);
        let rows = match call.argument(1) {
            // SAFETY: an array of the row type.
            Some(array) => unsafe { elements(array, element) },
            None => Vec::new(),
        };
        Datum::from(put(&queue, &rows).len() as i64)
    }
);

sql_function!(
    /// `queue.put(queue_name, rows, producer, epoch, sequence)`
    howdah_queue_put_from,
    |call| {
        let name = call.need_text(0, "queue_name");
        // SAFETY: a look-up.
        let element = unsafe { pg_sys::get_base_element_type(call.type_of(1)) };
        let queue = sendable(name, element);
        // SAFETY: an array of the row type.
        let rows = call.argument(1).map(|array| unsafe { elements(array, element) }).unwrap_or_default();
        let origin = Origin {
            producer: call.need(2, "producer"),
            epoch: call.need(3, "epoch"),
            sequence: call.need(4, "sequence"),
        };
        Datum::from(put_from(&queue, &rows, element, &origin) as i64)
    }
);

/// Sends those rows of a producer that are not there yet: the last has the origin's sequence number. Its epoch counts from then
/// on even if none is new: what a process of an older one sends later is refused.
fn put_from(queue: &Definition, rows: &[Datum], row_type: pg_sys::Oid, origin: &Origin) -> u64 {
    let first = origin.sequence.saturating_sub(rows.len() as i64).saturating_add(1);
    producer::check(&origin.producer, "row", origin.epoch, first, rows.len());
    let last = producer::resume(queue, &origin.producer, origin.epoch);
    let there = last.as_ref().map(|last| last.sequence);
    let repeated = producer::repeated(&origin.producer, "row", first, rows.len(), there);
    let new = rows.get(usize::try_from(repeated).unwrap_or(usize::MAX)..).unwrap_or_default();
    if new.is_empty() {
        let sequence = last.as_ref().map_or(origin.sequence, |last| last.sequence);
        if last.is_none_or(|last| last.epoch != origin.epoch) {
            append::note(queue, &Origin { sequence, ..origin.clone() });
        }
        return 0;
    }
    append::append(queue, &mut TakenApart::new(new, row_type), Some(origin)).len()
}

/// Composite values, taken apart one by one.
struct TakenApart<'a> {
    rows: &'a [Datum],
    descriptor: pg_sys::TupleDesc,
    values: Vec<Datum>,
    nulls: Vec<bool>,
}

impl<'a> TakenApart<'a> {
    fn new(rows: &'a [Datum], row_type: pg_sys::Oid) -> TakenApart<'a> {
        let descriptor = layout::descriptor_of(row_type);
        // SAFETY: a descriptor that was made above.
        let count = unsafe { (*descriptor).natts } as usize;
        TakenApart { rows, descriptor, values: vec![Datum::null(); count], nulls: vec![true; count] }
    }
}

impl append::Source for TakenApart<'_> {
    fn count(&self) -> usize {
        self.rows.len()
    }

    fn row_type(&self) -> pg_sys::TupleDesc {
        self.descriptor
    }

    fn row(&mut self, place: usize) -> (&[Datum], &[bool]) {
        // SAFETY: a composite value of the type.
        unsafe {
            let header: pg_sys::HeapTupleHeader =
                pg_sys::pg_detoast_datum(self.rows[place].cast_mut_ptr()).cast();
            let mut tuple: pg_sys::HeapTupleData = std::mem::zeroed();
            tuple.t_data = header;
            tuple.t_len = pgrx::varsize_any(header.cast()) as u32;
            let (values, nulls) = (self.values.as_mut_ptr(), self.nulls.as_mut_ptr());
            pg_sys::heap_deform_tuple(&mut tuple, self.descriptor, values, nulls);
        }
        (&self.values, &self.nulls)
    }
}

fn sendable(name: &str, row_type: pg_sys::Oid) -> std::rc::Rc<Definition> {
    let queue = definition::find(name);
    queue.check(Right::Send);
    queue.typed(&format!("queue.send('{name}', '{{…}}')"));
    queue.check_row_type(row_type);
    queue.hold_row_type_of_values();
    queue
}

/// # Safety
/// An array whose elements are composite values of the type.
unsafe fn elements(array: Datum, element: pg_sys::Oid) -> Vec<Datum> {
    // SAFETY: by contract.
    unsafe {
        let array: *mut pg_sys::ArrayType = pg_sys::pg_detoast_datum(array.cast_mut_ptr()).cast();
        let (mut length, mut by_value, mut align) = (0, false, 0);
        pg_sys::get_typlenbyvalalign(element, &mut length, &mut by_value, &mut align);
        let (mut values, mut nulls, mut count) = (std::ptr::null_mut(), std::ptr::null_mut(), 0);
        pg_sys::deconstruct_array(
            array,
            element,
            length.into(),
            by_value,
            align,
            &mut values,
            &mut nulls,
            &mut count,
        );
        let count = count as usize;
        if (0..count).any(|place| *nulls.add(place)) {
            refuse(PgSqlErrorCode::ERRCODE_NULL_VALUE_NOT_ALLOWED, "a row must not be null");
        }
        (0..count).map(|place| *values.add(place)).collect()
    }
}

/// Sends composite values of the queue's row type as it is now.
pub fn put(queue: &Definition, rows: &[Datum]) -> Span {
    let row_type = layout::descriptor_of(queue.typed("queue.send"));
    let mut layout: Option<Layout> = None;
    append::write(queue, rows.len(), 0, None, &mut |table, place, position| {
        // SAFETY: the descriptor is in the memory of the call.
        let layout = layout.get_or_insert_with(|| unsafe { Layout::of(queue.id, table, row_type) });
        // SAFETY: the rows have been checked to be of the type.
        unsafe { layout.tuple_of(rows[place], position) }
    })
}

sql_function!(
    /// `queue.take(queue_name, qty, row_type)`
    howdah_queue_take,
    |call| {
        let queue = takable(call, 2, "queue.pop(name, qty)");
        let mut answer = Answer::new(call, &queue, 2);
        claim(&queue, Wanted { count: quantity(call, 1), fate: Fate::Consumed }, |haul| answer.add(haul));
        tidy::tidy_sometimes(&queue);
        answer.done()
    }
);

sql_function!(
    /// `queue.take_with_poll(queue_name, qty, max_poll, row_type)`
    howdah_queue_take_with_poll,
    |call| {
        let queue =
            takable(call, 3, "queue.read_with_poll(name, vt, qty, max_poll_seconds) and queue.delete(name, msg_id, read_ct)");
        let wanted = Wanted { count: quantity(call, 1), fate: Fate::Consumed };
        let patience = microseconds(call, 2, "max_poll");
        let mut answer = Answer::new(call, &queue, 3);
        wake::look_for(&queue, patience, 1, || {
            claim(&queue, wanted, |haul| answer.add(haul)) > 0 || wanted.count == 0
        });
        tidy::tidy_sometimes(&queue);
        answer.done()
    }
);

sql_function!(
    /// `queue.peek(queue_name, qty, row_type)`
    howdah_queue_peek,
    |call| {
        let queue = looked_at(call, 2, "queue.peek(name, qty)");
        let mut answer = Answer::new(call, &queue, 2);
        claim(&queue, Wanted { count: quantity(call, 1), fate: Fate::Shown }, |haul| answer.add(haul));
        answer.done()
    }
);

sql_function!(
    /// `queue.read(queue_name, qty, vt, row_type)`
    howdah_queue_read_rows,
    |call| {
        let queue = takable(call, 3, "queue.read(name, vt, qty)");
        let returned = Returned::declared(call);
        read(call, &queue, 3, &returned);
        tidy::tidy_sometimes(&queue);
        returned.done()
    }
);

sql_function!(
    /// `queue.read_with_poll(queue_name, qty, vt, max_poll, row_type)`
    howdah_queue_read_rows_with_poll,
    |call| {
        let queue = takable(call, 4, "queue.read_with_poll(name, vt, qty, max_poll_seconds)");
        let returned = Returned::declared(call);
        let patience = microseconds(call, 3, "max_poll");
        wake::look_for(&queue, patience, 1, || read(call, &queue, 4, &returned) || quantity(call, 1) == 0);
        tidy::tidy_sometimes(&queue);
        returned.done()
    }
);

/// Leases rows, as the arguments say, of which the row type is at `place`; whether any were found.
fn read(call: Call, queue: &Definition, place: usize, returned: &Returned) -> bool {
    let fate = Fate::Leased(microseconds(call, 2, "vt"), queue.max_reads);
    let wanted = Wanted { count: quantity(call, 1), fate };
    claim(queue, wanted, |haul| hand_out_leased(queue, haul, call.type_of(place), returned)) > 0
}

/// The queue that an argument names, for taking rows of the type of argument `place`.
fn takable(call: Call, place: usize, instead: &str) -> std::rc::Rc<Definition> {
    // SAFETY: inside a transaction.
    unsafe { pg_sys::PreventCommandIfReadOnly(c"taking from a queue".as_ptr()) };
    looked_at(call, place, instead)
}

fn looked_at(call: Call, place: usize, instead: &str) -> std::rc::Rc<Definition> {
    let queue = definition::find(call.need_text(0, "queue_name"));
    queue.check(Right::Take);
    queue.typed(instead);
    queue.check_row_type(call.type_of(place));
    queue.hold_row_type();
    queue
}

/// How many rows an argument asks for.
pub fn quantity(call: Call, place: usize) -> usize {
    let quantity: i32 = call.need(place, "qty");
    match usize::try_from(quantity) {
        Ok(quantity) => quantity,
        Err(_) => refuse(
            PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE,
            &format!("qty must not be negative, and is {quantity}"),
        ),
    }
}

/// An interval as microseconds, a month as 30 days.
pub fn microseconds(call: Call, place: usize, name: &str) -> i64 {
    in_microseconds(&call.need(place, name))
}

/// The same of an interval.
pub fn in_microseconds(interval: &pgrx::datum::Interval) -> i64 {
    let days = i64::from(interval.days()) + 30 * i64::from(interval.months());
    days.saturating_mul(86_400_000_000).saturating_add(interval.micros())
}

/// The rows that a call returns.
struct Answer<'a> {
    call: Call,
    queue: &'a Definition,
    row_type: pg_sys::Oid,
    returned: Option<Returned>,
}

impl<'a> Answer<'a> {
    /// Rows of the type of the argument at `place`.
    fn new(call: Call, queue: &'a Definition, place: usize) -> Answer<'a> {
        Answer { call, queue, row_type: call.type_of(place), returned: None }
    }

    fn add(&mut self, haul: &Haul) {
        let row_type = layout::descriptor_of(self.row_type);
        // SAFETY: the descriptor is in the memory of the call.
        let mut layout = unsafe { Layout::of(self.queue.id, &haul.segment.rows, row_type) };
        let call = self.call;
        let queue = self.queue;
        let store = self.returned.get_or_insert_with(|| returned_rows(call, queue, row_type));
        rows::fetch(&haul.segment, &haul.batches, &positions(&haul.rows), |_, tuple| {
            // SAFETY: a row of the segment's table, on a pinned page.
            unsafe { store.add(&layout.row_of(tuple)) };
        });
    }

    /// The function's value.
    fn done(self) -> Datum {
        if self.returned.is_none() {
            returned_rows(self.call, self.queue, layout::descriptor_of(self.queue.typed("")));
        }
        Datum::null()
    }
}

/// Rows of the row type as it is now. The statement may have begun before it was altered, and waited for that: PostgreSQL would
/// complain of attributes that are dropped without saying why.
fn returned_rows(call: Call, queue: &Definition, row_type: pg_sys::TupleDesc) -> Returned {
    // SAFETY: the description is a copy of the type's, as which the function is declared.
    unsafe {
        if !Returned::are_expected(call, row_type) {
            queue.refuse_altered();
        }
        Returned::rows(call, row_type)
    }
}

/// Adds rows that were chosen, with their numbers and how often they were read; dead ones become dead letters.
pub fn hand_out_leased(queue: &Definition, haul: &Haul, row_type: pg_sys::Oid, returned: &Returned) {
    let row_type = layout::descriptor_of(row_type);
    // SAFETY: the descriptor is in the memory of the call.
    let mut layout = unsafe { Layout::of(queue.id, &haul.segment.rows, row_type) };
    let of =
        |position: u64| haul.rows.binary_search_by_key(&position, |row| row.position).map(|at| haul.rows[at]);
    let scratch = Scratch::here();
    rows::fetch(&haul.segment, &haul.batches, &positions(&haul.rows), |position, tuple| {
        let Ok(chosen) = of(position) else { return };
        // SAFETY: a row of the segment's table, on a pinned page, and values as the function is declared.
        scratch.run(|| unsafe {
            let mut row = layout.row_of(tuple);
            let value = pg_sys::heap_copy_tuple_as_datum(&mut row, row_type);
            if chosen.is_dead {
                return dead_letters::bury(queue, &chosen, value);
            }
            let number = Datum::from(position as i64);
            returned.add_values(&mut [Some(number), Some(Datum::from(chosen.reads)), Some(value)]);
        });
    });
}

/// The spans of chosen rows.
pub(crate) fn positions(rows: &[Chosen]) -> Vec<Span> {
    rows::spans_of(rows.iter().map(|row| row.position))
}
