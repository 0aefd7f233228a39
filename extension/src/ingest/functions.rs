//! What SQL calls.

use pgrx::pg_sys::Datum;

use super::{Bucket, Keep, Sender, Target, write};
use crate::queue::functions::called;
use crate::queue::functions::returned::Returned;

called!(
    /// `queue.put_lines(queue, lines, producer, epoch, sequence, line_column, rest_column)`
    howdah_queue_put_lines,
    pg_finfo_howdah_queue_put_lines,
    |call| {
        let keep = Keep { line: call.get(5), rest: call.get(6) };
        let target = Target::queue(&call.need::<String>(0, "queue"), keep);
        // SAFETY: text or bytea; the bytes stay where they are during the call.
        let lines: &[u8] = match call.argument(1) {
            Some(datum) => unsafe {
                let value = pgrx::pg_sys::pg_detoast_datum_packed(datum.cast_mut_ptr());
                pgrx::varlena_to_byte_slice(value)
            },
            None => &[],
        };
        let producer: Option<String> = call.get(2);
        let origin = producer.as_deref().map(|producer| Sender {
            producer,
            epoch: call.need(3, "epoch"),
            first: call.need(4, "sequence"),
        });
        let written = write(&target, &Bucket { lines, origin, listener: 0 });
        let returned = Returned::declared(call);
        let count = |count: u64| Some(Datum::from(count as i64));
        let mut values = [
            count(written.received),
            count(written.stored),
            count(written.repeated),
            count(written.rejected_count),
            origin.map(|_| Datum::from(written.sequence)),
        ];
        // SAFETY: values as the function is declared to return them.
        unsafe { returned.add_values(&mut values) };
        returned.done()
    }
);
