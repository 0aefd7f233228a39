//! What commits have changed: a counter for each thing that can change, and a mark for each commit that is under way.
//!
//! A commit is **marked** before anybody can see what it has changed, and **counted** when everybody can and has been told to forget what they
//! keep of it, before its client is told. In between there is a time in which some see it and others do not know.
//!
//! What was computed counts from a [`Moment`] before its snapshot on. It [holds](Commits::hold) as long as nothing that it has read was
//! counted since, and no mark on one of these belongs to a transaction that has ended. So whoever has been told of a commit, or has seen it by
//! any way, never gets what was computed before it. While a marked transaction runs nobody sees it, and what was computed goes on to hold,
//! however long it waits for its end.
//!
//! Why [`Commits::hold`] is right in that order: it looks for marks, then at counters. All that could be seen when it began was marked then, and
//! has its mark still, or was counted before its mark went.
//!
//! Things share a counter when their hashes say so; then one that changes takes the other with it. Nothing is skipped, and writers of different
//! things share no more than the number of the last count.

#[cfg(all(test, loom))]
mod models;

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::atomic::Ordering::{Relaxed, SeqCst};

#[cfg(loom)]
use loom::sync::atomic::{AtomicU32, AtomicU64};
#[cfg(not(loom))]
use std::sync::atomic::{AtomicU32, AtomicU64};

/// The number of the last commit that was counted at some time. Later ones have higher ones.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Moment(u64);

impl Moment {
    /// As a number, for people, and for other processes.
    pub fn number(self) -> u64 {
        self.0
    }

    /// The one of this number.
    pub fn of_number(number: u64) -> Moment {
        Moment(number)
    }
}

/// Something that can change: a relation, all catalogs of a database, everything.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Thing(u32);

impl Thing {
    /// As a number, for other processes.
    pub fn number(self) -> u32 {
        self.0
    }

    /// The one of this number, which a process has told; [`EVERYTHING`] if there is no such.
    pub fn of_number(number: u32, commits: &Commits) -> Thing {
        if (number as usize) < commits.counters.len() { Thing(number) } else { EVERYTHING }
    }
}

/// What every answer has read. A commit of which nobody knows what it has changed has changed it.
pub const EVERYTHING: Thing = Thing(0);

/// The counter of things.
#[derive(Debug, Default)]
#[repr(C)]
pub struct Counter {
    /// The number of the last commit that has changed one of them.
    changed: AtomicU64,
    /// Commits under way that change one.
    marked: AtomicU32,
}

/// Things that a mark names; one with more stands on all.
pub const NAMED: usize = if cfg!(loom) { 2 } else { 28 };

/// The mark of a commit under way.
#[derive(Debug, Default)]
#[repr(C, align(64))]
pub struct Mark {
    /// The transaction; 0 while there is none.
    transaction: AtomicU32,
    /// Odd while it is written: what is read meanwhile is nothing.
    turn: AtomicU32,
    /// How many things it names; more than [`NAMED`] is all.
    count: AtomicU32,
    /// The counters of these.
    things: [AtomicU32; NAMED],
}

/// What has become of a transaction that has a mark.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Standing {
    /// It runs: nobody sees what it has changed.
    Runs,
    /// It has ended, and not everybody has been told of it.
    Ends,
    /// It has ended, and everybody has been told. Whoever finds that out of a prepared one counts it.
    Ended,
}

/// The counters and marks.
#[derive(Clone, Copy, Debug)]
pub struct Commits {
    last: &'static AtomicU64,
    counters: &'static [Counter],
    /// Those of processes.
    marks: &'static [Mark],
    /// Those of prepared transactions, which belong to nobody.
    prepared: &'static [Mark],
}

impl Commits {
    /// Over memory that all processes share. There is one counter at least.
    pub fn new(
        last: &'static AtomicU64,
        counters: &'static [Counter],
        marks: &'static [Mark],
        prepared: &'static [Mark],
    ) -> Commits {
        Commits { last, counters, marks, prepared }
    }

    /// What a key stands for, the same in every process. It is never [`EVERYTHING`], unless there is no other counter.
    pub fn thing(&self, key: impl Hash) -> Thing {
        let others = self.counters.len() as u64 - 1;
        let mut hasher = DefaultHasher::new();
        key.hash(&mut hasher);
        Thing(hasher.finish().checked_rem(others).map_or(0, |place| place as u32 + 1))
    }

    /// Now. What takes its snapshot afterwards sees all that was counted.
    pub fn now(&self) -> Moment {
        Moment(self.last.load(SeqCst))
    }

    /// When something of this was last counted.
    pub fn last_change(&self, thing: Thing) -> Moment {
        Moment(self.counter(thing).changed.load(SeqCst))
    }

    /// Marks a process's commit, before anybody can see it. Each thing is named once.
    pub fn mark(&self, process: usize, transaction: u32, things: &[Thing]) {
        self.marks[process].write(transaction, things);
        self.announce(things);
    }

    /// Counts a process's commit that was marked with these things, once everybody can see it.
    pub fn count(&self, process: usize, things: &[Thing]) {
        self.note_change(things);
        self.withdraw(process, things);
    }

    /// Takes the mark away of a commit that has become none.
    pub fn withdraw(&self, process: usize, things: &[Thing]) {
        self.marks[process].clear();
        self.recall(things);
    }

    /// Counts a commit that has no mark, which somebody may have seen before.
    pub fn count_unmarked(&self, things: &[Thing]) {
        self.note_change(things);
    }

    /// Marks a transaction that is about to be prepared, and may be committed by whoever likes: its mark stays until somebody finds out what
    /// has become of it. False if there is no place: there is one for each that may be prepared.
    pub fn prepare(
        &self,
        transaction: u32,
        things: &[Thing],
        mut standing: impl FnMut(u32, bool) -> Standing,
    ) -> bool {
        // A mark that names all cannot say later which counters to set back.
        let things = if things.len() <= NAMED { things } else { &[EVERYTHING] };
        let take = || self.prepared.iter().find(|mark| mark.take());
        let taken = take().or_else(|| {
            // Nobody has asked lately.
            self.settle_ended(&mut standing);
            take()
        });
        if let Some(mark) = taken {
            mark.write(transaction, things);
            self.announce(things);
        }
        taken.is_some()
    }

    /// Counts the prepared transactions that have ended.
    pub fn settle_ended(&self, mut standing: impl FnMut(u32, bool) -> Standing) {
        for mark in self.prepared {
            let transaction = mark.transaction.load(SeqCst);
            if Mark::is_one(transaction) && standing(transaction, true) == Standing::Ended {
                self.settle(mark, transaction);
            }
        }
    }

    /// Takes the mark of a transaction away that was not prepared after all.
    pub fn give_up(&self, transaction: u32) {
        if let Some(mark) = self.prepared_by(transaction)
            && let Some(things) = mark.take_away(transaction)
        {
            self.recall(&things);
        }
    }

    /// Marks a prepared transaction of which nobody knows what it has changed, unless it has its mark.
    pub fn adopt(&self, transaction: u32, standing: impl FnMut(u32, bool) -> Standing) -> bool {
        self.prepared_by(transaction).is_some() || self.prepare(transaction, &[EVERYTHING], standing)
    }

    fn prepared_by(&self, transaction: u32) -> Option<&Mark> {
        self.prepared.iter().find(|mark| mark.transaction.load(SeqCst) == transaction)
    }

    /// Whether what was computed after this moment, from these things and [`EVERYTHING`], is what would be computed now. It asks
    /// what has become of a transaction, and whether that was prepared, only where there is a mark.
    pub fn hold(
        &self,
        since: Moment,
        things: &[Thing],
        mut standing: impl FnMut(u32, bool) -> Standing,
    ) -> bool {
        let all = || std::iter::once(EVERYTHING).chain(things.iter().copied());
        if all().any(|thing| self.counter(thing).marked.load(SeqCst) > 0) {
            let of_processes = self.marks.iter().map(|mark| (mark, false));
            for (mark, is_prepared) in of_processes.chain(self.prepared.iter().map(|mark| (mark, true))) {
                let Some(transaction) = mark.concerns(all()) else { continue };
                match standing(transaction, is_prepared) {
                    Standing::Runs => {}
                    Standing::Ended if is_prepared => {
                        self.settle(mark, transaction);
                        return false;
                    }
                    _ => return false,
                }
            }
        }
        all().all(|thing| self.counter(thing).changed.load(SeqCst) <= since.0)
    }

    /// Counts a prepared transaction that has ended, whoever finds that out: perhaps two, and once too often harms nobody.
    fn settle(&self, mark: &Mark, transaction: u32) {
        let Some(things) = mark.named_by(transaction) else { return };
        // Before the mark goes.
        self.note_change(&things);
        if mark.take_away(transaction).is_some() {
            self.recall(&things);
        }
    }

    fn counter(&self, thing: Thing) -> &Counter {
        &self.counters[thing.0 as usize]
    }

    fn note_change(&self, things: &[Thing]) {
        let number = self.last.fetch_add(1, SeqCst) + 1;
        for &thing in things {
            self.counter(thing).changed.fetch_max(number, SeqCst);
        }
    }

    fn announce(&self, things: &[Thing]) {
        for &thing in things {
            self.counter(thing).marked.fetch_add(1, SeqCst);
        }
    }

    fn recall(&self, things: &[Thing]) {
        for &thing in things {
            self.counter(thing).marked.fetch_sub(1, SeqCst);
        }
    }
}

/// Stands in the place of the transaction of a mark that somebody takes, and has not written yet.
const TAKEN: u32 = u32::MAX;

impl Mark {
    fn is_one(transaction: u32) -> bool {
        transaction != 0 && transaction != TAKEN
    }

    /// Takes one that nobody has.
    fn take(&self) -> bool {
        self.transaction.compare_exchange(0, TAKEN, SeqCst, SeqCst).is_ok()
    }

    /// For whoever has it alone.
    fn write(&self, transaction: u32, things: &[Thing]) {
        let turn = self.turn.load(Relaxed);
        self.turn.store(turn.wrapping_add(1), SeqCst);
        for (place, thing) in self.things.iter().zip(things) {
            place.store(thing.0, SeqCst);
        }
        self.count.store(things.len() as u32, SeqCst);
        self.transaction.store(transaction, SeqCst);
        self.turn.store(turn.wrapping_add(2), SeqCst);
    }

    fn clear(&self) {
        self.transaction.store(0, SeqCst);
    }

    /// The transaction, if its mark may name one of these.
    fn concerns(&self, mut things: impl Iterator<Item = Thing>) -> Option<u32> {
        let turn = self.turn.load(SeqCst);
        let transaction = self.transaction.load(SeqCst);
        // What is not written yet cannot have been seen when the counters were looked at.
        if !Mark::is_one(transaction) {
            return None;
        }
        let count = self.count.load(SeqCst) as usize;
        let Some(named) = self.things.get(..count) else { return Some(transaction) };
        let is_named = things.any(|thing| named.iter().any(|place| place.load(SeqCst) == thing.0));
        let is_whole = turn.is_multiple_of(2) && self.turn.load(SeqCst) == turn;
        (is_named || !is_whole).then_some(transaction)
    }

    /// The things that the mark of a prepared transaction names; none if it is another's by now. They stay as long as it does.
    fn named_by(&self, transaction: u32) -> Option<Vec<Thing>> {
        let is_its = || self.transaction.load(SeqCst) == transaction;
        if !is_its() {
            return None;
        }
        let count = (self.count.load(SeqCst) as usize).min(NAMED);
        let things = self.things[..count].iter().map(|place| Thing(place.load(SeqCst))).collect();
        is_its().then_some(things)
    }

    /// Takes it away from a prepared transaction; what it named, for the one who has.
    fn take_away(&self, transaction: u32) -> Option<Vec<Thing>> {
        let things = self.named_by(transaction)?;
        self.transaction.compare_exchange(transaction, 0, SeqCst, SeqCst).is_ok().then_some(things)
    }
}
