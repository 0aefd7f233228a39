//! Values for arguments out of a JSON body: the texts of the body itself, so that numbers keep all their
//! digits and json its form.

use std::borrow::Cow;
use std::collections::HashMap;

use pgrx::pg_sys;
use serde_json::value::RawValue;

use super::bound_value::{BindError, Value};
use super::inputs::Input;

/// The members of an object; of several with the same name the last.
pub type Object<'a> = HashMap<String, &'a RawValue>;

/// Most dimensions of an array (`MAXDIM` of PostgreSQL): bounds the recursion.
const MAX_DIMENSIONS: usize = 6;

/// The object that a body is; none if it is JSON of another kind.
pub(crate) fn object(body: &[u8]) -> Result<Option<Object<'_>>, serde_json::Error> {
    let whole: &RawValue = serde_json::from_slice(body)?;
    if whole.get().starts_with('{') { serde_json::from_str(whole.get()).map(Some) } else { Ok(None) }
}

/// What a member is for an argument of this kind.
pub fn value<'a>(member: &'a RawValue, input: &Input) -> Result<Value<'a>, BindError> {
    let text = member.get();
    match (text.as_bytes()[0], input) {
        (b'n', _) => Ok(Value::Null),
        (_, Input::Json(_)) => Ok(Value::Json(text)),
        (b'[', Input::Array { element_type, .. }) => array(text, *element_type),
        (b'"', _) => Ok(Value::Text(string(text)?)),
        (b'[' | b'{', _) => Ok(Value::Json(text)),
        _ => Ok(Value::Text(Cow::Borrowed(text))),
    }
}

/// A member as the text of a field, or the texts of an array's elements; none for null.
pub(super) fn texts<'a>(member: &'a RawValue) -> impl Iterator<Item = Cow<'a, str>> {
    let elements =
        if member.get().starts_with('[') { elements(member.get()).unwrap_or_default() } else { vec![member] };
    elements.into_iter().filter_map(|element| match element.get().as_bytes()[0] {
        b'n' => None,
        b'"' => string(element.get()).ok(),
        _ => Some(Cow::Borrowed(element.get())),
    })
}

fn array(text: &str, element_type: pg_sys::Oid) -> Result<Value<'_>, BindError> {
    let elements = elements(text)?;
    let json = matches!(element_type, pg_sys::JSONOID | pg_sys::JSONBOID);
    if !json && elements.iter().any(|element| element.get().starts_with('[')) {
        let mut literal = String::new();
        write_literal(text, MAX_DIMENSIONS, &mut literal)?;
        return Ok(Value::Text(Cow::Owned(literal)));
    }
    let texts = elements.into_iter().map(|element| match element.get() {
        "null" => Ok(None),
        text if text.starts_with('"') && !json => string(text).map(Some),
        text => Ok(Some(Cow::Borrowed(text))),
    });
    texts.collect::<Result<_, _>>().map(Value::Many)
}

/// An array of arrays as PostgreSQL writes it: `{{1,2},{3,4}}`.
fn write_literal(text: &str, depth: usize, literal: &mut String) -> Result<(), BindError> {
    if depth == 0 {
        return Err(BindError::bad(format!("an array has at most {MAX_DIMENSIONS} dimensions")));
    }
    literal.push('{');
    for (place, element) in elements(text)?.into_iter().enumerate() {
        if place > 0 {
            literal.push(',');
        }
        match element.get() {
            "null" => literal.push_str("NULL"),
            inner if inner.starts_with('[') => write_literal(inner, depth - 1, literal)?,
            inner if inner.starts_with('"') => quote(&string(inner)?, literal),
            inner => quote(inner, literal),
        }
    }
    literal.push('}');
    Ok(())
}

fn quote(text: &str, literal: &mut String) {
    literal.push('"');
    for character in text.chars() {
        if matches!(character, '"' | '\\') {
            literal.push('\\');
        }
        literal.push(character);
    }
    literal.push('"');
}

fn elements(text: &str) -> Result<Vec<&RawValue>, BindError> {
    serde_json::from_str(text).map_err(|error| BindError::bad(error.to_string()))
}

/// A string without its quotes and escapes. A NUL has no place in PostgreSQL's texts.
fn string(text: &str) -> Result<Cow<'_, str>, BindError> {
    let inner = &text[1..text.len() - 1];
    if !inner.contains('\\') {
        return Ok(Cow::Borrowed(inner));
    }
    let string: String = serde_json::from_str(text).map_err(|error| BindError::bad(error.to_string()))?;
    if string.contains('\0') {
        return Err(BindError::bad("the value holds a NUL character"));
    }
    Ok(Cow::Owned(string))
}
