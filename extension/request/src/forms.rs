//! Forms: routes whose page is shown again, with the fields as they were filled in, where they refuse a request (`http.form`).
//!
//! A form's page asks for two things by functions of SQL: which rules the form's fields have ([`PageForm::described`]), and what was sent, if
//! the page is the answer to a form that was refused ([`SentForm`]).

use std::borrow::Cow;

use message::Request;
use problem::{ParameterError, Problem, Wording};
use session::withheld;

use super::endpoint::{Endpoint, Plans};
use super::inputs::Argument;
use super::page_form::PageForm;
use super::routes::Routes;
use super::secrecy::{Secrecy, is_named};
use super::sources;

/// A form that was sent and refused.
pub struct SentForm<'s> {
    request: &'s Request<'s>,
    /// The place of its route.
    place: usize,
    /// Names and values of its fields, in order; secrets and files without value.
    fields: Vec<(Cow<'s, str>, Cow<'s, str>)>,
    /// Parameters that are wrong, in order.
    pub errors: Vec<ParameterError>,
}

/// Forms as a request that runs sees them.
#[derive(Clone, Copy, Default)]
pub struct FormContext<'f> {
    /// All routes; none where nothing has been found yet.
    pub(super) routes: Option<&'f Routes>,
    /// The place of the endpoint that runs.
    pub(super) page: usize,
    /// The form whose refusal this answers.
    pub(super) sent: Option<&'f SentForm<'f>>,
}

/// The form that a call means, and what was sent of it.
#[derive(Clone, Copy, Default)]
pub struct MeantForm<'f> {
    /// The form; none if the page has none.
    pub form: Option<&'f PageForm>,
    /// It was sent, and refused.
    pub sent: Option<&'f SentForm<'f>>,
}

/// Why no form is meant.
pub enum NoForm {
    /// The page has several, with these patterns.
    Several(Vec<String>),
    /// There is none of this name.
    Unknown,
}

impl<'f> FormContext<'f> {
    /// Whether the page answers a form that was refused: at the form's address, not at its own.
    pub fn is_sent(&self) -> bool {
        self.sent.is_some()
    }

    /// The form that a name means: a pattern, or a path that it answers. Without a name it is the only one of the page.
    pub fn meant(&self, name: Option<&str>) -> Result<MeantForm<'f>, NoForm> {
        let Some(routes) = self.routes else { return Ok(MeantForm::default()) };
        let sent = |form: &PageForm| self.sent.filter(|sent| sent.place == form.place);
        let Some(name) = name else {
            let mut forms = routes.forms_of(self.page);
            return match (forms.next(), forms.next()) {
                (None, _) => Ok(MeantForm::default()),
                (Some(form), None) => Ok(MeantForm { form: Some(form), sent: sent(form) }),
                (Some(_), Some(_)) => Err(NoForm::Several(
                    routes.forms_of(self.page).map(|form| form.pattern.clone()).collect(),
                )),
            };
        };
        let form = routes.form_named(name).ok_or(NoForm::Unknown)?;
        // One of many rows' forms is named by its path.
        let is_of_all = form.pattern == name;
        let is_sent = |sent: &&SentForm<'_>| is_of_all || sent.request.raw_path() == name;
        Ok(MeantForm { form: Some(form), sent: sent(form).filter(is_sent) })
    }
}

/// Whether a request was refused for what was typed: its form is shown again.
fn is_of_form(problem: &Problem) -> bool {
    // Of the values that are sent, and of rows made of them: other errors of the data are mistakes of the function.
    let is_of_values = |code: &[u8; 5]| {
        matches!(
            code,
            b"22001"
                | b"22003"
                | b"22007"
                | b"22008"
                | b"22021"
                | b"22P02"
                | b"22P05"
                | b"23502"
                | b"23503"
                | b"23505"
                | b"23514"
                | b"23P01"
                | b"P0001"
        )
    };
    problem.status < 500
        && (!problem.errors.is_empty() || problem.sqlstate.as_ref().is_some_and(is_of_values))
}

impl<'s> SentForm<'s> {
    /// The form that a request has sent, and that was refused. None if its route is no form's, or it was refused for something else.
    pub(super) fn of(
        request: &'s Request<'s>,
        problem: &Problem,
        endpoint: &Endpoint,
        place: usize,
    ) -> Option<SentForm<'s>> {
        if endpoint.registration.form_page.is_none() || !is_of_form(problem) {
            return None;
        }
        let arguments = match &endpoint.plans {
            Plans::Made { function: Some(function), .. } => function.arguments(),
            _ => &[],
        };
        let is_secret = |name: &str| {
            is_named(name)
                || arguments.iter().flat_map(Argument::leaves).any(|(_, argument)| {
                    argument.secrecy != Secrecy::Open && argument.name.as_deref() == Some(name)
                })
        };
        let mut fields = fields(request);
        fields.iter_mut().filter(|(name, _)| is_secret(name)).for_each(|(_, text)| *text = Cow::Borrowed(""));
        let errors = problem
            .errors
            .iter()
            .cloned()
            .map(|error| ParameterError { message: withheld::of(error.message), ..error });
        let mut errors: Vec<_> = errors.collect();
        if errors.is_empty() {
            errors.push(as_a_whole(problem));
        }
        Some(SentForm { request, place, fields, errors })
    }

    /// The values of a field, as they were typed.
    pub fn values<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.fields.iter().filter(move |(known, _)| known == name).map(|(_, value)| &**value)
    }

    /// The error of a parameter.
    pub fn error(&self, name: &str) -> Option<&ParameterError> {
        self.errors.iter().find(|error| error.parameter.as_deref() == Some(name))
    }

    /// Errors of no field that was sent: of the form as a whole, and of what the form has no field for.
    pub fn errors_elsewhere(&self) -> impl Iterator<Item = &ParameterError> {
        self.errors.iter().filter(|error| {
            error.parameter.as_deref().is_none_or(|name| !self.fields.iter().any(|(known, _)| known == name))
        })
    }
}

/// An error that is of no parameter.
fn as_a_whole(problem: &Problem) -> ParameterError {
    let code = problem.sqlstate.unwrap_or(*b"22023");
    // `raise exception` is for people.
    let wording = if code == *b"P0001" { Wording::Application } else { Wording::Server(code) };
    let message = withheld::of(problem.detail.clone().unwrap_or_default());
    ParameterError { parameter: None, message, wording }
}

/// The fields of a form in the body, and of the query string.
fn fields<'s>(request: &'s Request<'s>) -> Vec<(Cow<'s, str>, Cow<'s, str>)> {
    let mut fields = sources::texts_of(request);
    fields.extend(sources::query_of(request));
    fields
}
