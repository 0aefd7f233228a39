//! What was computed holds until a commit that it has not seen can be seen, and no longer.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::SeqCst;
use std::thread;
use std::time::{Duration, Instant};

use registry::commits::{Commits, EVERYTHING, NAMED, Standing, Thing};

use super::zeroed;

fn commits(counters: usize, processes: usize, prepared: usize) -> Commits {
    Commits::new(
        Box::leak(Box::new(AtomicU64::new(0))),
        zeroed(counters),
        zeroed(processes),
        zeroed(prepared),
    )
}

/// Nobody is to be asked for.
fn nobody(transaction: u32, _: bool) -> Standing {
    panic!("transaction {transaction} was asked for")
}

#[test]
fn what_was_computed_holds_until_something_that_it_has_read_changes() {
    let commits = commits(1000, 2, 1);
    let (read, other) = (commits.thing("read"), commits.thing("other"));
    assert_ne!(read, other);
    let since = commits.now();
    assert!(commits.hold(since, &[read], nobody));
    // Of another thing nobody asks.
    commits.mark(0, 7, &[other]);
    assert!(commits.hold(since, &[read], nobody));
    commits.count(0, &[other]);
    assert!(commits.hold(since, &[read], nobody));
    assert_eq!(commits.last_change(other).number(), 1);
    // While the commit runs nobody sees it.
    commits.mark(0, 8, &[other, read]);
    for (standing, holds) in [(Standing::Runs, true), (Standing::Ends, false), (Standing::Ended, false)] {
        let mut asked = Vec::new();
        let answer = commits.hold(since, &[read], |transaction, is_prepared| {
            asked.push((transaction, is_prepared));
            standing
        });
        assert_eq!((answer, asked), (holds, vec![(8, false)]), "{standing:?}");
    }
    commits.withdraw(0, &[other, read]);
    assert!(commits.hold(since, &[read], nobody), "it was rolled back");
    commits.mark(1, 9, &[read]);
    commits.count(1, &[read]);
    assert!(!commits.hold(since, &[read], nobody));
    assert!(commits.hold(commits.now(), &[read], nobody), "what is computed now has seen it");
    // What nobody can name.
    let since = commits.now();
    commits.count_unmarked(&[EVERYTHING]);
    assert!(!commits.hold(since, &[read], nobody));
}

#[test]
fn a_commit_of_more_than_a_mark_can_name_stands_on_all() {
    let commits = commits(1000, 1, 1);
    let many: Vec<Thing> = {
        let mut things: Vec<_> = (0..200).map(|number| commits.thing(number)).collect();
        things.sort();
        things.dedup();
        things
    };
    assert!(many.len() > NAMED);
    let since = commits.now();
    commits.mark(0, 7, &many);
    for &thing in &many {
        assert!(!commits.hold(since, &[thing], |_, _| Standing::Ends));
    }
    let untouched = (0..).map(|number| commits.thing(("other", number))).find(|thing| !many.contains(thing));
    assert!(commits.hold(since, &[untouched.unwrap()], nobody), "its counter says that nobody is there");
    commits.count(0, &many);
    assert!(many.iter().all(|&thing| !commits.hold(since, &[thing], nobody)));
    assert!(commits.hold(since, &[untouched.unwrap()], nobody));
    // Prepared, it counts as a change of everything.
    let since = commits.now();
    assert!(commits.prepare(8, &many, nobody));
    assert!(commits.hold(since, &[untouched.unwrap()], |_, _| Standing::Runs));
    assert!(!commits.hold(since, &[untouched.unwrap()], |_, _| Standing::Ended));
    assert!(!commits.hold(since, &[untouched.unwrap()], nobody), "it was counted");
    assert!(commits.hold(commits.now(), &many, nobody), "and its mark is gone");
}

#[test]
fn a_prepared_transaction_is_counted_by_whoever_finds_its_end() {
    let commits = commits(1000, 1, 2);
    let read = commits.thing("read");
    let since = commits.now();
    assert!(commits.prepare(7, &[read], nobody));
    for (standing, holds) in
        [(Standing::Runs, true), (Standing::Ends, false), (Standing::Runs, true), (Standing::Ended, false)]
    {
        let answer = commits.hold(since, &[read], |transaction, is_prepared| {
            assert_eq!((transaction, is_prepared), (7, true));
            standing
        });
        assert_eq!(answer, holds, "{standing:?}");
    }
    assert!(!commits.hold(since, &[read], nobody), "it was counted");
    assert!(commits.hold(commits.now(), &[read], nobody));
    // One that fails before it is prepared.
    let since = commits.now();
    assert!(commits.prepare(8, &[read], nobody));
    commits.give_up(8);
    commits.give_up(8);
    assert!(commits.hold(since, &[read], nobody));
    // There is room for two. The ones that have ended make room, whoever they were.
    assert!(commits.prepare(9, &[read], nobody) && commits.prepare(10, &[read], nobody));
    assert!(!commits.prepare(11, &[read], |_, _| Standing::Ends));
    assert!(commits.prepare(11, &[read], |transaction, _| {
        if transaction == 10 { Standing::Ended } else { Standing::Runs }
    }));
    assert!(!commits.hold(since, &[read], |_, _| Standing::Runs), "10 was counted");
    // One that is found after a restart.
    assert!(commits.adopt(11, nobody));
    assert!(!commits.adopt(12, |_, _| Standing::Runs));
    assert!(commits.adopt(12, |_, _| Standing::Ended));
}

#[test]
fn few_counters_are_shared_and_nothing_is_skipped() {
    for counters in [1, 2, 3] {
        let commits = commits(counters, 1, 1);
        let things: Vec<_> = (0..50).map(|number| commits.thing(number)).collect();
        assert!(things.iter().all(|&thing| (thing == EVERYTHING) == (counters == 1)));
        for &thing in &things {
            let since = commits.now();
            commits.mark(0, 7, &[thing]);
            assert!(!commits.hold(since, &[thing], |_, _| Standing::Ends));
            commits.count(0, &[thing]);
            assert!(!commits.hold(since, &[thing], nobody));
            assert!(commits.hold(commits.now(), &[thing], nobody));
        }
    }
}

/// A world of transactions: what can be seen of each thing, and who has ended.
struct World {
    commits: Commits,
    things: Vec<Thing>,
    /// What there is to see of each thing.
    visible: Vec<AtomicU64>,
    /// The newest that somebody has seen or was told of.
    known: Vec<AtomicU64>,
    /// By transaction: 0 runs, 1 ends, 2 has ended.
    ends: Vec<AtomicU64>,
    next: AtomicU64,
}

const TRANSACTIONS: usize = 1 << 20;

impl World {
    fn new(counters: usize, processes: usize) -> World {
        let commits = commits(counters, processes, 4);
        let zeros = |count: usize| (0..count).map(|_| AtomicU64::new(0)).collect::<Vec<_>>();
        World {
            things: (0..8).map(|number| commits.thing(number)).collect(),
            commits,
            visible: zeros(8),
            known: zeros(8),
            ends: zeros(TRANSACTIONS),
            next: AtomicU64::new(1),
        }
    }

    fn standing(&self, transaction: u32) -> Standing {
        match self.ends[transaction as usize].load(SeqCst) {
            0 => Standing::Runs,
            1 => Standing::Ends,
            _ => Standing::Ended,
        }
    }

    /// Commits a change of the thing at this place, in the order of PostgreSQL's steps. Only one process writes a thing.
    fn write(&self, process: usize, place: usize, random: &mut fastrand::Rng) -> bool {
        let transaction = self.next.fetch_add(1, SeqCst);
        if transaction as usize >= TRANSACTIONS {
            return false;
        }
        let things = [self.things[place]];
        let (is_prepared, fails) = (random.u8(..8) == 0, random.u8(..8) == 0);
        let id = transaction as u32;
        if is_prepared {
            assert!(self.commits.prepare(id, &things, |transaction, _| self.standing(transaction)));
        } else {
            self.commits.mark(process, id, &things);
        }
        pause(random);
        if fails {
            self.ends[transaction as usize].store(2, SeqCst);
            if is_prepared {
                self.commits.give_up(id)
            } else {
                self.commits.withdraw(process, &things)
            }
            return true;
        }
        let value = self.visible[place].load(SeqCst) + 1;
        // What can be seen and who runs change in one step there: here whoever is in between sees neither.
        self.ends[transaction as usize].store(1, SeqCst);
        self.visible[place].store(value, SeqCst);
        pause(random);
        if is_prepared {
            self.ends[transaction as usize].store(2, SeqCst);
        } else {
            self.commits.count(process, &things);
        }
        self.known[place].fetch_max(value, SeqCst);
        true
    }
}

fn pause(random: &mut fastrand::Rng) {
    match random.u8(..8) {
        0 => thread::sleep(Duration::from_micros(random.u64(..50))),
        1..4 => thread::yield_now(),
        _ => {}
    }
}

#[test]
fn nobody_gets_what_was_computed_before_something_that_is_known() {
    for counters in [3, 100] {
        let until = Instant::now() + Duration::from_millis(200);
        let world = World::new(counters, 4);
        let held: u64 = thread::scope(|scope| {
            for process in 0..4 {
                let world = &world;
                scope.spawn(move || {
                    let mut random = fastrand::Rng::new();
                    while Instant::now() < until && {
                        let place = process * 2 + random.usize(..2);
                        world.write(process, place, &mut random)
                    } {
                        pause(&mut random);
                    }
                });
            }
            let readers: Vec<_> = (0..4).map(|_| scope.spawn(|| read(&world, until))).collect();
            readers.into_iter().map(|reader| reader.join().unwrap()).sum()
        });
        assert!(held > 0, "nothing has ever held");
    }
}

/// Computes, and uses what was computed as long as it holds; how often it has.
fn read(world: &World, until: Instant) -> u64 {
    let mut random = fastrand::Rng::new();
    let mut held = 0;
    while Instant::now() < until {
        let places = [random.usize(..8), random.usize(..8)];
        let things = places.map(|place| world.things[place]);
        let since = world.commits.now();
        pause(&mut random);
        let computed = places.map(|place| world.visible[place].load(SeqCst));
        for (place, seen) in places.into_iter().zip(computed) {
            world.known[place].fetch_max(seen, SeqCst);
        }
        for _ in 0..random.u8(1..20) {
            let known = places.map(|place| world.known[place].load(SeqCst));
            if !world.commits.hold(since, &things, |transaction, _| world.standing(transaction)) {
                break;
            }
            held += 1;
            assert!(
                known.iter().zip(&computed).all(|(known, computed)| known <= computed),
                "{known:?} {computed:?}"
            );
            pause(&mut random);
        }
    }
    held
}
