//! Why a line is refused.

use std::fmt;

/// Levels of nesting that a line may have.
pub const DEPTH: usize = 256;

/// What is wrong.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reason {
    /// The bytes are not UTF-8.
    NotUtf8,
    /// The line ends where something is missing.
    Ends,
    /// A character that cannot stand here.
    Unexpected,
    /// Something follows the value.
    Follows,
    /// A number that is not written as JSON writes numbers.
    Number,
    /// A control character inside a string.
    Control,
    /// An escape that there is not.
    Escape,
    /// Half of a surrogate pair.
    Surrogate,
    /// `\u0000`.
    Zero,
    /// Nested too deeply.
    Deep,
    /// A value that is not an object.
    NoObject,
}

/// Why a line is refused, and where.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Fault {
    /// What is wrong.
    pub reason: Reason,
    /// The byte of the line, from 0.
    pub at: usize,
}

impl fmt::Display for Fault {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let reason = match self.reason {
            Reason::NotUtf8 => "not UTF-8",
            Reason::Ends => "the line ends inside the JSON",
            Reason::Unexpected => "not JSON: unexpected character",
            Reason::Follows => "not JSON: something follows the value",
            Reason::Number => "not JSON: malformed number",
            Reason::Control => "not JSON: control character in a string",
            Reason::Escape => "not JSON: invalid escape",
            Reason::Surrogate => "half of a surrogate pair cannot be stored",
            Reason::Zero => "\\u0000 cannot be stored",
            Reason::Deep => return write!(to, "nested deeper than {} levels", DEPTH),
            Reason::NoObject => return write!(to, "not a JSON object"),
        };
        write!(to, "{reason} (byte {})", self.at + 1)
    }
}

impl std::error::Error for Fault {}
