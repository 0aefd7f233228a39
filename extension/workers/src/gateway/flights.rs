//! Requests on their way through the exchange: submitted, running, or coming back. [`late`] are those that take too long;
//! [`known`] is what
//! becomes of an answer that may be remembered; [`limits`] tells who goes next what it has to know of executors and queues.

mod known;
mod late;
mod limits;
mod records;

use std::collections::HashSet;
use std::time::{Duration, Instant};

use ::gateway::{Arrived, LineShares, Poured, Room, SMALL_REPLY, Server, grown};
use dispatch::{Ended, Gates, Later, Parked, Ticket, TicketMap, Waited, Waiter, Waiting};
use exchange::{Cancel, Full, NO_GATE, Outcome};
use message::Request;
use pg::out_of_memory::may_fail;
use problem::{Access, Problem};
use request::later::LATER;
use shared::routes::Unrun;
use shared::workers::{Kind, WorkerState};
use shared::{Lane, settings, shared};

use super::bucket_answers;
use super::budget::{KEPT, NO_ROOM, NO_ROOM_TO_WAIT, memory_to_wait};
use super::refusals::{Refusals, Refused, counters};
use super::remembered::Remembered;
use crate::worker::Worker;
use limits::{Limits, Queues};
use records::{correct_record, expired, record_left, waited_too_long};

/// The requests of this gateway that are in the exchange, or wait for room there.
pub(crate) struct Flights {
    end: &'static mut exchange::Gateway,
    lane: u32,
    /// The lane of incoming rows.
    ingest: u32,
    database: usize,
    /// By the number of their slot.
    flights: Vec<Option<Flight>>,
    /// The slots of those whose clients wait.
    slots: TicketMap<usize>,
    load: Load,
    /// Those for which there is no room in the exchange yet.
    waiting: Waiting<Arrived>,
    /// Those whose answer waits for rows of a queue.
    parked: Parked<Arrived>,
    queues: Queues,
    /// What is answered without an executor.
    pub refusals: Refusals,
    /// What is answered without running anything.
    pub remembered: Remembered,
    gates: Gates,
    line_shares: LineShares,
    supervisor_nudged: Option<Instant>,
}

/// How much is under way.
#[derive(Default)]
struct Load {
    count: usize,
    /// How many of them are buckets of lines.
    buckets: usize,
    /// Bytes of responses that have not come as a whole.
    responses: usize,
}

impl Load {
    fn lose(&mut self, flight: &Flight) {
        self.count -= 1;
        self.responses -= flight.response.capacity();
        self.buckets -= usize::from(flight.bucket_of.is_some());
    }
}

struct Flight {
    /// Whose answer it is; none if the client has gone.
    ticket: Option<Ticket>,
    exchange: exchange::Ticket,
    /// Since when it waits, or has waited, for an executor.
    since: Instant,
    cancelled: Option<Instant>,
    /// What of the response has come.
    response: Vec<u8>,
    /// The status that its client has got instead of a response.
    answered: Option<u16>,
    /// For the answer if there is none.
    id: String,
    /// Whether it may have committed something when its answer comes.
    may_write: bool,
    /// Bytes of the request.
    size: usize,
    /// The listener, if it is a bucket of lines.
    bucket_of: Option<u32>,
    gate: u32,
    /// The request itself, if it is small enough to be run again.
    kept: Option<Arrived>,
    /// If its answer has waited for rows before.
    waited: Option<Waited>,
}

impl Flight {
    fn bytes_in_blocks(&self) -> usize {
        if self.size > exchange::INLINE { self.size } else { 0 }
    }

    /// Why so much more of the response may not come. There is `room` for those that are not small. What is said of a
    /// bucket is always taken: its stream waits for it.
    fn lacks_memory(&mut self, more: usize, room: impl Fn() -> usize) -> Option<&'static str> {
        let needed = self.response.len() + more;
        let is_small = self.bucket_of.is_some() || needed <= SMALL_REPLY;
        let room = if is_small { usize::MAX } else { room() };
        let Some(capacity) = grown(self.response.capacity(), needed, room) else { return Some(NO_ROOM) };
        let more = capacity - self.response.len();
        may_fail(|| self.response.try_reserve_exact(more))
            .err()
            .map(|_| "there is no memory for the response")
    }

    fn refused(&self, ticket: Ticket) -> Refused<'_> {
        Refused { ticket, id: &self.id, gate: self.gate }
    }
}

/// Requests that have waited for too long and are answered in one turn.
const LATE: usize = 512;
/// Bytes of responses that one turn takes. With more about to come the loop does not sleep.
const DELIVERED: usize = 1 << 20;
/// Time between two nudges of the supervisor.
const NUDGE: Duration = Duration::from_millis(50);
/// How long the oldest request of the lane may wait beside an idle executor.
const PATIENCE: Duration = Duration::from_micros(200);

impl Flights {
    /// No requests yet.
    pub(super) fn new(end: &'static mut exchange::Gateway, worker: &Worker) -> Self {
        let slots = end.exchange().sizes().slots as usize;
        Flights {
            end,
            lane: worker.lane_number_of(Lane::Http),
            ingest: worker.lane_number_of(Lane::Ingest),
            database: worker.database,
            flights: std::iter::repeat_with(|| None).take(slots).collect(),
            slots: TicketMap::default(),
            load: Load::default(),
            waiting: Waiting::default(),
            parked: Parked::default(),
            queues: Queues::of_gateway(worker.index),
            refusals: Refusals::new(worker.entry()),
            remembered: Remembered::new(),
            gates: Gates::new(shared().routes.capacity()),
            line_shares: LineShares::default(),
            supervisor_nudged: None,
        }
    }

    /// Whether any request is under way.
    pub(super) fn any(&self) -> bool {
        self.load.count > 0 || !self.waiting.is_empty()
    }

    /// Whether any of them is a bucket.
    pub(crate) fn have_buckets(&self) -> bool {
        self.load.buckets > 0
    }

    /// Hands a request to the executors, or keeps it until there is room; answers it if there never will be. Its gate is
    /// that of its route now.
    pub(crate) fn submit(&mut self, arrived: Arrived, gate: Option<u32>, server: &mut Server) {
        let gate = gate.unwrap_or(NO_GATE);
        self.gates.limit(gate, route_share(), &mut Limits(self.end));
        self.submit_again(arrived, gate, None, server);
    }

    /// The same for a request that may have waited for rows.
    fn submit_again(&mut self, arrived: Arrived, gate: u32, waited: Option<Waited>, server: &mut Server) {
        let request = Waiter { arrived, gate, since: Instant::now(), waited };
        if !self.waiting.is_empty() || !self.has_share(gate) {
            self.keep_waiting(request, server);
        } else if let Err(request) = self.try_submit(request, server) {
            self.keep_waiting(request, server);
        }
    }

    /// Keeps a request until there is room in the exchange. If those that wait hold as much as they may, it is refused, as they
    /// have come before it; unless its route can take it now: those of another may have filled the memory.
    fn keep_waiting(&mut self, request: Waiter<Arrived>, server: &mut Server) {
        let Err(request) = self.waiting.push(request, memory_to_wait()) else { return };
        let may_go = self.waiting.has_none_of(request.gate) && self.has_share(request.gate);
        let stuck = if may_go { self.try_submit(request, server) } else { Err(request) };
        stuck.unwrap_or_else(|request| self.refuse_to_wait(&request, server));
    }

    /// Answers a request for which there is no room among those that wait.
    pub(crate) fn refuse_to_wait(&mut self, request: &Waiter<Arrived>, server: &mut Server) {
        let refused =
            Refused { ticket: request.arrived.ticket, id: &id_of(&request.arrived), gate: request.gate };
        let unrun = Unrun { status: 503, cancelled: false, waited: request.since.elapsed() };
        self.refusals.refuse(server, refused, &Problem::new(503, NO_ROOM_TO_WAIT), unrun);
    }

    /// Whether another request of a gate may go into the exchange. One gate gets half of its slots and blocks, so that
    /// requests that wait for a gate's limit leave room to others. All gateways together have no more than that.
    fn has_share(&self, gate: u32) -> bool {
        let sizes = self.end.exchange().sizes();
        let (slots, bytes) = (self.half_of(sizes.slots), self.half_of(sizes.blocks) * exchange::BLOCK);
        self.gates.has_less(gate, slots, bytes)
    }

    /// This gateway's share of a half of the exchange.
    fn half_of(&self, all: u32) -> usize {
        all as usize / 2 / settings::GATEWAYS.get() as usize
    }

    /// Submits what waits for room, as far as there is any, and answers what has waited for too long.
    pub(crate) fn retry(&mut self, server: &mut Server) {
        let patience = settings::QUEUE_TIMEOUT.get().min(settings::REQUEST_TIMEOUT.get());
        let patience = Duration::from_millis(patience as u64);
        let now = Instant::now();
        for _ in 0..LATE {
            let Some(late) = self.waiting.late(patience, now) else { break };
            let refused = Refused { ticket: late.arrived.ticket, id: &id_of(&late.arrived), gate: late.gate };
            self.refusals.refuse(server, refused, &waited_too_long(), expired(late.since.elapsed()));
        }
        // Where one finds no room, those of other gates may need less.
        let mut stuck = Vec::new();
        while let Some(gate) = self.waiting.first(|gate| self.has_share(gate) && !stuck.contains(&gate)) {
            let Some(request) = self.waiting.pop(gate) else { return };
            if let Err(request) = self.try_submit(request, server) {
                self.waiting.put_back(request);
                stuck.push(gate);
            }
        }
    }

    /// Gives the request back if there is no room now.
    fn try_submit(&mut self, request: Waiter<Arrived>, server: &mut Server) -> Result<(), Waiter<Arrived>> {
        let waited = request.since.elapsed();
        match self.end.submit_after(waited, self.lane, request.gate, &[&request.arrived.request]) {
            Ok(ticket) => {
                self.take_off(ticket, request);
                Ok(())
            }
            Err(Full::Slots | Full::Blocks) => Err(request),
            Err(Full::TooLarge) => {
                let (ticket, id) = (request.arrived.ticket, id_of(&request.arrived));
                let problem = too_large(request.arrived.request.len());
                let unrun = Unrun { status: problem.status, cancelled: false, waited };
                let refused = Refused { ticket, id: &id, gate: request.gate };
                self.refusals.refuse(server, refused, &problem, unrun);
                Ok(())
            }
        }
    }

    fn take_off(&mut self, ticket: exchange::Ticket, request: Waiter<Arrived>) {
        let Waiter { arrived, gate, since, waited } = request;
        let flight = Flight {
            ticket: Some(arrived.ticket),
            exchange: ticket,
            since,
            cancelled: None,
            response: Vec::new(),
            answered: None,
            id: id_of(&arrived),
            may_write: may_write(&arrived),
            size: arrived.request.len(),
            bucket_of: None,
            gate,
            kept: (arrived.request.len() <= KEPT).then_some(arrived),
            waited,
        };
        self.load.count += 1;
        self.slots.extend(flight.ticket.map(|waits| (waits, ticket.slot() as usize)));
        self.gates.gain(flight.gate, flight.bytes_in_blocks());
        self.flights[ticket.slot() as usize] = Some(flight);
    }

    /// Takes out a flight that holds its slot no longer.
    fn land(&mut self, slot: usize) -> Option<Flight> {
        let flight = self.flights[slot].take()?;
        if let Some(ticket) = flight.ticket {
            self.slots.remove(&ticket);
        }
        self.load.lose(&flight);
        self.gates.lose(flight.gate, flight.bytes_in_blocks());
        if let Some(listener) = flight.bucket_of {
            self.line_shares.lose(listener, flight.size);
        }
        Some(flight)
    }

    /// There are so many listeners for lines.
    pub(crate) fn keep_listeners(&mut self, count: usize) {
        self.line_shares.keep(count);
    }

    /// Whether another bucket of a listener may go to the executors.
    pub(crate) fn has_line_share(&self, poured: &Poured) -> bool {
        let sizes = self.end.exchange().sizes();
        let room = Room {
            executors: (settings::MAX_INGEST_EXECUTORS.get() / settings::GATEWAYS.get()).max(1) as usize,
            slots: self.half_of(sizes.slots),
            bytes: self.half_of(sizes.blocks) * exchange::BLOCK,
        };
        self.line_shares.admits(poured.source.listener, poured.bytes(), room)
    }

    /// Hands a bucket to the executors of its lane.
    pub(crate) fn submit_bucket(&mut self, poured: &Poured) -> Result<(), Full> {
        let bytes = poured.bytes();
        let ticket = self.end.submit(self.ingest, NO_GATE, &[&poured.head, &poured.lines])?;
        self.slots.insert(poured.ticket, ticket.slot() as usize);
        self.flights[ticket.slot() as usize] = Some(Flight {
            ticket: Some(poured.ticket),
            exchange: ticket,
            since: Instant::now(),
            cancelled: None,
            response: Vec::new(),
            answered: None,
            id: String::new(),
            may_write: true,
            size: bytes,
            bucket_of: Some(poured.source.listener),
            gate: NO_GATE,
            kept: None,
            waited: None,
        });
        self.load.count += 1;
        self.load.buckets += 1;
        self.line_shares.gain(poured.source.listener, bytes);
        Ok(())
    }

    /// There are the routes of these gates and no others.
    pub(crate) fn keep_gates(&mut self, numbers: &HashSet<u32>) {
        self.gates.keep(numbers);
    }

    /// Looks how many executors there are now, and how much the routes have of them.
    pub(crate) fn follow_executors(&mut self) {
        let executors = self.count_executors();
        let asks_others = settings::GATEWAYS.get() > 1;
        self.gates.follow(executors, route_share(), asks_others, &mut Limits(self.end));
    }

    fn count_executors(&self) -> u32 {
        let ours = shared().workers.iter().filter(|worker| {
            worker.state() == WorkerState::Running
                && worker.kind() == Kind::Executor
                && worker.database() == self.database
                && worker.lane() == Lane::Http
        });
        ours.count() as u32
    }

    /// Wakes executors for what was submitted.
    pub(crate) fn flush(&mut self) {
        self.end.flush();
    }

    /// See [`exchange::Gateway::about_to_sleep`].
    pub(crate) fn about_to_sleep(&mut self) -> bool {
        self.end.about_to_sleep()
    }

    /// See [`exchange::Gateway::awake`].
    pub(crate) fn awake(&mut self) {
        self.end.awake();
    }

    /// Wakes one more executor if a request waits behind one that was thought to be short.
    pub(crate) fn nudge(&mut self) {
        if self.load.count > self.load.buckets {
            self.end.nudge(self.lane, PATIENCE);
        }
        if self.load.buckets > 0 {
            self.end.nudge(self.ingest, PATIENCE);
        }
    }

    /// Has the supervisor look whether more executors are needed.
    pub(crate) fn ask_for_executors(&mut self) {
        let asked_lately = self.supervisor_nudged.is_some_and(|nudged| nudged.elapsed() < NUDGE);
        let waiting =
            self.load.count - self.load.buckets > self.gates.executors() as usize || self.load.buckets > 1;
        if waiting && !asked_lately {
            self.supervisor_nudged = Some(Instant::now());
            shared().nudge_supervisor();
        }
    }

    /// Bytes that responses may take beside those that are there, small ones excepted.
    pub(super) fn room(&self, server: &Server) -> usize {
        server.room_for_replies().saturating_sub(self.load.responses)
    }

    /// Takes what has come back, for [`DELIVERED`] at most, and hands complete responses to the event loop.
    pub(crate) fn deliver(&mut self, server: &mut Server) {
        let mut delivered = 0;
        while delivered < DELIVERED {
            let Some(mut completion) = self.end.take() else { return };
            delivered += completion.length();
            let slot = completion.ticket().slot() as usize;
            let Some(flight) = self.flights[slot].as_mut() else { continue };
            if let Some(ticket) = flight.ticket {
                let (more, others) = (completion.length(), self.load.responses);
                let before = flight.response.capacity();
                let room = || server.room_for_replies().saturating_sub(others);
                if let Some(lack) = flight.lacks_memory(more, room) {
                    self.load.responses -= before;
                    flight.response = Vec::new();
                    let problem = unsent(flight.may_write, lack);
                    flight.answered = Some(problem.status);
                    self.refusals.answer(server, flight.refused(ticket), &problem);
                    flight.ticket = None;
                    self.slots.remove(&ticket);
                } else {
                    completion.append_to(&mut flight.response);
                    self.load.responses += flight.response.capacity() - before;
                }
            }
            let (outcome, waited) = (completion.outcome(), completion.waited());
            if completion.more() && outcome != Outcome::Died {
                continue;
            }
            drop(completion);
            let Some(flight) = self.land(slot) else { continue };
            match flight.ticket {
                Some(ticket) => self.hand_over(flight, ticket, outcome, waited, server),
                None => correct_record(flight.gate, flight.answered, outcome, waited),
            }
        }
    }

    /// Hands over what has come as a whole, or what there is to say instead.
    fn hand_over(
        &mut self,
        flight: Flight,
        ticket: Ticket,
        outcome: Outcome,
        waited: Duration,
        server: &mut Server,
    ) {
        match outcome {
            Outcome::Answered(code) if code & LATER != 0 => self.park(flight, ticket, code, server),
            Outcome::Answered(code) => {
                let response = self.settle(flight, ticket, code, server);
                server.reply(ticket, response);
            }
            Outcome::Died if flight.bucket_of.is_some() => {
                server.reply(ticket, bucket_answers::died());
            }
            Outcome::Died => {
                let unrun = Unrun { status: 502, cancelled: false, waited };
                self.refusals.refuse(server, flight.refused(ticket), &died(), unrun);
            }
        }
    }

    /// Keeps an answer until rows come or its time is over, if there is room for it.
    fn park(&mut self, mut flight: Flight, ticket: Ticket, code: u32, server: &mut Server) {
        let later = Later::read(&flight.response);
        flight.response.drain(..Later::LENGTH.min(flight.response.len()));
        match (later, flight.kept) {
            (Some(_), Some(kept)) if !self.parked.has_room(&kept, &flight.response, memory_to_wait()) => {
                // Its executor has recorded what it would have got.
                let recorded = (code & !LATER) as u16;
                counters(flight.gate).iter().for_each(|counters| counters.correct(recorded, 503));
                let refused = Refused { ticket, id: &flight.id, gate: flight.gate };
                self.refusals.answer(server, refused, &Problem::new(503, NO_ROOM_TO_WAIT));
            }
            (Some(later), Some(kept)) => {
                let (arrived, answer) = ((kept, flight.gate), flight.response);
                self.parked.park(later, flight.waited, arrived, answer, &self.queues, Instant::now());
            }
            _ => {
                server.reply(ticket, flight.response);
            }
        }
    }

    /// Has requests run again for which there may be rows, and answers those whose time is over; all with `hurry`.
    pub(crate) fn resume_parked(&mut self, hurry: bool, server: &mut Server) {
        for ended in self.parked.end(hurry, &self.queues, Instant::now()) {
            match ended {
                Ended::Answered(request) => {
                    server.reply(request.arrived.ticket, request.answer);
                }
                Ended::Again(request, waited) => {
                    self.submit_again(request.arrived, request.gate, Some(waited), server);
                }
            }
        }
    }

    /// Answers a request that cannot be read: the gateway has written it itself, so this cannot happen.
    pub(crate) fn refuse_unreadable(&mut self, ticket: Ticket, server: &mut Server) {
        let refused = Refused { ticket, id: &message::id::new(), gate: NO_GATE };
        self.refusals.answer(server, refused, &Problem::new(500, "the request cannot be read"));
    }

    /// How long no parked request needs to be looked at.
    pub(super) fn patience(&self) -> Option<Duration> {
        self.parked.patience(Instant::now())
    }

    /// Cancels the request of a client that has gone. False if it is not here.
    pub(crate) fn cancel(&mut self, ticket: Ticket) -> bool {
        if let Some(request) = self.waiting.forget(ticket) {
            self.remembered.followers.forget(ticket);
            record_left(request.gate, request.since);
            return true;
        }
        if self.parked.forget(ticket) || self.remembered.followers.forget(ticket) {
            return true;
        }
        let Some(slot) = self.slots.remove(&ticket) else { return false };
        if let Some(flight) = self.flights[slot].as_mut() {
            flight.ticket = None;
            flight.cancelled = Some(Instant::now());
            let (ticket, gate, since) = (flight.exchange, flight.gate, flight.since);
            if self.stop(slot, ticket) == Cancel::NeverRan {
                record_left(gate, since);
            }
        }
        true
    }

    /// Cancels in the exchange; forgets what has never run.
    fn stop(&mut self, slot: usize, ticket: exchange::Ticket) -> Cancel {
        let cancel = self.end.cancel(ticket);
        match cancel {
            Cancel::NeverRan => {
                self.land(slot);
            }
            Cancel::Running(target) => target.signal(),
            Cancel::TooLate => {}
        }
        cancel
    }

    /// See [`exchange::Gateway::leave`].
    pub(super) fn leave(&mut self) {
        self.end.leave();
    }
}

fn id_of(arrived: &Arrived) -> String {
    Request::parse(&arrived.request).map(|request| request.id().to_owned()).unwrap_or_default()
}

/// What a route may have of the executors that the others leave, in percent.
fn route_share() -> u32 {
    settings::ROUTE_SHARE.get() as u32
}

/// Whether a request may write.
fn may_write(arrived: &Arrived) -> bool {
    let access = |request: Request<'_>| Access::of_method(request.method());
    Request::parse(&arrived.request).is_ok_and(|request| access(request) == Access::ReadWrite)
}

/// The answer to a request that has run, whose response cannot be sent. 503 would say that nothing was committed.
fn unsent(may_write: bool, lack: &str) -> Problem {
    if may_write {
        return Problem::new(502, format!("the request was run, and its response is lost: {lack}"));
    }
    Problem::new(503, lack)
}

fn died() -> Problem {
    Problem::new(502, "the process that ran the request has ended")
}

fn too_large(bytes: usize) -> Problem {
    let have = settings::REQUEST_MEMORY.get();
    Problem::new(
        413,
        format!("the request has {bytes} bytes, more than all of howdah.request_memory ({have} MB)"),
    )
}
