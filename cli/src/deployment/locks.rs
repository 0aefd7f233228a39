//! Which relations others have had to wait for.

use std::time::{Duration, Instant};

use cluster::postgres::Transaction;

use super::server::Stop;

/// A relation that is locked so that others wait.
pub(crate) struct Lock {
    /// Its name.
    pub(crate) relation: String,
    /// The strongest lock on it.
    pub(crate) mode: String,
    /// The file after which it was first seen.
    pub(crate) path: String,
    since: Instant,
}

impl Lock {
    /// For how long it has been held, from the end of the file that has taken it.
    pub(crate) fn held(&self) -> Duration {
        self.since.elapsed()
    }
}

/// The locks of a transaction on what was there before it.
pub(crate) struct Locks {
    /// The relations that there were.
    pub(crate) before: Vec<u32>,
    /// Those that were seen.
    pub(crate) seen: Vec<Lock>,
}

/// Modes that have others wait who read or write; from the weakest on.
pub(crate) const MODES: [&str; 4] =
    ["ShareLock", "ShareRowExclusiveLock", "ExclusiveLock", "AccessExclusiveLock"];

impl Locks {
    /// Notes what relations there are.
    pub(crate) fn begin(transaction: &mut Transaction<'_>) -> Result<Locks, Stop> {
        let rows = transaction.query(
            "select c.oid from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
             where c.relkind in ('r', 'p', 'v', 'm', 'f', 'S')
               and n.nspname not in ('pg_catalog', 'information_schema', 'pg_toast', 'http', 'queue', 'deploy')",
            &[],
        )?;
        Ok(Locks { before: rows.iter().map(|row| row.get(0)).collect(), seen: Vec::new() })
    }

    /// Looks what is locked after a file has run.
    pub(crate) fn look(&mut self, transaction: &mut Transaction<'_>, path: &str) -> Result<(), Stop> {
        let rows = transaction.query(
            "select c.oid::pg_catalog.regclass::pg_catalog.text, l.mode
             from pg_catalog.pg_locks l join pg_catalog.pg_class c on c.oid = l.relation
             where l.pid = pg_catalog.pg_backend_pid() and l.locktype = 'relation' and l.granted
               and l.mode = any ($1::pg_catalog.text[]) and l.relation = any ($2::pg_catalog.oid[])",
            &[&&MODES[..], &self.before],
        )?;
        let strength = |mode: &str| MODES.iter().position(|known| *known == mode);
        for row in rows {
            let (relation, mode): (String, String) = (row.get(0), row.get(1));
            match self.seen.iter_mut().find(|lock| lock.relation == relation) {
                Some(lock) if strength(&lock.mode) < strength(&mode) => lock.mode = mode,
                Some(_) => {}
                None => self.seen.push(Lock { relation, mode, path: path.to_owned(), since: Instant::now() }),
            }
        }
        Ok(())
    }
}
