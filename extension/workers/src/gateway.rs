//! A gateway: the event loop and SQL in one process, one after the other.
//!
//! [`::gateway::Server`] knows sockets and protocols and no SQL. Each turn of its loop brings what has
//! arrived; then, outside of it, this module decides where each request runs:
//!
//! - here, if it reads only and is known to be short: [`inline`], for as long as its [`deadline`] lets it, endpoints
//!   taking turns by [`dispatch::FairTurns`];
//! - in an executor otherwise: [`flights`] are those under way through the exchange.
//!
//! [`dispatching`] decides that. Lines of JSON come as [`buckets`], which executors of their own lane write; [`accounts`] tells the views of them.
//! A gateway that keeps too much memory ([`kept_memory`]) has another take its place.
//! A request whose answer waits for rows of a queue is [parked](dispatch::Parked) meanwhile; one for which
//! the exchange has no room [waits](dispatch::Waiting). What is answered without running anything is counted by [`refusals`].
//! [`listeners`] binds what the tables say ([`configured`]), and [`leaving`] gives it up. [`certificates`] has what they speak TLS with, [`shown`] tells it to
//! sessions, and [`handshakes`] tells the log what goes wrong. What is [`remembered`] is answered by [`knowing`] it, [`static_files`] by [`file_answers`]. What comes by a listener that only sends clients to https is answered by
//! [`redirecting`]. Between two turns PostgreSQL gets its due: interrupts, barriers, invalidations, statistics.

mod accounts;
mod bucket_answers;
mod buckets;
mod budget;
pub mod certificates;
mod configured;
mod deadline;
mod dispatching;
mod file_answers;
mod flights;
mod followers;
mod handshakes;
mod inline;
mod kept_memory;
mod knowing;
mod leaving;
pub mod limits;
mod listeners;
mod redirecting;
mod refusals;
mod remembered;
mod shared_transaction;
pub mod shown;
mod static_files;

use std::cell::Cell;
use std::collections::VecDeque;
use std::os::fd::{BorrowedFd, RawFd};
use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::time::{Duration, Instant};

use ::error_pages::ErrorPages;
use ::gateway::{Server, Ticket};
use pg::entry::{exported, unfailing_callback};
use pg::guard::{Report, attempt};
use pg::log_line;
use pgrx::pg_sys;
use pgrx::spi::SpiClient;
use request::table::NoTable;
use request::{Runner, admission, error_pages, proxies};
use session::at_rest::{self, AtRest};
use session::{log_rate, stored_settings};
use shared::databases::LineKind;
use shared::workers::Kind;
use shared::{now_us, settings, shared, wake};

use crate::worker::{self, Worker};
use accounts::Accounts;
use buckets::Buckets;
use certificates::Certificates;
use configured::Configured;
use flights::Flights;
use inline::Inline;
use kept_memory::KeptMemory;
use leaving::Leaving;
use listeners::Listeners;
use static_files::StaticFiles;

thread_local! {
    /// This process's end of the exchange, for the callback of its end. Leaked: the process ends with it.
    static END: Cell<*mut exchange::Gateway> = const { Cell::new(std::ptr::null_mut()) };
}

/// How long the loop sleeps at most: what nobody wakes it for is seen after this time.
const TICK: Duration = Duration::from_secs(1);
/// The same while requests are under way or wait.
const BUSY_TICK: Duration = Duration::from_millis(5);

/// Requests of clients that have left of which a turn takes note.
const GONE: usize = 512;

exported! {
    /// Main function of a gateway. The argument is [`worker::argument`]'s.
    fn howdah_gateway_main(argument: pg_sys::Datum) {
        if let Some(worker) = worker::begin(argument, Kind::Gateway) {
            run(&worker);
        }
    }
}

/// Serves until the worker is asked to leave and everything that ran has ended.
fn run(worker: &Worker) {
    limits::raise_file_limit();
    limits::say_what_is_not_watched();
    let mut server = match Server::new(limits::in_force()) {
        Ok(server) => server,
        Err(error) => pgrx::error!("howdah gateway cannot begin: {error}"),
    };
    let end = exchange::Gateway::join(shared().exchange, wake::wakers().clone(), worker.index as u32);
    let end = Box::into_raw(Box::new(end));
    END.set(end);
    // SAFETY: a callback for the end of this process.
    unsafe { pg_sys::before_shmem_exit(Some(leave), pg_sys::Datum::from(0)) };
    deadline::register();
    admission::watch();
    proxies::reload();
    server.trust_proxies(proxies::trusts);
    let mut gateway = Gateway {
        worker,
        server,
        // SAFETY: leaked above; the callback uses it only when this function can no longer go on.
        flights: Flights::new(unsafe { &mut *end }, worker),
        runner: Runner::new(worker.entry()),
        inline: Inline::new(AtRest::now(worker.web_role)),
        kept_memory: KeptMemory::new(),
        listeners: Listeners::new(worker),
        configured: Configured::default(),
        static_files: StaticFiles::new(),
        certificates: Certificates::new(worker),
        buckets: Buckets::default(),
        accounts: Accounts::new(worker),
        last_housekeeping: Instant::now(),
        last_tick: Instant::now(),
        was_woken: false,
        gone: VecDeque::new(),
        leaving: Leaving::No,
    };
    gateway.serve();
    gateway.flights.leave();
}

unfailing_callback! {
    /// Gives back what this process has of the exchange, wherever it was.
    unsafe fn leave(_code: i32, _argument: pg_sys::Datum) {
        // SAFETY: null or leaked; nobody else goes on in this process.
        if let Some(end) = unsafe { END.get().as_mut() } {
            end.leave();
        }
    }
}

struct Gateway<'w> {
    worker: &'w Worker,
    server: Server,
    flights: Flights,
    runner: Runner,
    inline: Inline,
    kept_memory: KeptMemory,
    listeners: Listeners,
    /// What SQL asks to listen on, as last read.
    configured: Configured,
    static_files: StaticFiles,
    certificates: Certificates,
    buckets: Buckets,
    accounts: Accounts,
    last_housekeeping: Instant,
    last_tick: Instant,
    /// Whether somebody has woken this process in the last turn.
    was_woken: bool,
    /// Requests whose clients have left, and which are to be cancelled.
    gone: VecDeque<Ticket>,
    /// What becomes of it once the worker is asked to leave.
    leaving: Leaving,
}

impl Gateway<'_> {
    fn serve(&mut self) {
        self.watch();
        self.refresh();
        remembered::get_ready();
        while !self.leaving.has_ended(self.worker, &mut self.server) {
            self.turn();
        }
        self.inline.end(&mut self.runner);
    }

    fn watch(&mut self) {
        for fd in [self.worker.wake_fd(), self.worker.postmaster_fd()] {
            // SAFETY: both stay open as long as the process lives.
            let fd = unsafe { BorrowedFd::borrow_raw(fd) };
            if let Err(error) = self.server.watch(fd) {
                pgrx::error!("howdah gateway cannot watch its wake-ups: {error}");
            }
        }
    }

    /// One turn of the loop: sockets first, then PostgreSQL, then requests.
    fn turn(&mut self) {
        let timeout = self.timeout();
        let (flights, inline, runner) = (&mut self.flights, &mut self.inline, &mut self.runner);
        let turn = self.server.turn(Some(timeout), &mut || {
            inline.end(runner);
            flights.about_to_sleep()
        });
        if turn.poured > 0 || self.flights.have_buckets() {
            self.accounts.doubt();
        }
        self.flights.awake();
        for note in self.server.notes() {
            log_line::log!("howdah gateway: {note}");
        }
        self.tell_of_handshakes();
        self.look_at_descriptors();
        self.serve_postgres();
        self.cancel_gone();
        self.flights.remembered.take_packed();
        self.flights.deliver(&mut self.server);
        self.follow_up();
        self.take_arrived();
        self.send_parts();
        self.buckets.send(&mut self.flights, &mut self.server);
        self.flights.flush();
        let (inline, runner, server, flights) =
            (&mut self.inline, &mut self.runner, &mut self.server, &mut self.flights);
        log_rate::for_client(|| inline.run(runner, server, flights));
        self.inline.rest();
        self.tick();
    }

    /// Tells the log of handshakes that have failed, within what may be logged for clients.
    fn tell_of_handshakes(&mut self) {
        for failed in self.server.failed_handshakes() {
            if log_rate::allows(LineKind::Client) {
                log_line::log!("{}", handshakes::told(&failed));
            }
        }
    }

    fn timeout(&self) -> Duration {
        if !self.inline.is_empty() || !self.gone.is_empty() || self.static_files.is_due {
            Duration::ZERO
        } else if self.is_busy() {
            BUSY_TICK
        } else {
            self.flights.patience().map_or(TICK, |patience| patience.min(TICK))
        }
    }

    fn is_busy(&self) -> bool {
        // Whoever changes the configuration wakes gateways just before its news can be seen.
        self.was_woken
            || self.runner.table().is_none()
            || self.flights.any()
            || self.flights.remembered.followers.any()
            || self.buckets.any()
            || self.static_files.any()
            || self.accounts.are_late()
            || self.listeners.retry_soon()
            || self.leaving.has_begun()
    }

    fn look_at_descriptors(&mut self) {
        let ready: Vec<RawFd> = self.server.readable().collect();
        self.was_woken = false;
        if ready.contains(&self.worker.postmaster_fd()) {
            self.worker.exit_orphaned();
        }
        if ready.contains(&self.worker.wake_fd()) {
            wake::drain(self.worker.kind, self.worker.index);
            self.was_woken = true;
        }
    }

    /// Interrupts and invalidations in every turn, at the cost of a few loads; the rest once a second.
    fn serve_postgres(&mut self) {
        // SAFETY: PostgreSQL's own variables.
        let pending = unsafe {
            pg_sys::InterruptPending != 0
                || pg_sys::ConfigReloadPending != 0
                || pg_sys::catchupInterruptPending != 0
        };
        if pending || self.last_housekeeping.elapsed() > TICK {
            self.last_housekeeping = Instant::now();
            self.inline.end(&mut self.runner);
            self.worker.housekeeping();
            remembered::get_ready();
            if session::idle::take_reloaded() {
                self.reload();
            }
        }
        // SAFETY: on the main thread; nothing with a destructor is held.
        let accepted = unsafe { attempt(Report::Log, || session::invalidations::accept()) };
        if accepted.is_err() {
            // SAFETY: between two requests; what it ends is the transaction that they share.
            unsafe { at_rest::abort() };
            self.runner.forget_plans();
        }
        if accepted.is_err() || session::invalidations::configuration_is_stale() {
            self.inline.end(&mut self.runner);
            self.refresh();
        }
    }

    fn reload(&mut self) {
        proxies::reload();
        self.runner.settings_changed();
        self.flights.remembered.clear();
        self.static_files.limit();
        self.server.set_limits(limits::in_force());
        self.server.set_built_in_error_pages(settings::BUILT_IN_ERROR_PAGES.get());
        self.certificates.look(true);
        self.refresh_listeners();
    }

    /// Follows the configuration. While somebody holds a lock on its tables, the gateway goes on with what it knows.
    fn refresh(&mut self) {
        let (mut configured, mut pages, mut files) =
            (Configured::default(), ErrorPages::default(), Vec::new());
        let static_files = &self.static_files;
        let mut along = |client: &SpiClient<'_>| {
            (configured, pages) = (Configured::read(client)?, error_pages::read(client)?);
            files = static_files.read(client)?;
            Ok(())
        };
        // SAFETY: on the main thread, outside a transaction.
        match unsafe { self.runner.refresh(&mut along) } {
            Ok(false) => {}
            Ok(true) => {
                let roles = configured.lines.iter().map(|intake| intake.destination.role.into());
                // SAFETY: as above.
                unsafe { stored_settings::learn(roles) };
                self.configured = configured;
                self.static_files.take(files);
                self.server.set_error_pages(pages);
                self.flights.remembered.clear();
                self.tell_of_jobs();
                self.name_routes();
                self.refresh_listeners();
                // Places in the old table may be others in this one.
                self.dispatch_again();
            }
            Err(NoTable::NoExtension) => self.worker.leave_no_extension(),
            Err(NoTable::WrongVersion) => self.worker.leave_wrong_version(),
            // Logged; tried again soon.
            Err(NoTable::Failed(_)) => {}
        }
    }

    /// Says whether there need be executors for jobs.
    fn tell_of_jobs(&self) {
        let kinds = self.configured.job_kinds;
        if self.worker.database().job_kinds.swap(kinds, Relaxed) != kinds {
            shared().nudge_supervisor();
        }
    }

    /// Says which routes there are, so that others give up their counters and gates.
    fn name_routes(&mut self) {
        let Some(table) = self.runner.table() else { return };
        let numbers = table.numbers();
        shared().routes.name(self.worker.database_oid.to_u32(), &numbers, now_us());
        self.flights.keep_gates(&numbers);
    }

    fn refresh_listeners(&mut self) {
        if self.leaving.is_draining() {
            return;
        }
        if self.runner.table().is_some() {
            self.certificates.look(false);
            self.listeners.follow(
                &self.configured.http,
                &self.configured.lines,
                &self.certificates,
                &mut self.server,
            );
            self.flights.keep_listeners(self.configured.lines.len());
            // Executors write into the entry of a listener, so it is there before the first line is read.
            self.accounts.forget_when();
            self.keep_accounts();
            self.worker.entry().certificates.store(self.certificates.in_force(), SeqCst);
            self.worker.entry().listens.store(true, SeqCst);
        }
    }

    /// Cancels what nobody waits for any more: a part in each turn, as thousands of clients may leave at a time.
    fn cancel_gone(&mut self) {
        self.gone.extend(self.server.gone());
        let mut left = false;
        for ticket in self.gone.drain(..self.gone.len().min(GONE)) {
            left |= !self.flights.cancel(ticket);
        }
        if left {
            // What waits for the inline lane is looked at when its turn comes.
            self.buckets.forget_gone(&self.server);
        }
    }

    /// What is due once in a while.
    fn tick(&mut self) {
        self.flights.nudge();
        self.flights.retry(&mut self.server);
        self.flights.resume_parked(self.leaving.is_draining(), &mut self.server);
        if self.last_tick.elapsed() < BUSY_TICK {
            return;
        }
        self.last_tick = Instant::now();
        self.flights.enforce_deadlines(&mut self.server);
        self.flights.remembered.tick(&self.server);
        self.follow_up();
        self.flights.follow_executors();
        self.flights.ask_for_executors();
        let counters = self.server.counters();
        self.worker.entry().connections.store(counters.open as u64, Relaxed);
        self.worker.entry().requests.store(counters.requests, Relaxed);
        self.worker.entry().in_flight.store(self.server.in_flight() as u64, Relaxed);
        self.flights.refusals.publish(&counters);
        log_rate::tell_left_out(self.worker.database());
        self.keep_accounts();
        self.listeners.end_the_late(&mut self.server);
        if self.certificates.look(false) || self.listeners.should_retry() {
            self.refresh_listeners();
        }
        if self.kept_memory.look() {
            self.dispatch_again();
        }
        self.kept_memory.make_room(self.worker);
        self.leaving.go_on(self.worker, &self.listeners, &mut self.server);
    }

    /// Writes down what came in, and says whether there need be executors for it.
    fn keep_accounts(&mut self) {
        let Some(open) = self.accounts.keep(&self.listeners, &self.server) else { return };
        let wanted = self.configured.lines.len().max(open.into()) as u32;
        if self.worker.database().line_listeners.swap(wanted, Relaxed) != wanted {
            shared().nudge_supervisor();
        }
    }
}
