//! The inline lane: short requests without side effects run right here, after the turn that brought them.
//!
//! Those that run as the same role share a read-only transaction, in which their plans stay open: see
//! [`shared_transaction`](super::shared_transaction). An error ends it, and the rest begin another.
//! A request that exceeds its deadline is cancelled and run by an executor; its route loses the
//! privilege for a while. If it did not stop when told, or calls what must not run here ([`admission`]), its route loses
//! the privilege until its function changes.

use std::ops::Range;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use ::gateway::{Arrived, SMALL_REPLY, Server};
use dispatch::{FairTurns, REQUEST, Turn};
use exchange::NO_GATE;
use literal::exponent;
use message::Request;
use pg::log_line;
use pgrx::pg_sys;
use problem::Problem;
use request::{Done, Runner, RunsIn, admission};
use session::at_rest::AtRest;
use session::{faults, leftovers, log_rate};
use shared::routes::{Measured, RouteCounters};
use shared::settings::{self, Inline as Mode};
use shared::{now_us, shared};

use super::budget::NO_ROOM;
use super::deadline::{self, Outcome};
use super::flights::Flights;
use super::refusals::Refused;
use super::remembered::known_as;
use super::shared_transaction::SharedTransaction;

/// Requests that wait for the end of the turn, and the transaction that they share.
pub(crate) struct Inline {
    queue: FairTurns<Arrived>,
    /// Bytes that those hold that wait.
    held: usize,
    shared: SharedTransaction,
    /// The endpoint that pg_stat_activity shows.
    shown: Option<usize>,
    at_rest: AtRest,
}

/// SQL of one turn at most, before the sockets are looked at again.
const BUDGET: Duration = Duration::from_millis(1);
/// Requests that an endpoint must have answered in executors before it is known to be short.
const PROBATION: u64 = 8;
/// Bytes of a request that may run here. What one has to read of it, as JSON say, it may read without looking whether it
/// is cancelled. A number like `1e131071`, which PostgreSQL may write out where it looks for nothing, is long as well.
const LONGEST: usize = 16 << 10;
/// For how many deadlines plans may be made: the first plan reads catalogs that nothing has read yet.
const PLANNING: i32 = 3;
/// How long an endpoint that was too slow stays with the executors; doubled each time. An executor has told by
/// then how long it takes now.
const BAN: Duration = Duration::from_secs(2);

impl Inline {
    /// With nothing that waits, in a process that is at rest now.
    pub(super) fn new(at_rest: AtRest) -> Inline {
        Inline {
            queue: FairTurns::default(),
            held: 0,
            shared: SharedTransaction::default(),
            shown: None,
            at_rest,
        }
    }

    /// Whether nothing waits.
    pub(super) fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// Whether another request of so many bytes finds room, where all may hold so many.
    pub(crate) fn has_room(&self, size: usize, limit: usize) -> bool {
        self.held + REQUEST + size <= limit
    }

    /// Takes a request in that has come at `since`.
    ///
    /// # Safety
    /// [`Request::parse`] has accepted it.
    pub(super) unsafe fn push(&mut self, arrived: Arrived, endpoint: usize, since: Instant) {
        self.held += REQUEST + arrived.request.len();
        self.queue.push(Turn { arrived, endpoint, since });
    }

    /// Gives up all that waits: another table has other endpoints at their places.
    pub(crate) fn take_waiting(&mut self) -> Vec<(Arrived, Instant)> {
        self.held = 0;
        self.queue.take_all().map(|waiting| (waiting.arrived, waiting.since)).collect()
    }

    /// Whether a request of so many bytes for these endpoints may run here.
    pub(crate) fn may_run(
        &mut self,
        runner: &mut Runner,
        endpoints: Range<usize>,
        request: &Request<'_>,
        size: usize,
    ) -> bool {
        // Handlers that are asked one after the other must run as the same role to share a transaction.
        size <= LONGEST
            && runner.have_one_identity(endpoints.clone())
            && endpoints.into_iter().all(|place| {
                runner.number(place).is_some_and(|number| {
                    let counters = shared().routes.get(number as usize);
                    is_short(counters)
                        && !runner.is_unfit(place, counters.inline_unfit.load(Relaxed))
                        && self.reads_only(runner, place, counters)
                })
            })
            && !has_large_exponent(request)
            && (request.body().is_empty() || !packing::is_packed(request))
    }

    /// Whether an endpoint reads only. To find out its plans are made, which may wait for a lock: then it stays
    /// with the executors for a while.
    fn reads_only(&mut self, runner: &mut Runner, place: usize, counters: &RouteCounters) -> bool {
        if !runner.is_planned(place) {
            self.end(runner);
            deadline::watch(PLANNING);
            // SAFETY: on the main thread, outside a transaction.
            let made = unsafe { deadline::within(|| log_rate::for_client(|| runner.make_plans(place))) };
            deadline::rest();
            if admission::take_refusal() || made.deaf {
                if let Some(number) = runner.number(place) {
                    runner.keep_out(number);
                }
            } else if made.overdue {
                ban_longer(counters);
            } else if !runner.is_planned(place) {
                // What cannot be planned here is tried by executors, which say why, for as long.
                counters.inline_banned_until.store(now_us() + BAN.as_micros() as u64, Relaxed);
            }
        }
        runner.reads_only(place)
    }

    /// Ends the transaction that requests share, if it is open. To be called before anything that needs to be outside of
    /// one, and before sleeping.
    pub(super) fn end(&mut self, runner: &mut Runner) {
        if self.shown.take().is_some() {
            // SAFETY: on the main thread, between two requests.
            unsafe { self.shared.end(runner) };
            session::idle::report_idle();
        }
    }

    /// Sees to it that the process is as it was, unless requests share a transaction now. To be called between two turns.
    pub(super) fn rest(&mut self) {
        if !self.shared.is_open() {
            self.at_rest.restore();
        }
    }

    /// Runs what waits, for [`BUDGET`] at most.
    pub(super) fn run(&mut self, runner: &mut Runner, server: &mut Server, flights: &mut Flights) {
        if self.queue.is_empty() {
            return self.end(runner);
        }
        deadline::watch(1);
        self.run_for_budget(runner, server, flights);
        deadline::rest();
        if !self.shared.is_open() {
            self.end(runner);
        }
    }

    fn run_for_budget(&mut self, runner: &mut Runner, server: &mut Server, flights: &mut Flights) {
        // When the last request has ended: asking for the time is not free.
        let mut now = Instant::now();
        let over = now + BUDGET;
        while let Some(endpoint) = self.queue.next() {
            // SAFETY: on the main thread, between two requests.
            now = unsafe {
                if self.share(runner, endpoint, now) {
                    self.run_shared(runner, server, flights, now, over)
                } else {
                    self.run_first(runner, RunsIn::Gateway, server, flights, now)
                }
            };
            if now > over {
                return;
            }
        }
    }

    /// Opens the transaction that is shared for an endpoint, unless it is open already, and shows the endpoint. False if
    /// the endpoint needs one of its own.
    unsafe fn share(&mut self, runner: &mut Runner, endpoint: usize, now: Instant) -> bool {
        let shares = settings::INLINE.get() == Mode::On;
        let goes_on = shares && self.shared.is_current(now) && runner.runs_as_assumed(endpoint);
        // SAFETY: by contract; outside a transaction once it has ended.
        unsafe {
            if !goes_on {
                self.shared.end(runner);
            }
            if self.shown.replace(endpoint) != Some(endpoint) {
                runner.show(endpoint);
            }
            goes_on || shares && assume(runner, endpoint) && !is_serializable() && self.shared.begin(now)
        }
    }

    /// Runs requests of the same identity until none is left, the time is over, or the transaction is gone. Returns
    /// the time.
    unsafe fn run_shared(
        &mut self,
        runner: &mut Runner,
        server: &mut Server,
        flights: &mut Flights,
        mut now: Instant,
        over: Instant,
    ) -> Instant {
        while let Some(endpoint) = self.queue.next() {
            if now > over || !runner.runs_as_assumed(endpoint) || !self.shared.is_current(now) {
                break;
            }
            // SAFETY: inside the transaction.
            now = unsafe { self.run_first(runner, RunsIn::GatewayShared, server, flights, now) };
        }
        now
    }

    /// Ends the transaction that is shared if the last request has left something in it.
    fn check_shared(&mut self, runner: &mut Runner) {
        if self.shared.is_open()
            && let Some(left) = self.at_rest.left_in_transaction()
        {
            log_line::log!(
                "howdah: a request has left {left}; the transaction that it has shared is aborted"
            );
            runner.forget_plans();
            // SAFETY: between two requests.
            unsafe { leftovers::abort() };
            self.at_rest.restore();
        }
    }

    /// Runs the request that waits first, from now on. Returns the time.
    unsafe fn run_first(
        &mut self,
        runner: &mut Runner,
        runs_in: RunsIn,
        server: &mut Server,
        flights: &mut Flights,
        now: Instant,
    ) -> Instant {
        let Some(Turn { arrived, endpoint, since }) = self.queue.pop() else { return now };
        self.held -= REQUEST + arrived.request.len();
        if !server.waits(arrived.ticket) {
            // Its client has gone meanwhile. So many may have that the time counts.
            return Instant::now();
        }
        // SAFETY: the contract of [`Inline::push`], and nothing has changed it.
        let request = unsafe { Request::parse_again(&arrived.request) };
        let waited = now.saturating_duration_since(since);
        faults::panic_if_asked(|name| request.header(name), "in the gateway");
        faults::note_interrupt(|name| request.header(name));
        // SAFETY: by contract.
        let (mut done, deaf) = unsafe { run_with_deadline(runner, &request, runs_in, now, waited) };
        faults::leave_if_asked(|name| request.header(name));
        faults::interrupt_if_asked("after the request");
        if runs_in == RunsIn::GatewayShared {
            self.check_shared(runner);
        }
        self.queue.spent(endpoint, done.ended - now);
        let first = runner.number(endpoint);
        if let Some(number) = first {
            if admission::take_refusal() || deaf {
                runner.keep_out(number);
            } else {
                judge(shared().routes.get(number as usize), &done);
            }
        }
        if done.elsewhere {
            flights.submit(arrived, first, server);
            return done.ended;
        }
        let mut response = runner.take_response();
        if done.status == 304 {
            response = known_as(&request, response);
        }
        if response.len() > SMALL_REPLY && response.len() > flights.room(server) {
            let problem = Problem::new(503, NO_ROOM);
            done.status = problem.status;
            let refused =
                Refused { ticket: arrived.ticket, id: request.id(), gate: first.unwrap_or(NO_GATE) };
            flights.refusals.answer(server, refused, &problem);
        } else {
            flights.refusals.note(done.status);
            server.reply(arrived.ticket, response);
        }
        record(&done, since);
        faults::interrupt_if_asked("after the answer");
        done.ended
    }
}

/// Puts in force what an endpoint runs with. False if that fails, or takes longer than a request may.
///
/// # Safety
/// On the main thread, outside a transaction.
unsafe fn assume(runner: &mut Runner, endpoint: usize) -> bool {
    // SAFETY: by contract.
    runner.runs_as_assumed(endpoint) || unsafe { deadline::within(|| runner.assume(endpoint)) }.result
}

/// Whether an endpoint's times so far, and its record here, let it run in a gateway.
pub(super) fn is_short(counters: &RouteCounters) -> bool {
    let threshold = settings::INLINE_THRESHOLD.get() as f32;
    settings::INLINE.get() != Mode::Off
        && counters.mean_us().is_some_and(|mean| mean < threshold)
        && counters.inline_banned_until.load(Relaxed) < now_us()
        && counters.statuses.iter().map(|count| count.load(Relaxed)).sum::<u64>() >= PROBATION
}

/// Whether a number of the request is short as it is spelled alone. Headers have few: to look through those of a browser takes 0.3 µs.
fn has_large_exponent(request: &Request<'_>) -> bool {
    let texts = [request.raw_path().as_bytes(), request.query_string().as_bytes(), request.body()];
    texts.into_iter().any(exponent::has_large)
}

unsafe fn run_with_deadline(
    runner: &mut Runner,
    request: &Request<'_>,
    runs_in: RunsIn,
    now: Instant,
    waited: Duration,
) -> (Done, bool) {
    // SAFETY: by contract.
    let ran = unsafe { deadline::within(|| runner.run(request, runs_in, now, waited)) };
    let Outcome { result, overdue, deaf } = ran;
    (Done { cancelled: overdue, ..result }, deaf)
}

/// Takes the privilege from an endpoint that has exceeded the deadline.
fn judge(counters: &RouteCounters, done: &Done) {
    if done.cancelled {
        ban_longer(counters);
    } else if done.elsewhere {
        counters.inline_banned_until.store(now_us() + BAN.as_micros() as u64, Relaxed);
    }
}

/// Each time for twice as long.
fn ban_longer(counters: &RouteCounters) {
    let before = counters.inline_overruns.fetch_add(1, Relaxed).min(6);
    let until = now_us() + BAN.as_micros() as u64 * (1 << before);
    counters.inline_banned_until.store(until, Relaxed);
}

fn record(done: &Done, since: Instant) {
    let Some(number) = done.counters else { return };
    shared().routes.get(number as usize).record(&Measured {
        status: done.status,
        inline: true,
        cancelled: false,
        queue_us: 0,
        sql_us: done.took.as_micros() as u64,
        total_us: (done.ended - since).as_micros() as u64,
    });
}

/// Whether transactions of the role that is assumed are serializable by default. What such a one has read counts only
/// once it has committed, and a deferrable one waits before it begins: each request gets its own, within its deadline.
fn is_serializable() -> bool {
    // SAFETY: PostgreSQL's own variable, on the main thread.
    unsafe { pg_sys::DefaultXactIsoLevel == pg_sys::XACT_SERIALIZABLE as i32 }
}
