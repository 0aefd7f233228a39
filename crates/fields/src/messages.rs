//! Errors in words for people, where neither the application nor a comment has some.

use crate::TypeClass;

/// Why a value was refused.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FieldFault {
    /// It is not there.
    Missing,
    /// An error with this SQLSTATE.
    Error([u8; 5]),
}

/// The message for an argument of this type.
///
/// ```
/// use fields::TypeClass;
/// use fields::messages::{FieldFault, for_people};
///
/// assert_eq!(for_people(FieldFault::Error(*b"22007"), TypeClass::Date), "This is no date.");
/// ```
pub fn for_people(refused: FieldFault, class: TypeClass) -> &'static str {
    let code = match refused {
        FieldFault::Missing => return missing(class),
        FieldFault::Error(code) => code,
    };
    match &code {
        b"23502" => missing(class),
        b"22001" => "This is too long.",
        b"22003" | b"22008" if matches!(class, TypeClass::Integer | TypeClass::Number) => {
            "This number is too large or too small."
        }
        b"22008" if class != TypeClass::Text => "There is no such day or time.",
        b"23505" => "This is there already.",
        b"23503" => "This refers to something that is not there, or something still refers to it.",
        b"23514" => "This is not allowed.",
        b"23P01" => "This overlaps with something that is there already.",
        _ => malformed(class),
    }
}

fn missing(class: TypeClass) -> &'static str {
    match class {
        TypeClass::Enum | TypeClass::Boolean => "Please choose.",
        TypeClass::File => "Please choose a file.",
        _ => "Please fill in this field.",
    }
}

fn malformed(class: TypeClass) -> &'static str {
    match class {
        TypeClass::Integer => "This is no whole number.",
        TypeClass::Number => "This is no number.",
        TypeClass::Date => "This is no date.",
        TypeClass::Time => "This is no time.",
        TypeClass::DateTime => "This is no date with a time.",
        TypeClass::Boolean => "This is neither yes nor no.",
        TypeClass::Enum => "Please choose one of these.",
        TypeClass::File => "Please choose a file.",
        TypeClass::Json => "This is no JSON.",
        TypeClass::Text | TypeClass::Secret => "This is not valid.",
    }
}
