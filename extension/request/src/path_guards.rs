//! Guards: functions that look at each request to a path and all below it before anything else answers. Each runs in the request's
//! transaction, from the outer to the inner. Null lets the request pass; anything else is the answer, and an error is one, too: a guard
//! that is broken, or gone, refuses everything.

use pgrx::pg_sys::VOIDOID;
use problem::Problem;
use router::is_below;
use session::request_transaction::{self, Begun, Leftovers};
use session::standbys::Confirmation;
use session::{authority, identity, leftovers};

use super::current::PathParameter;
use super::endpoint::{Endpoint, Plans};
use super::error_context::ErrorContext;
use super::function::Function;
use super::mishap::{Mishap, elsewhere};
use super::other_site::refuse_from_elsewhere;
use super::receiver::Answer;
use super::recording::{self, Obstacle};
use super::run::Job;
use super::types::is_response;
use super::{later, read_inputs};

/// A guard as it is registered.
pub(crate) struct PathGuard {
    /// It guards this path and all below it.
    pub prefix: String,
    /// Its function.
    pub endpoint: Endpoint,
}

/// The guards of a path, percent-decoded, from the outer to the inner: as they are sorted.
pub(crate) fn of_path<'g>(guards: &'g mut [PathGuard], path: &str) -> Vec<&'g mut Endpoint> {
    let above = guards.iter_mut().filter(|guard| is_below(&guard.prefix, path));
    above.map(|guard| &mut guard.endpoint).collect()
}

/// Why a function guards nothing: what it returns says neither yes nor no, or it may not be called at all, which would be a yes.
pub fn obstacle(function: &Function) -> Option<String> {
    let says = is_response(function.result()) || function.result() == VOIDOID;
    let why = if !says || function.returns_set() {
        "it returns neither http.response nor void"
    } else if function.is_strict() && !function.arguments().is_empty() {
        "it is STRICT, and a null argument would let everybody in"
    } else {
        return None;
    };
    Some(format!("{} is no guard: {why}", function.qualified_name()))
}

impl Job<'_, '_> {
    /// Asks the guards in what has begun, and ends that with the answer of the first that gives one; none if all let the request pass.
    ///
    /// # Safety
    /// As for [`Job::run`], inside the transaction, as the endpoint's role.
    pub(crate) unsafe fn pass_guards(
        &mut self,
        endpoint: &Endpoint,
        path: &[PathParameter<'_>],
        begun: &Option<Begun>,
        context: &ErrorContext<'_>,
    ) -> Result<Option<Answer>, Mishap> {
        if self.path_guards.is_empty() {
            return Ok(None);
        }
        if self.shown {
            // A gateway that knew of them would not have begun.
            return Err(elsewhere());
        }
        let mut guards = std::mem::take(&mut self.path_guards);
        read_inputs::in_guard(true);
        // SAFETY: by contract.
        let answer = guards
            .iter_mut()
            .find_map(|guard| unsafe { self.ask_guard(guard, endpoint, path, context) }.transpose());
        read_inputs::in_guard(false);
        self.path_guards = guards;
        let answer = answer.transpose()?;
        if let (Some(_), Some(begun)) = (&answer, *begun) {
            // SAFETY: by contract; it owns nothing.
            let end = || unsafe { request_transaction::finish(begun, Leftovers::Possible) };
            // SAFETY: as above.
            if unsafe { context.guarded(end)? } == Confirmation::Missing {
                later::take();
                return Ok(Some(Answer::Unconfirmed));
            }
        }
        Ok(answer)
    }

    /// The answer of one guard; none if it lets the request pass.
    unsafe fn ask_guard(
        &mut self,
        guard: &mut Endpoint,
        endpoint: &Endpoint,
        path: &[PathParameter<'_>],
        context: &ErrorContext<'_>,
    ) -> Result<Option<Answer>, Mishap> {
        let (of_guard, of_route) = (&guard.registration, &endpoint.registration);
        let is_same = (of_guard.role, &of_guard.search_path) == (of_route.role, &of_route.search_path);
        // SAFETY: by contract.
        let answer = unsafe {
            if is_same {
                self.ask_as_route(guard, path, context)?
            } else {
                self.ask_apart(guard, path, context)?
            }
        };
        let Plans::Made { function: Some(function), .. } = &guard.plans else {
            return Err(Mishap::Problem(Problem::new(500, "a guard of this path has no plan")));
        };
        if let Some(reason) = obstacle(function) {
            return Err(Mishap::Problem(Problem::new(500, reason)));
        }
        let passes = function.result() == VOIDOID || matches!(answer, Answer::Nothing | Answer::Null);
        Ok((!passes).then_some(answer))
    }

    /// Where it runs as the route does: what it sets lasts for the request.
    unsafe fn ask_as_route(
        &mut self,
        guard: &mut Endpoint,
        path: &[PathParameter<'_>],
        context: &ErrorContext<'_>,
    ) -> Result<Answer, Mishap> {
        let (preconditions, write, keeps) =
            (self.preconditions.take(), self.guard.take(), std::mem::take(&mut self.keeps));
        // It sees the body as it was sent, also where the request runs once more.
        let unpacked = self.unpacked.take();
        // SAFETY: by contract.
        let answer = unsafe { self.run_endpoint(guard, path, true, &None, context) };
        (self.preconditions, self.guard, self.keeps, self.unpacked) = (preconditions, write, keeps, unpacked);
        answer
    }

    /// Where it has another role or search_path: in a subtransaction, with which its settings end.
    unsafe fn ask_apart(
        &mut self,
        guard: &mut Endpoint,
        path: &[PathParameter<'_>],
        context: &ErrorContext<'_>,
    ) -> Result<Answer, Mishap> {
        let (role, search_path) = (guard.registration.role, guard.registration.search_path.clone());
        let (called, title) = (self.called, guard.title.to_string_lossy().into_owned());
        if self.records {
            recording::blame(Obstacle::Settings);
        }
        let (request, access) = (self.request, self.access);
        let mut job = self.beneath(request, access);
        // SAFETY: by contract; what is called raises through pgrx's guards.
        unsafe {
            let run = || {
                if called {
                    authority::check_caller(role, &title);
                }
                identity::assumed(role, &search_path, || job.run_once(guard, path))
            };
            let answer = context.guarded(run)??;
            if !called {
                // The route must find nothing of it.
                context.guarded(|| leftovers::give_up_in_transaction())?;
            }
            Ok(answer)
        }
    }

    /// Asks the guards of a path at which nothing is: strangers do not learn that. The answer; none if all let the request pass.
    ///
    /// # Safety
    /// As for [`Job::run`].
    pub(crate) unsafe fn pass_guards_of_nothing(&mut self) -> Result<Option<Answer>, Problem> {
        let Some(inner) = self.path_guards.pop() else { return Ok(None) };
        // As at a route: who sends what no route takes learns nothing either.
        refuse_from_elsewhere(self.request)?;
        // SAFETY: by contract.
        let answer = unsafe { self.run(inner, &[])? };
        let is_void = match &inner.plans {
            Plans::Made { function: Some(function), .. } => {
                if let Some(reason) = obstacle(function) {
                    return Err(Problem::new(500, reason));
                }
                function.result() == VOIDOID
            }
            _ => false,
        };
        let passes =
            matches!(answer, Answer::Nothing | Answer::Null) || is_void && answer == Answer::Response(204);
        Ok((!passes).then_some(answer))
    }
}
