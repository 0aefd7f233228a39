//! Gates: nothing parked is lost, no limit is exceeded.

use std::time::Duration;

use loom::sync::Arc;
use loom::sync::atomic::{AtomicU32, Ordering};
use loom::thread;

use super::{Region, SIZES, await_work, model, next};
use crate::gate::Gate;
use crate::queue::{Ends, Queue, vacant_cell};
use crate::sync::AtomicU64;
use crate::{Executor, Share, Sizes};

/// A gate and its queue alone.
struct Alone(Gate, Ends, [AtomicU64; 2]);

impl Alone {
    fn with_limit(limit: u32) -> Arc<Alone> {
        let alone = Alone(Gate::new(), Ends::new(), [vacant_cell(), vacant_cell()]);
        alone.0.set_limit(limit);
        Arc::new(alone)
    }

    fn parked(&self) -> Queue<'_> {
        Queue::new(&self.1, &self.2)
    }

    /// Brings a slot to the gate, and runs it and what it is handed, as an executor does.
    fn run(&self, slot: u32) -> Vec<u32> {
        let mut ran = Vec::new();
        let mut turn = if self.0.enter() { Some(slot) } else { self.0.park(&self.parked(), slot) };
        while let Some(slot) = turn {
            ran.push(slot);
            turn = self.0.leave(&self.parked());
        }
        ran
    }
}

#[test]
fn every_slot_passes_a_gate_once() {
    model(4, || {
        let gate = Alone::with_limit(1);
        let other = gate.clone();
        let peer = thread::spawn(move || other.run(1));
        let mut ran = gate.run(2);
        ran.extend(peer.join().unwrap());
        ran.sort();
        assert_eq!(ran, [1, 2]);
        assert_eq!(gate.0.running(), 0);
    });
}

#[test]
fn a_raised_limit_admits_what_is_parked_at_the_same_time() {
    model(4, || {
        let gate = Alone::with_limit(1);
        assert!(gate.0.enter(), "somebody runs and does not end");
        let other = gate.clone();
        let peer = thread::spawn(move || match other.0.enter() {
            true => Some(1),
            false => other.0.park(&other.parked(), 1),
        });
        gate.0.set_limit(2);
        let here = gate.0.admit(&gate.parked());
        let there = peer.join().unwrap();
        assert_eq!(here.or(there), Some(1));
        assert!(here.is_none() || there.is_none());
        assert_eq!(gate.0.running(), 2);
    });
}

/// Runs until both requests have run; whoever runs the last wakes the other.
fn run_until_both(region: &Region, mut executor: Executor, ran: &AtomicU32, inside: &AtomicU32) {
    loop {
        if let Some(mut work) = next(&mut executor) {
            assert_eq!(inside.fetch_add(1, Ordering::AcqRel), 0, "one at a time");
            inside.fetch_sub(1, Ordering::AcqRel);
            let _ = executor.respond(&mut work, &[], 0);
            if ran.fetch_add(1, Ordering::AcqRel) == 1 {
                (0..2).for_each(|number| region.wakers.executor(number).notify());
            }
        } else if ran.load(Ordering::Acquire) < 2 {
            executor.event_fd().wait();
            executor.event_fd().drain();
        } else {
            executor.leave();
            return;
        }
    }
}

#[test]
fn executors_hand_a_full_gate_on() {
    model(2, || {
        let region = Region::new(&Sizes { blocks: 1, ..SIZES });
        let mut gateway = region.gateway();
        gateway.set_gate_limit(0, 1);
        for _ in 0..2 {
            gateway.submit(0, 0, &[]).unwrap();
        }
        let (ran, inside) = (Arc::new(AtomicU32::new(0)), Arc::new(AtomicU32::new(0)));
        let runners = [0, 1].map(|number| {
            let (region, ran, inside) = (region.clone(), ran.clone(), inside.clone());
            thread::spawn(move || run_until_both(&region, region.executor(number), &ran, &inside))
        });
        runners.into_iter().for_each(|runner| runner.join().unwrap());
        while gateway.take().is_some() {}
        region.assert_empty();
    });
}

#[test]
fn one_that_leaves_its_gate_wakes_another_for_what_is_parked() {
    model(2, || {
        let region = Region::new(&Sizes { blocks: 1, ..SIZES });
        let mut gateway = region.gateway();
        gateway.set_gate_limit(0, 1);
        for _ in 0..2 {
            gateway.submit(0, 0, &[]).unwrap();
        }
        let mut leaving = region.executor(0);
        let work = next(&mut leaving);
        assert!(work.is_some());
        let leaver = thread::spawn(move || leaving.leave());
        let mut staying = region.executor(1);
        await_work(&mut staying, Duration::ZERO, Share::WakeNext);
        leaver.join().unwrap();
    });
}

#[test]
fn a_parked_request_is_abandoned_while_its_gate_opens() {
    model(3, || {
        let region = Region::new(&Sizes { blocks: 1, ..SIZES });
        let mut gateway = region.gateway();
        gateway.set_gate_limit(0, 1);
        gateway.submit(0, 0, &[]).unwrap();
        let parked = gateway.submit(0, 0, &[]).unwrap();
        let (mut first, mut second) = (region.executor(0), region.executor(1));
        let mut work = next(&mut first).unwrap();
        assert!(next(&mut second).is_none());
        let runner = thread::spawn(move || {
            let _ = first.respond(&mut work, &[], 0);
            while let Some(mut work) = next(&mut first) {
                let _ = first.respond(&mut work, &[], 0);
            }
            first.leave();
        });
        gateway.abandon(parked);
        runner.join().unwrap();
        while let Some(mut work) = next(&mut second) {
            let _ = second.respond(&mut work, &[], 0);
        }
        while gateway.take().is_some() {}
        region.assert_empty();
    });
}
