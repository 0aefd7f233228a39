//! A queue that is fair to flows: each gets the same share, however much another puts in.
//!
//! After fair queueing (Demers, Keshav and Shenker, SIGCOMM 1989). Time here is work done for each of those that wait. An
//! item starts now, or where the one before it of its flow ends, and ends so much later as it is large; whichever ends
//! first is taken first. So what is small and rare overtakes a flood, and nobody waits for ever, because time goes on
//! with whatever is taken.

use std::collections::{BTreeMap, HashMap};

/// Items in the order in which they are to be taken; those of one flow in the order in which they came.
#[derive(Debug)]
pub struct FairQueue<T> {
    /// By where they end, then by their number.
    items: BTreeMap<(u64, u64), Item<T>>,
    /// Where the last item of each flow ends; those that are over are left out now and then.
    ends: HashMap<u64, u64>,
    now: u64,
    /// How many items have come.
    count: u64,
}

/// An item's place in the order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Turn((u64, u64));

#[derive(Debug)]
struct Item<T> {
    size: u64,
    item: T,
}

/// Ends of flows that are kept beside those that have items.
const ENDS: usize = 64;

impl<T> Default for FairQueue<T> {
    fn default() -> Self {
        Self { items: BTreeMap::new(), ends: HashMap::new(), now: 0, count: 0 }
    }
}

impl<T> FairQueue<T> {
    /// Whether nothing waits.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// Takes an item of a flow in; its size is in whatever unit shares are to be equal in.
    pub fn push(&mut self, flow: u64, size: usize, item: T) {
        if self.ends.len() > 2 * self.items.len() + ENDS {
            let now = self.now;
            self.ends.retain(|_, end| *end > now);
        }
        let size = (size as u64).max(1);
        let end = self.ends.entry(flow).or_default();
        *end = self.now.max(*end) + size;
        self.items.insert((*end, self.count), Item { size, item });
        self.count += 1;
    }

    /// Whose turn it is, of those that may be taken.
    pub fn first(&self, may_be: impl Fn(&T) -> bool) -> Option<(Turn, &T)> {
        let (&key, item) = self.items.iter().find(|(_, item)| may_be(&item.item))?;
        Some((Turn(key), &item.item))
    }

    /// Takes an item out.
    pub fn take(&mut self, turn: Turn) -> Option<T> {
        let waited = self.items.len() as u64;
        let (end, _) = turn.0;
        let Item { size, item } = self.items.remove(&turn.0)?;
        self.now = self.now.max(end - size) + (size / waited).max(1);
        Some(item)
    }

    /// Drops the items of which this does not hold.
    pub fn retain(&mut self, mut holds: impl FnMut(&T) -> bool) {
        self.items.retain(|_, item| holds(&item.item));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn take_first<T>(queue: &mut FairQueue<T>) -> Option<T> {
        let (turn, _) = queue.first(|_| true)?;
        queue.take(turn)
    }

    fn drain(queue: &mut FairQueue<&'static str>) -> Vec<&'static str> {
        std::iter::from_fn(|| take_first(queue)).collect()
    }

    #[test]
    fn items_of_a_flow_leave_in_the_order_in_which_they_came() {
        let mut queue = FairQueue::default();
        for (size, item) in [(9, "a"), (1, "b"), (5, "c"), (1, "d")] {
            queue.push(1, size, item);
        }
        assert_eq!(queue.first(|_| true).map(|(_, item)| *item), Some("a"));
        assert_eq!(drain(&mut queue), ["a", "b", "c", "d"]);
        assert!(queue.is_empty());
    }

    #[test]
    fn what_may_not_be_taken_lets_others_pass_and_keeps_its_turn() {
        let mut queue = FairQueue::default();
        for (flow, item) in [(1, "a"), (1, "b"), (2, "c"), (2, "d")] {
            queue.push(flow, 10, item);
        }
        let (turn, item) = queue.first(|item| *item > "b").unwrap();
        assert_eq!(*item, "c");
        assert_eq!(queue.take(turn), Some("c"));
        assert_eq!(queue.take(turn), None);
        assert_eq!(queue.first(|_| false), None);
        assert_eq!(drain(&mut queue), ["a", "b", "d"]);
    }

    #[test]
    fn what_is_rare_overtakes_a_flood() {
        let mut queue = FairQueue::default();
        (0..1000).for_each(|number| queue.push(number % 20, 4 << 20, "flood"));
        (0..30).for_each(|_| assert_eq!(take_first(&mut queue), Some("flood")));
        for round in 0..100 {
            queue.push(99, 300, "rare");
            assert_eq!(take_first(&mut queue), Some("rare"), "in round {round}");
            assert_eq!(take_first(&mut queue), Some("flood"));
        }
    }

    #[test]
    fn flows_get_the_same_share_whatever_the_size_of_their_items() {
        let mut queue = FairQueue::default();
        let mut taken = [0usize; 2];
        let put = |queue: &mut FairQueue<usize>, flow: usize| queue.push(flow as u64, [1000, 10][flow], flow);
        (0..2).for_each(|flow| (0..3).for_each(|_| put(&mut queue, flow)));
        for _ in 0..10_100 {
            let flow = take_first(&mut queue).unwrap();
            taken[flow] += [1000, 10][flow];
            put(&mut queue, flow);
        }
        assert!(taken[0].abs_diff(taken[1]) < taken[1] / 4, "{taken:?}");
    }

    #[test]
    fn many_small_flows_do_not_keep_a_large_one_waiting_for_ever() {
        let mut queue = FairQueue::default();
        (0..2).for_each(|_| queue.push(0, 1000, "large"));
        // Each small one is a flow of its own, and there is always another.
        (1..4).for_each(|flow| queue.push(flow, 10, "small"));
        let mut waited = Vec::new();
        for flow in 4..10_000 {
            queue.push(flow, 10, "small");
            if take_first(&mut queue) == Some("large") {
                waited.push(flow);
            }
        }
        assert!(waited.len() == 2 && waited[1] < 2000, "{waited:?}");
    }

    #[test]
    fn flows_that_are_gone_are_forgotten() {
        let mut queue = FairQueue::default();
        for flow in 0..100_000 {
            queue.push(flow, 100, ());
            queue.push(flow, 100, ());
            take_first(&mut queue);
            take_first(&mut queue);
        }
        assert!(queue.ends.len() < 1000, "{}", queue.ends.len());
    }

    #[test]
    fn what_is_not_wanted_any_more_is_dropped() {
        let mut queue = FairQueue::default();
        (0..10).for_each(|number| queue.push(number, 1, number));
        queue.retain(|number| number % 2 == 0);
        let left: Vec<u64> = std::iter::from_fn(|| take_first(&mut queue)).collect();
        assert_eq!(left, [0, 2, 4, 6, 8]);
    }
}
