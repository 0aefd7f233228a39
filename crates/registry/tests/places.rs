//! A key has one place, whoever adds and removes at the same time.

use std::sync::Barrier;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::thread;

use registry::{Entry, Key, Places, hash};

#[derive(Default)]
struct Counter {
    key: Key,
    /// The hash again, as the process that added it has written it.
    label: AtomicU64,
    count: AtomicU64,
}

impl Entry for Counter {
    fn key(&self) -> &Key {
        &self.key
    }

    fn clear(&self) {
        self.label.store(0, SeqCst);
        self.count.store(0, SeqCst);
    }
}

fn table(places: usize) -> Places<Counter> {
    let entries: Vec<Counter> = std::iter::repeat_with(Counter::default).take(places).collect();
    Places::new(entries.leak())
}

fn add(table: &Places<Counter>, hash: u64) -> Option<usize> {
    table.find_or_add(hash, |entry| entry.label.store(hash, SeqCst))
}

/// How many places have this label. Nobody may be writing.
fn places_of(table: &Places<Counter>, hash: u64) -> usize {
    (0..table.entries().len()).filter(|&place| table.holds(place, hash)).count()
}

#[test]
fn a_key_keeps_its_place_until_it_is_taken_away() {
    let table = table(8);
    let place = add(&table, hash("a")).expect("a place");
    let other = add(&table, hash("b")).expect("a place");
    assert_ne!(place, other);
    assert_eq!(add(&table, hash("a")), Some(place));
    assert!(table.holds(place, hash("a")) && !table.holds(place, hash("b")));
    assert_eq!(table.used(), 2);
    assert!(table.remove(place));
    assert!(!table.remove(place), "it was free already");
    assert!(!table.holds(place, hash("a")));
    assert_eq!((table.used(), add(&table, hash("b"))), (1, Some(other)));
}

#[test]
fn what_was_counted_for_one_key_is_not_the_next_ones() {
    let table = table(1);
    let place = add(&table, hash("a")).expect("a place");
    table.entries()[place].count.store(7, SeqCst);
    assert!(table.remove(place));
    assert_eq!(table.entries()[place].count.load(SeqCst), 0);
    // Somebody who did not know yet.
    table.entries()[place].count.fetch_add(1, SeqCst);
    assert_eq!(add(&table, hash("b")), Some(place));
    assert_eq!(table.entries()[place].count.load(SeqCst), 0);
}

#[test]
fn a_full_table_takes_keys_again_once_a_place_is_given_back() {
    let table = table(4);
    let places: Vec<usize> = (10..14).map(|hash| add(&table, hash).expect("a place")).collect();
    assert_eq!(add(&table, 14), None);
    assert_eq!(add(&table, 12), Some(places[2]), "a key that has a place is found in a full table");
    assert!(table.remove(places[1]));
    assert_eq!(add(&table, 14), Some(places[1]));
    assert_eq!(add(&table, 15), None);
}

#[test]
fn a_place_that_was_given_back_hides_nothing_behind_it() {
    // All walks begin at the same place.
    let table = table(4);
    let places: Vec<usize> = [4, 8, 12].map(|hash| add(&table, hash).expect("a place")).to_vec();
    assert!(table.remove(places[0]));
    assert_eq!(add(&table, 12), Some(places[2]));
    assert_eq!(table.used(), 2);
}

/// One has chosen a place when another in front of it becomes free, which a second one takes for the same key. Whoever
/// publishes last sees both.
#[test]
fn of_two_places_of_a_key_the_first_in_the_walk_stands() {
    for both_at_once in [false, true] {
        // Walks of both keys begin at the first place.
        let table = table(8);
        let (obstacle, wanted) = (8, 16);
        let place = add(&table, obstacle).expect("a place");
        let (chosen, wait) = (Barrier::new(2), Barrier::new(2));
        let patient = |entry: &Counter| {
            entry.label.store(wanted, SeqCst);
            chosen.wait();
            wait.wait();
        };
        thread::scope(|threads| {
            let behind = threads.spawn(|| table.find_or_add(wanted, patient));
            chosen.wait();
            assert!(table.remove(place));
            if both_at_once {
                // They wait for each other.
                let in_front = threads.spawn(|| table.find_or_add(wanted, patient));
                chosen.wait();
                assert_eq!(in_front.join().unwrap(), Some(place));
            } else {
                assert_eq!(add(&table, wanted), Some(place));
                wait.wait();
            }
            assert!(behind.join().unwrap().is_some());
        });
        assert_eq!((places_of(&table, wanted), table.used()), (1, 1));
        assert_eq!(add(&table, wanted), Some(place));
    }
}

/// Threads add the same keys while places in front of them come and go.
#[test]
fn a_key_that_many_add_at_once_has_one_place() {
    const ROUNDS: u64 = 1000;
    for round in 0..ROUNDS {
        // Walks of all keys begin at the first place.
        let table = table(8);
        let (obstacle, wanted) = (8, 16 + 8 * round);
        let place = add(&table, obstacle).expect("a place");
        thread::scope(|threads| {
            threads.spawn(|| table.remove(place));
            for _ in 0..2 {
                threads.spawn(|| add(&table, wanted).expect("a place"));
            }
        });
        assert_eq!(places_of(&table, wanted), 1, "round {round}");
        assert_eq!(table.used(), 1, "round {round}");
    }
}

/// Whoever holds a place before and after reading has read what was written for its own key.
#[test]
fn a_place_is_never_that_of_two_keys() {
    let table = table(8);
    let over = AtomicBool::new(false);
    thread::scope(|threads| {
        let (table, over) = (&table, &over);
        let adders: Vec<_> = (0..3_u64)
            .map(|thread| {
                threads.spawn(move || {
                    let mut found = 0;
                    for step in 0..60_000_u64 {
                        let hash = 100 + (step * 7 + thread) % 12;
                        let Some(place) = add(table, hash) else { continue };
                        let held = table.holds(place, hash);
                        let label = table.entries()[place].label.load(SeqCst);
                        if held && table.holds(place, hash) {
                            found += 1;
                            assert_eq!(label, hash);
                        }
                    }
                    found
                })
            })
            .collect();
        threads.spawn(move || {
            let mut place = 0;
            while !over.load(SeqCst) {
                table.remove(place);
                place = (place + 1) % 8;
            }
        });
        let found: Vec<u64> = adders.into_iter().map(|adder| adder.join().unwrap()).collect();
        over.store(true, SeqCst);
        assert!(found.iter().all(|found| *found > 1000), "{found:?} looks tell too little");
    });
    // Nothing is left half done.
    (0..8).for_each(|place| {
        table.remove(place);
    });
    assert_eq!(table.used(), 0);
    assert!((0..8).all(|hash| add(&table, 200 + hash).is_some()));
}
