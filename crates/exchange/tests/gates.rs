//! Limits per route.
#![cfg(not(loom))]

use crate::region::{Region, SIZES, answer, next};
use exchange::{Cancel, Executor, GateCounts, Gateway, NO_GATE, Progress, Work};

fn name(executor: &Executor, work: &Work) -> Vec<u8> {
    executor.request(work, &mut Vec::new()).to_vec()
}

fn finish(executor: &mut Executor, work: &mut Work, gateway: &mut Gateway) {
    assert_eq!(executor.respond(work, &[], 0), Progress::Done);
    assert!(answer(gateway).is_some());
}

#[test]
fn a_full_gate_parks_and_others_pass() {
    let region = Region::new(&SIZES);
    let mut gateway = region.gateway(0);
    let (mut first, mut second) = (region.executor(0), region.executor(1));
    gateway.set_gate_limit(0, 1);
    for request in [b"1", b"2", b"3"] {
        gateway.submit(0, 0, &[request]).unwrap();
    }
    gateway.submit(0, NO_GATE, &[b"free"]).unwrap();
    let mut slow = next(&mut first).unwrap();
    let mut other = next(&mut second).unwrap();
    assert_eq!(name(&second, &other), b"free");
    assert_eq!(region.exchange.gate(0), GateCounts { limit: 1, running: 1, parked: 2 });
    finish(&mut second, &mut other, &mut gateway);
    assert!(next(&mut second).is_none());
    for expected in [b"2", b"3"] {
        finish(&mut first, &mut slow, &mut gateway);
        slow = next(&mut first).unwrap();
        assert_eq!(name(&first, &slow), expected, "in order, without a way through the gateway");
    }
    finish(&mut first, &mut slow, &mut gateway);
    assert!(next(&mut first).is_none());
    region.assert_empty();
}

#[test]
fn parked_requests_and_the_run_queue_take_turns() {
    let region = Region::new(&SIZES);
    let (mut gateway, mut first) = (region.gateway(0), region.executor(0));
    let mut second = region.executor(1);
    gateway.set_gate_limit(0, 1);
    for request in [b"g1", b"g2", b"g3", b"g4"] {
        gateway.submit(0, 0, &[request]).unwrap();
    }
    let mut work = next(&mut first).unwrap();
    assert!(next(&mut second).is_none(), "it parks the others");
    for request in [b"f1", b"f2"] {
        gateway.submit(0, NO_GATE, &[request]).unwrap();
    }
    let mut order = Vec::new();
    for _ in 0..5 {
        finish(&mut first, &mut work, &mut gateway);
        work = next(&mut first).unwrap();
        order.push(name(&first, &work));
    }
    finish(&mut first, &mut work, &mut gateway);
    assert_eq!(order, [b"g2", b"f1", b"f2", b"g3", b"g4"]);
    assert!(next(&mut first).is_none());
    region.assert_empty();
}

#[test]
fn a_raised_limit_starts_what_is_parked_and_zero_counts_as_one() {
    let region = Region::new(&SIZES);
    let mut gateway = region.gateway(0);
    let mut executors = [0, 1, 2].map(|number| region.executor(number));
    gateway.set_gate_limit(1, 0);
    for _ in 0..3 {
        gateway.submit(0, 1, &[b"x"]).unwrap();
    }
    assert!(next(&mut executors[0]).is_some());
    assert!(next(&mut executors[1]).is_none());
    assert!(next(&mut executors[2]).is_none());
    assert_eq!(region.exchange.gate(1), GateCounts { limit: 1, running: 1, parked: 2 });
    gateway.set_gate_limit(1, 2);
    assert_eq!(region.exchange.gate(1), GateCounts { limit: 2, running: 2, parked: 1 });
    assert!(region.wakers.executor(1).poll(crate::region::SOON), "somebody is woken for it");
    assert!(next(&mut executors[1]).is_some());
    assert!(next(&mut executors[2]).is_none());
}

#[test]
fn a_lowered_limit_lets_what_runs_end_and_starts_nothing() {
    let region = Region::new(&SIZES);
    let mut gateway = region.gateway(0);
    let (mut first, mut second) = (region.executor(0), region.executor(1));
    for _ in 0..3 {
        gateway.submit(0, 0, &[b"x"]).unwrap();
    }
    let mut works = [next(&mut first).unwrap(), next(&mut second).unwrap()];
    gateway.set_gate_limit(0, 1);
    finish(&mut first, &mut works[0], &mut gateway);
    assert!(next(&mut first).is_none(), "one still runs");
    assert_eq!(region.exchange.gate(0), GateCounts { limit: 1, running: 1, parked: 1 });
    finish(&mut second, &mut works[1], &mut gateway);
    assert!(next(&mut second).is_some());
}

#[test]
fn a_cancelled_request_leaves_its_gate_at_once() {
    let region = Region::new(&SIZES);
    let (mut gateway, mut first, mut second) = (region.gateway(0), region.executor(0), region.executor(1));
    gateway.set_gate_limit(0, 1);
    gateway.submit(0, 0, &[b"runs"]).unwrap();
    let parked = [b"a", b"b"].map(|request| gateway.submit(0, 0, &[request]).unwrap());
    let mut work = next(&mut first).unwrap();
    assert!(next(&mut second).is_none());
    assert_eq!(gateway.cancel(parked[1]), Cancel::NeverRan);
    assert_eq!(gateway.cancel(parked[0]), Cancel::NeverRan);
    assert_eq!(region.exchange.gate(0).parked, 0);
    assert_eq!(region.exchange.free_slots(), SIZES.slots - 1);
    finish(&mut first, &mut work, &mut gateway);
    assert!(next(&mut first).is_none());
    region.assert_empty();
}

#[test]
fn an_executor_that_leaves_hands_its_share_to_what_is_parked() {
    let region = Region::new(&SIZES);
    let (mut gateway, mut first, mut second) = (region.gateway(0), region.executor(0), region.executor(1));
    gateway.set_gate_limit(0, 1);
    gateway.submit(0, 0, &[b"runs"]).unwrap();
    gateway.submit(0, 0, &[b"parked"]).unwrap();
    let _work = next(&mut first).unwrap();
    assert!(next(&mut second).is_none());
    first.leave();
    assert!(second.event_fd().poll(crate::region::SOON));
    let work = next(&mut second).unwrap();
    assert_eq!(name(&second, &work), b"parked");
}

#[test]
fn a_gate_may_serve_two_lanes() {
    let region = Region::new(&SIZES);
    let mut gateway = region.gateway(0);
    let (mut first, mut second) = (region.executor_of(0, 0), region.executor_of(1, 1));
    gateway.set_gate_limit(0, 1);
    gateway.submit(0, 0, &[b"first"]).unwrap();
    gateway.submit(1, 0, &[b"second"]).unwrap();
    let mut work = next(&mut first).unwrap();
    assert!(next(&mut second).is_none());
    finish(&mut first, &mut work, &mut gateway);
    assert!(next(&mut first).is_none());
    assert!(second.event_fd().poll(crate::region::SOON), "its own lane runs it");
    assert!(next(&mut second).is_some());
}
