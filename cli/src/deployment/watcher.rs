//! Looks from another session at what a deployment does to others: who keeps it from a lock, and for how long it keeps others from theirs.

use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use cluster::postgres::Client;

use super::interrupt;
use super::locks::MODES;
use crate::connection::begin;
use crate::screen::complain;

/// How often it looks.
const LOOK: Duration = Duration::from_millis(25);
/// How often it tries to have another session.
const AGAIN: Duration = Duration::from_millis(500);

/// A session that looks, and how to have another once it is lost.
pub(crate) struct Session<C> {
    pub(crate) client: Client,
    pub(crate) connect: C,
}

impl<C: Fn() -> Option<Client>> Session<C> {
    /// Another session in place of one that is lost.
    fn renew(&mut self) {
        if let Some(client) = (self.connect)() {
            self.client = client;
            complain("the session was lost that looks what the deployment locks; another looks from now on");
        }
    }
}

/// What was seen.
#[derive(Clone, Default)]
pub(crate) struct Seen {
    /// Who has kept the deployment from a lock, last.
    pub(crate) holder: Option<String>,
    /// For which of its locks others have waited for too long. It was cancelled.
    pub(crate) too_long: Option<TooLong>,
}

/// A lock for which others have waited.
#[derive(Clone)]
pub(crate) struct TooLong {
    pub(crate) lock: String,
    /// Who has it, where the deployment waits for it itself and the others behind it.
    pub(crate) holder: Option<String>,
}

/// The session that looks. It ends with this.
pub(crate) struct Watcher {
    seen: Arc<Mutex<Seen>>,
    end: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Watcher {
    /// Watches the session of process `pid`. Once others have waited for `longest` for what it has locked, of these relations, its
    /// statements are cancelled.
    pub(crate) fn start(
        mut session: Session<impl Fn() -> Option<Client> + Send + 'static>,
        pid: i32,
        cancel: impl Fn() + Send + 'static,
        relations: Vec<u32>,
        longest: Duration,
    ) -> Watcher {
        let seen = Arc::new(Mutex::new(Seen::default()));
        let (end, ended) = mpsc::channel();
        let watched = Arc::clone(&seen);
        let thread = thread::spawn(move || {
            let (mut since, mut tried): (Option<Instant>, Option<Instant>) = (None, None);
            while ended.recv_timeout(LOOK) == Err(RecvTimeoutError::Timeout) {
                if interrupt::was_noticed() {
                    cancel();
                    continue;
                }
                let Ok(look) = look(&mut session.client, pid, &relations) else {
                    // Without a session it still hears of Ctrl-C.
                    if session.client.is_closed() && tried.is_none_or(|tried| tried.elapsed() > AGAIN) {
                        tried = Some(Instant::now());
                        session.renew();
                    }
                    continue;
                };
                let mut seen = watched.lock().unwrap_or_else(PoisonError::into_inner);
                seen.holder = look.holder.or(seen.holder.take());
                let Some(lock) = look.lock else {
                    since = None;
                    continue;
                };
                let holder = seen.holder.clone().filter(|_| look.waits);
                let lock = TooLong { lock, holder };
                if since.get_or_insert_with(Instant::now).elapsed() > longest {
                    seen.too_long.get_or_insert(lock);
                    drop(seen);
                    // Again and again: between two statements it is lost.
                    cancel();
                }
            }
        });
        Watcher { seen, end: Some(end), thread: Some(thread) }
    }

    /// Stops; what was seen.
    pub(crate) fn stop(mut self) -> Seen {
        self.finish();
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn finish(&mut self) {
        drop(self.end.take());
        if let Some(thread) = self.thread.take() {
            // It does not panic.
            let _ = thread.join();
        }
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        self.finish();
    }
}

struct Look {
    holder: Option<String>,
    /// What others wait for.
    lock: Option<String>,
    /// Whether the deployment waits for it itself.
    waits: bool,
}

fn look(client: &mut Client, pid: i32, relations: &[u32]) -> Result<Look, cluster::postgres::Error> {
    // In a transaction, as a pooler may give each to another session.
    let mut transaction = begin(client)?;
    let row = transaction.query_one(
        "with k as materialized (select l.* from pg_catalog.pg_locks l where l.locktype = 'relation')
         select
           (select pg_catalog.format('%s (process %s, %s since %s)', coalesce(a.usename, a.backend_type), a.pid, coalesce(a.state, 'running'),
              pg_catalog.to_char(coalesce(a.xact_start, a.query_start), 'HH24:MI:SS'))
            from pg_catalog.pg_stat_activity a where a.pid = any (pg_catalog.pg_blocking_pids($1)) limit 1),
           coalesce((select pg_catalog.format('%s (%s)', c.oid::pg_catalog.regclass, l.mode)
            from k l join pg_catalog.pg_class c on c.oid = l.relation
            where l.pid = $1 and l.granted and l.mode = any ($2::pg_catalog.text[])
              and l.relation = any ($3::pg_catalog.oid[])
              and exists (select from k w where w.database = l.database and w.relation = l.relation and not w.granted and w.pid <> l.pid)
            order by pg_catalog.array_position($2::pg_catalog.text[], l.mode) desc limit 1),
           -- Who waits for a row waits for the transaction that has changed it, the first of them with a lock on the row.
           (select 'rows' || coalesce(' of ' || (select t.relation::pg_catalog.regclass from pg_catalog.pg_locks t
                where t.locktype = 'tuple' and t.pid = w.pid and t.granted limit 1), '')
            from pg_catalog.pg_locks w join pg_catalog.pg_locks l on l.transactionid = w.transactionid
            where w.locktype = 'transactionid' and not w.granted and l.pid = $1 and l.granted
            order by 1 desc limit 1)),
           -- Who comes after it in the queue for a lock waits as long as it does.
           (select pg_catalog.format('%s (%s)', c.oid::pg_catalog.regclass, l.mode)
            from k l join pg_catalog.pg_class c on c.oid = l.relation
            where l.pid = $1 and not l.granted and l.relation = any ($3::pg_catalog.oid[])
              and exists (
                select from k w where w.database = l.database and w.relation = l.relation and not w.granted and w.pid <> l.pid
                  and $1 = any (pg_catalog.pg_blocking_pids(w.pid))))",
        &[&pid, &&MODES[..], &relations],
    )?;
    transaction.commit()?;
    let (locked, awaited): (Option<String>, Option<String>) = (row.get(1), row.get(2));
    Ok(Look { holder: row.get(0), waits: locked.is_none() && awaited.is_some(), lock: locked.or(awaited) })
}
