//! Functions that make responses.

use form::cookie::{SameSite, SetCookie};
use pgrx::pg_sys;
use pgrx::prelude::*;

use crate::entry::sql_function;

sql_function!(
    /// `http.as_bytes`: text and bytea are laid out alike.
    howdah_as_bytes,
    |call| call.argument(0).unwrap_or_else(|| call.null())
);

sql_function!(
    /// `http.escape`
    escape_wrapper,
    |call| call.give(form::escape::html(&call.need::<String>(0, "value")).into_owned())
);

sql_function!(
    /// `http.cookie_text`
    cookie_text_wrapper,
    |call| {
        let text = |place| call.get::<String>(place);
        call.give(cookie_text(
            text(0).as_deref(),
            text(1).as_deref(),
            text(2).as_deref(),
            text(3).as_deref(),
            call.get(4),
            call.get(5),
            call.get(6),
            text(7).as_deref(),
        ))
    }
);

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
