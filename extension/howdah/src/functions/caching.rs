//! Routes whose answers are kept.

use pg::entry::sql_function;
use pg::refuse::{refuse, refuse_with_hint};
use pgrx::datum::Interval;
use pgrx::pg_sys::Datum;
use pgrx::prelude::*;
use queue::functions::typed::in_microseconds;
use request::read_inputs::ReadInput;
use session::authority::{has_rights_of, is_admin, refuse_restricted, rows_as_owner, value_as_owner};

use super::registering::{BOTH, check_reads, check_route_owner, check_set};

sql_function!(
    /// `http.cache(method, pattern, vary, max_entries, max_age)`
    howdah_cache,
    |call| {
        refuse_restricted();
        let method = call.need_text(0, "method").to_uppercase();
        let pattern = call.need_text(1, "pattern");
        let vary: Vec<Option<String>> = call.need(2, "vary");
        let most: i32 = call.need(3, "max_entries");
        let max_age = call.get::<Interval>(4).as_ref().map(in_microseconds);
        check_reads(&method, "are not kept");
        let vary: Vec<String> = vary.iter().map(|name| varied(name.as_deref().unwrap_or_default())).collect();
        if vary.len() > MOST_VARIED {
            refuse(INVALID, &format!("vary has {} names, and {MOST_VARIED} are the most", vary.len()));
        }
        if most < 0 {
            refuse(INVALID, &format!("max_entries is {most}; it is 0, which keeps nothing, or more"));
        }
        if max_age.is_some_and(|age| !(SECOND_US..=OLDEST_US).contains(&age) || age % SECOND_US != 0) {
            refuse(INVALID, "max_age is from a second to 365 days, in whole seconds");
        }
        let max_age = max_age.map(|age| (age / SECOND_US) as i32);
        check_route_owner(&method, pattern, BOTH);
        let set = value_as_owner::<bool>(
            "update http.route r set vary = $3, max_entries = nullif($4, 0),
               max_age = case when $4 > 0 then $5 end
             where r.method = $1 and r.pattern = $2 returning true",
            &[method.as_str().into(), pattern.into(), vary.into(), most.into(), max_age.into()],
        );
        check_set(set, &method, pattern);
        Datum::null()
    }
);

const INVALID: PgSqlErrorCode = PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE;

const SECOND_US: i64 = 1_000_000;
/// The highest `max_age`.
const OLDEST_US: i64 = 365 * 86_400 * SECOND_US;

/// Names that answers of a route may vary by.
const MOST_VARIED: usize = 16;

/// A name of `vary` as it is kept: headers in lower case.
fn varied(name: &str) -> String {
    match ReadInput::of_vary(name) {
        Some(input) => input.vary(),
        None => refuse_with_hint(
            PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE,
            &format!("{name:?} is nothing that answers vary by"),
            "Name a header or a cookie: header:accept-language, cookie:lang.",
        ),
    }
}

sql_function!(
    /// `http.cache_clear(pattern)`
    howdah_cache_clear,
    |call| {
        refuse_restricted();
        let pattern = call.text(0);
        let kept = rows_as_owner(
            "select r.method, r.pattern, r.owner, r.is_page from http.route r where r.max_entries is not null and ($1 is null or r.pattern = $1)",
            &[pattern.into()],
            |row| Some((row.get::<String>(1).ok()??, row.get::<String>(2).ok()??, row.get::<bool>(4).ok()??, row.get::<String>(3).ok()?)),
        );
        let is_own = |owner: &Option<String>| is_admin() || owner.as_deref().is_some_and(has_rights_of);
        let own: Vec<_> = kept.into_iter().filter(|(.., owner)| is_own(owner)).collect();
        for (method, pattern, is_page, _) in &own {
            // Which routes there are is a part of what each answer has read.
            value_as_owner::<bool>(
                "update http.route r set max_entries = r.max_entries where r.method = $1 and r.pattern = $2 and r.is_page = $3 returning true",
                &[method.as_str().into(), pattern.as_str().into(), (*is_page).into()],
            );
        }
        call.give(Some(own.len() as i64))
    }
);
