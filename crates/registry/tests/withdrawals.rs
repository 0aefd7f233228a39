//! Databases that commands need empty.

use std::sync::Barrier;
use std::thread;

use registry::withdrawals::Withdrawals;

const PLACES: usize = 256;

#[test]
fn a_database_is_withdrawn_until_it_is_given_back() {
    let withdrawals = Withdrawals::default();
    assert_eq!(withdrawals.of(5), None);
    assert!(withdrawals.withdraw(5, 100));
    assert_eq!((withdrawals.of(5), withdrawals.of(6)), (Some(100), None));
    assert!(withdrawals.give_back(100));
    assert_eq!(withdrawals.of(5), None);
    assert!(!withdrawals.give_back(100), "twice does no harm");
}

#[test]
fn a_backend_gives_back_all_of_its_own_and_nobody_elses() {
    let withdrawals = Withdrawals::default();
    assert!(withdrawals.withdraw(1, 10) && withdrawals.withdraw(2, 10) && withdrawals.withdraw(1, 11));
    withdrawals.give_back(10);
    assert_eq!((withdrawals.of(1), withdrawals.of(2)), (Some(11), None));
}

#[test]
fn to_withdraw_twice_takes_one_place() {
    let withdrawals = Withdrawals::default();
    assert!((0..1000).all(|_| withdrawals.withdraw(1, 10)));
    assert!(withdrawals.give_back(10));
    assert_eq!(withdrawals.of(1), None);
}

#[test]
fn whoever_finds_no_place_is_told() {
    let withdrawals = Withdrawals::default();
    assert!((0..PLACES as i32).all(|pid| withdrawals.withdraw(7, pid + 1)));
    assert!(!withdrawals.withdraw(7, 1000));
    assert!(withdrawals.withdraw(7, 5), "one that has a place");
    withdrawals.give_back(5);
    assert!(withdrawals.withdraw(7, 1000));
}

#[test]
fn those_of_backends_that_have_gone_end() {
    let withdrawals = Withdrawals::default();
    assert!(withdrawals.withdraw(1, 10) && withdrawals.withdraw(2, 11));
    assert!(withdrawals.end_those_of_the_gone(|pid| pid == 10));
    assert_eq!((withdrawals.of(1), withdrawals.of(2)), (None, Some(11)));
    assert!(!withdrawals.end_those_of_the_gone(|pid| pid == 10));
}

#[test]
fn nobody_asks_whether_an_empty_place_has_gone() {
    let withdrawals = Withdrawals::default();
    assert!(!withdrawals.end_those_of_the_gone(|pid| panic!("{pid} was asked for")));
}

#[test]
fn oids_and_process_ids_of_any_size_stay_apart() {
    let withdrawals = Withdrawals::default();
    assert!(withdrawals.withdraw(u32::MAX, i32::MAX) && withdrawals.withdraw(1, i32::MAX));
    assert_eq!((withdrawals.of(u32::MAX), withdrawals.of(1)), (Some(i32::MAX), Some(i32::MAX)));
}

#[test]
fn backends_that_come_at_once_get_a_place_each() {
    let withdrawals = Withdrawals::default();
    let begin = Barrier::new(8);
    thread::scope(|scope| {
        for backend in 0..8 {
            let (withdrawals, begin) = (&withdrawals, &begin);
            scope.spawn(move || {
                begin.wait();
                for round in 0..32 {
                    assert!(withdrawals.withdraw(backend * 100 + round, backend as i32 + 1));
                }
            });
        }
    });
    assert!((0..8).all(|backend| {
        (0..32).all(|round| withdrawals.of(backend * 100 + round) == Some(backend as i32 + 1))
    }));
    assert!(!withdrawals.withdraw(9999, 99), "all places are taken");
}
