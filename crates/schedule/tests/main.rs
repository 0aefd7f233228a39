//! When jobs run, by clocks and chances of the tests' own.

use schedule::suspects::{Place, Ran, Standing, after_crash, pause_after_end};
use schedule::{Backoff, PLACES, Priority, Rate, Starts, Turns};

const SECOND: i64 = 1_000_000;

#[test]
fn a_job_waits_twice_as_long_each_time_up_to_the_longest() {
    let backoff = Backoff { first: SECOND, longest: 3600 * SECOND };
    let middle = u32::MAX / 2;
    for (attempt, wait) in [(1, 1), (2, 2), (3, 4), (12, 2048), (13, 3600), (1000, 3600), (u32::MAX, 3600)] {
        let waits = backoff.after(attempt, middle);
        assert!((waits - wait * SECOND).abs() <= 1, "attempt {attempt} waits {waits}");
    }
}

#[test]
fn chance_spreads_by_a_quarter_each_way() {
    let backoff = Backoff { first: 4 * SECOND, longest: i64::MAX };
    assert_eq!(backoff.after(1, 0), 3 * SECOND);
    assert_eq!(backoff.after(1, u32::MAX), 5 * SECOND);
    // Nothing overflows, whatever is asked for.
    for first in [0, -1, 1, i64::MAX] {
        for attempt in [0, 1, 63, 64, u32::MAX] {
            for chance in [0, u32::MAX] {
                assert!(Backoff { first, longest: i64::MAX }.after(attempt, chance) >= 0);
            }
        }
    }
}

fn starts() -> Box<Starts> {
    // SAFETY: zeros are no starts.
    let mut starts: Box<Starts> = Box::new(unsafe { std::mem::zeroed() });
    starts.begin(i64::MIN / 2);
    starts
}

/// Begins whenever the rate allows it, for so long; the times.
fn all_starts(rate: f64, seconds: i64) -> Vec<i64> {
    let rate = Rate::per_second(rate).unwrap();
    let (mut starts, mut now, mut times) = (starts(), 0, Vec::new());
    while now < seconds * SECOND {
        match starts.start(rate, now) {
            Ok(()) => times.push(now),
            Err(free) => {
                assert!(free > now);
                now = free;
            }
        }
    }
    times
}

#[test]
fn a_rate_is_reached_and_never_exceeded() {
    for rate in [0.1, 0.5, 1.0, 2.5, 7.0, 255.0, 256.0, 257.0, 1000.0, 1001.0, 12_345.0] {
        let seconds = if rate > 300.0 { 3 } else { 30 };
        let times = all_starts(rate, seconds);
        let most = rate.ceil() as usize;
        for (place, begun) in times.iter().enumerate() {
            let within = times[place..].iter().take_while(|time| **time < begun + SECOND).count();
            assert!(within <= most, "{within} of {rate} a second");
        }
        let expected = rate * seconds as f64;
        assert!(times.len() as f64 >= expected * 0.99 - 1.0, "{} starts at {rate}", times.len());
        assert!(times.len() as f64 <= expected * 1.01 + most as f64, "{} starts at {rate}", times.len());
    }
}

#[test]
fn what_began_before_is_unknown_and_counts_as_begun_just_then() {
    let rate = Rate::per_second(10.0).unwrap();
    let mut starts = starts();
    starts.begin(5 * SECOND);
    assert_eq!(starts.start(rate, 5 * SECOND + 1), Err(6 * SECOND));
    assert_eq!(starts.start(rate, 6 * SECOND), Ok(()));
}

#[test]
fn a_start_that_was_taken_back_counts_no_more() {
    let rate = Rate::per_second(1.0).unwrap();
    let mut starts = starts();
    assert_eq!(starts.start(rate, 7), Ok(()));
    starts.take_back(7);
    assert_eq!(starts.start(rate, 8), Ok(()));
    assert_eq!(starts.start(rate, 9), Err(8 + SECOND));
    // Somebody else's is not taken back.
    starts.take_back(9);
    assert_eq!(starts.start(rate, 9), Err(8 + SECOND));
}

#[test]
fn what_is_no_rate_is_refused() {
    for rate in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert_eq!(Rate::per_second(rate), None);
    }
    assert!(Rate::per_second(f64::MIN_POSITIVE).is_some());
    assert!(Rate::per_second(f64::MAX).is_some());
    assert_eq!(PLACES, 256);
}

#[test]
fn the_lowest_priority_has_a_turn_of_sixteen() {
    let mut turns = Turns::default();
    let mut first = [0; 3];
    for _ in 0..1600 {
        let order = turns.next_order();
        first[order[0].place()] += 1;
        let mut places = order.map(Priority::place);
        places.sort_unstable();
        assert_eq!(places, [0, 1, 2]);
    }
    assert_eq!(first, [1200, 300, 100]);
}

#[test]
fn priorities_have_words() {
    for priority in Priority::ALL {
        assert_eq!(Priority::of(priority.word()), Some(priority));
    }
    assert_eq!(Priority::of("urgent"), None);
}

fn place(position: u64) -> Place {
    Place { database: 1, queue: 2, position }
}

fn ran(position: u64, was_alone: bool) -> Ran {
    Ran { place: place(position), was_alone }
}

#[test]
fn what_ran_beside_others_is_a_suspect_and_what_ran_alone_is_charged() {
    let held = after_crash(&[], &[ran(1, false), ran(2, false)]);
    assert_eq!(held, [(place(1), Standing::Suspect), (place(2), Standing::Suspect)]);
    // The first runs alone, and it was not it.
    let held = after_crash(&held[1..], &[ran(2, true)]);
    assert_eq!(held, [(place(2), Standing::Charged)]);
    // Before that is written down the server crashes for another reason.
    assert_eq!(after_crash(&held, &[]), held);
}

#[test]
fn a_suspect_that_crashes_beside_others_stays_a_suspect() {
    let held = after_crash(&[(place(1), Standing::Suspect)], &[ran(1, false)]);
    assert_eq!(held, [(place(1), Standing::Doubtful)]);
    assert!(held[0].1.is_suspect());
}

#[test]
fn who_was_charged_before_is_charged_at_once() {
    let held = after_crash(&[(place(1), Standing::Convict)], &[ran(1, false), ran(3, false)]);
    assert_eq!(held, [(place(1), Standing::Charged), (place(3), Standing::Suspect)]);
}

#[test]
fn what_was_ended_in_order_waits_longer_each_time_up_to_a_minute() {
    assert_eq!([0, 1, 2, 6, 7, u32::MAX].map(pause_after_end), [1, 1, 2, 32, 60, 60].map(|s| s * SECOND));
}

#[test]
fn standings_are_numbers_above_zero() {
    for number in 1..=8 {
        assert_eq!(Standing::of(number).unwrap().number(), number);
    }
    assert_eq!((Standing::of(0), Standing::of(9)), (None, None));
}
