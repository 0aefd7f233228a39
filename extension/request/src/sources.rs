//! The parts of a request that have values for arguments: path, query string and body, each read when it is first asked for.

use std::borrow::Cow;

use form::{Field, File, Value as FieldValue};
use message::Request;

use super::bound_value::{BindError, Value};
use super::inputs::{Argument, Input};
use super::json::{self, Object};

/// Most fields of a query string or a form.
const MAX_FIELDS: usize = 10_000;

/// Why a body that is compressed is not read: what stands there is not what its type says (RFC 9110, 8.4). Whoever takes
/// bytes gets them as they were sent. None if the body is as it is.
pub fn coded_body(request: &Request<'_>) -> Option<String> {
    let mut codings =
        request.headers().filter(|(name, _)| *name == "content-encoding").map(|(_, value)| value);
    let is_identity = |coding: &str| coding.is_empty() || coding.eq_ignore_ascii_case("identity");
    let coded = codings.find(|value| !value.split(',').map(str::trim).all(is_identity))?;
    let shown: String = coded.chars().take(100).collect();
    Some(format!(
        "the body's Content-Encoding {shown} is not unpacked here: send the body as it is (identity)"
    ))
}

pub(super) fn refuse_coded(request: &Request<'_>) -> Result<(), BindError> {
    coded_body(request).map_or(Ok(()), |detail| Err(BindError { status: 415, detail }))
}

/// Why a value cannot be read.
pub(super) enum Unread {
    /// Because of what no parameter of it can be read from.
    Request(BindError),
    /// Because of itself.
    Parameter(String),
}

impl From<BindError> for Unread {
    fn from(error: BindError) -> Unread {
        Unread::Request(error)
    }
}

/// Where values come from; parsed when first asked.
pub(super) struct Source<'s, 'a> {
    request: &'s Request<'a>,
    path: &'s [(&'s str, Cow<'a, str>)],
    query: Option<Vec<(Cow<'a, str>, Cow<'a, str>)>>,
    body: Option<Body<'a>>,
}

pub(super) enum Body<'a> {
    Form(Vec<Field<'a>>),
    Json(Object<'a>),
    Other,
}

impl<'s, 'a> Source<'s, 'a> {
    /// The sources of a request; not its body if that is a value as a whole.
    pub(super) fn of(request: &'s Request<'a>, path: &'s [(&'s str, Cow<'a, str>)], is_whole: bool) -> Self {
        Source { request, path, query: None, body: is_whole.then_some(Body::Other) }
    }

    /// The value of an argument, if there is one.
    pub(super) fn find(&mut self, argument: &Argument) -> Result<Option<Value<'a>>, Unread> {
        if matches!(argument.input, Input::Request) {
            return Ok(Some(Value::Request));
        }
        let Some(name) = argument.name.as_deref() else {
            return Err(BindError::bad("an argument has no name").into());
        };
        if let Some((_, value)) = self.path.iter().find(|(known, _)| *known == name) {
            return Ok(Some(Value::Text(value.clone())));
        }
        if let Some(value) = self.in_query(name, argument)? {
            return Ok(Some(value));
        }
        self.in_body(name, argument)
    }

    /// Whether the body is a form, as far as it was asked.
    pub(super) fn has_form(&self) -> bool {
        matches!(self.body, Some(Body::Form(_)))
    }

    /// The same for a form that people fill in: an argument without a default has to be filled in, be it by a program; a field in which nothing is has no
    /// value, texts included; and a checkbox that is not set is not sent.
    pub(super) fn filled_in(
        &self,
        value: Option<Value<'a>>,
        argument: &Argument,
        has_default: bool,
    ) -> Option<Value<'a>> {
        let is_no_file = |file: &File<'_>| file.name.is_empty() && file.bytes.is_empty();
        match value {
            Some(Value::Null | Value::Empty) if !has_default => None,
            Some(Value::Text(text)) if text.is_empty() && !has_default => None,
            value if !self.has_form() => value,
            None if argument.is_boolean => Some(Value::Text(Cow::Borrowed("false"))),
            Some(Value::Text(text)) if text.is_empty() => None,
            // An input for a file that is left empty is sent.
            Some(Value::File(file)) if is_no_file(&file) => None,
            Some(Value::Files(files)) if files.iter().all(is_no_file) => None,
            value => value,
        }
    }

    fn in_query(&mut self, name: &str, argument: &Argument) -> Result<Option<Value<'a>>, BindError> {
        if self.request.query_string().is_empty() {
            return Ok(None);
        }
        if self.query.is_none() {
            let pairs = form::urlencoded::parse(self.request.query_string().as_bytes(), MAX_FIELDS);
            self.query = Some(pairs.map_err(|error| BindError::bad(format!("query string: {error}")))?);
        }
        let pairs = self.query.as_deref().unwrap_or_default();
        let mut found = pairs.iter().filter(|(known, _)| known == name).map(|(_, value)| value.clone());
        Ok(match argument.input {
            Input::Array { .. } => several(found.map(Some).collect(), argument),
            _ => found.next().map(|text| field(text, argument)),
        })
    }

    fn in_body(&mut self, name: &str, argument: &Argument) -> Result<Option<Value<'a>>, Unread> {
        if self.body.is_none() {
            self.body = Some(read_body(self.request)?);
        }
        match &self.body {
            Some(Body::Form(fields)) => Ok(in_form(fields, name, argument)),
            Some(Body::Json(object)) => match object.get(name) {
                Some(value) => json::value(value, &argument.input)
                    .map(Some)
                    .map_err(|error| Unread::Parameter(error.detail)),
                None => Ok(None),
            },
            _ => Ok(None),
        }
    }
}

/// Names and texts of the fields of a form in the body, or of a JSON object's members; none if it cannot be read. A file has no text.
pub(super) fn texts_of<'a>(request: &Request<'a>) -> Vec<(Cow<'a, str>, Cow<'a, str>)> {
    match read_body(request) {
        Ok(Body::Form(fields)) => fields
            .into_iter()
            .map(|field| match field.value {
                FieldValue::Text(text) => (field.name, text),
                FieldValue::File(_) => (field.name, Cow::Borrowed("")),
            })
            .collect(),
        Ok(Body::Json(object)) => object
            .iter()
            .flat_map(|(name, value)| json::texts(value).map(|text| (Cow::Owned(name.to_string()), text)))
            .collect(),
        _ => Vec::new(),
    }
}

/// Names and values of the query string; none if it cannot be read.
pub(super) fn query_of<'a>(request: &Request<'a>) -> Vec<(Cow<'a, str>, Cow<'a, str>)> {
    form::urlencoded::parse(request.query_string().as_bytes(), MAX_FIELDS).unwrap_or_default()
}

/// Whether the body is a form with a field of this name, or a JSON object with a member.
pub fn body_has(request: &Request<'_>, name: &str) -> Result<bool, BindError> {
    Ok(match read_body(request)? {
        Body::Form(fields) => fields.iter().any(|field| field.name == name),
        Body::Json(object) => object.contains_key(name),
        Body::Other => false,
    })
}

fn in_form<'a>(fields: &[Field<'a>], name: &str, argument: &Argument) -> Option<Value<'a>> {
    let mut found = fields.iter().filter(|field| field.name == name);
    if !matches!(argument.input, Input::Array { .. }) {
        return found.next().map(|found| match &found.value {
            FieldValue::Text(text) => field(text.clone(), argument),
            FieldValue::File(file) => Value::File(file.clone()),
        });
    }
    let (mut texts, mut files) = (Vec::new(), Vec::new());
    for field in found {
        match &field.value {
            FieldValue::Text(text) => texts.push(Some(text.clone())),
            FieldValue::File(file) => files.push(file.clone()),
        }
    }
    if files.is_empty() { several(texts, argument) } else { Some(Value::Files(files)) }
}

/// The value of a field.
fn field<'a>(text: Cow<'a, str>, argument: &Argument) -> Value<'a> {
    if text.is_empty() && !argument.has_empty_text { Value::Empty } else { Value::Text(text) }
}

/// Whether a text looks like an array: `{1,2}`, or `[2:3]={1,2}`.
fn is_array(text: &str) -> bool {
    let is_bound = |byte| matches!(byte, b'[' | b']' | b':' | b'-' | b'0'..=b'9');
    let has_bounds = || text.split_once("={").is_some_and(|(bounds, _)| bounds.bytes().all(is_bound));
    text.starts_with('{') || text.starts_with('[') && has_bounds()
}

/// The value of fields of the same name. A single text that looks like an array is one.
fn several<'a>(mut found: Vec<Option<Cow<'a, str>>>, argument: &Argument) -> Option<Value<'a>> {
    if !argument.has_empty_text && !found.is_empty() {
        found.retain(|text| text.as_deref() != Some(""));
        if found.is_empty() {
            return Some(Value::Empty);
        }
    }
    match found.as_slice() {
        [] => None,
        [Some(only)] if is_array(only) => found.pop().flatten().map(Value::Text),
        _ => Some(Value::Many(found)),
    }
}

fn read_body<'a>(request: &Request<'a>) -> Result<Body<'a>, BindError> {
    let Some(content_type) = request.header("content-type").filter(|_| !request.body().is_empty()) else {
        return Ok(Body::Other);
    };
    refuse_coded(request)?;
    let Some(content_type) = form::ContentType::parse(content_type) else {
        return Err(BindError::bad("the Content-Type cannot be read"));
    };
    if content_type.is_json() {
        return match json::object(request.body()) {
            Ok(Some(object)) => Ok(Body::Json(object)),
            Ok(None) => Ok(Body::Other),
            Err(error) => Err(BindError::bad(format!("the body is not valid JSON: {error}"))),
        };
    }
    match form::body::parse(&content_type, request.body(), MAX_FIELDS) {
        Ok(Some(fields)) => Ok(Body::Form(fields)),
        Ok(None) => Ok(Body::Other),
        Err(error) => Err(BindError::bad(format!("the form cannot be read: {error}"))),
    }
}
