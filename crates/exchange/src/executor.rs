//! Executors: they take requests, one at a time.

use std::time::Duration;

use crate::cancel::Interrupt;
use crate::clock;
use crate::gate::NO_GATE;
use crate::lane::Lane;
use crate::layout::{BLOCK, INLINE};
use crate::peer::Peer;
use crate::region::Exchange;
use crate::seat::Seat;
use crate::slot::{Phase, Ticket};
use crate::stack::NONE;
use crate::sync::{Ordering, fence};
use crate::wake::{EventFd, Wakers};
use crate::work::Work;

/// Looks at the queue between two looks at the clock, which costs as much as some of them.
const LOOKS_PER_TIME: u32 = if cfg!(loom) { 1 } else { 32 };

/// Whether an executor that has just popped a request leaves the rest of the queue to others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Share {
    /// Wake another executor at once if there is more. Right whenever the request may be slow.
    WakeNext,
    /// Wake nobody: this request is known to be short, and this executor will be back. Requests behind it wait,
    /// at worst until a gateway's [`nudge`](crate::Gateway::nudge).
    Keep,
}

/// A process's end of the exchange that runs requests. One process has a number at a time.
#[derive(Debug)]
pub struct Executor {
    pub(crate) peer: Peer,
    pub(crate) number: u32,
    /// Asked for once: it is a system call.
    pid: u32,
    lane: u32,
    /// What it runs.
    pub(crate) current: Option<Ticket>,
    /// The gate of which it holds a share, until it asks for the next request.
    gate: u32,
    /// It counts among the lane's searching executors.
    searching: bool,
    /// Its bit among the idle was set, and may have been cleared by whoever wakes it.
    announced: bool,
    /// Its last request came straight from a gate; the next one comes from the run queue, in fairness.
    favoured_gate: bool,
}

impl Executor {
    /// Takes the place of an executor, in the process that will run. Nobody else has it, or who had it has left.
    ///
    /// # Panics
    /// If there is no such place or lane.
    pub fn join(exchange: Exchange, wakers: Wakers, lane: u32, number: u32) -> Executor {
        assert!(lane < exchange.sizes().lanes, "lane {lane}");
        exchange.seats[number as usize].clear();
        Executor {
            peer: Peer { exchange, wakers },
            number,
            pid: std::process::id(),
            lane,
            current: None,
            gate: NO_GATE,
            searching: false,
            announced: false,
            favoured_gate: false,
        }
    }

    /// The exchange.
    pub fn exchange(&self) -> &Exchange {
        &self.peer.exchange
    }

    /// What to wait on while idle, or while a response waits to be continued. Drain it after waking up and
    /// before the next call.
    pub fn event_fd(&self) -> &EventFd {
        self.peer.wakers.executor(self.number)
    }

    /// For the handler of SIGUSR2.
    pub fn interrupt(&self) -> Interrupt {
        Interrupt { exchange: self.peer.exchange, executor: self.number }
    }

    fn own_lane(&self) -> &'static Lane {
        &self.peer.exchange.lanes[self.lane as usize]
    }

    pub(crate) fn seat(&self) -> &'static Seat {
        &self.peer.exchange.seats[self.number as usize]
    }

    /// The next request. If there is none it looks again for the time of `spin`, then announces that this
    /// executor is idle and returns None: sleep on [`event_fd`](Executor::event_fd), drain it, call again.
    ///
    /// `share` decides whether another executor is woken for what is left in the queue. A request that is
    /// still unanswered ends as [`Outcome::Died`](crate::Outcome::Died).
    pub fn next(&mut self, spin: Duration, share: impl FnOnce(&Work) -> Share) -> Option<Work> {
        self.finish();
        self.withdraw();
        let work = self
            .next_of_gate()
            .or_else(|| self.look())
            .or_else(|| self.look_for(spin))
            .or_else(|| self.announce_and_look())?;
        match share(&work) {
            Share::Keep => self.start_searching(),
            Share::WakeNext => self.stop_searching(),
        }
        Some(work)
    }

    /// Takes back that this executor is idle: for other work of its own. A wake-up on its way is passed on.
    pub fn busy(&mut self) {
        self.withdraw();
        self.stop_searching();
    }

    /// Leaves in an orderly way, from wherever the process is: its request ends as
    /// [`Outcome::Died`](crate::Outcome::Died), its share of a gate and a wake-up on its way go to others.
    pub fn leave(&mut self) {
        self.finish();
        let gate = std::mem::replace(&mut self.gate, NO_GATE);
        if gate != NO_GATE {
            self.peer.leave_gate(gate);
        }
        self.busy();
    }

    /// Ends what is still unanswered.
    fn finish(&mut self) {
        if let Some(ticket) = self.current {
            self.die(ticket);
        }
    }

    fn start_searching(&mut self) {
        if !self.searching {
            self.searching = true;
            self.own_lane().start_searching();
        }
    }

    /// Others may have woken nobody because this executor was searching: it wakes one in their place.
    fn stop_searching(&mut self) {
        if self.searching {
            self.searching = false;
            self.own_lane().stop_searching();
            self.peer.wake(self.lane);
        }
    }

    fn withdraw(&mut self) {
        if self.announced {
            self.announced = false;
            // Whoever cleared the bit has counted this executor as searching.
            self.searching |= !self.own_lane().withdraw(self.number);
        }
    }

    /// After a request with a gate: the next one that waits there, without a way through a gateway. Every
    /// second time it goes to the end of the run queue instead if others wait there: two gates with long queues
    /// must not hold all executors for ever.
    fn next_of_gate(&mut self) -> Option<Work> {
        loop {
            let gate = std::mem::replace(&mut self.gate, NO_GATE);
            if gate == NO_GATE {
                return None;
            }
            let exchange = &self.peer.exchange;
            let next = exchange.gates[gate as usize].leave(&exchange.parked(gate))?;
            self.favoured_gate = !self.favoured_gate || exchange.run_queue(self.lane).is_empty();
            if !self.favoured_gate {
                self.peer.requeue(next);
            } else if let Some(work) = self.start_admitted(next) {
                return Some(work);
            }
        }
    }

    fn look(&mut self) -> Option<Work> {
        loop {
            let index = self.peer.exchange.run_queue(self.lane).pop()?;
            if let Some(work) = self.consider(index) {
                return Some(work);
            }
        }
    }

    fn look_for(&mut self, time: Duration) -> Option<Work> {
        if time.is_zero() {
            return None;
        }
        self.start_searching();
        let begin = clock::now();
        loop {
            for _ in 0..LOOKS_PER_TIME {
                if let Some(work) = self.look() {
                    return Some(work);
                }
                std::hint::spin_loop();
            }
            if u128::from(clock::now() - begin) >= time.as_nanos() {
                return None;
            }
        }
    }

    /// Announces first and looks once more afterwards: whoever pushes does it the other way round.
    fn announce_and_look(&mut self) -> Option<Work> {
        self.own_lane().announce(self.number);
        self.announced = true;
        if self.searching {
            self.searching = false;
            self.own_lane().stop_searching();
        }
        fence(Ordering::SeqCst);
        let work = self.look()?;
        self.withdraw();
        // Others have relied on the search that has just ended. Let it end again, with a wake-up.
        self.start_searching();
        Some(work)
    }

    /// Starts a slot that was popped from the run queue, unless nobody wants it or its gate is full.
    fn consider(&mut self, index: u32) -> Option<Work> {
        if self.peer.is_abandoned(index) {
            self.peer.drop_queued(index);
            return None;
        }
        let exchange = &self.peer.exchange;
        let slot = exchange.slot(index);
        let gate = slot.gate.get();
        if gate == NO_GATE || slot.admitted.get() != 0 || exchange.gates[gate as usize].enter() {
            return self.start(index);
        }
        let freed = exchange.gates[gate as usize].park(&exchange.parked(gate), index)?;
        self.start_admitted(freed)
    }

    /// Starts a slot that comes from a gate, or lets its own lane start it.
    fn start_admitted(&mut self, index: u32) -> Option<Work> {
        if self.peer.exchange.slot(index).lane.get() == self.lane {
            return self.start(index);
        }
        self.peer.requeue(index);
        None
    }

    /// Starts a slot that this executor holds, with a share of its gate.
    fn start(&mut self, index: u32) -> Option<Work> {
        let slot = self.peer.exchange.slot(index);
        let (generation, _) = slot.state();
        slot.executor.set(self.number);
        slot.pid.set(self.pid);
        slot.started.set(clock::now());
        slot.admitted.set(1);
        // Before the turn: whoever sees it run may signal at once.
        self.seat().take(index, generation);
        if slot.turn(generation, Phase::Queued, Phase::Running).is_err() {
            self.seat().clear();
            self.peer.drop_queued(index);
            return None;
        }
        self.gate = slot.gate.get();
        let ticket = Ticket { slot: index, generation };
        self.current = Some(ticket);
        Some(Work::new(ticket, slot))
    }

    /// A request's bytes: where they lie if they lie together (within [`BLOCK`] bytes), or copied to
    /// `scratch`. Empty once the response has begun.
    pub fn request<'a>(&'a self, work: &Work, scratch: &'a mut Vec<u8>) -> &'a [u8] {
        if self.current != Some(work.ticket) || work.handed_over.is_some() {
            return &[];
        }
        let exchange = &self.peer.exchange;
        let slot = exchange.slot(work.ticket.slot);
        let (length, chain) = (slot.request_length.get() as usize, slot.request_chain.get());
        if chain == NONE {
            debug_assert!(length <= INLINE);
            // SAFETY: this executor runs the slot and begins no response while the slice lives.
            return unsafe { exchange.inline[work.ticket.slot as usize].bytes(length) };
        }
        if length <= BLOCK {
            // SAFETY: as above; the block is the request's.
            return unsafe { exchange.blocks[chain as usize].bytes(length) };
        }
        scratch.clear();
        exchange.read_chain(chain, length, scratch);
        scratch
    }
}
