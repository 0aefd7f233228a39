//! What is kept by a key, within some bytes, least used first out. Knows neither answers nor PostgreSQL.
//!
//! [`Cache`] is one; [`Shares`] are several under one limit, none of which pushes the others out. A [`Score`] says whether it pays.

mod score;
mod shares;

use std::hash::RandomState;

use lru::LruCache;

pub use score::{PAUSE, Saving, Score};
pub use shares::Shares;

/// Bytes that an entry takes beside its key and its value.
pub const ENTRY: usize = 128;

/// A cache. Keys are bytes, and each value says how many it takes. Clients may choose keys: nobody can tell which of them share a place.
#[derive(Debug)]
pub struct Cache<V> {
    entries: LruCache<Box<[u8]>, Kept<V>, RandomState>,
    bytes: usize,
    limit: usize,
}

#[derive(Debug)]
struct Kept<V> {
    value: V,
    bytes: usize,
}

impl<V> Cache<V> {
    /// An empty one that keeps so many bytes at most.
    pub fn new(limit: usize) -> Cache<V> {
        Cache { entries: LruCache::unbounded_with_hasher(RandomState::new()), bytes: 0, limit }
    }

    /// What is kept of a key, which is used by that.
    pub fn get(&mut self, key: &[u8]) -> Option<&V> {
        self.entries.get(key).map(|kept| &kept.value)
    }

    /// Keeps a value that takes so many bytes. What was kept of the key before is gone, and what was used least goes to make room. A value
    /// that is larger than all of it is not kept.
    pub fn insert(&mut self, key: &[u8], value: V, bytes: usize) {
        self.remove(key);
        let bytes = ENTRY + key.len() + bytes;
        if bytes > self.limit {
            return;
        }
        self.make_room(self.limit - bytes);
        self.bytes += bytes;
        self.entries.put(key.into(), Kept { value, bytes });
    }

    /// Lets the value of a key become larger, by as many bytes as `change` says. What was used least goes to make room.
    pub fn grow(&mut self, key: &[u8], change: impl FnOnce(&mut V) -> usize) {
        let Some(kept) = self.entries.get_mut(key) else { return };
        let more = change(&mut kept.value);
        kept.bytes += more;
        self.bytes += more;
        self.make_room(self.limit);
    }

    /// Forgets a key.
    pub fn remove(&mut self, key: &[u8]) {
        if let Some(kept) = self.entries.pop(key) {
            self.bytes -= kept.bytes;
        }
    }

    /// Forgets what was used least; false if nothing is kept.
    pub fn give_way(&mut self) -> bool {
        let gone = self.entries.pop_lru();
        self.bytes -= gone.as_ref().map_or(0, |(_, kept)| kept.bytes);
        gone.is_some()
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.entries.clear();
        self.bytes = 0;
    }

    /// Keeps so many bytes at most from now on.
    pub fn limit(&mut self, limit: usize) {
        self.limit = limit;
        self.make_room(limit);
    }

    fn make_room(&mut self, left: usize) {
        while self.bytes > left && self.give_way() {}
    }

    /// Bytes that are taken.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// How many are kept.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether nothing is kept.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_used_goes_first_and_the_limit_holds() {
        let mut cache = Cache::new(4 * (ENTRY + 1 + 10));
        for key in 0..4u8 {
            cache.insert(&[key], key, 10);
        }
        assert_eq!(cache.len(), 4);
        assert_eq!(cache.get(&[0]), Some(&0));
        cache.insert(&[4], 4, 10);
        let kept: Vec<_> = (0..5u8).map(|key| cache.get(&[key]).is_some()).collect();
        assert_eq!(kept, [true, false, true, true, true], "1 was used least");
        // A large one takes the place of several.
        cache.insert(&[5], 5, 10 + ENTRY + 11);
        assert_eq!(cache.len(), 3);
        assert_eq!(cache.get(&[5]), Some(&5));
        assert!(cache.bytes() <= 4 * (ENTRY + 11));
        cache.insert(&[6], 6, 1 << 20);
        assert_eq!(cache.len(), 3);
        assert_eq!(cache.get(&[6]), None, "it is larger than all");
    }

    #[test]
    fn what_is_replaced_removed_or_cleared_gives_its_bytes_back() {
        let mut cache = Cache::new(10 * ENTRY);
        cache.insert(b"a", 1, 100);
        cache.insert(b"a", 2, 50);
        assert_eq!(cache.get(b"a"), Some(&2));
        assert_eq!(cache.bytes(), ENTRY + 51);
        cache.insert(b"b", 3, 1);
        cache.remove(b"a");
        cache.remove(b"a");
        assert_eq!(cache.bytes(), ENTRY + 2);
        cache.insert(b"a", 4, 1);
        cache.grow(b"b", |value| {
            *value = 5;
            100
        });
        cache.grow(b"c", |_| 100);
        assert_eq!(cache.get(b"b"), Some(&5));
        assert_eq!(cache.bytes(), 2 * (ENTRY + 2) + 100);
        cache.grow(b"b", |_| 8 * ENTRY);
        assert_eq!(cache.get(b"a"), None, "it was used least");
        assert_eq!(cache.len(), 1);
        cache.limit(10);
        assert!(cache.is_empty() && cache.bytes() == 0);
        cache.limit(10 * ENTRY);
        cache.insert(b"b", 3, 1);
        cache.clear();
        assert_eq!((cache.len(), cache.bytes()), (0, 0));
    }

    #[test]
    fn a_million_keys_stay_within_the_limit() {
        let mut cache = Cache::new(1 << 20);
        for key in 0..1_000_000u32 {
            cache.insert(&key.to_le_bytes(), key, 20);
        }
        assert!(cache.bytes() <= 1 << 20 && cache.len() > 6000, "{} in {} bytes", cache.len(), cache.bytes());
        assert_eq!(cache.get(&999_999u32.to_le_bytes()), Some(&999_999));
    }
}
