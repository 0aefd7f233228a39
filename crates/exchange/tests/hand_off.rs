//! What one gateway and one or two executors see, step by step in one thread.
#![cfg(not(loom))]

use std::time::Duration;

use crate::region::{Region, SIZES, answer, next};
use exchange::{BLOCK, Cancel, Full, INLINE, NO_GATE, Outcome, Progress, Share, Sizes};

fn bytes(length: usize) -> Vec<u8> {
    (0..length).map(|index| (index * 7 + index / 251) as u8).collect()
}

#[test]
fn a_request_and_its_response_arrive_whole_at_every_size() {
    let region = Region::new(&SIZES);
    let (mut gateway, mut executor) = (region.gateway(0), region.executor(0));
    for length in [0, 1, INLINE, INLINE + 1, BLOCK, BLOCK + 1, INLINE + BLOCK, 3 * BLOCK + 5] {
        let message = bytes(length);
        let (first, second) = message.split_at(length / 3);
        let ticket = gateway.submit(0, NO_GATE, &[first, second]).unwrap();
        let mut work = next(&mut executor).unwrap();
        let mut scratch = Vec::new();
        assert_eq!(executor.request(&work, &mut scratch), message);
        let mut progress = executor.respond(&mut work, &[second, first], 7);
        let mut response = Vec::new();
        loop {
            let mut completion = gateway.take().unwrap();
            assert_eq!(completion.ticket(), ticket);
            assert_eq!(completion.outcome(), Outcome::Answered(7));
            assert_eq!(completion.more(), progress == Progress::Wait);
            completion.append_to(&mut response);
            if !completion.more() {
                break;
            }
            drop(completion);
            progress = executor.resume(&mut work, &[second, first]);
        }
        assert_eq!(response, [second, first].concat());
        region.assert_empty();
    }
}

#[test]
fn a_request_in_one_block_is_not_copied() {
    let region = Region::new(&SIZES);
    let (mut gateway, mut executor) = (region.gateway(0), region.executor(0));
    for (length, copied) in [(INLINE, false), (BLOCK, false), (BLOCK + 1, true)] {
        gateway.submit(0, NO_GATE, &[&bytes(length)]).unwrap();
        let mut work = next(&mut executor).unwrap();
        let mut scratch = Vec::new();
        assert_eq!(executor.request(&work, &mut scratch), bytes(length));
        assert_eq!(!scratch.is_empty(), copied);
        crate::region::respond(&mut executor, &mut work, &[], 0);
        assert_eq!(executor.request(&work, &mut scratch), b"");
        answer(&mut gateway).unwrap();
    }
}

#[test]
fn a_full_exchange_refuses_and_leaks_nothing() {
    let region = Region::new(&SIZES);
    let mut gateway = region.gateway(0);
    assert_eq!(gateway.submit(0, NO_GATE, &[&bytes(17 * BLOCK)]), Err(Full::TooLarge));
    gateway.submit(0, NO_GATE, &[&bytes(10 * BLOCK)]).unwrap();
    assert_eq!(gateway.submit(0, NO_GATE, &[&bytes(7 * BLOCK)]), Err(Full::Blocks));
    for _ in 1..SIZES.slots {
        gateway.submit(0, NO_GATE, &[b"x"]).unwrap();
    }
    assert_eq!(gateway.submit(0, NO_GATE, &[b"x"]), Err(Full::Slots));
    assert_eq!((region.exchange.free_slots(), region.exchange.free_blocks()), (0, 6));
    assert_eq!(region.exchange.queued(0), SIZES.slots);
    gateway.leave();
    region.assert_empty();
}

#[test]
fn a_response_progresses_although_no_block_is_free() {
    let region = Region::new(&Sizes { blocks: 1, ..SIZES });
    let (mut gateway, mut executor) = (region.gateway(0), region.executor(0));
    gateway.submit(0, NO_GATE, &[b"small"]).unwrap();
    let mut work = next(&mut executor).unwrap();
    gateway.submit(1, NO_GATE, &[&bytes(BLOCK)]).unwrap();
    assert_eq!(region.exchange.free_blocks(), 0);
    let response = bytes(5 * INLINE + 1);
    let mut progress = executor.respond(&mut work, &[&response], 0);
    let mut read = Vec::new();
    while progress == Progress::Wait {
        gateway.take().unwrap().append_to(&mut read);
        progress = executor.resume(&mut work, &[&response]);
    }
    gateway.take().unwrap().append_to(&mut read);
    assert_eq!(read, response);
}

#[test]
fn an_executor_waits_until_the_gateway_has_copied() {
    let region = Region::new(&SIZES);
    let (mut gateway, mut executor) = (region.gateway(0), region.executor(0));
    gateway.submit(0, NO_GATE, &[b"x"]).unwrap();
    let mut work = next(&mut executor).unwrap();
    let response = bytes(10 * BLOCK);
    assert_eq!(executor.respond(&mut work, &[&response], 0), Progress::Wait);
    assert_eq!(executor.resume(&mut work, &[&response]), Progress::Wait);
    executor.event_fd().drain();
    drop(gateway.take().unwrap());
    assert!(executor.event_fd().poll(Duration::ZERO), "the executor is woken for the rest");
}

#[test]
fn requests_run_in_the_order_of_their_submission() {
    let region = Region::new(&SIZES);
    let (mut gateway, mut executor) = (region.gateway(0), region.executor(0));
    for round in 0..5u8 {
        for request in 0..SIZES.slots as u8 {
            gateway.submit(0, NO_GATE, &[&[round, request]]).unwrap();
        }
        for request in 0..SIZES.slots as u8 {
            let mut work = next(&mut executor).unwrap();
            assert_eq!(executor.request(&work, &mut Vec::new()), [round, request]);
            crate::region::respond(&mut executor, &mut work, &[], 0);
            answer(&mut gateway).unwrap();
        }
    }
    region.assert_empty();
}

#[test]
fn lanes_do_not_mix() {
    let region = Region::new(&SIZES);
    let mut gateway = region.gateway(0);
    let (mut first, mut second) = (region.executor_of(0, 0), region.executor_of(1, 1));
    gateway.submit(1, NO_GATE, &[b"second"]).unwrap();
    assert!(next(&mut first).is_none());
    assert!(next(&mut second).is_some());
}

#[test]
fn a_cancelled_request_that_waits_never_runs() {
    let region = Region::new(&SIZES);
    let (mut gateway, mut executor) = (region.gateway(0), region.executor(0));
    let first = gateway.submit(0, NO_GATE, &[b"first"]).unwrap();
    let second = gateway.submit(0, NO_GATE, &[&bytes(BLOCK)]).unwrap();
    assert_eq!(gateway.cancel(second), Cancel::NeverRan);
    assert_eq!(gateway.cancel(second), Cancel::TooLate);
    assert_eq!(gateway.cancel(first), Cancel::NeverRan);
    region.assert_empty();
    assert!(next(&mut executor).is_none());
    assert!(gateway.take().is_none());
}

#[test]
fn a_cancel_hits_the_request_that_runs_and_no_later_one() {
    let region = Region::new(&Sizes { slots: 1, ..SIZES });
    let (mut gateway, mut executor) = (region.gateway(0), region.executor(2));
    let interrupt = executor.interrupt();
    let ticket = gateway.submit(0, NO_GATE, &[b"x"]).unwrap();
    let mut work = next(&mut executor).unwrap();
    assert!(!interrupt.requested());
    let Cancel::Running(target) = gateway.cancel(ticket) else { panic!("it runs") };
    assert_eq!((target.executor, target.pid), (2, std::process::id()));
    assert!(interrupt.requested());
    crate::region::respond(&mut executor, &mut work, &[], 57);
    assert!(!interrupt.requested(), "it has answered");
    assert_eq!(gateway.cancel(ticket), Cancel::TooLate);
    assert_eq!(answer(&mut gateway).unwrap().1, Outcome::Answered(57));
    gateway.submit(0, NO_GATE, &[b"the same slot"]).unwrap();
    let _work = next(&mut executor).unwrap();
    assert_eq!(gateway.cancel(ticket), Cancel::TooLate);
    assert!(!interrupt.requested(), "a late cancel does nothing");
}

#[test]
fn an_abandoned_request_is_freed_in_every_phase() {
    let region = Region::new(&SIZES);
    let (mut gateway, mut executor) = (region.gateway(0), region.executor(0));
    let large = bytes(10 * BLOCK);

    let running = gateway.submit(0, NO_GATE, &[b"x"]).unwrap();
    let mut work = next(&mut executor).unwrap();
    gateway.abandon(running);
    assert_eq!(executor.respond(&mut work, &[&large], 0), Progress::Done);
    region.assert_empty();

    let part = gateway.submit(0, NO_GATE, &[b"x"]).unwrap();
    let mut work = next(&mut executor).unwrap();
    assert_eq!(executor.respond(&mut work, &[&large], 0), Progress::Wait);
    gateway.abandon(part);
    assert_eq!(executor.resume(&mut work, &[&large]), Progress::Wait, "the slot is still in a queue");
    assert!(gateway.take().is_none());
    assert_eq!(executor.resume(&mut work, &[&large]), Progress::Done);
    region.assert_empty();

    let ready = gateway.submit(0, NO_GATE, &[b"x"]).unwrap();
    let mut work = next(&mut executor).unwrap();
    assert_eq!(executor.respond(&mut work, &[&bytes(BLOCK)], 0), Progress::Done);
    gateway.abandon(ready);
    assert!(gateway.take().is_none());
    region.assert_empty();

    let behind = gateway.submit(0, NO_GATE, &[b"first"]).unwrap();
    let queued = gateway.submit(0, NO_GATE, &[b"second"]).unwrap();
    gateway.abandon(queued);
    assert_eq!(region.exchange.queued(0), 2, "it is not at the front");
    gateway.abandon(behind);
    region.assert_empty();
}

#[test]
fn an_executor_that_leaves_ends_its_request_as_died() {
    let region = Region::new(&SIZES);
    let (mut gateway, mut executor) = (region.gateway(0), region.executor(0));
    let large = bytes(10 * BLOCK);

    gateway.submit(0, 0, &[&large]).unwrap();
    let _work = next(&mut executor).unwrap();
    executor.leave();
    assert_eq!(answer(&mut gateway).unwrap(), (vec![], Outcome::Died));
    region.assert_empty();

    // While a part waits for the gateway.
    let mut executor = region.executor(0);
    gateway.submit(0, 0, &[b"x"]).unwrap();
    let mut work = next(&mut executor).unwrap();
    assert_eq!(executor.respond(&mut work, &[&large], 0), Progress::Wait);
    executor.leave();
    assert_eq!(answer(&mut gateway).unwrap(), (vec![], Outcome::Died));
    region.assert_empty();

    // While the gateway copies a part.
    let mut executor = region.executor(0);
    gateway.submit(0, 0, &[b"x"]).unwrap();
    let mut work = next(&mut executor).unwrap();
    assert_eq!(executor.respond(&mut work, &[&large], 0), Progress::Wait);
    let mut read = Vec::new();
    let mut part = gateway.take().unwrap();
    part.append_to(&mut read);
    executor.leave();
    drop(part);
    assert_eq!(answer(&mut gateway).unwrap(), (vec![], Outcome::Died));
    region.assert_empty();
}

#[test]
fn a_request_that_is_never_answered_ends_when_the_next_is_asked_for() {
    let region = Region::new(&SIZES);
    let (mut gateway, mut executor) = (region.gateway(0), region.executor(0));
    gateway.submit(0, NO_GATE, &[b"x"]).unwrap();
    let mut forgotten = next(&mut executor).unwrap();
    assert!(next(&mut executor).is_none());
    assert_eq!(executor.respond(&mut forgotten, &[b"late"], 0), Progress::Done);
    assert_eq!(answer(&mut gateway).unwrap().1, Outcome::Died);
    assert!(gateway.take().is_none());
}

#[test]
fn a_gateway_that_leaves_leaks_nothing_and_can_join_again() {
    let region = Region::new(&SIZES);
    let mut gateway = region.gateway(1);
    let mut executors = [0, 1, 2].map(|number| region.executor(number));
    let large = bytes(10 * BLOCK);
    for _ in 0..3 {
        gateway.submit(0, 1, &[b"x"]).unwrap();
    }
    let mut works = executors.each_mut().map(|executor| next(executor).unwrap());
    for _ in 0..3 {
        gateway.submit(0, NO_GATE, &[&bytes(BLOCK)]).unwrap();
    }
    let [ready, part, running] = &mut works;
    assert_eq!(executors[0].respond(ready, &[b"ready"], 0), Progress::Done);
    assert_eq!(executors[1].respond(part, &[&large], 0), Progress::Wait);

    let (sent, interrupt) = (region.exchange.free_slots(), executors[2].interrupt());
    assert_eq!(sent, SIZES.slots - 6);
    ignore_sigusr2();
    gateway.leave();
    assert!(interrupt.requested(), "what runs is cancelled");
    assert_eq!(executors[1].resume(part, &[&large]), Progress::Done);
    assert_eq!(executors[2].respond(running, &[&large], 0), Progress::Done);
    executors.iter_mut().for_each(|executor| assert!(next(executor).is_none()));
    region.assert_empty();

    let mut gateway = region.gateway(1);
    gateway.submit(0, NO_GATE, &[b"again"]).unwrap();
    let mut work = next(&mut executors[0]).unwrap();
    crate::region::respond(&mut executors[0], &mut work, &[b"yes"], 0);
    assert_eq!(answer(&mut gateway).unwrap().0, b"yes");
    region.assert_empty();
}

/// The test is its own executor, and is signalled.
fn ignore_sigusr2() {
    // SAFETY: ignoring a signal that nothing else here uses.
    unsafe { libc::signal(libc::SIGUSR2, libc::SIG_IGN) };
}

#[test]
fn one_executor_is_woken_and_wakes_the_next_only_if_there_is_more() {
    let region = Region::new(&SIZES);
    let mut gateway = region.gateway(0);
    let mut executors = [0, 1, 2].map(|number| region.executor(number));
    executors.iter_mut().for_each(|executor| assert!(next(executor).is_none()));
    assert_eq!(region.exchange.idle(0), 3);
    let woken = |number: u32| region.wakers.executor(number).poll(Duration::ZERO);

    gateway.submit(0, NO_GATE, &[b"a"]).unwrap();
    gateway.submit(0, NO_GATE, &[b"b"]).unwrap();
    assert!(!woken(0), "nobody before the flush");
    gateway.flush();
    assert_eq!([woken(0), woken(1), woken(2)], [true, false, false], "the lowest, alone");
    gateway.submit(0, NO_GATE, &[b"c"]).unwrap();
    gateway.flush();
    assert!(!woken(1), "one is searching already");
    assert!(next(&mut executors[0]).is_some());
    assert_eq!([woken(1), woken(2)], [true, false]);
    assert!(next(&mut executors[1]).is_some());
    assert!(woken(2));
    assert!(next(&mut executors[2]).is_some());
    assert_eq!((region.exchange.idle(0), region.exchange.searching(0)), (0, 0));
}

#[test]
fn a_short_request_wakes_nobody_until_the_gateway_nudges() {
    let region = Region::new(&SIZES);
    let mut gateway = region.gateway(0);
    let (mut first, mut second) = (region.executor(0), region.executor(1));
    assert!(next(&mut first).is_none() && next(&mut second).is_none());
    gateway.submit(0, NO_GATE, &[b"said to be short"]).unwrap();
    gateway.submit(0, NO_GATE, &[b"behind it"]).unwrap();
    gateway.flush();
    assert!(first.next(Duration::ZERO, |_| Share::Keep).is_some());
    assert!(!second.event_fd().poll(Duration::ZERO));
    gateway.submit(0, NO_GATE, &[b"later"]).unwrap();
    gateway.flush();
    assert!(!second.event_fd().poll(Duration::ZERO), "the first still counts as searching");
    assert!(gateway.nudge(0, crate::region::SOON), "it has not waited for long");
    assert!(!second.event_fd().poll(Duration::ZERO));
    assert!(gateway.nudge(0, Duration::ZERO));
    assert!(second.event_fd().poll(Duration::ZERO));
    assert!(next(&mut second).is_some());
    assert_eq!(region.exchange.searching(0), 1, "the first alone");
}

#[test]
fn a_wake_up_that_reaches_an_executor_on_its_way_out_is_passed_on() {
    let region = Region::new(&SIZES);
    let mut gateway = region.gateway(0);
    let (mut first, mut second) = (region.executor(0), region.executor(1));
    assert!(next(&mut first).is_none() && next(&mut second).is_none());
    gateway.submit(0, NO_GATE, &[b"x"]).unwrap();
    gateway.flush();
    first.leave();
    assert!(second.event_fd().poll(Duration::ZERO));
    assert!(next(&mut second).is_some());
    assert_eq!(region.exchange.searching(0), 0);
}

#[test]
fn a_gateway_does_not_fall_asleep_beside_a_completion() {
    let region = Region::new(&SIZES);
    let (mut gateway, mut executor) = (region.gateway(0), region.executor(0));
    gateway.submit(0, NO_GATE, &[b"x"]).unwrap();
    assert!(gateway.about_to_sleep());
    let mut work = next(&mut executor).unwrap();
    crate::region::respond(&mut executor, &mut work, &[b"y"], 0);
    assert!(gateway.event_fd().poll(Duration::ZERO));
    gateway.awake();
    assert!(!gateway.about_to_sleep());
    assert!(answer(&mut gateway).is_some());
    assert!(gateway.about_to_sleep());
}

#[test]
fn an_awake_gateway_gets_no_wake_up() {
    let region = Region::new(&SIZES);
    let (mut gateway, mut executor) = (region.gateway(0), region.executor(0));
    gateway.submit(0, NO_GATE, &[b"x"]).unwrap();
    let mut work = next(&mut executor).unwrap();
    crate::region::respond(&mut executor, &mut work, &[b"y"], 0);
    assert!(!gateway.event_fd().poll(Duration::ZERO));
}
