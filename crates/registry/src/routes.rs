//! Counters of routes and handlers, found by a key.
//!
//! Any process adds them. A gateway that has read the tables says which of its database's are [gone](Routes::name), and
//! the supervisor gives the places of those back. Whoever remembers a number looks each time whether it still is the
//! key's ([`Routes::number`]): so nobody need be asked first.

use std::cell::Cell;
use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::*};
use std::time::Duration;

pub use crate::route_key::{RouteKey, RouteKind};
use crate::{Entry, Key, Places, Text};

/// Counters of different routes share no cache line.
pub const ALIGNMENT: usize = 128;

/// Classes of the histogram: class n counts times from 2^(n-1) to 2^n - 1 µs, the last all above.
pub const CLASSES: usize = 32;

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
    key: Key,
    /// Oid of its database; 0 while nobody has the entry.
    database: AtomicU32,
    kind: AtomicU32,
    /// Whether `Accept` decides between it and another at the same path.
    by_accept: AtomicBool,
    method: Text<2>,
    pattern: Text<16>,
    /// Since when no table names it, in microseconds; 0 while one does.
    gone_since: AtomicU64,
    /// A hash of the reason why it cannot be served; 0 while it can.
    broken: AtomicU64,
    /// The reason, as far as it fits.
    reason: Text<32>,
    /// Requests by class of status: 2xx (and less), 3xx, 4xx, 5xx.
    pub statuses: [AtomicU64; 4],
    /// Requests that ran in a gateway.
    pub inline: AtomicU64,
    /// Requests whose client left, or whose time ran out.
    pub cancelled: AtomicU64,
    /// Requests that nothing has run, or not to its end.
    pub unrun: AtomicU64,
    /// Requests answered with 304.
    pub unchanged: AtomicU64,
    /// Those of them for which nothing was run.
    pub remembered: AtomicU64,
    /// Requests answered with a body for which nothing was run.
    pub cached: AtomicU64,
    /// Requests answered by the run of an equal one, for which they have waited; among those.
    pub shared: AtomicU64,
    /// Requests to a route whose answers are kept for which something was run.
    pub missed: AtomicU64,
    /// Answers that were kept and had to give way to others.
    pub evicted: AtomicU64,
    /// Bytes that gateways keep.
    pub cached_bytes: AtomicU64,
    /// A hash of the reason why nobody knows whether an answer still holds; 0 if somebody does, or nobody has asked.
    obstructed: AtomicU64,
    /// The reason, as far as it fits.
    obstacle: Text<16>,
    /// Runs in a row that were to find out what they read, in vain.
    in_vain: AtomicU32,
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
    /// Until when it does not run in a gateway, in microseconds.
    pub inline_banned_until: AtomicU64,
    /// How often it exceeded its deadline in a gateway.
    pub inline_overruns: AtomicU32,
    /// The fingerprint of what does not run in a gateway: it did not end when it was told to, or calls what must not run
    /// there. 0 for none.
    pub inline_unfit: AtomicU64,
}

/// Runs in a row that may find out in vain what they read.
const IN_VAIN: u32 = 64;
/// Of so many runs one finds out afterwards.
const RETRIED: u32 = 16;

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
        if request.status < 500 {
            self.mend();
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

    /// Counts a request that was answered with 304 without a run.
    pub fn record_remembered(&self, took: Duration) {
        self.count(304, false, took.as_micros() as u64);
        self.remembered.fetch_add(1, Relaxed);
    }

    /// Counts a request that was answered with a body without a run.
    pub fn record_cached(&self, took: Duration) {
        self.count(200, false, took.as_micros() as u64);
        self.cached.fetch_add(1, Relaxed);
    }

    /// A gateway that has kept so many bytes keeps so many now.
    pub fn keep_bytes(&self, before: u64, now: u64) {
        let kept = |bytes: u64| Some((bytes + now).saturating_sub(before));
        let _ = self.cached_bytes.fetch_update(Relaxed, Relaxed, kept);
    }

    /// Counts a request that was recorded as answered with a body, and whose client has got 304.
    pub fn correct_unchanged(&self) {
        self.correct(200, 304);
        self.unchanged.fetch_add(1, Relaxed);
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
        if status == 304 {
            self.unchanged.fetch_add(1, Relaxed);
        }
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
        let stored = self.kind.load(Relaxed);
        let kinds = [RouteKind::Route, RouteKind::Page];
        let kind = kinds.into_iter().find(|kind| *kind as u32 == stored).unwrap_or(RouteKind::Handler);
        (kind, self.method.get(), self.pattern.get())
    }

    /// Whether `Accept` decides between it and another at the same path.
    pub fn is_by_accept(&self) -> bool {
        self.by_accept.load(Relaxed)
    }

    /// Notes whether `Accept` decides between it and another.
    pub fn set_by_accept(&self, by_accept: bool) {
        self.by_accept.store(by_accept, Relaxed);
    }

    /// Oid of the database; 0 while nobody has the entry.
    pub fn database(&self) -> u32 {
        self.database.load(Acquire)
    }

    /// For how many microseconds no table has named it.
    pub fn gone_for(&self, now: u64) -> Option<u64> {
        let since = self.gone_since.load(Relaxed);
        (since != 0).then(|| now.saturating_sub(since))
    }

    fn set_gone(&self, gone: bool, now: u64) {
        if !gone {
            self.gone_since.store(0, Relaxed);
        } else if self.gone_since.load(Relaxed) == 0 {
            self.gone_since.store(now, Relaxed);
        }
    }

    /// Notes why it cannot be served. Whether that is news, which one process alone is told.
    pub fn break_down(&self, reason: &str) -> bool {
        let news = self.broken.swap(crate::hash(reason), Relaxed) != crate::hash(reason);
        if news {
            self.reason.set(reason);
        }
        news
    }

    /// Whether the next run is to find out what it reads: where many have done so in vain, one in [`RETRIED`] is.
    pub fn is_to_find_out(&self) -> bool {
        let in_vain = self.in_vain.load(Relaxed);
        in_vain < IN_VAIN || self.in_vain.fetch_add(1, Relaxed).is_multiple_of(RETRIED)
    }

    /// Notes why nobody knows whether an answer still holds, by a number of the reason; `text` is asked if that is another than before.
    pub fn obstruct(&self, reason: u64, text: impl FnOnce() -> String) {
        self.in_vain.fetch_add(1, Relaxed);
        if self.obstructed.load(Relaxed) != reason {
            self.obstacle.set(&text());
            self.obstructed.store(reason, Relaxed);
        }
    }

    /// Somebody knows.
    pub fn clear_obstacle(&self) {
        if self.in_vain.load(Relaxed) != 0 {
            self.in_vain.store(0, Relaxed);
        }
        if self.obstructed.load(Relaxed) != 0 {
            self.obstructed.store(0, Relaxed);
        }
    }

    /// Why nobody knows whether an answer still holds; none if somebody does, or nobody has asked.
    pub fn obstacle(&self) -> Option<String> {
        (self.obstructed.load(Relaxed) != 0).then(|| self.obstacle.get())
    }

    /// It can be served.
    pub fn mend(&self) {
        if self.broken.load(Relaxed) != 0 {
            self.broken.store(0, Relaxed);
        }
    }

    /// Why it cannot be served; none if it can.
    pub fn reason(&self) -> Option<String> {
        (self.broken.load(Relaxed) != 0).then(|| self.reason.get())
    }
}

impl Entry for RouteCounters {
    fn key(&self) -> &Key {
        &self.key
    }

    fn clear(&self) {
        self.database.store(0, Release);
        let times = [&self.queue_us, &self.queue_max_us, &self.sql_us, &self.sql_max_us, &self.total_us];
        let others = [
            &self.inline,
            &self.cancelled,
            &self.unrun,
            &self.unchanged,
            &self.remembered,
            &self.cached,
            &self.shared,
            &self.missed,
            &self.evicted,
            &self.cached_bytes,
            &self.obstructed,
            &self.inline_banned_until,
            &self.inline_unfit,
            &self.gone_since,
            &self.broken,
        ];
        let all = self.statuses.iter().chain(&self.histogram).chain(times).chain(others);
        all.for_each(|counter| counter.store(0, Relaxed));
        self.mean_us.store(0, Relaxed);
        self.in_vain.store(0, Relaxed);
        self.inline_overruns.store(0, Relaxed);
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
    places: Places<RouteCounters>,
    /// What is known of the table as a whole.
    room: &'static Room,
}

/// Whether the table has places.
#[repr(C)]
pub struct Room {
    /// Whether a route has found none since the last was given back.
    overflowed: AtomicBool,
    /// Places that have been given back.
    given_back: AtomicU64,
}

/// What a process remembers of a key: its number, or that there was none.
#[derive(Clone, Copy, Debug, Default)]
pub struct Known {
    number: Option<u32>,
    hash: u64,
    /// Places that had been given back when it was looked for, plus one; 0 before that.
    looked: u64,
}

impl Routes {
    /// The table on these entries.
    pub fn new(entries: &'static [RouteCounters], room: &'static Room) -> Routes {
        Routes { places: Places::new(entries), room }
    }

    /// Number of routes that fit; the numbers are below it.
    pub fn capacity(&self) -> usize {
        self.places.entries().len()
    }

    /// The counters of a number that [`Routes::number`] has given.
    pub fn get(&self, number: usize) -> &'static RouteCounters {
        &self.places.entries()[number]
    }

    /// The number of a route's counters, which are added if need be; none when the table is full. Costs a load if what is
    /// remembered is still true. `no_room` hears of the first that finds none since a place was given back.
    pub fn number<'k>(
        &self,
        known: &Cell<Known>,
        key: impl FnOnce() -> RouteKey<'k>,
        no_room: impl FnOnce(&RouteKey<'k>),
    ) -> Option<u32> {
        let Known { number, hash, looked } = known.get();
        match number {
            Some(number) if self.places.holds(number as usize, hash) => Some(number),
            None if looked == self.looks() => None,
            _ => {
                let (key, looked) = (key(), self.looks());
                let number = self.find_or_add(&key, no_room).map(|number| number as u32);
                known.set(Known { number, hash: key.hash(), looked });
                number
            }
        }
    }

    fn looks(&self) -> u64 {
        self.room.given_back.load(Acquire) + 1
    }

    fn find_or_add<'k>(&self, key: &RouteKey<'k>, no_room: impl FnOnce(&RouteKey<'k>)) -> Option<usize> {
        let place = self.places.find_or_add(key.hash(), |entry| {
            entry.kind.store(key.kind as u32, Relaxed);
            entry.method.set(key.method);
            entry.pattern.set(key.pattern);
            entry.database.store(key.database, Release);
        });
        if place.is_none() && !self.room.overflowed.swap(true, Relaxed) {
            no_room(key);
        }
        place
    }

    /// A gateway of a database has read its tables now, which name the routes of these numbers and no others.
    pub fn name(&self, database: u32, numbers: &HashSet<u32>, now: u64) {
        for (number, counters) in self.of(database) {
            counters.set_gone(!numbers.contains(&(number as u32)), now);
        }
    }

    /// Gives back the places of counters for which this is true. The supervisor alone calls this.
    pub fn give_back(&self, is_over: impl Fn(usize, &RouteCounters) -> bool) {
        let over = |(number, counters): &(usize, &RouteCounters)| {
            counters.database() != 0 && is_over(*number, counters)
        };
        let entries = self.places.entries().iter().enumerate();
        let count = entries.filter(over).filter(|(number, _)| self.places.remove(*number)).count();
        if count > 0 {
            self.room.overflowed.store(false, Relaxed);
            self.room.given_back.fetch_add(count as u64, Release);
        }
    }

    /// The numbers of a database's counters.
    pub fn numbers_of(&self, database: u32) -> impl Iterator<Item = usize> {
        self.of(database).map(|(number, _)| number)
    }

    /// The counters of a database, with their numbers.
    pub fn of(&self, database: u32) -> impl Iterator<Item = (usize, &'static RouteCounters)> {
        let entries = self.places.entries().iter().enumerate();
        entries.filter(move |(_, entry)| entry.database() == database)
    }

    /// Whether a route has found no place, and none has been given back since.
    pub fn has_overflowed(&self) -> bool {
        self.room.overflowed.load(Relaxed)
    }

    /// Number of entries in use.
    pub fn used(&self) -> usize {
        self.places.used()
    }
}
