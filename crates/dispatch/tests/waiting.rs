//! Requests that wait for room.

use std::time::{Duration, Instant};

use dispatch::{REQUEST, Ticket, Waiter, Waiting};

use crate::{Arrived, at};

const PLENTY: usize = usize::MAX;

fn waiter(number: u64, gate: u32, since: Instant) -> Waiter<Arrived> {
    Waiter { arrived: Arrived(number, 100), gate, since, waited: None }
}

/// Requests of these gates, a millisecond apart.
fn waiting(begin: Instant, gates: &[u32]) -> Waiting<Arrived> {
    let mut waiting = Waiting::default();
    for (number, &gate) in gates.iter().enumerate() {
        let number = number as u64;
        assert!(waiting.push(waiter(number, gate, at(begin, number)), PLENTY).is_ok());
    }
    waiting
}

fn number(waiter: Option<Waiter<Arrived>>) -> Option<u64> {
    waiter.map(|waiter| waiter.arrived.0)
}

#[test]
fn those_of_a_gate_go_in_their_order() {
    let mut waiting = waiting(Instant::now(), &[7, 7, 7]);
    assert_eq!([(); 4].map(|()| number(waiting.pop(7))), [Some(0), Some(1), Some(2), None]);
    assert!(waiting.is_empty());
}

#[test]
fn the_gate_whose_first_has_waited_longest_is_next() {
    let mut waiting = waiting(Instant::now(), &[2, 1, 2, 1]);
    let mut order = Vec::new();
    while let Some(gate) = waiting.first(|_| true) {
        order.extend(number(waiting.pop(gate)));
    }
    assert_eq!(order, [0, 1, 2, 3]);
}

#[test]
fn a_gate_that_may_not_be_chosen_keeps_no_other_waiting() {
    let waiting = waiting(Instant::now(), &[1, 1, 1, 2]);
    assert_eq!(waiting.first(|gate| gate != 1), Some(2));
    assert_eq!(waiting.first(|gate| gate == 3), None);
}

#[test]
fn what_is_put_back_is_first_again() {
    let mut waiting = waiting(Instant::now(), &[1, 1]);
    let first = waiting.pop(1).expect("the first");
    waiting.put_back(first);
    assert_eq!(number(waiting.pop(1)), Some(0));
}

#[test]
fn all_of_them_hold_no_more_than_they_may() {
    let begin = Instant::now();
    let mut waiting = Waiting::default();
    let limit = 2 * (REQUEST + 100);
    assert!(waiting.push(waiter(0, 1, begin), limit).is_ok());
    assert!(waiting.push(waiter(1, 2, begin), limit).is_ok());
    let refused = waiting.push(waiter(2, 3, begin), limit).expect_err("one too many");
    assert_eq!(refused.arrived, Arrived(2, 100));
    assert!(waiting.pop(1).is_some());
    assert!(waiting.push(refused, limit).is_ok());
}

#[test]
fn what_has_gone_or_was_taken_holds_nothing() {
    let begin = Instant::now();
    let one = REQUEST + 100;
    let mut waiting = Waiting::default();
    for round in 0..1000 {
        assert!(waiting.push(waiter(round, 1, begin), one).is_ok(), "round {round}");
        match round % 3 {
            0 => assert!(waiting.pop(1).is_some()),
            1 => assert!(waiting.forget(Ticket(round)).is_some()),
            _ => assert!(waiting.late(Duration::ZERO, at(begin, 1)).is_some()),
        }
    }
}

#[test]
fn those_who_have_waited_too_long_are_found_whatever_their_gate() {
    let begin = Instant::now();
    let mut waiting = waiting(begin, &[1, 2, 1]);
    let (patience, now) = (Duration::from_millis(10), at(begin, 11));
    assert_eq!(number(waiting.late(patience, now)), Some(0));
    assert_eq!(number(waiting.late(patience, now)), None);
    assert_eq!(number(waiting.late(patience, at(begin, 12))), Some(1));
}

#[test]
fn a_client_that_leaves_takes_its_request_with_it_from_the_middle() {
    let mut waiting = waiting(Instant::now(), &[1, 1, 1]);
    assert_eq!(number(waiting.forget(Ticket(1))), Some(1));
    assert_eq!(number(waiting.forget(Ticket(1))), None);
    assert_eq!(number(waiting.forget(Ticket(77))), None);
    assert_eq!(
        [number(waiting.pop(1)), number(waiting.pop(1)), number(waiting.pop(1))],
        [Some(0), Some(2), None]
    );
}

#[test]
fn a_gate_of_which_none_waits_says_so() {
    let mut waiting = waiting(Instant::now(), &[5]);
    assert!(!waiting.has_none_of(5) && waiting.has_none_of(6));
    waiting.pop(5);
    assert!(waiting.has_none_of(5));
}
