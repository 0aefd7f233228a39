//! The cursor of a segment, and the ranges behind it that have to be looked at again.
//!
//! The invariant: every position that is not consumed is at or above the cursor, or in a range of the list. A
//! range that is too wide costs a look; one that is missing would lose rows. So whatever does not fit makes
//! ranges wider. A list that has more room than transactions can run at once holds all of them, as one never needs more than one
//! range; should one not fit all the same, it holds the cursor back.

use crate::spans::Span;
use crate::{FOR_GOOD, Rows, block_of};

/// Ranges that are put together at once when there is no room.
const AT_ONCE: usize = 16;

/// Ranges that wait for a time are put together while they stay this small.
const NEIGHBOURS: u64 = 4096;

/// What has become of a transaction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// It is in progress, or prepared.
    Running,
    /// It has committed.
    Committed,
    /// It was rolled back, or nobody knows any more: whoever asks looks for himself.
    Aborted,
}

/// The transactions of the database server, by numbers that only grow.
pub trait Transactions {
    /// What has become of a transaction.
    fn outcome(&self, transaction: u64) -> Outcome;
    /// No transaction below this one is in progress.
    fn oldest_running(&self) -> u64;
    /// The number that the next transaction will get.
    fn next(&self) -> u64;
}

/// Positions to look through.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Range {
    /// The positions.
    pub span: Span,
    /// Where the ledger's rows about them are.
    pub rows: Rows,
    /// Whether it begins at the cursor, which goes on with the look.
    at_cursor: bool,
    /// The time of the look: ranges of the list that wait for a later one stay.
    now: i64,
}

/// Something that a look has passed by and that is not consumed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Obstacle {
    /// Where it is.
    pub span: Span,
    /// The transaction that it waits for; 0 if it waits for a time.
    pub transaction: u64,
    /// The time that it waits for.
    pub until: i64,
}

const FREE: u32 = 0;
/// Positions that a transaction writes; afterwards they wait for `until`.
const WRITE: u32 = 1;
/// Positions that a transaction claims until `until`.
const CLAIM: u32 = 2;
/// Positions that wait for `until` alone.
const TIMED: u32 = 3;

/// A range of the list. All-zero bytes are a place where there is none.
#[derive(Clone, Copy, Default)]
#[repr(C)]
pub struct Entry {
    first: u64,
    end: u64,
    transaction: u64,
    until: i64,
    kind: u64,
}

impl Entry {
    fn is(&self, kind: u32) -> bool {
        self.kind == u64::from(kind)
    }

    fn is_ready(&self, now: i64) -> bool {
        self.is(TIMED) && self.until <= now
    }

    fn widen(&mut self, span: Span, until: i64) {
        self.first = self.first.min(span.first);
        self.end = self.end.max(span.end);
        self.until = self.until.min(until);
    }

    fn hull_with(&self, other: &Entry) -> u64 {
        self.end.max(other.end) - self.first.min(other.first)
    }

    fn touches(&self, other: &Entry) -> bool {
        self.first <= other.end && other.first <= self.end
    }

    /// Whether the two wait for the end of the same transaction, or for nothing but times.
    fn waits_with(&self, other: &Entry) -> bool {
        self.transaction == other.transaction && (self.transaction != 0 || self.kind == other.kind)
    }

    /// Whether `new` may be put into this range, so that looks stay short.
    fn takes_in(&self, new: &Entry, now: i64) -> bool {
        if self.kind != new.kind || self.transaction != new.transaction {
            return false;
        }
        match () {
            () if self.is(WRITE) => true,
            // Claims that are final wait for no time. What is neighbouring costs no more in one look than in two.
            () if self.is(CLAIM) && (self.until == FOR_GOOD || new.until == FOR_GOOD) => {
                self.until == new.until && (self.touches(new) || self.hull_with(new) <= NEIGHBOURS)
            }
            () => self.is_ready(now) == new.is_ready(now) && self.hull_with(new) <= NEIGHBOURS,
        }
    }
}

/// The cursor and the list of a segment.
#[repr(C)]
pub struct Watch<E> {
    cursor: u64,
    /// Where the rows of the ledger are that speak of the cursor or what is above.
    rows: Rows,
    end: u64,
    /// The cursor stays at or below it, as something above did not fit into the list; 0 if there is no such thing.
    limit: u64,
    /// The limit holds while a transaction below this one runs.
    limit_until: u64,
    /// The time of the last [`Watch::settle`]: what had come by then is not put together with what waits.
    now: i64,
    /// All places of the list from here on are free.
    used: usize,
    /// The places of the list. It needs more of them than transactions can run at once, by two.
    entries: E,
}

impl<E: AsRef<[Entry]> + AsMut<[Entry]>> Watch<E> {
    /// An empty segment, whose list has these places.
    pub fn on(entries: E) -> Watch<E> {
        Watch { cursor: 0, rows: Rows::default(), end: 0, limit: 0, limit_until: 0, now: 0, used: 0, entries }
    }

    /// Begins with a segment of which nothing is known but that its positions are below `end`.
    pub fn begin(&mut self, end: u64) {
        (self.cursor, self.rows, self.end) = (0, Rows::default(), end);
        (self.limit, self.limit_until, self.now) = (0, 0, 0);
        self.entries.as_mut().fill(Entry::default());
        self.used = 0;
    }

    /// Somebody else has written to the segment: everything below `end` is to be looked at again.
    pub fn look_again(&mut self, end: u64) {
        (self.cursor, self.rows) = (0, Rows::default());
        self.end = self.end.max(end);
    }

    /// The cursor has passed everything: nothing was there.
    pub fn begin_empty(&mut self, end: u64) {
        self.begin(end);
        self.cursor = end;
    }

    /// The lowest position that may not be consumed.
    pub fn lowest(&self) -> u64 {
        self.used().map(|entry| entry.first).fold(self.cursor, u64::min)
    }

    /// Where the looks go on. A row of the ledger that claims positions on both sides would be overlooked.
    pub fn cursor(&self) -> u64 {
        self.cursor
    }

    /// The position after the last that was given out.
    pub fn end(&self) -> u64 {
        self.end
    }

    /// Whether everything is consumed.
    pub fn is_drained(&self) -> bool {
        self.cursor >= self.end && self.limit == 0 && self.used().next().is_none()
    }

    /// Whether nothing is left but what waits for a time, if that: a lease stays on the list until its time is over, also
    /// when its rows have been consumed.
    pub fn waits_for_times_alone(&self) -> bool {
        self.cursor >= self.end && self.limit == 0 && self.used().all(|entry| entry.is(TIMED))
    }

    /// All has been seen to be consumed, but for what may come back when a transaction is rolled back.
    pub fn pass_all(&mut self) {
        if self.limit == 0 {
            (self.cursor, self.rows) = (self.end.max(self.cursor), Rows::default());
        }
        self.used_mut()
            .iter_mut()
            .filter(|entry| entry.is(TIMED))
            .for_each(|entry| entry.kind = u64::from(FREE));
    }

    /// Positions are given out to a transaction, which will write them; they are to wait until `until`.
    pub fn reserve(&mut self, transaction: u64, span: Span, until: i64, transactions: &impl Transactions) {
        if self.cursor >= self.end && self.limit == 0 {
            // What is below is consumed, or on the list: what comes begins here, and so do the ledger's rows about it, as a batch
            // has no position of before, and no claim has any on both sides of the cursor.
            (self.cursor, self.rows) = (span.first.max(self.cursor), Rows::all(span.first));
        }
        self.end = self.end.max(span.end);
        self.add(WRITE, transaction, span, until, transactions);
    }

    /// A transaction claims positions until `until`. It is named by its top: tell of claims that a rollback to a savepoint
    /// makes void by [`Watch::freed`].
    pub fn claimed(&mut self, transaction: u64, span: Span, until: i64, transactions: &impl Transactions) {
        self.add(CLAIM, transaction, span, until, transactions);
    }

    /// Positions may be free again, though the transaction that has claimed them has not ended.
    pub fn freed(&mut self, span: Span, transactions: &impl Transactions) {
        let span = Span { end: span.end.min(self.cursor), ..span };
        // What is not below the cursor will be met by it.
        if !span.is_empty() {
            self.add(TIMED, 0, span, i64::MIN, transactions);
        }
    }

    /// Finds out which transactions have ended, and which times have come.
    pub fn settle(&mut self, now: i64, transactions: &impl Transactions) {
        self.now = now;
        let mut known = (0, Outcome::Running);
        for place in 0..self.used {
            let entry = self.used_mut()[place];
            if entry.kind != 0 && entry.transaction != 0 {
                if known.0 != entry.transaction {
                    known = (entry.transaction, transactions.outcome(entry.transaction));
                }
                self.settle_one(place, now, known.1);
            }
        }
        self.used = self.used_mut().iter().rposition(|entry| !entry.is(FREE)).map_or(0, |last| last + 1);
        let places = self.entries.as_ref().len();
        if self.limit != 0
            && self.used().count() < places / 2
            && transactions.oldest_running() >= self.limit_until
        {
            self.limit = 0;
        }
    }

    fn settle_one(&mut self, place: usize, now: i64, outcome: Outcome) {
        let cursor = self.cursor;
        let entry = &mut self.used_mut()[place];
        let gone = match outcome {
            Outcome::Running => return,
            Outcome::Committed if entry.is(CLAIM) => entry.until == FOR_GOOD,
            Outcome::Committed => false,
            Outcome::Aborted => {
                entry.until = i64::MIN;
                false
            }
        };
        // What is not below the cursor will be met by it. But who waits for a condition does not move it, and is to know the time.
        let waits = entry.until > now;
        if gone || entry.first >= cursor && !waits {
            entry.kind = u64::from(FREE);
            return;
        }
        entry.transaction = 0;
        entry.kind = u64::from(TIMED);
        if waits {
            self.join_neighbour(place);
        } else {
            entry.end = entry.end.min(cursor);
        }
    }

    fn join_neighbour(&mut self, place: usize) {
        let now = self.now;
        let entries = self.used_mut();
        let entry = entries[place];
        let neighbour = (0..entries.len()).find(|other| {
            let candidate = &entries[*other];
            *other != place
                && candidate.is(TIMED)
                && !candidate.is_ready(now)
                && candidate.hull_with(&entry) <= NEIGHBOURS
        });
        if let Some(neighbour) = neighbour {
            entries[neighbour].widen(Span { first: entry.first, end: entry.end }, entry.until);
            entries[place].kind = u64::from(FREE);
        }
    }

    /// What to look through next. After the look call [`Watch::passed`] before anything else.
    pub fn next_range(&self, now: i64) -> Option<Range> {
        self.next_range_from(0, now)
    }

    /// The same for who has looked through everything below `seen`, or does not want it.
    pub fn next_range_from(&self, seen: u64, now: i64) -> Option<Range> {
        let rest = Span { first: self.cursor.max(seen), end: self.end };
        let behind = self.used().filter(|entry| entry.is_ready(now) && entry.end > seen);
        let behind = behind.map(|entry| Span { first: entry.first.max(seen), end: entry.end });
        let span = behind.chain((!rest.is_empty()).then_some(rest)).min_by_key(|span| span.first)?;
        let at_cursor = span == rest && rest.first == self.cursor;
        let is_known = at_cursor && self.rows != Rows::default();
        let rows = if is_known { self.rows } else { Rows::all(block_of(span.first)) };
        Some(Range { span, rows, at_cursor, now })
    }

    /// A look through a range has come to `upto`; what it met on the way and is not consumed are `obstacles`.
    /// The ledger's rows about `upto` and what is above are at `rows`, if that is known. Returns whether the whole range has been looked through.
    pub fn passed(
        &mut self,
        range: Range,
        upto: u64,
        rows: Rows,
        obstacles: &[Obstacle],
        transactions: &impl Transactions,
    ) -> bool {
        let first = range.span.first;
        for entry in self.used_mut().iter_mut().filter(|entry| entry.is_ready(range.now)) {
            match (entry.first >= first, entry.end <= upto) {
                (true, true) => entry.kind = u64::from(FREE),
                (true, false) => entry.first = entry.first.max(upto),
                (false, true) => entry.end = entry.end.min(first),
                (false, false) => {}
            }
        }
        if range.at_cursor {
            (self.cursor, self.rows) = (upto.max(self.cursor), rows);
        }
        for obstacle in obstacles {
            self.cover(obstacle, transactions);
        }
        if self.limit != 0 && self.limit < self.cursor {
            (self.cursor, self.rows) = (self.limit, Rows::default());
        }
        upto >= range.span.end
    }

    /// Sees to it that an obstacle is on the list.
    fn cover(&mut self, obstacle: &Obstacle, transactions: &impl Transactions) {
        let Obstacle { span, transaction, until } = *obstacle;
        let known = self.used().any(|entry| {
            let waits_alike = match transaction {
                // A claim may be dropped with all that its range covers.
                0 => entry.transaction == 0 && entry.until <= until,
                transaction => entry.transaction == transaction,
            };
            waits_alike && entry.first <= span.first && span.end <= entry.end
        });
        if known {
            return;
        }
        // Whatever the transaction does, its end is a reason to look again.
        let kind = u64::from(if transaction == 0 { TIMED } else { WRITE });
        let Span { first, end } = span;
        self.add_met(&Entry { first, end, transaction, until, kind }, transactions);
    }

    /// The earliest time at which a waiting range may become free; none if none waits for a time. What waits for a
    /// transaction when its time is over becomes free by the end of that.
    pub fn next_time(&self, now: i64) -> Option<i64> {
        let waits = |entry: &&Entry| entry.until != FOR_GOOD && (entry.is(TIMED) || entry.until > now);
        self.used().filter(waits).map(|entry| entry.until).min()
    }

    fn used(&self) -> impl Iterator<Item = &Entry> {
        self.entries.as_ref()[..self.used].iter().filter(|entry| !entry.is(FREE))
    }

    /// The places that may be used.
    fn used_mut(&mut self) -> &mut [Entry] {
        &mut self.entries.as_mut()[..self.used]
    }

    /// Puts a range on the list. To be called between two looks: where there is no room it finds out which transactions have ended.
    fn add(&mut self, kind: u32, transaction: u64, span: Span, until: i64, transactions: &impl Transactions) {
        let new = Entry { first: span.first, end: span.end, transaction, until, kind: kind.into() };
        if self.has_taken_in(&new) {
            return;
        }
        if self.room().is_none() {
            self.settle(self.now, transactions);
        }
        self.put(&new, transactions);
    }

    /// Puts a range on the list that was met by a look, all of which have been settled before. What has ended since must not be
    /// taken for what was looked at.
    fn add_met(&mut self, new: &Entry, transactions: &impl Transactions) {
        if !self.has_taken_in(new) {
            self.put(new, transactions);
        }
    }

    /// Whether a range of the list has been widened by this one.
    fn has_taken_in(&mut self, new: &Entry) -> bool {
        let now = self.now;
        let alike = self.used_mut().iter_mut().find(|entry| entry.takes_in(new, now));
        alike.map(|alike| alike.widen(Span { first: new.first, end: new.end }, new.until)).is_some()
    }

    fn put(&mut self, new: &Entry, transactions: &impl Transactions) {
        match self.room() {
            Some(place) => {
                self.used = self.used.max(place + 1);
                self.entries.as_mut()[place] = *new;
            }
            None => self.hold_back(new, transactions),
        }
    }

    /// A free place, which is made if need be.
    fn room(&mut self) -> Option<usize> {
        self.free_place().or_else(|| self.make_room())
    }

    fn free_place(&self) -> Option<usize> {
        let entries = self.entries.as_ref();
        let free = entries[..self.used].iter().position(|entry| entry.is(FREE));
        free.or((self.used < entries.len()).then_some(self.used))
    }

    /// Puts neighbouring ranges together that wait for the same, those that make the smallest ones. What one of them is
    /// looked through for, whatever becomes of the transaction, both are then. Some at once, so that it is seldom done.
    fn make_room(&mut self) -> Option<usize> {
        let entries = self.used_mut();
        let mut order: Vec<usize> = (0..entries.len()).collect();
        order.sort_unstable_by_key(|place| {
            let entry = &entries[*place];
            (entry.transaction, if entry.transaction == 0 { entry.kind } else { 0 }, entry.first)
        });
        let pairs = order.windows(2).map(|pair| [&entries[pair[0]], &entries[pair[1]]]);
        let alike = pairs.filter(|[one, other]| one.waits_with(other));
        let mut hulls: Vec<u64> = alike.map(|[one, other]| one.hull_with(other)).collect();
        hulls.sort_unstable();
        let largest = *hulls.get(AT_ONCE - 1).or(hulls.last())?;
        let before: Vec<Entry> = entries.to_vec();
        let mut kept = order[0];
        for pair in order.windows(2) {
            let [one, other] = [&before[pair[0]], &before[pair[1]]];
            if one.waits_with(other) && one.hull_with(other) <= largest {
                join(entries, kept, pair[1]);
            } else {
                kept = pair[1];
            }
        }
        self.free_place()
    }

    /// There is no room for a range: the cursor must not pass it.
    fn hold_back(&mut self, entry: &Entry, transactions: &impl Transactions) {
        self.limit = if self.limit == 0 { entry.first.max(1) } else { self.limit.min(entry.first.max(1)) };
        self.limit_until = transactions.next();
        if self.limit < self.cursor {
            (self.cursor, self.rows) = (self.limit, Rows::default());
        }
    }
}

/// Puts a range into another that waits for the same.
fn join(entries: &mut [Entry], kept: usize, gone: usize) {
    let Entry { first, end, until, kind, .. } = entries[gone];
    entries[gone].kind = u64::from(FREE);
    let kept = &mut entries[kept];
    kept.widen(Span { first, end }, until);
    if kept.kind != kind {
        kept.kind = u64::from(WRITE);
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::collections::HashMap;

    use super::*;

    /// Transactions by number; those that are not named run.
    #[derive(Default)]
    struct Server(RefCell<HashMap<u64, Outcome>>);

    impl Server {
        fn ends(&self, transaction: u64, outcome: Outcome) {
            self.0.borrow_mut().insert(transaction, outcome);
        }
    }

    impl Transactions for Server {
        fn outcome(&self, transaction: u64) -> Outcome {
            self.0.borrow().get(&transaction).copied().unwrap_or(Outcome::Running)
        }
        fn oldest_running(&self) -> u64 {
            (1..).find(|number| self.outcome(*number) == Outcome::Running).expect("one runs")
        }
        fn next(&self) -> u64 {
            1000
        }
    }

    /// Places of a list.
    const PLACES: usize = 128;

    fn watch() -> Watch<Vec<Entry>> {
        Watch::on(vec![Entry::default(); PLACES])
    }

    fn span(first: u64, end: u64) -> Span {
        Span { first, end }
    }

    /// Looks through everything there is, as a take does that finds nothing free.
    fn look(watch: &mut Watch<Vec<Entry>>, now: i64, server: &Server) -> Vec<Span> {
        watch.settle(now, server);
        let mut looked = Vec::new();
        while let Some(range) = watch.next_range(now) {
            looked.push(range.span);
            assert!(watch.passed(range, range.span.end, Rows::default(), &[], server));
        }
        looked
    }

    #[test]
    fn what_commits_late_is_looked_at_once_the_cursor_has_passed_it() {
        let (mut watch, server) = (watch(), Server::default());
        watch.begin_empty(1);
        watch.reserve(5, span(1, 2), i64::MIN, &server);
        watch.reserve(6, span(2, 3), i64::MIN, &server);
        assert_eq!(look(&mut watch, 0, &server), [span(1, 3)]);
        assert_eq!(look(&mut watch, 0, &server), []);
        server.ends(5, Outcome::Committed);
        assert_eq!(look(&mut watch, 0, &server), [span(1, 2)]);
        assert!(!watch.is_drained());
        server.ends(6, Outcome::Aborted);
        look(&mut watch, 0, &server);
        assert!(watch.is_drained());
    }

    #[test]
    fn a_claim_that_is_rolled_back_is_looked_at_and_one_that_commits_is_not() {
        let (mut watch, server) = (watch(), Server::default());
        watch.begin_empty(100);
        watch.claimed(5, span(10, 20), FOR_GOOD, &server);
        watch.claimed(6, span(20, 30), FOR_GOOD, &server);
        server.ends(5, Outcome::Aborted);
        server.ends(6, Outcome::Committed);
        assert_eq!(look(&mut watch, 0, &server), [span(10, 20)]);
        assert!(watch.is_drained());
    }

    #[test]
    fn a_lease_is_looked_at_when_its_time_has_come() {
        let (mut watch, server) = (watch(), Server::default());
        watch.begin_empty(100);
        watch.claimed(5, span(10, 20), 50, &server);
        server.ends(5, Outcome::Committed);
        assert_eq!(look(&mut watch, 49, &server), []);
        assert_eq!(watch.next_time(49), Some(50));
        assert_eq!(look(&mut watch, 50, &server), [span(10, 20)]);
    }

    #[test]
    fn the_time_of_a_lease_is_known_also_above_the_cursor() {
        let (mut watch, server) = (watch(), Server::default());
        watch.begin(100);
        watch.claimed(5, span(10, 20), 50, &server);
        server.ends(5, Outcome::Committed);
        watch.settle(0, &server);
        assert_eq!(watch.next_time(0), Some(50));
        assert_eq!(look(&mut watch, 50, &server), [span(0, 100)]);
        assert!(watch.is_drained());
    }

    #[test]
    fn what_was_seen_to_be_consumed_is_drained_once_the_transactions_end_that_may_give_it_back() {
        let (mut watch, server) = (watch(), Server::default());
        watch.begin(100);
        watch.claimed(5, span(10, 20), 50, &server);
        watch.settle(0, &server);
        watch.claimed(6, span(20, 30), FOR_GOOD, &server);
        watch.claimed(7, span(40, 50), FOR_GOOD, &server);
        server.ends(5, Outcome::Committed);
        watch.settle(0, &server);
        watch.pass_all();
        assert!(!watch.is_drained());
        server.ends(6, Outcome::Aborted);
        server.ends(7, Outcome::Committed);
        assert_eq!(look(&mut watch, 60, &server), [span(20, 30)]);
        assert!(watch.is_drained());
    }

    #[test]
    fn what_waits_for_a_transaction_waits_for_no_time_that_is_over() {
        let (mut watch, server) = (watch(), Server::default());
        watch.begin_empty(100);
        watch.reserve(5, span(10, 20), 0, &server);
        watch.claimed(6, span(20, 30), 50, &server);
        watch.claimed(7, span(30, 40), FOR_GOOD, &server);
        assert_eq!((watch.next_time(49), watch.next_time(50)), (Some(50), None));
        server.ends(6, Outcome::Committed);
        watch.settle(49, &server);
        assert_eq!(watch.next_time(60), Some(50));
    }

    #[test]
    fn a_partly_taken_range_goes_on_where_it_was_left() {
        let (mut watch, server) = (watch(), Server::default());
        watch.begin(100);
        let range = watch.next_range(0).expect("a range");
        assert!(!watch.passed(range, 40, Rows::default(), &[], &server));
        assert_eq!(look(&mut watch, 0, &server), [span(40, 100)]);
    }

    #[test]
    fn a_lease_within_the_range_of_a_claim_that_commits_is_not_forgotten() {
        let (mut watch, server) = (watch(), Server::default());
        watch.begin(100);
        watch.settle(0, &server);
        let range = watch.next_range(0).expect("a range");
        watch.passed(range, 100, Rows::default(), &[], &server);
        watch.claimed(5, span(10, 11), FOR_GOOD, &server);
        watch.claimed(5, span(20, 21), FOR_GOOD, &server);
        watch.claimed(6, span(12, 13), 7, &server);
        server.ends(6, Outcome::Aborted);
        watch.settle(1, &server);
        let range = watch.next_range(1).expect("a range");
        assert_eq!(range.span, span(12, 13));
        watch.passed(
            range,
            13,
            Rows::default(),
            &[Obstacle { span: span(12, 13), transaction: 0, until: 9 }],
            &server,
        );
        server.ends(5, Outcome::Committed);
        assert_eq!(look(&mut watch, 9, &server), [span(12, 13)]);
    }

    #[test]
    fn nothing_is_lost_when_the_list_is_full_of_transactions_that_run() {
        let (mut watch, server) = (watch(), Server::default());
        watch.begin_empty(1);
        let count = PLACES as u64 + 50;
        for number in 1..=count {
            watch.reserve(number, span(number, number + 1), i64::MIN, &server);
        }
        look_once(&mut watch, &server);
        (1..=count).for_each(|number| server.ends(number, Outcome::Committed));
        let looked = look_once(&mut watch, &server);
        let seen = |position| looked.iter().any(|span: &Span| span.first <= position && position < span.end);
        assert!((1..=count).all(seen), "{looked:?}");
        (count..1000).for_each(|number| server.ends(number, Outcome::Committed));
        look_once(&mut watch, &server);
        assert!(watch.is_drained());
    }

    #[test]
    fn a_list_with_room_for_all_that_run_holds_nothing_back_whatever_has_ended() {
        let (mut watch, server) = (watch(), Server::default());
        watch.begin_empty(1);
        // One that is older than all runs all along, anywhere.
        let running = PLACES as u64 - 2;
        for number in 2..10 * PLACES as u64 {
            watch.reserve(number, span(number * 5000, number * 5000 + 1), i64::MIN, &server);
            if number % 3 == 0 {
                look_once(&mut watch, &server);
                watch.claimed(number, span(number * 5000 - 10, number * 5000 - 9), FOR_GOOD, &server);
            }
            if let Some(over) = number.checked_sub(running) {
                server.ends(over, Outcome::Committed);
            }
            assert_eq!(watch.limit, 0, "the cursor is held back at {number}");
        }
    }

    /// One pass, which need not come to an end while the cursor is held back.
    fn look_once(watch: &mut Watch<Vec<Entry>>, server: &Server) -> Vec<Span> {
        watch.settle(0, server);
        let mut looked = Vec::new();
        while let Some(range) = watch.next_range(0) {
            looked.push(range.span);
            watch.passed(range, range.span.end, Rows::default(), &[], server);
            if range.at_cursor {
                break;
            }
        }
        looked
    }

    #[test]
    fn one_transaction_never_fills_the_list_whatever_it_does() {
        let (mut watch, server) = (watch(), Server::default());
        watch.begin_empty(1);
        watch.reserve(5, span(1, 2), i64::MIN, &server);
        for number in 0..10_000u64 {
            let first = 10 + number * 5_000;
            watch.reserve(6, span(first, first + 3), i64::MIN, &server);
            look_once(&mut watch, &server);
            watch.claimed(6, span(first, first + 1), FOR_GOOD, &server);
            watch.claimed(6, span(first + 1, first + 2), 100 + number as i64, &server);
        }
        assert_eq!(watch.limit, 0, "the cursor is held back");
        server.ends(6, Outcome::Aborted);
        let looked = look_once(&mut watch, &server);
        let seen = |position| looked.iter().any(|span: &Span| span.first <= position && position < span.end);
        assert!((0..10_000).all(|number| seen(10 + number * 5_000)), "{looked:?}");
    }

    #[test]
    fn what_a_savepoint_gives_back_is_looked_at_while_its_transaction_runs() {
        let (mut watch, server) = (watch(), Server::default());
        watch.begin_empty(100);
        watch.claimed(5, span(10, 20), FOR_GOOD, &server);
        watch.claimed(5, span(20, 30), FOR_GOOD, &server);
        watch.freed(span(20, 30), &server);
        assert_eq!(look(&mut watch, 0, &server), [span(20, 30)]);
        assert_eq!(look(&mut watch, 0, &server), []);
        server.ends(5, Outcome::Committed);
        look(&mut watch, 0, &server);
        assert!(watch.is_drained());
    }

    #[test]
    fn a_segment_that_is_used_again_begins_where_its_rows_do() {
        let (mut watch, server) = (watch(), Server::default());
        watch.begin_empty(100);
        watch.reserve(5, span(5_000, 5_010), i64::MIN, &server);
        assert_eq!(watch.lowest(), 5_000);
        assert_eq!(look(&mut watch, 0, &server), [span(5_000, 5_010)]);
    }

    #[test]
    fn who_has_looked_higher_up_goes_on_there() {
        let (mut watch, server) = (watch(), Server::default());
        watch.begin_empty(50);
        watch.claimed(5, span(10, 20), FOR_GOOD, &server);
        watch.reserve(6, span(50, 60), i64::MIN, &server);
        server.ends(5, Outcome::Aborted);
        watch.settle(0, &server);
        assert_eq!(watch.next_range(0).map(|range| range.span), Some(span(10, 20)));
        assert_eq!(watch.next_range_from(30, 0).map(|range| range.span), Some(span(50, 60)));
        assert_eq!(watch.next_range_from(60, 0), None);
    }

    #[test]
    fn ranges_that_overlap_are_looked_through_once_and_to_their_ends() {
        let (mut watch, server) = (watch(), Server::default());
        watch.begin_empty(100);
        for (transaction, claimed) in [(5, span(10, 60)), (6, span(20, 80)), (7, span(15, 30))] {
            watch.claimed(transaction, claimed, FOR_GOOD, &server);
            server.ends(transaction, Outcome::Aborted);
        }
        watch.settle(0, &server);
        let range = watch.next_range(0).expect("a range");
        // Enough was found at 39; then this look goes on above.
        assert_eq!(
            (range.span, watch.passed(range, 40, Rows::default(), &[], &server)),
            (span(10, 60), false)
        );
        assert_eq!(watch.next_range_from(40, 0).map(|range| range.span.first), Some(40));
        assert_eq!(look(&mut watch, 0, &server), [span(40, 60), span(60, 80)]);
        assert!(watch.is_drained());
    }

    #[test]
    fn what_others_have_written_is_looked_at_and_what_waits_still_waits() {
        let (mut watch, server) = (watch(), Server::default());
        watch.begin_empty(100);
        watch.reserve(5, span(100, 110), i64::MIN, &server);
        look(&mut watch, 0, &server);
        watch.look_again(400);
        assert_eq!(look(&mut watch, 0, &server), [span(0, 400)]);
        server.ends(5, Outcome::Committed);
        assert_eq!(look(&mut watch, 0, &server), [span(100, 110)]);
    }

    #[test]
    fn what_is_not_wanted_of_a_range_stays_on_the_list() {
        let (mut watch, server) = (watch(), Server::default());
        watch.begin_empty(100);
        watch.claimed(5, span(10, 60), FOR_GOOD, &server);
        server.ends(5, Outcome::Aborted);
        watch.settle(0, &server);
        let range = watch.next_range_from(30, 0).expect("a range");
        assert_eq!(range.span, span(30, 60));
        assert!(watch.passed(range, 60, Rows::default(), &[], &server));
        assert_eq!(look(&mut watch, 0, &server), [span(10, 30)]);
    }

    #[test]
    fn many_leases_are_put_together_and_none_is_forgotten() {
        let (mut watch, server) = (watch(), Server::default());
        watch.begin_empty(1_000_000);
        for number in 1..=10_000u64 {
            watch.claimed(number, span(number * 7, number * 7 + 1), 100 + number as i64, &server);
            server.ends(number, Outcome::Committed);
            watch.settle(0, &server);
        }
        let looked = look(&mut watch, 1_000_000, &server);
        for number in 1..=10_000u64 {
            assert!(looked.iter().any(|span| span.first <= number * 7 && number * 7 < span.end), "{number}");
        }
    }
}
