//! Names of pages, by their paths.

use std::fmt;

use crate::keywords;

/// So many bytes PostgreSQL keeps of a name.
const LONGEST_NAME: usize = 63;

/// The two kinds of pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PageKind {
    /// `.html`: a function that returns `http.html`.
    Html,
    /// `.txt`: a function that returns text. Nothing is escaped.
    Text,
}

/// The function that a page becomes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PageName {
    /// The name of the function, which needs no quotes.
    pub function: String,
    /// The kind of the page, and so the type that it returns.
    pub kind: PageKind,
}

/// Why a path names no page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PageNameFault {
    /// The file does not lie below `pages/`.
    Elsewhere,
    /// The file ends neither with `.html` nor with `.txt`.
    Ending,
    /// A part of the path is empty.
    Empty,
    /// The path has a character that no name may have.
    Character(char),
    /// The name would begin with this digit.
    Digit(char),
    /// The name would be longer than a name may be.
    Long(String),
    /// PostgreSQL keeps this word for itself.
    Keyword(String),
}

impl fmt::Display for PageNameFault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        use PageNameFault::{Character, Digit, Elsewhere, Empty, Ending, Keyword, Long};
        match self {
            Elsewhere => formatter.write_str("a page lies below pages/"),
            Ending => formatter.write_str("a page ends with .html or .txt"),
            Empty => formatter.write_str("a part of the page's path is empty"),
            Character(found) => write!(
                formatter,
                "a page's path has lower-case letters from a to z, digits, _ and - alone, and no \"{found}\""
            ),
            Digit(found) => write!(formatter, "a page's name begins with a letter, not with \"{found}\""),
            Long(name) => {
                write!(formatter, "the function's name \"{name}\" is longer than {LONGEST_NAME} bytes")
            }
            Keyword(name) => {
                write!(formatter, "\"{name}\" is a word of SQL, so that no function has that name")
            }
        }
    }
}

impl std::error::Error for PageNameFault {}

/// The function that the page with this path becomes.
///
/// ```
/// use pages::{PageKind, name_of};
///
/// assert_eq!(name_of("pages/books/edit.html").unwrap().function, "books_edit");
/// let mail = name_of("pages/mail/new-order.txt").unwrap();
/// assert_eq!((mail.function.as_str(), mail.kind), ("mail_new_order_text", PageKind::Text));
/// assert!(name_of("pages/select.html").is_err());
/// ```
///
/// # Errors
/// If the path names no page.
pub fn name_of(path: &str) -> Result<PageName, PageNameFault> {
    let inside = path.strip_prefix("pages/").ok_or(PageNameFault::Elsewhere)?;
    let (stem, kind) = match (inside.strip_suffix(".html"), inside.strip_suffix(".txt")) {
        (Some(stem), _) => (stem, PageKind::Html),
        (_, Some(stem)) => (stem, PageKind::Text),
        _ => return Err(PageNameFault::Ending),
    };
    if stem.split('/').any(str::is_empty) {
        return Err(PageNameFault::Empty);
    }
    let is_admitted =
        |letter: &char| letter.is_ascii_lowercase() || letter.is_ascii_digit() || "_-/".contains(*letter);
    if let Some(other) = stem.chars().find(|letter| !is_admitted(letter)) {
        return Err(PageNameFault::Character(other));
    }
    let mut function = stem.replace(['/', '-'], "_");
    if kind == PageKind::Text {
        function.push_str("_text");
    }
    match function.chars().next() {
        Some(digit) if digit.is_ascii_digit() => Err(PageNameFault::Digit(digit)),
        _ if function.len() > LONGEST_NAME => Err(PageNameFault::Long(function)),
        _ if keywords::is_keyword(&function) => Err(PageNameFault::Keyword(function)),
        _ => Ok(PageName { function, kind }),
    }
}
