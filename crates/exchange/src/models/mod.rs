//! Models: loom runs each with every interleaving of its threads (up to a number of preemptions) and every
//! value that the memory orderings allow. A lost wake-up shows as a deadlock. README.md has the command.

mod gates;
mod lanes;
mod queues;
mod slots;

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::ptr::NonNull;
use std::time::Duration;

use loom::sync::Arc;

use crate::layout::ALIGNMENT;
use crate::{Exchange, Executor, Gateway, Progress, Share, Sizes, Wakers, Work};

const SIZES: Sizes = Sizes { slots: 2, blocks: 2, lanes: 1, executors: 2, gateways: 1, gates: 1 };

/// Runs a model. Two preemptions find nearly all that any number finds, in seconds.
fn model(preemptions: usize, body: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = builder.preemption_bound.or(Some(preemptions));
    builder.max_branches = 100_000;
    builder.check(body);
}

/// An exchange in memory of the model.
#[derive(Clone)]
struct Region {
    exchange: Exchange,
    wakers: Wakers,
    _memory: Arc<Memory>,
}

struct Memory(NonNull<u8>, Layout);

// SAFETY: only the exchange in it is used, and freed after the last handle.
unsafe impl Send for Memory {}
// SAFETY: as above.
unsafe impl Sync for Memory {}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: allocated with this layout.
        unsafe { dealloc(self.0.as_ptr(), self.1) };
    }
}

impl Region {
    fn new(sizes: &Sizes) -> Region {
        let layout = Layout::from_size_align(sizes.bytes().unwrap(), ALIGNMENT).unwrap();
        // SAFETY: the size is not 0.
        let base = NonNull::new(unsafe { alloc_zeroed(layout) }).unwrap();
        // SAFETY: aligned, large enough, and freed last.
        let exchange = unsafe { Exchange::format(base, sizes).unwrap() };
        let wakers = Wakers::new(sizes.executors, sizes.gateways).unwrap();
        Region { exchange, wakers, _memory: Arc::new(Memory(base, layout)) }
    }

    fn gateway(&self) -> Gateway {
        Gateway::join(self.exchange, self.wakers.clone(), 0)
    }

    fn executor(&self, number: u32) -> Executor {
        Executor::join(self.exchange, self.wakers.clone(), 0, number)
    }

    fn assert_empty(&self) {
        let sizes = self.exchange.sizes();
        assert_eq!(self.exchange.free_slots(), sizes.slots);
        assert_eq!(self.exchange.free_blocks(), sizes.blocks);
        assert_eq!(self.exchange.queued(0), 0);
        if sizes.gates > 0 {
            let counts = self.exchange.gate(0);
            assert_eq!((counts.running, counts.parked), (0, 0));
        }
    }
}

fn next(executor: &mut Executor) -> Option<Work> {
    executor.next(Duration::ZERO, |_| Share::WakeNext)
}

/// Sleeps until work comes.
fn await_work(executor: &mut Executor, spin: Duration, share: Share) -> Work {
    loop {
        if let Some(work) = executor.next(spin, |_| share) {
            return work;
        }
        executor.event_fd().wait();
        executor.event_fd().drain();
    }
}

/// Sleeps until a completion comes, and appends its bytes. True if there is more.
fn await_part(gateway: &mut Gateway, bytes: &mut Vec<u8>) -> bool {
    loop {
        if let Some(mut completion) = gateway.take() {
            completion.append_to(bytes);
            return completion.more();
        }
        if gateway.about_to_sleep() {
            gateway.event_fd().wait();
            gateway.awake();
        }
    }
}

/// Hands over a whole response.
fn respond(executor: &mut Executor, work: &mut Work, bytes: &[u8]) {
    let mut progress = executor.respond(work, &[bytes], 0);
    while progress == Progress::Wait {
        executor.event_fd().wait();
        executor.event_fd().drain();
        progress = executor.resume(work, &[bytes]);
    }
}
