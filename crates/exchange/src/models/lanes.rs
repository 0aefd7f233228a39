//! Sleeping, searching and waking.

use std::time::Duration;

use loom::thread;

use super::{Region, SIZES, await_part, await_work, model, next, respond};
use crate::{NO_GATE, Share, Sizes};

const LANES: Sizes = Sizes { blocks: 1, gates: 0, ..SIZES };

#[test]
fn a_request_wakes_an_executor_that_falls_asleep_meanwhile() {
    for spin in [0, 1] {
        model(3, move || {
            let region = Region::new(&Sizes { executors: 1, slots: 1, ..LANES });
            let mut executor = region.executor(0);
            let runner = thread::spawn(move || {
                let spin = Duration::from_nanos(spin);
                let mut work = await_work(&mut executor, spin, Share::WakeNext);
                respond(&mut executor, &mut work, b"yes");
            });
            let mut gateway = region.gateway();
            gateway.submit(0, NO_GATE, &[b"x"]).unwrap();
            gateway.flush();
            let mut bytes = Vec::new();
            assert!(!await_part(&mut gateway, &mut bytes));
            assert_eq!(bytes, b"yes");
            runner.join().unwrap();
            region.assert_empty();
            assert_eq!(region.exchange.searching(0), 0);
        });
    }
}

/// Each executor takes one request and never comes back: as slow as can be.
#[test]
fn no_request_is_stranded_behind_a_slow_one() {
    for spin in [0, 1] {
        model(2, move || {
            let region = Region::new(&LANES);
            let runners = [0, 1].map(|number| {
                let mut executor = region.executor(number);
                thread::spawn(move || {
                    await_work(&mut executor, Duration::from_nanos(spin), Share::WakeNext);
                })
            });
            let mut gateway = region.gateway();
            for _ in 0..2 {
                gateway.submit(0, NO_GATE, &[b"x"]).unwrap();
                gateway.flush();
            }
            runners.into_iter().for_each(|runner| runner.join().unwrap());
            assert_eq!(region.exchange.searching(0), 0);
        });
    }
}

#[test]
fn two_gateways_that_wake_at_the_same_time_wake_enough() {
    model(2, || {
        let region = Region::new(&Sizes { gateways: 2, ..LANES });
        let submitters = [0, 1].map(|number| {
            let region = region.clone();
            thread::spawn(move || {
                let mut gateway = crate::Gateway::join(region.exchange, region.wakers.clone(), number);
                gateway.submit(0, NO_GATE, &[b"x"]).unwrap();
                gateway.flush();
            })
        });
        let mut executor = region.executor(0);
        for _ in 0..2 {
            await_work(&mut executor, Duration::ZERO, Share::WakeNext);
        }
        submitters.into_iter().for_each(|submitter| submitter.join().unwrap());
    });
}

/// The executor looks again and again, as one whose latch is set for other reasons: its bit comes and goes while
/// one gateway counts on behalf of it and the other relies on that count.
#[test]
fn a_gateway_that_finds_nobody_to_wake_lets_no_other_down() {
    model(2, || {
        let region = Region::new(&Sizes { gateways: 2, executors: 1, ..LANES });
        let mut executor = region.executor(0);
        assert!(next(&mut executor).is_none());
        let submitters = [0, 1].map(|number| {
            let region = region.clone();
            thread::spawn(move || {
                let mut gateway = crate::Gateway::join(region.exchange, region.wakers.clone(), number);
                gateway.submit(0, NO_GATE, &[]).unwrap();
                gateway.flush();
            })
        });
        let mut taken = (0..2).filter_map(|_| next(&mut executor)).count();
        while taken < 2 {
            await_work(&mut executor, Duration::ZERO, Share::WakeNext);
            taken += 1;
        }
        submitters.into_iter().for_each(|submitter| submitter.join().unwrap());
    });
}

#[test]
fn one_that_keeps_the_queue_to_itself_drains_it() {
    model(2, || {
        let region = Region::new(&Sizes { executors: 1, ..LANES });
        let mut executor = region.executor(0);
        let runner = thread::spawn(move || {
            for _ in 0..2 {
                await_work(&mut executor, Duration::ZERO, Share::Keep);
            }
            executor
        });
        let mut gateway = region.gateway();
        for _ in 0..2 {
            gateway.submit(0, NO_GATE, &[b"x"]).unwrap();
            gateway.flush();
        }
        runner.join().unwrap().leave();
        assert_eq!(region.exchange.searching(0), 0);
    });
}

#[test]
fn one_that_leaves_passes_its_wake_up_on() {
    for share in [Share::WakeNext, Share::Keep] {
        model(2, move || {
            let region = Region::new(&LANES);
            let mut leaving = region.executor(0);
            let leaver = thread::spawn(move || {
                leaving.next(Duration::ZERO, |_| share);
                leaving.leave();
            });
            let mut staying = region.executor(1);
            let mut gateway = region.gateway();
            let first = thread::spawn(move || {
                gateway.submit(0, NO_GATE, &[b"x"]).unwrap();
                gateway.submit(0, NO_GATE, &[b"x"]).unwrap();
                gateway.flush();
            });
            // One of the two may have ended with the leaver; the other may not.
            await_work(&mut staying, Duration::ZERO, Share::WakeNext);
            first.join().unwrap();
            leaver.join().unwrap();
            assert_eq!(region.exchange.searching(0), 0);
        });
    }
}
