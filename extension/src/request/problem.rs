//! Errors as responses: SQLSTATE to status, as problem documents (RFC 9457).

use message::ResponseBuilder;
use serde_json::{Map, Value};

use crate::guard::PgError;

/// An error to be answered.
#[derive(Clone, Debug)]
pub struct Problem {
    /// The status.
    pub status: u16,
    /// What is wrong, for the client.
    pub detail: Option<String>,
    /// The SQLSTATE, where the error is PostgreSQL's.
    pub sqlstate: Option<[u8; 5]>,
    /// DETAIL and HINT, shown with howdah.show_errors alone.
    pub more: [Option<String>; 2],
    /// `Allow` of a 405; whoever knows the routes adds it.
    pub allow: Option<String>,
}

/// Whether the running request may write: decides what an attempt to write means.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Access {
    /// GET and HEAD, and whatever runs in the gateway.
    ReadOnly,
    /// Any other method.
    ReadWrite,
}

impl Problem {
    /// An error without PostgreSQL's part in it.
    pub fn new(status: u16, detail: impl Into<String>) -> Self {
        Problem { status, detail: Some(detail.into()), sqlstate: None, more: [None, None], allow: None }
    }

    /// PostgreSQL's error as an answer. docs/http.md has this table.
    pub fn of_error(error: &PgError, access: Access, show: bool) -> Self {
        let code = error.sqlstate();
        if code == "25006" && access == Access::ReadOnly {
            return Self::write_in_get(error);
        }
        let (status, tells) = judge(code);
        let mut problem = Problem::new(status, error.message.clone());
        if !tells && !show {
            problem.detail = None;
        }
        problem.sqlstate = Some(error.sqlstate);
        if show {
            problem.more = [error.detail.clone(), error.hint.clone()];
        }
        problem
    }

    fn write_in_get(error: &PgError) -> Self {
        Problem {
            status: 405,
            detail: Some(format!(
                "{}: GET and HEAD requests run in a read-only transaction; what writes needs POST, PUT, PATCH or DELETE",
                error.message
            )),
            sqlstate: Some(error.sqlstate),
            more: [None, None],
            allow: None,
        }
    }

    /// Whether the client should try again: 503 carries Retry-After.
    fn retry_after(&self) -> Option<&'static str> {
        (self.status == 503).then_some("1")
    }

    /// What may be sent in place of a body that is compressed (RFC 9110, 15.5.16). An error of a handler's chooses 415 for
    /// reasons of its own.
    fn accepted_coding(&self) -> Option<&'static str> {
        (self.status == 415 && self.sqlstate.is_none()).then_some("identity")
    }

    /// The response, written into `buffer`.
    pub fn write(&self, buffer: Vec<u8>, request_id: &str) -> Vec<u8> {
        let mut builder = match ResponseBuilder::in_buffer(buffer, self.status) {
            Ok(builder) => builder,
            Err(_) => return self.as_internal_error().write(Vec::new(), request_id),
        };
        let fixed = [
            ("content-type", Some("application/problem+json")),
            ("x-request-id", Some(request_id)),
            ("retry-after", self.retry_after()),
            ("allow", self.allow.as_deref()),
            ("accept-encoding", self.accepted_coding()),
        ];
        for (name, value) in fixed {
            if let Some(value) = value {
                // Values of ours and an id that has been checked: they cannot be refused.
                let _ = builder.header(name, value);
            }
        }
        builder.finish(self.document(request_id).as_bytes())
    }

    fn as_internal_error(&self) -> Self {
        Problem { status: 500, ..self.clone() }
    }

    fn document(&self, request_id: &str) -> String {
        let mut document = Map::new();
        document.insert("type".into(), "about:blank".into());
        document.insert("title".into(), title(self.status).into());
        document.insert("status".into(), self.status.into());
        let mut add = |name: &str, value: Option<&str>| {
            if let Some(value) = value {
                document.insert(name.into(), value.into());
            }
        };
        add("detail", self.detail.as_deref());
        add("sqlstate", self.sqlstate.as_ref().and_then(|code| std::str::from_utf8(code).ok()));
        add("error_detail", self.more[0].as_deref());
        add("hint", self.more[1].as_deref());
        add("request_id", Some(request_id));
        Value::Object(document).to_string()
    }
}

/// The status of an error, and whether its message is for everybody. A message of class 22 may quote what a handler has
/// read: that of an argument's conversion quotes what the client has sent, and is told elsewhere.
fn judge(code: &str) -> (u16, bool) {
    match code {
        "02000" => (404, true),
        "23502" | "23514" | "P0001" => (400, true),
        _ if code.starts_with("22") => (400, false),
        "23505" | "23503" | "23P01" => (409, true),
        "42501" => (403, false),
        "57014" => (504, false),
        "40001" | "40P01" | "55P03" => (503, false),
        // A write where nobody can write: on a standby another server may.
        "25006" if is_standby() => (503, false),
        _ if code.starts_with("53") => (503, false),
        _ => match chosen_status(code) {
            Some(status) => (status, true),
            None => (500, false),
        },
    }
}

/// Whether a client has caused an error, rather than a handler or the server.
pub fn is_clients_fault(sqlstate: &[u8; 5]) -> bool {
    let code = std::str::from_utf8(sqlstate).unwrap_or_default();
    code == "25006" || judge(code).0 < 500
}

fn is_standby() -> bool {
    // SAFETY: reads a flag in shared memory, or a variable of this process.
    unsafe { pgrx::pg_sys::RecoveryInProgress() }
}

/// `raise … using errcode = 'PT404'` chooses the status: PT and three digits from 200 to 599.
fn chosen_status(sqlstate: &str) -> Option<u16> {
    let status = sqlstate.strip_prefix("PT")?.parse().ok()?;
    (200..=599).contains(&status).then_some(status)
}

/// The title of a status, as the registry of HTTP has it.
fn title(status: u16) -> &'static str {
    match status {
        400 => "Bad Request",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        409 => "Conflict",
        410 => "Gone",
        412 => "Precondition Failed",
        413 => "Content Too Large",
        415 => "Unsupported Media Type",
        422 => "Unprocessable Content",
        423 => "Locked",
        428 => "Precondition Required",
        429 => "Too Many Requests",
        500 => "Internal Server Error",
        502 => "Bad Gateway",
        503 => "Service Unavailable",
        504 => "Gateway Timeout",
        _ => "Error",
    }
}
