//! Slots: one for each request in flight.

use crate::stack::NONE;
use crate::sync::{AtomicU32, AtomicU64, Ordering};

/// Where a slot's request stands. README.md has the table of transitions and of who may make each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Phase {
    /// In the free list, or being filled by a gateway.
    Free = 0,
    /// In a run queue or parked at a gate.
    Queued,
    /// An executor runs it.
    Running,
    /// A part of the response is handed over; the executor waits to hand over more.
    Part,
    /// The last part of the response is handed over.
    Ready,
    /// The executor left; there is no (further) response.
    Died,
    /// Still in a queue, but nobody wants an answer.
    AbandonedQueued,
    /// An executor runs it, but nobody wants an answer.
    AbandonedRunning,
    /// As Part, but nobody wants it.
    DiscardedPart,
    /// As Ready or Died, but nobody wants it.
    Discarded,
}

impl Phase {
    fn of(word: u64) -> Phase {
        match word as u8 {
            0 => Phase::Free,
            1 => Phase::Queued,
            2 => Phase::Running,
            3 => Phase::Part,
            4 => Phase::Ready,
            5 => Phase::Died,
            6 => Phase::AbandonedQueued,
            7 => Phase::AbandonedRunning,
            8 => Phase::DiscardedPart,
            9 => Phase::Discarded,
            other => panic!("the exchange's memory is damaged: a slot is in phase {other}"),
        }
    }
}

/// Counts the uses of a slot. Never 0; 56 bits do not wrap in practice.
pub(crate) type Generation = u64;

fn word(generation: Generation, phase: Phase) -> u64 {
    generation << 8 | phase as u64
}

/// One request in flight. Every field but `word` and `cancel` is written by whoever holds the slot and read by
/// whoever holds it next: the word and the queues order them, so relaxed access is enough.
#[repr(C, align(128))]
pub(crate) struct Slot {
    /// Generation and phase.
    word: AtomicU64,
    /// The generation that its gateway wants cancelled. Never cleared: generations do not return.
    pub(crate) cancel: AtomicU64,
    pub(crate) submitted: Stamp,
    pub(crate) started: Stamp,
    pub(crate) finished: Stamp,
    pub(crate) lane: Number,
    pub(crate) gate: Number,
    /// Not 0 if the slot waits in a run queue with a share of its gate already taken for it.
    pub(crate) admitted: Number,
    pub(crate) gateway: Number,
    pub(crate) executor: Number,
    /// The executor's process.
    pub(crate) pid: Number,
    pub(crate) request_length: Number,
    /// First block of the request, or NONE if it lies in the slot's inline area.
    pub(crate) request_chain: Number,
    /// Bytes of the response that are handed over now.
    pub(crate) response_length: Number,
    /// First block of what did not fit into the inline area.
    pub(crate) response_chain: Number,
    /// Belongs to the user.
    pub(crate) code: Number,
}

impl Slot {
    pub(crate) fn new() -> Self {
        Slot {
            word: AtomicU64::new(word(1, Phase::Free)),
            cancel: AtomicU64::new(0),
            submitted: Stamp::new(0),
            started: Stamp::new(0),
            finished: Stamp::new(0),
            lane: Number::new(0),
            gate: Number::new(NONE),
            admitted: Number::new(0),
            gateway: Number::new(0),
            executor: Number::new(0),
            pid: Number::new(0),
            request_length: Number::new(0),
            request_chain: Number::new(NONE),
            response_length: Number::new(0),
            response_chain: Number::new(NONE),
            code: Number::new(0),
        }
    }

    pub(crate) fn state(&self) -> (Generation, Phase) {
        let word = self.word.load(Ordering::Acquire);
        (word >> 8, Phase::of(word))
    }

    /// Sets the phase where nobody else may change it.
    pub(crate) fn set(&self, generation: Generation, phase: Phase) {
        self.word.store(word(generation, phase), Ordering::Release);
    }

    /// Changes the phase where somebody else may change it too; fails with what stands there.
    pub(crate) fn turn(
        &self,
        generation: Generation,
        from: Phase,
        to: Phase,
    ) -> Result<(), (Generation, Phase)> {
        let (from, to) = (word(generation, from), word(generation, to));
        match self.word.compare_exchange(from, to, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => Ok(()),
            Err(now) => Err((now >> 8, Phase::of(now))),
        }
    }
}

/// A field of 32 bits, ordered by the slot's word.
#[repr(transparent)]
pub(crate) struct Number(AtomicU32);

impl Number {
    fn new(value: u32) -> Self {
        Number(AtomicU32::new(value))
    }

    pub(crate) fn get(&self) -> u32 {
        self.0.load(Ordering::Relaxed)
    }

    pub(crate) fn set(&self, value: u32) {
        self.0.store(value, Ordering::Relaxed);
    }
}

/// A time in nanoseconds of the monotonic clock, ordered by the slot's word.
#[repr(transparent)]
pub(crate) struct Stamp(AtomicU64);

impl Stamp {
    fn new(value: u64) -> Self {
        Stamp(AtomicU64::new(value))
    }

    pub(crate) fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    pub(crate) fn set(&self, value: u64) {
        self.0.store(value, Ordering::Relaxed);
    }
}

/// Names one request in flight: a slot and its generation. A ticket whose request has ended names nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Ticket {
    pub(crate) slot: u32,
    pub(crate) generation: Generation,
}

impl Ticket {
    /// The slot's number, below [`Sizes::slots`](crate::Sizes::slots): an index for a table of the user's own.
    pub fn slot(&self) -> u32 {
        self.slot
    }
}
