//! Who waits for rows: sessions, which sleep on a condition variable; and gateways with requests that wait
//! (`request::later`), which have an eventfd.
//!
//! They are woken by the end of a transaction after which rows may be free: one that has sent or given back commits, one
//! that has claimed is rolled back, also to a savepoint, or a prepared one ends. What becomes free by time alone is in the
//! watch lists: when a commit adds a time, who waits is woken to look at the times again.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Instant;

use claims::times;
use pg::transaction_end::{
    SubtransactionEnd, TransactionEnd, at_release, at_subtransaction_end, at_transaction_end,
};
use pgrx::pg_sys;
use shared::attached;
use shared::workers::Kind;

use super::claimed_rows::Fate;
use super::definition::{Definition, Right};
use super::memory::{QueueMemory, queues};
use super::savepoints;

/// Longest sleep of who waits for rows: what nobody wakes it for is seen after this time.
pub(crate) const LONGEST_SLEEP_MS: i64 = 30_000;

/// What this transaction has done to a queue.
struct Change {
    queue: &'static QueueMemory,
    /// Rows that its commit makes free.
    freed: u64,
    /// When the first of those becomes free that wait for a time; never if it is `i64::MAX`.
    later: i64,
    /// Rows that its rollback makes free.
    claimed: u64,
    /// The number of the queue's entry.
    entry: usize,
}

thread_local! {
    static CHANGES: RefCell<Vec<Change>> = const { RefCell::new(Vec::new()) };
    /// Queues that this transaction drops.
    static DROPPED: RefCell<Vec<&'static QueueMemory>> = const { RefCell::new(Vec::new()) };
}

/// This transaction has sent rows, which wait until then.
pub fn sent(queue: &Definition, count: u64, until: i64) {
    note(queue, count, 0, until);
}

/// This transaction has claimed so many rows.
pub fn claimed(queue: &Definition, count: usize, fate: Fate) {
    match fate {
        Fate::Shown => {}
        Fate::Consumed | Fate::Held(_) => note(queue, 0, count as u64, i64::MAX),
        Fate::Leased(time, _) => note(queue, 0, count as u64, times::after(queue.time(), time)),
    }
}

/// This transaction has removed so many rows, or given them back until then.
pub(crate) fn settled(queue: &Definition, count: usize, until: i64) {
    note(queue, count as u64, count as u64, until);
}

/// This transaction drops the queue: who waits for its rows is woken when that is committed, and others have been told so.
pub fn dropped(queue: &Definition) {
    // Of one that has no place nobody waits for anything.
    if queue.place().is_none() {
        return;
    }
    at_release(told);
    DROPPED.with_borrow_mut(|dropped| dropped.push(queue.memory()));
}

/// Others have been told of what this transaction has dropped.
fn told(is_commit: bool) {
    DROPPED.take().into_iter().filter(|_| is_commit).for_each(|queue| signal(queue, 1));
}

/// Notes rows that are free `until` then at the earliest: those that were not free before, and those that were.
fn note(queue: &Definition, freed: u64, claimed: u64, until: i64) {
    if freed == 0 && claimed == 0 {
        return;
    }
    let (freed, later) = if until <= queue.time() { (freed, i64::MAX) } else { (0, until) };
    change(queue, |change| {
        change.freed += freed;
        change.claimed += claimed;
        change.later = change.later.min(later);
    });
}

/// Notes something that this transaction does to a queue.
fn change(queue: &Definition, note: impl FnOnce(&mut Change)) {
    let (memory, entry) = (queue.memory(), queue.memory_number());
    CHANGES.with_borrow_mut(|changes| {
        let known = changes.iter().position(|change| std::ptr::eq(change.queue, memory));
        let place = known.unwrap_or_else(|| {
            changes.push(Change { queue: memory, freed: 0, later: i64::MAX, claimed: 0, entry });
            changes.len() - 1
        });
        note(&mut changes[place]);
    });
    follow_transactions();
}

/// Has this session told of the ends of its transactions, from now on. What was claimed in subtransactions is forgotten before anybody
/// is woken, as who is woken looks at it.
fn follow_transactions() {
    savepoints::follow();
    at_transaction_end(ended);
    at_subtransaction_end(part_ended);
}

/// The transaction has ended: who waits is woken if rows may be free by that.
fn ended(end: TransactionEnd) {
    for change in CHANGES.take() {
        match end {
            TransactionEnd::Committed => change.commit(),
            TransactionEnd::RolledBack => change.abort(),
            // `prepared_ended` tells of it.
            TransactionEnd::Prepared => {}
        }
    }
}

/// A subtransaction was rolled back. The transactions that the rows belong to may be others than the one that is rolled back: then
/// somebody looks in vain.
fn part_ended(end: SubtransactionEnd) {
    if matches!(end, SubtransactionEnd::RolledBack(_)) {
        CHANGES.with_borrow(|changes| changes.iter().for_each(Change::abort));
    }
}

impl Change {
    fn commit(&self) {
        // A lease may be over before its transaction is.
        let over = u64::from(self.later != i64::MAX && self.later <= queues().lock(self.entry).clock());
        if self.freed + over > 0 {
            signal(self.queue, self.freed + over);
        } else if self.later < i64::MAX {
            wake(self.queue);
        }
    }

    fn abort(&self) {
        if self.claimed > 0 {
            signal(self.queue, self.claimed);
        }
    }
}

/// A prepared transaction has ended, which another session may have begun: nobody knows what it has done.
pub fn prepared_ended() {
    if attached().is_some() {
        queues().of_this_database().for_each(|queue| signal(queue, 1));
    }
}

/// Wakes those who wait for rows of the queue: so many may be free.
fn signal(queue: &QueueMemory, rows: u64) {
    queue.arrive(rows);
    wake(queue);
}

/// Wakes those who wait for rows of the queue.
fn wake(queue: &QueueMemory) {
    queue.note_news();
    if let Some(bell) = queue.bell() {
        bell.ring();
    }
    for gateway in queue.called_gateways() {
        shared::wake::wake(Kind::Gateway, gateway);
    }
    // SAFETY: the condition variable is in shared memory and was initialised at the start.
    unsafe { pg_sys::ConditionVariableBroadcast(queue.waiting()) };
}

/// Looks for rows, at least once, and until some are found or so many microseconds are over. Between two looks it sleeps, `pause`
/// milliseconds at least, until rows may be free. `look` says whether it has found any. Whoever is forbidden to take meanwhile
/// gets an error.
pub(crate) fn look_for(
    queue: &Rc<Definition>,
    microseconds: i64,
    pause: i64,
    mut look: impl FnMut() -> bool,
) {
    let (waiter, begun) = (Waiter::new(queue), Instant::now());
    loop {
        let seen = waiter.arrivals();
        let left = microseconds.saturating_sub(begun.elapsed().as_micros() as i64) / 1000;
        if look() || left <= 0 {
            return;
        }
        let time = {
            let lock = queue.lock();
            let now = lock.clock();
            // What was given back has been free since the beginning of time.
            lock.next_time(now).map(|time| time.saturating_sub(now))
        };
        let due = time.map_or(LONGEST_SLEEP_MS, |time| time / 1000 + 1);
        waiter.sleep(seen, due.clamp(pause, LONGEST_SLEEP_MS).min(left));
        queue.check_again(Right::Take);
    }
}

/// A session that waits.
struct Waiter(Rc<Definition>);

impl Waiter {
    /// From now on this session is woken.
    fn new(queue: &Rc<Definition>) -> Waiter {
        // SAFETY: as in `wake`.
        unsafe { pg_sys::ConditionVariablePrepareToSleep(queue.memory().waiting()) };
        Waiter(queue.clone())
    }

    fn arrivals(&self) -> u64 {
        self.0.memory().arrivals()
    }

    /// Sleeps until it is woken, or for so many milliseconds; not at all if there are more arrivals than `seen`.
    fn sleep(&self, seen: u64, milliseconds: i64) {
        if self.arrivals() != seen {
            return;
        }
        // SAFETY: as in `wake`; interrupts are served inside.
        unsafe {
            pg_sys::ConditionVariableTimedSleep(
                self.0.memory().waiting(),
                milliseconds,
                pg_sys::PG_WAIT_EXTENSION,
            );
        }
    }
}

impl Drop for Waiter {
    fn drop(&mut self) {
        // After an error PostgreSQL cancels the sleep.
        if !std::thread::panicking() {
            // SAFETY: prepared by `new`.
            unsafe { pg_sys::ConditionVariableCancelSleep() };
        }
    }
}
