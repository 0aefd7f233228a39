//! Counters of routes and handlers, found by a key.
//!
//! A table with open addressing: a key's place is where the walk from its hash first meets it. Entries are
//! added by any process and removed by the supervisor alone, when their database is dropped. A removed
//! entry stays in the walks of others until a new key takes it.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::*};
use std::time::Duration;

use pgrx::pg_sys;

use super::text::Text;

/// Counters of different routes share no cache line.
pub const ALIGNMENT: usize = 128;

/// Classes of the histogram: class n counts times from 2^(n-1) to 2^n - 1 µs, the last all above.
pub const CLASSES: usize = 32;

/// The entry has never been used: a walk ends here.
const EMPTY: u64 = 0;
/// The entry was used: a walk goes on.
const REMOVED: u64 = 1;

/// What the counters belong to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub enum RouteKind {
    /// A function behind a method and a pattern.
    Route = 0,
    /// A query handler, by name.
    Handler,
}

/// The key of a route's counters: method and pattern of a route; of a handler no method, and its name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RouteKey<'a> {
    /// Oid of the database.
    pub database: pg_sys::Oid,
    /// What it is.
    pub kind: RouteKind,
    /// The method, as registered.
    pub method: &'a str,
    /// The pattern, or the handler's name.
    pub pattern: &'a str,
}

impl RouteKey<'_> {
    /// All processes run the same library, so they hash alike.
    fn hash(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        (self.database.to_u32(), self.kind as u32, self.method, self.pattern).hash(&mut hasher);
        hasher.finish().max(REMOVED + 1)
    }
}

/// What one request was.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Measured {
    /// The status of its response.
    pub status: u16,
    /// Whether it ran in the gateway.
    pub inline: bool,
    /// Whether its client left, or its time ran out.
    pub cancelled: bool,
    /// Microseconds in the queue; 0 if inline.
    pub queue_us: u64,
    /// Microseconds in SQL: from the start of its transaction to the end.
    pub sql_us: u64,
    /// Microseconds from the end of its reading to the response.
    pub total_us: u64,
}

/// What a request was that nothing has run, or not to its end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Unrun {
    /// The status of its answer.
    pub status: u16,
    /// Whether its client left, or its time ran out.
    pub cancelled: bool,
    /// How long it waited for an executor.
    pub waited: Duration,
}

/// The counters of a route or handler. Each is exact; they are not of one moment.
#[repr(C, align(128))]
pub struct RouteCounters {
    key: AtomicU64,
    database: AtomicU32,
    kind: AtomicU32,
    method: Text<2>,
    pattern: Text<16>,
    /// Requests by class of status: 2xx (and less), 3xx, 4xx, 5xx.
    pub statuses: [AtomicU64; 4],
    /// Requests that ran in a gateway.
    pub inline: AtomicU64,
    /// Requests whose client left, or whose time ran out.
    pub cancelled: AtomicU64,
    /// Requests that nothing has run, or not to its end.
    pub unrun: AtomicU64,
    /// Sum of the microseconds in the queue.
    pub queue_us: AtomicU64,
    /// Longest time in the queue, in microseconds.
    pub queue_max_us: AtomicU64,
    /// Sum of the microseconds in SQL.
    pub sql_us: AtomicU64,
    /// Longest time in SQL, in microseconds.
    pub sql_max_us: AtomicU64,
    /// Sum of the microseconds in all.
    pub total_us: AtomicU64,
    /// Requests by their time, see [`CLASSES`].
    pub histogram: [AtomicU64; CLASSES],
    /// Moving average of the microseconds in SQL, as the bits of an `f32`; 0 before the first request.
    mean_us: AtomicU32,
    /// Until when it does not run in a gateway, by [`super::now_us`].
    pub inline_banned_until: AtomicU64,
    /// How often it exceeded its deadline in a gateway.
    pub inline_overruns: AtomicU32,
    /// Whether it never runs in a gateway again: it did not end when it was told to.
    pub inline_never: AtomicBool,
}

/// The weight of the newest request in the moving average.
const NEWEST: f32 = 1.0 / 16.0;

impl RouteCounters {
    /// Counts a request.
    pub fn record(&self, request: &Measured) {
        self.count(request.status, request.cancelled, request.total_us);
        if request.inline {
            self.inline.fetch_add(1, Relaxed);
        } else {
            self.count_queue(request.queue_us);
        }
        self.sql_us.fetch_add(request.sql_us, Relaxed);
        self.sql_max_us.fetch_max(request.sql_us, Relaxed);
        self.average(request.sql_us as f32);
    }

    /// Counts a request that has not run: it says nothing of how long the others do.
    pub fn record_unrun(&self, request: &Unrun) {
        let waited_us = request.waited.as_micros() as u64;
        self.count(request.status, request.cancelled, waited_us);
        self.count_queue(waited_us);
        self.unrun.fetch_add(1, Relaxed);
    }

    /// Counts a request anew that was recorded with another status than its client got.
    pub fn correct(&self, recorded: u16, answered: u16) {
        let recorded = &self.statuses[place_of(recorded)];
        if recorded.fetch_update(Relaxed, Relaxed, |count| count.checked_sub(1)).is_ok() {
            self.statuses[place_of(answered)].fetch_add(1, Relaxed);
        }
    }

    fn count(&self, status: u16, cancelled: bool, total_us: u64) {
        self.statuses[place_of(status)].fetch_add(1, Relaxed);
        if cancelled {
            self.cancelled.fetch_add(1, Relaxed);
        }
        self.total_us.fetch_add(total_us, Relaxed);
        self.histogram[class_of(total_us)].fetch_add(1, Relaxed);
    }

    fn count_queue(&self, queue_us: u64) {
        self.queue_us.fetch_add(queue_us, Relaxed);
        self.queue_max_us.fetch_max(queue_us, Relaxed);
    }

    /// Two processes that count at once may lose one sample of the average, which does not matter.
    fn average(&self, newest: f32) {
        let before = self.mean_us.load(Relaxed);
        let mean = match before {
            0 => newest.max(f32::MIN_POSITIVE),
            _ => f32::from_bits(before) * (1.0 - NEWEST) + newest * NEWEST,
        };
        self.mean_us.store(mean.to_bits(), Relaxed);
    }

    /// Moving average of the microseconds in SQL; none before the first request.
    pub fn mean_us(&self) -> Option<f32> {
        let bits = self.mean_us.load(Relaxed);
        (bits != 0).then(|| f32::from_bits(bits))
    }

    /// What the counters belong to: kind, method, pattern (or name), as far as they fit.
    pub fn label(&self) -> (RouteKind, String, String) {
        let route = self.kind.load(Relaxed) == RouteKind::Route as u32;
        let kind = if route { RouteKind::Route } else { RouteKind::Handler };
        (kind, self.method.get(), self.pattern.get())
    }

    /// Zeroes everything but key, database and label.
    fn clear(&self) {
        let times = [&self.queue_us, &self.queue_max_us, &self.sql_us, &self.sql_max_us, &self.total_us];
        let others = [&self.inline, &self.cancelled, &self.unrun, &self.inline_banned_until];
        let all = self.statuses.iter().chain(&self.histogram).chain(times).chain(others);
        all.for_each(|counter| counter.store(0, Relaxed));
        self.mean_us.store(0, Relaxed);
        self.inline_overruns.store(0, Relaxed);
        self.inline_never.store(false, Relaxed);
    }
}

/// The place of a status among [`RouteCounters::statuses`].
fn place_of(status: u16) -> usize {
    usize::from((status / 100).clamp(2, 5) - 2)
}

/// The histogram's class of a time.
fn class_of(us: u64) -> usize {
    ((u64::BITS - us.leading_zeros()) as usize).min(CLASSES - 1)
}

/// The table of counters.
pub struct Routes {
    entries: &'static [RouteCounters],
    /// Whether a route has found no place.
    overflowed: &'static AtomicBool,
}

impl Routes {
    pub(super) fn new(entries: &'static [RouteCounters], overflowed: &'static AtomicBool) -> Routes {
        Routes { entries, overflowed }
    }

    /// Number of routes that fit; the numbers of [`Routes::find_or_add`] are below it.
    pub fn capacity(&self) -> usize {
        self.entries.len()
    }

    /// The counters of a number that [`Routes::find_or_add`] has given.
    pub fn get(&self, number: usize) -> &'static RouteCounters {
        &self.entries[number]
    }

    /// The number of a route's counters, which are added if need be; none when the table is full.
    /// Slow enough to be kept by the caller.
    pub fn find_or_add(&self, key: &RouteKey) -> Option<usize> {
        let hash = key.hash();
        loop {
            if let Some(found) = self.find(hash) {
                return Some(found);
            }
            let place = self
                .walk(hash)
                .find(|place| matches!(self.entries[*place].key.load(Acquire), EMPTY | REMOVED));
            let Some(place) = place else {
                self.overflowed.store(true, Relaxed);
                return None;
            };
            if self.add(place, hash, key) {
                self.remove_second(place, hash);
            }
        }
    }

    fn find(&self, hash: u64) -> Option<usize> {
        self.walk(hash)
            .take_while(|place| self.entries[*place].key.load(SeqCst) != EMPTY)
            .find(|place| self.entries[*place].key.load(SeqCst) == hash)
    }

    /// All places, from the one that the hash names.
    fn walk(&self, hash: u64) -> impl Iterator<Item = usize> + use<> {
        let count = self.entries.len();
        let start = (hash % count as u64) as usize;
        (0..count).map(move |step| (start + step) % count)
    }

    fn add(&self, place: usize, hash: u64, key: &RouteKey) -> bool {
        let entry = &self.entries[place];
        let before = entry.key.load(SeqCst);
        let added = before <= REMOVED && entry.key.compare_exchange(before, hash, SeqCst, SeqCst).is_ok();
        if added {
            entry.kind.store(key.kind as u32, Relaxed);
            entry.method.set(key.method);
            entry.pattern.set(key.pattern);
            entry.database.store(key.database.to_u32(), Release);
        }
        added
    }

    /// Two processes may have added one key at two places, when one of these was freed between their
    /// walks. The later place gives way; whoever added second sees both.
    fn remove_second(&self, place: usize, hash: u64) {
        if self.find(hash) != Some(place) {
            self.remove(place);
        }
    }

    fn remove(&self, place: usize) {
        let entry = &self.entries[place];
        entry.database.store(0, Release);
        entry.clear();
        entry.key.store(REMOVED, SeqCst);
    }

    /// Removes the counters of databases that are gone. The supervisor alone calls this.
    pub fn retain(&self, mut exists: impl FnMut(pg_sys::Oid) -> bool) {
        for (place, entry) in self.entries.iter().enumerate() {
            let database = entry.database.load(Acquire);
            if database != 0 && !exists(pg_sys::Oid::from(database)) {
                self.remove(place);
            }
        }
    }

    /// The numbers of a database's counters.
    pub fn numbers_of(&self, database: pg_sys::Oid) -> impl Iterator<Item = usize> {
        let entries = self.entries;
        (0..entries.len()).filter(move |&number| entries[number].database.load(Acquire) == database.to_u32())
    }

    /// The counters of a database, with their numbers.
    pub fn of(&self, database: pg_sys::Oid) -> impl Iterator<Item = (usize, &'static RouteCounters)> {
        let entries = self.entries.iter().enumerate();
        entries.filter(move |(_, entry)| entry.database.load(Acquire) == database.to_u32())
    }

    /// Whether a route has found no place since the server started.
    pub fn has_overflowed(&self) -> bool {
        self.overflowed.load(Relaxed)
    }

    /// Number of entries in use.
    pub fn used(&self) -> usize {
        self.entries.iter().filter(|entry| entry.key.load(Relaxed) > REMOVED).count()
    }
}
