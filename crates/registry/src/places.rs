//! Places in a table of fixed size, found by the hash of a key.
//!
//! Open addressing: a key's place is where the walk from its hash first meets it. A place that was given back stays in
//! the walks of others until a new key takes it, so a walk ends only where nobody has ever been.
//!
//! **Nobody is asked before a place is given back.** Whoever remembers a place looks, each time, whether it
//! [holds](Places::holds) the key still, and searches anew if not.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, SeqCst};

/// Never used: a walk ends here.
const EMPTY: u64 = 0;
/// Used before: a walk goes on.
const REMOVED: u64 = 1;
/// Somebody writes or clears the entry: a walk goes on.
const WRITING: u64 = 2;

/// The hash of the key that has an entry.
#[derive(Default, Debug)]
#[repr(transparent)]
pub struct Key(AtomicU64);

/// An entry of the table.
pub trait Entry {
    /// Whose it is.
    fn key(&self) -> &Key;
    /// Makes it as if it had never been used, but for its key.
    fn clear(&self);
}

/// A key's hash. All processes run the same library, so they hash alike.
pub fn hash(key: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    key.hash(&mut hasher);
    hasher.finish().max(WRITING + 1)
}

/// The table.
pub struct Places<E: 'static>(&'static [E]);

impl<E: Entry> Places<E> {
    /// The table of these entries, which lie in memory that all processes share.
    pub fn new(entries: &'static [E]) -> Self {
        Places(entries)
    }

    /// The entries, by their places. Those that nobody has are among them.
    pub fn entries(&self) -> &'static [E] {
        self.0
    }

    /// The place of a key, given to it if it has none; `write` fills the entry, which is clear, before others find it.
    /// None when all places are taken.
    pub fn find_or_add(&self, hash: u64, write: impl Fn(&E)) -> Option<usize> {
        loop {
            if let Some(found) = self.find(hash) {
                return Some(found);
            }
            let free = self.walk(hash).find(|&place| self.load(place) <= REMOVED)?;
            let (entry, before) = (&self.0[free], self.load(free));
            if before > REMOVED || !self.turn(free, before, WRITING) {
                continue;
            }
            // Whoever had it before may have counted once more.
            entry.clear();
            write(entry);
            entry.key().0.store(hash, SeqCst);
            self.settle(hash);
        }
    }

    /// Whether the place is that of the key with this hash.
    pub fn holds(&self, place: usize, hash: u64) -> bool {
        self.0[place].key().0.load(Acquire) == hash
    }

    /// Takes the place away from whoever has it. False if nobody has.
    pub fn remove(&self, place: usize) -> bool {
        self.remove_from(place, self.load(place))
    }

    /// Number of keys that have a place.
    pub fn used(&self) -> usize {
        self.0.iter().filter(|entry| entry.key().0.load(Acquire) > WRITING).count()
    }

    fn find(&self, hash: u64) -> Option<usize> {
        self.reach(hash).find(|&place| self.load(place) == hash)
    }

    /// Two processes may have added one key at two places, if one of these was given back between their walks. The
    /// first in the walk stands. Of the two, whoever has published its place last sees both.
    fn settle(&self, hash: u64) {
        for place in self.reach(hash).filter(|&place| self.load(place) == hash).skip(1) {
            self.remove_from(place, hash);
        }
    }

    /// Only one of several succeeds, so nobody clears what a new key has taken meanwhile.
    fn remove_from(&self, place: usize, hash: u64) -> bool {
        let mine = hash > WRITING && self.turn(place, hash, WRITING);
        if mine {
            self.0[place].clear();
            self.0[place].key().0.store(REMOVED, SeqCst);
        }
        mine
    }

    /// All places, from the one that the hash names.
    fn walk(&self, hash: u64) -> impl Iterator<Item = usize> + use<E> {
        let count = self.0.len();
        let start = (hash % count as u64) as usize;
        (0..count).map(move |step| (start + step) % count)
    }

    /// The places that the key with this hash can have.
    fn reach(&self, hash: u64) -> impl Iterator<Item = usize> {
        self.walk(hash).take_while(|&place| self.load(place) != EMPTY)
    }

    fn load(&self, place: usize) -> u64 {
        self.0[place].key().0.load(SeqCst)
    }

    fn turn(&self, place: usize, from: u64, to: u64) -> bool {
        self.0[place].key().0.compare_exchange(from, to, SeqCst, SeqCst).is_ok()
    }
}
