//! Values as controls have them.

use std::borrow::Cow;

use crate::Control;

/// A value as an `<input>` of this kind takes it: dates and times as HTML writes them.
pub(crate) fn shown(kind: Control, value: &str) -> Cow<'_, str> {
    match kind {
        Control::Input("datetime-local") => match value.split_once([' ', 'T']) {
            Some((date, time)) => Cow::Owned(format!("{date}T{}", of_day(time))),
            None => Cow::Borrowed(value),
        },
        Control::Input("time") => Cow::Borrowed(of_day(value)),
        _ => Cow::Borrowed(value),
    }
}

/// A time without its zone, and without more than a thousandth of a second.
fn of_day(time: &str) -> &str {
    let end =
        time.find(|next: char| !(next.is_ascii_digit() || next == ':' || next == '.')).unwrap_or(time.len());
    let time = &time[..end];
    match time.find('.') {
        Some(dot) => &time[..time.len().min(dot + 4)],
        None => time,
    }
}

/// Whether a value of a boolean is true, as PostgreSQL reads it.
pub(crate) fn is_true(value: &str) -> bool {
    let value = value.trim().to_lowercase();
    let is_beginning = |word: &str, least: usize| value.len() >= least && word.starts_with(&value);
    value == "1" || is_beginning("true", 1) || is_beginning("yes", 1) || value == "on"
}
