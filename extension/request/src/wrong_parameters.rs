//! All that is wrong with a request's parameters, told at once.
//!
//! The first value that cannot be converted fails the request's transaction. Then, and only then, those after it are converted: types
//! that need it in another transaction, of which nothing stays. It runs as the endpoint's role, as the request has. A row that a constraint has refused is
//! of the parameter that is named as its column. The comment on the constraint or the domain is the message.

use std::cell::Cell;

use pg::guard::{PgError, Report, attempt, direct};
use pg::scratch;
use pgrx::pg_sys::{self, Oid};
use problem::{Meaning, ParameterError, Problem, Wording};
use session::leftovers;
use session::request_transaction::{self, Outside, Scope};
use session::subtransaction::attempted;

use super::arguments;
use super::blame::{Blamed, blamed};
use super::bound_value::{ArgumentPlace, Bound, Value};
use super::current::{self, CurrentRequest, PathParameter};
use super::endpoint::{Endpoint, Plans};
use super::error_context::ErrorContext;
use super::forms::FormContext;
use super::given::bind;
use super::inputs::{Argument, Input};
use super::mishap::Mishap;
use super::refused;
use super::request_log::Shown;
use super::run::Job;
use super::types::Types;

/// Whether the value of an argument may turn out to be none of its type.
fn may_be_wrong(argument: &Argument, value: &Value<'_>) -> bool {
    match (&argument.input, value) {
        (Input::Request, _) => false,
        (Input::Text, Value::Text(_) | Value::Json(_) | Value::Null) => argument.is_domain,
        (_, Value::Null) => argument.is_domain,
        _ => true,
    }
}

/// An argument, or an attribute of a row, its place and the value that a request gives it.
type GivenValue<'b, 'v> = (ArgumentPlace, &'b Argument, &'b Value<'v>);

/// The values that a request gives, of rows those of their attributes.
fn given<'b, 'v>(arguments: &'b [Argument], bound: &'b Bound<'v>) -> Vec<GivenValue<'b, 'v>> {
    let places = (0..arguments.len()).filter(|place| bound.given >> place & 1 == 1);
    let mut given = Vec::new();
    for (place, value) in places.zip(&bound.values) {
        if let Value::Row(values) = value {
            let attributes = arguments[place].attributes.iter().zip(values).enumerate();
            given.extend(
                attributes
                    .map(|(number, (attribute, value))| ((place, Some(number)), &attribute.argument, value)),
            );
        }
        given.push(((place, None), &arguments[place], value));
    }
    given
}

/// Whether an error may be about a parameter: a constraint has refused a row, or whoever has raised it for everybody names a column.
fn may_blame(error: &PgError) -> bool {
    let meaning = Meaning::of(&error.sqlstate);
    let names_something = || error.more.as_deref().is_some_and(|more| more.names.iter().any(Option::is_some));
    meaning.tells() && meaning.is_clients_fault() && names_something()
}

/// The argument that what is blamed means.
fn meant<'a>(arguments: &'a [Argument], found: &Blamed) -> Option<&'a Argument> {
    let leaves = || arguments.iter().flat_map(Argument::leaves).map(|(_, leaf)| leaf);
    let named = |column: &String| leaves().find(|leaf| leaf.name.as_ref() == Some(column));
    let typed = |domain| leaves().find(|leaf| leaf.type_oid == domain);
    found.columns.iter().find_map(named).or_else(|| found.domain.and_then(typed))
}

impl Job<'_, '_> {
    /// Tells all that is wrong with what a request has given, as far as that is why it has failed. Its transaction is over.
    ///
    /// # Safety
    /// As for [`Job::run_once`], after it has failed.
    pub(super) unsafe fn tell_wrong(
        &mut self,
        endpoint: &Endpoint,
        path: &[PathParameter<'_>],
        mishap: &mut Mishap,
    ) {
        let mut refused = refused::take();
        match mishap {
            Mishap::Problem(problem) if problem.status == 400 && !problem.errors.is_empty() => {
                // SAFETY: by contract.
                unsafe { self.look_further(endpoint, path, problem) }
            }
            Mishap::Error(error) if may_blame(error) || !refused.is_empty() => {
                let mut problem = self.problem_of(error);
                if problem.status < 500 {
                    // SAFETY: by contract.
                    refused.extend(unsafe { self.refused_by(endpoint, path, error) });
                }
                if problem.status < 500 && !refused.is_empty() {
                    problem.errors = refused.into();
                    *mishap = Mishap::Problem(problem);
                }
            }
            _ => {}
        }
    }

    /// Tells what else is wrong with a request of which something is.
    unsafe fn look_further(
        &mut self,
        endpoint: &Endpoint,
        path: &[PathParameter<'_>],
        problem: &mut Problem,
    ) {
        let Plans::Made { function: Some(function), .. } = &endpoint.plans else { return };
        let request = self.request();
        let Ok(mut bound) = bind(endpoint, &request, path) else { return };
        let mut wrong = std::mem::take(&mut bound.wrong);
        let arguments = function.arguments();
        let place = |name: Option<&str>| {
            let leaves = || {
                arguments.iter().enumerate().flat_map(|(place, argument)| {
                    argument.leaves().map(move |(attribute, leaf)| ((place, attribute), leaf))
                })
            };
            let named = leaves().find(|(_, leaf)| leaf.name.as_deref() == name);
            named.or_else(|| leaves().find(|(_, leaf)| leaf.name.is_none())).map(|(place, _)| place)
        };
        let mut doubtful = given(arguments, &bound);
        if let [known] = &*problem.errors
            && problem.sqlstate.is_some()
            && let Some(failed) = place(known.parameter.as_deref())
            && let Some(at) = doubtful.iter().position(|(place, ..)| *place == failed)
        {
            // Those before it were converted, and why it was not is known, but for what a domain's comment says.
            let is_told = !doubtful[at].1.is_domain;
            doubtful.drain(..at + usize::from(is_told));
        }
        doubtful.retain(|(_, argument, value)| may_be_wrong(argument, value));
        let (plain, others): (Vec<_>, Vec<_>) = doubtful.into_iter().partition(|(_, argument, value)| {
            argument.needs_no_transaction() && matches!(value, Value::Text(_) | Value::Json(_))
        });
        // SAFETY: by contract.
        unsafe {
            wrong.extend(converted_alone(&plain, self.types));
            if !others.is_empty() {
                wrong.extend(self.converted(endpoint, path, &others));
            }
        }
        // Those that were known come last: what was found now has the words for people.
        let known = std::mem::take(&mut problem.errors).into_vec();
        let known = known.into_iter();
        wrong.extend(known.map(|error| (place(error.parameter.as_deref()).unwrap_or_default(), error)));
        // A row is wrong as a whole where no attribute of it is.
        let attributes: Vec<_> =
            wrong.iter().filter_map(|((place, attribute), _)| attribute.map(|_| *place)).collect();
        wrong.retain(|((place, attribute), _)| attribute.is_some() || !attributes.contains(place));
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
        values: &[GivenValue<'_, '_>],
    ) -> Vec<(ArgumentPlace, ParameterError)> {
        let (request, types) = (&self.request(), self.types);
        let mut wrong = Vec::new();
        // SAFETY: by contract.
        unsafe {
            self.in_another(endpoint, path, |context| {
                let mut rest = values;
                // A subtransaction lasts until one of them cannot be converted.
                while !rest.is_empty() {
                    let at = Cell::new(0);
                    let convert = || {
                        for (number, (_, argument, value)) in rest.iter().enumerate() {
                            at.set(number);
                            direct(|| arguments::convert_checked(argument, value, Some(request), types));
                        }
                    };
                    // A cancel, or what comes of the server, ends it.
                    let Ok(Err(error)) = context.guarded(|| attempted(convert)) else { break };
                    if !Meaning::of(&error.sqlstate).is_texts_fault() {
                        rest = &rest[at.get() + 1..];
                        continue;
                    }
                    let (place, argument, _) = &rest[at.get()];
                    let found = if argument.is_domain {
                        context.guarded(|| blamed(&error, Some(argument.type_oid)))
                    } else {
                        Ok(Blamed::default())
                    };
                    let Ok(found) = found else { break };
                    wrong.push((*place, worded(argument.name.as_deref(), error, found.comment)));
                    rest = &rest[at.get() + 1..];
                }
            });
        }
        wrong
    }

    /// The part of an error that is about a parameter, or for people; none if it has neither.
    unsafe fn refused_by(
        &mut self,
        endpoint: &Endpoint,
        path: &[PathParameter<'_>],
        error: &PgError,
    ) -> Option<ParameterError> {
        let mut found = None;
        // SAFETY: by contract.
        unsafe {
            self.in_another(endpoint, path, |context| {
                found = context.guarded(|| blamed(error, None)).ok();
            });
        }
        let found = found?;
        let arguments = match &endpoint.plans {
            Plans::Made { function: Some(function), .. } => function.arguments(),
            _ => &[],
        };
        let parameter = meant(arguments, &found).and_then(|argument| argument.name.as_deref());
        let says = parameter.is_some() || found.comment.is_some();
        says.then(|| worded(parameter, error.clone(), found.comment))
    }

    /// Works in another transaction than the request's, which is over, as its endpoint's role. Nothing of it stays.
    unsafe fn in_another(
        &mut self,
        endpoint: &Endpoint,
        path: &[PathParameter<'_>],
        work: impl FnOnce(&ErrorContext<'_>),
    ) {
        let (request, role) = (&self.request(), endpoint.registration.role);
        let owner = match &endpoint.plans {
            Plans::Made { function: Some(function), .. } => function.owner(),
            _ => Oid::INVALID,
        };
        let context = ErrorContext { what: &Shown(request), report: Report::Quiet };
        let scope = if self.scope == Scope::Shared { Scope::Own { read_only: true } } else { self.scope };
        // SAFETY: by contract: outside of a transaction, or in the caller's. What has begun is ended.
        unsafe {
            let outside = matches!(scope, Scope::Nested { .. }).then(|| Outside::now());
            let begun = context.guarded(|| {
                request_transaction::begin(scope, role);
            });
            if begun.is_ok() {
                let seen = CurrentRequest { form: FormContext::default(), ..self.seen(request, path, owner) };
                current::with(&seen, || work(&context));
            }
            current::clear();
            match outside {
                Some(outside) => outside.roll_back(),
                None => leftovers::abort(),
            }
        }
    }
}

/// Converts values of types that need no transaction, and gives the errors of those that cannot be.
///
/// # Safety
/// On the main thread, outside of a transaction or inside one.
unsafe fn converted_alone(
    values: &[GivenValue<'_, '_>],
    types: &Types,
) -> Vec<(ArgumentPlace, ParameterError)> {
    let mut wrong = Vec::new();
    if values.is_empty() {
        return wrong;
    }
    // SAFETY: by contract; the functions take memory and nothing else, which goes.
    unsafe {
        let outer = pg_sys::CurrentMemoryContext;
        let memory = scratch::new_in(outer);
        for (place, argument, value) in values {
            pg_sys::CurrentMemoryContext = memory;
            let converted =
                attempt(Report::Quiet, || arguments::convert_checked(argument, value, None, types));
            if let Err(error) = converted {
                if !Meaning::of(&error.sqlstate).is_texts_fault() {
                    break;
                }
                wrong.push((*place, worded(argument.name.as_deref(), error, None)));
            }
        }
        pg_sys::CurrentMemoryContext = outer;
        pg_sys::MemoryContextDelete(memory);
    }
    wrong
}

/// An error of a parameter, in the words of the application if it has some.
fn worded(parameter: Option<&str>, error: PgError, comment: Option<String>) -> ParameterError {
    let parameter = parameter.map(str::to_owned);
    match comment {
        Some(message) => ParameterError { parameter, message, wording: Wording::Application },
        // A message that somebody raises is for people.
        None if matches!(&error.sqlstate[..2], b"P0" | b"PT") => {
            ParameterError { parameter, message: error.message, wording: Wording::Application }
        }
        None => {
            ParameterError { parameter, message: error.message, wording: Wording::Server(error.sqlstate) }
        }
    }
}
