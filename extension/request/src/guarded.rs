//! Whether a write finds what it names ([`guard`](super::guard)): asked in its transaction.

use conditions::{Preconditions, Validators, Verdict};
use message::{Malformed, Request, Response};
use problem::{Access, Problem};
use session::{identity, invalidations, leftovers};

use super::endpoint::Endpoint;
use super::error_context::ErrorContext;
use super::guard::{Guard, outdated};
use super::mishap::Mishap;
use super::receiver::Answer;
use super::run::Job;

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
        let mut job = self.beneath(&request, Access::ReadOnly);
        (job.preconditions, job.form) = (Some(Preconditions::default()), guard.form);
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
