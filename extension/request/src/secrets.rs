//! The secrets of what runs, which no message shows.

use message::Request;
use session::withheld;

use super::bound_value::{Bound, Value};
use super::inputs::Argument;
use super::secrecy::{Secrecy, note_named};

/// Withholds the secrets among the values of a function's arguments. A path shows them as they were sent.
pub(crate) fn note(arguments: &[Argument], bound: &Bound<'_>, request: Option<&Request<'_>>) {
    if arguments.iter().all(|argument| argument.secrecy == Secrecy::Open) {
        return;
    }
    let given = arguments.iter().enumerate().filter(|(place, _)| bound.given & (1 << place) != 0);
    for ((_, argument), value) in given.zip(&bound.values) {
        let note = match argument.secrecy {
            Secrecy::Open => continue,
            Secrecy::Named => note_named,
            Secrecy::Typed => withheld::note,
        };
        match value {
            Value::Text(text) => note(text),
            Value::Json(text) => note(text),
            Value::Many(texts) => texts.iter().flatten().for_each(|text| note(text)),
            _ => {}
        }
    }
    let encoded = request.into_iter().flat_map(|request| request.raw_path().split('/'));
    encoded.filter(|segment| segment.contains('%')).for_each(withheld::note);
}
