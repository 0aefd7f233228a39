//! The secrets of what runs, which no message shows.

use message::Request;
use session::withheld;

use super::bound_value::{Bound, Value};
use super::inputs::Argument;
use super::secrecy::{Secrecy, note_named};

/// Withholds the secrets among the values of a function's arguments. A path shows them as they were sent.
pub(crate) fn note(arguments: &[Argument], bound: &Bound<'_>, request: Option<&Request<'_>>) {
    if !arguments.iter().any(is_secret) {
        return;
    }
    let given = arguments.iter().enumerate().filter(|(place, _)| bound.given & (1 << place) != 0);
    given.zip(&bound.values).for_each(|((_, argument), value)| note_value(argument, value));
    let encoded = request.into_iter().flat_map(|request| request.raw_path().split('/'));
    encoded.filter(|segment| segment.contains('%')).for_each(withheld::note);
}

/// Whether an argument, or an attribute of it, takes secrets.
fn is_secret(argument: &Argument) -> bool {
    argument.secrecy != Secrecy::Open
        || argument.attributes.iter().any(|it| it.argument.secrecy != Secrecy::Open)
}

fn note_value(argument: &Argument, value: &Value<'_>) {
    let note = match argument.secrecy {
        Secrecy::Open => |_: &str| {},
        Secrecy::Named => note_named,
        Secrecy::Typed => withheld::note,
    };
    match value {
        Value::Text(text) => note(text),
        Value::Json(text) => note(text),
        Value::Many(texts) => texts.iter().flatten().for_each(|text| note(text)),
        Value::Row(values) => {
            let attributes = argument.attributes.iter().zip(values);
            attributes.for_each(|(attribute, value)| note_value(&attribute.argument, value));
        }
        _ => {}
    }
}
