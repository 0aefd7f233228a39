//! Functions that make responses.

use form::cookie::{SameSite, SetCookie};
use pgrx::pg_sys;
use pgrx::prelude::*;

use super::version_1;

version_1!(
    /// `http.as_bytes`: text and bytea are laid out alike.
    howdah_as_bytes,
    pg_finfo_howdah_as_bytes,
    |call: &mut pg_sys::FunctionCallInfoBaseData| {
        call.isnull = false;
        (*call.args.as_ptr()).value
    }
);

/// `http.escape`
#[pg_extern]
fn escape(value: &str) -> String {
    form::escape::html(value).into_owned()
}

/// `http.cookie_text`
#[pg_extern]
#[allow(clippy::too_many_arguments)]
fn cookie_text(
    name: Option<&str>,
    value: Option<&str>,
    path: Option<&str>,
    domain: Option<&str>,
    max_age: Option<i32>,
    secure: Option<bool>,
    http_only: Option<bool>,
    same_site: Option<&str>,
) -> String {
    let cookie = SetCookie {
        path,
        domain,
        max_age: max_age.map(Into::into),
        secure: secure.unwrap_or_default(),
        http_only: http_only.unwrap_or_default(),
        same_site: same_site.map(site),
        ..SetCookie::new(name.unwrap_or_default(), value.unwrap_or_default())
    };
    match cookie.header() {
        Ok(text) => text,
        Err(error) => refuse(&error.to_string()),
    }
}

fn site(name: &str) -> SameSite {
    match name.to_ascii_lowercase().as_str() {
        "lax" => SameSite::Lax,
        "strict" => SameSite::Strict,
        "none" => SameSite::None,
        _ => refuse(&format!("same_site {name} is neither Lax nor Strict nor None")),
    }
}

fn refuse(message: &str) -> ! {
    pg_sys::panic::ErrorReport::new(
        PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE,
        message.to_owned(),
        "howdah",
    )
    .report(PgLogLevel::ERROR);
    unreachable!("an ERROR report does not return")
}
