//! Conditional requests, as RFC 9110, section 13, has them. Knows neither connections nor PostgreSQL.
//!
//! - [`tag_of`]: the entity tag of a body.
//! - [`Preconditions`]: what a request asks for, and what becomes of it: a [`Verdict`].

mod tags;

use std::time::SystemTime;

pub use tags::tag_of;

/// What a response says of what is there now.
#[derive(Clone, Copy, Debug, Default)]
pub struct Validators<'v> {
    /// Its entity tag, with its quotes and perhaps `W/` in front.
    pub tag: Option<&'v [u8]>,
    /// When it was last changed, as a header has it.
    pub last_modified: Option<&'v [u8]>,
}

/// What becomes of a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// It is answered as without conditions.
    Perform,
    /// 304: the client has what is there.
    NotModified,
    /// 412: something else is there than the client has seen.
    Failed,
}

/// The conditions of a request.
#[derive(Clone, Debug, Default)]
pub struct Preconditions<'r> {
    if_match: Vec<&'r [u8]>,
    if_none_match: Vec<&'r [u8]>,
    if_unmodified_since: Option<&'r [u8]>,
    if_modified_since: Option<&'r [u8]>,
}

impl<'r> Preconditions<'r> {
    /// Those among headers. Of a date that stands there twice the first counts.
    pub fn of(headers: impl Iterator<Item = (&'r [u8], &'r [u8])>) -> Preconditions<'r> {
        let mut all = Preconditions::default();
        for (name, value) in headers {
            // Few names begin so, and most requests have none of them.
            if !name.first().is_some_and(|first| first.eq_ignore_ascii_case(&b'i')) {
                continue;
            }
            match name.to_ascii_lowercase().as_slice() {
                b"if-match" => all.if_match.push(value),
                b"if-none-match" => all.if_none_match.push(value),
                b"if-unmodified-since" => all.if_unmodified_since = all.if_unmodified_since.or(Some(value)),
                b"if-modified-since" => all.if_modified_since = all.if_modified_since.or(Some(value)),
                _ => {}
            }
        }
        all
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.if_match.is_empty()
            && self.if_none_match.is_empty()
            && self.if_unmodified_since.is_none()
            && self.if_modified_since.is_none()
    }

    /// Whether it is asked whether what the client has is there still, by a tag.
    pub fn revalidates(&self) -> bool {
        !self.if_none_match.is_empty()
    }

    /// Whether a read may fail by them: it wants what the client has seen, and nothing else.
    pub fn require(&self) -> bool {
        !self.if_match.is_empty() || self.if_unmodified_since.is_some()
    }

    /// Whether it is one that a write may have: to be done only if what is there is, or is not, what the client has seen.
    pub fn guard_writes(&self) -> bool {
        !self.if_match.is_empty() || !self.if_none_match.is_empty() || self.if_unmodified_since.is_some()
    }

    /// The tag, with its quotes, by which a client that asks whether its answer still holds knows the one with this tag, if it got it by a coding:
    /// `"x-gzip"` for `"x"`. None if it knows `"x"` itself.
    ///
    /// ```
    /// let headers = [(&b"if-none-match"[..], &b"\"y\", \"x-gzip\""[..])];
    /// let preconditions = conditions::Preconditions::of(headers.into_iter());
    /// assert_eq!(preconditions.known_as(b"\"x\"").as_deref(), Some(&b"\"x-gzip\""[..]));
    /// assert_eq!(preconditions.known_as(b"\"y\""), None);
    /// ```
    pub fn known_as(&self, tag: &[u8]) -> Option<Vec<u8>> {
        tags::known_as(&self.if_none_match, tag)
    }

    /// What becomes of a request, in the order of RFC 9110, section 13.2.2. `now` is what is there, if anything is; `is_read` says that
    /// the method is GET or HEAD. It is to be asked only where the answer would be a success.
    pub fn judge(&self, is_read: bool, now: Option<Validators<'_>>) -> Verdict {
        let changed = |date: &[u8]| -> Option<bool> { Some(time(now?.last_modified?)? > time(date)?) };
        if !self.if_match.is_empty() {
            let holds = now.is_some_and(|now| tags::name_strongly(&self.if_match, now.tag));
            if !holds {
                return Verdict::Failed;
            }
        } else if self.if_unmodified_since.and_then(changed) == Some(true) {
            return Verdict::Failed;
        }
        if !self.if_none_match.is_empty() {
            let is_known = now.is_some_and(|now| tags::name_weakly(&self.if_none_match, now.tag));
            return match (is_known, is_read) {
                (false, _) => Verdict::Perform,
                (true, true) => Verdict::NotModified,
                (true, false) => Verdict::Failed,
            };
        }
        if is_read && self.if_modified_since.and_then(changed) == Some(false) {
            return Verdict::NotModified;
        }
        Verdict::Perform
    }
}

/// Whether a header of an answer stands in a 304, too: it says nothing of a body.
pub fn is_of_unmodified(name: &[u8]) -> bool {
    let begins = |start: &[u8]| name.len() >= start.len() && name[..start.len()].eq_ignore_ascii_case(start);
    !begins(b"content-") || begins(b"content-location")
}

/// The time that a header has, to the second; none if it is no date.
fn time(text: &[u8]) -> Option<SystemTime> {
    httpdate::parse_http_date(std::str::from_utf8(text).ok()?.trim()).ok()
}
