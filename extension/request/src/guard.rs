//! A write that says what it is to find: If-Match and its like.
//!
//! What is there is what GET of the same path answers, if its route has entity tags. It runs in the write's transaction, in a subtransaction, as its own
//! role, and the entity tag that it would have is compared. Check and write are one step:
//!
//! - Writes of the same path wait for each other ([`request_transaction::begin_alone`]), so that of equal ones the first succeeds, and the others
//!   see what it has left.
//! - Both see one snapshot. Whoever else has changed a row meanwhile that the write changes, fails it, and the whole request runs again.
//! - A table that was rewritten meanwhile is empty in a snapshot from before. So if catalogs have changed, it runs again as well: once, as
//!   the write may be what changes them.
//!
//! [`request_transaction::begin_alone`]: session::request_transaction::begin_alone

use std::hash::{DefaultHasher, Hash, Hasher};

use conditions::{Preconditions, Validators, Verdict};
use message::{Malformed, Request, Response};
use pg::guard::PgError;
use problem::{Access, Problem};
use router::{Match, Router};
use session::request_transaction::Scope;
use session::{identity, invalidations, leftovers};

use super::current::PathParameter;
use super::endpoint::Endpoint;
use super::error_context::ErrorContext;
use super::receiver::Answer;
use super::run::{Job, Mishap};

/// What a write has to find.
pub(crate) struct Guard<'g> {
    /// The path, hashed: who writes to the same waits.
    pub thing: u64,
    /// What answers GET there; none if it is what answers the write.
    pub endpoint: Option<&'g mut Endpoint>,
    /// The parameters of its path.
    path: Vec<PathParameter<'g>>,
    /// The request that asks for what is there.
    message: Vec<u8>,
    preconditions: Preconditions<'g>,
    /// [`invalidations::epoch`] when the transaction began.
    epoch: u64,
    /// Whether this is not the first try.
    pub again: bool,
}

impl<'g> Guard<'g> {
    /// The endpoint at this place, and what it has to find if it writes and the request says so.
    pub(crate) fn of(
        request: &Request<'g>,
        endpoints: &'g mut [Endpoint],
        place: usize,
        router: &'g Router,
    ) -> (&'g mut Endpoint, Option<Guard<'g>>) {
        let writes = Access::of_method(request.method()) != Access::ReadOnly;
        let Some((read, path, preconditions)) = writes.then(|| named(request, endpoints, router)).flatten()
        else {
            return (&mut endpoints[place], None);
        };
        let guard = |endpoint| Guard {
            thing: hash(request.path()),
            endpoint,
            path,
            message: request.to_read(),
            preconditions,
            epoch: 0,
            again: false,
        };
        if place == read {
            // One route for all methods.
            return (&mut endpoints[place], Some(guard(None)));
        }
        let (low, high) = endpoints.split_at_mut(place.max(read));
        let (own, read) =
            if place < read { (&mut low[place], &mut high[0]) } else { (&mut high[0], &mut low[read]) };
        (own, Some(guard(Some(read))))
    }

    /// Has the request run again if its snapshot may be older than a table.
    pub(crate) fn refuse_outdated(&self) {
        if self.is_outdated() {
            pg::guard::raise(outdated());
        }
    }

    fn is_outdated(&self) -> bool {
        !self.again && invalidations::epoch() != self.epoch
    }
}

/// The place of what answers GET, its path's parameters and a write's conditions, if it has some.
fn named<'g>(
    request: &Request<'g>,
    endpoints: &[Endpoint],
    router: &'g Router,
) -> Option<(usize, Vec<PathParameter<'g>>, Preconditions<'g>)> {
    let headers = request.headers().map(|(name, value)| (name.as_bytes(), value.as_bytes()));
    let preconditions = Preconditions::of(headers);
    if !preconditions.guard_writes() {
        return None;
    }
    let Ok(Match::Found(found)) = router.lookup("GET", request.raw_path()) else { return None };
    let read = found.route as usize;
    endpoints[read].registration.has_tags().then(|| (read, found.params.iter().collect(), preconditions))
}

/// The same in every process of a server.
fn hash(path: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    path.hash(&mut hasher);
    hasher.finish()
}

fn outdated() -> PgError {
    PgError {
        sqlstate: *b"40001",
        message: "tables or functions have changed while the request ran".into(),
        ..PgError::default()
    }
}

impl Job<'_, '_> {
    /// Whether there is what the request names. To be asked when its transaction has begun.
    ///
    /// # Safety
    /// As for [`Job::run`], inside the write's transaction.
    pub(crate) unsafe fn look(
        &mut self,
        own: &mut Endpoint,
        context: &ErrorContext<'_>,
    ) -> Result<bool, Mishap> {
        let Some(mut guard) = self.guard.take() else { return Ok(true) };
        guard.epoch = invalidations::epoch();
        // SAFETY: by contract.
        let verdict = unsafe { self.judge(&mut guard, own, context) };
        let is_outdated = guard.is_outdated();
        self.guard = Some(guard);
        match verdict? {
            Verdict::Perform => Ok(true),
            _ if is_outdated => Err(Mishap::Error(outdated())),
            _ => Ok(false),
        }
    }

    /// Asks for what is there, as its own role, and compares.
    unsafe fn judge(
        &mut self,
        guard: &mut Guard<'_>,
        own: &mut Endpoint,
        context: &ErrorContext<'_>,
    ) -> Result<Verdict, Mishap> {
        let endpoint = guard.endpoint.as_deref_mut().unwrap_or(own);
        let (role, search_path) = (endpoint.registration.role, endpoint.registration.search_path.clone());
        let request = Request::parse(&guard.message).map_err(unreadable)?;
        let mut job = Job {
            request: &request,
            types: self.types,
            identity: self.identity,
            access: Access::ReadOnly,
            scope: Scope::Nested { read_only: true },
            shown: false,
            client: self.client,
            open: self.open,
            receiver: self.receiver,
            preconditions: Some(Preconditions::default()),
            guard: None,
            records: false,
            keeps: false,
            called: self.called,
        };
        // SAFETY: by contract; what is called raises through pgrx's guards.
        let answer = unsafe {
            let run = || identity::assumed(role, &search_path, || job.run_once(endpoint, &guard.path));
            context.guarded(run)?
        };
        let status = match &answer {
            Ok(Answer::Response(status)) => *status,
            Ok(_) => 404,
            Err(mishap) => job.status_of(mishap),
        };
        if !self.called {
            // SAFETY: as above: the write must find nothing of it.
            unsafe { context.guarded(|| leftovers::give_up_in_transaction())? };
        }
        match (status, answer) {
            (404 | 410, _) => Ok(guard.preconditions.judge(false, None)),
            (_, Err(mishap)) => Err(mishap),
            (200..400, Ok(_)) => judge_response(&guard.preconditions, &self.receiver.buffer),
            (status, Ok(_)) => {
                let path = self.request.path();
                let detail = format!("what is to be changed cannot be read: GET {path} is answered so");
                Err(Mishap::Problem(Problem::new(status, detail)))
            }
        }
    }
}

/// What becomes of a write where GET is answered so.
fn judge_response(preconditions: &Preconditions<'_>, response: &[u8]) -> Result<Verdict, Mishap> {
    let response = Response::parse(response).map_err(unreadable)?;
    let header = |name: &[u8]| {
        response.headers().find(|(given, _)| given.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    };
    let there = Validators { tag: header(b"etag"), last_modified: header(b"last-modified") };
    Ok(preconditions.judge(false, Some(there)))
}

/// Both are bytes of our own.
fn unreadable(error: Malformed) -> Mishap {
    Mishap::Problem(Problem::new(500, error.to_string()))
}
