//! The page of a form that was refused, as the answer to it: GET of the page's path, run anew after the rollback, as 422.

use std::ops::Range;

use form::accept::prefers_html;
use message::Request;
use problem::{Access, Problem};
use session::deployments;
use session::request_transaction::Scope;

use super::endpoint::Endpoint;
use super::form_path::filled;
use super::forms::{FormContext, SentForm};
use super::mishap::in_an_executor;
use super::path_guards::{PathGuard, of_path};
use super::routes::{Routes, Way};
use super::run::Job;

/// The status of a form that is shown again.
const REFUSED: u16 = 422;

/// The parts of a table that answer requests.
pub(crate) struct Answering<'t> {
    /// Routes, then query handlers.
    pub endpoints: &'t mut [Endpoint],
    /// Which of them are query handlers.
    pub handlers: Range<usize>,
    /// Routes by method and path.
    pub routes: &'t Routes,
    /// Guards of paths.
    pub guards: &'t mut [PathGuard],
}

/// A form to be shown again: how it was sent, and the request for its page.
struct FormAgain<'s> {
    sent: SentForm<'s>,
    message: Vec<u8>,
}

impl<'s> FormAgain<'s> {
    /// None if the request is no form's, its client no browser, or the problem none of what was typed.
    fn of(
        request: &'s Request<'s>,
        problem: &Problem,
        endpoints: &[Endpoint],
        routes: &Routes,
    ) -> Option<FormAgain<'s>> {
        let accept = request.headers().filter(|(name, _)| *name == "accept").map(|(_, value)| value);
        if !prefers_html(accept) {
            return None;
        }
        let Way::Route(place, parameters) = routes.way(request) else { return None };
        let endpoint = &endpoints[place];
        let sent = SentForm::of(request, problem, endpoint, place)?;
        let value = |name: &str| parameters.get(name).map(|value| value.into_owned());
        let raw_path = filled(endpoint.registration.form_page.as_deref()?, value)?;
        let path = router::path::decode(&raw_path).ok()?;
        Some(FormAgain { sent, message: request.to_read_at(&raw_path, &path, request.query_string()) })
    }
}

impl Job<'_, '_> {
    /// Runs what answers the request; a form that was refused is shown again. Of each endpoint that is tried the number of its counters is told; none
    /// once nothing has answered.
    ///
    /// # Safety
    /// As for [`Job::run`].
    pub(crate) unsafe fn answer_or_show_again(
        &mut self,
        answering: Answering<'_>,
        tried: impl FnMut(Option<u32>),
    ) -> Result<u16, Problem> {
        let Answering { endpoints, handlers, routes, guards } = answering;
        let (request, scope, records) = (self.request, self.scope, self.records);
        let access = self.access;
        let mut job = self.another(request, access, scope);
        (job.records, job.path_guards) = (records, of_path(guards, request.path()));
        // SAFETY: by contract.
        let answered = unsafe { job.answer(endpoints, handlers.clone(), routes, tried) };
        let Err(problem) = answered else { return answered };
        let Some(again) = FormAgain::of(request, &problem, endpoints, routes) else { return Err(problem) };
        if self.shown {
            return Err(in_an_executor(problem));
        }
        let Ok(read) = Request::parse(&again.message) else { return Err(problem) };
        let scope = match scope {
            Scope::Own { .. } => Scope::Own { read_only: true },
            _ => Scope::Nested { read_only: true },
        };
        let mut job = self.another(&read, Access::ReadOnly, scope);
        job.path_guards = of_path(guards, read.path());
        job.form = FormContext { sent: Some(&again.sent), ..FormContext::default() };
        // SAFETY: by contract: the transaction before is over.
        match unsafe { job.answer(endpoints, handlers, routes, |_| ()) } {
            Ok(200..=299) => {
                refuse(&mut self.receiver.buffer);
                Ok(REFUSED)
            }
            Err(mixed) if mixed.sqlstate == Some(deployments::MIXED) => Err(mixed),
            _ => Err(problem),
        }
    }
}

/// Makes a page the answer to a form that was refused.
fn refuse(response: &mut Vec<u8>) {
    message::set_status(response, REFUSED);
    message::vary_by(response, "accept");
}
