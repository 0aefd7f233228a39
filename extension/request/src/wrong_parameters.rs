//! All that is wrong with a request's parameters, told at once.
//!
//! The first value that cannot be converted fails the request's transaction. Then, and only then, each of the others is converted in a
//! subtransaction of another one, of which nothing stays. It runs as the endpoint's role, as the request has.

use pg::guard::{Report, direct};
use problem::{Meaning, ParameterError, Problem};
use session::leftovers;
use session::request_transaction::{self, Outside, Scope};
use session::subtransaction::attempted;

use super::arguments;
use super::bound_value::{Bound, Value};
use super::current::{self, PathParameter};
use super::endpoint::{Endpoint, Plans};
use super::error_context::ErrorContext;
use super::given::bind;
use super::inputs::{Argument, Input};
use super::request_log::Shown;
use super::run::Job;

/// Whether the value of an argument may turn out to be none of its type.
fn may_be_wrong(argument: &Argument, value: &Value<'_>) -> bool {
    match (&argument.input, value) {
        (Input::Request, _) => false,
        (Input::Text, Value::Text(_) | Value::Json(_) | Value::Null) => argument.is_domain,
        (_, Value::Null) => argument.is_domain,
        _ => true,
    }
}

/// The arguments that a request gives, with their places and values.
fn given<'b, 'v>(
    arguments: &'b [Argument],
    bound: &'b Bound<'v>,
) -> impl Iterator<Item = (usize, &'b Argument, &'b Value<'v>)> {
    let places = (0..arguments.len()).filter(|place| bound.given >> place & 1 == 1);
    places.zip(&bound.values).map(|(place, value)| (place, &arguments[place], value))
}

impl Job<'_, '_> {
    /// Tells what else is wrong with a request of which something is: its transaction is over.
    ///
    /// # Safety
    /// As for [`Job::run_once`], after it has failed.
    pub(super) unsafe fn look_further(
        &mut self,
        endpoint: &Endpoint,
        path: &[PathParameter<'_>],
        problem: &mut Problem,
    ) {
        let Plans::Made { function: Some(function), .. } = &endpoint.plans else { return };
        let Ok(mut bound) = bind(&endpoint.plans, self.request, path) else { return };
        let mut wrong = std::mem::take(&mut bound.wrong);
        let arguments = function.arguments();
        let is_known = |argument: &Argument| {
            problem.errors.iter().any(|error| Some(error.parameter.as_str()) == argument.name.as_deref())
        };
        let others: Vec<_> = given(arguments, &bound)
            .filter(|(_, argument, value)| !is_known(argument) && may_be_wrong(argument, value))
            .collect();
        if !others.is_empty() {
            // SAFETY: by contract.
            wrong.extend(unsafe { self.converted(endpoint, path, &others) });
        }
        let place = |name: &str| {
            let named = arguments.iter().position(|argument| argument.name.as_deref() == Some(name));
            named.or_else(|| arguments.iter().position(|argument| argument.name.is_none()))
        };
        let known = std::mem::take(&mut problem.errors).into_vec();
        wrong.extend(known.into_iter().map(|error| (place(&error.parameter).unwrap_or_default(), error)));
        wrong.sort_by_key(|(place, _)| *place);
        wrong.dedup_by_key(|(place, _)| *place);
        let all = Problem::of_parameters(wrong.into_iter().map(|(_, error)| error).collect());
        (problem.detail, problem.errors) = (all.detail, all.errors);
    }

    /// Converts values, and gives the errors of those that cannot be.
    unsafe fn converted(
        &mut self,
        endpoint: &Endpoint,
        path: &[PathParameter<'_>],
        values: &[(usize, &Argument, &Value<'_>)],
    ) -> Vec<(usize, ParameterError)> {
        let (request, types, role) = (self.request, self.types, endpoint.registration.role);
        let context = ErrorContext { what: &Shown(request), report: Report::Quiet };
        let scope = if self.scope == Scope::Shared { Scope::Own { read_only: true } } else { self.scope };
        // SAFETY: inside the transaction of the caller.
        let outside = matches!(scope, Scope::Nested { .. }).then(|| unsafe { Outside::now() });
        let mut wrong = Vec::new();
        // SAFETY: by contract: outside of a transaction, or in the caller's. What has begun is ended.
        unsafe {
            let begun = context.guarded(|| {
                request_transaction::begin(scope, role);
            });
            if begun.is_ok() {
                current::with(request, path, self.client, types, || {
                    for (place, argument, value) in values {
                        let convert =
                            || direct(|| arguments::convert_checked(argument, value, Some(request), types));
                        // A cancel, or what comes of the server, ends it.
                        let looked = context.guarded(|| attempted(convert).map(|_| ()));
                        match looked {
                            Ok(Ok(())) => {}
                            Ok(Err(error)) if Meaning::of(&error.sqlstate).is_texts_fault() => {
                                let parameter = argument.name.clone().unwrap_or_else(|| "body".to_owned());
                                wrong.push((*place, ParameterError { parameter, message: error.message }));
                            }
                            Ok(Err(_)) => {}
                            Err(_) => break,
                        }
                    }
                });
            }
            current::clear();
            match outside {
                Some(outside) => outside.roll_back(),
                None => leftovers::abort(),
            }
        }
        wrong
    }
}
