//! A region in anonymous shared memory, for tests.
#![allow(dead_code)]

use std::ptr::NonNull;
use std::time::Duration;

use exchange::{Exchange, Executor, Gateway, Outcome, Progress, Share, Sizes, Wakers, Work};

pub(crate) const SIZES: Sizes = Sizes { slots: 8, blocks: 16, lanes: 2, executors: 4, gateways: 2, gates: 2 };

/// How long a test waits for something that must happen.
pub(crate) const SOON: Duration = Duration::from_secs(20);

/// The exchange and its wakers. The memory stays mapped: handles have no lifetime.
#[derive(Clone)]
pub(crate) struct Region {
    pub exchange: Exchange,
    pub wakers: Wakers,
}

impl Region {
    pub(crate) fn new(sizes: &Sizes) -> Region {
        let bytes = sizes.bytes().unwrap();
        let (protection, flags) =
            (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED | libc::MAP_ANONYMOUS);
        // SAFETY: a new anonymous mapping.
        let base = unsafe { libc::mmap(std::ptr::null_mut(), bytes, protection, flags, -1, 0) };
        assert_ne!(base, libc::MAP_FAILED);
        let base = NonNull::new(base.cast()).unwrap();
        // SAFETY: the mapping is large enough, this test's own, and never unmapped.
        let exchange = unsafe { Exchange::format(base, sizes).unwrap() };
        let wakers = Wakers::new(sizes.executors, sizes.gateways).unwrap();
        Region { exchange, wakers }
    }

    pub(crate) fn gateway(&self, number: u32) -> Gateway {
        Gateway::join(self.exchange, self.wakers.clone(), number)
    }

    pub(crate) fn executor(&self, number: u32) -> Executor {
        self.executor_of(0, number)
    }

    pub(crate) fn executor_of(&self, lane: u32, number: u32) -> Executor {
        Executor::join(self.exchange, self.wakers.clone(), lane, number)
    }

    /// Nothing is in flight and nothing is lost.
    pub(crate) fn assert_empty(&self) {
        let sizes = self.exchange.sizes();
        assert_eq!(self.exchange.free_slots(), sizes.slots, "free slots");
        assert_eq!(self.exchange.free_blocks(), sizes.blocks, "free blocks");
        for gate in 0..sizes.gates {
            let counts = self.exchange.gate(gate);
            assert_eq!((counts.running, counts.parked), (0, 0), "gate {gate}");
        }
        for lane in 0..sizes.lanes {
            assert_eq!(self.exchange.queued(lane), 0, "lane {lane}");
        }
    }
}

/// The next request, without waiting.
pub(crate) fn next(executor: &mut Executor) -> Option<Work> {
    executor.next(Duration::ZERO, |_| Share::WakeNext)
}

/// The next completion's bytes and outcome.
pub(crate) fn answer(gateway: &mut Gateway) -> Option<(Vec<u8>, Outcome)> {
    let mut bytes = Vec::new();
    loop {
        let mut completion = gateway.take()?;
        completion.append_to(&mut bytes);
        if !completion.more() {
            return Some((bytes, completion.outcome()));
        }
    }
}

/// Sleeps until a request comes.
pub(crate) fn await_work(executor: &mut Executor, share: Share) -> Work {
    loop {
        if let Some(work) = executor.next(Duration::from_micros(5), |_| share) {
            return work;
        }
        // A signal ends a poll too.
        let begin = std::time::Instant::now();
        while !executor.event_fd().poll(SOON) {
            assert!(begin.elapsed() < SOON, "an executor slept beside work");
        }
        executor.event_fd().drain();
    }
}

/// Hands over a whole response, sleeping while the gateway copies.
pub(crate) fn respond(executor: &mut Executor, work: &mut Work, parts: &[&[u8]], code: u32) {
    let mut progress = executor.respond(work, parts, code);
    while progress == Progress::Wait {
        assert!(executor.event_fd().poll(SOON), "nobody took a part");
        executor.event_fd().drain();
        progress = executor.resume(work, parts);
    }
}

/// Sleeps until a completion is there.
pub(crate) fn await_completion(gateway: &mut Gateway) {
    if gateway.about_to_sleep() {
        assert!(gateway.event_fd().poll(SOON), "a gateway slept beside a completion");
        gateway.awake();
    }
}
