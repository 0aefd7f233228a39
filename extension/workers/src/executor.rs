//! An executor: takes requests from its lane, one at a time, runs each, answers. Those of the ingest lane take buckets
//! of [`lines`], and keep their [`memory`] meanwhile; those of the lane of jobs run [`jobs`].

mod jobs;
mod lines;
mod memory;

use std::cell::Cell;
use std::ffi::c_int;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use ::jobs::memory::Seat;
use ::jobs::runs::Runs;
use exchange::{Executor, Interrupt, Progress, Share, Work};
use message::Request;
use pg::entry::{exported, infallible_callback, unfailing_callback};
use pg::guard::{Report, attempt};
use pg::{log_line, own_memory};
use pgrx::pg_sys;
use problem::Problem;
use queue::upkeep::{self, Upkeep};
use request::later::{self, LATER};
use request::reads::{self, Plain, READ};
use request::table::{NoTable, nothing_along};
use request::{Done, Runner, RunsIn, proxies};
use session::at_rest::{self, AtRest};
use session::handlers::Handlers;
use session::{faults, invalidations, leftovers, log_rate, signals, watch};
use shared::routes::Measured;
use shared::workers::Kind;
use shared::{Lane, now_us, settings, shared, wake};
use wire::Answer;

use crate::worker::{self, Worker};
use lines::Lines;

thread_local! {
    /// This process's end of the exchange, for the callback of its end. Leaked: the process ends with it.
    static END: Cell<*mut Executor> = const { Cell::new(std::ptr::null_mut()) };
    /// The number of this executor and its database, if it runs jobs.
    static RUNS_JOBS: Cell<Option<(usize, usize)>> = const { Cell::new(None) };
    /// For the handler of SIGUSR2.
    static INTERRUPT: Cell<Option<Interrupt>> = const { Cell::new(None) };
}

/// Requests between two looks at what is due once in a while.
const REQUESTS_PER_HOUSEKEEPING: u32 = 64;

exported! {
    /// Main function of an executor. The argument is [`worker::argument`]'s.
    fn howdah_executor_main(argument: pg_sys::Datum) {
        if let Some(worker) = worker::begin(argument, Kind::Executor) {
            run(&worker);
        }
    }
}

/// Serves until the worker is asked to leave.
fn run(worker: &Worker) {
    let executor =
        Executor::join(shared().exchange, wake::wakers().clone(), worker.lane_number(), worker.index as u32);
    INTERRUPT.set(Some(executor.interrupt()));
    signals::set_cancel_check(|| INTERRUPT.get().is_some_and(|interrupt| interrupt.requested()));
    let executor = Box::into_raw(Box::new(executor));
    END.set(executor);
    // SAFETY: a callback for the end of this process.
    unsafe { pg_sys::before_shmem_exit(Some(leave), pg_sys::Datum::from(0)) };
    watch::register();
    proxies::reload();
    let mut executor = Serving {
        worker,
        // SAFETY: leaked above; the callback uses it only when this function can no longer go on.
        executor: unsafe { &mut *executor },
        runner: Runner::new(worker.entry()),
        lines: Lines::default(),
        jobs: (worker.lane == Lane::Job).then(|| runs(worker)),
        at_rest: AtRest::now(worker.web_role),
        handlers: Handlers::now(),
        answer: Vec::new(),
        scratch: Vec::new(),
        looked: Instant::now(),
        upkeep: Upkeep::default(),
        poured: None,
    };
    if worker.lane == Lane::Ingest {
        memory::keep();
    }
    if worker.lane == Lane::Job {
        signals::set_cancel_check(|| {
            RUNS_JOBS.get().is_some_and(|(executor, _)| Runs::is_cancelled(executor))
        });
        RUNS_JOBS.set(Some((worker.index, worker.database)));
        // SAFETY: safe inside a signal.
        unsafe { pg::pqsignal(libc::SIGQUIT, Some(quit)) };
    }
    executor.serve();
    executor.executor.leave();
}

unfailing_callback! {
    /// Gives back what this process has of the exchange, wherever it was.
    unsafe fn leave(_code: i32, _argument: pg_sys::Datum) {
        // SAFETY: null or leaked; nobody else goes on in this process.
        if let Some(executor) = unsafe { END.get().as_mut() } {
            watch::explain_end();
            executor.leave();
            if let Some((executor, database)) = RUNS_JOBS.get() {
                Runs::leave(executor, database);
            }
        }
    }
}

infallible_callback! {
    /// SIGQUIT: another process has crashed, or the server stops at once. What runs here is not to blame.
    unsafe fn quit(signal: c_int) {
        if let Some((executor, _)) = RUNS_JOBS.get() {
            Runs::tell_to_end(executor);
        }
        // SAFETY: PostgreSQL's own handler, which ends the process.
        unsafe { pg::SignalHandlerForCrashExit(signal) };
    }
}

struct Serving<'w> {
    worker: &'w Worker,
    executor: &'static mut Executor,
    runner: Runner,
    /// What buckets are written with.
    lines: Lines,
    /// What it knows of jobs, if it runs any.
    jobs: Option<Runs>,
    at_rest: AtRest,
    handlers: Handlers,
    /// What is answered about a bucket.
    answer: Vec<u8>,
    /// For requests that do not lie in one place.
    scratch: Vec<u8>,
    /// When it was last looked after queues.
    looked: Instant,
    /// What is left to do about them.
    upkeep: Upkeep,
    /// When the last bucket was written whose memory is kept.
    poured: Option<Instant>,
}

impl Serving<'_> {
    /// Reads the configuration before the first request is taken: while somebody keeps it locked, executors that know it serve.
    fn get_ready(&mut self) {
        while self.runner.table().is_none() && !self.worker.asked_to_leave() {
            match self.refresh() {
                // A request will tell.
                Err(NoTable::NoExtension | NoTable::WrongVersion) => return,
                Err(NoTable::Failed(_)) | Ok(false) => self.worker.wait(Some(invalidations::PAUSE)),
                Ok(true) => {}
            }
        }
    }

    fn refresh(&mut self) -> Result<bool, NoTable> {
        // SAFETY: on the main thread, outside a transaction.
        unsafe {
            match &mut self.jobs {
                Some(jobs) => jobs.refresh(&mut self.runner),
                None if self.worker.lane == Lane::Ingest => self.lines.refresh(&mut self.runner),
                None => self.runner.refresh(&mut nothing_along),
            }
        }
    }

    fn serve(&mut self) {
        self.get_ready();
        let mut since_housekeeping = 0;
        while !self.worker.asked_to_leave() {
            since_housekeeping += 1;
            self.at_rest.restore();
            // SAFETY: PostgreSQL's own variables. A cancel that comes while nothing runs is void; it must be
            // forgotten before the next request can be meant.
            let interrupted = unsafe {
                pg_sys::QueryCancelPending = 0;
                pg_sys::InterruptPending != 0
                    || pg_sys::ConfigReloadPending != 0
                    || pg_sys::catchupInterruptPending != 0
            };
            if interrupted || since_housekeeping > REQUESTS_PER_HOUSEKEEPING {
                since_housekeeping = 0;
                self.housekeeping();
            }
            if self.jobs.is_some() {
                self.take_job();
                continue;
            }
            match self.executor.next(spin(), share) {
                Some(work) => {
                    watch::begin();
                    if self.worker.lane == Lane::Ingest {
                        self.pour(work);
                    } else {
                        self.run(work);
                    }
                    self.handlers.require_unchanged();
                    if watch::should_make_room() {
                        self.worker.make_room();
                    }
                }
                None => {
                    since_housekeeping = 0;
                    watch::rest();
                    if watch::should_make_room() {
                        self.worker.make_room();
                        continue;
                    }
                    self.look_after_queues();
                    if self.upkeep.is_under_way() {
                        // A slice between two looks for requests, which others may take meanwhile.
                        self.executor.busy();
                        self.upkeep.go_on();
                        continue;
                    }
                    let timeout = self.give_memory_back().or_else(upkeep::interval);
                    self.worker.wait(timeout);
                    self.notice_reload();
                }
            }
        }
    }

    /// Gives the memory of buckets back if there has been none for a while. When to look next.
    fn give_memory_back(&mut self) -> Option<Duration> {
        let left = KEPT_FOR.checked_sub(self.poured?.elapsed());
        if left.is_none() {
            own_memory::trim();
            self.poured = None;
        }
        left
    }

    /// A few loads for each queue, unless one is neglected.
    fn look_after_queues(&mut self) {
        if self.worker.lane != Lane::Ingest
            && upkeep::interval().is_some_and(|interval| self.looked.elapsed() >= interval)
        {
            self.looked = Instant::now();
            self.upkeep.look_after_queues();
        }
    }

    fn housekeeping(&mut self) {
        self.worker.housekeeping();
        watch::take_stock();
        self.notice_reload();
    }

    fn notice_reload(&mut self) {
        if session::idle::take_reloaded() {
            proxies::reload();
            self.runner.settings_changed();
            self.lines.settings_changed();
        }
    }

    /// Writes a bucket of lines.
    fn pour(&mut self, mut work: Work) {
        let entry = self.worker.entry();
        entry.set_route(None);
        entry.busy_since.store(now_us(), Relaxed);
        accept_invalidations();
        let (lines, runner) = (&mut self.lines, &mut self.runner);
        let bucket = self.executor.request(&work, &mut self.scratch);
        let answer = log_rate::for_client(|| lines.run(bucket, runner));
        watch::end();
        entry.requests.fetch_add(1, Relaxed);
        if matches!(answer, Answer::Failed(_)) {
            entry.errors.fetch_add(1, Relaxed);
        }
        self.answer = answer.write();
        self.respond(&mut work, 0, None);
        entry.busy_since.store(0, Relaxed);
        entry.idle_since.store(now_us(), Relaxed);
        if self.scratch.capacity() > KEPT_LINES {
            self.scratch = Vec::new();
        }
        self.poured = Some(Instant::now());
        self.housekeeping();
    }

    fn run(&mut self, mut work: Work) {
        let entry = self.worker.entry();
        entry.set_route(None);
        entry.busy_since.store(now_us(), Relaxed);
        reads::taken();
        accept_invalidations();
        let started = Instant::now();
        let done = match Request::parse(self.executor.request(&work, &mut self.scratch)) {
            Ok(request) => {
                faults::panic_if_asked(|name| request.header(name), "in the executor");
                faults::note_interrupt(|name| request.header(name));
                // SAFETY: on the main thread, outside a transaction.
                let done = unsafe { self.runner.run(&request, RunsIn::Executor, started, work.waited()) };
                faults::leave_if_asked(|name| request.header(name));
                done
            }
            Err(error) => self.unreadable(&error.to_string(), started),
        };
        faults::interrupt_if_asked("after the request");
        watch::end();
        record(&done, &work);
        entry.requests.fetch_add(1, Relaxed);
        if done.status >= 500 {
            entry.errors.fetch_add(1, Relaxed);
        }
        let later = later::take().filter(|_| done.status < 300);
        let read = reads::end().and_then(Result::ok).filter(|_| matches!(done.status, 200 | 304));
        let front = match (later, read) {
            (Some(later), _) => Some((later.write().to_vec(), LATER)),
            (None, read) => read.map(|read| (read.write_front(self.runner.plain()), READ)),
        };
        self.respond(&mut work, u32::from(done.status), front);
        faults::interrupt_if_asked("after the answer");
        let now = now_us();
        entry.busy_since.store(0, Relaxed);
        entry.idle_since.store(now, Relaxed);
        if self.scratch.capacity() > KEPT {
            self.scratch = Vec::new();
        }
        self.runner.shrink(KEPT);
    }

    /// Hands the response over, in parts if it is larger than its share of the exchange. The gateway copies
    /// each part at once, so this waits for a gateway, never for a client. Then what the request has left is given up.
    ///
    /// What stands in front is for the gateway alone; its bit in the code says what it is.
    fn respond(&mut self, work: &mut Work, code: u32, front: Option<(Vec<u8>, u32)>) {
        let (front, code) = front.as_ref().map_or((&[][..], code), |(front, bit)| (&front[..], code | bit));
        let plain = match self.runner.plain() {
            Plain::Bytes(plain) if code & READ != 0 => plain,
            _ => &[],
        };
        let answer = if self.worker.lane == Lane::Ingest { &self.answer } else { self.runner.response() };
        let response = [front, plain, answer];
        let mut progress = self.executor.respond(work, &response, code);
        let begun = Instant::now();
        while progress == Progress::Wait {
            self.wait_for_gateway(begun);
            progress = self.executor.resume(work, &response);
        }
        // SAFETY: on the main thread, outside a transaction.
        unsafe { leftovers::tidy() };
    }

    /// Waits until a gateway has copied a part. What is answered may be committed: if this process is to end it does so when
    /// the answer has left, or after some time.
    fn wait_for_gateway(&self, begun: Instant) {
        let held = u32::from(begun.elapsed() < LAST_WORDS);
        // SAFETY: PostgreSQL's own variable, on the main thread. An error in between sets it back to 0, where it was.
        unsafe { pg_sys::InterruptHoldoffCount += held };
        self.worker.wait(Some(PART_TIMEOUT));
        // SAFETY: as above.
        unsafe { pg_sys::InterruptHoldoffCount = pg_sys::InterruptHoldoffCount.saturating_sub(held) };
    }

    /// A gateway of ours has written the request: this cannot happen, and must not end the process.
    fn unreadable(&mut self, reason: &str, started: Instant) -> Done {
        log_rate::for_client(|| log_line::warning!("howdah cannot read a request: {reason}"));
        let status = self.runner.write_unreadable(&Problem::new(500, "the request cannot be read"));
        Done { status, ..Done::nothing(started) }
    }
}

/// Routes that were changed by a commit before the request was sent count for it: the look-up of its route comes
/// before the transaction, whose start would accept the news as well. A few loads where there is none.
fn accept_invalidations() {
    // SAFETY: on the main thread, outside a transaction; nothing with a destructor is held. After an error, which is
    // logged, the transaction's start tries again.
    if unsafe { attempt(Report::Log, || invalidations::accept()) }.is_err() {
        // SAFETY: nothing runs.
        unsafe { at_rest::abort() };
    }
}

/// Memory that is kept for the next request.
const KEPT: usize = 256 << 10;
/// The same for a bucket.
const KEPT_LINES: usize = 8 << 20;
/// For how long the memory of a bucket is kept for another.
const KEPT_FOR: Duration = Duration::from_secs(1);
/// For how long an answer that is larger than its share of the exchange keeps this process from ending.
const LAST_WORDS: Duration = Duration::from_secs(2);
/// How often a wait for the gateway looks whether it has been given up.
const PART_TIMEOUT: Duration = Duration::from_secs(1);

fn spin() -> Duration {
    Duration::from_micros(settings::SPIN.get() as u64)
}

/// What is known to be short leaves the queue to this executor: waking another costs more than the request.
fn share(work: &Work) -> Share {
    let routes = &shared().routes;
    let gate = work.gate() as usize;
    let short = gate < routes.capacity() && routes.get(gate).mean_us().is_some_and(|mean| mean < SHORT_US);
    if short { Share::Keep } else { Share::WakeNext }
}

/// Below this mean another executor is not woken for the rest of the queue: a wake-up costs up to 36 µs.
const SHORT_US: f32 = 100.0;

fn record(done: &Done, work: &Work) {
    let Some(counters) = done.counters else { return };
    let (queue_us, sql_us) = (work.waited().as_micros() as u64, done.took.as_micros() as u64);
    shared().routes.get(counters as usize).record(&Measured {
        status: done.status,
        inline: false,
        cancelled: done.cancelled,
        queue_us,
        sql_us,
        total_us: queue_us + sql_us,
    });
}

/// Jobs as an executor of the lane knows them.
fn runs(worker: &Worker) -> Runs {
    let (executor, database, oid) = (worker.index, worker.database, worker.database_oid.to_u32());
    Runs::new(Seat { executor, database, oid })
}
