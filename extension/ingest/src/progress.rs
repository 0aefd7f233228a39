//! What producers have had committed in tables. In queues the ledgers say it.

use pgrx::pg_sys::Oid;
use queue::append::Origin;
use queue::producer;
use session::authority::{rows_as_owner, run_as_owner, value_as_owner};

use super::bucket::Sender;

/// Waits for the producer's other transactions, and returns its epoch and the number of its last line that was committed. An
/// error if a newer epoch has begun.
pub fn resume(table: Oid, sender: &Sender) -> Option<Origin> {
    producer::lock(("table", table.to_u32()), sender.producer);
    let query = "select epoch, sequence from queue.progress where into_table = $1 and producer = $2";
    let found = rows_as_owner(query, &[table.into(), sender.producer.into()], |row| {
        Some((row.get::<i32>(1).ok()??, row.get::<i64>(2).ok()??))
    });
    let (epoch, sequence) = found.into_iter().next()?;
    producer::check_epoch(sender.producer, epoch, sender.epoch);
    Some(Origin { producer: sender.producer.to_owned(), epoch, sequence })
}

/// Notes how far a producer is.
pub fn note(table: Oid, origin: &Origin) {
    let statement = "insert into queue.progress (into_table, producer, epoch, sequence) values ($1, $2, $3, $4)
         on conflict (into_table, producer) do update set epoch = excluded.epoch, sequence = excluded.sequence";
    let arguments =
        [table.into(), origin.producer.as_str().into(), origin.epoch.into(), origin.sequence.into()];
    run_as_owner(statement, &arguments);
}

/// How far each producer of a table is.
pub fn all(table: Oid) -> Vec<Origin> {
    let query = "select producer, epoch, sequence from queue.progress where into_table = $1";
    rows_as_owner(query, &[table.into()], |row| {
        let producer = row.get::<String>(1).ok()??;
        Some(Origin { producer, epoch: row.get(2).ok()??, sequence: row.get(3).ok()?? })
    })
}

/// Forgets a producer, after its other transactions. False if it was not known.
pub fn forget(table: Oid, producer: &str) -> bool {
    producer::lock(("table", table.to_u32()), producer);
    let statement = "delete from queue.progress where into_table = $1 and producer = $2 returning true";
    let arguments = [table.into(), producer.into()];
    value_as_owner::<bool>(statement, &arguments).unwrap_or_default()
}
