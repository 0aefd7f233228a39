//! What each listener for lines has of the executors, so that none waits for another's.
//!
//! A bucket may take as long as a trigger of its listener's does. So each listener has an executor, and its part of the memory,
//! that no other's bucket occupies; beside those, buckets of all share the executors that there would be for one listener. The
//! owner starts as many as [`LineShares::executors`] says, when buckets wait.

use std::collections::HashMap;

/// The buckets that are under way.
#[derive(Debug, Default)]
pub struct LineShares {
    listeners: usize,
    /// How many each listener has, if it has any.
    under_way: HashMap<u32, usize>,
    count: usize,
    bytes: usize,
}

/// What there is for buckets.
#[derive(Debug, Clone, Copy)]
pub struct Room {
    /// Executors that one listener alone may have busy.
    pub executors: usize,
    /// Buckets that can be under way.
    pub slots: usize,
    /// Their bytes.
    pub bytes: usize,
}

impl LineShares {
    /// There are so many listeners.
    pub fn keep(&mut self, listeners: usize) {
        self.listeners = listeners;
    }

    /// Whether another bucket of a listener may be under way.
    pub fn admits(&self, listener: u32, bytes: usize, room: Room) -> bool {
        if self.count >= room.slots.max(1) {
            return false;
        }
        let idle = self.listeners.saturating_sub(self.under_way.len());
        let reserved = room.bytes / self.listeners.max(1) * idle;
        if self.listeners <= 1 {
            // One is read while another is written, so that executors always have work.
            return self.count < 2 * room.executors && self.fits(bytes, room.bytes);
        }
        if !self.under_way.contains_key(&listener) {
            return self.fits(bytes, room.bytes);
        }
        self.count + idle < Self::executors(self.listeners, room.executors)
            && self.fits(bytes, room.bytes - reserved)
    }

    /// How many executors so many listeners may have busy, where one alone would have `executors`.
    pub fn executors(listeners: usize, executors: usize) -> usize {
        executors.max(1) + listeners.saturating_sub(1)
    }

    /// One that is too large for the room goes alone.
    fn fits(&self, bytes: usize, room: usize) -> bool {
        self.bytes == 0 || self.bytes + bytes <= room
    }

    /// A bucket is under way.
    pub fn gain(&mut self, listener: u32, bytes: usize) {
        *self.under_way.entry(listener).or_default() += 1;
        self.count += 1;
        self.bytes += bytes;
    }

    /// A bucket is under way no longer.
    pub fn lose(&mut self, listener: u32, bytes: usize) {
        if let Some(count) = self.under_way.get_mut(&listener) {
            *count -= 1;
            if *count == 0 {
                self.under_way.remove(&listener);
            }
            self.count -= 1;
            self.bytes -= bytes;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROOM: Room = Room { executors: 4, slots: 100, bytes: 1000 };

    /// Buckets of a listener that may be under way beside those that are.
    fn fill(shares: &mut LineShares, listener: u32, bytes: usize) -> usize {
        let mut count = 0;
        while shares.admits(listener, bytes, ROOM) {
            shares.gain(listener, bytes);
            count += 1;
        }
        count
    }

    #[test]
    fn one_listener_has_a_bucket_ahead_for_each_executor() {
        let mut shares = LineShares::default();
        shares.keep(1);
        assert_eq!(fill(&mut shares, 7, 1), 8);
        shares.lose(7, 1);
        assert_eq!(fill(&mut shares, 7, 1), 1);
    }

    #[test]
    fn each_listener_has_an_executor_whatever_the_others_have() {
        for listeners in 2..20 {
            let mut shares = LineShares::default();
            shares.keep(listeners);
            // They come one after the other, and none of their buckets ever ends.
            let counts: Vec<usize> =
                (0..listeners as u32).map(|listener| fill(&mut shares, listener, 1)).collect();
            assert_eq!(counts[0], 4, "{counts:?}");
            assert!(counts.iter().all(|&count| count >= 1), "{counts:?}");
            assert_eq!(counts.iter().sum::<usize>(), LineShares::executors(listeners, ROOM.executors));
        }
    }

    #[test]
    fn large_buckets_leave_memory_to_the_other_listeners() {
        let mut shares = LineShares::default();
        shares.keep(4);
        assert_eq!(fill(&mut shares, 1, 125), 2);
        for listener in 2..=4 {
            assert!(fill(&mut shares, listener, 250) >= 1);
        }
    }

    #[test]
    fn a_bucket_larger_than_all_room_goes_alone() {
        let mut shares = LineShares::default();
        shares.keep(2);
        assert_eq!(fill(&mut shares, 1, 5000), 1);
        shares.lose(1, 5000);
        assert_eq!(fill(&mut shares, 2, 5000), 1);
    }

    #[test]
    fn a_listener_that_is_closing_still_counts_while_its_buckets_are_under_way() {
        let mut shares = LineShares::default();
        shares.keep(3);
        fill(&mut shares, 1, 1);
        shares.keep(2);
        assert!(shares.admits(2, 1, ROOM) && shares.admits(3, 1, ROOM));
        shares.keep(0);
        assert!(shares.count > 0 && !shares.admits(1, 1, Room { slots: 1, ..ROOM }));
    }
}
