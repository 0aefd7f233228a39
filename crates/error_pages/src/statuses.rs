//! For which errors a file of `pages/errors/` stands.
//!
//! `4xx.html` and its like stand for the errors that have a name: a page would not know what to call the others.

use http1::reason::phrase;

/// The errors that have a name.
pub fn all() -> impl Iterator<Item = u16> {
    (400..=599).filter(|status| phrase(*status).is_some())
}

/// The name of an error.
pub fn title(status: u16) -> &'static str {
    phrase(status).unwrap_or("Error")
}

/// The errors that a file stands for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum ErrorKind {
    /// One: `404.html`.
    One(u16),
    /// Those with this first digit that have no page of their own: `4xx.html`.
    Class(u16),
    /// All others: `default.html`.
    Rest,
}

impl ErrorKind {
    /// The kind of a file in `pages/errors/`, by its name without `.html`; none of a file that is a part of pages.
    ///
    /// # Errors
    /// The name is that of a status which is no error's.
    ///
    /// ```
    /// use error_pages::statuses::ErrorKind;
    ///
    /// assert_eq!(ErrorKind::of("404"), Ok(Some(ErrorKind::One(404))));
    /// assert_eq!(ErrorKind::of("frame"), Ok(None));
    /// assert!(ErrorKind::of("200").is_err());
    /// ```
    pub fn of(stem: &str) -> Result<Option<ErrorKind>, String> {
        match stem {
            "4xx" => return Ok(Some(ErrorKind::Class(4))),
            "5xx" => return Ok(Some(ErrorKind::Class(5))),
            "default" => return Ok(Some(ErrorKind::Rest)),
            _ => {}
        }
        if stem.is_empty() || !stem.bytes().all(|byte| byte.is_ascii_digit()) {
            return Ok(None);
        }
        let status = stem.parse().ok().filter(|status| (400..=599).contains(status));
        status
            .map(|status| Some(ErrorKind::One(status)))
            .ok_or_else(|| format!("{stem} is no status of an error"))
    }

    /// The errors that it stands for beside the others.
    pub fn statuses(self, others: &[ErrorKind]) -> Vec<u16> {
        let has = |kind: ErrorKind| others.contains(&kind);
        let stands = |status: &u16| match self {
            ErrorKind::One(_) => false,
            ErrorKind::Class(class) => status / 100 == class && !has(ErrorKind::One(*status)),
            ErrorKind::Rest => !has(ErrorKind::One(*status)) && !has(ErrorKind::Class(status / 100)),
        };
        match self {
            ErrorKind::One(own) => vec![own],
            _ => all().filter(stands).collect(),
        }
    }
}
