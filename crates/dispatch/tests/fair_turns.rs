//! Endpoints take turns.

use std::time::{Duration, Instant};

use dispatch::{FairTurns, SLICE, Turn};

fn turns(endpoints: &[usize]) -> FairTurns<usize> {
    let mut turns = FairTurns::default();
    for (arrived, &endpoint) in endpoints.iter().enumerate() {
        turns.push(Turn { arrived, endpoint, since: Instant::now() });
    }
    turns
}

/// Takes what is first, which runs for so long.
fn run(turns: &mut FairTurns<usize>, time: Duration) -> Option<usize> {
    let turn = turns.pop()?;
    turns.spent(turn.endpoint, time);
    Some(turn.arrived)
}

fn all(mut turns: FairTurns<usize>, time: Duration) -> Vec<usize> {
    std::iter::from_fn(|| run(&mut turns, time)).collect()
}

#[test]
fn what_came_first_at_an_endpoint_runs_first() {
    assert_eq!(all(turns(&[3, 3, 3]), SLICE), [0, 1, 2]);
}

#[test]
fn an_endpoint_that_has_run_for_its_slice_goes_behind_the_others() {
    assert_eq!(all(turns(&[1, 1, 1, 2, 2, 3]), SLICE), [0, 3, 5, 1, 4, 2]);
}

#[test]
fn what_is_quick_goes_on_within_its_slice() {
    // Two of half a slice each, then the other.
    assert_eq!(all(turns(&[1, 1, 1, 2]), SLICE / 2), [0, 1, 3, 2]);
}

#[test]
fn requests_for_what_takes_long_keep_quick_ones_waiting_for_one_of_them() {
    let mut turns = turns(&[1; 100]);
    turns.push(Turn { arrived: 100, endpoint: 2, since: Instant::now() });
    let order = all(turns, SLICE * 4);
    assert_eq!(order.iter().position(|arrived| *arrived == 100), Some(1));
}

#[test]
fn an_endpoint_whose_last_request_was_taken_begins_anew_at_the_end() {
    let mut turns = turns(&[1, 2, 2]);
    assert_eq!(run(&mut turns, Duration::ZERO), Some(0));
    turns.push(Turn { arrived: 9, endpoint: 1, since: Instant::now() });
    assert_eq!(turns.next(), Some(2));
    assert_eq!(all(turns, SLICE), [1, 9, 2]);
}

#[test]
fn time_that_another_endpoint_has_taken_does_not_count() {
    let mut turns = turns(&[1, 1, 2]);
    turns.spent(2, SLICE * 10);
    assert_eq!(turns.next(), Some(1));
}

#[test]
fn all_that_waits_can_be_given_up() {
    let mut turns = turns(&[4, 0, 4]);
    let mut given: Vec<_> = turns.take_all().map(|turn| turn.arrived).collect();
    given.sort_unstable();
    assert_eq!(given, [0, 1, 2]);
    assert!(turns.is_empty() && turns.pop().is_none() && turns.next().is_none());
}

#[test]
fn nobody_waits_for_ever_whatever_comes_and_however_long_it_takes() {
    let mut random = fastrand::Rng::with_seed(1);
    let (mut turns, mut came, mut next) = (FairTurns::default(), Vec::new(), 0);
    for step in 0..20_000_usize {
        if random.bool() && step < 10_000 {
            turns.push(Turn { arrived: next, endpoint: random.usize(..20), since: Instant::now() });
            next += 1;
        }
        came.extend(run(&mut turns, SLICE.mul_f32(random.f32() * 3.0)));
    }
    assert!(turns.is_empty());
    came.sort_unstable();
    assert_eq!(came, (0..next).collect::<Vec<_>>());
}
