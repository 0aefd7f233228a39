//! Functions of forms: `http.form`, which registers one, `http.invalid`, and those by which its page shows it.

use std::rc::Rc;

use fields::messages::{FieldFault, for_people};
use fields::{Choice, Control, FormField, Rules, TypeClass, elements};
use pg::entry::{Call, Returned, columns, sql_function};
use pg::guard::{PgError, direct, unwind};
use pg::refuse::{refuse, refuse_with_hint};
use pgrx::pg_sys::{self, Datum};
use pgrx::prelude::*;
use problem::{ParameterError, Wording};
use request::described_form::{DescribedField, DescribedForm};
use request::forms::{MeantForm, NoForm};
use request::{current, refused};
use session::authority::{refuse_restricted, value_as_owner};

use super::html::piece;
use super::registering::{BOTH, check_route_owner, check_set};
use super::requests::request;

const INVALID: PgSqlErrorCode = PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE;
/// A mistake of a page's author: nobody who asks for the page can do anything about it.
const WRITTEN_WRONG: PgSqlErrorCode = PgSqlErrorCode::ERRCODE_SYNTAX_ERROR;

sql_function!(
    /// `http.form(method, pattern, page)`
    howdah_form,
    |call| {
        refuse_restricted();
        let method = call.need_text(0, "method").to_uppercase();
        let (pattern, page) = (call.need_text(1, "pattern"), call.text(2));
        if matches!(method.as_str(), "GET" | "HEAD" | "OPTIONS") {
            refuse_with_hint(
                INVALID,
                &format!("a form that is sent by {method} is not refused: the page is its answer"),
                "Name the route that takes it: POST, PUT, PATCH, DELETE or *.",
            );
        }
        page.iter().for_each(|page| check_page(page, pattern));
        check_route_owner(&method, pattern, BOTH);
        let set = value_as_owner::<bool>(
            "update http.route r set form_page = $3 where r.method = $1 and r.pattern = $2 returning true",
            &[method.as_str().into(), pattern.into(), page.into()],
        );
        check_set(set, &method, pattern);
        Datum::null()
    }
);

/// An error if there is no such path, or if it has a parameter that the form's route lacks.
fn check_page(page: &str, pattern: &str) {
    if page.contains(['?', '#']) {
        refuse_with_hint(
            INVALID,
            &format!("the page of a form is a path, and {page} has a query"),
            "The page gets the query that the form is sent with.",
        );
    }
    let parameters = match router::checked_parameters(page) {
        Ok(parameters) => parameters,
        Err(error) => refuse(INVALID, &format!("the page of a form is a path: {error}")),
    };
    let known = router::parameters(pattern);
    if let Some(lost) = parameters.iter().find(|name| !known.contains(name)) {
        refuse_with_hint(
            INVALID,
            &format!("the page {page} has the parameter {lost}, which {pattern} has not"),
            "The path of a form's page is filled by the parameters of the form's own path: rename the one or the other.",
        );
    }
}

sql_function!(
    /// `http.invalid(parameter, message)`
    howdah_invalid,
    |call| {
        let (parameter, message) = (call.text(0), call.need_text(1, "message"));
        if request().is_none() {
            refuse(
                PgSqlErrorCode::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
                "no request runs here, so no parameter of it is invalid",
            );
        }
        let message = &message[..message.floor_char_boundary(LONGEST)];
        if !refused::note(parameter.filter(|name| !name.is_empty()), message) {
            refuse(
                PgSqlErrorCode::ERRCODE_PROGRAM_LIMIT_EXCEEDED,
                &format!("a request has no more than {} invalid parameters", refused::MOST),
            );
        }
        if refused::is_ending() {
            unwind(PgError { sqlstate: *b"PT422", message: message.to_owned(), ..PgError::default() });
        }
        Datum::null()
    }
);

/// Bytes of a message.
const LONGEST: usize = 2048;

/// The form that an argument names, or the only one of the page.
fn meant<'a>(name: Option<&str>) -> MeantForm<'a> {
    // SAFETY: every function here uses it within its call.
    let Some(forms) = (unsafe { current::get() }).map(|seen| seen.form) else { return MeantForm::default() };
    match forms.meant(name) {
        Ok(meant) => meant,
        Err(NoForm::Several(patterns)) => refuse_with_hint(
            WRITTEN_WRONG,
            &format!("the page has several forms: {}", patterns.join(", ")),
            "Name one by its pattern, or by its path: form => '/books/{id}'.",
        ),
        Err(NoForm::Unknown) => refuse_with_hint(
            PgSqlErrorCode::ERRCODE_UNDEFINED_OBJECT,
            &format!("there is no form {}", name.unwrap_or_default()),
            "http.form() makes a form of a route; it is named by the route's pattern, or by a path that it answers.",
        ),
    }
}

/// A form's field of a name, for as long as it is looked at.
fn with_described<T>(
    meant: &MeantForm<'_>,
    name: &str,
    look: impl FnOnce(Option<&DescribedField>) -> T,
) -> T {
    let described = described(meant);
    look(described.as_ref().and_then(|form| form.field(name)))
}

/// The fields of a form, if one is meant.
fn described(meant: &MeantForm<'_>) -> Option<Rc<DescribedForm>> {
    // SAFETY: every function here uses it within its call, inside a transaction.
    let (form, seen) = meant.form.zip(unsafe { current::get() })?;
    // SAFETY: as above.
    Some(unsafe { form.described(seen.types) })
}

/// An error if a form has no argument for a field, whose value nobody would take.
fn check_name(meant: &MeantForm<'_>, name: &str) {
    let Some((form, described)) = meant.form.zip(described(meant)) else { return };
    if !described.takes(name) {
        refuse_with_hint(
            WRITTEN_WRONG,
            &format!("the form {} {} has no argument {name}", form.method, form.pattern),
            &format!("It has {}.", described.names()),
        );
    }
}

/// The words of a server's error of what the form has no field for, with its name; those of an application stand for themselves.
fn with_label(error: &ParameterError, message: String) -> String {
    match &error.parameter {
        Some(name) if error.wording != Wording::Application => format!("{}: {message}", label(name)),
        _ => message,
    }
}

/// An error in words for people.
fn message(meant: &MeantForm<'_>, error: &ParameterError) -> String {
    let refused = match error.wording {
        Wording::Application => return error.message.clone(),
        Wording::Missing => FieldFault::Missing,
        Wording::Server(code) => FieldFault::Error(code),
    };
    let name = error.parameter.as_deref().unwrap_or_default();
    let class = with_described(meant, name, |field| field.map(|field| field.class).unwrap_or_default());
    for_people(refused, class).to_owned()
}

sql_function!(
    /// `http.form_sent(form)`
    howdah_form_sent,
    |call| call.give(meant(call.text(0)).sent.is_some())
);

sql_function!(
    /// `http.typed(name, otherwise, form)`
    howdah_typed,
    |call| {
        let name = call.need_text(0, "name");
        match meant(call.text(2)).sent {
            Some(sent) => call.give(sent.values(name).next()),
            None => call.give(text(call, 1)),
        }
    }
);

/// An argument of any type as text.
fn text(call: Call, place: usize) -> Option<&'static str> {
    // SAFETY: inside a transaction; nothing that has a destructor is held meanwhile. Text of a database whose encoding is UTF-8.
    unsafe { direct(|| piece(call, place)).map(|piece| std::str::from_utf8_unchecked(piece.bytes)) }
}

sql_function!(
    /// `http.form_error(name, form)`
    howdah_form_error,
    |call| {
        let (meant, name) = (meant(call.text(1)), call.text(0));
        let Some(sent) = meant.sent else { return call.null() };
        let messages: Vec<String> = match name {
            Some(name) => sent.error(name).map(|error| message(&meant, error)).into_iter().collect(),
            None => sent.errors_elsewhere().map(|error| with_label(error, message(&meant, error))).collect(),
        };
        call.give((!messages.is_empty()).then(|| messages.join(" ")))
    }
);

sql_function!(
    /// `http.form_errors(form)`
    howdah_form_errors,
    |call| {
        let meant = meant(call.text(0));
        let errors = meant.sent.iter().flat_map(|sent| &sent.errors);
        Returned::all(call, errors.map(|error| columns![error.parameter.clone(), message(&meant, error)]))
    }
);

sql_function!(
    /// `http.field(name, label, value, type, choices, hint, form)`
    howdah_field,
    |call| {
        let name = call.need_text(0, "name");
        let named = call.text(6);
        let meant = meant(named);
        check_name(&meant, name);
        let html = with_described(&meant, name, |described| html(call, name, named, &meant, described));
        call.give(html)
    }
);

/// A field as HTML.
fn html(
    call: Call,
    name: &str,
    form: Option<&str>,
    meant: &MeantForm<'_>,
    described: Option<&DescribedField>,
) -> String {
    let unknown = (Rules::default(), TypeClass::default());
    let (rules, class) = described.map_or((&unknown.0, unknown.1), |field| (&field.rules, field.class));
    let is_array = described.is_some_and(|field| field.is_array);
    let mut choices = choices(call, 4);
    if choices.is_empty() {
        choices =
            rules.values.iter().map(|value| Choice { value: value.clone(), text: value.clone() }).collect();
    }
    let kind = match call.text(3) {
        Some(named) => Control::named(named).unwrap_or_else(|| {
            refuse_with_hint(
                WRITTEN_WRONG,
                &format!("{named:?} is no type of a field"),
                &format!("There are {}.", Control::names()),
            )
        }),
        None => Control::of_type(class, is_array, name, !choices.is_empty()),
    };
    if choices.is_empty() && class == TypeClass::Boolean {
        choices = [("true", "Yes"), ("false", "No")]
            .map(|(value, text)| Choice { value: value.into(), text: text.into() })
            .into();
    }
    let error = meant.sent.and_then(|sent| sent.error(name));
    let message = error.map(|error| message(meant, error));
    let first = meant.sent.and_then(|sent| sent.errors.iter().find_map(|error| error.parameter.as_deref()));
    FormField {
        name,
        label: &call.text(1).map_or_else(|| label(name), str::to_owned),
        kind,
        id: &id(form, name),
        values: &values(call, name, kind, meant),
        choices: &choices,
        hint: call.text(5),
        error: message.as_deref(),
        has_focus: first == Some(name),
        is_many: is_array,
        rules,
    }
    .html()
}

/// The values that a field shows: those that were typed, or else the given one.
fn values(call: Call, name: &str, kind: Control, meant: &MeantForm<'_>) -> Vec<String> {
    match meant.sent {
        // A file and a password are typed again.
        _ if kind.is_never_filled() => Vec::new(),
        Some(sent) => sent.values(name).map(str::to_owned).collect(),
        None if kind.is_many() => text(call, 2).map(elements::of).unwrap_or_default(),
        None => text(call, 2).map(str::to_owned).into_iter().collect(),
    }
}

/// A label of a name: `pick_up` is `Pick up`.
fn label(name: &str) -> String {
    let words = name.replace('_', " ");
    let mut letters = words.trim().chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// An id that no other field of the page has: of another form it begins otherwise.
fn id(form: Option<&str>, name: &str) -> String {
    let form = form.unwrap_or("field");
    let word = |text: &str| {
        let letters = text.chars().map(|letter| if letter.is_alphanumeric() { letter } else { '-' });
        letters.collect::<String>().trim_matches('-').to_owned()
    };
    format!("{}-{}", word(form), word(name))
}

/// Choices of a `text[]`: values, or with two dimensions values with their texts.
fn choices(call: Call, place: usize) -> Vec<Choice> {
    let Some(array) = call.argument(place) else { return Vec::new() };
    // SAFETY: an array, whose head has its dimensions (utils/array.h).
    let dimensions = unsafe {
        let array = pg_sys::pg_detoast_datum(array.cast_mut_ptr()).cast::<pg_sys::ArrayType>();
        let sizes = array.add(1).cast::<i32>();
        (0..(*array).ndim as usize).map(|place| *sizes.add(place)).collect::<Vec<_>>()
    };
    let texts: Vec<Option<String>> = call.get(place).unwrap_or_default();
    let texts: Vec<String> = texts.into_iter().map(Option::unwrap_or_default).collect();
    match dimensions.as_slice() {
        [] => Vec::new(),
        [_] => texts.into_iter().map(|text| Choice { value: text.clone(), text }).collect(),
        [_, 2] => texts
            .chunks_exact(2)
            .map(|pair| Choice { value: pair[0].clone(), text: pair[1].clone() })
            .collect(),
        _ => refuse_with_hint(
            WRITTEN_WRONG,
            "choices are values, or pairs of a value and its text",
            "Write array['red', 'blue'], or array(select array[id::text, name] from colour order by name).",
        ),
    }
}
