//! The runner: finds what answers a request, and runs it.

use std::time::{Duration, Instant};

use message::Request;
use problem::{Access, Meaning, Problem};
use session::identity::Identity;
use session::request_transaction::Scope;
use session::{compiled, deployments, invalidations, log_rate, stored_settings, withheld};
use shared::workers::WorkerEntry;

use super::caching::Caching;
use super::endpoint::Endpoint;
use super::form_again::Answering;
use super::forms::FormContext;
use super::open::OpenPlans;
use super::packed_answer::{PackedAnswer, Packing, Plain};
use super::receiver::Receiver;
use super::request_log::log_request;
use super::run::Job;
use super::table::{self, Along, NoTable, Table};
use super::{called, grants, plan_bound, proxies, ready, stored_body};

/// Runs requests in this process.
pub struct Runner {
    pub(crate) table: Option<Table>,
    /// Before which time it is not read again, after reading has failed.
    refresh_from: Option<Instant>,
    pub(crate) identity: Identity,
    pub(crate) receiver: Box<Receiver>,
    open: OpenPlans,
    pub(crate) packed: PackedAnswer,
    /// Where to note which endpoint runs.
    entry: &'static WorkerEntry,
}

/// Where a request runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RunsIn {
    /// In an executor.
    Executor,
    /// In the gateway, in a read-only transaction of its own.
    Gateway,
    /// In the gateway, in a read-only transaction that several requests share.
    GatewayShared,
}

/// What became of a request. The response is in [`Runner::response`].
#[derive(Clone, Copy, Debug)]
pub struct Done {
    /// It was cancelled: its client has left, or its time was over.
    pub cancelled: bool,
    /// Run in the gateway, it has failed in a way that an executor may not: run it there.
    pub elsewhere: bool,
    /// Status of the response.
    pub status: u16,
    /// The endpoint that has answered, by the number of its counters: none as well if there is no room for counters
    /// (`howdah.max_routes`).
    pub counters: Option<u32>,
    /// How long finding and running it took, which statistics call the time in SQL.
    pub took: Duration,
    /// When it had ended.
    pub ended: Instant,
}

impl Done {
    /// Nothing has run since `started`.
    pub fn nothing(started: Instant) -> Done {
        let ended = Instant::now();
        let took = ended - started;
        Done { cancelled: false, elsewhere: false, status: 0, counters: None, took, ended }
    }

    /// The same, as it has gone on until now.
    fn until_now(self) -> Done {
        let ended = Instant::now();
        Done { took: self.took + (ended - self.ended), ended, ..self }
    }
}

impl Runner {
    /// A runner without a table: [`Self::refresh`] reads it.
    pub fn new(entry: &'static WorkerEntry) -> Self {
        invalidations::watch();
        compiled::watch();
        grants::watch();
        called::watch();
        stored_body::watch();
        Runner {
            table: None,
            refresh_from: None,
            identity: Identity::default(),
            receiver: Receiver::new(),
            open: OpenPlans::default(),
            packed: PackedAnswer::default(),
            entry,
        }
    }

    /// Reads the configuration again if it has changed; whether it has. Call it outside a transaction, after
    /// invalidations have been accepted. If reading fails, because somebody holds a lock on a table say, the table stays
    /// as it was, and it is tried again after [`invalidations::PAUSE`]; then nothing that `along` has read counts.
    ///
    /// # Safety
    /// On the main thread, outside a transaction.
    pub unsafe fn refresh(&mut self, along: Along<'_>) -> Result<bool, NoTable> {
        let is_due = self.table.is_none() || invalidations::configuration_is_stale();
        if !is_due || self.refresh_from.is_some_and(|from| Instant::now() < from) {
            return Ok(false);
        }
        // SAFETY: by contract.
        let table = match unsafe { Table::load(&mut self.table, along) } {
            Ok(table) => table,
            Err(error) => {
                // A cancel was meant for one request, and what took the memory may be over. The next one must not be answered by the
                // old table because of it.
                let is_of_one = matches!(&error, NoTable::Failed(failed) if matches!(failed.sqlstate(), "57014" | "53200"));
                self.refresh_from = (!is_of_one).then(|| Instant::now() + invalidations::PAUSE);
                return Err(error);
            }
        };
        self.refresh_from = None;
        // SAFETY: by contract.
        unsafe { stored_settings::learn(table.endpoints.iter().map(|endpoint| endpoint.registration.role)) };
        self.table = Some(table);
        Ok(true)
    }

    /// The same for what goes on with the table that it has while the new one is locked.
    ///
    /// # Safety
    /// As for [`Self::refresh`].
    pub unsafe fn refresh_if_unlocked(&mut self, along: Along<'_>) -> Result<bool, NoTable> {
        // SAFETY: by contract.
        match unsafe { self.refresh(along) } {
            Err(NoTable::Failed(error)) if self.table.is_some() && error.sqlstate == *b"55P03" => Ok(false),
            result => result,
        }
    }

    /// The table as last read.
    pub fn table(&self) -> Option<&Table> {
        self.table.as_ref()
    }

    /// The number of the counters of the endpoint at this place.
    pub fn number(&self, place: usize) -> Option<u32> {
        self.table.as_ref().and_then(|table| table.endpoints[place].number())
    }

    /// The response of the last request: a [`message::Response`].
    pub fn response(&self) -> &[u8] {
        &self.receiver.buffer
    }

    /// The last answer as it was before it was packed, for its gateway, if that may keep it.
    pub fn plain(&self) -> Plain<'_> {
        self.packed.plain(self.receiver.is_kept)
    }

    /// The response of the last request, taken.
    pub fn take_response(&mut self) -> Vec<u8> {
        std::mem::replace(&mut self.receiver.buffer, self.packed.take_spare())
    }

    /// Whether the endpoint at this place has its plans.
    pub fn is_planned(&self, place: usize) -> bool {
        self.table.as_ref().is_some_and(|table| table.endpoints[place].is_made())
    }

    /// Makes the plans of the endpoint at this place. What fails is logged, and leaves it without.
    ///
    /// # Safety
    /// On the main thread, outside a transaction.
    pub unsafe fn make_plans(&mut self, place: usize) {
        if let Some(table) = self.table.as_mut() {
            // SAFETY: by contract.
            unsafe { ready::make_plans(&mut table.endpoints[place], &table.types, &mut self.identity) };
        }
    }

    /// Whether some answers of the endpoint at this place have entity tags.
    pub fn has_tags(&self, place: usize) -> bool {
        self.table.as_ref().is_some_and(|table| table.endpoints[place].registration.has_tags())
    }

    /// How answers of the endpoint at this place are kept; none if they are not.
    pub fn caching(&self, place: usize) -> Option<&Caching> {
        self.table.as_ref().and_then(|table| table.endpoints[place].registration.caching.as_ref())
    }

    /// Whether the endpoint at this place has its plans, and they only read.
    pub fn reads_only(&self, place: usize) -> bool {
        self.table.as_ref().is_some_and(|table| table.endpoints[place].reads_only())
    }

    /// Whether the endpoint at this place is what a gateway has found unfit to run there. What has changed since it was
    /// looked at last is looked at again.
    pub fn is_unfit(&mut self, place: usize, unfit: u64) -> bool {
        self.table.as_mut().is_some_and(|table| table.endpoints[place].is_unfit(unfit))
    }

    /// Keeps the endpoint of these counters with the executors until its function changes.
    pub fn keep_out(&self, number: u32) {
        let endpoints = self.table.iter().flat_map(|table| &table.endpoints);
        endpoints.filter(|endpoint| endpoint.number() == Some(number)).for_each(Endpoint::keep_out);
    }

    /// Puts in force what the endpoint at this place runs with. False if that fails.
    ///
    /// # Safety
    /// On the main thread, outside a transaction.
    pub unsafe fn assume(&mut self, place: usize) -> bool {
        let Some(table) = self.table.as_ref() else { return false };
        let registration = &table.endpoints[place].registration;
        // SAFETY: by contract.
        unsafe { self.identity.assume(registration.role, &registration.search_path).is_ok() }
    }

    /// Shows in pg_stat_activity that the endpoint at this place runs.
    pub fn show(&self, place: usize) {
        if let Some(table) = self.table.as_ref() {
            table.endpoints[place].show();
        }
    }

    /// Whether the endpoints run as one role and with one search_path.
    pub fn have_one_identity(&self, places: std::ops::Range<usize>) -> bool {
        self.table.as_ref().is_some_and(|table| {
            let mut registrations = table.endpoints[places].iter().map(|endpoint| &endpoint.registration);
            let Some(first) = registrations.next() else { return false };
            registrations.all(|other| other.role == first.role && other.search_path == first.search_path)
        })
    }

    /// Whether what is in force is what the endpoint at this place runs with.
    pub fn runs_as_assumed(&self, place: usize) -> bool {
        self.table.as_ref().is_some_and(|table| {
            let registration = &table.endpoints[place].registration;
            self.identity.is(registration.role, &registration.search_path)
        })
    }

    /// Ends the plans that are open, before the shared transaction is committed.
    ///
    /// # Safety
    /// Inside a guard and the shared transaction.
    pub unsafe fn end_plans(&mut self) {
        // SAFETY: by contract.
        unsafe { self.open.end() }
    }

    /// Has plans go that were used least lately, where they are too many.
    ///
    /// # Safety
    /// On the main thread, while none is open.
    pub unsafe fn bound_plans(&mut self) {
        if let Some(table) = self.table.as_mut() {
            // SAFETY: by contract.
            unsafe { plan_bound::bound(&mut table.endpoints) };
        }
    }

    /// Forgets the plans that were open, after the shared transaction has failed.
    pub fn forget_plans(&mut self) {
        self.open.forget();
    }

    /// Forgets what settings were in force, after a reload.
    pub fn settings_changed(&mut self) {
        self.identity.doubt();
    }

    /// Gives back memory that a large response has taken.
    pub fn shrink(&mut self, kept: usize) {
        if self.receiver.buffer.capacity() > kept {
            self.receiver.buffer = Vec::new();
        }
        self.packed.shrink(kept);
    }

    /// Writes an error for a request whose id is not known.
    pub fn write_unreadable(&mut self, problem: &Problem) -> u16 {
        self.receiver.buffer = problem.write(std::mem::take(&mut self.receiver.buffer), &message::id::new());
        problem.status
    }

    /// Runs a request, which has waited for so long, and commits what it has written. The time is asked for at its end
    /// alone.
    ///
    /// # Safety
    /// On the main thread; outside a transaction for [`RunsIn::Executor`], inside the shared one otherwise.
    pub unsafe fn run(
        &mut self,
        request: &Request<'_>,
        runs_in: RunsIn,
        started: Instant,
        waited: Duration,
    ) -> Done {
        let mut counters = None;
        withheld::forget();
        (self.receiver.is_uncompressed, self.receiver.knows_tags, self.receiver.is_kept) =
            (false, false, false);
        // SAFETY: by contract.
        let result = unsafe { self.answer_of_one_deployment(request, runs_in, &mut counters) };
        let mut done = Done { counters, ..Done::nothing(started) };
        done.status = match result {
            Ok(status) => status,
            Err(problem) => {
                let meaning = problem.sqlstate.as_ref().map(Meaning::of);
                done.cancelled = meaning.is_some_and(Meaning::is_cancel);
                done.elsewhere =
                    runs_in != RunsIn::Executor && meaning.is_some_and(Meaning::may_differ_in_an_executor);
                if done.elsewhere { 0 } else { self.write_problem(request, &problem) }
            }
        };
        if !done.elsewhere {
            match self.packed.pack(request, &mut self.receiver, runs_in != RunsIn::Executor) {
                Packing::Left => {}
                Packing::Tried => done = done.until_now(),
                Packing::TooLong => done.elsewhere = true,
            }
        }
        if !done.elsewhere {
            log_request(request, done.status, waited, done.took);
        }
        withheld::forget();
        if runs_in != RunsIn::GatewayShared {
            // SAFETY: by contract; the request is over.
            unsafe { self.bound_plans() };
        }
        done
    }

    /// Runs a request, and again if its application was deployed meanwhile: nobody gets an answer of two deployments.
    unsafe fn answer_of_one_deployment(
        &mut self,
        request: &Request<'_>,
        runs_in: RunsIn,
        counters: &mut Option<u32>,
    ) -> Result<u16, Problem> {
        // SAFETY: by contract.
        unsafe {
            let mut answer = || log_rate::for_client(|| self.answer(request, runs_in, counters));
            if runs_in == RunsIn::GatewayShared {
                return answer();
            }
            let is_mixed = |result: &Result<u16, Problem>| {
                runs_in == RunsIn::Executor
                    && result.as_ref().is_err_and(|problem| problem.sqlstate == Some(deployments::MIXED))
            };
            deployments::unmixed(answer, is_mixed)
                .unwrap_or_else(|| Err(Problem::new(503, "the application is being deployed")))
        }
    }

    /// Writes an error as the response.
    pub(crate) fn write_problem(&mut self, request: &Request<'_>, problem: &Problem) -> u16 {
        let buffer = std::mem::take(&mut self.receiver.buffer);
        let shown = problem.clone().without(withheld::of);
        self.receiver.buffer = shown.write(buffer, request.id());
        problem.status
    }

    unsafe fn answer(
        &mut self,
        request: &Request<'_>,
        runs_in: RunsIn,
        counters: &mut Option<u32>,
    ) -> Result<u16, Problem> {
        // SAFETY: by contract.
        unsafe {
            // In a gateway the places of what waits are those of the table as it is.
            if runs_in == RunsIn::Executor {
                self.refresh_if_unlocked(&mut table::nothing_along).map_err(no_table)?;
            }
            let Some(table) = self.table.as_mut() else {
                return Err(Problem::new(503, "howdah is not ready"));
            };
            let Table { types, secret, endpoints, handlers, routes, guards } = table;
            let mut job = Job {
                request,
                types,
                secret,
                identity: &mut self.identity,
                open: &mut self.open,
                receiver: &mut self.receiver,
                shown: runs_in != RunsIn::Executor,
                access: Access::of_method(request.method()),
                scope: scope(runs_in, Access::of_method(request.method())),
                client: proxies::client(request),
                preconditions: None,
                guard: None,
                records: false,
                keeps: false,
                called: false,
                path_guards: Vec::new(),
                unpacked: None,
                form: FormContext::default(),
            };
            let answering = Answering { endpoints, handlers: handlers.clone(), routes, guards };
            job.answer_or_show_again(answering, |number| {
                *counters = number;
                self.entry.set_route(number);
            })
        }
    }
}

fn no_table(error: NoTable) -> Problem {
    match error {
        NoTable::NoExtension => Problem::new(503, "the extension howdah is not in this database"),
        NoTable::WrongVersion => {
            Problem::new(503, "howdah's library does not serve this version of the extension")
        }
        NoTable::Failed(_) => Problem::new(503, "the routes cannot be read; the server's log says why"),
    }
}

/// In what a request runs.
fn scope(runs_in: RunsIn, access: Access) -> Scope {
    match runs_in {
        RunsIn::Executor => Scope::Own { read_only: access == Access::ReadOnly },
        RunsIn::Gateway => Scope::Own { read_only: true },
        RunsIn::GatewayShared => Scope::Shared,
    }
}
