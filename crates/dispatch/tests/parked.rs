//! Requests whose answer waits for rows.

use std::cell::{Cell, RefCell};
use std::collections::HashSet;
use std::time::{Duration, Instant};

use dispatch::{Arrivals, Ended, Later, PAUSE, Parked, REQUEST, Ticket, Waited};

use crate::{Arrived, at};

const QUEUE: u32 = 3;

/// A queue by hand: rows that have come, and when one becomes free by itself.
#[derive(Default)]
struct Queue {
    arrivals: Cell<u64>,
    called: RefCell<HashSet<u32>>,
    next: Cell<Option<Duration>>,
    /// Whether somebody has its lock.
    is_locked: Cell<bool>,
    looks_at_times: Cell<usize>,
}

impl Queue {
    /// Rows come, and who was called is woken.
    fn send(&self, rows: u64) {
        self.arrivals.set(self.arrivals.get() + rows);
        self.called.borrow_mut().clear();
    }
}

impl Arrivals for Queue {
    fn arrivals(&self, _: u32) -> u64 {
        self.arrivals.get()
    }

    fn call(&self, queue: u32) -> bool {
        self.called.borrow_mut().insert(queue)
    }

    fn next_free(&self, _: u32) -> Option<Option<Duration>> {
        self.looks_at_times.set(self.looks_at_times.get() + 1);
        (!self.is_locked.get()).then(|| self.next.get())
    }
}

/// What waits, in a world of its own.
struct World {
    parked: Parked<Arrived>,
    queue: Queue,
    begin: Instant,
    now: u64,
    next: u64,
}

impl World {
    fn new() -> World {
        World { parked: Parked::default(), queue: Queue::default(), begin: Instant::now(), now: 0, next: 0 }
    }

    fn time(&self) -> Instant {
        at(self.begin, self.now)
    }

    /// A request waits that has found nothing now: for so many milliseconds, for any row or for one of its own.
    fn wait(&mut self, milliseconds: u32, any_row: bool) -> u64 {
        self.next += 1;
        self.park(Arrived(self.next, 10), None, milliseconds, any_row);
        self.next
    }

    /// As many as these.
    fn all_wait(&mut self, these: std::ops::Range<u32>, milliseconds: u32, any_row: bool) {
        for _ in these {
            self.wait(milliseconds, any_row);
        }
    }

    fn park(&mut self, arrived: Arrived, waited: Option<Waited>, milliseconds: u32, any_row: bool) {
        let later = Later { queue: QUEUE, milliseconds, arrivals: self.queue.arrivals.get(), any_row };
        let time = self.time();
        self.parked.park(later, waited, (arrived, 0), b"nothing".to_vec(), &self.queue, time);
    }

    /// So many milliseconds later: those that look again, and those that are answered.
    fn later(&mut self, milliseconds: u64) -> (Vec<(Arrived, Waited)>, Vec<u64>) {
        self.now += milliseconds;
        let time = self.time();
        self.sort(false, time)
    }

    fn sort(&mut self, hurry: bool, time: Instant) -> (Vec<(Arrived, Waited)>, Vec<u64>) {
        let (mut again, mut answered) = (Vec::new(), Vec::new());
        for ended in self.parked.end(hurry, &self.queue, time) {
            match ended {
                Ended::Again(reader, waited) => again.push((reader.arrived, waited)),
                Ended::Answered(reader) => {
                    assert_eq!(reader.answer, b"nothing");
                    answered.push(reader.arrived.0);
                }
            }
        }
        (again, answered)
    }

    /// Those that look again, by their numbers; their looks are forgotten as if they had found something.
    fn looking(&mut self, milliseconds: u64) -> Vec<u64> {
        self.later(milliseconds).0.into_iter().map(|(arrived, _)| arrived.0).collect()
    }
}

#[test]
fn nobody_looks_as_long_as_nothing_comes() {
    let mut world = World::new();
    world.all_wait(0..1000, 60_000, true);
    for _ in 0..100 {
        assert_eq!(world.looking(10), []);
    }
    assert!(world.queue.looks_at_times.get() < 20, "an idle queue costs nothing");
}

#[test]
fn whoever_has_waited_longest_looks_when_a_row_comes() {
    let mut world = World::new();
    world.all_wait(0..5, 60_000, true);
    world.queue.send(1);
    assert_eq!(world.looking(1), [1]);
}

#[test]
fn for_each_that_finds_something_others_follow_as_long_as_there_are_rows() {
    let mut world = World::new();
    world.all_wait(0..100, 60_000, true);
    world.queue.send(10);
    let mut looked = 0;
    for _ in 0..10 {
        looked += world.looking(1).len();
    }
    assert!((10..100).contains(&looked), "{looked} look for ten rows");
}

#[test]
fn one_that_finds_nothing_ends_it() {
    let mut world = World::new();
    world.all_wait(0..10, 60_000, true);
    world.queue.send(1);
    let (mut again, _) = world.later(1);
    let (arrived, waited) = again.pop().expect("one looks");
    assert!(again.is_empty());
    world.park(arrived.clone(), Some(waited), 60_000, true);
    assert_eq!(world.looking(1), []);
    // It stands at the front again.
    world.queue.send(1);
    assert_eq!(world.looking(1), [arrived.0]);
}

#[test]
fn a_look_that_ends_with_its_client_is_followed_by_another() {
    let mut world = World::new();
    world.all_wait(0..3, 60_000, true);
    world.queue.send(1);
    let (again, _) = world.later(1);
    assert_eq!(again.len(), 1);
    // The executor dies, or the client goes.
    drop(again);
    assert_eq!(world.looking(1), [2]);
}

#[test]
fn what_comes_while_somebody_looks_is_not_missed() {
    let mut world = World::new();
    world.all_wait(0..2, 60_000, true);
    world.queue.send(1);
    let (mut again, _) = world.later(1);
    let (arrived, waited) = again.pop().expect("one looks");
    // Its snapshot does not see this one.
    let later =
        Later { queue: QUEUE, milliseconds: 60_000, arrivals: world.queue.arrivals.get(), any_row: true };
    world.queue.send(1);
    let time = world.time();
    world.parked.park(later, Some(waited), (arrived, 0), b"nothing".to_vec(), &world.queue, time);
    assert_eq!(world.looking(1).len(), 1, "somebody looks for the second row");
}

#[test]
fn those_who_want_something_of_their_own_all_look_at_each_row() {
    let mut world = World::new();
    world.all_wait(0..4, 60_000, false);
    world.queue.send(1);
    let mut looking = world.looking(1);
    looking.sort_unstable();
    assert_eq!(looking, [1, 2, 3, 4]);
}

#[test]
fn both_kinds_look_beside_each_other() {
    let mut world = World::new();
    let (own, any) = (world.wait(60_000, false), world.wait(60_000, true));
    world.wait(60_000, true);
    world.queue.send(1);
    let mut looking = world.looking(1);
    looking.sort_unstable();
    assert_eq!(looking, [own, any]);
}

#[test]
fn those_whose_time_is_over_are_answered_in_time() {
    let mut world = World::new();
    let (short, long) = (world.wait(100, true), world.wait(500, false));
    assert_eq!(world.later(99).1, []);
    assert_eq!(world.later(1).1, [short]);
    assert_eq!(world.later(399).1, []);
    assert_eq!(world.later(1).1, [long]);
    assert_eq!(world.parked.patience(world.time()), None, "nobody waits");
}

#[test]
fn a_request_that_looks_again_is_answered_no_later_for_it() {
    let mut world = World::new();
    world.wait(100, true);
    world.later(60);
    world.queue.send(1);
    let (mut again, _) = world.later(1);
    let (arrived, waited) = again.pop().expect("it looks");
    world.park(arrived, Some(waited), 100, true);
    assert_eq!(world.later(38).1, []);
    assert_eq!(world.later(1).1, [1]);
}

#[test]
fn somebody_looks_when_a_row_becomes_free_by_itself() {
    let mut world = World::new();
    world.queue.next.set(Some(Duration::from_millis(200)));
    world.all_wait(0..3, 60_000, true);
    assert_eq!(world.looking(1), []);
    assert_eq!(world.looking(150), []);
    assert_eq!(world.looking(60), [1]);
}

#[test]
fn a_time_that_cannot_be_found_out_is_asked_for_again() {
    let mut world = World::new();
    world.queue.is_locked.set(true);
    world.queue.next.set(Some(Duration::ZERO));
    world.wait(60_000, true);
    assert_eq!(world.looking(1), []);
    assert!(world.parked.patience(world.time()).is_some_and(|patience| patience <= PAUSE));
    world.queue.is_locked.set(false);
    world.later(1);
    assert_eq!(world.looking(20), [1]);
}

#[test]
fn whoever_waits_looks_after_a_while_though_nobody_has_said_anything() {
    let mut world = World::new();
    let (any, own) = (world.wait(600_000, true), world.wait(600_000, false));
    assert_eq!(world.looking(1000), []);
    let mut looking = world.looking(30_000);
    looking.sort_unstable();
    assert_eq!(looking, [any, own]);
}

#[test]
fn a_client_that_leaves_is_neither_asked_nor_answered() {
    let mut world = World::new();
    world.all_wait(0..3, 100, true);
    assert!(world.parked.forget(Ticket(1)));
    assert!(!world.parked.forget(Ticket(1)));
    assert!(!world.parked.forget(Ticket(77)));
    world.queue.send(1);
    assert_eq!(world.looking(1), [2]);
    assert_eq!(world.later(100).1, [3]);
}

#[test]
fn all_are_answered_in_a_hurry() {
    let mut world = World::new();
    world.all_wait(0..1000, 60_000, true);
    world.all_wait(0..1000, 60_000, false);
    let mut answered = 0;
    for _ in 0..10 {
        let time = world.time();
        let (again, now) = world.sort(true, time);
        assert!(again.is_empty());
        assert!(now.len() <= 512, "a turn answers {}", now.len());
        answered += now.len();
    }
    assert_eq!(answered, 2000);
}

#[test]
fn a_turn_sends_a_part_of_thousands_and_the_next_ones_the_rest() {
    let mut world = World::new();
    world.all_wait(0..2000, 60_000, false);
    world.queue.send(1);
    let mut looked = HashSet::new();
    for turn in 0..10 {
        let looking = world.looking(1);
        assert!(looking.len() <= 512, "turn {turn} sends {}", looking.len());
        looked.extend(looking);
    }
    assert_eq!(looked.len(), 2000);
}

#[test]
fn they_hold_no_more_than_they_may() {
    let mut world = World::new();
    let limit = 3 * (REQUEST + 10 + 7);
    let arrived = Arrived(100, 10);
    for count in 0..3 {
        assert!(world.parked.has_room(&arrived, b"nothing", limit), "{count}");
        world.wait(100, true);
    }
    assert!(!world.parked.has_room(&arrived, b"nothing", limit));
    world.parked.forget(Ticket(2));
    assert!(world.parked.has_room(&arrived, b"nothing", limit));
    world.later(100);
    assert!(world.parked.has_room(&arrived, &vec![0; 2 * (REQUEST + 17)], limit), "all were answered");
}

#[test]
fn queues_have_nothing_to_do_with_each_other() {
    let mut world = World::new();
    let first = world.wait(50, true);
    let time = world.time();
    let other = Later { queue: QUEUE + 1, milliseconds: 100, arrivals: 0, any_row: true };
    world.parked.park(other, None, (Arrived(50, 10), 0), b"nothing".to_vec(), &world.queue, time);
    assert_eq!(world.later(50).1, [first]);
    assert_eq!(world.later(50).1, [50]);
}

#[test]
fn no_wake_up_is_lost_whatever_happens_to_those_who_look() {
    let mut random = fastrand::Rng::with_seed(11);
    let mut world = World::new();
    let (mut rows, mut given) = (0_u64, 0_u64);
    world.all_wait(0..50, 3_600_000, true);
    for step in 0..5_000 {
        if random.u8(..8) == 0 {
            let more = random.u64(1..5);
            rows += more;
            world.queue.send(more);
        }
        let (again, answered) = world.later(1);
        assert!(answered.is_empty());
        for (arrived, waited) in again {
            match random.u8(..4) {
                // It dies with what it has not taken.
                0 => drop(waited),
                _ if given < rows => {
                    given += 1;
                    drop(waited);
                }
                _ => {
                    world.park(arrived, Some(waited), 3_600_000, true);
                    continue;
                }
            }
            world.wait(3_600_000, true);
        }
        // After a rest all rows that have come are taken.
        if step % 500 == 499 {
            for _ in 0..200 {
                let (again, _) = world.later(1);
                for (arrived, waited) in again {
                    if given < rows {
                        given += 1;
                        drop(waited);
                        world.wait(3_600_000, true);
                    } else {
                        world.park(arrived, Some(waited), 3_600_000, true);
                    }
                }
            }
            assert_eq!(given, rows, "step {step}");
        }
    }
}
