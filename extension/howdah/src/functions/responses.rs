//! Functions that make responses.

use form::cookie::{SameSite, SetCookie};
use pg::entry::sql_function;
use pg::guard::direct;
use pg::refuse::refuse_with_hint;
use pgrx::pg_sys;
use pgrx::prelude::*;
use request::params;

sql_function!(
    /// `http.as_bytes`: text and bytea are laid out alike.
    howdah_as_bytes,
    |call| call.argument(0).unwrap_or_else(|| call.null())
);

sql_function!(
    /// `http.escape`
    escape_wrapper,
    |call| of_pieces(form::escape::html_pieces, call.need(0, "value"))
);

sql_function!(
    /// `http.url_encode`
    url_encode_wrapper,
    |call| of_pieces(form::escape::url_pieces, call.need(0, "value"))
);

sql_function!(
    /// `http.as_location`
    as_location_wrapper,
    |call| {
        let location: &str = call.need(0, "value");
        if !form::location::is_redirect(location) {
            let shown: String = location.chars().take(100).collect();
            refuse_with_hint(
                PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE,
                &format!("{shown:?} is no location for a redirect: it has another scheme than http and https, or names a host without one"),
                "A path of the site begins with one slash. For a value that a client has sent: http.same_site(next).",
            );
        }
        of_pieces(form::escape::location_pieces, location)
    }
);

sql_function!(
    /// `http.same_site(location, otherwise)`
    howdah_same_site,
    |call| match call.get::<&str>(0).filter(|location| form::location::is_on_site(location)) {
        Some(_) => call.argument(0).unwrap_or_else(|| call.null()),
        None => call.argument(1).unwrap_or_else(|| call.null()),
    }
);

/// A text of the pieces that are made of another.
fn of_pieces<'a, I: Iterator<Item = &'a str>>(
    pieces: impl Fn(&'a str) -> I,
    value: &'a str,
) -> pg_sys::Datum {
    let length = pieces(value).map(str::len).sum();
    // SAFETY: inside a transaction; what is owned meanwhile is nothing.
    unsafe { direct(|| params::text_of_pieces(length, pieces(value))) }
}

sql_function!(
    /// `http.cookie_text`
    cookie_text_wrapper,
    |call| {
        let text = |place| call.text(place);
        call.give(cookie_text(
            text(0),
            text(1),
            text(2),
            text(3),
            call.get(4),
            call.get(5),
            call.get(6),
            text(7),
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
