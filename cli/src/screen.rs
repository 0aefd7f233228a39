//! What is said to whoever watches.

use std::io::{Write, stderr, stdout};

/// Prints a line. A terminal that has gone must not keep the platform from being stopped in order, so nobody
/// learns if it cannot be printed.
pub(crate) fn say(line: &str) {
    let _ = writeln!(stdout(), "{line}");
}

/// Prints a line for trouble, likewise.
pub(crate) fn complain(line: &str) {
    let _ = writeln!(stderr(), "howdah: {line}");
}

/// A text that somebody else has chosen, such as the name of an object or a note: its letters that would steer a terminal are replaced.
pub(crate) fn harmless(text: &str) -> String {
    text.chars()
        .map(|letter| if letter.is_control() && !matches!(letter, '\n' | '\t') { '\u{fffd}' } else { letter })
        .collect()
}
