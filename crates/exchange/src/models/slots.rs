//! A slot's phases: both sides act at the same time.

use loom::thread;

use super::{Region, SIZES, await_part, model, next, respond};
use crate::{Cancel, Executor, NO_GATE, Outcome, Progress, Sizes};

const SLOTS: Sizes = Sizes { slots: 1, blocks: 1, executors: 1, gates: 0, ..SIZES };
/// More than an inline area and a block: two parts.
const LARGE: &[u8] = b"0123456789";

#[test]
fn a_cancelled_request_either_never_runs_or_completes() {
    model(3, || {
        let region = Region::new(&SLOTS);
        let mut gateway = region.gateway();
        let ticket = gateway.submit(0, NO_GATE, &[b"x"]).unwrap();
        let mut executor = region.executor(0);
        let runner = thread::spawn(move || {
            if let Some(mut work) = next(&mut executor) {
                executor.interrupt().requested();
                respond(&mut executor, &mut work, b"y");
            }
        });
        let cancel = gateway.cancel(ticket);
        runner.join().unwrap();
        assert_eq!(gateway.take().is_some(), cancel != Cancel::NeverRan);
        assert!(gateway.take().is_none());
        region.assert_empty();
    });
}

#[test]
fn a_cancel_interrupts_no_later_request_of_the_same_slot() {
    model(2, || {
        let region = Region::new(&SLOTS);
        let mut executor = region.executor(0);
        let mut gateway = region.gateway();
        let first = gateway.submit(0, NO_GATE, &[b"1"]).unwrap();
        let runner = thread::spawn(move || {
            for _ in 0..2 {
                let Some(mut work) = next(&mut executor) else { continue };
                let interrupted = executor.interrupt().requested();
                let first = executor.request(&work, &mut Vec::new()) == b"1";
                assert!(!interrupted || first, "the second was never cancelled");
                respond(&mut executor, &mut work, b"y");
            }
        });
        if gateway.cancel(first) != Cancel::NeverRan {
            gateway.take();
        }
        // Full, if the executor still holds the slot.
        if gateway.submit(0, NO_GATE, &[b"2"]).is_ok() {
            assert_eq!(gateway.cancel(first), Cancel::TooLate);
        }
        runner.join().unwrap();
        gateway.leave();
        region.assert_empty();
    });
}

#[test]
fn an_abandoned_request_is_freed_once() {
    model(3, || {
        let region = Region::new(&SLOTS);
        let mut gateway = region.gateway();
        let ticket = gateway.submit(0, NO_GATE, &[b"x"]).unwrap();
        let mut executor = region.executor(0);
        let runner = thread::spawn(move || {
            if let Some(mut work) = next(&mut executor) {
                let _ = executor.respond(&mut work, &[b"y"], 0);
            }
        });
        gateway.abandon(ticket);
        runner.join().unwrap();
        assert!(gateway.take().is_none());
        region.assert_empty();
    });
}

#[test]
fn the_parts_of_a_response_arrive_whole() {
    model(2, || {
        let region = Region::new(&Sizes { blocks: 2, ..SLOTS });
        let mut gateway = region.gateway();
        gateway.submit(0, NO_GATE, &[b"large"]).unwrap();
        let mut executor = region.executor(0);
        let runner = thread::spawn(move || {
            let mut work = next(&mut executor).unwrap();
            assert_eq!(executor.request(&work, &mut Vec::new()), b"large");
            respond(&mut executor, &mut work, LARGE);
        });
        let mut bytes = Vec::new();
        while await_part(&mut gateway, &mut bytes) {}
        assert_eq!(bytes, LARGE);
        runner.join().unwrap();
        region.assert_empty();
    });
}

/// Runs one request that is submitted already, and leaves: after a whole response or in the middle of it.
fn run_and_leave(mut executor: Executor) {
    if let Some(mut work) = next(&mut executor)
        && executor.respond(&mut work, &[LARGE], 0) == Progress::Wait
    {
        let _ = executor.resume(&mut work, &[LARGE]);
    }
    executor.leave();
}

#[test]
fn an_executor_that_leaves_in_the_middle_of_a_response_ends_it_once() {
    model(3, || {
        let region = Region::new(&SLOTS);
        let mut gateway = region.gateway();
        gateway.submit(0, NO_GATE, &[b"x"]).unwrap();
        let executor = region.executor(0);
        let runner = thread::spawn(move || run_and_leave(executor));
        let mut more = true;
        let mut outcomes = Vec::new();
        while more {
            more = await_outcome(&mut gateway, &mut outcomes);
        }
        runner.join().unwrap();
        assert!(gateway.take().is_none());
        assert!(!outcomes[..outcomes.len() - 1].contains(&Outcome::Died), "died is the last");
        region.assert_empty();
    });
}

fn await_outcome(gateway: &mut crate::Gateway, outcomes: &mut Vec<Outcome>) -> bool {
    loop {
        if let Some(completion) = gateway.take() {
            outcomes.push(completion.outcome());
            return completion.more();
        }
        if gateway.about_to_sleep() {
            gateway.event_fd().wait();
            gateway.awake();
        }
    }
}

#[test]
fn both_may_leave_at_the_same_time() {
    model(3, || {
        let region = Region::new(&SLOTS);
        let mut gateway = region.gateway();
        gateway.submit(0, NO_GATE, &[b"x"]).unwrap();
        let executor = region.executor(0);
        let runner = thread::spawn(move || run_and_leave(executor));
        gateway.leave();
        runner.join().unwrap();
        region.assert_empty();
    });
}

#[test]
fn an_executor_outlives_its_gateway() {
    model(3, || {
        let region = Region::new(&SLOTS);
        let mut gateway = region.gateway();
        gateway.submit(0, NO_GATE, &[b"x"]).unwrap();
        let mut executor = region.executor(0);
        let runner = thread::spawn(move || {
            if let Some(mut work) = next(&mut executor) {
                respond(&mut executor, &mut work, LARGE);
            }
        });
        gateway.leave();
        runner.join().unwrap();
        region.assert_empty();
    });
}

#[test]
fn a_gateway_that_joins_again_inherits_nothing() {
    model(2, || {
        let region = Region::new(&Sizes { slots: 2, ..SLOTS });
        let mut gateway = region.gateway();
        gateway.submit(0, NO_GATE, &[b"1"]).unwrap();
        let mut executor = region.executor(0);
        let runner = thread::spawn(move || {
            for _ in 0..2 {
                if let Some(mut work) = next(&mut executor) {
                    respond(&mut executor, &mut work, b"y");
                }
            }
        });
        gateway.leave();
        let mut gateway = region.gateway();
        let ticket = gateway.submit(0, NO_GATE, &[b"2"]).unwrap();
        runner.join().unwrap();
        if let Some(completion) = gateway.take() {
            assert_eq!(completion.ticket(), ticket);
        }
        assert!(gateway.take().is_none());
        gateway.leave();
        region.assert_empty();
    });
}
