//! The queue and the free list, alone.

use loom::sync::Arc;
use loom::thread;

use crate::queue::{Ends, Queue, vacant_cell};
use crate::stack::{Stack, Top};
use crate::sync::{AtomicU32, AtomicU64};

struct Ring(Ends, [AtomicU64; 2]);

impl Ring {
    fn new() -> Arc<Ring> {
        Arc::new(Ring(Ends::new(), [vacant_cell(), vacant_cell()]))
    }

    fn queue(&self) -> Queue<'_> {
        Queue::new(&self.0, &self.1)
    }
}

#[test]
fn what_two_push_arrives_once() {
    super::model(4, || {
        let ring = Ring::new();
        let other = ring.clone();
        let producer = thread::spawn(move || other.queue().push(1));
        ring.queue().push(2);
        let mut popped: Vec<u32> = ring.queue().pop().into_iter().collect();
        assert_eq!(popped.len(), 1, "what is pushed is there at once, whatever the other is doing");
        producer.join().unwrap();
        popped.extend(ring.queue().pop());
        popped.sort();
        assert_eq!(popped, [1, 2]);
        assert!(ring.queue().is_empty());
        assert_eq!(ring.queue().len(), 0);
    });
}

#[test]
fn two_that_pop_get_different_values_in_order() {
    super::model(4, || {
        let ring = Ring::new();
        ring.queue().push(1);
        ring.queue().push(2);
        let other = ring.clone();
        let consumer = thread::spawn(move || other.queue().pop());
        let here = ring.queue().pop();
        let there = consumer.join().unwrap();
        assert!([(Some(1), Some(2)), (Some(2), Some(1))].contains(&(here, there)));
    });
}

#[test]
fn a_cell_is_used_again_on_the_next_lap() {
    super::model(3, || {
        let ring = Ring::new();
        ring.queue().push(1);
        ring.queue().push(2);
        let other = ring.clone();
        // Each value is pushed again by whoever popped it, as a slot is.
        let turn = |queue: Queue| {
            let value = queue.pop().unwrap();
            queue.push(value);
        };
        let peer = thread::spawn(move || turn(other.queue()));
        turn(ring.queue());
        peer.join().unwrap();
        let mut values = [ring.queue().pop().unwrap(), ring.queue().pop().unwrap()];
        values.sort();
        assert_eq!(values, [1, 2]);
        assert!(ring.queue().pop().is_none());
    });
}

#[test]
fn only_what_is_wanted_is_popped() {
    super::model(4, || {
        let ring = Ring::new();
        ring.queue().push(1);
        ring.queue().push(2);
        let other = ring.clone();
        let picky = thread::spawn(move || other.queue().pop_if(|value| value == 2));
        let first = ring.queue().pop();
        let wanted = picky.join().unwrap();
        assert_eq!(first, Some(1));
        assert!(wanted.is_none_or(|value| value == 2));
        assert_eq!(ring.queue().pop().or(wanted), Some(2));
    });
}

struct FreeList(Top, [AtomicU32; 2]);

#[test]
fn the_free_list_gives_an_index_to_one_at_a_time() {
    super::model(4, || {
        let list = Arc::new(FreeList(Top::empty(), [AtomicU32::new(0), AtomicU32::new(0)]));
        let stack = Stack::new(&list.0, &list.1);
        stack.push(0);
        stack.push(1);
        let other = list.clone();
        // Popping both and returning them in another order is what an untagged stack fails at.
        let peer = thread::spawn(move || {
            let stack = Stack::new(&other.0, &other.1);
            let (first, second) = (stack.pop(), stack.pop());
            first.iter().for_each(|&index| stack.push(index));
            second
        });
        let here = stack.pop();
        let there = peer.join().unwrap();
        let mut all: Vec<u32> = here.into_iter().chain(there).collect();
        assert_eq!(stack.len() as usize, 2 - all.len());
        all.extend(std::iter::from_fn(|| stack.pop()).take(2));
        all.sort();
        assert_eq!(all, [0, 1]);
    });
}
