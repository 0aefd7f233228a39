//! Parts of a request, beside path and query string, that an answer may depend on.

use std::cell::RefCell;

use message::Request;

use super::reads::{Obstacle, blame, records};

/// A part of a request. Names of headers are in lower case.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ReadInput {
    /// The first header of a name.
    Header(String),
    /// The first cookie of a name.
    Cookie(String),
}

/// Parts that one answer may depend on.
const MOST: usize = 16;
/// Bytes of a name.
const LONGEST: usize = 256;

thread_local! {
    static NOTED: RefCell<Vec<ReadInput>> = const { RefCell::new(Vec::new()) };
}

impl ReadInput {
    /// Its value in a request; none if that has no such part.
    pub fn value<'r>(&self, request: &Request<'r>) -> Option<&'r str> {
        match self {
            ReadInput::Header(name) => request.header(name),
            ReadInput::Cookie(name) => {
                let lines = request.headers().filter(|(known, _)| *known == "cookie");
                let mut pairs = lines.flat_map(|(_, value)| form::cookie::pairs(value));
                pairs.find(|(known, _)| known == name).map(|(_, value)| value)
            }
        }
    }

    /// The same, for a function that a handler has called: it is noted if the run is recorded.
    pub fn take<'r>(self, request: &Request<'r>) -> Option<&'r str> {
        let value = self.value(request);
        if records() {
            self.note();
        }
        value
    }

    fn note(self) {
        let (ReadInput::Header(name) | ReadInput::Cookie(name)) = &self;
        let is_long = name.len() > LONGEST;
        let has_room = NOTED.with_borrow_mut(|noted| {
            let is_known = noted.contains(&self);
            if !is_known && !is_long && noted.len() < MOST {
                noted.push(self);
                return true;
            }
            is_known
        });
        if !has_room {
            blame(Obstacle::Many);
        }
    }

    /// As people and other processes read it: `header accept-language`.
    pub fn text(&self) -> String {
        match self {
            ReadInput::Header(name) => format!("header {name}"),
            ReadInput::Cookie(name) => format!("cookie {name}"),
        }
    }

    /// What [`text`](Self::text) has written.
    pub fn parse(text: &str) -> Option<ReadInput> {
        match text.split_once(' ')? {
            ("header", name) => Some(ReadInput::Header(name.to_owned())),
            ("cookie", name) => Some(ReadInput::Cookie(name.to_owned())),
            _ => None,
        }
    }
}

/// Those that were noted since the last call.
pub(super) fn take_noted() -> Vec<ReadInput> {
    NOTED.take()
}
