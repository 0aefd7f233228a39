//! From a request to the parameters of an endpoint's plan.

use message::Request;
use pg::guard::PgError;
use pgrx::pg_sys;
use problem::{Meaning, ParameterError, Problem, Wording};

use super::arguments;
use super::bound_value::Bound;
use super::current::PathParameter;
use super::endpoint::{Endpoint, Plans};
use super::mishap::Mishap;
use super::params::{self, RequestSource};
use super::plan::{Origin, Plan};
use super::types::Types;

/// The values for the arguments of the endpoint's function, if it has one.
pub(crate) fn bind<'b>(
    endpoint: &Endpoint,
    request: &'b Request<'_>,
    path: &'b [PathParameter<'_>],
) -> Result<Bound<'b>, Mishap> {
    let Plans::Made { function: Some(function), .. } = &endpoint.plans else { return Ok(Bound::default()) };
    arguments::bind(function, request, path, endpoint.registration.form_page.is_some())
        .map_err(|error| Mishap::Problem(Problem::new(error.status, error.detail)))
}

/// The plan's parameters.
///
/// # Safety
/// Inside a guard and a transaction, as the endpoint's role.
pub(crate) unsafe fn parameters(
    plan: &Plan,
    bound: &Bound<'_>,
    request: &Request<'_>,
    types: &Types,
    source: &mut RequestSource,
) -> pg_sys::ParamListInfo {
    // SAFETY: by contract.
    unsafe {
        if plan.origin != Origin::Statement {
            arguments::convert(&plan.arguments, &bound.values, Some(request), types)
        } else {
            params::of_request(source)
        }
    }
}

/// A value that cannot be converted is the client's fault, and which one it was helps.
pub(crate) fn name_parameter(error: PgError, plan: &Plan, shown: bool) -> Mishap {
    let Some((place, attribute)) = arguments::failed_conversion() else { return error.into() };
    let argument = plan.arguments.get(place);
    let attribute = argument.zip(attribute).map(|(argument, number)| &argument.attributes[number].argument);
    let name = attribute.or(argument).and_then(|argument| argument.name.as_deref()).unwrap_or("body");
    if !Meaning::of(&error.sqlstate).is_texts_fault() {
        return Mishap::Error(error);
    }
    let (parameter, wording) = (Some(name.to_owned()), Wording::Server(error.sqlstate));
    let wrong = ParameterError { parameter, message: error.message, wording };
    let mut problem = Problem::of_parameters(vec![wrong]);
    problem.sqlstate = Some(error.sqlstate);
    if shown {
        problem.more = [error.detail, error.hint];
    }
    Mishap::Problem(problem)
}
