//! What workers were told, and whether the server has kept it.

use std::collections::{HashMap, HashSet};
use std::ops::{RangeFrom, RangeInclusive};

use super::world::{Outcome, World};

/// A row, by who has sent it and its number there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Row {
    pub origin: i32,
    pub number: i64,
}

/// What must have become of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// They are there, once.
    Stored,
    /// They are not there.
    Never,
    /// Likewise, whatever becomes of their transaction.
    RolledBack,
    /// They are there once, or not.
    Unknown,
    /// They may be there, also more than once: plain lines in trouble.
    Any,
}

pub(super) struct Sent {
    pub queue: usize,
    pub origin: i32,
    pub numbers: RangeInclusive<i64>,
    pub fate: Fate,
    /// Before they were sent, and when their fate was known.
    pub eras: (u32, u32),
}

impl Sent {
    pub(super) fn stored(queue: usize, origin: i32, numbers: RangeInclusive<i64>) -> Sent {
        Sent { queue, origin, numbers, fate: Fate::Stored, eras: (0, 0) }
    }
}

/// A row that somebody has leased.
pub(super) struct Read {
    pub msg_id: i64,
    pub read_ct: i32,
    pub row: Row,
    /// When the answer was there.
    pub to: i64,
    /// Until when it is leased at least.
    pub until: i64,
}

/// A row that somebody wanted to give back.
pub(super) struct Given {
    pub queue: usize,
    pub msg_id: i64,
    pub at: i64,
}

/// What a worker was told.
#[derive(Default)]
pub(super) struct Log {
    pub sent: Vec<Sent>,
    pub reads: Vec<(usize, Read)>,
    pub given: Vec<Given>,
    /// Taken, by a commit that was answered.
    pub taken: Vec<(usize, Row)>,
    /// Removed over HTTP.
    pub removed: Vec<(usize, Row)>,
    /// Perhaps removed over HTTP.
    pub unsure: Vec<(usize, Row)>,
}

impl Log {
    /// Says what has become of what was sent in a transaction.
    pub(super) fn decide(&mut self, sent: RangeFrom<usize>, outcome: Outcome, era: u32) {
        for sent in self.sent[sent].iter_mut().filter(|sent| sent.fate == Fate::Never) {
            sent.eras.1 = era;
            sent.fate = match outcome {
                Outcome::Done => Fate::Stored,
                Outcome::Undone => Fate::Never,
                Outcome::Unknown => Fate::Unknown,
            };
        }
    }

    pub(super) fn add(&mut self, other: Log) {
        self.sent.extend(other.sent);
        self.reads.extend(other.reads);
        self.given.extend(other.given);
        self.taken.extend(other.taken);
        self.removed.extend(other.removed);
        self.unsure.extend(other.unsure);
    }
}

/// What was found when all had ended: rows that were taken, are left, archived or dead letters; how often each.
#[derive(Default)]
pub(super) struct Found {
    /// By the table that consumers wrote to.
    pub taken: HashMap<(usize, Row), u32>,
    pub left: HashMap<(usize, Row), u32>,
    pub archived: HashMap<(usize, Row), u32>,
    pub buried: HashMap<(usize, Row), u32>,
}

impl Found {
    fn places(&self, at: (usize, Row)) -> [u32; 4] {
        [&self.taken, &self.left, &self.archived, &self.buried]
            .map(|place| place.get(&at).copied().unwrap_or(0))
    }

    /// All that was found was sent, and all that was sent has met its fate.
    pub(super) fn check(&self, world: &World, log: &Log) {
        let mut removed: HashMap<(usize, Row), u32> = HashMap::new();
        log.removed.iter().for_each(|at| *removed.entry(*at).or_default() += 1);
        let unsure: HashSet<(usize, Row)> = log.unsure.iter().copied().collect();
        let mut known = HashSet::new();
        let mut faults = Vec::new();
        for sent in &log.sent {
            let queue = &world.queues[sent.queue];
            for number in sent.numbers.clone() {
                let at = (sent.queue, Row { origin: sent.origin, number });
                known.insert(at);
                let places = self.places(at);
                let fetched = removed.get(&at).copied().unwrap_or(0);
                let count = places.iter().sum::<u32>() + fetched;
                // Who took it from an unlogged queue has it; a crash takes the rest, and what had taken it.
                let is_sure = !queue.unlogged || sent.eras.0 == world.era();
                let least = u32::from(sent.fate == Fate::Stored && is_sure && !unsure.contains(&at));
                let most = match sent.fate {
                    Fate::Never | Fate::RolledBack => 0,
                    Fate::Stored | Fate::Unknown => 1,
                    Fate::Any => u32::MAX,
                };
                let is_in_time =
                    places[1] == 0 || !queue.unlogged || sent.eras.1.saturating_add(1) >= world.era();
                if count < least || count > most || !is_in_time {
                    faults.push(format!(
                        "{} of {}, {:?} in {:?} of {}: taken, left, archived, buried {places:?}, over HTTP {fetched}",
                        queue.name, sent.origin, sent.fate, sent.eras, world.era()
                    ) + &format!(" number {number}"));
                }
            }
        }
        let strange =
            |place: &HashMap<(usize, Row), u32>| place.keys().find(|at| !known.contains(at)).copied();
        let strange = [&self.taken, &self.left, &self.archived, &self.buried].map(strange);
        assert!(strange.iter().all(Option::is_none), "nobody has sent {strange:?}");
        let lost = log.taken.iter().find(|at| !self.taken.contains_key(at));
        assert!(lost.is_none(), "the commit that took {lost:?} is lost");
        assert!(faults.is_empty(), "{} rows:\n{}", faults.len(), faults[..faults.len().min(20)].join("\n"));
    }
}

/// A number is of one row for good, is leased by one at a time, and each lease has a number of its own.
pub(super) fn check_leases(world: &World, log: &Log) {
    let mut given: HashMap<(usize, i64), Vec<i64>> = HashMap::new();
    log.given.iter().for_each(|back| given.entry((back.queue, back.msg_id)).or_default().push(back.at));
    let mut rows: HashMap<(usize, i64), Vec<&Read>> = HashMap::new();
    log.reads.iter().for_each(|(queue, read)| rows.entry((*queue, read.msg_id)).or_default().push(read));
    for ((queue, msg_id), mut reads) in rows {
        let name = &world.queues[queue].name;
        reads.sort_by_key(|read| read.read_ct);
        for pair in reads.windows(2) {
            let (first, second) = (pair[0], pair[1]);
            assert_eq!(first.row, second.row, "number {msg_id} of {name} was given out twice");
            assert!(
                first.read_ct < second.read_ct,
                "{msg_id} of {name} was read {} times twice",
                first.read_ct
            );
            let is_given =
                given.get(&(queue, msg_id)).is_some_and(|times| times.iter().any(|at| *at <= second.to));
            assert!(
                is_given || second.to >= first.until,
                "{msg_id} of {name} was read again {} µs before its lease was over: {} and {}",
                first.until - second.to,
                first.read_ct,
                second.read_ct
            );
        }
    }
}
