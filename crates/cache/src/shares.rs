//! Several caches under one limit.

use std::collections::HashMap;

use crate::{Cache, ENTRY};

/// Caches by the numbers of those whose they are, within some bytes together. Who has most gives way: one that is filled without end takes
/// no more than what the others leave, and keeps no more than its own.
#[derive(Debug)]
pub struct Shares<V> {
    shares: HashMap<u32, Share<V>>,
    bytes: usize,
    limit: usize,
}

/// What one of them has.
#[derive(Debug)]
struct Share<V> {
    cache: Cache<V>,
    /// How many had to give way.
    evicted: u64,
}

impl<V> Default for Share<V> {
    fn default() -> Share<V> {
        Share { cache: Cache::new(usize::MAX), evicted: 0 }
    }
}

impl<V> Share<V> {
    fn give_way(&mut self) -> bool {
        let gives = self.cache.give_way();
        self.evicted += u64::from(gives);
        gives
    }
}

impl<V> Shares<V> {
    /// None yet, of so many bytes at most.
    pub fn new(limit: usize) -> Shares<V> {
        Shares { shares: HashMap::new(), bytes: 0, limit }
    }

    /// What is kept of a key, which is used by that.
    pub fn get(&mut self, owner: u32, key: &[u8]) -> Option<&V> {
        self.shares.get_mut(&owner)?.cache.get(key)
    }

    /// Keeps a value that takes so many bytes, among `most` of its owner's at most. What was kept of the key before is gone. A value that is larger
    /// than all of it is not kept.
    pub fn insert(&mut self, owner: u32, key: &[u8], value: V, bytes: usize, most: usize) {
        self.remove(owner, key);
        let needed = ENTRY + key.len() + bytes;
        if needed > self.limit || most == 0 {
            return;
        }
        let own = self.shares.entry(owner).or_default();
        let before = own.cache.bytes();
        while own.cache.len() >= most && own.give_way() {}
        own.cache.insert(key, value, bytes);
        self.bytes = self.bytes - before + own.cache.bytes();
        self.make_room();
    }

    /// Lets the value of a key become larger, by as many bytes as `change` says.
    pub fn grow(&mut self, owner: u32, key: &[u8], change: impl FnOnce(&mut V) -> usize) {
        let Some(own) = self.shares.get_mut(&owner) else { return };
        let before = own.cache.bytes();
        own.cache.grow(key, change);
        self.bytes += own.cache.bytes() - before;
        self.make_room();
    }

    /// Forgets a key.
    pub fn remove(&mut self, owner: u32, key: &[u8]) {
        if let Some(own) = self.shares.get_mut(&owner) {
            let before = own.cache.bytes();
            own.cache.remove(key);
            self.bytes -= before - own.cache.bytes();
        }
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.shares.clear();
        self.bytes = 0;
    }

    /// Keeps so many bytes at most from now on.
    pub fn limit(&mut self, limit: usize) {
        self.limit = limit;
        self.make_room();
    }

    fn make_room(&mut self) {
        while self.bytes > self.limit {
            let Some(largest) = self.shares.values_mut().max_by_key(|own| own.cache.bytes()) else { return };
            let before = largest.cache.bytes();
            if !largest.give_way() {
                return;
            }
            self.bytes -= before - largest.cache.bytes();
        }
    }

    /// Bytes that are taken.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// How many of an owner's are kept, and their bytes.
    pub fn of(&self, owner: u32) -> (usize, usize) {
        self.shares.get(&owner).map_or((0, 0), |own| (own.cache.len(), own.cache.bytes()))
    }

    /// How many of an owner's had to give way since this was asked last.
    pub fn take_evicted(&mut self, owner: u32) -> u64 {
        self.shares.get_mut(&owner).map_or(0, |own| std::mem::take(&mut own.evicted))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_that_is_filled_without_end_leaves_the_others_what_they_have() {
        let mut shares = Shares::new(100 * (ENTRY + 1 + 10));
        for key in 0..20u8 {
            shares.insert(1, &[key], key, 10, 1000);
            shares.insert(2, &[key], key, 10, 1000);
        }
        for key in 0..100_000u32 {
            shares.insert(3, &key.to_le_bytes(), 0, 7, usize::MAX);
            assert!(shares.bytes() <= 100 * (ENTRY + 11));
        }
        assert_eq!((shares.of(1).0, shares.of(2).0, shares.of(3).0), (20, 20, 60));
        assert_eq!([1, 2, 3].map(|owner| shares.take_evicted(owner)), [0, 0, 100_000 - 60]);
        assert_eq!(shares.take_evicted(3), 0);
        // Two that want more than there is share it.
        for key in 0..100_000u32 {
            shares.insert(4, &key.to_le_bytes(), 0, 7, usize::MAX);
        }
        assert_eq!((shares.of(1).0, shares.of(3).0, shares.of(4).0), (20, 30, 30));
    }

    #[test]
    fn an_owner_keeps_no_more_than_it_may_and_bytes_come_back() {
        let mut shares = Shares::new(1 << 20);
        for key in 0..100u8 {
            shares.insert(1, &[key], key, 10, 8);
        }
        assert_eq!(shares.of(1), (8, 8 * (ENTRY + 11)));
        assert_eq!(shares.get(1, &[91]), None);
        assert_eq!(shares.get(1, &[92]), Some(&92));
        assert_eq!(shares.get(2, &[92]), None);
        shares.insert(1, &[92], 0, 20, 8);
        assert_eq!(shares.of(1), (8, 8 * (ENTRY + 11) + 10));
        shares.remove(1, &[92]);
        shares.remove(1, &[92]);
        shares.remove(7, &[92]);
        assert_eq!(shares.bytes(), 7 * (ENTRY + 11));
        shares.insert(1, &[1], 0, 1 << 20, 8);
        assert_eq!(shares.get(1, &[1]), None, "it is larger than all");
        shares.limit(3 * (ENTRY + 11));
        assert_eq!(shares.of(1).0, 3);
        shares.insert(2, &[1], 0, 10, 0);
        assert_eq!(shares.of(2), (0, 0));
        shares.insert(2, &[1], 0, 10, 1);
        assert_eq!((shares.of(1).0, shares.of(2).0), (2, 1));
        shares.grow(2, &[1], |_| 2 * (ENTRY + 11));
        shares.grow(2, &[2], |_| 1000);
        assert_eq!((shares.of(1).0, shares.of(2)), (2, (0, 0)), "who has most gives way");
        shares.clear();
        assert_eq!((shares.bytes(), shares.of(1)), (0, (0, 0)));
    }
}
