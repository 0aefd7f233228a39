//! An error that is answered, and its document.

use message::ResponseBuilder;
use serde::Serialize;

use crate::Meaning;

/// An error to be answered.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Problem {
    /// The status.
    pub status: u16,
    /// What is wrong, for the client.
    pub detail: Option<String>,
    /// The SQLSTATE, where the error is PostgreSQL's.
    pub sqlstate: Option<[u8; 5]>,
    /// DETAIL and HINT, where clients may see them.
    pub more: [Option<String>; 2],
    /// `Allow` of a 405; whoever knows the routes adds it.
    pub allow: Option<Box<str>>,
    /// Whether `Accept` decides what answers there, so that `Vary` says so.
    pub by_accept: bool,
    /// Whether a body whose coding is the problem would be unpacked if it were one of [`CODINGS`].
    pub unpacks: bool,
    /// What kind of problem it is, where the status does not say all.
    pub kind: Option<ProblemKind>,
    /// The parameters that are wrong, each with what is wrong with it.
    pub errors: Box<[ParameterError]>,
}

/// A parameter that is missing, cannot become what it is to be, or is refused.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct ParameterError {
    /// Its name; none if it is the request as a whole that is refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parameter: Option<String>,
    /// The fault, for the client.
    pub message: String,
    /// Whose words the message has.
    #[serde(skip)]
    pub wording: Wording,
}

/// Whose words a message has: which of them are for people.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Wording {
    /// The application's: they are for people.
    Application,
    /// Those of [`ParameterError::missing`].
    Missing,
    /// Those of PostgreSQL, or of Howdah's, for programs: an error with this SQLSTATE.
    Server([u8; 5]),
}

/// The message of what is not there.
const MISSING: &str = "is missing";

impl ParameterError {
    /// It is not there.
    pub fn missing(parameter: &str) -> Self {
        let parameter = Some(parameter.to_owned());
        ParameterError { parameter, message: MISSING.to_owned(), wording: Wording::Missing }
    }
}

/// Kinds of problems that the status does not tell.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ProblemKind {
    /// That of [`Problem::unconfirmed`].
    Unconfirmed,
}

impl ProblemKind {
    /// As a URI.
    fn uri(self) -> &'static str {
        match self {
            ProblemKind::Unconfirmed => UNCONFIRMED,
        }
    }
}

/// The URI of [`ProblemKind::Unconfirmed`].
pub const UNCONFIRMED: &str = "urn:howdah:unconfirmed";

/// The codings by which a body may be packed where such are unpacked, as `Accept-Encoding` has them.
pub const CODINGS: &str = "br, zstd, gzip, identity";

/// Whether the running request may write: decides what an attempt to write means.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Access {
    /// GET and HEAD, and whatever runs in the gateway.
    ReadOnly,
    /// Any other method.
    ReadWrite,
}

impl Access {
    /// What a method may do: GET and HEAD run in a read-only transaction.
    pub fn of_method(method: &str) -> Access {
        if matches!(method, "GET" | "HEAD" | "OPTIONS" | "TRACE") {
            Access::ReadOnly
        } else {
            Access::ReadWrite
        }
    }
}

/// What PostgreSQL says of an error.
#[derive(Clone, Copy, Debug)]
pub struct Raised<'a> {
    /// Its SQLSTATE.
    pub sqlstate: [u8; 5],
    /// Its message.
    pub message: &'a str,
    /// DETAIL.
    pub detail: Option<&'a str>,
    /// HINT.
    pub hint: Option<&'a str>,
}

/// The members of a document, in the order of their names: what is wrong comes first.
#[derive(Serialize)]
struct Document<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    detail: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error_detail: Option<&'a str>,
    #[serde(skip_serializing_if = "<[ParameterError]>::is_empty")]
    errors: &'a [ParameterError],
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<&'a str>,
    request_id: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    sqlstate: Option<&'a str>,
    status: u16,
    title: &'static str,
    r#type: &'static str,
}

impl Problem {
    /// An error without PostgreSQL's part in it.
    pub fn new(status: u16, detail: impl Into<String>) -> Self {
        Problem {
            status,
            detail: Some(detail.into()),
            sqlstate: None,
            more: [None, None],
            allow: None,
            by_accept: false,
            unpacks: false,
            kind: None,
            errors: Box::default(),
        }
    }

    /// Parameters that are wrong, in their order, of which there is one at least: all of them, and the first in the text.
    pub fn of_parameters(errors: Vec<ParameterError>) -> Self {
        let first = errors.first().map(|error| match (&error.parameter, error.message.as_str()) {
            (Some(parameter), MISSING) => format!("parameter {parameter} is missing"),
            (Some(parameter), message) => format!("parameter {parameter}: {message}"),
            (None, message) => message.to_owned(),
        });
        let first = first.unwrap_or_default();
        let detail = match errors.len() {
            0 | 1 => first,
            2 => format!("{}, and one more parameter is wrong", first.trim_end_matches('.')),
            count => format!("{}, and {} more parameters are wrong", first.trim_end_matches('.'), count - 1),
        };
        Problem { errors: errors.into(), ..Problem::new(400, detail) }
    }

    /// Parameters that a handler has refused, in the order in which it has.
    pub fn refused(errors: Vec<ParameterError>) -> Self {
        Problem { status: 422, ..Problem::of_parameters(errors) }
    }

    /// A commit that stands on this server, and that no standby has confirmed which is asked to: whether it lasts is not known. The SQLSTATE is that of an
    /// unknown outcome.
    pub fn unconfirmed() -> Self {
        let detail =
            "it is committed on this server, and no standby has confirmed that: a failover may lose it";
        Problem {
            sqlstate: Some(*b"08007"),
            kind: Some(ProblemKind::Unconfirmed),
            ..Problem::new(504, detail)
        }
    }

    /// PostgreSQL's error as an answer. `is_standby`: nobody can write to this server. `shows_all`: clients see every message, DETAIL
    /// and HINT. docs/errors.md has this table.
    pub fn of_error(raised: Raised<'_>, access: Access, is_standby: bool, shows_all: bool) -> Self {
        let meaning = Meaning::of(&raised.sqlstate);
        let problem = Problem { sqlstate: Some(raised.sqlstate), ..Problem::new(0, "") };
        if meaning.is_write_where_none_may() && access == Access::ReadOnly {
            let detail = format!(
                "{}: GET and HEAD requests run in a read-only transaction; what writes needs POST, PUT, PATCH or DELETE",
                raised.message
            );
            return Problem { status: 405, detail: Some(detail), ..problem };
        }
        let more = if shows_all { [raised.detail, raised.hint] } else { [None, None] };
        Problem {
            status: meaning.status(is_standby),
            detail: (meaning.tells() || shows_all).then(|| raised.message.to_owned()),
            more: more.map(|text| text.map(str::to_owned)),
            ..problem
        }
    }

    /// The same, each of its texts being what `shown` makes of it.
    pub fn without(mut self, shown: impl Fn(String) -> String) -> Self {
        self.detail = self.detail.map(&shown);
        self.more = self.more.map(|text| text.map(&shown));
        for error in &mut self.errors {
            error.message = shown(std::mem::take(&mut error.message));
        }
        self
    }

    /// Whether the client should try again: 503 carries Retry-After.
    fn retry_after(&self) -> Option<&'static str> {
        (self.status == 503).then_some("1")
    }

    /// What may be sent in place of a body that is compressed (RFC 9110, 15.5.16). An error of a handler's chooses 415 for
    /// reasons of its own.
    fn accepted_coding(&self) -> Option<&'static str> {
        (self.status == 415 && self.sqlstate.is_none()).then_some(if self.unpacks {
            CODINGS
        } else {
            "identity"
        })
    }

    /// The response, written into `buffer`. A status that no response can have becomes 500.
    pub fn write(&self, buffer: Vec<u8>, request_id: &str) -> Vec<u8> {
        let Ok(mut builder) = ResponseBuilder::in_buffer(buffer, self.status) else {
            return Problem { status: 500, ..self.clone() }.write(Vec::new(), request_id);
        };
        let fixed = [
            ("content-type", Some("application/problem+json")),
            ("x-request-id", Some(request_id)),
            ("retry-after", self.retry_after()),
            ("allow", self.allow.as_deref()),
            ("vary", self.by_accept.then_some("accept")),
            ("accept-encoding", self.accepted_coding()),
        ];
        for (name, value) in fixed {
            if let Some(value) = value {
                // Values of ours and an id that has been checked: they cannot be refused.
                let _ = builder.header(name, value);
            }
        }
        builder.is_problem();
        builder.finish(&self.document(request_id))
    }

    fn document(&self, request_id: &str) -> Vec<u8> {
        let document = Document {
            detail: self.detail.as_deref(),
            error_detail: self.more[0].as_deref(),
            errors: &self.errors,
            hint: self.more[1].as_deref(),
            request_id,
            sqlstate: self.sqlstate.as_ref().and_then(|code| std::str::from_utf8(code).ok()),
            status: self.status,
            title: http1::reason::phrase(self.status).unwrap_or("Error"),
            r#type: self.kind.map_or("about:blank", ProblemKind::uri),
        };
        // Texts and a number: there is nothing in it that JSON cannot have.
        serde_json::to_vec(&document).unwrap_or_default()
    }
}
