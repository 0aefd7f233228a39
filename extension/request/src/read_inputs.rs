//! Parts of a request, beside its path, that an answer may depend on.

use std::borrow::Cow;
use std::cell::{Cell, RefCell};

use message::Request;

use super::recording::{Obstacle, blame, records};

/// A part of a request. Names of headers are in lower case.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum ReadInput {
    /// The first header of a name.
    Header(String),
    /// The first cookie of a name.
    Cookie(String),
    /// All parameters of a name in the query string.
    Query(String),
    /// The query string as it was sent.
    WholeQuery,
    /// The message of `http.flash` that a navigation brings. Who brings one gets an answer of his own.
    Flash,
}

/// Parts that one answer may depend on.
const MOST: usize = 64;
/// Bytes of a name.
const LONGEST: usize = 256;
/// Most parameters of a query string.
const MAX_PARAMETERS: usize = 10_000;

/// What `vary` of a route names; none if answers are not kept.
type Varies = Option<Vec<ReadInput>>;

thread_local! {
    static NOTED: RefCell<Vec<ReadInput>> = const { RefCell::new(Vec::new()) };
    /// What may be taken beside the query string.
    static VARIES: RefCell<Varies> = const { RefCell::new(None) };
    /// Whether a guard runs: what it takes need not be named.
    static IN_GUARD: Cell<bool> = const { Cell::new(false) };
    /// The first that was taken and is not among those.
    static UNNAMED: RefCell<Option<ReadInput>> = const { RefCell::new(None) };
}

impl ReadInput {
    /// The value of a header or a cookie in a request; none if that has no such part.
    fn value<'r>(&self, request: &Request<'r>) -> Option<&'r str> {
        match self {
            ReadInput::Header(name) => request.header(name),
            ReadInput::Cookie(name) => cookie_of(request, name),
            ReadInput::Flash => message_of(request),
            ReadInput::Query(_) => None,
            ReadInput::WholeQuery => Some(request.query_string()),
        }
    }

    /// The same, for a function that a handler has called: it is noted if the run is recorded.
    pub fn take<'r>(self, request: &Request<'r>) -> Option<&'r str> {
        let value = self.value(request);
        self.note();
        value
    }

    /// Notes that it was taken, if the run is recorded.
    pub fn note(self) {
        if !records() {
            return;
        }
        let is_named = match &self {
            ReadInput::Query(_) | ReadInput::WholeQuery | ReadInput::Flash => true,
            _ if IN_GUARD.get() => true,
            _ => VARIES.with_borrow(|varies| varies.as_ref().is_none_or(|varies| varies.contains(&self))),
        };
        if !is_named {
            UNNAMED.with_borrow_mut(|unnamed| {
                unnamed.get_or_insert_with(|| self.clone());
            });
            blame(Obstacle::Unnamed);
        }
        let name = self.name();
        let is_strange = name.len() > LONGEST || name.bytes().any(|byte| byte.is_ascii_control());
        let has_room = NOTED.with_borrow_mut(|noted| {
            let is_known = noted.contains(&self);
            if !is_known && !is_strange && noted.len() < MOST {
                noted.push(self);
                return true;
            }
            is_known
        });
        if !has_room {
            blame(Obstacle::Inputs);
        }
    }

    fn name(&self) -> &str {
        match self {
            ReadInput::Header(name) | ReadInput::Cookie(name) | ReadInput::Query(name) => name,
            ReadInput::WholeQuery | ReadInput::Flash => "",
        }
    }

    /// As people and other processes read it: `header accept-language`.
    pub fn text(&self) -> String {
        match self {
            ReadInput::Header(name) => format!("header {name}"),
            ReadInput::Cookie(name) => format!("cookie {name}"),
            ReadInput::Query(name) => format!("query {name}"),
            ReadInput::WholeQuery => "whole query".into(),
            ReadInput::Flash => "flash cookie".into(),
        }
    }

    /// What [`text`](Self::text) has written.
    pub fn parse(text: &str) -> Option<ReadInput> {
        match text.split_once(' ')? {
            ("header", name) => Some(ReadInput::Header(name.to_owned())),
            ("cookie", name) => Some(ReadInput::Cookie(name.to_owned())),
            ("query", name) => Some(ReadInput::Query(name.to_owned())),
            ("whole", "query") => Some(ReadInput::WholeQuery),
            ("flash", "cookie") => Some(ReadInput::Flash),
            _ => None,
        }
    }

    /// A name of a route's `vary`: `header:accept-language`; none if it is none.
    pub fn of_vary(text: &str) -> Option<ReadInput> {
        let (kind, name) = text.split_once(':')?;
        let is_name = !name.is_empty()
            && name.len() <= LONGEST
            && name.bytes().all(|byte| byte.is_ascii_graphic() && !b"\"(),/:;<=>?@[\\]{}".contains(&byte));
        match kind {
            "header" if is_name => Some(ReadInput::Header(name.to_ascii_lowercase())),
            "cookie" if is_name => Some(ReadInput::Cookie(name.to_owned())),
            _ => None,
        }
    }

    /// As `vary` has it.
    pub fn vary(&self) -> String {
        match self {
            ReadInput::Header(name) => format!("header:{name}"),
            ReadInput::Cookie(name) => format!("cookie:{name}"),
            ReadInput::Query(name) => format!("query:{name}"),
            ReadInput::WholeQuery => "query:*".into(),
            ReadInput::Flash => "flash".into(),
        }
    }
}

/// The first cookie of a name, as it was sent.
fn cookie_of<'r>(request: &Request<'r>, name: &str) -> Option<&'r str> {
    let lines = request.headers().filter(|(known, _)| *known == "cookie");
    let mut pairs = lines.flat_map(|(_, value)| form::cookie::pairs(value));
    pairs.find(|(known, _)| *known == name).map(|(_, value)| value)
}

/// The cookie of a message that the answer may show, as it was sent.
fn message_of<'r>(request: &Request<'r>) -> Option<&'r str> {
    cookie_of(request, form::flash::NAME)
        .filter(|value| !value.is_empty() && request.method() != "HEAD")
        .filter(|_| form::flash::is_navigation(request.headers()))
}

/// Whether an answer that depends on these parts is the request's alone.
pub fn is_of_one(inputs: &[ReadInput], request: &Request<'_>) -> bool {
    inputs.contains(&ReadInput::Flash) && message_of(request).is_some()
}

/// All parameters of a name in the query string, for a function that a handler has called: they are noted if the run is recorded, those that are not
/// there, too.
///
/// # Errors
/// If the query string cannot be read.
pub fn take_parameters<'r>(name: &str, request: &Request<'r>) -> Result<Vec<Cow<'r, str>>, form::FormError> {
    ReadInput::Query(name.to_owned()).note();
    let all = form::urlencoded::parse(request.query_string().as_bytes(), MAX_PARAMETERS)?;
    Ok(all.into_iter().filter(|(known, _)| known == name).map(|(_, value)| value).collect())
}

/// Names and values of a query string, in order.
pub type Parameters<'r> = Vec<(Cow<'r, str>, Cow<'r, str>)>;

/// All parameters of the query string, for a function that a handler has called: the whole string is noted if the run is recorded.
///
/// # Errors
/// If the query string cannot be read.
pub fn take_all_parameters<'r>(request: &Request<'r>) -> Result<Parameters<'r>, form::FormError> {
    ReadInput::WholeQuery.note();
    form::urlencoded::parse(request.query_string().as_bytes(), MAX_PARAMETERS)
}

/// Begins to note; of a route whose answers are kept with what its `vary` names.
pub(super) fn begin(varies: Option<&[ReadInput]>) {
    NOTED.take();
    VARIES.set(varies.map(<[_]>::to_vec));
    UNNAMED.take();
    IN_GUARD.set(false);
}

/// Says whether a guard runs. What it takes is noted, whatever `vary` names: who may see an answer is no matter of the route's.
pub(super) fn in_guard(is: bool) {
    IN_GUARD.set(is);
}

/// Those that were noted since.
pub(super) fn take_noted() -> Vec<ReadInput> {
    NOTED.take()
}

/// What was taken that `vary` does not name.
pub(super) fn unnamed() -> Option<ReadInput> {
    UNNAMED.with_borrow(Clone::clone)
}

/// Writes what inputs are in a request as bytes that are equal only where all of them are; false if the query string cannot be read.
pub fn write_inputs(inputs: &[ReadInput], request: &Request<'_>, key: &mut Vec<u8>) -> bool {
    let mut parameters: Option<Parameters<'_>> = None;
    key.push(inputs.len() as u8);
    for input in inputs {
        let ReadInput::Query(name) = input else {
            let value = input.value(request);
            key.push(u8::from(value.is_some()));
            write_text(value.unwrap_or_default(), key);
            continue;
        };
        if parameters.is_none() {
            let parsed = form::urlencoded::parse(request.query_string().as_bytes(), MAX_PARAMETERS);
            let Ok(parsed) = parsed else { return false };
            parameters = Some(parsed);
        }
        let named = parameters.iter().flatten().filter(|(known, _)| known == name);
        let before = key.len();
        key.extend_from_slice(&[0; 4]);
        let mut count = 0u32;
        for (_, value) in named {
            write_text(value, key);
            count += 1;
        }
        key[before..before + 4].copy_from_slice(&count.to_le_bytes());
    }
    true
}

fn write_text(text: &str, key: &mut Vec<u8>) {
    key.extend_from_slice(&(text.len() as u32).to_le_bytes());
    key.extend_from_slice(text.as_bytes());
}
