//! Queues of requests, from which each can be taken out by its ticket: its client may leave at any time, and thousands may at
//! once.

use std::collections::{BTreeMap, HashMap};
use std::hash::{BuildHasherDefault, Hasher};

use crate::Ticket;

/// What is known of tickets.
pub type TicketMap<V> = HashMap<Ticket, V, BuildHasherDefault<TicketHasher>>;

/// Spreads tickets, which are numbers that no client chooses: SipHash would cost ten times as much.
#[derive(Debug, Default)]
pub struct TicketHasher(u64);

impl Hasher for TicketHasher {
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_u64(u64::from(*byte)));
    }

    fn write_u64(&mut self, number: u64) {
        // Fibonacci hashing (Knuth, The Art of Computer Programming, 6.4).
        self.0 = (self.0.rotate_left(32) ^ number).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

/// A queue for each key, of items that belong to a request each. What is done to one item takes the same time however
/// many there are, but for a logarithm.
#[derive(Debug)]
pub struct TicketQueues<K, T> {
    /// In the order of their numbers; none is empty.
    queues: BTreeMap<K, BTreeMap<i64, (Ticket, T)>>,
    places: TicketMap<(K, i64)>,
    /// The number of the next item at a front, and at an end.
    front: i64,
    back: i64,
}

impl<K, T> Default for TicketQueues<K, T> {
    fn default() -> Self {
        Self { queues: BTreeMap::new(), places: TicketMap::default(), front: -1, back: 0 }
    }
}

impl<K: Ord + Copy, T> TicketQueues<K, T> {
    /// Whether there is no item.
    pub fn is_empty(&self) -> bool {
        self.queues.is_empty()
    }

    /// How many items there are.
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// Whether there is none in this queue.
    pub fn has_none(&self, key: K) -> bool {
        !self.queues.contains_key(&key)
    }

    /// Puts an item at the end of a queue. A ticket has one item at most.
    pub fn push_back(&mut self, key: K, ticket: Ticket, item: T) {
        self.insert(key, self.back, ticket, item);
        self.back += 1;
    }

    /// Puts an item at the front of a queue. A ticket has one item at most.
    pub fn push_front(&mut self, key: K, ticket: Ticket, item: T) {
        self.insert(key, self.front, ticket, item);
        self.front -= 1;
    }

    fn insert(&mut self, key: K, number: i64, ticket: Ticket, item: T) {
        self.queues.entry(key).or_default().insert(number, (ticket, item));
        self.places.insert(ticket, (key, number));
    }

    /// The first item of each queue.
    pub fn fronts(&self) -> impl Iterator<Item = (K, &T)> {
        self.queues.iter().filter_map(|(key, queue)| Some((*key, &queue.first_key_value()?.1.1)))
    }

    /// The items of a queue, in order.
    pub fn iter(&self, key: K) -> impl Iterator<Item = (Ticket, &T)> {
        self.queues.get(&key).into_iter().flatten().map(|(_, (ticket, item))| (*ticket, item))
    }

    /// Takes the first item of a queue.
    pub fn pop(&mut self, key: K) -> Option<T> {
        let (&number, _) = self.queues.get(&key)?.first_key_value()?;
        self.take(key, number)
    }

    /// Takes the item of a ticket, and tells from which queue.
    pub fn remove(&mut self, ticket: Ticket) -> Option<(K, T)> {
        let &(key, number) = self.places.get(&ticket)?;
        Some((key, self.take(key, number)?))
    }

    fn take(&mut self, key: K, number: i64) -> Option<T> {
        let queue = self.queues.get_mut(&key)?;
        let (ticket, item) = queue.remove(&number)?;
        if queue.is_empty() {
            self.queues.remove(&key);
        }
        self.places.remove(&ticket);
        Some(item)
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    #[test]
    fn queues_keep_their_order_whatever_is_taken_out() {
        let mut queues = TicketQueues::default();
        (0..10).for_each(|number| queues.push_back(number % 2, Ticket(number), number));
        queues.push_front(0, Ticket(90), 90);
        queues.push_front(0, Ticket(91), 91);
        assert_eq!(queues.remove(Ticket(4)), Some((0, 4)));
        assert_eq!(queues.remove(Ticket(4)), None);
        assert_eq!(queues.fronts().collect::<Vec<_>>(), [(0, &91), (1, &1)]);
        assert_eq!(queues.len(), 11);
        let left: Vec<u64> = std::iter::from_fn(|| queues.pop(0)).collect();
        assert_eq!(left, [91, 90, 0, 2, 6, 8]);
        assert!(queues.has_none(0) && !queues.has_none(1));
        assert_eq!(queues.iter(1).map(|(_, number)| *number).collect::<Vec<_>>(), [1, 3, 5, 7, 9]);
        assert_eq!((0..10).filter_map(|number| queues.remove(Ticket(number))).count(), 5);
        assert!(queues.is_empty() && queues.pop(1).is_none());
    }

    /// Tickets as [`crate::Server`] gives them: a place, and how often it was used before.
    fn tickets() -> impl DoubleEndedIterator<Item = Ticket> {
        (0..200_000).map(|number: u64| Ticket((number / 1000) << 32 | number))
    }

    #[test]
    fn taking_out_many_takes_no_longer_for_each() {
        let mut queues = TicketQueues::default();
        tickets().for_each(|ticket| queues.push_back((), ticket, [0; 20]));
        let begun = Instant::now();
        assert!(tickets().rev().all(|ticket| queues.remove(ticket).is_some()));
        // A search would take twenty seconds, and a minute in a build for tests.
        assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
    }
}
