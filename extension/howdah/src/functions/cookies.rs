//! Cookies that nobody else can have made, and messages for the next page.

use std::time::{SystemTime, UNIX_EPOCH};

use form::flash::Flash;
use form::signed_cookie::Signed;
use pg::entry::sql_function;
use pg::refuse::refuse_with_hint;
use pgrx::prelude::*;
use request::recording::{FOR_EVER, ends_after};
use request::{current, flash};

use super::requests::cookie;

sql_function!(
    /// `http.signed_text`: the value of a signed cookie.
    howdah_signed_text,
    |call| {
        let name = call.need_text(0, "name");
        // An empty text is a value that was signed.
        let value = call.need_text(1, "value");
        if name.len() + value.len() > LONGEST_SIGNED {
            refuse_with_hint(
                PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE,
                "the cookie is longer than 4096 bytes",
                "Keep it in a table, and what names it in the cookie.",
            );
        }
        let until = call.get::<i32>(2).map(|max_age| seconds_since_1970() + i64::from(max_age));
        call.give(signed(name, &Signed { value, until }))
    }
);

/// Bytes of a cookie that is signed; browsers take no longer ones.
const LONGEST_SIGNED: usize = 4096;

fn signed(name: &str, signed: &Signed<'_>) -> String {
    // SAFETY: used within this call.
    let Some(seen) = (unsafe { current::get() }) else {
        refuse_with_hint(
            PgSqlErrorCode::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
            "no request is being answered, so there is no key to sign a cookie by",
            "Ask for the route that sets it by http.call().",
        )
    };
    if seen.key.secret.is_empty() {
        refuse_with_hint(
            PgSqlErrorCode::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
            "there is no key to sign a cookie by",
            "A superuser makes one: select http.renew_cookie_key().",
        );
    }
    seen.key.sign(name, signed)
}

sql_function!(
    /// `http.flash_text`: the value of a Set-Cookie header.
    howdah_flash_text,
    |call| {
        let message = call.text(0).unwrap_or_default();
        let kind = call.text(1).unwrap_or("notice");
        let flash = Flash { kind: kind.into(), message: message.into() };
        call.give(flash.header(call.get(2).unwrap_or_default()))
    }
);

sql_function!(
    /// `http.signed_cookie`
    howdah_signed_cookie,
    |call| call.give(signed_cookie(call.need_text(0, "name")))
);

fn signed_cookie(name: &str) -> Option<String> {
    // SAFETY: used within this call.
    let seen = unsafe { current::get() }?;
    let text = cookie(name)?;
    let signed = seen.key.read(name, &text).filter(|_| !seen.key.secret.is_empty())?;
    if let Some(until) = signed.until {
        let left = until.saturating_sub(seconds_since_1970());
        if left <= 0 {
            ends_after(FOR_EVER);
            return None;
        }
        // The second has begun.
        ends_after(u32::try_from(left - 1).unwrap_or(FOR_EVER));
    }
    Some(signed.value.to_owned())
}

/// By the clock that people set, as browsers count.
fn seconds_since_1970() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    since.as_secs() as i64
}

sql_function!(
    /// `http.flash_message`
    howdah_flash_message,
    |call| call.give(flash::show().map(|flash| flash.message.into_owned()))
);

sql_function!(
    /// `http.flash_kind`
    howdah_flash_kind,
    |call| call.give(flash::show().map(|flash| flash.kind.into_owned()))
);
