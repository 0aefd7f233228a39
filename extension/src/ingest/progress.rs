//! What producers have had committed in tables. In queues the ledgers say it.

use pgrx::pg_sys::Oid;
use pgrx::prelude::*;

use super::Sender;
use crate::queue::append::Origin;
use crate::queue::functions::statement::as_owner;
use crate::queue::producer;

/// Waits for the producer's other transactions, and returns its epoch and the number of its last line that was committed. An
/// error if a newer epoch has begun.
pub fn resume(table: Oid, sender: &Sender) -> Option<Origin> {
    producer::lock(("table", table.to_u32()), sender.producer);
    let query = "select epoch, sequence from queue.progress where into_table = $1 and producer = $2";
    let found = as_owner(|| {
        // Not as a query that only reads: it would have the snapshot from before the lock.
        Spi::connect_mut(|client| {
            client.update(query, None, &[table.into(), sender.producer.into()])?.first().get_two::<i32, i64>()
        })
    });
    match found {
        Ok((Some(epoch), Some(sequence))) => {
            producer::check_epoch(sender.producer, epoch, sender.epoch);
            Some(Origin { producer: sender.producer.to_owned(), epoch, sequence })
        }
        Ok(_) | Err(pgrx::spi::Error::InvalidPosition) => None,
        Err(error) => error!("{error}"),
    }
}

/// Notes how far a producer is.
pub fn note(table: Oid, origin: &Origin) {
    let statement = "insert into queue.progress (into_table, producer, epoch, sequence) values ($1, $2, $3, $4)
         on conflict (into_table, producer) do update set epoch = excluded.epoch, sequence = excluded.sequence";
    let arguments =
        [table.into(), origin.producer.as_str().into(), origin.epoch.into(), origin.sequence.into()];
    if let Err(error) = as_owner(|| Spi::run_with_args(statement, &arguments)) {
        error!("{error}");
    }
}

/// Forgets a producer, after its other transactions. False if it was not known.
pub fn forget(table: Oid, producer: &str) -> bool {
    producer::lock(("table", table.to_u32()), producer);
    let statement = "delete from queue.progress where into_table = $1 and producer = $2 returning true";
    let arguments = [table.into(), producer.into()];
    match as_owner(|| Spi::get_one_with_args::<bool>(statement, &arguments)) {
        Ok(forgotten) => forgotten.unwrap_or_default(),
        Err(pgrx::spi::Error::InvalidPosition) => false,
        Err(error) => error!("{error}"),
    }
}
