//! What each route may have of the executors.

use std::collections::{HashMap, HashSet};

use dispatch::{Executors, Gates};

/// Half of what the others leave.
const HALF: u32 = 50;

/// Executors that note their limits, and of which so many run.
#[derive(Default)]
struct Noted {
    limits: HashMap<u32, u32>,
    running: HashMap<u32, u32>,
    told: usize,
}

impl Executors for Noted {
    fn set_limit(&mut self, gate: u32, limit: u32) {
        self.told += 1;
        self.limits.insert(gate, limit);
    }

    fn running(&self, gate: u32) -> u32 {
        self.running.get(&gate).copied().unwrap_or(0)
    }
}

/// Gates with so many executors.
fn gates(executors: u32) -> (Gates, Noted) {
    let (mut gates, mut noted) = (Gates::new(8), Noted::default());
    gates.follow(executors, HALF, false, &mut noted);
    (gates, noted)
}

#[test]
fn a_route_gets_half_of_the_executors() {
    let (mut gates, mut noted) = gates(10);
    gates.limit(1, HALF, &mut noted);
    assert_eq!(noted.limits[&1], 5);
}

#[test]
fn a_second_slow_route_gets_half_of_what_the_first_leaves() {
    let (mut gates, mut noted) = gates(16);
    for gate in 0..4 {
        gates.limit(gate, HALF, &mut noted);
        (0..20).for_each(|_| gates.gain(gate, 0));
    }
    assert_eq!([0, 1, 2, 3].map(|gate| noted.limits[&gate]), [8, 4, 2, 1]);
}

#[test]
fn a_route_that_is_quick_claims_what_it_has_under_way_alone() {
    let (mut gates, mut noted) = gates(16);
    gates.limit(0, HALF, &mut noted);
    gates.gain(0, 0);
    gates.limit(1, HALF, &mut noted);
    assert_eq!(noted.limits[&1], 7, "half of fifteen");
}

#[test]
fn nobody_gets_all_executors_nor_none() {
    for executors in 0..20 {
        for percent in [0, 1, 50, 99, 100] {
            let (mut gates, mut noted) = (Gates::new(4), Noted::default());
            gates.follow(executors, percent, false, &mut noted);
            for gate in 0..4 {
                gates.limit(gate, percent, &mut noted);
                (0..30).for_each(|_| gates.gain(gate, 0));
                let limit = noted.limits[&gate];
                assert!(limit >= 1, "{executors} executors, {percent} %");
                assert!(limit < executors.max(2), "{limit} of {executors}, {percent} %");
            }
        }
    }
}

#[test]
fn a_limit_that_stays_is_not_told_again() {
    let (mut gates, mut noted) = gates(10);
    (0..5).for_each(|_| gates.limit(1, HALF, &mut noted));
    assert_eq!(noted.told, 1);
}

#[test]
fn a_number_that_is_no_gates_has_no_limit() {
    let (mut gates, mut noted) = gates(10);
    gates.limit(u32::MAX, HALF, &mut noted);
    gates.gain(u32::MAX, 100);
    gates.lose(u32::MAX, 100);
    assert_eq!(noted.told, 0);
    assert!(gates.has_less(u32::MAX, 0, 0));
}

#[test]
fn limits_follow_the_number_of_executors() {
    let (mut gates, mut noted) = gates(4);
    gates.limit(1, HALF, &mut noted);
    assert_eq!(noted.limits[&1], 2);
    gates.follow(20, HALF, false, &mut noted);
    assert_eq!((gates.executors(), noted.limits[&1]), (20, 10));
    gates.follow(2, HALF, false, &mut noted);
    assert_eq!(noted.limits[&1], 1);
}

#[test]
fn what_runs_when_a_limit_falls_is_still_counted() {
    let (mut gates, mut noted) = gates(20);
    gates.limit(0, HALF, &mut noted);
    (0..10).for_each(|_| gates.gain(0, 0));
    noted.running.insert(0, 10);
    gates.follow(8, HALF, false, &mut noted);
    assert_eq!(noted.limits[&0], 4);
    // Ten of it still run on eight executors: nothing is left but the one that everybody has.
    gates.limit(1, HALF, &mut noted);
    assert_eq!(noted.limits[&1], 1);
    // They end one after the other.
    noted.running.insert(0, 4);
    gates.follow(8, HALF, false, &mut noted);
    gates.limit(1, HALF, &mut noted);
    assert_eq!(noted.limits[&1], 2);
}

#[test]
fn requests_of_other_gateways_count_if_there_are_any() {
    let (mut gates, mut noted) = (Gates::new(4), Noted::default());
    gates.follow(16, HALF, true, &mut noted);
    gates.limit(0, HALF, &mut noted);
    noted.running.insert(0, 6);
    gates.follow(16, HALF, true, &mut noted);
    gates.limit(1, HALF, &mut noted);
    assert_eq!(noted.limits[&1], 5, "half of the ten that six leave");
}

#[test]
fn a_gate_has_less_as_long_as_slots_and_bytes_are_below_its_share() {
    let (mut gates, _) = gates(10);
    assert!(gates.has_less(0, 0, 0), "it has nothing");
    gates.gain(0, 1000);
    assert!(gates.has_less(0, 2, 1001));
    assert!(!gates.has_less(0, 1, 1001), "its slots");
    assert!(!gates.has_less(0, 2, 1000), "its bytes");
    gates.lose(0, 1000);
    assert!(gates.has_less(0, 1, 1));
}

#[test]
fn a_route_that_is_gone_has_no_limit_any_more() {
    let (mut gates, mut noted) = gates(10);
    gates.limit(0, HALF, &mut noted);
    gates.limit(1, HALF, &mut noted);
    gates.keep(&HashSet::from([1]));
    noted.told = 0;
    gates.follow(20, HALF, false, &mut noted);
    assert_eq!((noted.told, noted.limits[&1]), (1, 10), "the one that is still there");
}

#[test]
fn what_gates_claim_is_given_back_whatever_happens() {
    let mut random = fastrand::Rng::with_seed(7);
    let (mut gates, mut noted) = gates(12);
    let mut under_way = Vec::new();
    for _ in 0..20_000 {
        match random.u8(..6) {
            0 | 1 => {
                let (gate, bytes) = (random.u32(..9), random.usize(..5000));
                gates.limit(gate, HALF, &mut noted);
                gates.gain(gate, bytes);
                under_way.push((gate, bytes));
            }
            2 | 3 if !under_way.is_empty() => {
                let (gate, bytes) = under_way.swap_remove(random.usize(..under_way.len()));
                gates.lose(gate, bytes);
            }
            4 => {
                noted.running.insert(random.u32(..8), random.u32(..12));
                gates.follow(random.u32(1..20), HALF, random.bool(), &mut noted);
            }
            _ => gates.keep(&(0..8).filter(|_| random.bool()).collect()),
        }
    }
    under_way.drain(..).for_each(|(gate, bytes)| gates.lose(gate, bytes));
    noted.running.clear();
    gates.keep(&HashSet::new());
    gates.follow(10, HALF, true, &mut noted);
    gates.limit(3, HALF, &mut noted);
    assert_eq!(noted.limits[&3], 5, "nothing is claimed");
}
