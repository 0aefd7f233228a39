//! The life of a worker's entry.

use std::sync::atomic::Ordering::SeqCst;
use std::thread;

use registry::Lane;
use registry::workers::{Kind, WorkerEntry, WorkerState};

use crate::zeroed;

fn entry() -> &'static WorkerEntry {
    &zeroed(1)[0]
}

/// Taken for an executor of lines in database 3 with the oid 77, at 1000.
fn taken() -> (&'static WorkerEntry, u32) {
    let entry = entry();
    let ticket = entry.take(Kind::Executor, Lane::Ingest, 3, 77, 1000);
    (entry, ticket)
}

#[test]
fn an_entry_is_free_at_first() {
    let entry = entry();
    assert!(entry.is_free());
    assert_eq!((entry.state(), entry.pid(), entry.route()), (WorkerState::Free, 0, None));
    assert!(!entry.asked_to_leave());
}

#[test]
fn what_is_taken_waits_for_its_process() {
    let (entry, _) = taken();
    assert_eq!(
        (entry.state(), entry.kind(), entry.lane()),
        (WorkerState::Starting, Kind::Executor, Lane::Ingest)
    );
    assert_eq!((entry.database(), entry.database_oid(), entry.pid()), (3, 77, 0));
    assert_eq!(entry.idle_since.load(SeqCst), 1000);
}

#[test]
fn the_process_that_is_meant_takes_over_once() {
    let (entry, ticket) = taken();
    assert!(entry.begin(ticket, 500, 9));
    assert_eq!((entry.state(), entry.pid(), entry.started()), (WorkerState::Connecting, 500, 9));
    assert!(!entry.begin(ticket, 501, 10), "another with the same ticket");
    assert_eq!(entry.pid(), 500);
}

#[test]
fn a_process_that_comes_too_late_finds_that_it_is_not_meant() {
    let (entry, late) = taken();
    assert!(entry.give_up());
    let ticket = entry.take(Kind::Gateway, Lane::Http, 1, 78, 2000);
    assert_ne!(late, ticket);
    assert!(!entry.begin(late, 500, 9));
    assert!(entry.begin(ticket, 501, 9));
}

#[test]
fn a_process_that_has_come_after_all_is_not_given_up() {
    let (entry, ticket) = taken();
    assert!(entry.begin(ticket, 500, 9));
    assert!(!entry.give_up());
    assert_eq!(entry.state(), WorkerState::Connecting);
}

#[test]
fn of_a_process_that_comes_and_one_who_gives_it_up_one_succeeds() {
    for _ in 0..2000 {
        let (entry, ticket) = taken();
        let (came, given_up) = thread::scope(|scope| {
            let came = scope.spawn(move || entry.begin(ticket, 500, 9));
            let given_up = entry.give_up();
            (came.join().expect("no panic"), given_up)
        });
        assert_ne!(came, given_up);
    }
}

#[test]
fn whoever_asks_it_to_leave_first_is_told_so() {
    let (entry, _) = taken();
    assert!(entry.ask_to_leave(5000));
    assert!(!entry.ask_to_leave(6000));
    assert!(entry.asked_to_leave());
    assert_eq!(entry.leave_since.load(SeqCst), 5000);
}

#[test]
fn the_next_one_begins_with_nothing() {
    let (entry, ticket) = taken();
    assert!(entry.begin(ticket, 500, 9));
    entry.set_state(WorkerState::Running);
    entry.busy_since.store(1, SeqCst);
    entry.set_route(Some(4));
    entry.requests.store(10, SeqCst);
    entry.refusals[3].store(10, SeqCst);
    entry.listens.store(true, SeqCst);
    entry.certificates.store(2, SeqCst);
    entry.ask_to_leave(7);
    entry.set_state(WorkerState::Free);
    entry.take(Kind::Gateway, Lane::Http, 0, 1, 8);
    assert_eq!((entry.pid(), entry.started(), entry.route()), (0, 0, None));
    let counters =
        [&entry.requests, &entry.busy_since, &entry.leave_since, &entry.refusals[3], &entry.certificates];
    assert!(counters.iter().all(|counter| counter.load(SeqCst) == 0));
    assert!(!entry.asked_to_leave() && !entry.listens.load(SeqCst));
}

#[test]
fn a_route_runs_only_while_the_worker_is_busy() {
    let (entry, ticket) = taken();
    assert!(entry.begin(ticket, 500, 9));
    entry.set_state(WorkerState::Running);
    entry.set_route(Some(0));
    assert_eq!(entry.route(), None, "it has nothing to do");
    entry.busy_since.store(1, SeqCst);
    assert_eq!(entry.route(), Some(0));
    entry.set_route(None);
    assert_eq!(entry.route(), None);
}

#[test]
fn tickets_never_become_negative_numbers() {
    let entry = entry();
    for _ in 0..1000 {
        assert!(entry.take(Kind::Executor, Lane::Http, 0, 1, 0) <= i32::MAX as u32);
    }
}

#[test]
fn every_state_and_kind_has_a_word_of_its_own() {
    use WorkerState::*;
    let words = [Free, Starting, Connecting, Running, Ending].map(WorkerState::word);
    assert!((1..words.len()).all(|place| !words[..place].contains(&words[place])), "{words:?}");
    let entry = entry();
    for state in [Free, Starting, Connecting, Running, Ending] {
        entry.set_state(state);
        assert_eq!(entry.state(), state);
    }
    assert_ne!(Kind::Gateway.word(), Kind::Executor.word());
}

#[test]
fn lanes_are_at_their_places() {
    for (place, lane) in Lane::ALL.into_iter().enumerate() {
        assert_eq!((lane.place(), Lane::at(place)), (place, lane));
    }
    assert_eq!(Lane::at(99), Lane::Http);
    assert_ne!(Lane::Http.word(), Lane::Ingest.word());
}
