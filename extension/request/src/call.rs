//! `http.call`: a request in the transaction of a session that asks for it. It runs as it would in a worker, of the routes and functions
//! as this transaction has made them, in a subtransaction: what fails leaves nothing.

use std::cell::Cell;

use message::Request;
use problem::Access;
use session::authority::{as_final_triggers, refuse_opened};
use session::deferred;
use session::deploying::Running;
use session::identity::Identity;
use session::invalidations;
use session::leftovers::give_up_opened;
use session::request_transaction::{Scope, check_constraints};

pub use super::current::take_endpoint;
use super::form_again::Answering;
use super::forms::FormContext;
use super::open::OpenPlans;
use super::reads::{self, Named};
use super::receiver::Receiver;
use super::run::Job;
use super::table::{NoTable, Table};
use super::{called, current, error_pages, grants, later, proxies, stored_body};

thread_local! {
    /// Whether this session has the callbacks and hooks that a worker has from its start.
    static WATCHES: Cell<bool> = const { Cell::new(false) };
    /// Whether it sees the start of plans as well.
    static RECORDS: Cell<bool> = const { Cell::new(false) };
}

/// Runs the request. Returns the response, a [`message::Response`].
///
/// # Safety
/// On the main thread of a session, inside a transaction with a snapshot, and in no request.
pub unsafe fn call(request: &Request<'_>) -> Vec<u8> {
    // SAFETY: by contract.
    unsafe { run(request, false) }
}

/// Runs the request, which only reads. Returns the response as well as what it has read; none if it has failed.
///
/// # Safety
/// As for [`call`].
pub unsafe fn explain(request: &Request<'_>) -> (Vec<u8>, Option<Named>) {
    if !RECORDS.replace(true) {
        grants::watch();
    }
    // SAFETY: by contract.
    let answer = unsafe { run(request, true) };
    (answer, reads::end_named())
}

unsafe fn run(request: &Request<'_>, records: bool) -> Vec<u8> {
    watch();
    take_endpoint();
    refuse_opened("what answers a request of http.call()");
    // SAFETY: by contract.
    let mut table = unsafe { table() };
    let access = Access::of_method(request.method());
    let read_only = access == Access::ReadOnly;
    if !read_only {
        // What the caller has deferred is the caller's: nobody else's rights are to run it.
        // SAFETY: by contract; an error unwinds.
        unsafe { pg::guard::direct(|| check_constraints()) };
    }
    let Table { types, secret, endpoints, handlers, routes, guards } = &mut table;
    let mut receiver = Receiver::new();
    let mut job = Job {
        request,
        types,
        secret,
        identity: &mut Identity::default(),
        open: &mut OpenPlans::default(),
        receiver: &mut receiver,
        // The session shows what it was asked for.
        shown: false,
        access,
        scope: Scope::Nested { read_only },
        client: proxies::client(request),
        preconditions: None,
        guard: None,
        records,
        keeps: false,
        called: true,
        path_guards: Vec::new(),
        unpacked: None,
        form: FormContext::default(),
    };
    // What the caller has in the session, and has put off, is the caller's.
    let _running = Running::begin();
    let answering = Answering { endpoints, handlers: handlers.clone(), routes, guards };
    // SAFETY: by contract.
    let answer = || unsafe { job.answer_or_show_again(answering, |_| ()) };
    let answered = if read_only { as_final_triggers(answer) } else { deferred::initially(answer) };
    // SAFETY: inside the transaction, after the request's subtransaction.
    unsafe { give_up_opened() };
    if !read_only {
        deferred::give_back();
    }
    // A read that would wait for rows has answered that there are none.
    later::take();
    let buffer = std::mem::take(&mut receiver.buffer);
    match answered {
        Ok(_) => buffer,
        Err(problem) => error_pages::shown(request, problem.write(buffer, request.id())),
    }
}

/// The configuration, as the transaction sees it.
unsafe fn table() -> Table {
    // SAFETY: by contract; pgrx guards each call, so values are dropped.
    match unsafe { Table::of_transaction() } {
        Ok(table) => table,
        Err(NoTable::Failed(error)) => pg::guard::unwind(error),
        Err(NoTable::NoExtension | NoTable::WrongVersion) => {
            pgrx::error!("howdah's library does not serve this version of the extension")
        }
    }
}

/// Whether a request runs here: in a worker, or by [`call`].
pub fn is_in_request() -> bool {
    // SAFETY: nothing of it is used.
    unsafe { current::get() }.is_some()
}

/// Has this session hear of changes, as a worker does from its start.
pub fn watch() {
    if !WATCHES.replace(true) {
        invalidations::watch();
        called::watch();
        stored_body::watch();
    }
}
