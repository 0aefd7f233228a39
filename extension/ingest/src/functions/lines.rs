//! What SQL calls.

use pg::entry::{Returned, sql_function};
use pg::refuse::refuse;
use pgrx::PgSqlErrorCode;
use pgrx::pg_sys::{Datum, Oid};
use shared::settings;

use crate::{Bucket, Keep, Sender, Target, write_in_parts};

sql_function!(
    /// `queue.put_lines(queue, lines, producer, epoch, sequence, line_column, rest_column, into_table)`
    howdah_queue_put_lines,
    |call| {
        let keep = Keep { line: call.text(5).map(str::to_owned), rest: call.text(6).map(str::to_owned) };
        let target = match (call.text(0), call.get::<Oid>(7)) {
            (Some(queue), None) => Target::queue(queue, keep),
            (None, Some(table)) => Target::table(table, keep),
            _ => refuse(
                PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE,
                "lines go into a queue or into a table: exactly one of queue and into_table must be given",
            ),
        };
        let lines = call.argument(1).map(bytes).unwrap_or_default();
        let producer = call.text(2);
        let origin = producer.map(|producer| Sender {
            producer,
            epoch: call.need(3, "epoch"),
            first: call.need(4, "sequence"),
        });
        let longest = settings::LONGEST_LINE.get() as usize;
        let bucket = Bucket { lines, origin, listener: 0, cut: &[], longest, refused: None };
        let written = write_in_parts(&target, &bucket);
        let returned = Returned::declared(call);
        let count = |count: u64| Some(Datum::from(count as i64));
        let mut values = [
            count(written.received),
            count(written.stored),
            count(written.repeated),
            count(written.rejected_count),
            origin.map(|_| Datum::from(written.sequence)),
            count(written.dropped),
        ];
        // SAFETY: values as the function is declared to return them.
        unsafe { returned.add_values(&mut values) };
        returned.done()
    }
);

/// The bytes of a text or bytea, which stay where they are during the call.
fn bytes<'a>(datum: Datum) -> &'a [u8] {
    // SAFETY: the function's declaration has a type of variable length here.
    unsafe {
        let value = pgrx::pg_sys::pg_detoast_datum_packed(datum.cast_mut_ptr());
        pgrx::varlena_to_byte_slice(value)
    }
}
