//! From a request to a function's arguments: first which value each one gets, in plain Rust, then its
//! conversion to the argument's type by PostgreSQL.

use std::borrow::Cow;
use std::cell::Cell;
use std::ffi::c_int;
use std::ptr::null_mut;

use form::File;
use message::Request;
use pg::text::c_string;
use pgrx::pg_sys::{self, Datum};
use problem::{ParameterError, Wording};
use session::log_rate;

use super::bound_value::{ArgumentPlace, BindError, Bound, Value};
use super::function::Function;
use super::inputs::{Argument, Input, TypeInput};
use super::json;
use super::params;
use super::secrets;
use super::sources::{Source, Unread, refuse_coded};
use super::types::Types;

/// Finds a value for every argument, and withholds the secrets among them from messages: from the path, then the query, then the form or JSON body. One argument without
/// a name that can takes the whole body; the others are not looked for there then. Parameters that are missing or cannot be read are noted
/// with what was found. `is_form` tells that people fill the request in, in a form.
pub fn bind<'a>(
    function: &Function,
    request: &Request<'a>,
    path: &[(&str, Cow<'a, str>)],
    is_form: bool,
) -> Result<Bound<'a>, BindError> {
    let arguments = function.arguments();
    let whole = arguments.iter().position(Argument::takes_body);
    let mut source = Source::of(request, path, whole.is_some());
    let mut bound = Bound::default();
    for (place, argument) in arguments.iter().enumerate() {
        let value = if whole == Some(place) {
            Some(whole_body(argument, request)?)
        } else {
            match source.find(argument) {
                Ok(value) if is_form => source.filled_in(value, argument, function.has_default(place)),
                Ok(value) => value,
                Err(Unread::Request(error)) => return Err(error),
                Err(Unread::Parameter(message)) => {
                    bound.wrong.push(((place, None), unread(argument, message)));
                    continue;
                }
            }
        };
        let value = match value {
            None if !argument.attributes.is_empty() => {
                row(&mut source, place, argument, is_form, &mut bound.wrong)?
            }
            value => value,
        };
        match value {
            None | Some(Value::Empty) if function.has_default(place) => {}
            Some(value) => {
                bound.given |= 1 << place;
                bound.values.push(if matches!(value, Value::Empty) { Value::Null } else { value });
            }
            None => {
                let name = argument.name.as_deref().unwrap_or("without a name");
                bound.wrong.push(((place, None), ParameterError::missing(name)));
            }
        }
    }
    secrets::note(arguments, &bound, Some(request));
    Ok(bound)
}

fn unread(argument: &Argument, message: String) -> ParameterError {
    ParameterError { parameter: argument.name.clone(), message, wording: Wording::Server(*b"22P02") }
}

/// The row of an argument that the request has no value for, from the values of its attributes' names; none if it has none of these either.
fn row<'a>(
    source: &mut Source<'_, 'a>,
    place: usize,
    argument: &Argument,
    is_form: bool,
    wrong: &mut Vec<(ArgumentPlace, ParameterError)>,
) -> Result<Option<Value<'a>>, BindError> {
    let mut values = Vec::with_capacity(argument.attributes.len());
    let mut is_there = false;
    for (number, attribute) in argument.attributes.iter().enumerate() {
        let attribute = &attribute.argument;
        let found = match source.find(attribute) {
            Ok(found) => found,
            Err(Unread::Request(error)) => return Err(error),
            Err(Unread::Parameter(message)) => {
                wrong.push(((place, Some(number)), unread(attribute, message)));
                Some(Value::Null)
            }
        };
        is_there |= found.is_some();
        let found = if is_form { source.filled_in(found, attribute, true) } else { found };
        values.push(match found {
            None | Some(Value::Empty) => Value::Null,
            Some(value) => value,
        });
    }
    Ok((is_there || is_form && source.has_form()).then_some(Value::Row(values)))
}

/// Finds a value for every argument in a JSON object: where no request is. One argument without a name takes the whole object.
pub fn bind_object<'a>(function: &Function, text: &'a str) -> Result<Bound<'a>, BindError> {
    let object = match json::object(text.as_bytes()) {
        Ok(Some(object)) => object,
        Ok(None) => return Err(BindError::bad("the arguments are no JSON object")),
        Err(error) => return Err(BindError::bad(format!("the arguments are not valid JSON: {error}"))),
    };
    let mut bound = Bound::default();
    for (place, argument) in function.arguments().iter().enumerate() {
        let value = match &argument.name {
            None => Some(Value::Text(Cow::Borrowed(text))),
            Some(name) => match object.get(name) {
                Some(value) => Some(
                    json::value(value, &argument.input)
                        .map_err(|error| BindError::bad(format!("argument {name}: {}", error.detail)))?,
                ),
                None => None,
            },
        };
        match value {
            Some(value) => {
                bound.given |= 1 << place;
                bound.values.push(value);
            }
            None if function.has_default(place) => {}
            None => {
                let name = argument.name.as_deref().unwrap_or("without a name");
                return Err(BindError::bad(format!("argument {name} is missing")));
            }
        }
    }
    secrets::note(function.arguments(), &bound, None);
    Ok(bound)
}

fn whole_body<'a>(argument: &Argument, request: &Request<'a>) -> Result<Value<'a>, BindError> {
    Ok(match argument.input {
        Input::Bytes(_) => Value::Bytes(request.body()),
        _ => {
            refuse_coded(request)?;
            Value::Text(Cow::Borrowed(body_text(request)?))
        }
    })
}

fn body_text<'a>(request: &Request<'a>) -> Result<&'a str, BindError> {
    match std::str::from_utf8(request.body()) {
        Ok(text) if !text.contains('\0') => Ok(text),
        Ok(_) => Err(BindError::bad("the body holds a NUL character")),
        Err(_) => Err(BindError::bad("the body is not UTF-8")),
    }
}

thread_local! {
    /// The argument that is being converted: what a conversion's error is about.
    static CONVERTING: Cell<Option<ArgumentPlace>> = const { Cell::new(None) };
}

/// The place, among the given arguments, of the one whose conversion has failed. Clears it.
pub(crate) fn failed_conversion() -> Option<ArgumentPlace> {
    log_rate::reads_clients_value(false);
    CONVERTING.take()
}

/// Converts the values to the arguments' types, in the current memory context.
///
/// # Safety
/// Inside [`pg::guard::attempt`] and a transaction, as the endpoint's role. `values` and `arguments` have
/// the same length.
pub(crate) unsafe fn convert(
    arguments: &[Argument],
    values: &[Value<'_>],
    request: Option<&Request<'_>>,
    types: &Types,
) -> pg_sys::ParamListInfo {
    // SAFETY: by contract; nothing here owns memory of Rust's.
    unsafe {
        let list = pg::makeParamList(arguments.len() as c_int);
        log_rate::reads_clients_value(true);
        for (place, (argument, value)) in arguments.iter().zip(values).enumerate() {
            CONVERTING.set(Some((place, None)));
            let parameter = &mut *(*list).params.as_mut_ptr().add(place);
            parameter.ptype = argument.type_oid;
            parameter.pflags = pg_sys::PARAM_FLAG_CONST as u16;
            let converted = convert_checked(argument, value, request, types);
            match converted {
                Some(value) => (parameter.value, parameter.isnull) = (value, false),
                None => (parameter.value, parameter.isnull) = (Datum::from(0), true),
            }
        }
        CONVERTING.set(None);
        log_rate::reads_clients_value(false);
        list
    }
}

/// Converts a value to the argument's type, and has a domain look at it.
///
/// # Safety
/// As for [`convert`].
pub(crate) unsafe fn convert_checked(
    argument: &Argument,
    value: &Value<'_>,
    request: Option<&Request<'_>>,
    types: &Types,
) -> Option<Datum> {
    // SAFETY: by contract.
    unsafe {
        let converted = match value {
            Value::Row(values) => Some(row_of(argument, values, request, types)),
            value => convert_one(&argument.input, value, request, types),
        };
        // Whatever the domain's own input function has not made.
        if argument.is_domain
            && matches!(value, Value::Null | Value::Many(_) | Value::Files(_) | Value::Row(_))
        {
            let (value, is_null) = (converted.unwrap_or(Datum::null()), converted.is_none());
            let memory = pg_sys::CurrentMemoryContext;
            pg_sys::domain_check(value, is_null, argument.type_oid, null_mut(), memory);
        }
        converted
    }
}

unsafe fn convert_one(
    input: &Input,
    value: &Value<'_>,
    request: Option<&Request<'_>>,
    types: &Types,
) -> Option<Datum> {
    // SAFETY: the contract of `convert`.
    unsafe {
        match (input, value) {
            (_, Value::Null) => None,
            (Input::Request, _) => request.map(|request| params::request_row(request, types)),
            (Input::File, Value::File(file)) => Some(params::file_row(file, types)),
            (Input::Text, Value::Text(text)) => Some(params::text(text)),
            (Input::Text, Value::Json(text)) => Some(params::text(text)),
            (Input::Bytes(_), Value::Bytes(bytes)) => Some(params::bytes(bytes)),
            (Input::Bytes(_), Value::File(file)) => Some(params::bytes(file.bytes)),
            (Input::Text, Value::File(file)) => match std::str::from_utf8(file.bytes) {
                Ok(text) if !text.contains('\0') => Some(params::text(text)),
                _ => params::raise_bad_text(),
            },
            (Input::Array { element_type, .. }, Value::Files(files)) if *element_type == types.file => {
                Some(file_array(files, types))
            }
            (Input::Array { .. }, Value::Many(texts)) => Some(array(input, texts)),
            (Input::Array { texts: Some(texts), .. }, Value::Text(text)) => {
                Some(array_of_text(input, texts, text))
            }
            (
                Input::Value(input)
                | Input::Json(input)
                | Input::Bytes(input)
                | Input::Array { whole: input, .. },
                Value::Text(text),
            ) => Some(input_text(input, text)),
            (
                Input::Value(input) | Input::Json(input) | Input::Array { whole: input, .. },
                Value::Json(text),
            ) => Some(input_text(input, text)),
            _ => params::raise_bad_text(),
        }
    }
}

/// A row of an argument's type. An error after which the request is run again if the type is another by now.
unsafe fn row_of(
    argument: &Argument,
    values: &[Value<'_>],
    request: Option<&Request<'_>>,
    types: &Types,
) -> Datum {
    // SAFETY: the contract of `convert`; the description is a copy, and both arrays have as many places as it has columns.
    unsafe {
        let description = pg_sys::lookup_rowtype_tupdesc_copy(pg_sys::getBaseType(argument.type_oid), -1);
        let count = (*description).natts as usize;
        let row = pg::palloc(count.max(1) * size_of::<Datum>()).cast::<Datum>();
        let nulls = pg::palloc(count.max(1)).cast::<bool>();
        for place in 0..count {
            (*row.add(place), *nulls.add(place)) = (Datum::null(), true);
        }
        if !argument.is_described_by(description) {
            pg::guard::raise(pg::guard::PgError {
                // It is of the catalogs: made anew, the plan has them.
                sqlstate: *b"XX000",
                message: "the type of an argument has other attributes by now".into(),
                ..Default::default()
            });
        }
        let before = CONVERTING.get();
        for (number, (attribute, value)) in argument.attributes.iter().zip(values).enumerate() {
            if let Some((place, _)) = before {
                CONVERTING.set(Some((place, Some(number))));
            }
            if let Some(value) = convert_checked(&attribute.argument, value, request, types) {
                (*row.add(attribute.place), *nulls.add(attribute.place)) = (value, false);
            }
        }
        CONVERTING.set(before);
        let tuple = pg_sys::heap_form_tuple(description, row, nulls);
        pg_sys::HeapTupleHeaderGetDatum((*tuple).t_data)
    }
}

unsafe fn input_text(input: &TypeInput, text: &str) -> Datum {
    // SAFETY: the contract of `convert`; the text has no NUL, which would only shorten it.
    unsafe { pg::InputFunctionCall(input.function(), c_string(text), input.parameter, input.typmod) }
}

unsafe fn file_array(files: &[File<'_>], types: &Types) -> Datum {
    // SAFETY: the contract of `convert`; the array has as many places as there are files.
    unsafe {
        let rows = pg::palloc(files.len() * size_of::<Datum>()).cast::<Datum>();
        for (place, file) in files.iter().enumerate() {
            *rows.add(place) = params::file_row(file, types);
        }
        params::array_of_rows(rows, files.len(), types.file)
    }
}

unsafe fn array(input: &Input, texts: &[Option<Cow<'_, str>>]) -> Datum {
    // SAFETY: the contract of `convert`; both arrays have as many places as there are texts.
    unsafe {
        let values = pg::palloc(texts.len().max(1) * size_of::<Datum>()).cast::<Datum>();
        let nulls = pg::palloc(texts.len().max(1)).cast::<bool>();
        for (place, text) in texts.iter().enumerate() {
            *nulls.add(place) = text.is_none();
            *values.add(place) = Datum::from(text.as_deref().map_or(null_mut(), |text| c_string(text)));
        }
        let (mut size, mut lower) = (texts.len() as c_int, 1);
        let dimensions = c_int::from(!texts.is_empty());
        array_of_elements(input, values, nulls, texts.len(), (dimensions, &mut size, &mut lower))
    }
}

/// An array from its text. PostgreSQL finds the elements as those of `cstring[]`.
unsafe fn array_of_text(input: &Input, texts: &TypeInput, text: &str) -> Datum {
    // SAFETY: the contract of `convert`; an array that PostgreSQL has just made. Behind its head are the sizes, then the lower
    // bounds.
    unsafe {
        let array = input_text(texts, text).cast_mut_ptr::<pg_sys::ArrayType>();
        let (mut values, mut nulls, mut count) = (null_mut(), null_mut(), 0);
        let (length, align) = (-2, b'c' as _);
        pg::deconstruct_array(
            array,
            pg_sys::CSTRINGOID,
            length,
            false,
            align,
            &mut values,
            &mut nulls,
            &mut count,
        );
        let sizes = array.add(1).cast::<c_int>();
        let shape = ((*array).ndim, sizes, sizes.add((*array).ndim as usize));
        array_of_elements(input, values, nulls, count as usize, shape)
    }
}

/// An array of so many elements, whose texts stand in `values`, and null pointers for nulls: a domain may refuse them. In between it
/// is looked whether the request is to end, which PostgreSQL does not in an array. The shape is dimensions, sizes, lower bounds.
unsafe fn array_of_elements(
    input: &Input,
    values: *mut Datum,
    nulls: *mut bool,
    count: usize,
    shape: (c_int, *mut c_int, *mut c_int),
) -> Datum {
    let Input::Array { element, element_type, length, by_value, align, .. } = input else {
        // SAFETY: the contract of `convert`.
        unsafe { params::raise_bad_text() }
    };
    // SAFETY: the contract of `convert`; as many places as there are elements.
    unsafe {
        for value in (0..count).map(|place| &mut *values.add(place)) {
            pg::check_for_interrupts();
            let text = value.cast_mut_ptr();
            *value = pg::InputFunctionCall(element.function(), text, element.parameter, element.typmod);
        }
        let (dimensions, sizes, lower_bounds) = shape;
        Datum::from(pg::construct_md_array(
            values,
            nulls,
            dimensions,
            sizes,
            lower_bounds,
            *element_type,
            c_int::from(*length),
            *by_value,
            *align,
        ))
    }
}
